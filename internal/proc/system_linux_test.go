package proc

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the test binary be the child whose process data the tests
// read: it says that it runs and waits for the end of its input.
func TestMain(m *testing.M) {
	if os.Getenv("PROC_TEST_CHILD") == "wait" {
		os.Stdout.WriteString("running\n")
		bufio.NewReader(os.Stdin).ReadString('\n')
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child starts this test binary with arguments and environment of its own and
// returns its pid once it runs, and a function that ends but does not reap it.
func child(t *testing.T, args, env []string) (pid int, end func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append([]string{"PROC_TEST_CHILD=wait"}, env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "running\n" {
		t.Fatalf("child said %q, %v", line, err)
	}
	return cmd.Process.Pid, func() { in.Close() }
}

// proves: BUS-TESTS-11
func TestSystemReadsARealProcess(t *testing.T) {
	t.Parallel()
	args := []string{"two words", "", "(brackets) S 1"}
	pid, _ := child(t, args, []string{"EMPTY=", "TEXT=a b=c"})
	table := System()

	st, err := table.Stat(pid)
	if err != nil {
		t.Fatal(err)
	}
	if st.PID != pid || st.Parent != os.Getpid() || st.Start == 0 {
		t.Errorf("stat: %+v, want pid %d, parent %d and a start time", st, pid, os.Getpid())
	}
	if uid, err := table.UID(pid); err != nil || uid != os.Geteuid() {
		t.Errorf("uid: %d, %v", uid, err)
	}
	cmdline, err := table.Cmdline(pid)
	if err != nil || !slices.Equal(cmdline[1:], args) {
		t.Errorf("cmdline: %q, %v", cmdline, err)
	}
	environ, err := table.Environ(pid)
	if err != nil || !slices.Equal(environ, []string{"PROC_TEST_CHILD=wait", "EMPTY=", "TEXT=a b=c"}) {
		t.Errorf("environ: %q, %v", environ, err)
	}
	own, err := table.Executable(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if exe, err := table.Executable(pid); err != nil || exe != own || exe.Inode == 0 {
		t.Errorf("executable: %+v, %v; want %+v", exe, err, own)
	}
}

// The executable is the file that runs, not whatever has its path now.
// proves: BUS-TESTS-11
func TestSystemNamesAReplacedExecutable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	if out, err := exec.Command("cp", os.Args[0], program).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	info, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	inode := info.Sys().(*syscall.Stat_t).Ino

	cmd := exec.Command(program)
	cmd.Env = []string{"PROC_TEST_CHILD=wait"}
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	bufio.NewReader(out).ReadString('\n')

	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	exe, err := System().Executable(cmd.Process.Pid)
	if err != nil || exe.Inode != inode {
		t.Errorf("got %+v, %v; want inode %d", exe, err, inode)
	}
}

// A zombie's environment reads as empty. Believing that would let a process
// whose first thread exited hide its run marker.
// proves: BUS-HUMAN-19 BUS-TESTS-11
func TestSystemRefusesTheMemoryOfAZombie(t *testing.T) {
	t.Parallel()
	pid, end := child(t, nil, []string{"MOSAIC_RUN_ID=x"})
	end()
	table := System()
	awaitZombie(t, table, pid)

	if env, err := table.Environ(pid); !errors.Is(err, ErrNoMemory) {
		t.Errorf("environ: %q, %v", env, err)
	}
	if args, err := table.Cmdline(pid); !errors.Is(err, ErrNoMemory) {
		t.Errorf("cmdline: %q, %v", args, err)
	}
	if exe, err := table.Executable(pid); !errors.Is(err, ErrNoExecutable) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("executable: %v, %v", exe, err)
	}
}

func awaitZombie(t *testing.T, table Table, pid int) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; {
		st, err := table.Stat(pid)
		if err == nil && st.State == 'Z' {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d is no zombie: %+v, %v", pid, st, err)
		}
		time.Sleep(time.Millisecond)
	}
}

// proves: BUS-TESTS-11
func TestSystemSaysThatAProcessIsGone(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{"PROC_TEST_CHILD=wait"}
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	for name, err := range everyRead(System(), cmd.Process.Pid) {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func everyRead(table Table, pid int) map[string]error {
	failures := map[string]error{}
	_, failures["stat"] = table.Stat(pid)
	_, failures["uid"] = table.UID(pid)
	_, failures["cmdline"] = table.Cmdline(pid)
	_, failures["environ"] = table.Environ(pid)
	_, failures["executable"] = table.Executable(pid)
	return failures
}

// The environment of another user's process is the kernel's to refuse.
// proves: BUS-HUMAN-17 BUS-TESTS-11
func TestSystemReportsPermission(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		uid, err := System().UID(1)
		if err != nil || uid == os.Geteuid() {
			t.Skip("no process of another user to read")
		}
	}
	got := make(chan error)
	go func() {
		// Only this thread gives up root, and it ends with the goroutine.
		runtime.LockOSThread()
		if os.Geteuid() == 0 {
			if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, 65534, 65534, 65534); errno != 0 {
				got <- errno
				return
			}
		}
		_, err := System().Environ(1)
		got <- err
	}()
	if err := <-got; !errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want fs.ErrPermission", err)
	}
}

// faulty is a system whose reads the test scripts, by the file's last name.
func faulty(read func(name string) ([]byte, error)) system {
	return system{root: "/nowhere", read: func(path string) ([]byte, error) { return read(filepath.Base(path)) }}
}

// The files of a process that ends while they are open answer ESRCH or nothing.
// proves: BUS-HUMAN-12 BUS-HUMAN-19
func TestSystemNoticesTheEndDuringARead(t *testing.T) {
	t.Parallel()
	t.Run("no such process", func(t *testing.T) {
		t.Parallel()
		s := faulty(func(string) ([]byte, error) { return nil, &fs.PathError{Op: "read", Err: syscall.ESRCH} })
		// A pid that the kernel never gives out.
		if _, err := s.Environ(1 << 30); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("cut short", func(t *testing.T) {
		t.Parallel()
		reads := 0
		s := faulty(func(name string) ([]byte, error) {
			if name == "statm" {
				return []byte("0 0 0 0 0 0 0\n"), nil
			}
			reads++
			if reads == 1 {
				return []byte("A=1\x00"), nil // the rest is lost
			}
			return nil, nil
		})
		if env, err := s.Environ(5); !errors.Is(err, ErrNoMemory) {
			t.Errorf("got %q, %v", env, err)
		}
	})
	t.Run("never the same twice", func(t *testing.T) {
		t.Parallel()
		reads := 0
		s := faulty(func(string) ([]byte, error) {
			reads++
			return []byte(strings.Repeat("x", reads)), nil
		})
		if env, err := s.Environ(5); !errors.Is(err, errChanging) {
			t.Errorf("got %q, %v", env, err)
		}
	})
	t.Run("another program's environment after exec", func(t *testing.T) {
		t.Parallel()
		answers := []string{"OLD=1\x00", "NEW=1\x00", "NEW=1\x00", "NEW=1\x00"}
		s := faulty(func(string) ([]byte, error) {
			next := answers[0]
			answers = answers[1:]
			return []byte(next), nil
		})
		if env, err := s.Environ(5); err != nil || !slices.Equal(env, []string{"NEW=1"}) {
			t.Errorf("got %q, %v", env, err)
		}
	})
}

func TestSystemBelievesAnEmptyEnvironmentOfALivingProcess(t *testing.T) {
	t.Parallel()
	s := faulty(func(name string) ([]byte, error) {
		if name == "statm" {
			return []byte("500 1 1 1 0 1 0\n"), nil
		}
		return nil, nil
	})
	if env, err := s.Environ(5); err != nil || len(env) != 0 {
		t.Errorf("got %q, %v", env, err)
	}
}

func TestSystemRefusesAnotherPidsLine(t *testing.T) {
	t.Parallel()
	s := faulty(func(string) ([]byte, error) { return []byte(statLine("6", "x", "S", "1", "1")), nil })
	if st, err := s.Stat(5); err == nil {
		t.Errorf("got %+v", st)
	}
}

func TestReadBoundedRefusesAFlood(t *testing.T) {
	t.Parallel()
	if _, err := readBounded("/dev/zero"); !errors.Is(err, errTooLong) {
		t.Errorf("got %v", err)
	}
}

// With hidepid, /proc has no directory for a process of another user, and a
// lock of theirs would look like one that a dead process left.
func TestAProcessThatIsNotShownIsNotGone(t *testing.T) {
	t.Parallel()
	blind := system{root: "/nowhere", read: readBounded}
	if _, err := blind.Stat(os.Getpid()); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("this process: %v", err)
	}
	here, err := ThisMachine()
	if err != nil {
		t.Fatal(err)
	}
	owner := Owner{Host: here.Host, Boot: here.Boot, PID: os.Getpid(), StartTime: 1}
	if got := owner.Classify(here, blind); got != Unknown {
		t.Errorf("an owner that is not shown: %v", got)
	}
	pid, end := child(t, nil, nil)
	end()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		if st, err := System().Stat(pid); err == nil && st.Ended() {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the child does not end")
		}
	}
	syscall.Wait4(pid, nil, 0, nil)
	if _, err := blind.Stat(pid); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a process that ended: %v", err)
	}
}
