package evidence

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mosaicstack.dev/mosaic/internal/proc"
	"mosaicstack.dev/mosaic/internal/wire"
)

// The tests here kill real processes. The child is this test binary again.
const (
	childStore = "MOSAIC_TEST_CHILD_STORE" // path; present in a child only
	childRun   = "MOSAIC_TEST_CHILD_RUN"   // that holds dev
	childPoint = "MOSAIC_TEST_CHILD_POINT" // crash point at which it kills itself
	childCount = "MOSAIC_TEST_CHILD_COUNT" // how often the point is passed before
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childStore); path != "" {
		child(path)
	}
	os.Exit(m.Run())
}

// child writes pairs under load and prints the id of each that is acknowledged,
// until it is killed.
func child(path string) {
	die := func(err error) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if _, err := AcquireLock(filepath.Join(filepath.Dir(path), LockName)); err != nil {
		die(err)
	}
	o := Options{checkpointPages: 60}
	if point := CrashPoint(os.Getenv(childPoint)); point != "" {
		left, err := strconv.Atoi(os.Getenv(childCount))
		if err != nil {
			die(err)
		}
		killAt(&o, point, left)
	}
	s, err := Open(context.Background(), path, o)
	if err != nil {
		die(err)
	}
	fmt.Println("ready")
	dev := wire.Run(os.Getenv(childRun))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := 0; ; n++ {
				var id wire.MessageID
				err := s.Update(context.Background(), func(tx *Tx) (err error) {
					id, err = pair(tx, dev, fmt.Sprintf("%d-%d-%d", os.Getpid(), i, n))
					return err
				}, nil)
				if err != nil {
					die(err)
				}
				fmt.Println(id) // one write call: a line is there whole or not
			}
		})
	}
	wg.Wait()
}

// killAt makes the process kill itself when a step of a write is done for the
// nth time.
func killAt(o *Options, point CrashPoint, left int) {
	var mu sync.Mutex
	pass := func(p CrashPoint) {
		mu.Lock()
		defer mu.Unlock()
		if p != point {
			return
		}
		if left--; left < 0 {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	layer := registerFaultFS()
	layer.passed = func(op operation) { pass(pointOf[op]) }
	o.vfs, o.crash = layer.name, pass
}

// pointOf names the crash point behind each file operation.
var pointOf = map[operation]CrashPoint{
	{"wal", "write"}: WALWritten,
	{"wal", "sync"}:  WALSynced,
	{"db", "write"}:  CheckpointWritten,
	{"db", "sync"}:   CheckpointSynced,
}

// crasher runs children on one store, one after the other.
type crasher struct {
	t            *testing.T
	path         string
	run          wire.Run
	acknowledged []wire.MessageID
}

func newCrasher(t *testing.T) *crasher {
	w := newWorld(t)
	c := &crasher{t: t, path: w.path, run: w.hold("dev")}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return c
}

// crash starts a child, lets it run until it has acknowledged a number of
// writes (or kills itself), kills it, and checks the store.
func (c *crasher) crash(writes int, env ...string) {
	c.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childStore+"="+c.path, childRun+"="+string(c.run))
	cmd.Env = append(cmd.Env, env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	watchdog := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })

	lines := bufio.NewScanner(out)
	seen := 0
	for lines.Scan() {
		if line := lines.Text(); line != "ready" {
			c.acknowledged = append(c.acknowledged, wire.MessageID(line))
			seen++
		}
		if seen == writes && len(env) == 0 {
			cmd.Process.Kill() // and read on: what it printed before counts
		}
	}
	err = cmd.Wait()
	if !watchdog.Stop() {
		c.t.Fatalf("the child did not reach its end: %v: %s", env, stderr.String())
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		c.t.Fatalf("the child ended with %v: %s", err, stderr.String())
	}

	lock := filepath.Join(filepath.Dir(c.path), LockName)
	if _, err := AcquireLock(lock); !errors.Is(err, wire.Refuse(wire.WriterLocked)) {
		c.t.Fatalf("after the crash the lock was taken over: %v", err)
	}
	u, err := Unlock(lock, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	if u.Owner.PID != cmd.Process.Pid {
		c.t.Errorf("the lock named %d, the child was %d", u.Owner.PID, cmd.Process.Pid)
	}
	checkPairs(c.t, c.path, c.acknowledged)
}

func long() bool { return os.Getenv("MOSAIC_LONG") == "1" }

// kill -9 under load at random moments: nothing acknowledged is lost, nothing
// unacknowledged is half there. 25 kills; 200 with MOSAIC_LONG=1.
//
// proves: BUS-BOOT-54 BUS-BOOT-55
func TestKillUnderLoad(t *testing.T) {
	t.Parallel()
	kills := 25
	if long() {
		kills = 200
	}
	c := newCrasher(t)
	for i := range kills {
		c.crash(rand.IntN(30))
		if t.Failed() {
			t.Fatalf("at kill %d", i)
		}
		if len(c.acknowledged) > 2000 { // a fresh store, so that checking stays quick
			c = newCrasher(t)
		}
	}
}

// A kill at every named step of a write, the first time that it is passed and
// a later one.
func TestKillAtEveryCrashPoint(t *testing.T) {
	t.Parallel()
	for _, point := range CrashPoints {
		t.Run(string(point), func(t *testing.T) {
			t.Parallel()
			c := newCrasher(t)
			for _, n := range []int{0, 1, 7} {
				c.crash(0, childPoint+"="+string(point), childCount+"="+strconv.Itoa(n))
			}
		})
	}
}

// A migration that is killed leaves the version before the step or the one
// after it, and running again goes on from there.
//
// proves: BUS-SCHEMA-54 BUS-SCHEMA-55 BUS-SCHEMA-59
func TestMigrationCutShort(t *testing.T) {
	t.Parallel()
	nothing := func() bool { return false }
	all := func() bool { return true }
	type cut struct{ name, path string }
	path := copyFixture(t)
	layer := newFaultFS(t)
	layer.imageOf(path)
	var cuts []cut
	take := func(name string) {
		cuts = append(cuts, cut{name + ", unsynced lost", layer.cut(t, nothing)}, cut{name + ", unsynced kept", layer.cut(t, all)})
	}
	layer.passed = func(op operation) { take(op.file + " " + op.name) }
	_, err := Migrate(t.Context(), path, MigrateOptions{
		NoBackup: true, vfs: layer.name, crash: func(step string, p CrashPoint) { take(step + " " + string(p)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	reached := map[int]int{}
	for _, c := range cuts {
		found, err := examine(t.Context(), c.path, nil)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		reached[found.version.number]++
		done, err := Migrate(t.Context(), c.path, MigrateOptions{NoBackup: true})
		if err != nil || done.To != CurrentVersion || done.From != found.version.number {
			t.Errorf("%s: again: %+v, %v", c.name, done, err)
		}
		verifyClean(t, c.path)
	}
	if reached[1] == 0 || reached[2] == 0 {
		t.Errorf("the cuts reached only %v", reached)
	}
}

// A step that fails leaves the version before it.
//
// proves: BUS-SCHEMA-59
func TestMigrationFails(t *testing.T) {
	t.Parallel()
	for _, x := range []fault{
		{operation: operation{"wal", "write"}, err: syscall.ENOSPC},
		{operation: operation{"wal", "write"}, err: syscall.EIO},
		{operation: operation{"wal", "sync"}, err: syscall.EIO},
	} {
		t.Run(fmt.Sprint(x.name, x.err), func(t *testing.T) {
			t.Parallel()
			path := copyFixture(t)
			layer := newFaultFS(t)
			layer.arm(x)
			_, err := Migrate(t.Context(), path, MigrateOptions{NoBackup: true, vfs: layer.name})
			if !errors.Is(err, wire.Refuse(wire.StorageUnavailable)) {
				t.Errorf("got %v", err)
			}
			if found, err := examine(t.Context(), path, nil); err != nil || found.version.number != 1 {
				t.Errorf("left %+v, %v", found, err)
			}
			if done, err := Migrate(t.Context(), path, MigrateOptions{NoBackup: true}); err != nil || done.To != 2 {
				t.Errorf("again: %+v, %v", done, err)
			}
			verifyClean(t, path)
		})
	}
}

// proves: BUS-BOOT-22 BUS-BOOT-24 BUS-BOOT-55
func TestLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), LockName)
	l, err := AcquireLock(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if _, err := AcquireLock(path); !errors.Is(err, wire.Refuse(wire.WriterLocked)) {
		t.Errorf("a second lock: %v", err)
	}
	owner, err := ReadLock(path)
	if err != nil || owner.PID != os.Getpid() || owner.Boot == "" || owner.StartTime == 0 || owner.Host == "" {
		t.Errorf("owner %+v, %v", owner, err)
	}
	if _, err := Unlock(path, nil); !errors.Is(err, wire.Refuse(wire.WriterLocked)) {
		t.Errorf("the lock of a living process was removed: %v", err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
	if _, err := ReadLock(path); !errors.Is(err, wire.Refuse(wire.WriterUnlocked)) {
		t.Errorf("no lock: %v", err)
	}

	// Another's lock in the same place is not released.
	if l, err = AcquireLock(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+".moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("another's"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "another's" {
		t.Errorf("another's lock: %q, %v", text, err)
	}

	// Whatever lies there is a lock: a symlink to nothing, too.
	link := filepath.Join(t.TempDir(), LockName)
	if err := os.Symlink("nowhere", link); err != nil {
		t.Fatal(err)
	}
	if _, err := AcquireLock(link); !errors.Is(err, wire.Refuse(wire.WriterLocked)) {
		t.Errorf("a symlink: %v", err)
	}
	if _, err := Unlock(link, nil); !errors.Is(err, wire.Refuse(wire.WriterLocked)) {
		t.Errorf("unlocking a symlink: %v", err)
	}
}

// processes is a process table of one process.
type processes struct {
	proc.Table
	stat proc.Stat
}

func (p processes) Stat(pid int) (proc.Stat, error) {
	if pid != p.stat.PID {
		return proc.Stat{}, fs.ErrNotExist
	}
	return p.stat, nil
}

// proves: BUS-BOOT-55
func TestUnlock(t *testing.T) {
	t.Parallel()
	here := proc.Machine{Host: "here", Boot: "boot-2"}
	table := processes{stat: proc.Stat{Identity: proc.Identity{PID: 7, Start: 100}, State: 'S'}}
	for name, c := range map[string]struct {
		lock string
		want wire.Code // "" when it is removed
	}{
		"alive":           {`{"host":"here","boot":"boot-2","pid":7,"startTime":100,"at":""}`, wire.WriterLocked},
		"another host":    {`{"host":"there","boot":"boot-1","pid":9,"startTime":1,"at":""}`, wire.WriterLocked},
		"earlier boot":    {`{"host":"here","boot":"boot-1","pid":7,"startTime":100,"at":""}`, ""},
		"pid gone":        {`{"host":"here","boot":"boot-2","pid":9,"startTime":100,"at":""}`, ""},
		"pid used again":  {`{"host":"here","boot":"boot-2","pid":7,"startTime":99,"at":""}`, ""},
		"no start time":   {`{"host":"here","boot":"boot-2","pid":9,"at":""}`, wire.WriterLocked},
		"empty":           {``, wire.WriterLocked},
		"garbage":         {"\x00\x00\x00", wire.WriterLocked},
		"something added": {`{"host":"here","boot":"boot-1","pid":7,"startTime":100,"at":"","x":1}`, wire.WriterLocked},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, LockName)
			if err := os.WriteFile(path, []byte(c.lock), 0o600); err != nil {
				t.Fatal(err)
			}
			l, err := net.Listen("unix", filepath.Join(dir, "bus.sock"))
			if err != nil {
				t.Fatal(err)
			}
			l.(*net.UnixListener).SetUnlinkOnClose(false)
			l.Close()
			if err := os.WriteFile(filepath.Join(dir, "human.sock"), []byte("no socket"), 0o600); err != nil {
				t.Fatal(err)
			}
			u, err := unlock(path, []string{filepath.Join(dir, "bus.sock"), filepath.Join(dir, "human.sock")}, here, table)
			_, lockLeft := os.Lstat(path)
			_, sockLeft := os.Lstat(filepath.Join(dir, "bus.sock"))
			if c.want != "" {
				if !errors.Is(err, wire.Refuse(c.want)) || lockLeft != nil || sockLeft != nil || len(u.Removed) != 0 {
					t.Errorf("got %+v, %v; lock %v, socket %v", u, err, lockLeft, sockLeft)
				}
				return
			}
			if !slices.Equal(u.InTheWay, []string{filepath.Join(dir, "human.sock")}) {
				t.Errorf("what is in the way is not named: %+v", u)
			}
			if err != nil || len(u.Removed) != 2 || lockLeft == nil || sockLeft == nil {
				t.Errorf("got %+v, %v; lock %v, socket %v", u, err, lockLeft, sockLeft)
			}
			if _, err := os.Lstat(filepath.Join(dir, "human.sock")); err != nil {
				t.Errorf("what is no socket was removed: %v", err)
			}
		})
	}
}

// Sockets without a lock, as after somebody removed the lock by hand: those at
// which nobody listens go, and one that answers keeps everything as it is.
func TestUnlockWithoutALock(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("/tmp", "u")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	lock, dead, living, file := filepath.Join(dir, LockName), filepath.Join(dir, "bus.sock"), filepath.Join(dir, "human.sock"), filepath.Join(dir, "host.sock")
	listen := func(path string) *net.UnixListener {
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		return l.(*net.UnixListener)
	}
	listen(dead).Close()
	l := listen(living)
	defer l.Close()

	if u, err := Unlock(lock, []string{dead, living}); !errors.Is(err, wire.Refuse(wire.WriterLocked)) || len(u.Removed) != 0 {
		t.Errorf("beside a living broker: %+v, %v", u, err)
	}
	u, err := Unlock(lock, []string{dead, file})
	if err != nil || u.Owner != nil || !slices.Equal(u.Removed, []string{dead}) {
		t.Errorf("got %+v, %v", u, err)
	}
	if _, err := os.Lstat(dead); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the dead socket: %v", err)
	}
	if _, err := Unlock(lock, []string{dead, file}); !errors.Is(err, wire.Refuse(wire.WriterUnlocked)) {
		t.Errorf("nothing to free: %v", err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var way *SocketInTheWay
	if _, err := Unlock(lock, []string{dead, file}); !errors.As(err, &way) || way.Path != file || !errors.Is(err, wire.Refuse(wire.SocketExists)) {
		t.Errorf("a file at a socket's path: %v", err)
	}
}

// A process that has inherited the lock's descriptor may act for its owner:
// while it lives the lock stays.
func TestUnlockAsksTheDescriptor(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), LockName)
	l, err := AcquireLock(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	owner, err := ReadLock(path)
	if err != nil {
		t.Fatal(err)
	}
	gone := processes{} // a table in which the owner does not exist
	if _, err := unlock(path, nil, proc.Machine{Host: owner.Host, Boot: owner.Boot}, gone); !errors.Is(err, wire.Refuse(wire.WriterLocked)) {
		t.Errorf("got %v", err)
	}
}
