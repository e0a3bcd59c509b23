package launch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Kind names a sandbox as launch.sandbox of the organization file does.
type Kind string

const (
	Bubblewrap Kind = "bubblewrap" // the default
	None       Kind = "none"       // the run shares the host's processes and files
)

// Confinement is what every sandboxed run of a host may see. The rest of the
// file system is as it is outside; what a run may write and reach belongs here
// when it is restricted.
type Confinement struct {
	// DataRoot is hidden with everything in it.
	DataRoot string
	// Sockets are the only files of hidden directories that a run sees, at
	// the paths that they have outside.
	Sockets []string
	// HumanSocket must not be visible; the probe checks it.
	HumanSocket string
	// RuntimeDir is the user's XDG_RUNTIME_DIR or "".
	RuntimeDir string
	// TempDir is where terminal multiplexers keep their sockets; "" means /tmp.
	TempDir string
}

// hidden lists the directories that a run sees as empty, outermost first and
// none inside another.
//
// Beside the data root and the directories that its sockets moved to these are
// the doors through which a process asks another one, outside the sandbox, to
// act for it: the user's session bus and service manager in the runtime
// directory, and the terminal multiplexers in which a person types.
func (c Confinement) hidden() []string {
	temp := c.TempDir
	if temp == "" {
		temp = "/tmp"
	}
	candidates := []string{c.DataRoot, c.RuntimeDir, filepath.Dir(c.HumanSocket)}
	for _, socket := range c.Sockets {
		candidates = append(candidates, filepath.Dir(socket))
	}
	for _, name := range []string{"tmux-%d", "screen/S-%d"} {
		candidates = append(candidates, filepath.Join(temp, fmt.Sprintf(name, os.Getuid())))
	}
	candidates = append(candidates, fmt.Sprintf("/run/user/%d", os.Getuid()))
	slices.SortFunc(candidates, func(a, b string) int { return len(a) - len(b) })
	var dirs []string
	for _, dir := range candidates {
		if dir == "" {
			continue
		}
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || slices.ContainsFunc(dirs, func(outer string) bool { return within(real, outer) }) {
			continue // not there, or hidden already
		}
		dirs = append(dirs, real)
	}
	return dirs
}

// hides says whether a path is inside a hidden directory.
func (c Confinement) hides(path string) bool {
	path = realPath(path)
	return slices.ContainsFunc(c.hidden(), func(dir string) bool { return within(path, dir) })
}

// realPath resolves symbolic links. Inside a sandbox that is being built an
// absolute link leads elsewhere, so only real paths are mounted.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// ancestors are the directories above the hidden ones, outermost first and
// without the root. A directory that contains a mount point can be renamed and
// one that is a mount point cannot: without them a run could move the data root
// away, under its cover, and put another in its place.
func ancestors(hidden []string) []string {
	var all []string
	for _, dir := range hidden {
		for dir = filepath.Dir(dir); dir != "/"; dir = filepath.Dir(dir) {
			all = append(all, dir)
		}
	}
	slices.Sort(all) // a directory sorts before what is in it
	return slices.Compact(all)
}

// options are bubblewrap's options for a run that works in dir.
//
// Capabilities are dropped by name, because bubblewrap leaves all of them to a
// run whose host is root: the run would unmount what hides the data root. A
// user namespace of the run's own gives it capabilities over that namespace
// alone, in which the kernel holds the mounts of the sandbox together.
func (c Confinement) options(dir string) []string {
	hidden := c.hidden()
	options := []string{
		"--unshare-pid", "--unshare-ipc", "--die-with-parent", "--new-session",
		"--cap-drop", "ALL", "--bind", "/", "/",
	}
	// Before /proc and /dev, so that none of them brings the host's own back.
	for _, dir := range ancestors(hidden) {
		options = append(options, "--bind", dir, dir)
	}
	options = append(options, "--proc", "/proc", "--dev", "/dev")
	for _, dir := range hidden {
		options = append(options, "--tmpfs", dir)
	}
	for _, socket := range c.Sockets {
		real := realPath(socket)
		options = append(options, "--bind", real, real)
	}
	for _, dir := range hidden {
		options = append(options, "--remount-ro", dir)
	}
	return append(options, "--chdir", dir)
}

// bubblewrapPath finds the program; the path is absolute.
func bubblewrapPath() (string, error) {
	path, err := exec.LookPath("bwrap")
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}
