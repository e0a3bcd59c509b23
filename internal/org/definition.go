package org

// Definition is a role definition: what every instance of it may do at most
// (BUS-OPEN-31).
type Definition struct {
	Name        string
	Charter     string // one paragraph that the agent is shown
	Authority   Authority
	Messaging   Messaging
	Credentials []string // services whose tokens an instance may be given
	Harness     string   // default for its instances; "" for none
	Command     []string // default argument list for the exec harness
	BuiltIn     bool     // not read from a file of the data root
}

// Authority lists the actions that a role may take by itself and those that an
// arbiter approves. What neither lists is gated. An empty list grants nothing.
type Authority struct {
	WithinRole []string
	CrossRole  []string
}

// Messaging limits whom a role writes to and hears from, by definition name or
// "human". A nil list allows all, an empty one none (BUS-OPEN-32).
type Messaging struct {
	SendTo      []string
	ReceiveFrom []string
}

// Declared reports whether there is any list.
func (m Messaging) Declared() bool { return m.SendTo != nil || m.ReceiveFrom != nil }

// Definitions with rules of their own.
const (
	Assistant    = "assistant" // the protected definition and the thread definition
	ChiefOfStaff = "chief-of-staff"
)

// Protected reports whether only the chief of staff or the human may end an
// instance of the definition (BUS-AUTH-16).
func Protected(definition string) bool { return definition == Assistant }
