package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
)

// maxProcessText bounds what is read of a command line or an environment. The
// kernel allows 6 MiB of both together.
const maxProcessText = 8 << 20

// ErrNoMemory says that a process has no memory of its own: a kernel thread, a
// zombie, or a process whose first thread has exited. Its environment and
// arguments read as empty though it may still run code, so an empty answer
// would hide what it was started with (BUS-HUMAN-19).
var ErrNoMemory = errors.New("proc: process has no readable memory")

// ErrNoExecutable says that a living process has no executable: a kernel
// thread or a zombie.
var ErrNoExecutable = errors.New("proc: process has no executable")

var (
	errTooLong  = errors.New("proc: process text is too long")
	errChanging = errors.New("proc: process text keeps changing")
	errHidden   = errors.New("proc: process runs and is not shown")
)

// System returns the process table of this machine, read from /proc on every
// call. It holds no state and may be used by several goroutines.
func System() Table { return system{root: "/proc", read: readBounded} }

type system struct {
	root string
	read func(name string) ([]byte, error)
}

func (s system) path(pid int, name string) string {
	return path.Join(s.root, strconv.Itoa(pid), name)
}

func (s system) text(pid int, name string) ([]byte, error) {
	b, err := s.read(s.path(pid, name))
	if err != nil {
		return nil, failure(name, pid, err)
	}
	return b, nil
}

// failure names what was read of whom. A process that ends while one of its
// files is open gives ESRCH, which means the same as a missing directory.
func failure(name string, pid int, err error) error {
	if errors.Is(err, syscall.ESRCH) {
		err = fs.ErrNotExist
	}
	return fmt.Errorf("proc: %s of %d: %w", name, pid, err)
}

func (s system) Stat(pid int) (Stat, error) {
	line, err := s.text(pid, "stat")
	if errors.Is(err, fs.ErrNotExist) && s.hidden(pid) {
		err = failure("stat", pid, errHidden)
	}
	if err != nil {
		return Stat{}, err
	}
	st, err := parseStat(line)
	if err != nil {
		return Stat{}, failure("stat", pid, err)
	}
	if st.PID != pid {
		return Stat{}, failure("stat", pid, errStatForm)
	}
	return st, nil
}

// hidden says that a process without a directory runs all the same: /proc is
// not mounted, or hides the processes of other users (hidepid). Signal 0 sends
// nothing.
func (s system) hidden(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

func (s system) UID(pid int) (int, error) {
	status, err := s.text(pid, "status")
	if err != nil {
		return 0, err
	}
	uid, err := parseUID(status)
	if err != nil {
		return 0, failure("status", pid, err)
	}
	return uid, nil
}

func (s system) Cmdline(pid int) ([]string, error) { return s.memory(pid, "cmdline") }
func (s system) Environ(pid int) ([]string, error) { return s.memory(pid, "environ") }

// memory reads a file that the kernel fills from the process's memory. When
// the process exits or executes another program in the middle of it, the
// answer is cut short without an error. So it counts when a second read gives
// the same, and an empty one only of a process that has memory.
func (s system) memory(pid int, name string) ([]string, error) {
	for range 3 {
		text, err := s.text(pid, name)
		if err != nil {
			return nil, s.withoutMemory(pid, name, err)
		}
		again, err := s.text(pid, name)
		if err != nil {
			return nil, s.withoutMemory(pid, name, err)
		}
		if !bytes.Equal(text, again) {
			continue
		}
		if len(text) == 0 {
			return nil, s.requireMemory(pid, name)
		}
		return splitNUL(text), nil
	}
	return nil, failure(name, pid, errChanging)
}

// withoutMemory tells a process without memory, whose environ newer kernels
// refuse to open with ESRCH, from a process that is gone.
func (s system) withoutMemory(pid int, name string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, gone := s.Stat(pid); gone != nil {
		return gone
	}
	return failure(name, pid, ErrNoMemory)
}

// requireMemory refuses a process whose size in pages, the first number of
// statm, is 0.
func (s system) requireMemory(pid int, name string) error {
	statm, err := s.text(pid, "statm")
	if err != nil {
		return err
	}
	if bytes.HasPrefix(statm, []byte("0 ")) {
		return failure(name, pid, ErrNoMemory)
	}
	return nil
}

func (s system) Executable(pid int) (File, error) {
	info, err := os.Stat(s.path(pid, "exe"))
	if errors.Is(err, fs.ErrNotExist) {
		// The link is missing for kernel threads and zombies too.
		if _, gone := s.Stat(pid); gone != nil {
			return File{}, gone
		}
		err = ErrNoExecutable
	}
	if err != nil {
		return File{}, failure("exe", pid, err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return File{}, failure("exe", pid, errors.ErrUnsupported)
	}
	return File{Device: st.Dev, Inode: st.Ino}, nil
}

func readBounded(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxProcessText+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxProcessText {
		return nil, errTooLong
	}
	return text, nil
}

// BootID returns the kernel's random id of this boot.
func BootID() (string, error) {
	b, err := readBounded("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("proc: boot id: %w", err)
	}
	id := strings.TrimSpace(string(b))
	if id == "" {
		return "", errors.New("proc: boot id is empty")
	}
	return id, nil
}
