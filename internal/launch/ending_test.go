package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mosaicstack.dev/mosaic/internal/wire"
)

// detached leaves a process behind that has forked twice, leads a session of
// its own and ignores what can be ignored. It is there once the file is.
const detached = `(setsid sh -c 'trap "" TERM HUP INT; echo there >left; while :; do sleep 1; done' &)
	while [ ! -s left ]; do sleep 0.01; done
	`

// proves: BUS-CTL-16
func TestNothingOfARunOutlivesIt(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, kind Kind) {
		for name, script := range map[string]string{
			"that ended":          "exit 4",
			"that was killed":     "kill -KILL $$",
			"that handed over":    "exec sleep 0.1",
			"with closed outputs": "exec >&- 2>&-; exit 4",
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p := newPlace(t, nil)
				p.wait(p.shell(kind, detached+script).Run) // the bus checks that nothing is left
			})
		}
	})
}

// proves: BUS-CTL-61 BUS-OPEN-17
func TestStopAsksFirst(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, kind Kind) {
		p := newPlace(t, nil)
		info := p.shell(kind, `trap 'echo asked; exit 7' TERM; echo ready; while :; do sleep 0.01; done`)
		p.said(info.Run, "ready")
		stopping, err := p.launcher.Stop(info.Run, Stopped)
		if err != nil || stopping.State == StateRunning {
			t.Errorf("stop answered %v, %v", stopping.State, err)
		}
		ended := p.wait(info.Run)
		if ended.End.Reason != Stopped || ended.End.Exit.Code != 7 || !strings.Contains(p.output(info.Run), "asked") {
			t.Errorf("got %+v %+v, output %q", ended.End, ended.End.Exit, p.output(info.Run))
		}
		again, err := p.launcher.Stop(info.Run, HostStopped)
		if err != nil || again.End.Reason != Stopped {
			t.Errorf("a second stop: %+v, %v", again.End, err)
		}
	})
}

func TestStopKillsWhatStays(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, kind Kind) {
		p := newPlace(t, func(o *Options) { o.Grace = 50 * time.Millisecond })
		info := p.shell(kind, detached+`trap '' TERM; echo ready; while :; do sleep 1; done`)
		p.said(info.Run, "ready")
		if _, err := p.launcher.Stop(info.Run, Stopped); err != nil {
			t.Fatal(err)
		}
		if ended := p.wait(info.Run); ended.End.Reason != Stopped || ended.End.Exit.Code != 137 {
			t.Errorf("got %+v %+v", ended.End, ended.End.Exit)
		}
	})
}

// A person who kills the monitor means the run: nothing may go on unseen.
func TestAKilledMonitorTakesTheRunWithIt(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, kind Kind) {
		p := newPlace(t, nil)
		info := p.shell(kind, detached+`echo ready; while :; do sleep 1; done`)
		p.said(info.Run, "ready")
		if err := unix.Kill(info.PID, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if ended := p.wait(info.Run); ended.End.Reason != Failed || ended.End.Exit != nil {
			t.Errorf("got %+v", ended.End)
		}
		eventually(t, "nothing is left", func() bool { return len(living(info.Run)) == 0 })
	})
}

func TestATermForTheMonitorIsForTheProgram(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, kind Kind) {
		p := newPlace(t, nil)
		info := p.shell(kind, `trap 'exit 9' TERM; echo ready; while :; do sleep 0.01; done`)
		p.said(info.Run, "ready")
		if err := unix.Kill(info.PID, unix.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if ended := p.wait(info.Run); ended.End.Reason != Failed || ended.End.Exit.Code != 9 {
			t.Errorf("got %+v", ended.End)
		}
	})
}

func TestCloseStopsEveryRunAndRefusesMore(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, kind Kind) {
		p := newPlace(t, nil)
		p.needs(kind)
		for _, instance := range []wire.Role{"dev", "rev", "pm"} {
			request := p.request(kind, "sleep", "1000")
			request.Instance = instance
			if _, err := p.launcher.Launch(t.Context(), request); err != nil {
				t.Fatal(err)
			}
		}
		p.launcher.Close(HostStopped)
		if len(p.bus.ends) != 3 {
			t.Errorf("%d ends", len(p.bus.ends))
		}
		for _, end := range p.bus.ends {
			if end.End.Reason != HostStopped {
				t.Errorf("ended as %+v", end.End)
			}
		}
		if _, err := p.launcher.Launch(t.Context(), p.request(kind, "true")); !errors.Is(err, wire.Refuse(wire.Unavailable)) {
			t.Errorf("a launch afterwards: %v", err)
		}
	})
}

// hostThatDies is a host in a process of its own: it launches a run that
// leaves a process behind, says which, and waits to be killed.
func hostThatDies(dir string) int {
	var setup struct {
		Options Options
		Request Request
		Die     string // the step at which the host is killed; "" for never
	}
	if err := json.NewDecoder(os.Stdin).Decode(&setup); err != nil {
		return 1
	}
	setup.Options.Harnesses, setup.Options.Bus = Builtin(), deadlyBus{setup.Die}
	setup.Options.Log = slog.New(slog.DiscardHandler)
	l, err := New(context.Background(), setup.Options)
	if err != nil {
		return 1
	}
	if _, err := l.Launch(context.Background(), setup.Request); err != nil {
		return 1
	}
	select {}
}

// deadlyBus kills its host at one step.
type deadlyBus struct{ die string }

func (b deadlyBus) Bind(_ context.Context, r Record) (wire.Capability, error) {
	fmt.Println(r.Run)
	b.step("bind")
	return testCapability, nil
}

func (b deadlyBus) End(context.Context, Record) error {
	b.step("end")
	return nil
}

func (b deadlyBus) step(name string) {
	if b.die == name {
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
		select {}
	}
}

// dyingHost starts a host in a process of its own and returns it with the run
// that it launched.
func (p *place) dyingHost(request Request, die string) (*exec.Cmd, wire.Run) {
	p.t.Helper()
	setup, err := json.Marshal(map[string]any{
		"Options": struct {
			Options
			Harnesses, Bus, Log any
		}{Options: p.options},
		"Request": request,
		"Die":     die,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	host := exec.Command(p.self)
	host.Env = append(os.Environ(), "LAUNCH_TEST_HOST="+p.root)
	host.Stdin = strings.NewReader(string(setup))
	out, err := host.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		p.t.Fatal(err)
	}
	var run wire.Run
	if _, err := fmt.Fscanln(out, &run); err != nil {
		p.t.Fatal(err)
	}
	return host, run
}

// isLost checks that the next host shows a run as lost, in its record too.
func (p *place) isLost(run wire.Run) {
	p.t.Helper()
	next, err := New(p.t.Context(), p.options)
	if err != nil {
		p.t.Fatal(err)
	}
	info, err := next.Run(run)
	if err != nil || info.State != StateEnded || info.End.Reason != Lost || info.End.Exit != nil {
		p.t.Errorf("the next host shows %+v, %v", info, err)
	}
	durable, err := readRecord(filepath.Join(p.options.Dir, string(run)))
	if err != nil || durable.End == nil || durable.End.Reason != Lost {
		p.t.Errorf("its record says %+v, %v", durable.End, err)
	}
}

// proves: BUS-LAUNCH-10
func TestNoRunSurvivesAKilledHost(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, kind Kind) {
		p := newPlace(t, nil)
		p.needs(kind)
		host, run := p.dyingHost(p.request(kind, "/bin/sh", "-c", detached+`echo ready; while :; do sleep 1; done`), "")
		p.said(run, "ready")
		if err := host.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = host.Wait()
		eventually(t, "nothing is left", func() bool { return len(living(run)) == 0 })
		p.isLost(run)
	})
}

// The host dies at the steps where it writes: what has not been bound never
// runs, and an end that was not recorded is a lost run.
func TestAHostThatDiesAtAStep(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, kind Kind) {
		p := newPlace(t, nil)
		p.needs(kind)
		for step, runs := range map[string]bool{"bind": false, "end": true} {
			proof := filepath.Join(p.work, step)
			host, run := p.dyingHost(p.request(kind, "touch", proof), step)
			_ = host.Wait()
			eventually(t, "nothing is left", func() bool { return len(living(run)) == 0 })
			if _, err := os.Stat(proof); (err == nil) != runs {
				t.Errorf("%s: the program ran: %v", step, err == nil)
			}
			p.isLost(run)
		}
	})
}

// proves: BUS-LAUNCH-11
func TestOneRunAnInstance(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, kind Kind) {
		p := newPlace(t, nil)
		p.needs(kind)
		var wait sync.WaitGroup
		results := make([]error, 16)
		for i := range results {
			wait.Go(func() {
				_, results[i] = p.launcher.Launch(t.Context(), p.request(kind, "sleep", "1000"))
			})
		}
		wait.Wait()
		launched := 0
		for _, err := range results {
			if err == nil {
				launched++
			} else if !errors.Is(err, wire.Refuse(wire.InstanceRunning)) {
				t.Errorf("refused with %v", err)
			}
		}
		if launched != 1 || len(p.bus.bound) != 1 {
			t.Errorf("%d launched, %d bound", launched, len(p.bus.bound))
		}
		other := p.request(kind, "true")
		other.Business = "umbrella"
		if _, err := p.launcher.Launch(t.Context(), other); err != nil {
			t.Errorf("the same key in another business: %v", err)
		}
	})
}

// proves: BUS-LAUNCH-10
func TestCapacityIsABusinesss(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	launch := func(business wire.Business, instance wire.Role) error {
		request := p.request(None, "sleep", "1000")
		request.Business, request.Instance, request.Sessions = business, instance, 2
		_, err := p.launcher.Launch(t.Context(), request)
		return err
	}
	if err := errors.Join(launch("acme", "dev"), launch("acme", "rev"), launch("umbrella", "dev")); err != nil {
		t.Fatal(err)
	}
	if err := launch("acme", "pm"); !errors.Is(err, wire.Refuse(wire.Capacity)) {
		t.Errorf("a third of two: %v", err)
	}
	for _, info := range p.launcher.Runs() {
		if info.Business == "acme" && info.Instance == "dev" {
			if _, err := p.launcher.Stop(info.Run, Stopped); err != nil {
				t.Fatal(err)
			}
			p.wait(info.Run)
		}
	}
	if err := launch("acme", "pm"); err != nil {
		t.Errorf("after one ended: %v", err)
	}
}

// What can be executed and is no program is found out only when it is, after
// the binding. In a sandbox it is the sandbox that starts, and exits.
// proves: BUS-OPEN-16
func TestAProgramThatCannotBeStarted(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	text := filepath.Join(p.work, "text")
	if err := os.WriteFile(text, []byte("not a program"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := p.launcher.Launch(t.Context(), p.request(None, text))
	if !errors.Is(err, wire.Refuse(wire.SpawnFailed)) {
		t.Errorf("got %v", err)
	}
	if len(p.bus.ends) != 1 || p.bus.ends[0].End.Reason != Failed {
		t.Fatalf("ends %+v", p.bus.ends)
	}
	if said := p.output(p.bus.ends[0].Run); !strings.Contains(said, "the program was not started") {
		t.Errorf("the person reads %q", said)
	}
}

// An authorization is asked for when all that is checked is in order, and what
// it answers is the answer.
func TestAnAuthorizationComesLast(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	request := p.request(None, "true")
	request.Authorize = func(context.Context) error {
		if runs := p.launcher.Runs(); len(runs) != 1 || runs[0].State != StateStarting || len(p.bus.bound) != 0 {
			t.Errorf("it is asked for at %+v, bound %v", runs, p.bus.bound)
		}
		return wire.Refuse(wire.DecisionConsumed)
	}
	if _, err := p.launcher.Launch(t.Context(), request); !errors.Is(err, wire.Refuse(wire.DecisionConsumed)) {
		t.Errorf("got %v", err)
	}
	if len(p.bus.bound) != 0 || len(p.launcher.Runs()) != 0 {
		t.Errorf("bound %v, runs %v", p.bus.bound, p.launcher.Runs())
	}
	asked := 0
	request.Authorize = func(context.Context) error { asked++; return nil }
	info, err := p.launcher.Launch(t.Context(), request)
	if err != nil || asked != 1 {
		t.Fatalf("asked %d times: %v", asked, err)
	}
	p.wait(info.Run)
}

func TestWhatALaunchRefusesBeforeAnythingRuns(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	text := filepath.Join(p.work, "text")
	if err := os.WriteFile(text, []byte("not a program"), 0o600); err != nil {
		t.Fatal(err)
	}
	noProgram := wire.RefuseField(wire.SpawnFailed, "command")
	cases := []struct {
		name   string
		change func(*Request)
		want   *wire.Error
	}{
		{"no such harness", func(q *Request) { q.Harness = "exce" }, wire.RefuseField(wire.InvalidHarness, "harness")},
		{"no command", func(q *Request) { q.Command = nil }, wire.Refuse(wire.CommandMissing)},
		{"no such program", func(q *Request) { q.Command = []string{"no-such-program-anywhere"} }, noProgram},
		{"nothing there", func(q *Request) { q.Command = []string{"/no/such/program"} }, noProgram},
		{"nothing there from here", func(q *Request) { q.Command = []string{"./no-such-program"} }, noProgram},
		{"no program", func(q *Request) { q.Command = []string{text} }, noProgram},
		{"a directory", func(q *Request) { q.Command = []string{p.work} }, noProgram},
		{"no such directory", func(q *Request) { q.Dir = "/no/such/place" }, wire.RefuseField(wire.InvalidRequest, "dir")},
		{"a file for a directory", func(q *Request) { q.Dir = "/proc/self/stat" }, wire.RefuseField(wire.InvalidRequest, "dir")},
		{"the data root", func(q *Request) { q.Dir, q.Sandbox = p.root+"/host", Bubblewrap }, wire.RefuseField(wire.InvalidRequest, "dir")},
	}
	for _, c := range cases {
		request := p.request(None, "true")
		request.Authorize = func(context.Context) error {
			t.Errorf("%s: the authorization was asked for", c.name)
			return nil
		}
		c.change(&request)
		if !p.launcher.SandboxWorks(request.Sandbox) {
			continue
		}
		_, err := p.launcher.Launch(t.Context(), request)
		var got *wire.Error
		if !errors.As(err, &got) || *got != *c.want {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
	if len(p.bus.bound) != 0 || len(p.launcher.Runs()) != 0 {
		t.Errorf("bound %v, runs %v", p.bus.bound, p.launcher.Runs())
	}
	if entries, err := os.ReadDir(p.options.Dir); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestAnUnknownHarnessAnswersWithTheNearest(t *testing.T) {
	t.Parallel()
	_, err := Builtin().Lookup("exce")
	var unknown *UnknownHarness
	if !errors.As(err, &unknown) || unknown.Nearest != "exec" {
		t.Errorf("got %v", err)
	}
	if _, err := Builtin().Lookup("something-else"); !errors.As(err, &unknown) || unknown.Nearest != "" {
		t.Errorf("got %v", err)
	}
}

func TestManyRunsLeaveNothing(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, kind Kind) {
		p := newPlace(t, nil)
		for range 50 {
			p.wait(p.shell(kind, "exit 0").Run)
		}
		if len(p.bus.ends) != 50 || len(p.launcher.live) != 0 {
			t.Errorf("%d ends, %d live", len(p.bus.ends), len(p.launcher.live))
		}
		for _, info := range p.launcher.Runs() {
			if left := living(info.Run); len(left) > 0 {
				t.Errorf("%s left %v", info.Run, left)
			}
		}
	})
}

func TestAFloodOfOutputIsBounded(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, kind Kind) {
		const limit = 64 << 10
		p := newPlace(t, func(o *Options) { o.OutputLimit = limit })
		info := p.wait(p.shell(kind, "yes flood | head -c 3000000; echo; echo last").Run)
		if info.End.Reason != Exited {
			t.Errorf("got %+v %+v", info.End, info.End.Exit)
		}
		path := p.launcher.OutputPath(info.Run)
		var size int64
		for _, name := range []string{path, path + ".1"} {
			stat, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			size += stat.Size()
		}
		if size > 2*limit+200 || size < limit {
			t.Errorf("%d bytes are kept of each %d", size, limit)
		}
		text := p.output(info.Run)
		if !strings.HasPrefix(text, "[mosaic: ") || !strings.HasSuffix(text, "\nlast\n") {
			t.Errorf("the newest output begins %.80q and ends %.20q", text, text[max(0, len(text)-20):])
		}
	})
}
