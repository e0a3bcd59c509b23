package broker

import (
	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/wire"
)

var launchVerbs = []Verb{
	write(Verb{
		Name:     "launch.revoke",
		Sessions: HumanSession,
		Summary:  "Stop every further launch of the business until launch.restore",
		Example:  `{}`,
		Codes:    []wire.Code{wire.HumanRequired},
	}, launchControl("launch.revoke", evidence.LaunchRevoked)),
	write(Verb{
		Name:     "launch.restore",
		Sessions: HumanSession,
		Summary:  "Allow launches of the business again",
		Example:  `{}`,
		Codes:    []wire.Code{wire.HumanRequired},
	}, launchControl("launch.restore", evidence.LaunchRestored)),
}

// launchControlBody is the body of launch.revoked and launch.restored.
type launchControlBody struct {
	Input wire.EventID `json:"input"` // the human.input event behind it
}

// launchControl is the handler of a launch verb. Every call appends its two
// events, also when the state stays what it was (BUS-OPEN-112).
func launchControl(verb string, kind evidence.EventKind) func(*Call, none) (any, error) {
	return func(c *Call, _ none) (any, error) {
		input, err := c.appendHumanInput(humanInput{Kind: inputLaunch, Verb: verb})
		if err != nil {
			return nil, err
		}
		return c.Session.append(c.Tx, kind, nil, launchControlBody{Input: input.ID})
	}
}
