package host

import (
	"mosaicstack.dev/mosaic/internal/launch"
	"mosaicstack.dev/mosaic/internal/wire"
)

// The shapes of host.sock. Requests and replies are framed as on bus.sock
// (wire.Request, wire.Reply); a request proves a run with its capability or the
// person with a process proof, as on human.sock. What a role may not see is
// absent from its replies, not empty.

// Status answers "status", {} -> Status.
type Status struct {
	Phase    Phase          `json:"phase"`
	Since    wire.Timestamp `json:"since"`              // when the phase began
	Version  string         `json:"version"`            // of the program that runs
	PID      int            `json:"pid,omitempty"`      // of the host; human only
	DataRoot string         `json:"dataRoot,omitempty"` // human only
	Sockets  *Sockets       `json:"sockets,omitempty"`
	// Harnesses that this program has, for a mistyped name.
	Harnesses []string `json:"harnesses"`
	// Businesses in the order of their ids; a role sees its own alone.
	Businesses []BusinessStatus `json:"businesses"`
	// Runs that have not ended, oldest first; a role sees its business's.
	Runs []RunInfo `json:"runs"`
	// LastRefusal is the latest refusal that the host decided itself; human only.
	LastRefusal *Refusal `json:"lastRefusal,omitempty"`
}

// Phase is where a host is in its life.
type Phase string

const (
	Starting Phase = "starting" // not yet serving; never seen on the socket
	Serving  Phase = "serving"
	Stopping Phase = "stopping" // no new launches; runs are being stopped
)

// Sockets are the real paths: a data root with a long path has them elsewhere.
// A role sees bus and host, never the person's two.
type Sockets struct {
	Bus   string `json:"bus"`
	Human string `json:"human,omitempty"`
	Host  string `json:"host"`
	// HostHuman is where the person asks the host.
	HostHuman string `json:"hostHuman,omitempty"`
}

// BusinessStatus is what launches of one business meet.
type BusinessStatus struct {
	ID       wire.Business `json:"id"`
	Launches string        `json:"launches"` // "allowed" or "revoked"
	Sessions int           `json:"sessions"` // runs that have not ended
	Limit    int           `json:"limit"`    // of sessions at once; 0 means none
	Sandbox  SandboxStatus `json:"sandbox"`
	Roles    []wire.Role   `json:"roles"` // its instances, in order
}

// SandboxStatus says how runs are kept apart from the host. With Works false
// launches refuse Code.
type SandboxStatus struct {
	Kind  string    `json:"kind"` // bubblewrap or none
	Works bool      `json:"works"`
	Code  wire.Code `json:"code,omitempty"` // sandbox-unavailable or sandbox-lowered
}

// Refusal is one refusal that the host decided.
type Refusal struct {
	At       wire.Timestamp `json:"at"`
	Verb     string         `json:"verb"`
	Code     wire.Code      `json:"code"`
	Business wire.Business  `json:"business,omitempty"`
	Instance wire.Role      `json:"instance,omitempty"`
}

// RunInfo is one run.
type RunInfo struct {
	Run      wire.Run       `json:"run"`
	Business wire.Business  `json:"business"`
	Instance wire.Role      `json:"instance"`
	Harness  string         `json:"harness"`
	Sandbox  string         `json:"sandbox"`
	State    launch.State   `json:"state"` // starting, running, stopping, ended
	At       wire.Timestamp `json:"at"`    // when the launcher made the run
	// PID is the outermost process of the run as the host sees it; human only.
	PID int `json:"pid,omitempty"`
	// Ended, Reason and the exit are there once State is ended. ExitCode is
	// absent when nobody saw the program end (reason lost), and 128 plus the
	// number for a signal. Signal is the name ("SIGTERM") when the program was
	// seen to die of one.
	Ended    wire.Timestamp `json:"ended,omitempty"`
	Reason   launch.Reason  `json:"reason,omitempty"`
	ExitCode *int           `json:"exitCode,omitempty"`
	Signal   string         `json:"signal,omitempty"`
	// Human only: where the run's output is, its command and directory.
	Log     string   `json:"log,omitempty"`
	Command []string `json:"command,omitempty"`
	Dir     string   `json:"dir,omitempty"`
}

// LaunchArgs are the arguments of "launch" -> Launched. Harness, Command and
// Dir are for the human alone; a role's launch takes them from the
// organization. Decision is the approval that a role spends when role.launch
// is gated for it.
type LaunchArgs struct {
	Instance wire.Role       `json:"instance"`
	Harness  string          `json:"harness,omitempty"`
	Command  []string        `json:"command,omitempty"`
	Dir      string          `json:"dir,omitempty"` // absolute
	Decision wire.DecisionID `json:"decision,omitempty"`
}

// Launched is a run whose program has been started.
type Launched struct {
	Run      wire.Run  `json:"run"`
	Instance wire.Role `json:"instance"`
	PID      int       `json:"pid,omitempty"` // human only
	Log      string    `json:"log,omitempty"` // human only
}

// RunList answers "runs", {} -> RunList: every run that has not ended and the
// latest ended ones (launch.KeptRuns), newest first.
type RunList struct {
	Runs []RunInfo `json:"runs"`
}

// RunArgs are the arguments of "run" -> RunInfo.
type RunArgs struct {
	Run wire.Run `json:"run"`
}

// RunWaitArgs are the arguments of "runs.wait" -> RunInfo: the run as it is
// when it has ended or the time is over, whichever is first. TimeoutMs is 0 to
// MaxWaitMs; a client gives its own read more time than it asks for here.
type RunWaitArgs struct {
	Run       wire.Run `json:"run"`
	TimeoutMs int      `json:"timeoutMs,omitempty" limit:"0 to 30000"`
}

// MaxWaitMs is the longest that one "runs.wait" holds its connection.
const MaxWaitMs = 30_000

// StopArgs are the arguments of "stop" -> RunInfo, answered when the run has
// been told to end (state stopping or ended), not when it has: wait with
// "runs.wait". For the human, and for the role that launch.by names.
type StopArgs struct {
	Run wire.Run `json:"run"`
}

// LandArgs are the arguments of "land" -> Landed, for roles. Branch defaults
// to the one that the project's repository is on. Decision is the approval of
// git.merge.protected whose target is <project>/<branch>@<commit> of this very
// landing; only a role that may merge by itself does without.
type LandArgs struct {
	Project  string          `json:"project"`
	Branch   string          `json:"branch,omitempty"`
	Commit   string          `json:"commit"` // full object id
	Decision wire.DecisionID `json:"decision,omitempty"`
	TaskRef  wire.TaskRef    `json:"task_ref,omitempty"`
}

// Landed says what the branch points at now and what it pointed at before.
type Landed struct {
	Project  string       `json:"project"`
	Branch   string       `json:"branch"`
	Commit   string       `json:"commit"`
	Previous string       `json:"previous"`
	Event    wire.EventID `json:"event"` // the action.allowed that spent the approval
}
