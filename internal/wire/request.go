package wire

import "encoding/json"

// Proof is what a process says of itself to prove a human or a tester. The
// broker believes none of it before it has looked at /proc (BUS-HUMAN).
type Proof struct {
	PID   int    `json:"pid"`
	Nonce string `json:"nonce"`
}

// Request is one line on a socket. Exactly one of Cap, Human and Tester is
// set (BUS-PROTO-29). Business goes with Human and Tester only: a capability
// already names its business, and a request that declares one beside it is
// refused (BUS-CTL-20).
type Request struct {
	ID       *int64          `json:"id,omitempty"`
	Cap      Capability      `json:"cap,omitempty"`
	Human    *Proof          `json:"human,omitempty"`
	Tester   *Proof          `json:"tester,omitempty"`
	Business Business        `json:"business,omitempty"`
	Verb     string          `json:"verb"`
	Args     json.RawMessage `json:"args,omitempty"` // absent means {}
}

// Reply is one line back.
type Reply struct {
	ID     *int64          `json:"id,omitempty"`
	OK     bool            `json:"ok"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  Code            `json:"error,omitempty"`
	Field  string          `json:"field,omitempty"`
}

// Peer is what the kernel says of the process at the other end of a
// connection (SO_PEERCRED), as seen from this process's PID namespace.
type Peer struct {
	PID int
	UID int
	GID int
}

// Limits of the sockets (DESIGN.md 5).
const (
	MaxRequest     = 64 << 10
	MaxReply       = 4 << 20
	MaxConnections = 1024
	MaxDepth       = 64
)
