package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"mosaicstack.dev/mosaic/internal/proc"
	"mosaicstack.dev/mosaic/internal/wire"
)

const (
	// startPatience is how long a monitor may take to say that the program
	// runs.
	startPatience = 20 * time.Second
	// killPatience is how long a monitor may take to kill its run before it
	// is killed itself.
	killPatience = 10 * time.Second
)

// newRun makes the id of a run (BUS-OPEN-04).
func newRun() (wire.Run, error) {
	id, err := uuid.NewV7()
	return wire.Run(id.String()), err
}

func validRun(id wire.Run) bool {
	parsed, err := uuid.Parse(string(id))
	return err == nil && parsed.Version() == 7 && parsed.String() == string(id)
}

// run is one run from its reservation to its end.
type run struct {
	launcher *Launcher
	done     chan struct{} // closed when the run has ended and is recorded

	mu      sync.Mutex // protects the fields below
	record  Record
	state   State
	reason  Reason // why it was told to stop; "" when it was not
	monitor *stage
}

func (r *run) info() Info {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Info{Record: r.record, State: r.state}
}

// start goes through the steps of a launch. What is true when the host dies
// stands between them.
func (r *run) start(ctx context.Context, q Request) error {
	program, err := r.prepare(q)
	if err != nil {
		return r.abandon(err)
	}
	if q.Authorize != nil {
		if err := q.Authorize(ctx); err != nil {
			return r.abandon(err)
		}
	}
	if err := r.launcher.makeDirectory(r.record.Run); err != nil {
		return r.abandon(err)
	}
	// An empty directory: the run never was.
	monitor, err := r.launcher.startStage(r.record.Run)
	if err != nil {
		return r.abandon(err)
	}
	// The monitor reads the end of its socket and exits; nothing ran.
	if err := r.identify(monitor, program); err != nil {
		monitor.kill()
		return r.abandon(err)
	}
	// The record names a run without an end; the monitor exited. The next
	// start shows it as lost. The broker never heard of it.
	capability, err := r.launcher.options.Bus.Bind(context.WithoutCancel(ctx), r.info().Record)
	if err != nil {
		monitor.kill()
		return r.abandon(err)
	}
	// From here on the run is bound and has to be ended. After a death of the
	// host the broker's next start lists it as lost. The monitor exited.
	err = monitor.begin(r.order(q, program, capability))
	// The program runs or has been refused. After a death of the host the
	// monitor kills it; the next start ends it as lost.
	r.launch(monitor, err == nil)
	if err != nil {
		<-r.done
	}
	return err
}

func (r *run) prepare(q Request) (Program, error) {
	harness, err := r.launcher.options.Harnesses.Lookup(q.Harness)
	if err != nil {
		return Program{}, err
	}
	if q.Sandbox == Bubblewrap && r.launcher.options.Confinement.hides(q.Dir) {
		return Program{}, wire.RefuseField(wire.InvalidRequest, "dir")
	}
	if info, err := os.Stat(q.Dir); err != nil || !info.IsDir() {
		return Program{}, wire.RefuseField(wire.InvalidRequest, "dir")
	}
	program, err := harness.Prepare(Spec{
		Business: q.Business, Instance: q.Instance, Run: r.record.Run,
		Definition: q.Definition, Charter: Rules + "\n\n" + q.Charter,
		Command: q.Command, Directory: r.launcher.directory(r.record.Run),
	})
	if err != nil {
		return Program{}, err
	}
	// The monitor looks for it again; here it keeps a launch that cannot be
	// from spending an approval.
	env := environment(r.launcher.options.Environ, q.Env, program.Env, nil)
	if _, err := findProgram(program.Argv[0], q.Dir, env); err != nil {
		return Program{}, fmt.Errorf("launch: %w: %w", err, wire.RefuseField(wire.SpawnFailed, "command"))
	}
	return program, nil
}

// identify writes the durable record of a monitor that waits for its order.
func (r *run) identify(monitor *stage, program Program) error {
	st, err := proc.System().Stat(monitor.pid())
	if err != nil {
		return err
	}
	boot, err := proc.BootID()
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.record.PID, r.record.StartTime, r.record.Boot = st.PID, st.Start, boot
	r.record.Command, r.record.Transcript = program.Argv, program.Transcript
	record := r.record
	r.mu.Unlock()
	return writeRecord(r.launcher.directory(record.Run), record)
}

func (r *run) order(q Request, program Program, capability wire.Capability) order {
	o := r.launcher.options
	record := r.info().Record
	work := order{
		Run: record.Run, Argv: program.Argv, Dir: q.Dir,
		Output: r.launcher.OutputPath(record.Run), Limit: o.OutputLimit,
	}
	set := append(work.markers(),
		envBusSocket+"="+o.BusSocket,
		envHostSocket+"="+o.HostSocket,
		envCapability+"="+string(capability),
		envAgentName+"="+string(q.Instance),
		envBusiness+"="+string(q.Business),
	)
	work.Env = environment(o.Environ, q.Env, program.Env, set)
	if q.Sandbox == Bubblewrap {
		work.Sandbox = &wrapper{Path: r.launcher.bubblewrap, Options: o.Confinement.options(q.Dir)}
	}
	return work
}

// abandon ends a run that was never bound: nothing of it ran.
func (r *run) abandon(cause error) error {
	r.mu.Lock()
	r.state = StateEnded
	r.record.End = &RecordEnd{At: r.launcher.now(), Reason: Failed}
	record := r.record
	r.mu.Unlock()
	if record.PID != 0 {
		if err := writeRecord(r.launcher.directory(record.Run), record); err != nil {
			cause = errors.Join(cause, err)
		}
	} else {
		_ = os.Remove(r.launcher.directory(record.Run)) // empty, or not made
	}
	r.launcher.log().Warn("run was not launched", "run", record.Run, "instance", record.Instance, "cause", cause)
	r.launcher.release(r, record, record.PID != 0)
	return cause
}

// launch lets the run go its way and watches for its end.
func (r *run) launch(monitor *stage, running bool) {
	r.mu.Lock()
	r.monitor = monitor
	if running && r.reason == "" {
		r.state = StateRunning
	}
	told := r.reason != "" // to stop, while it started
	r.mu.Unlock()
	switch {
	case !running:
		monitor.terminate(0, r.done)
	case told:
		monitor.terminate(r.launcher.options.Grace, r.done)
	}
	go r.watch(monitor)
}

// watch waits for the end of a bound run and reports it once.
func (r *run) watch(monitor *stage) {
	exit := monitor.wait()
	if exit == nil {
		// The monitor died without saying how the program ended: what it
		// would have killed is looked for.
		Sweep(r.info().Run)
	}
	r.mu.Lock()
	r.record.End = &RecordEnd{At: r.launcher.now(), Reason: r.endReason(exit), Exit: exit}
	record := r.record
	r.mu.Unlock()
	// The broker first: it releases the claim, and its record is the one that
	// counts. If the host dies before it, the run is ended as lost.
	if err := r.launcher.options.Bus.End(context.Background(), record); err != nil {
		r.launcher.log().Error("end of a run was not recorded", "run", record.Run, "cause", err)
	}
	if err := writeRecord(r.launcher.directory(record.Run), record); err != nil {
		r.launcher.log().Error("record of a run was not written", "run", record.Run, "cause", err)
	}
	r.mu.Lock()
	r.state = StateEnded
	r.mu.Unlock()
	r.launcher.release(r, record, true)
}

// endReason is called with the run's lock held.
func (r *run) endReason(exit *Exit) Reason {
	switch {
	case r.reason != "":
		return r.reason
	case exit != nil && exit.Code == 0:
		return Exited
	default:
		return Failed
	}
}

// stop tells the run to end, once.
func (r *run) stop(reason Reason) {
	r.mu.Lock()
	first := r.reason == "" && r.record.End == nil
	if first {
		r.reason = reason
		r.state = StateStopping
	}
	monitor := r.monitor
	r.mu.Unlock()
	if first && monitor != nil {
		monitor.terminate(r.launcher.options.Grace, r.done)
	}
}

// stage is the launcher's side of a monitor.
type stage struct {
	cmd     *exec.Cmd
	conn    *net.UnixConn
	decoder *json.Decoder
}

// startStage starts a monitor, which waits for its order. Its environment
// holds the markers of the run and nothing else; its descriptors are the
// socket pair and /dev/null.
func (l *Launcher) startStage(id wire.Run) (*stage, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	cmd := exec.Command(l.stage, StageCommand)
	cmd.Args[0] = "mosaic"
	cmd.Env = order{Run: id}.markers()
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{theirs}
	// A session of its own: what a terminal sends to the host's group is not
	// meant for runs.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		ours.Close()
		return nil, err
	}
	return &stage{cmd: cmd, conn: ours, decoder: json.NewDecoder(ours)}, nil
}

func socketPair() (*net.UnixConn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "monitor"), os.NewFile(uintptr(fds[1]), "launcher")
	defer ours.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return conn.(*net.UnixConn), theirs, nil
}

func (s *stage) pid() int { return s.cmd.Process.Pid }

// kill ends a monitor that has not begun.
func (s *stage) kill() {
	s.conn.Close()
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// begin hands over the order and waits for the program to run. spawn-failed.
func (s *stage) begin(o order) error {
	_ = s.conn.SetDeadline(time.Now().Add(startPatience))
	defer s.conn.SetDeadline(time.Time{})
	if err := json.NewEncoder(s.conn).Encode(instruction{Start: &o}); err != nil {
		return errSpawn(err)
	}
	var first report
	if err := s.decoder.Decode(&first); err != nil {
		s.conn.Close() // too late: whatever it does, nothing of it may stay
		return errSpawn(err)
	}
	if !first.Started {
		return wire.Refuse(wire.SpawnFailed)
	}
	return nil
}

func errSpawn(err error) error {
	return fmt.Errorf("launch: monitor: %w: %w", err, wire.Refuse(wire.SpawnFailed))
}

// wait returns how the program ended when nothing of the run is left; nil when
// the monitor did not say.
func (s *stage) wait() *Exit {
	var last report
	err := s.decoder.Decode(&last)
	s.conn.Close()
	_ = s.cmd.Wait()
	if err != nil {
		return nil
	}
	return last.Ended
}

// terminate sends SIGTERM, SIGKILL after the grace, and if the monitor does
// not bring that about, SIGKILL to the monitor. It returns at once and gives
// up when done closes.
func (s *stage) terminate(grace time.Duration, done <-chan struct{}) {
	_ = json.NewEncoder(s.conn).Encode(instruction{Stop: true})
	go func() {
		if waited(done, grace) {
			return
		}
		_ = s.conn.CloseWrite()
		if waited(done, killPatience) {
			return
		}
		_ = s.cmd.Process.Kill()
	}()
}

// waited says whether done closed within d.
func waited(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
