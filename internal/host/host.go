package host

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"mosaicstack.dev/mosaic/internal/broker"
	"mosaicstack.dev/mosaic/internal/launch"
	"mosaicstack.dev/mosaic/internal/org"
	"mosaicstack.dev/mosaic/internal/proc"
	"mosaicstack.dev/mosaic/internal/records"
	"mosaicstack.dev/mosaic/internal/wire"
)

// Names of what the host keeps in the data root.
const (
	Directory = "host" // 0700
	// In Directory, or where a long path moves them.
	SocketName      = "host.sock"
	HumanSocketName = "human.sock"
	runsName        = "runs"
	// The broker's own, in bus or where a long path moves them.
	busName   = "bus"
	lockName  = "writer.lock"
	busSocket = "bus.sock"
	humanName = "human.sock"
)

// shutdownPatience is how long requests under way may take at the end, after
// the last run has ended.
const shutdownPatience = 10 * time.Second

// Options are what `mosaic up` hands to Run.
type Options struct {
	// DataRoot is absolute and exists.
	DataRoot string
	// Version is shown by status.
	Version string
	// Executable is the program that is re-executed as a run's monitor; ""
	// means the running one. It must answer launch.StageCommand with
	// launch.Stage. Its processes are also those that can prove the person.
	Executable string
	// Environ is the environment that runs inherit allowed names from; nil
	// means os.Environ().
	Environ []string
	// Ready is called once, when host.sock answers.
	Ready func(Status)
	// Grace is how long a run has between SIGTERM and SIGKILL; 0 means 10 s.
	Grace time.Duration
	// Log receives what operators need; never a capability, nonce or body.
	// nil discards it.
	Log *slog.Logger

	processes   proc.Table    // nil means the real one
	revokeGrace time.Duration // see claimRevoked; 0 means RevokeGrace
}

// Run is the trusted host: it serves until ctx is cancelled, and then stops
// the runs, host.sock and the broker in that order and returns nil. An error
// means exit 2: a start that was refused, or a broker that stopped by itself,
// with its code. The organization's faults are org.Problems; everything else
// is a *wire.Error. A refused start has changed nothing but the evidence of
// runs that an earlier host lost.
func Run(ctx context.Context, o Options) error {
	h, err := start(ctx, o)
	if err != nil {
		return err
	}
	if o.Ready != nil {
		o.Ready(h.readyStatus(ctx))
	}
	h.log.Info("serving", "pid", os.Getpid())
	select {
	case <-ctx.Done():
	case <-h.broker.Done():
		h.log.Error("the broker stopped", "code", h.broker.Err())
	}
	return h.stop()
}

// host is a running trusted host.
type host struct {
	options   Options
	log       *slog.Logger
	broker    *broker.Broker
	launcher  *launch.Launcher
	entrances [2]entrance
	// made are the directories that this start made, to be taken away again
	// when it is refused.
	made []string
	// forgetSocketDir takes back the note of where host.sock is.
	forgetSocketDir func() error
	serving         sync.WaitGroup
	sockets         Sockets
	// known are the businesses that the broker was started with.
	known map[wire.Business]broker.Business
	// landing lets one landing at a time happen, from the look at the branch
	// to its move.
	landing sync.Mutex
	root    *root

	mu           sync.Mutex // protects the fields below
	organization *org.Organization
	// sandboxed are the businesses that had a sandbox since the host started.
	// Their file cannot take it away while it runs.
	sandboxed map[wire.Business]bool
	phase     Phase
	since     wire.Timestamp
	refusal   *Refusal
}

// start takes the parts of a host one after the other and gives them back when
// one refuses.
func start(ctx context.Context, o Options) (*host, error) {
	h := &host{options: o, log: o.Log, sandboxed: map[wire.Business]bool{}}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if h.root, err = openRoot(o.DataRoot); err != nil {
		return nil, err
	}
	if err := h.startIn(ctx); err != nil {
		h.root.close()
		return nil, err
	}
	h.serve()
	return h, nil
}

func (h *host) startIn(ctx context.Context) error {
	organization, err := org.Load(h.root.directory())
	if err != nil {
		return err
	}
	h.adopt(organization)
	reply, err := h.startBroker(ctx)
	if err != nil {
		return err
	}
	if err := h.startRest(ctx, reply.Path); err != nil {
		h.closeSockets()
		for _, path := range slices.Backward(h.made) {
			_ = os.Remove(path) // a directory only while it is empty
		}
		return h.public(errors.Join(err, h.broker.Close()))
	}
	return nil
}

// adopt makes an organization the one that counts.
func (h *host) adopt(o *org.Organization) {
	h.organization = o
	for id, b := range o.Businesses {
		if sandbox(b.Launch) != launch.None {
			h.sandboxed[id] = true
		}
	}
}

func (h *host) startBroker(ctx context.Context) (broker.BootReply, error) {
	h.known = businesses(h.organization)
	config := broker.Config{DataRoot: h.options.DataRoot, Businesses: h.known}
	b, reply, err := broker.Start(ctx, config, broker.Options{
		HarnessOn:    h.harnessOn,
		ClaimRevoked: h.claimRevoked,
		Specs:        specBook{records.NewReader(recordsOf(h.organization))},
		Processes:    h.options.processes,
		Executable:   h.options.Executable,
		Log:          h.log,
	})
	h.broker = b
	return reply, err
}

// startRest needs the broker. The socket comes before the lost runs: a socket
// of another host that is in the way must have changed nothing.
func (h *host) startRest(ctx context.Context, busPath string) error {
	dir := filepath.Join(h.options.DataRoot, Directory)
	runs := filepath.Join(dir, runsName)
	for _, path := range []string{dir, runs} {
		made, err := ownDirectory(path)
		if made {
			h.made = append(h.made, path)
		}
		if err != nil {
			return err
		}
		if err := h.root.keep(path); err != nil {
			return err
		}
	}
	if err := h.listen(dir); err != nil {
		return err
	}
	h.sockets = Sockets{
		Bus: filepath.Join(busPath, busSocket), Human: filepath.Join(busPath, humanName),
		Host: h.entrances[forRuns].socket.Path(), HostHuman: h.entrances[forPerson].socket.Path(),
	}
	if err := h.endLostRuns(ctx); err != nil {
		return err
	}
	return h.startLauncher(ctx, runs)
}

func (h *host) startLauncher(ctx context.Context, runs string) (err error) {
	environ := h.options.Environ
	if environ == nil {
		environ = os.Environ()
	}
	h.launcher, err = launch.New(ctx, launch.Options{
		Dir: runs, Executable: h.options.Executable, Environ: environ,
		Harnesses: launch.Builtin(), Bus: runBook{h.broker},
		BusSocket: h.sockets.Bus, HostSocket: h.sockets.Host,
		Confinement: launch.Confinement{
			DataRoot: h.options.DataRoot, HumanSocket: h.sockets.Human,
			Sockets:    []string{h.sockets.Bus, h.sockets.Host},
			RuntimeDir: os.Getenv("XDG_RUNTIME_DIR"), TempDir: os.TempDir(),
		},
		Grace: h.options.Grace, Log: h.log,
	})
	return err
}

// stop ends a host in order. The broker goes last: every end of a run is
// recorded before it.
func (h *host) stop() error {
	h.enter(Stopping)
	h.launcher.Close(launch.HostStopped)
	ctx, cancel := context.WithTimeout(context.Background(), shutdownPatience)
	defer cancel()
	h.shutDown(ctx)
	h.serving.Wait()
	h.closeSockets()
	h.log.Info("stopped")
	h.root.close()
	reason := h.broker.Err() // nil unless it stopped by itself
	closed := h.broker.Close()
	if reason != nil {
		return reason
	}
	return closed
}

func (h *host) enter(phase Phase) {
	h.mu.Lock()
	h.phase, h.since = phase, now()
	h.mu.Unlock()
}

func now() wire.Timestamp {
	return wire.Timestamp(time.Now().UTC().Format("2006-01-02T15:04:05.000Z"))
}

// public is what a refused start tells: a code as it is, anything else, which
// the log has, as failed.
func (h *host) public(err error) error {
	var refusal *wire.Error
	if errors.As(err, &refusal) {
		return refusal
	}
	h.log.Error("start failed", "cause", err)
	return wire.Refuse(wire.Failed)
}

// configured is the organization as its file is now. A file that does not load
// leaves the one before in place: a person who is in the middle of a change
// must not stop the team. Instances and authority count from the next start of
// the host, since the broker has them; limits, harnesses, commands and the
// instance list count from the next launch (BUS-OPEN-97, BUS-CTL-34), and so
// does the sandbox, which can only be added (see lowered).
func (h *host) configured() *org.Organization {
	latest, err := org.Load(h.root.directory())
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		h.log.Warn("the organization file does not load; the one before counts", "cause", err)
		return h.organization
	}
	h.adopt(latest)
	return latest
}

func (h *host) harnessOn(_ wire.Business, harness string) bool {
	return h.configured().HarnessOn(harness)
}

// runBook is the broker as the launcher sees it.
type runBook struct{ broker *broker.Broker }

func (r runBook) Bind(ctx context.Context, record launch.Record) (wire.Capability, error) {
	bound, err := r.broker.BindLaunch(ctx, broker.LaunchRecord{
		Business: record.Business, Role: record.Instance, Run: record.Run, Harness: record.Harness,
		PID: record.PID, StartTime: record.StartTime, Transcript: record.Transcript,
	})
	return bound.Cap, err
}

func (r runBook) End(ctx context.Context, record launch.Record) error {
	end := broker.LaunchEnd{Business: record.Business, Run: record.Run, Reason: string(record.End.Reason)}
	if record.End.Exit != nil {
		end.ExitCode = &record.End.Exit.Code
	}
	return r.broker.EndLaunch(ctx, end)
}

// specBook is the records repositories as the broker sees them.
type specBook struct{ reader *records.Reader }

func (s specBook) Spec(ctx context.Context, business wire.Business, project string) (broker.Spec, error) {
	spec, err := s.reader.Spec(ctx, business, project)
	return broker.Spec(spec), err
}
