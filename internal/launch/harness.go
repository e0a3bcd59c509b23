package launch

import (
	"slices"

	"mosaicstack.dev/mosaic/internal/wire"
)

// Harness is a plug-in that knows how one kind of agent program is started.
// It starts nothing itself and touches no file outside Spec.Directory.
type Harness interface {
	// Name is the module name (BUS-OPEN-03).
	Name() string
	// Prepare says how the run's program is started. Errors are *wire.Error:
	// what the spec lacks is command-missing, or invalid-request with the field.
	Prepare(Spec) (Program, error)
}

// Spec is the run that a harness is asked to prepare.
type Spec struct {
	Business   wire.Business
	Instance   wire.Role
	Run        wire.Run
	Definition string   // name of the role definition
	Charter    string   // what the agent is told of its role and the rules of a run
	Command    []string // configured or given by the person; may be empty
	Directory  string   // the run's own directory, outside the sandbox
}

// Program is what a harness wants to run.
type Program struct {
	Argv []string
	// Env are additional NAME=value entries. They cannot replace what the
	// launcher sets itself.
	Env []string
	// Transcript is the absolute path at which the harness keeps the run's
	// session files, or "" (BUS-CTL-02).
	Transcript string
}

// Harnesses is the table of harnesses that a host has, in the order in which
// they are shown.
type Harnesses []Harness

// Builtin are the harnesses of this program.
func Builtin() Harnesses { return Harnesses{Exec{}} }

// Names lists the harnesses.
func (h Harnesses) Names() []string {
	names := make([]string, len(h))
	for i, one := range h {
		names[i] = one.Name()
	}
	return names
}

// Lookup finds a harness. The error is an *UnknownHarness.
func (h Harnesses) Lookup(name string) (Harness, error) {
	i := slices.IndexFunc(h, func(one Harness) bool { return one.Name() == name })
	if i < 0 {
		nearest, _ := wire.Nearest(name, h.Names())
		return nil, &UnknownHarness{Name: name, Nearest: nearest}
	}
	return h[i], nil
}

// UnknownHarness says that no harness has this name, and which one comes
// nearest; Nearest is "" when none does. On a socket it is invalid-harness.
type UnknownHarness struct{ Name, Nearest string }

func (e *UnknownHarness) Error() string {
	if e.Nearest == "" {
		return "launch: no harness " + e.Name
	}
	return "launch: no harness " + e.Name + "; the nearest is " + e.Nearest
}

// Unwrap returns what a socket answers.
func (e *UnknownHarness) Unwrap() error { return wire.RefuseField(wire.InvalidHarness, "harness") }

// Exec is the built-in harness that runs any command as it stands. The charter
// is in MOSAIC_CHARTER.
type Exec struct{}

// Name returns "exec".
func (Exec) Name() string { return "exec" }

// Prepare refuses a spec without a command: command-missing.
func (Exec) Prepare(s Spec) (Program, error) {
	if len(s.Command) == 0 || s.Command[0] == "" {
		return Program{}, wire.Refuse(wire.CommandMissing)
	}
	return Program{Argv: s.Command, Env: []string{"MOSAIC_CHARTER=" + s.Charter}}, nil
}

// Rules stand at the head of the charter of every agent (BUS-HUMAN-26).
const Rules = `You run as a managed agent of Mosaic. You act only as your own role, through the
mosaic command and the capability in your environment. Never use, imitate or
work around what proves the person: do not call human verbs, do not look for
human.sock, do not detach a process or clear its environment so that it looks
like the person's. When an action needs approval, raise a decision and wait.`
