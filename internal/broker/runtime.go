package broker

import (
	"context"
	"errors"
	"log/slog"

	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/proc"
	"mosaicstack.dev/mosaic/internal/wire"
)

var errNotBuilt = errors.New("broker: not built yet")

// Options are what the trusted host supplies in process. The zero value serves
// every well-formed harness name, no specs, and the real process table.
type Options struct {
	// HarnessOn says whether the organization file switches a harness on for
	// a business now; asked at each binding (BUS-CTL-33, 34). nil: all are.
	HarnessOn func(b wire.Business, harness string) bool
	// Specs reads committed specs for cited raises; nil refuses citations
	// with project-not-found.
	Specs SpecReader
	// Processes is the process table; nil means the real one.
	Processes proc.Table
	// Executable is the path of the program whose processes can prove a human
	// (device and inode are compared); "" means the broker's own (BUS-OPEN-101).
	Executable string
	// Log receives what operators need; never a capability, nonce or body.
	Log *slog.Logger
}

// Spec is the committed spec of a project as of now.
type Spec struct {
	Commit    string // the last commit that changed the file, full id
	Confirmed bool   // its author name is the business's human
}

// SpecReader reads a project's committed spec. It may wait for git and is
// never called inside a transaction (BUS-PROTO-36). Errors are *wire.Error
// with the project reader's codes (BUS-OPEN-121).
type SpecReader interface {
	Spec(ctx context.Context, b wire.Business, project string) (Spec, error)
}

// Broker is a running broker, embedded in the trusted host's process. The
// methods here and in control.go are trusted calls, never socket verbs.
type Broker struct {
	store      *evidence.Store
	businesses map[wire.Business]Business
	options    Options
	log        *slog.Logger
	sessions   *registry
}

// Start boots a broker: checks the data root, takes the writer lock, opens the
// store, binds the launches, listens on bus.sock and human.sock. Errors are
// *wire.Error with the start codes of BUS-OPEN-14; nothing is changed then.
func Start(ctx context.Context, c Config, o Options) (*Broker, BootReply, error) {
	return nil, BootReply{}, errNotBuilt
}

// Done is closed when the broker has stopped, by Close or because its store
// failed; Err then returns nil or the *wire.Error to exit 2 with.
func (b *Broker) Done() <-chan struct{} { return nil }

// Err says why a stopped broker stopped.
func (b *Broker) Err() error { return errNotBuilt }

// Close stops listening, lets requests under way finish, closes the store and
// removes the writer lock and sockets that this broker owns (BUS-BOOT-45, 48).
func (b *Broker) Close() error { return errNotBuilt }

// BindLaunch registers a run that the host launched and returns its capability
// (BUS-CTL-22 to 36).
func (b *Broker) BindLaunch(ctx context.Context, r LaunchRecord) (BoundLaunch, error) {
	return BoundLaunch{}, errNotBuilt
}

// RunIdentity is what a capability proves (BUS-CTL-47).
type RunIdentity struct {
	Business wire.Business `json:"business"`
	Role     wire.Role     `json:"role"`
	Run      wire.Run      `json:"run"`
}

// Identity returns whose capability this is, or unknown-capability.
func (b *Broker) Identity(cap wire.Capability) (RunIdentity, error) {
	return RunIdentity{}, errNotBuilt
}

// AuthorizeLaunch authorizes role.launch of instance for the caller; a refusal
// is recorded (BUS-CTL-48, 49). decision is the approval to spend, or "".
func (b *Broker) AuthorizeLaunch(ctx context.Context, cap wire.Capability, instance wire.Role, decision wire.DecisionID) error {
	return errNotBuilt
}

// Refuse records a refusal that the host decided itself (BUS-CTL-50 to 54).
func (b *Broker) Refuse(ctx context.Context, cap wire.Capability, code wire.Code, subject string) error {
	return errNotBuilt
}

// LaunchEnd is the end of a run (BUS-CTL-55). Reason is an identifier that the
// launcher picks: exited, failed, stopped, idle, revoked, lost, host-stopped.
type LaunchEnd struct {
	Business wire.Business `json:"business"`
	Run      wire.Run      `json:"run"`
	Reason   string        `json:"reason"`
	ExitCode *int          `json:"exitCode,omitempty"`
}

// EndLaunch records the end of a bound run, releases its claim and drops its
// capabilities. run-ended for a second end, unknown-run for a run that this
// broker has not bound.
func (b *Broker) EndLaunch(ctx context.Context, e LaunchEnd) error { return errNotBuilt }

// LostRun is a run of the store that has not ended and that this broker has
// not bound, as its session.launched event recorded it.
type LostRun struct {
	LaunchRecord
	At wire.Timestamp `json:"at"`
}

// LostRuns lists them, oldest first. After a crash of the host these are the
// runs whose end nobody saw.
func (b *Broker) LostRuns(ctx context.Context) ([]LostRun, error) { return nil, errNotBuilt }

// EndLost records the end of a lost run with reason lost and releases its
// claim. It refuses run-alive while the recorded process (pid and start time,
// in this boot) still exists, and unknown-run for a run that is not lost.
func (b *Broker) EndLost(ctx context.Context, business wire.Business, run wire.Run) error {
	return errNotBuilt
}

// LaunchesRevoked reports the business's launch state (BUS-LAUNCH-08).
func (b *Broker) LaunchesRevoked(ctx context.Context, business wire.Business) (bool, error) {
	return false, errNotBuilt
}

// VerifyHuman checks the process proof of a peer for another socket of the
// trusted host, with the checks of BUS-HUMAN-05 to 20. human-required.
func (b *Broker) VerifyHuman(peer wire.Peer, p wire.Proof) error { return errNotBuilt }

// Action is what a trusted adapter asks authority for. Detail holds further
// facts for the evidence (such as the commit that is about to land); it cannot
// replace action, target or operation. Subject is a task ref or "".
type Action struct {
	Action   string
	Target   *string
	Decision wire.DecisionID // the approval to spend, or ""
	Subject  string
	Detail   map[string]any
}

// Authorize checks that the capability's run holds its claim and may take the
// action on its target now, spends the decision when one is given, and appends
// the evidence, in one transaction. It performs nothing (BUS-AUTH-48 to 51).
// Callers repeat it after waiting rather than rely on an earlier answer. A
// refusal is recorded. It returns the id of the action.allowed event.
func (b *Broker) Authorize(ctx context.Context, cap wire.Capability, a Action) (wire.EventID, error) {
	return "", errNotBuilt
}
