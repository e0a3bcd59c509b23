package host

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

var errNotBuilt = errors.New("host: not built yet")

// Options are what `mosaic up` hands to Run.
type Options struct {
	// DataRoot is absolute and exists.
	DataRoot string
	// Version is shown by status.
	Version string
	// Executable is the program that is re-executed as a run's stage; "" means
	// the running one. It must answer StageCommand with launch.Stage.
	Executable string
	// Environ is the environment that runs inherit allow-listed names from;
	// nil means os.Environ().
	Environ []string
	// Ready is called once, when host.sock answers.
	Ready func(Status)
	// Grace is how long a run has between SIGTERM and SIGKILL; 0 means 10 s.
	Grace time.Duration
	// Log receives what operators need; never a capability, nonce or body.
	Log *slog.Logger
}

// Run is the trusted host: it serves until ctx is cancelled, and then stops
// the runs, the sockets and the broker in that order and returns nil. A
// *wire.Error means exit 2: a start that was refused (nothing was changed), or
// a broker that stopped by itself.
func Run(ctx context.Context, o Options) error { return errNotBuilt }
