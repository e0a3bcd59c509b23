package broker

import (
	"mosaicstack.dev/mosaic/internal/evidence"
)

// inputKind is what a person's input was (BUS-OPEN-109).
type inputKind string

const (
	inputInstruction inputKind = "instruction" // a message
	inputAnswer      inputKind = "answer"      // the close of a decision
	inputLaunch      inputKind = "launch"      // launches revoked or restored
)

// humanInput is the body of a human.input event. ID is the message or decision
// that the input made or closed; null when it is about neither.
type humanInput struct {
	Kind inputKind `json:"kind"`
	Verb string    `json:"verb"`
	ID   *string   `json:"id"`
	Text string    `json:"text,omitempty"`
}

// appendHumanInput appends the event that stands behind what the proven person
// just did, with what it is about as its subject (BUS-HUMAN-27,
// BUS-LAUNCH-05). The caller's row of the same transaction names it.
func (c *Call) appendHumanInput(input humanInput) (evidence.Event, error) {
	return c.Session.append(c.Tx, evidence.HumanInput, input.ID, input)
}
