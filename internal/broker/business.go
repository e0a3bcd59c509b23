package broker

import "mosaicstack.dev/mosaic/internal/wire"

// Business is a normalized business: everything of the organization file that
// the broker needs, already validated and resolved (BUS-BOOT-32). It travels
// in the boot message, so its JSON form is part of the control protocol.
type Business struct {
	ID       wire.Business      `json:"id"`
	Human    string             `json:"human"` // the person's configured name: <by> of a human's close
	Arbiters Arbiters           `json:"arbiters"`
	Roles    map[wire.Role]Role `json:"roles"`
	Launch   *Launch            `json:"launch,omitempty"`
	Projects []string           `json:"projects,omitempty"`
	Vars     map[string]any     `json:"vars,omitempty"`
}

// Arbiters names the role instances that decide by domain; "" means the human.
type Arbiters struct {
	Technical wire.Role `json:"technical"`
	Delivery  wire.Role `json:"delivery"`
}

// Role is one role instance with its definition's limits, narrowed by the
// business (BUS-AUTH-17).
type Role struct {
	Definition  string                `json:"definition"`
	Authority   *Authority            `json:"authority"` // nil is refused (BUS-BOOT-40)
	Messaging   Messaging             `json:"messaging,omitzero"`
	Credentials map[string]Credential `json:"credentials,omitempty"`
}

// Authority holds the actions a role may take by itself and those that an
// arbiter approves. What neither lists is gated. Empty maps grant nothing.
type Authority struct {
	WithinRole []string `json:"withinRole"`
	CrossRole  []string `json:"crossRole"`
}

// Messaging holds definition names or "human". A nil list allows all, an empty
// one none (BUS-OPEN-32).
type Messaging struct {
	SendTo      *[]string `json:"sendTo,omitempty"`
	ReceiveFrom *[]string `json:"receiveFrom,omitempty"`
}

// Credential is a reference to a token, never the token.
type Credential struct {
	File     string `json:"file,omitempty"`
	Env      string `json:"env,omitempty"`
	RotateBy string `json:"rotateBy,omitempty"`
	Expires  string `json:"expires,omitempty"`
}

// Launch is the business's launch block.
type Launch struct {
	By        wire.Role   `json:"by"`
	Instances []wire.Role `json:"instances"`
}

// LaunchRecord is a run that the trusted host launched (BUS-CTL-01 to 05).
type LaunchRecord struct {
	Business   wire.Business `json:"business"`
	Role       wire.Role     `json:"role"`
	Run        wire.Run      `json:"run"`
	Harness    string        `json:"harness"`
	Address    string        `json:"address,omitempty"`
	PID        int           `json:"pid"`
	StartTime  uint64        `json:"startTime"`
	Transcript string        `json:"transcript,omitempty"` // memory only (BUS-CTL-37)
	Thread     wire.ThreadID `json:"thread,omitempty"`
	Account    string        `json:"account,omitempty"` // never in the event's body (BUS-CTL-09)
}

// Config is the boot message's config (BUS-BOOT-29).
type Config struct {
	DataRoot   string                     `json:"dataRoot"`
	Businesses map[wire.Business]Business `json:"businesses"`
	Launches   []LaunchRecord             `json:"launches"`
	Readers    []wire.Business            `json:"readers"`
	RepoRoots  []string                   `json:"repoRoots"`
}

// BoundLaunch is the capability of one bound run.
type BoundLaunch struct {
	Business wire.Business   `json:"business"`
	Run      wire.Run        `json:"run"`
	Cap      wire.Capability `json:"cap"`
}

// ReaderCap is the capability of one reader.
type ReaderCap struct {
	Business wire.Business   `json:"business"`
	Cap      wire.Capability `json:"cap"`
}

// BootReply answers a boot (BUS-BOOT-42). Path is the directory of bus.sock
// and human.sock, which moves when the data root's path is too long.
type BootReply struct {
	Path     string        `json:"path"`
	Launches []BoundLaunch `json:"launches"`
	Readers  []ReaderCap   `json:"readers"`
}
