package launch

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"mosaicstack.dev/mosaic/internal/wire"
)

// DefaultGrace is how long a run has between SIGTERM and SIGKILL.
const DefaultGrace = 10 * time.Second

// Bus is what the launcher needs of the broker; the host supplies it.
type Bus interface {
	// Bind registers a run before its program starts and returns its
	// capability. On an error, a *wire.Error, the program never starts.
	Bind(ctx context.Context, r Record) (wire.Capability, error)
	// End records the end of a bound run. It is called exactly once for each,
	// when no process of the run is left.
	End(ctx context.Context, r Record) error
}

// Options configure a Launcher.
type Options struct {
	// Dir is host/runs: absolute, and there.
	Dir string
	// Executable is the program that answers StageCommand, absolute; "" means
	// this one, as it is even after an upgrade has replaced its file.
	Executable string
	// Environ is the host's environment, from which runs inherit allowed names.
	Environ   []string
	Harnesses Harnesses
	Bus       Bus
	// BusSocket and HostSocket are what runs are told.
	BusSocket, HostSocket string
	// Confinement is what sandboxed runs see.
	Confinement Confinement
	Grace       time.Duration // 0 means DefaultGrace
	OutputLimit int64         // bytes a file; 0 means OutputLimit
	Log         *slog.Logger
}

// Request is a launch that its caller has authorized, or authorizes in the
// course of it.
type Request struct {
	Business   wire.Business
	Instance   wire.Role
	Definition string
	Charter    string
	Harness    string
	Command    []string
	Dir        string   // absolute
	Env        []string // names that the role is allowed to inherit in addition
	Sandbox    Kind
	Sessions   int // runs of the business at once; 0 means no limit
	// Authorize is called once, when everything that can be checked has been
	// and the instance and a place of the business are taken, so that an
	// approval is not spent on a launch that cannot be. An error of it ends the
	// launch and is its answer. nil when there is nothing left to authorize.
	Authorize func(context.Context) error `json:"-"`
}

// Launcher owns the runs of one host. It is safe for concurrent use.
type Launcher struct {
	options    Options
	stage      string // path of the monitors' program
	bubblewrap string // path of the sandbox's program; "" when it does not work

	mu      sync.Mutex // protects the fields below; never held while waiting
	closed  bool
	live    map[wire.Run]*run
	ended   []Record // oldest first, at most KeptRuns
	running sync.WaitGroup
}

// New reads the records of earlier runs and checks whether the sandbox works
// here. Records without an end become lost: their host died.
func New(ctx context.Context, o Options) (*Launcher, error) {
	o.Grace = cmp.Or(o.Grace, DefaultGrace)
	o.OutputLimit = cmp.Or(o.OutputLimit, OutputLimit)
	records, err := latestRecords(o.Dir, KeptRuns)
	if err != nil {
		return nil, err
	}
	l := &Launcher{options: o, live: map[wire.Run]*run{}}
	for i := range records {
		if records[i].End == nil {
			records[i].End = &RecordEnd{At: l.now(), Reason: Lost}
			if err := writeRecord(l.directory(records[i].Run), records[i]); err != nil {
				return nil, err
			}
		}
	}
	l.ended = records
	l.stage = cmp.Or(o.Executable, "/proc/self/exe")
	if o.Executable, err = ownExecutable(o.Executable); err != nil {
		return nil, err
	}
	l.bubblewrap, err = probeSandbox(ctx, o.Executable, o.Confinement)
	if err != nil {
		o.Log.Warn("sandbox does not work here", "cause", err)
	}
	return l, nil
}

// SandboxWorks says whether runs of this kind can be launched here.
func (l *Launcher) SandboxWorks(kind Kind) bool { return kind == None || l.bubblewrap != "" }

// Harnesses lists the harnesses that this launcher has.
func (l *Launcher) Harnesses() []string { return l.options.Harnesses.Names() }

func (l *Launcher) directory(run wire.Run) string {
	return filepath.Join(l.options.Dir, string(run))
}

// OutputPath is where a run's newest output is.
func (l *Launcher) OutputPath(run wire.Run) string {
	return filepath.Join(l.directory(run), outputName)
}

func (l *Launcher) now() wire.Timestamp {
	return wire.Timestamp(time.Now().UTC().Format("2006-01-02T15:04:05.000Z"))
}

// Info is a run as it is now. Record.End is set once State is StateEnded.
type Info struct {
	Record
	State State
}

// Launch starts a run and returns when its program runs. Errors are
// *wire.Error: unavailable while stopping, instance-running, capacity,
// sandbox-unavailable, invalid-harness, invalid-request, command-missing, that
// of Request.Authorize, the code of a refused binding, and spawn-failed, with
// the field command when there is no such program. ctx bounds the waiting, not the run.
func (l *Launcher) Launch(ctx context.Context, q Request) (Info, error) {
	r, err := l.reserve(q)
	if err != nil {
		return Info{}, err
	}
	if err := r.start(ctx, q); err != nil {
		return Info{}, code(err)
	}
	return r.info(), nil
}

// code is what a caller is told: a refusal as it is, any failure of the host
// as spawn-failed.
func code(err error) error {
	var refusal *wire.Error
	if errors.As(err, &refusal) {
		return refusal
	}
	return wire.Refuse(wire.SpawnFailed)
}

// reserve takes the instance and a place of the business in one step, so that
// of several launches at once exactly one gets the last of either. The run is
// released by its end.
func (l *Launcher) reserve(q Request) (*run, error) {
	if !l.SandboxWorks(q.Sandbox) {
		return nil, wire.Refuse(wire.SandboxUnavailable)
	}
	id, err := newRun()
	if err != nil {
		return nil, code(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, wire.Refuse(wire.Unavailable)
	}
	sessions := 0
	for _, other := range l.live {
		if other.record.Business != q.Business {
			continue
		}
		if other.record.Instance == q.Instance {
			return nil, wire.Refuse(wire.InstanceRunning)
		}
		sessions++
	}
	if q.Sessions > 0 && sessions >= q.Sessions {
		return nil, wire.Refuse(wire.Capacity)
	}
	r := &run{
		launcher: l,
		record: Record{
			Version: 1, Run: id, Business: q.Business, Instance: q.Instance,
			Harness: q.Harness, Sandbox: q.Sandbox, Dir: q.Dir, At: l.now(),
		},
		state: StateStarting,
		done:  make(chan struct{}),
	}
	l.live[id] = r
	l.running.Add(1)
	return r, nil
}

// release takes a run that has ended, or never began, off the live ones.
func (l *Launcher) release(r *run, record Record, kept bool) {
	l.mu.Lock()
	delete(l.live, record.Run)
	if kept {
		l.ended = append(l.ended, record)
		if len(l.ended) > KeptRuns {
			l.ended = slices.Delete(l.ended, 0, len(l.ended)-KeptRuns)
		}
	}
	l.mu.Unlock()
	close(r.done)
	l.running.Done()
}

// Runs lists the runs that have not ended and the latest ended ones, newest
// first.
func (l *Launcher) Runs() []Info {
	l.mu.Lock()
	live := make([]*run, 0, len(l.live))
	for _, r := range l.live {
		live = append(live, r)
	}
	all := make([]Info, 0, len(l.ended)+len(live))
	for _, record := range l.ended {
		all = append(all, Info{Record: record, State: StateEnded})
	}
	l.mu.Unlock()
	for _, r := range live {
		// One that ended since is in neither list twice: it was not in ended.
		all = append(all, r.info())
	}
	slices.SortFunc(all, func(a, b Info) int { return cmp.Compare(b.Run, a.Run) })
	return all
}

// Run returns one run; unknown-run.
func (l *Launcher) Run(id wire.Run) (Info, error) {
	if r := l.lookup(id); r != nil {
		return r.info(), nil
	}
	return l.past(id)
}

func (l *Launcher) lookup(id wire.Run) *run {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.live[id]
}

// past finds a run that has ended, in memory or in its record.
func (l *Launcher) past(id wire.Run) (Info, error) {
	if !validRun(id) {
		return Info{}, wire.Refuse(wire.UnknownRun)
	}
	l.mu.Lock()
	i := slices.IndexFunc(l.ended, func(r Record) bool { return r.Run == id })
	var record Record
	if i >= 0 {
		record = l.ended[i]
	}
	l.mu.Unlock()
	if i < 0 {
		var err error
		if record, err = readRecord(l.directory(id)); err != nil {
			return Info{}, wire.Refuse(wire.UnknownRun)
		}
	}
	return Info{Record: record, State: StateEnded}, nil
}

// Wait returns the run when it has ended or ctx is over.
func (l *Launcher) Wait(ctx context.Context, id wire.Run) (Info, error) {
	if r := l.lookup(id); r != nil {
		select {
		case <-r.done:
		case <-ctx.Done():
		}
		return r.info(), nil
	}
	return l.past(id)
}

// Stop asks a run to end and returns at once: SIGTERM now, SIGKILL to all of
// it after the grace. The first reason counts. A run that has ended already is
// returned as it is.
func (l *Launcher) Stop(id wire.Run, reason Reason) (Info, error) {
	r := l.lookup(id)
	if r == nil {
		return l.past(id)
	}
	r.stop(reason)
	return r.info(), nil
}

// StopAfter stops a run that has not ended by itself after d.
func (l *Launcher) StopAfter(id wire.Run, d time.Duration, reason Reason) {
	r := l.lookup(id)
	if r == nil {
		return
	}
	go func() {
		if !waited(r.done, d) {
			r.stop(reason)
		}
	}()
}

// Close refuses further launches, stops every run and returns when the last
// of them has ended.
func (l *Launcher) Close(reason Reason) {
	l.mu.Lock()
	l.closed = true
	live := make([]*run, 0, len(l.live))
	for _, r := range l.live {
		live = append(live, r)
	}
	l.mu.Unlock()
	for _, r := range live {
		r.stop(reason)
	}
	l.running.Wait()
}

func (l *Launcher) log() *slog.Logger { return l.options.Log }

// makeDirectory creates a run's own directory, durably named in host/runs.
func (l *Launcher) makeDirectory(id wire.Run) error {
	if err := os.Mkdir(l.directory(id), 0o700); err != nil {
		return err
	}
	return syncDirectory(l.options.Dir)
}
