package org

import (
	"slices"

	"mosaicstack.dev/mosaic/internal/wire"
)

// File is the name of the organization file in the data root, and RolesDir
// that of the directory with role definitions.
const (
	File     = "organization.yaml"
	RolesDir = "roles"
)

// Organization is everything that a person configured, validated. Treat it as
// read-only; a change goes through a Writer.
type Organization struct {
	// Revision is the SHA-256 of the bytes of the organization file, in hex.
	// A Writer takes it to tell whether the file is still the one that was read.
	Revision    string
	Human       Human
	Plugins     Plugins
	Businesses  map[wire.Business]Business
	Definitions map[string]Definition // by name: built-in ones and those of roles/
}

// Human is the person whose organization this is.
type Human struct {
	ID   string // as businesses name them; also the author name of confirmed specs
	Name string // as people read it; the id when the file has none
}

// Plugins are the plug-in modules that are switched on.
type Plugins struct {
	Harness []string // ^[a-z][a-z0-9-]{0,62}$ (BUS-OPEN-03)
}

// HarnessOn reports whether the organization switches a harness on.
func (o *Organization) HarnessOn(name string) bool { return slices.Contains(o.Plugins.Harness, name) }

// Business is one business of the file.
type Business struct {
	ID       wire.Business
	Human    string // Human.ID
	Arbiters Arbiters
	Projects map[string]Project
	Vars     map[string]any // scalars: string, int64, float64 or bool
	Roles    map[wire.Role]Instance
	Launch   *Launch // nil: nobody launches, except by a gated decision
}

// Arbiters are the instances that decide for the business; "" is the human.
type Arbiters struct {
	Technical wire.Role
	Delivery  wire.Role
}

// Project is the pair of Git repositories of one project: absolute paths.
type Project struct {
	Repo    string // where the work happens
	Records string // where its spec and records are; "" for none
}

// Sandbox says how runs are kept apart from the host.
type Sandbox string

// The sandboxes.
const (
	Bubblewrap  Sandbox = "bubblewrap" // the default
	SandboxNone Sandbox = "none"
)

// Launch says who launches what (BUS-OPEN-01).
type Launch struct {
	By        wire.Role
	Instances []wire.Role // without By, in the order of the file
	Limits    Limits
	Sandbox   Sandbox
	Account   string // the harness account that runs use; "" for the harness's own
}

// Limits bound what runs at once.
type Limits struct {
	Sessions int // runs that have not ended; 0 for no limit
}

// Instance is one role instance as the file has it.
type Instance struct {
	Definition  string
	Without     []string // actions taken away from the definition's authority
	Harness     string   // "" for the definition's
	Command     []string // argument list for the exec harness; [0] has ~ expanded
	Credentials map[string]Credential
	Vars        map[string]any // scalars, as of a business
	// Env names variables of the host that the role's runs inherit beside the
	// ones that every run does; never where a token is.
	Env []string
}

// The services that a credential can be for.
const (
	Gitea   = "gitea"
	Vikunja = "vikunja"
)

// Credential says where a token is; the token itself is in no configuration.
// Exactly one of File and Env is set, and the date that the service's kind of
// token has (BUS-OPEN-116).
type Credential struct {
	File     string // absolute path
	Env      string // name of a variable of the host
	RotateBy string // gitea: YYYY-MM-DD
	Expires  string // vikunja: YYYY-MM-DD
}
