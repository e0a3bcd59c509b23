package host

import (
	"context"

	"mosaicstack.dev/mosaic/internal/broker"
	"mosaicstack.dev/mosaic/internal/wire"
)

// Verb is one row of the table of host.sock.
type Verb struct {
	Name     string
	Sessions broker.Kind // RoleSession, HumanSession or both
	Summary  string      // one sentence, imperative
	Example  string      // arguments as JSON
	// Codes that the verb may answer beside those of every request: of the
	// frame, the proof, the kind of session and the arguments.
	Codes []wire.Code

	newArgs func() any
	handle  func(ctx context.Context, h *host, who caller, args any) (any, error)
}

// Arguments lists the verb's arguments, from the struct that they are decoded
// into.
func (v Verb) Arguments() []broker.Argument { return broker.ArgumentsOf(v.newArgs()) }

// ArgumentsOf lists the arguments of a verb of host.sock; none for an unknown one.
func ArgumentsOf(name string) []broker.Argument {
	if v := verbsByName[name]; v != nil {
		return v.Arguments()
	}
	return nil
}

const anyone = broker.RoleSession | broker.HumanSession

// verb declares a row. A is the argument struct.
func verb[A, R any](v Verb, handle func(h *host, ctx context.Context, who caller, a A) (R, error)) Verb {
	v.newArgs = func() any { return new(A) }
	v.handle = func(ctx context.Context, h *host, who caller, args any) (any, error) {
		result, err := handle(h, ctx, who, *args.(*A))
		return result, err
	}
	return v
}

// none is the argument struct of verbs that take no arguments.
type none struct{}

// launchCodes are what a launch may answer.
var launchCodes = []wire.Code{
	wire.UnknownRole, wire.LaunchRevoked, wire.InstanceNotListed, wire.InstanceRunning, wire.Capacity,
	wire.SandboxUnavailable, wire.SandboxLowered, wire.DataRootUnsafe, wire.InvalidHarness, wire.CommandMissing, wire.SpawnFailed, wire.ThreadRequired, wire.Unavailable,
	wire.NotHolder, wire.DecisionRequired, wire.DecisionNotFound, wire.DecisionOpen, wire.DecisionRefused,
	wire.DecisionMismatch, wire.DecisionConsumed,
}

// Verbs is the table, in the order of the reference.
var Verbs = []Verb{
	verb(Verb{
		Name: "status", Sessions: anyone, Example: `{}`,
		Summary: "Show the phase, the sockets, the sandbox and the runs of the host",
	}, (*host).status),
	verb(Verb{
		Name: "launch", Sessions: anyone, Example: `{"instance":"dev"}`,
		Summary: "Start a run of a role instance", Codes: launchCodes,
	}, (*host).launch),
	verb(Verb{
		Name: "runs", Sessions: anyone, Example: `{}`,
		Summary: "List the runs that have not ended and the latest ended ones",
	}, (*host).runs),
	verb(Verb{
		Name: "run", Sessions: anyone, Example: `{"run":"01900000-0000-7000-8000-000000000000"}`,
		Summary: "Show one run", Codes: []wire.Code{wire.UnknownRun},
	}, (*host).run),
	verb(Verb{
		Name: "runs.wait", Sessions: anyone,
		Example: `{"run":"01900000-0000-7000-8000-000000000000","timeoutMs":30000}`,
		Summary: "Wait until a run has ended, or the time is over", Codes: []wire.Code{wire.UnknownRun},
	}, (*host).waitRun),
	verb(Verb{
		Name: "stop", Sessions: anyone, Example: `{"run":"01900000-0000-7000-8000-000000000000"}`,
		Summary: "Ask a run to end, and kill it after the grace period",
		Codes:   []wire.Code{wire.UnknownRun, wire.DecisionRequired, wire.NotHolder},
	}, (*host).stopRun),
	verb(Verb{
		Name: "land", Sessions: broker.RoleSession,
		Example: `{"project":"web","commit":"3f786850e387550fdab836ed7e6dc881de23001b","decision":"01900000-0000-7000-8000-000000000000"}`,
		Summary: "Move a protected branch forward to a commit, with the approval for it",
		Codes: []wire.Code{
			wire.ProjectNotFound, wire.ProjectUnsafe, wire.ProjectFailed, wire.BranchNotFound, wire.CommitNotFound,
			wire.AlreadyLanded, wire.MainMoved, wire.MainBusy, wire.OutcomeUnknown, wire.NotHolder,
			wire.DecisionRequired, wire.DecisionNotFound, wire.DecisionOpen, wire.DecisionRefused,
			wire.DecisionMismatch, wire.DecisionConsumed,
		},
	}, (*host).land),
}

var verbsByName = func() map[string]*Verb {
	m := make(map[string]*Verb, len(Verbs))
	for i := range Verbs {
		m[Verbs[i].Name] = &Verbs[i]
	}
	return m
}()
