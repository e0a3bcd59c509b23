package launch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mosaicstack.dev/mosaic/internal/proc"
	"mosaicstack.dev/mosaic/internal/wire"
)

// The test binary is the stage of its own runs, as the product's binary is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == StageCommand {
		os.Exit(Stage(os.Args[2:]))
	}
	if dir := os.Getenv("LAUNCH_TEST_HOST"); dir != "" {
		os.Exit(hostThatDies(dir))
	}
	goleak.VerifyTestMain(m)
}

const testCapability = wire.Capability("dGhpcyBpcyBhIGNhcGFiaWxpdHkgb2YgMzIgYnl0ZXM")

// bus is a broker that fails the test when the launcher breaks the protocol:
// a second binding or end of a run, or an end without a binding.
type bus struct {
	t      *testing.T
	onBind func(Record) error
	mu     sync.Mutex
	bound  map[wire.Run]bool
	ends   []Record
}

func (b *bus) Bind(_ context.Context, r Record) (wire.Capability, error) {
	if b.onBind != nil {
		if err := b.onBind(r); err != nil {
			return "", err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, again := b.bound[r.Run]; again {
		b.t.Errorf("run %s was bound twice", r.Run)
	}
	b.bound[r.Run] = true
	return testCapability, nil
}

func (b *bus) End(_ context.Context, r Record) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.bound[r.Run] {
		b.t.Errorf("run %s ended twice, or without a binding", r.Run)
	}
	if left := living(r.Run); len(left) > 0 {
		b.t.Errorf("run %s was ended while %v live", r.Run, left)
	}
	b.bound[r.Run] = false
	b.ends = append(b.ends, r)
	return nil
}

// place is one data root with listening sockets, and a launcher for it.
type place struct {
	t        *testing.T
	self     string // the test binary
	root     string
	work     string
	bus      *bus
	launcher *Launcher
	options  Options
	human    string
}

func newPlace(t *testing.T, change func(*Options)) *place {
	t.Helper()
	p := &place{t: t, root: t.TempDir(), work: t.TempDir()}
	p.bus = &bus{t: t, bound: map[wire.Run]bool{}}
	for _, dir := range []string{"bus", "host", "host/runs"} {
		if err := os.Mkdir(filepath.Join(p.root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p.human = listen(t, p.root+"/bus/human.sock")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p.self = self
	busSocket, hostSocket := listen(t, p.root+"/bus/bus.sock"), listen(t, p.root+"/host/host.sock")
	p.options = Options{
		Dir:       p.root + "/host/runs",
		Environ:   []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.work, "LC_ALL=C.UTF-8", "GITEA_TOKEN=secret", "NPM_TOKEN=named", "MOSAIC_BUS_CAP=of-another-run"},
		Harnesses: Builtin(), Bus: p.bus, BusSocket: busSocket, HostSocket: hostSocket,
		Confinement: Confinement{
			DataRoot: p.root, Sockets: []string{busSocket, hostSocket}, HumanSocket: p.human,
		},
		Grace: 5 * time.Second, Log: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&p.options)
	}
	p.launcher, err = New(t.Context(), p.options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.launcher.Close(HostStopped) })
	return p
}

func listen(t *testing.T, path string) string {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return path
}

// kinds runs a test without a sandbox, and in one when it works here.
func kinds(t *testing.T, test func(t *testing.T, kind Kind)) {
	t.Helper()
	for _, kind := range []Kind{None, Bubblewrap} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			test(t, kind)
		})
	}
}

func (p *place) needs(kind Kind) {
	p.t.Helper()
	if !p.launcher.SandboxWorks(kind) {
		p.t.Skip("bubblewrap does not work on this machine: see the launcher's probe")
	}
}

func (p *place) request(kind Kind, command ...string) Request {
	return Request{
		Business: "acme", Instance: "dev", Definition: "developer", Charter: "You write the code.",
		Harness: "exec", Command: command, Dir: p.work, Sandbox: kind,
	}
}

// shell launches a script and returns its run.
func (p *place) shell(kind Kind, script string) Info {
	p.t.Helper()
	p.needs(kind)
	info, err := p.launcher.Launch(p.t.Context(), p.request(kind, "/bin/sh", "-c", script))
	if err != nil {
		p.t.Fatalf("launch: %v", err)
	}
	return info
}

func (p *place) wait(run wire.Run) Info {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	info, err := p.launcher.Wait(ctx, run)
	if err != nil || info.State != StateEnded {
		p.t.Fatalf("run %s did not end: %v, %v", run, info.State, err)
	}
	return info
}

func (p *place) output(run wire.Run) string {
	p.t.Helper()
	text, err := os.ReadFile(p.launcher.OutputPath(run))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}

// said waits for a line of the run's output.
func (p *place) said(run wire.Run, line string) {
	p.t.Helper()
	eventually(p.t, "output "+line, func() bool {
		text, err := os.ReadFile(p.launcher.OutputPath(run))
		return err == nil && strings.Contains(string(text), line+"\n")
	})
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never came true: %s", what)
		}
	}
}

// living lists the processes that carry a run's marker.
func living(run wire.Run) []string {
	var found []string
	table := proc.System()
	for _, st := range everyProcess() {
		env, err := table.Environ(st.PID)
		if err == nil && slices.Contains(env, "MOSAIC_RUN_ID="+string(run)) && st.State != 'Z' {
			found = append(found, fmt.Sprintf("%d (%s)", st.PID, st.Command))
		}
	}
	return found
}

func TestARunEndsAsItsProgramDoes(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, script string
		code         int
		signal       string
		reason       Reason
	}{
		{"zero", "exit 0", 0, "", Exited},
		{"a code", "exit 3", 3, "", Failed},
		{"the largest code", "exit 255", 255, "", Failed},
		{"a signal", "kill -USR1 $$", 138, "SIGUSR1", Failed},
		{"an uncatchable signal", "kill -KILL $$", 137, "SIGKILL", Failed},
	}
	kinds(t, func(t *testing.T, kind Kind) {
		p := newPlace(t, nil)
		for _, c := range cases {
			info := p.wait(p.shell(kind, c.script).Run)
			if info.End.Reason != c.reason || info.End.Exit == nil || info.End.Exit.Code != c.code {
				t.Errorf("%s: got %+v %+v", c.name, info.End, info.End.Exit)
			}
			if kind == None && info.End.Exit.Signal != c.signal {
				t.Errorf("%s: signal %q, want %q", c.name, info.End.Exit.Signal, c.signal)
			}
		}
		if len(p.bus.ends) != len(cases) {
			t.Errorf("%d ends for %d runs", len(p.bus.ends), len(cases))
		}
	})
}

// proves: BUS-CTL-15 BUS-OPEN-08 BUS-OPEN-104 BUS-HUMAN-26
func TestARunsEnvironmentIsBuiltFromAList(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, kind Kind) {
		p := newPlace(t, nil)
		p.needs(kind)
		request := p.request(kind, "/bin/sh", "-c", "tr '\\0' '\\n' </proc/$$/environ")
		request.Env = []string{"NPM_TOKEN"}
		info, err := p.launcher.Launch(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		p.wait(info.Run)
		text := p.output(info.Run)
		for _, want := range []string{
			"MOSAIC_RUN_ID=" + string(info.Run), "MOSAIC_AGENT_RUN=" + string(info.Run),
			"MOSAIC_BUS_CAP=" + string(testCapability), "MOSAIC_AGENT_NAME=dev", "MOSAIC_BUSINESS=acme",
			"MOSAIC_BUS_SOCKET=" + p.options.BusSocket, "MOSAIC_HOST_SOCKET=" + p.options.HostSocket,
			"HOME=" + p.work, "LC_ALL=C.UTF-8", "NPM_TOKEN=named",
			"human.sock, do not detach a process or clear its environment so that it looks",
			"You write the code.",
		} {
			if !strings.Contains(text, want+"\n") {
				t.Errorf("no %s in\n%s", want, text)
			}
		}
		for _, secret := range []string{"GITEA_TOKEN", "of-another-run"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s reached the run", secret)
			}
		}
	})
}

// proves: BUS-CTL-17 BUS-OPEN-08
func TestACapabilityIsSeenInTheProgramAlone(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, kind Kind) {
		p := newPlace(t, nil)
		table := proc.System()
		p.bus.onBind = func(r Record) error {
			env, err := table.Environ(r.PID)
			if err != nil {
				t.Error(err)
			}
			slices.Sort(env)
			want := []string{"MOSAIC_AGENT_RUN=" + string(r.Run), "MOSAIC_RUN_ID=" + string(r.Run)}
			if !slices.Equal(env, want) {
				t.Errorf("before its order the monitor has %q", env)
			}
			return nil
		}
		info := p.shell(kind, "echo here; exec sleep 1000")
		p.said(info.Run, "here")
		eventually(t, "one process holds the capability", func() bool {
			holders := 0
			for _, st := range everyProcess() {
				argv, _ := table.Cmdline(st.PID)
				env, _ := table.Environ(st.PID)
				if slices.Contains(env, "MOSAIC_BUS_CAP="+string(testCapability)) && slices.Contains(env, "MOSAIC_RUN_ID="+string(info.Run)) {
					holders++
				}
				if strings.Contains(strings.Join(argv, " "), string(testCapability)) {
					t.Errorf("%d (%s) has the capability in its arguments", st.PID, st.Command)
				}
			}
			if holders > 1 {
				t.Errorf("%d processes hold the capability", holders)
			}
			return holders > 0 // none while the shell becomes the sleep
		})
		for _, entry := range os.Environ() {
			if strings.Contains(entry, string(testCapability)) {
				t.Error("the host has it in its environment")
			}
		}
		record, err := os.ReadFile(filepath.Join(p.launcher.directory(info.Run), recordName))
		if err != nil || strings.Contains(string(record), string(testCapability)) {
			t.Errorf("record: %v\n%s", err, record)
		}
	})
}

// proves: BUS-CTL-27
func TestARefusedBindingNeverStartsTheProgram(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, kind Kind) {
		p := newPlace(t, nil)
		p.needs(kind)
		var monitor proc.Identity
		p.bus.onBind = func(r Record) error {
			monitor = proc.Identity{PID: r.PID, Start: r.StartTime}
			durable, err := readRecord(p.launcher.directory(r.Run))
			if err != nil || durable.PID != r.PID || durable.StartTime != r.StartTime || durable.End != nil {
				t.Errorf("the record at the binding is %+v, %v", durable, err)
			}
			return wire.Refuse(wire.LaunchMismatch)
		}
		proof := filepath.Join(p.work, "ran")
		_, err := p.launcher.Launch(t.Context(), p.request(kind, "touch", proof))
		if !errors.Is(err, wire.Refuse(wire.LaunchMismatch)) {
			t.Fatalf("got %v", err)
		}
		if st, err := proc.System().Stat(monitor.PID); err == nil && st.Identity == monitor {
			t.Errorf("the monitor lives on in state %c", st.State)
		}
		if _, err := os.Stat(proof); err == nil {
			t.Error("the program ran")
		}
		if runs := p.launcher.Runs(); len(runs) != 1 || runs[0].End.Reason != Failed {
			t.Errorf("runs: %+v", runs)
		}
		p.bus.onBind = nil
		p.wait(p.shell(kind, "true").Run) // the instance is free again
	})
}

// proves: BUS-CTL-05 BUS-OPEN-04
func TestTheRecordNamesTheOutermostProcessFromTheBeginning(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, kind Kind) {
		p := newPlace(t, nil)
		var bound Record
		p.bus.onBind = func(r Record) error { bound = r; return nil }
		info := p.shell(kind, "echo here; exec sleep 1000")
		p.said(info.Run, "here")
		st, err := proc.System().Stat(bound.PID)
		if err != nil || st.Start != bound.StartTime || st.Parent != os.Getpid() {
			t.Fatalf("bound %d %d, now %+v, %v", bound.PID, bound.StartTime, st, err)
		}
		if !validRun(info.Run) || info.PID != bound.PID {
			t.Errorf("run %q, pid %d, bound %d", info.Run, info.PID, bound.PID)
		}
		var sleep int
		eventually(t, "the program is seen", func() bool {
			for _, st := range everyProcess() {
				env, _ := proc.System().Environ(st.PID)
				if st.Command == "sleep" && slices.Contains(env, "MOSAIC_RUN_ID="+string(info.Run)) {
					sleep = st.PID
				}
			}
			return sleep != 0
		})
		line, err := proc.Ancestors(proc.System(), sleep)
		if err != nil || !slices.ContainsFunc(line, func(st proc.Stat) bool { return st.PID == bound.PID }) {
			t.Errorf("the program %d does not descend from %d: %v, %v", sleep, bound.PID, line, err)
		}
	})
}
