package host

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mosaicstack.dev/mosaic/client"
	"mosaicstack.dev/mosaic/internal/launch"
	"mosaicstack.dev/mosaic/internal/org"
	"mosaicstack.dev/mosaic/internal/proc"
	"mosaicstack.dev/mosaic/internal/wire"
)

// The life of a host with one run, as its person and the evidence tell it.
// proves: BUS-BOOT-26 BUS-CTL-15 BUS-CTL-27 BUS-CTL-61 BUS-OPEN-17
func TestALaunchFromStartToEnd(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, kind launch.Kind) {
		h := newTestHost(t, kind)
		launched := do[Launched](h, "launch", LaunchArgs{
			Instance: "dev", Dir: h.project,
			Command: []string{h.self, "agent-call", "bus", "role.claim", "{}", "bus", "agents", "{}", "host", "status", "{}"},
		})
		ended := h.wait(launched.Run)
		if ended.Reason != launch.Exited || ended.ExitCode == nil || *ended.ExitCode != 0 || ended.Instance != "dev" || ended.Business != "acme" {
			t.Errorf("it ended as %+v", ended)
		}
		said := h.output(launched.Run)
		for _, want := range []string{
			`role.claim {"role":"dev","run":"` + string(launched.Run) + `"`, `"phase":"serving"`, `"state":"running"`,
		} {
			if !strings.Contains(said, want) {
				t.Errorf("the agent saw no %s in\n%s", want, said)
			}
		}
		for _, secret := range []string{`"human":`, `"dataRoot":`, `"log":`, `"command":`, `"pid":`, "globex"} {
			if strings.Contains(said, secret) {
				t.Errorf("the agent saw %s in\n%s", secret, said)
			}
		}
		events := h.events(launched.Run)
		if len(events) < 2 || !strings.HasPrefix(events[0], `session.launched {"harness":"exec"`) ||
			events[len(events)-1] != `session.ended {"reason":"exited","exitCode":0,"released":true}` {
			t.Errorf("the evidence is %q", events)
		}
	})
}

// proves: BUS-BOOT-41
func TestAStartThatIsRefusedChangesNothing(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		damage func(h *testHost) error
		code   wire.Code
	}{
		{"an organization with a fault", func(h *testHost) error {
			return os.WriteFile(filepath.Join(h.root, org.File), []byte("version: 2\n"), 0o600)
		}, wire.InvalidConfig},
		{"no organization", func(h *testHost) error { return os.Remove(filepath.Join(h.root, org.File)) }, wire.OrganizationNotFound},
		{"no store", func(h *testHost) error { return os.Remove(filepath.Join(h.root, busName, "bus.sqlite")) }, wire.StoreMissing},
		{"a socket in the way", func(h *testHost) error {
			if err := os.Mkdir(filepath.Join(h.root, Directory), 0o700); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(h.root, Directory, SocketName), nil, 0o600)
		}, wire.SocketExists},
		{"a dangling link in the way", func(h *testHost) error {
			if err := os.Mkdir(filepath.Join(h.root, Directory), 0o700); err != nil {
				return err
			}
			return os.Symlink("nowhere", filepath.Join(h.root, Directory, SocketName))
		}, wire.SocketExists},
		{"a host directory that others can enter", func(h *testHost) error {
			return os.Mkdir(filepath.Join(h.root, Directory), 0o755)
		}, wire.UnsafePermissions},
		{"a link for the host directory", func(h *testHost) error {
			return os.Symlink(h.project, filepath.Join(h.root, Directory))
		}, wire.UnsafePermissions},
		{"a link for the runs", func(h *testHost) error {
			if err := os.Mkdir(filepath.Join(h.root, Directory), 0o700); err != nil {
				return err
			}
			return os.Symlink(h.project, filepath.Join(h.root, Directory, runsName))
		}, wire.UnsafePermissions},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := prepareHost(t, t.TempDir(), launch.None)
			if err := c.damage(h); err != nil {
				t.Fatal(err)
			}
			before := tree(t, h.root)
			h.refusedStart(c.code)
			after := tree(t, h.root)
			// The two directories may be made before the refusal; nothing else.
			after = slices.DeleteFunc(after, func(s string) bool {
				return !slices.Contains(before, s) && (strings.HasPrefix(s, "host ") || strings.HasPrefix(s, "host/runs "))
			})
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("it changed the data root (-before +after):\n%s", diff)
			}
		})
	}
}

// tree lists what is in a directory: path, mode, size.
func tree(t *testing.T, root string) []string {
	t.Helper()
	var list []string
	err := filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		size := info.Size()
		if info.IsDir() {
			size = 0
		}
		list = append(list, fmt.Sprintf("%s %s %d", strings.TrimPrefix(strings.TrimPrefix(path, root), "/"), info.Mode(), size))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// proves: BUS-OPEN-17
func TestAStopInOrderLeavesNothing(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, kind launch.Kind) {
		h := newTestHost(t, kind)
		a := h.agent("dev")
		stubborn := do[Launched](h, "launch", LaunchArgs{
			Instance: "rev", Dir: h.project,
			Command: []string{"sh", "-c", `(setsid sh -c 'echo there >left; exec sleep 1000' &) ; while [ ! -s left ]; do sleep 0.01; done; exec sleep 1000`},
		})
		eventually(t, "it left a process behind", func() bool { _, err := os.Stat(filepath.Join(h.project, "left")); return err == nil })
		h.stop()
		for _, run := range []wire.Run{a.run, stubborn.Run} {
			if left := living(run); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			events := h.events(run)
			if last := events[len(events)-1]; !strings.HasPrefix(last, `session.ended {"reason":"host-stopped"`) {
				t.Errorf("the evidence ends with %s", last)
			}
		}
		for _, path := range []string{"bus/writer.lock", "bus/bus.sock", "bus/human.sock", "host/host.sock", "host/human.sock"} {
			if _, err := os.Lstat(filepath.Join(h.root, path)); err == nil {
				t.Errorf("%s is left", path)
			}
		}
		if logged := h.log.String(); strings.Contains(logged, "level=ERROR") {
			t.Errorf("a stop that was asked for is no error:\n%s", logged)
		}
		h.start() // and nothing is in the way
		if runs := do[RunList](h, "runs", none{}); len(runs.Runs) != 2 || runs.Runs[0].Reason != launch.HostStopped {
			t.Errorf("the next host shows %+v", runs)
		}
	})
}

// living lists the processes that carry a run's marker.
func living(run wire.Run) []string {
	var found []string
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		env, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "environ"))
		if err == nil && slices.Contains(strings.Split(string(env), "\x00"), "MOSAIC_RUN_ID="+string(run)) {
			found = append(found, entry.Name())
		}
	}
	return found
}

// hostThatDies serves a data root until it is killed.
func hostThatDies(root string) int {
	nonce := os.Getenv("HOST_TEST_NONCE")
	parent := os.Getppid()
	err := Run(context.Background(), Options{
		DataRoot: root, Log: slog.New(slog.DiscardHandler),
		processes: person{proc.System(), parent, nonce},
		Ready:     func(Status) { fmt.Println("ready") },
	})
	fmt.Println(err)
	return 2
}

// proves: BUS-OPEN-17 BUS-LAUNCH-10
func TestAKilledHostsRunsAreLost(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, kind launch.Kind) {
		h := prepareHost(t, t.TempDir(), kind)
		h.status.Sockets = &Sockets{Host: h.root + "/host/host.sock", HostHuman: h.root + "/host/human.sock", Bus: h.root + "/bus/bus.sock", Human: h.root + "/bus/human.sock"}
		host := exec.Command(h.self, "host-that-dies", h.root)
		host.Env = append(os.Environ(), "HOST_TEST_NONCE="+h.nonce)
		out, err := host.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := host.Start(); err != nil {
			t.Fatal(err)
		}
		var word string
		if _, err := fmt.Fscanln(out, &word); err != nil || word != "ready" {
			t.Fatal(word, err)
		}
		if s := do[Status](h, "status", none{}); !s.Businesses[0].Sandbox.Works {
			_ = host.Process.Kill()
			_ = host.Wait()
			t.Skip("bubblewrap does not work on this machine: see the launcher's probe")
		}
		a := h.agent("dev")
		if err := host.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = host.Wait()

		h.refusedStart(wire.WriterLocked)
		unlocked, err := Unlock(h.root)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"/bus/bus.sock", "/bus/human.sock", "/host/host.sock", "/host/human.sock", "/bus/writer.lock"} {
			if !slices.Contains(unlocked.Removed, h.root+name) {
				t.Errorf("unlock removed %v, not %s", unlocked.Removed, name)
			}
		}
		h.start()
		if left := living(a.run); len(left) > 0 {
			t.Errorf("the run lives on: %v", left)
		}
		if info := do[RunInfo](h, "run", RunArgs{a.run}); info.State != launch.StateEnded || info.Reason != launch.Lost || info.ExitCode != nil {
			t.Errorf("the next host shows %+v", info)
		}
		events := h.events(a.run)
		if last := events[len(events)-1]; last != `session.ended {"reason":"lost","exitCode":null,"released":true}` {
			t.Errorf("the evidence ends with %s", last)
		}
		if n := h.query(`SELECT count(*) FROM events WHERE kind = 'session.launched'`); n[0] != "1" {
			t.Errorf("%s launches", n[0])
		}
		h.agent("dev") // its role is free
	})
}

func TestUnlockRefusesWhileAHostRuns(t *testing.T) {
	t.Parallel()
	h := newTestHost(t, launch.None)
	if u, err := Unlock(h.root); err == nil || client.CodeOf(err) != wire.WriterLocked {
		t.Errorf("got %v, %v", u, err)
	}
	if do[Status](h, "status", none{}).Phase != Serving {
		t.Error("the host no longer serves")
	}
}

// A broker that stops by itself ends the host, with its runs.
func TestTheHostEndsWithItsBroker(t *testing.T) {
	t.Parallel()
	h := prepareHost(t, t.TempDir(), launch.None)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	running, err := start(ctx, h.options)
	if err != nil {
		t.Fatal(err)
	}
	sockets := running.sockets
	h.status.Sockets = &sockets
	a := h.agent("dev")
	if err := running.broker.Close(); err != nil {
		t.Fatal(err)
	}
	<-running.broker.Done()
	if err := running.stop(); err != nil {
		t.Errorf("got %v", err)
	}
	if left := living(a.run); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestALongDataRootMovesTheSockets(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, kind launch.Kind) {
		root := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
		if err := os.Mkdir(root, 0o700); err != nil {
			t.Fatal(err)
		}
		h := prepareHost(t, root, kind)
		h.start()
		if path := h.status.Sockets.Host; len(path) > wire.MaxSocketPath || strings.HasPrefix(path, root) {
			t.Errorf("host.sock is %s", path)
		}
		if !h.status.Businesses[0].Sandbox.Works {
			t.Skip("bubblewrap does not work on this machine: see the launcher's probe")
		}
		script := fmt.Sprintf(`ls %s %s 2>/dev/null | grep -c human`, filepath.Dir(h.status.Sockets.Human), filepath.Join(root, busName))
		launched := do[Launched](h, "launch", LaunchArgs{
			Instance: "dev", Dir: h.project,
			Command: []string{"sh", "-c", `"$0" agent-call bus role.claim {}; ` + script + `; true`, h.self},
		})
		h.wait(launched.Run)
		want := map[launch.Kind]string{launch.None: "1", launch.Bubblewrap: "0"}[kind]
		if said := h.output(launched.Run); !strings.Contains(said, `role.claim {"role":"dev"`) || !strings.HasSuffix(said, "\n"+want+"\n") {
			t.Errorf("the agent said %s", said)
		}
		h.stop()
		for _, socket := range []string{h.status.Sockets.Host, h.status.Sockets.Bus} {
			if _, err := os.Lstat(filepath.Dir(socket)); err == nil {
				t.Errorf("%s is left", filepath.Dir(socket))
			}
		}
	})
}

// Whatever happens, the log holds neither what proves somebody nor what
// somebody wrote.
func TestTheLogHoldsNoSecrets(t *testing.T) {
	t.Parallel()
	h := newTestHost(t, launch.None)
	a := h.agent("dev")
	const body = "a body that nobody else reads"
	if err := a.call(h.status.Sockets.Bus, "message.send", map[string]string{"to": "pm", "body": body}, nil); err != nil {
		t.Fatal(err)
	}
	_ = a.host("launch", LaunchArgs{Instance: "rev"}, nil)
	_ = a.host("no-such-verb", none{}, nil)
	h.human("message.send", map[string]string{"to": "dev", "body": body})
	_ = client.New(h.status.Sockets.HostHuman, client.Human(os.Getpid(), strings.Repeat("A", 43), "acme")).Call(t.Context(), "status", none{}, nil)
	_ = client.New(h.status.Sockets.Host, client.Capability(strings.Repeat("B", 43))).Call(t.Context(), "status", none{}, nil)
	failed := []string{"no-such-program", body}
	h.refused("launch", LaunchArgs{Instance: "pm", Dir: h.project, Command: failed}, wire.RefuseField(wire.SpawnFailed, "command"))
	h.stop()
	logged := h.log.String()
	if !strings.Contains(logged, "a run was launched") {
		t.Fatalf("there is no log:\n%s", logged)
	}
	for name, secret := range map[string]string{
		"the capability": a.cap, "the nonce": h.nonce, "a message": body,
		"a wrong nonce": strings.Repeat("A", 43), "a wrong capability": strings.Repeat("B", 43),
	} {
		if strings.Contains(logged, secret) {
			t.Errorf("%s is in the log:\n%s", name, logged)
		}
	}
}
