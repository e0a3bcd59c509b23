package launch

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"mosaicstack.dev/mosaic/internal/wire"
)

// child is the program of a run, or the sandbox around it, and the copying of
// its output.
type child struct {
	pid int
	// group is the process group that a request to stop goes to; 0 while a
	// sandbox has not said it.
	group  atomic.Int64
	pipe   *os.File
	copied chan struct{}
}

// startChild starts the program of an order. On failure it says why in the
// run's output, which is for people, and answers a code.
func startChild(o order) (*child, wire.Code) {
	out, err := openOutput(o.Output, o.Limit)
	if err != nil {
		return nil, wire.SpawnFailed
	}
	c, err := spawn(o, out)
	if err != nil {
		fmt.Fprintf(out, "[mosaic: the program was not started: %v]\n", err)
		out.close()
		return nil, wire.SpawnFailed
	}
	return c, ""
}

func spawn(o order, out *output) (*child, error) {
	path, err := findProgram(o.Argv[0], o.Dir, o.Env)
	if err != nil {
		return nil, err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer write.Close()
	c := &child{pipe: read, copied: make(chan struct{})}
	if err := c.exec(o, path, []uintptr{null.Fd(), write.Fd(), write.Fd()}); err != nil {
		read.Close()
		return nil, err
	}
	go func() {
		defer close(c.copied)
		defer out.close()
		_, _ = io.Copy(out, read)
	}()
	return c, nil
}

func (c *child) exec(o order, path string, files []uintptr) error {
	if o.Sandbox != nil {
		return c.execSandboxed(o, path, files)
	}
	pid, err := fork(path, o.Argv, o.Env, o.Dir, files)
	if err != nil {
		return err
	}
	c.pid = pid
	c.group.Store(int64(pid))
	return nil
}

// execSandboxed starts the sandbox, whose own environment holds the run's
// markers alone: what the program is given, the capability among it, goes with
// the other options over a descriptor.
func (c *child) execSandboxed(o order, path string, files []uintptr) error {
	options, err := optionsFile(append(o.Sandbox.Options, environmentOptions(o.Env)...))
	if err != nil {
		return err
	}
	defer options.Close()
	infoRead, infoWrite, err := os.Pipe()
	if err != nil {
		return err
	}
	defer infoWrite.Close()
	argv := append([]string{"bwrap", "--args", "3", "--info-fd", "4", "--", path}, o.Argv[1:]...)
	pid, err := fork(o.Sandbox.Path, argv, o.markers(), "/", append(files, options.Fd(), infoWrite.Fd()))
	if err != nil {
		infoRead.Close()
		return err
	}
	c.pid = pid
	go c.learnGroup(infoRead)
	return nil
}

// fork starts a program as leader of a session of its own, so that it has no
// terminal and its group can be signalled, and ties its life to the monitor's.
func fork(path string, argv, env []string, dir string, files []uintptr) (int, error) {
	return syscall.ForkExec(path, argv, &syscall.ProcAttr{
		Dir: dir, Env: env, Files: files,
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
}

// learnGroup reads which process is the first of the sandbox. It leads the
// session of the program; a signal from outside that it does not handle passes
// it by, as the first of a PID namespace, and reaches the others.
func (c *child) learnGroup(info *os.File) {
	defer info.Close()
	var said struct {
		PID int64 `json:"child-pid"`
	}
	if json.NewDecoder(info).Decode(&said) == nil && said.PID > 0 {
		c.group.Store(said.PID)
	}
}

// terminate asks the program to end. Before a sandbox stands, its own process
// is asked.
func (c *child) terminate() {
	if group := int(c.group.Load()); group > 0 && unix.Kill(-group, unix.SIGTERM) == nil {
		return
	}
	_ = unix.Kill(c.pid, unix.SIGTERM)
}

// drain waits until the output that is left has been copied.
func (c *child) drain(patience time.Duration) {
	_ = c.pipe.SetReadDeadline(time.Now().Add(patience))
	<-c.copied
	c.pipe.Close()
}

// optionsFile holds NUL-terminated options in memory, at offset 0.
func optionsFile(options []string) (*os.File, error) {
	fd, err := unix.MemfdCreate("options", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "options")
	if _, err := f.WriteAt([]byte(strings.Join(options, "\x00")+"\x00"), 0); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func environmentOptions(env []string) []string {
	var options []string
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		options = append(options, "--setenv", name, value)
	}
	return options
}

// findProgram finds what a command names as the program itself will see it:
// by the PATH of its environment, or from its directory.
func findProgram(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, executable(name)
	}
	for _, entry := range env {
		list, ok := strings.CutPrefix(entry, "PATH=")
		if !ok {
			continue
		}
		for _, place := range filepath.SplitList(list) {
			path := filepath.Join(place, name)
			if filepath.IsAbs(place) && executable(path) == nil {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("%s: not found in PATH", strconv.Quote(name))
}

func executable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return &os.PathError{Op: "exec", Path: path, Err: syscall.EACCES}
	}
	return unix.Access(path, unix.X_OK)
}
