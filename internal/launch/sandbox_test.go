package launch

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"mosaicstack.dev/mosaic/internal/wire"
)

// inSandbox runs a script in the sandbox and returns its output.
func (p *place) inSandbox(script string) string {
	p.t.Helper()
	info := p.wait(p.shell(Bubblewrap, script).Run)
	if info.End.Reason != Exited {
		p.t.Fatalf("%+v %+v: %s", info.End, info.End.Exit, p.output(info.Run))
	}
	return strings.TrimSpace(p.output(info.Run))
}

// proves: BUS-HUMAN-24
func TestASandboxedRunHasItsOwnProcesses(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	pid, err := strconv.Atoi(p.inSandbox("echo $$"))
	if err != nil || pid > 9 {
		t.Errorf("the program is process %d, %v", pid, err)
	}
	seen := p.inSandbox("ls -d /proc/[0-9]*")
	if n := len(strings.Fields(seen)); n > 5 {
		t.Errorf("it sees %d processes: %s", n, seen)
	}
	if said := p.inSandbox(fmt.Sprintf("kill -0 %d 2>/dev/null || echo out of reach", os.Getpid())); said != "out of reach" {
		t.Errorf("the host: %q", said)
	}
}

// proves: BUS-HUMAN-25
func TestASandboxedRunSeesOnlyItsSockets(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	secret := filepath.Join(p.root, "bus", "bus.sqlite")
	if err := os.WriteFile(secret, []byte("evidence"), 0o600); err != nil {
		t.Fatal(err)
	}
	seen := p.inSandbox("find " + p.root + " | sort")
	want := []string{p.root, p.root + "/bus", p.root + "/bus/bus.sock", p.root + "/host", p.root + "/host/host.sock"}
	if seen != strings.Join(want, "\n") {
		t.Errorf("it sees\n%s", seen)
	}
	if said := p.inSandbox("touch " + p.root + "/x 2>/dev/null || echo read-only"); said != "read-only" {
		t.Errorf("the data root: %q", said)
	}
	if said := p.inSandbox("ls /proc/self/fd"); said != "0\n1\n2\n3" { // 3 is the directory that ls reads
		t.Errorf("its descriptors: %q", said)
	}
}

// A run can talk to the sockets that it is given: the mounted file is the
// listening one, not a copy.
func TestASandboxedRunReachesTheBus(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	p.needs(Bubblewrap)
	if err := os.Remove(p.options.BusSocket); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", p.options.BusSocket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	info, err := p.launcher.Launch(t.Context(), p.request(Bubblewrap, p.self, StageCommand, "probe", p.human, p.options.BusSocket))
	if err != nil {
		t.Fatal(err)
	}
	if ended := p.wait(info.Run); ended.End.Reason != Exited {
		t.Errorf("the probe in a run: %+v, %s", ended.End.Exit, p.output(info.Run))
	}
}

// A data root with a long path has its sockets elsewhere, and a user's runtime
// directory holds the way out of the sandbox.
// proves: BUS-HUMAN-25
func TestASandboxHidesMovedSocketsAndTheRuntimeDirectory(t *testing.T) {
	t.Parallel()
	runtime := t.TempDir()
	moved := filepath.Join(runtime, "mosaic-0123")
	temp := t.TempDir()
	tmux := filepath.Join(temp, fmt.Sprintf("tmux-%d", os.Getuid()))
	for _, dir := range []string{moved, tmux} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	listen(t, filepath.Join(runtime, "bus"))
	listen(t, filepath.Join(tmux, "default"))
	human := listen(t, filepath.Join(moved, "human.sock"))
	busSocket := listen(t, filepath.Join(moved, "bus.sock"))
	p := newPlace(t, func(o *Options) {
		o.BusSocket = busSocket
		o.Confinement.HumanSocket = human
		o.Confinement.Sockets = []string{busSocket, o.HostSocket}
		o.Confinement.RuntimeDir, o.Confinement.TempDir = runtime, temp
	})
	seen := p.inSandbox("find " + runtime + " " + temp)
	if want := strings.Join([]string{runtime, moved, busSocket, temp, tmux}, "\n"); seen != want {
		t.Errorf("it sees\n%s\nnot\n%s", seen, want)
	}
}

// The way to the data root leads over a symbolic link, as on systems whose
// home directories do.
func TestASandboxFollowsLinksAboveTheDataRoot(t *testing.T) {
	t.Parallel()
	link := filepath.Join(t.TempDir(), "home")
	p := newPlace(t, func(o *Options) {
		root := o.Confinement.DataRoot
		if err := os.Symlink(filepath.Dir(root), link); err != nil {
			t.Fatal(err)
		}
		through := func(path string) string { return filepath.Join(link, strings.TrimPrefix(path, filepath.Dir(root))) }
		o.BusSocket, o.HostSocket = through(o.BusSocket), through(o.HostSocket)
		o.Confinement = Confinement{
			DataRoot: through(root), HumanSocket: through(o.Confinement.HumanSocket),
			Sockets: []string{o.BusSocket, o.HostSocket},
		}
	})
	if said := p.inSandbox("test -S " + p.options.BusSocket + " && test ! -e " + p.options.Confinement.HumanSocket + " && echo right"); said != "right" {
		t.Errorf("got %q", said)
	}
}

func TestASandboxThatDoesNotWorkRefuses(t *testing.T) {
	t.Parallel()
	p := newPlace(t, func(o *Options) { o.Confinement.HumanSocket = "/proc/self/stat" }) // always in sight
	if p.launcher.SandboxWorks(Bubblewrap) || !p.launcher.SandboxWorks(None) {
		t.Error("the probe believed it")
	}
	_, err := p.launcher.Launch(t.Context(), p.request(Bubblewrap, "true"))
	if !errors.Is(err, wire.Refuse(wire.SandboxUnavailable)) {
		t.Errorf("got %v", err)
	}
	p.wait(p.shell(None, "true").Run)
}
