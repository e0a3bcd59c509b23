package broker

import "mosaicstack.dev/mosaic/internal/wire"

// Kind is the kind of session that a request proves. Kinds combine as a set.
type Kind uint8

const (
	RoleSession   Kind = 1 << iota // a run's capability
	HumanSession                   // process proof of the business's person
	ReaderSession                  // a reader's capability: sees, changes nothing
	TesterSession                  // process proof of a test's sender
)

// Session is what one request proves. It is made afresh for every request and
// holds nothing that the request claimed about itself.
type Session struct {
	Kind     Kind
	Business *Business
	// Role and Run are a role session's; for a human or tester they are the
	// reserved sender (human/human-cli, tester/tester-cli).
	Role wire.Role
	Run  wire.Run
	// Thread is the thread that a thread run is bound to, or nil.
	Thread *wire.ThreadID
}

// Instance is the session's role instance; role sessions only.
func (s Session) Instance() Role { return s.Business.Roles[s.Role] }

// registry holds the capabilities and bound runs of this process. Capabilities
// end with it (BUS-BOOT-53).
type registry struct{}
