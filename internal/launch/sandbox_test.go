package launch

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
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

// A run cannot take off what hides the data root, nor put another in its place:
// not by unmounting, remounting, mounting over it or moving what it lies in,
// and not with the capabilities that a user namespace of its own would give it.
func TestASandboxCannotBeTakenApart(t *testing.T) {
	t.Parallel()
	bwrap, err := bubblewrapPath()
	if err != nil || exec.Command(bwrap, "--unshare-pid", "--bind", "/", "/", "true").Run() != nil {
		t.Skip("bubblewrap does not work on this machine")
	}
	for _, uid := range []int{os.Getuid(), nobody} {
		t.Run(fmt.Sprintf("as user %d", uid), func(t *testing.T) {
			t.Parallel()
			if uid != os.Getuid() && os.Getuid() != 0 {
				t.Skip("only root can start a program as another user")
			}
			root := rootOf(t, uid)
			c := Confinement{DataRoot: root, HumanSocket: root + "/bus/human.sock", Sockets: []string{root + "/bus/bus.sock"}}
			cmd := exec.Command(bwrap, append(c.options("/"), "--", "/bin/sh", "-c", attempts(root))...)
			cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
			if uid != os.Getuid() {
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
			}
			out, err := cmd.CombinedOutput()
			said := strings.TrimSpace(string(out))
			if err != nil && strings.HasPrefix(said, "bwrap:") {
				t.Skipf("this user has no sandbox here: %s", said)
			}
			if strings.Contains(said, "POSSIBLE") {
				t.Errorf("something was possible:\n%s", said)
			}
			if !strings.Contains(said, "CapEff:\t0000000000000000") || strings.Count(said, "refused") < 16 || !strings.HasSuffix(said, "the end") {
				t.Errorf("the attempts were not made:\n%s", said)
			}
			if _, err := os.Lstat(root + "/bus/human.sock"); err != nil {
				t.Error(err)
			}
		})
	}
}

// The check that a host makes at its start, and doctor at any time, believes
// no sandbox that a run could take apart.
func TestTheProbeWantsASandboxThatHolds(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	p.needs(Bubblewrap)
	if err := CheckSandbox(t.Context(), p.self); err != nil {
		t.Errorf("the check on its own: %v", err)
	}
	c := p.options.Confinement
	args := []string{"--", p.self, StageCommand, probeArgument, c.HumanSocket, c.Sockets[0], probeMounts, filepath.Dir(p.root), p.root}
	whole := c.options("/")
	without := func(words ...string) []string {
		at := slices.IndexFunc(whole, func(w string) bool { return w == words[0] })
		for len(words) > 1 && whole[at+1] != words[1] {
			at += 1 + slices.Index(whole[at+1:], words[0])
		}
		return slices.Delete(slices.Clone(whole), at, at+len(words))
	}
	for want, options := range map[string][]string{
		"":                        whole,
		"the host":                without("--unshare-pid"),
		"could move":              without("--bind", filepath.Dir(p.root), filepath.Dir(p.root)),
		"not see its sockets":     without("--bind", c.Sockets[0], c.Sockets[0]),
		"would keep capabilities": without("--cap-drop", "ALL"),
	} {
		if want == "would keep capabilities" && os.Getuid() != 0 {
			continue // bubblewrap drops them by itself
		}
		said, err := exec.Command(p.launcher.bubblewrap, append(options, args...)...).CombinedOutput()
		if (err == nil) != (want == "") || !strings.Contains(string(said), want) {
			t.Errorf("without what keeps it from %q: %v, %s", want, err, said)
		}
	}
}

const nobody = 65534

// rootOf makes a data root of a user's, below directories that it may rename.
func rootOf(t *testing.T, uid int) string {
	t.Helper()
	top := t.TempDir()
	root := filepath.Join(top, "share", "mosaic")
	if err := errors.Join(os.Chmod(filepath.Dir(top), 0o711), os.MkdirAll(filepath.Join(root, "bus"), 0o700)); err != nil {
		t.Fatal(err)
	}
	listen(t, filepath.Join(root, "bus", "human.sock"))
	listen(t, filepath.Join(root, "bus", "bus.sock"))
	for _, path := range []string{top, filepath.Dir(root), root, root + "/bus", root + "/bus/human.sock", root + "/bus/bus.sock"} {
		if err := os.Chown(path, uid, uid); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// attempts is a script that tries to get at a data root, twice: as it is, and
// in user and mount namespaces of its own.
func attempts(root string) string {
	return "R='" + root + "'\n" + `grep CapEff /proc/self/status
try() { if "$@" >/dev/null 2>&1; then echo "POSSIBLE: $1 $2 $3"; else echo "refused: $1 $2 $3"; fi; }
up=$(dirname "$R")
all() {
	$1 umount "$R"
	$1 umount -l "$R"
	$1 umount -l "$up"
	$1 mount -o remount,rw "$R"
	$1 mv "$R" "$R.old"
	$1 mv "$up" "$up.old"
	$1 test -e "$R/bus/human.sock"
}
all try
try mount --bind / /mnt
try mount -t tmpfs none "$R"
inner='
	umount -l "$R" && echo POSSIBLE: nested umount
	umount -l "$up" && echo POSSIBLE: nested umount above
	mount -o remount,rw,bind "$R" && echo POSSIBLE: nested remount
	mv "$R" "$R.old" && echo POSSIBLE: nested move
	mv "$up" "$up.old" && echo POSSIBLE: nested move above
	mount --bind / /mnt && test -e "/mnt$R/bus/human.sock" && echo POSSIBLE: nested bind
	mount --rbind / /mnt && test -e "/mnt$R/bus/human.sock" && echo POSSIBLE: nested rbind
	mount --rbind / /mnt && umount -l "/mnt$R" && echo POSSIBLE: nested umount of a copy
	test -e "$R/bus/human.sock" && echo POSSIBLE: nested sight
	echo nested ran; false'
export R up
try unshare -U -m sh -c "$inner"
try unshare -U -r -m sh -c "$inner"
unshare -U -m sh -c "$inner" 2>/dev/null
unshare -U -r -m sh -c "$inner" 2>/dev/null
all try
echo the end`
}
