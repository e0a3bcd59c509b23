package launch

// State is where a run is in its life.
type State string

const (
	StateStarting State = "starting" // the program does not run yet
	StateRunning  State = "running"
	StateStopping State = "stopping" // told to end; SIGKILL follows after the grace
	StateEnded    State = "ended"    // no process of it is left
)

// Reason says why a run ended; it is the reason of session.ended (BUS-OPEN-17).
type Reason string

const (
	Exited      Reason = "exited"       // the program ended with 0
	Failed      Reason = "failed"       // it ended otherwise, or could not be started
	Stopped     Reason = "stopped"      // someone with the right to asked for it
	Revoked     Reason = "revoked"      // its claim was revoked and it stayed
	Lost        Reason = "lost"         // the host died; nobody saw it end
	HostStopped Reason = "host-stopped" // the host was stopped in order
)

// KeptRuns is how many ended runs a listing shows.
const KeptRuns = 256
