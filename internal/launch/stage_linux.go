package launch

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// killInterval is how often the monitor looks for processes that are left
// while it kills: a process may fork between the look and the kill.
const killInterval = 10 * time.Millisecond

// outputPatience is how long the monitor waits for output that is still in the
// pipe when no process is left. Nobody can add to it then, except a process
// outside the run that was sent the descriptor.
const outputPatience = time.Second

// Stage is the whole of the stage command; args are what follows it. It
// returns the exit code: 0 when it did what its launcher said, 4 when it was
// not started by one.
func Stage(args []string) int {
	if len(args) > 0 && args[0] == probeArgument {
		return probe(args[1:])
	}
	// The program is started with a parent-death signal, which is sent when
	// the thread that started it ends: this one lasts as long as the process.
	runtime.LockOSThread()
	if closeOnExec() != nil {
		return 1
	}
	// For people who look at the processes; the path says nothing.
	_ = os.WriteFile("/proc/self/comm", []byte("mosaic-run"), 0)
	conn, err := launcherConn()
	if err != nil {
		return 4
	}
	defer conn.Close()
	// What a run leaves behind becomes a child of the monitor instead of
	// init's, so none of it can escape by forking twice.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 1
	}
	decoder := json.NewDecoder(conn)
	var first instruction
	if err := decoder.Decode(&first); err != nil || first.Start == nil {
		return 0 // the run was refused, or the launcher is gone: nothing ran
	}
	m := &monitor{conn: conn, order: *first.Start}
	return m.run(decoder)
}

// closeOnExec keeps every descriptor that the monitor has from the program:
// whoever started the host may have left some open.
func closeOnExec() error {
	entries, err := os.ReadDir("/proc/self/fd")
	for _, entry := range entries {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return err
}

func launcherConn() (net.Conn, error) {
	f := os.NewFile(stageFD, "launcher")
	if f == nil {
		return nil, errors.New("launch: no descriptor")
	}
	defer f.Close()
	return net.FileConn(f) // a duplicate that no child inherits
}

// monitor is the outermost process of a run.
type monitor struct {
	conn  net.Conn
	order order
	child *child
}

// run starts the program and returns when nothing of the run is left.
func (m *monitor) run(decoder *json.Decoder) int {
	child, code := startChild(m.order)
	if code != "" {
		m.send(report{Failed: code})
		return 0
	}
	m.child = child
	m.send(report{Started: true})
	exit := m.watch(m.instructions(decoder))
	child.drain(outputPatience)
	m.send(report{Ended: &exit})
	return 0
}

// send cannot fail usefully: a launcher that is gone is noticed by reading.
func (m *monitor) send(r report) { _ = json.NewEncoder(m.conn).Encode(r) }

// instructions delivers every request to stop, and closes when the launcher's
// end does.
func (m *monitor) instructions(decoder *json.Decoder) <-chan instruction {
	c := make(chan instruction)
	go func() {
		defer close(c)
		for {
			var next instruction
			if decoder.Decode(&next) != nil {
				return
			}
			c <- next
		}
	}()
	return c
}

// watch lets the program run until it ends or is told to, then kills until no
// process is left.
func (m *monitor) watch(instructions <-chan instruction) Exit {
	// A person who ends the monitor means the run.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	ended, gone := make(chan Exit, 1), make(chan struct{})
	go reap(m.child.pid, ended, gone)

	var exit Exit
	var again <-chan time.Time
	kill := func() {
		signals = nil // the program's pid may mean another process soon
		killDescendants()
		again = time.After(killInterval)
	}
	for {
		select {
		case _, open := <-instructions:
			switch {
			case !open:
				instructions = nil
				kill()
			case again == nil:
				m.child.terminate()
			}
		case <-signals:
			m.child.terminate()
		case exit = <-ended:
			kill()
		case <-again:
			kill()
		case <-gone:
			select {
			case exit = <-ended: // came at the same time
			default:
			}
			return exit
		}
	}
}

// reap collects every child of the monitor, its own and the adopted. No child
// left means that the whole tree is gone, since each of its processes has a
// parent in it.
func reap(program int, ended chan<- Exit, gone chan<- struct{}) {
	defer close(gone)
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return
		case pid == program:
			ended <- exitOf(status)
		}
	}
}

func exitOf(status unix.WaitStatus) Exit {
	if status.Signaled() {
		return Exit{Code: 128 + int(status.Signal()), Signal: unix.SignalName(status.Signal())}
	}
	return Exit{Code: status.ExitStatus()}
}
