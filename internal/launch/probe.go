package launch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// probeTime bounds the check of the sandbox at the host's start.
const probeTime = 10 * time.Second

// CheckSandbox says why the sandbox does not work on this machine, or nil. It
// makes the check of a host's start, on a data root of its own in the temporary
// directory. executable is Options.Executable.
func CheckSandbox(ctx context.Context, executable string) error {
	root, err := os.MkdirTemp("", "mosaic-sandbox-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	c := Confinement{DataRoot: root, HumanSocket: filepath.Join(root, "human.sock")}
	for _, name := range []string{"human.sock", "bus.sock"} {
		l, err := net.Listen("unix", filepath.Join(root, name))
		if err != nil {
			return err
		}
		defer l.Close()
	}
	c.Sockets = []string{filepath.Join(root, "bus.sock")}
	if executable, err = ownExecutable(executable); err != nil {
		return err
	}
	_, err = probeSandbox(ctx, executable, c)
	return err
}

func ownExecutable(named string) (string, error) {
	if named != "" {
		return named, nil
	}
	return os.Executable()
}

// probeSandbox runs the stage's own check inside a sandbox like that of a run:
// user namespaces may be off, bubblewrap missing, or a mount refused. It
// returns the path of the sandbox's program when it works.
func probeSandbox(ctx context.Context, executable string, c Confinement) (string, error) {
	bwrap, err := bubblewrapPath()
	if err != nil {
		return "", errors.New("bubblewrap (bwrap) is not installed")
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	hidden := c.hidden()
	argv := append(c.options("/"), "--", executable, StageCommand, probeArgument, c.HumanSocket)
	argv = append(append(argv, c.Sockets...), probeMounts)
	argv = append(argv, visible(slices.Concat(ancestors(hidden), hidden))...)
	cmd := exec.CommandContext(ctx, bwrap, argv...)
	cmd.Env = []string{}
	said, err := cmd.CombinedOutput()
	if err != nil {
		reason, _, _ := strings.Cut(strings.TrimSpace(string(said)), "\n")
		return "", fmt.Errorf("bubblewrap does not work: %w: %s", err, reason)
	}
	return bwrap, nil
}

// visible leaves out what the sandbox replaces as a whole.
func visible(dirs []string) []string {
	return slices.DeleteFunc(dirs, func(dir string) bool { return within(dir, "/dev") || within(dir, "/proc") })
}

// probeMounts separates the sockets from the mount points in the arguments of
// the probe.
const probeMounts = "--mounts"

// probe runs inside a sandbox, says what is wrong with it, and exits with 0
// when nothing is.
func probe(args []string) int {
	if err := checkInside(args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// checkInside holds that this is a PID namespace of its own, without
// capabilities, the human's socket out of sight, the others in sight, and that
// nothing above the data root can be renamed.
func checkInside(args []string) error {
	if len(args) == 0 || os.Getpid() > 9 {
		return errors.New("the run would share the processes of the host")
	}
	if err := checkCapabilities(); err != nil {
		return err
	}
	if _, err := os.Lstat(args[0]); !os.IsNotExist(err) {
		return errors.New("the run would see human.sock")
	}
	sockets, mounts := args[1:], []string(nil)
	if i := slices.Index(sockets, probeMounts); i >= 0 {
		sockets, mounts = sockets[:i], sockets[i+1:]
	}
	for _, socket := range sockets {
		if info, err := os.Lstat(socket); err != nil || info.Mode().Type() != os.ModeSocket {
			return errors.New("the run would not see its sockets")
		}
	}
	return checkMounts(mounts)
}

// checkCapabilities looks at the sets that a process can act with or take up
// again. The bounding set only says what a set-uid program could bring, which
// no_new_privs rules out.
func checkCapabilities() error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	sets := 0
	locked := false
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimSpace(value)
		switch name {
		case "CapInh", "CapPrm", "CapEff", "CapAmb":
			if strings.Trim(value, "0") != "" {
				return errors.New("the run would keep capabilities: " + name + " " + value)
			}
			sets++
		case "NoNewPrivs":
			locked = value == "1"
		}
	}
	if sets != 4 || !locked {
		return errors.New("the run could gain capabilities")
	}
	return nil
}

// checkMounts holds that each of the directories is a mount point.
func checkMounts(dirs []string) error {
	info, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	// In the fifth field the kernel writes these four as octal escapes.
	escape := strings.NewReplacer("\\", `\134`, " ", `\040`, "\t", `\011`, "\n", `\012`)
	points := map[string]bool{}
	for line := range strings.Lines(string(info)) {
		if fields := strings.Fields(line); len(fields) > 4 {
			points[fields[4]] = true
		}
	}
	for _, dir := range dirs {
		if !points[escape.Replace(dir)] {
			return errors.New("the run could move " + dir)
		}
	}
	return nil
}
