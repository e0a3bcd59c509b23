package queue

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mosaicstack.dev/mosaic/internal/proc"
	"mosaicstack.dev/mosaic/internal/proc/proctest"
)

const (
	bootOne = "11111111-1111-1111-1111-111111111111"
	bootTwo = "22222222-2222-2222-2222-222222222222"
)

// synthetic is a machine that the test writes down: this process, started at
// 500, and the processes given.
func synthetic(host, boot string, processes map[int]proctest.Process) (machine, *proctest.Table) {
	table := proctest.New(processes)
	table.Set(os.Getpid(), proctest.Process{Start: 500})
	m := quick()
	m.procs = table
	m.here = func() (proc.Machine, error) { return proc.Machine{Host: host, Boot: boot}, nil }
	return m, table
}

// heldBy is a lock or gate of process 7, started at 70 on host ada in the first boot.
func heldBy(change func(*LockRecord)) string {
	r := LockRecord{PID: 7, Start: "70", Boot: bootOne, Host: "ada", Op: "other-op-1", Verb: "move", At: "2026-03-01T09:00:00.000Z"}
	if change != nil {
		change(&r)
	}
	text, err := r.bytes()
	if err != nil {
		panic(err)
	}
	return string(text)
}

var running = map[int]proctest.Process{7: {Start: 70}}

// The classification of a lock and of a gate, and what every verb makes of it.
// proves: QUEUE-LOCK-15 QUEUE-LOCK-16 QUEUE-LOCK-17 QUEUE-LOCK-18 QUEUE-LOCK-19 QUEUE-LOCK-20 QUEUE-LOCK-21 QUEUE-LOCK-22
// proves: QUEUE-LOCK-23 QUEUE-LOCK-24 QUEUE-LOCK-26 QUEUE-LOCK-27 QUEUE-LOCK-28 QUEUE-LOCK-29 QUEUE-LOCK-33 QUEUE-LOCK-43 QUEUE-LOCK-44 QUEUE-LOCK-45
// proves: QUEUE-LOCK-49 QUEUE-LOCK-50 QUEUE-LOCK-52 QUEUE-CANON-14 QUEUE-LOCK-30
// proves: QUEUE-TESTS-32 QUEUE-TESTS-33 QUEUE-TESTS-34 QUEUE-TESTS-35 QUEUE-TESTS-36 QUEUE-TESTS-38
func TestWhoHoldsTheLock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		lock  string
		host  string
		boot  string
		table map[int]proctest.Process
		fail  int // a pid whose start time cannot be read
		want  Holder
	}{
		{name: "empty", lock: "", want: HolderInvalid},
		{name: "no JSON", lock: "held\n", want: HolderInvalid},
		{name: "a member too many", lock: strings.Replace(heldBy(nil), `{`, `{"x":1,`, 1), want: HolderInvalid},
		{name: "a member missing", lock: strings.Replace(heldBy(nil), `"verb":"move",`, "", 1), want: HolderInvalid},
		{name: "a start that is no number", lock: heldBy(func(r *LockRecord) { r.Start = "seventy" }), want: HolderInvalid},
		{name: "a start that does not fit", lock: heldBy(func(r *LockRecord) { r.Start = "99999999999999999999" }), want: HolderInvalid},
		{name: "a boot in upper case", lock: heldBy(func(r *LockRecord) { r.Boot = strings.ToUpper("aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa") }), want: HolderInvalid},
		{name: "invalid comes before another host", lock: heldBy(func(r *LockRecord) { r.Host, r.Boot = "eve", "" }), want: HolderInvalid},
		{name: "this process cannot read itself", lock: heldBy(nil), table: running, fail: os.Getpid(), want: HolderUnknown},
		{name: "another host without such a pid", lock: heldBy(func(r *LockRecord) { r.Host = "eve" }), want: HolderUnknown},
		{name: "another host, the pid in use", lock: heldBy(func(r *LockRecord) { r.Host = "eve" }), table: running, want: HolderUnknown},
		{name: "the host was renamed", lock: heldBy(nil), host: "ada2", want: HolderUnknown},
		{name: "another boot, the same pid and start", lock: heldBy(nil), boot: bootTwo, table: running, want: HolderMismatch},
		{name: "the pid is gone", lock: heldBy(nil), want: HolderDead},
		{name: "a zombie", lock: heldBy(nil), table: map[int]proctest.Process{7: {Start: 70, State: 'Z'}}, want: HolderDead},
		{name: "its start time is unreadable", lock: heldBy(nil), table: running, fail: 7, want: HolderUnknown},
		{name: "the pid was reused", lock: heldBy(nil), table: map[int]proctest.Process{7: {Start: 71}}, want: HolderMismatch},
		{name: "it runs", lock: heldBy(nil), table: running, want: HolderLive},
		{name: "it runs since long ago", lock: heldBy(func(r *LockRecord) { r.At = "1999-01-01T00:00:00.000Z" }), table: running, want: HolderLive},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			host, boot := "ada", bootOne
			if c.host != "" {
				host = c.host
			}
			if c.boot != "" {
				boot = c.boot
			}
			m, table := synthetic(host, boot, c.table)
			if c.fail != 0 {
				table.Fail(c.fail, proctest.Stat, fs.ErrPermission)
			}
			if _, got := m.judge([]byte(c.lock)); got != c.want {
				t.Fatalf("got %v, want %v", got, c.want)
			}
			table.Fail(os.Getpid(), proctest.Stat, nil)
			if c.fail == os.Getpid() {
				return // such a process takes neither lock nor gate
			}
			w := newWorld(t)
			w.write(DefaultLock, c.lock)
			checkHeldVerbs(t, w, w.openAs(nil, m), c.want)
		})
	}
}

// checkHeldVerbs asks for a write, an unlock, and the judgement of a gate with
// the same record.
func checkHeldVerbs(t *testing.T, w *world, c *Checkout, want Holder) {
	ctx := context.Background()
	lock := w.read(DefaultLock)
	codes := map[Holder]string{HolderInvalid: LockInvalid, HolderUnknown: LockUnknown, HolderLive: LockLive, HolderDead: LockStale, HolderMismatch: LockStale}
	phrases := map[Holder]string{
		HolderInvalid: "by hand", HolderUnknown: "by hand", HolderLive: "; retry the same op later",
		HolderDead: "run `mosaic queue unlock` once nothing is running", HolderMismatch: "run `mosaic queue unlock` once nothing is running",
	}
	before := w.all()
	_, err := note(c, "note-op-1", "text")
	wantRefusal(t, err, codes[want], phrases[want])
	wantExit(t, err, 1)
	w.unchanged(before)

	w.write(DefaultGate, lock)
	before = w.all()
	gate, err := c.CheckGate(ctx)
	if err != nil || !gate.Present || gate.Holder != want {
		t.Errorf("the gate: got %+v, %v", gate, err)
	}
	_, err = c.Unlock(ctx)
	wantRefusal(t, err, GatePresent, string(want))
	w.unchanged(before)
	w.remove(DefaultGate)

	before = w.all()
	u, err := c.Unlock(ctx)
	if !want.gone() {
		wantRefusal(t, err, codes[want], "nothing was removed")
		w.unchanged(before)
		return
	}
	if err != nil || u.Holder != want || u.Record.Op != "other-op-1" || u.Record.PID != 7 {
		t.Fatalf("unlock: %+v, %v", u, err)
	}
	w.clean()
	if _, err := note(c, "note-op-1", "text"); err != nil {
		t.Errorf("after unlock: %v", err)
	}
}

// The sentence of a live lock names verb, operation and time.
// proves: QUEUE-LOCK-02 QUEUE-LOCK-05 QUEUE-LOCK-25 QUEUE-LOCK-26 QUEUE-TESTS-28
func TestALiveLockIsWaitedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := quick()
	var waited time.Duration
	m.wait = func(_ <-chan struct{}, d time.Duration) { waited += d }
	holder, err := w.open(nil).lock(context.Background(), "holder-op", "move")
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(w.path(DefaultLock)); err != nil || info.Mode() != 0o600 {
		t.Errorf("the lock has mode %v, %v", info.Mode(), err)
	}
	record, state := m.judge([]byte(w.read(DefaultLock)))
	if self, err := m.record("holder-op", "move"); err != nil || state != HolderLive || record.At == "" {
		t.Errorf("got %+v, %v, %v", record, state, err)
	} else if self.At = record.At; self != record {
		t.Errorf("got %+v, want %+v", record, self)
	}
	files := hook(nil)
	_, err = note(w.openAs(files, m), "note-op-1", "text")
	wantRefusal(t, err, LockLive, "held by move holder-op since "+record.At+"; retry the same op later")
	if waited != 10*time.Second {
		t.Errorf("waited %v", waited)
	}
	if got := files.trace("create"); len(got) != 0 {
		t.Errorf("waiting wrote files: %v", got)
	}
	if err := holder.release(); err != nil {
		t.Fatal(err)
	}
	w.mustNote("note-op-1", "text")
}

// A lock that is given back while somebody waits is theirs.
// proves: QUEUE-LOCK-25
func TestAReleasedLockIsTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	holder, err := w.open(nil).lock(context.Background(), "holder-op", "move")
	if err != nil {
		t.Fatal(err)
	}
	m, waits := quick(), 0
	m.wait = func(<-chan struct{}, time.Duration) {
		if waits++; waits == 100 {
			if err := holder.release(); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := note(w.openAs(nil, m), "note-op-1", "text"); err != nil || waits != 100 {
		t.Errorf("after %d waits: %v", waits, err)
	}
	w.clean()
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(DefaultLock, heldBy(nil))
	before := w.all()
	ctx, cancel := context.WithCancel(context.Background())
	m := quick()
	m.wait = func(<-chan struct{}, time.Duration) { cancel() }
	if _, err := w.openAs(nil, m).Sync(ctx, NoOp); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	w.unchanged(before)
}

// proves: QUEUE-LOCK-03
func TestAProcessThatCannotNameItselfTakesNoLock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.all()
	blind, table := synthetic("ada", bootOne, nil)
	table.Fail(os.Getpid(), proctest.Stat, fs.ErrPermission)
	noBoot, _ := synthetic("ada", "", nil)
	broken, _ := synthetic("ada", bootOne, nil)
	broken.here = func() (proc.Machine, error) { return proc.Machine{}, errors.New("no boot id") }
	for _, m := range []machine{blind, noBoot, broken} {
		_, err := note(w.openAs(nil, m), "note-op-1", "text")
		wantRefusal(t, err, LockFailed, "start time")
		_, err = w.openAs(nil, m).Unlock(context.Background())
		wantRefusal(t, err, LockFailed)
	}
	w.unchanged(before)
}

// Every way to fail before the lock has its name leaves nothing behind.
// proves: QUEUE-LOCK-04 QUEUE-LOCK-06 QUEUE-LOCK-07 QUEUE-LOCK-08 QUEUE-LOCK-09 QUEUE-LOCK-11 QUEUE-LOCK-13
// proves: QUEUE-TESTS-26 QUEUE-TESTS-27
func TestALockThatCannotBePublished(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.all()
	for _, does := range []string{"create", "write", "sync", "close", "read", "link"} {
		files := failing(StepLock, does, syscall.EIO)
		_, err := note(w.open(files), "note-op-1", "text")
		wantRefusal(t, err, LockFailed, "EIO")
		w.unchanged(before)
	}
	t.Run("short writes are continued", func(t *testing.T) {
		files := hook(nil)
		files.short = func(c call) int {
			if c.Step == StepLock {
				return 7
			}
			return 0
		}
		if _, err := note(w.open(files), "note-op-1", "text"); err != nil {
			t.Fatal(err)
		}
		w.clean()
	})
	before = w.all()
	t.Run("a short write that goes no further", func(t *testing.T) {
		files := hook(nil)
		n := 0
		files.short = func(c call) int {
			if c.is(StepLock, "write") {
				n++
				return 7
			}
			return 0
		}
		files.before = func(c call) error {
			if c.is(StepLock, "write") && n > 1 {
				return syscall.ENOSPC
			}
			return nil
		}
		_, err := note(w.open(files), "note-op-2", "text")
		wantRefusal(t, err, LockFailed, "ENOSPC")
		w.unchanged(before)
	})
	t.Run("another text reads back", func(t *testing.T) {
		files := hook(nil)
		files.before = func(c call) error {
			if c.is(StepLock, "read") {
				return os.WriteFile(c.Path, []byte("{}\n"), 0o600)
			}
			return nil
		}
		_, err := note(w.open(files), "note-op-2", "text")
		wantRefusal(t, err, LockFailed, "reads back")
		w.unchanged(before)
	})
	t.Run("the order of the calls", func(t *testing.T) {
		files := hook(nil)
		if _, err := note(w.open(files), "note-op-3", "text"); err != nil {
			t.Fatal(err)
		}
		want := "lock create, lock write, lock sync, lock close, lock read, lock link, lock remove"
		got := files.trace("create", "write", "sync", "close", "read", "link", "remove")
		if text := strings.Join(got[:7], ", "); text != want {
			t.Errorf("got %s", text)
		}
	})
}

// Two processes stage at once; the second finds the name taken at its link.
// proves: QUEUE-LOCK-10 QUEUE-LOCK-12
func TestTheLinkDecides(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	files := hook(nil)
	files.before = func(c call) error {
		if c.is(StepLock, "link") {
			return os.WriteFile(w.path(DefaultLock), []byte(heldBy(nil)), 0o600)
		}
		return nil
	}
	m, _ := synthetic("ada", bootOne, running)
	_, err := note(w.openAs(files, m), "note-op-1", "text")
	wantRefusal(t, err, LockLive)
	if w.read(DefaultLock) != heldBy(nil) {
		t.Error("the other's lock was touched")
	}
	w.remove(DefaultLock)
	w.clean()
}

// proves: QUEUE-LOCK-34 QUEUE-LOCK-35 QUEUE-LOCK-36 QUEUE-LOCK-37 QUEUE-OPEN-63 QUEUE-TESTS-37
func TestReleaseLeavesAnothersLock(t *testing.T) {
	t.Parallel()
	for name, retake := range map[string]func(w *world){
		"retaken": func(w *world) { w.remove(DefaultLock); w.write(DefaultLock, heldBy(nil)) },
		"the same record in another file": func(w *world) {
			text := w.read(DefaultLock)
			w.write(DefaultLock+".2", text)
			if err := os.Rename(w.path(DefaultLock+".2"), w.path(DefaultLock)); err != nil {
				w.t.Fatal(err)
			}
		},
		"another record in the same file": func(w *world) { w.write(DefaultLock, heldBy(nil)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			files := hook(nil)
			lock := ""
			files.before = func(c call) error {
				if c.is(StepRelease, "read") {
					retake(w)
					lock = w.read(DefaultLock)
				}
				return nil
			}
			a, err := note(w.open(files), "note-op-1", "text")
			if err != nil || a.Rev != 2 {
				t.Fatalf("got %+v, %v", a, err)
			}
			if !strings.Contains(a.Warning, "left alone") {
				t.Errorf("no warning: %q", a.Warning)
			}
			if w.read(DefaultLock) != lock {
				t.Error("another's lock was removed")
			}
		})
	}
}

// A lock that cannot be released is told of after a refusal too.
// proves: QUEUE-LOCK-36
func TestARefusalTellsOfALostLock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	files := hook(func(c call) error {
		if c.is(StepRelease, "read") {
			w.remove(DefaultLock)
		}
		return nil
	})
	_, err := ask(w.open(files), "note-op-1", dev, &NoteArgs{Row: 99, Note: ptr("x")})
	wantRefusal(t, err, RowUnknown, "left alone")
}

// proves: QUEUE-LOCK-14 QUEUE-LOCK-46 QUEUE-LOCK-48 QUEUE-LOCK-51 QUEUE-TESTS-31
func TestAGateStopsWriters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(DefaultGate, heldBy(nil))
	before := w.all()
	_, err := note(w.open(nil), "note-op-1", "text")
	wantRefusal(t, err, GatePresent, w.path(DefaultGate), "mosaic queue unlock --check-gate")
	wantExit(t, err, 1)
	w.unchanged(before)
	if _, err := w.open(nil).Read(context.Background()); err != nil {
		t.Errorf("a read: %v", err)
	}
	w.remove(DefaultGate)

	// The gate appears after the lock: the writer looks for it afterwards.
	files := hook(nil)
	files.after = func(c call) error {
		if c.is(StepLock, "link") {
			w.write(DefaultGate, heldBy(nil))
		}
		return nil
	}
	before = w.all()
	_, err = note(w.open(files), "note-op-1", "text")
	wantRefusal(t, err, GatePresent)
	w.remove(DefaultGate)
	w.unchanged(before)
}

// The writer looked for the gate before there was one: the unlocker, who looks
// at the lock afterwards, finds it live.
// proves: QUEUE-LOCK-39 QUEUE-LOCK-40 QUEUE-LOCK-42 QUEUE-LOCK-43 QUEUE-LOCK-46 QUEUE-TESTS-30
func TestAnUnlockerSeesAWriter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	files := hook(nil)
	unlocked := false
	files.after = func(c call) error {
		if c.Step != StepRead {
			return nil
		}
		unlocked = true
		u := hook(nil)
		_, err := w.open(u).Unlock(context.Background())
		wantRefusal(t, err, LockLive, "note-op-1")
		want := "unlock-gate link, unlock-inspect read"
		if got := strings.Join(u.trace("link", "read"), ", "); !strings.Contains(got, want) {
			t.Errorf("got %s, want %s in it", got, want)
		}
		return nil
	}
	if a, err := note(w.open(files), "note-op-1", "text"); err != nil || a.Rev != 2 || !unlocked {
		t.Errorf("got %+v, %v", a, err)
	}
	w.clean()
}

// proves: QUEUE-LOCK-31 QUEUE-LOCK-41 QUEUE-LOCK-47 QUEUE-TESTS-29
func TestTwoUnlockers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(DefaultLock, heldBy(nil))
	m, _ := synthetic("ada", bootOne, nil)
	files := hook(nil)
	second := 0
	files.before = func(c call) error {
		if c.Step == StepInspect || c.Step == StepUnlock {
			second++
			_, err := w.openAs(nil, m).Unlock(context.Background())
			wantRefusal(t, err, GatePresent, w.path(DefaultGate), "live", strconv.Itoa(os.Getpid()))
		}
		return nil
	}
	u, err := w.openAs(files, m).Unlock(context.Background())
	if err != nil || u.Holder != HolderDead || second < 2 {
		t.Errorf("got %+v, %v after %d", u, err, second)
	}
	w.clean()
	_, err = w.openAs(nil, m).Unlock(context.Background())
	wantRefusal(t, err, NotLocked)
	wantExit(t, err, 2)
	w.clean()
}

// A gate that cannot be made or removed is never silent.
// proves: QUEUE-LOCK-40 QUEUE-LOCK-45
func TestUnlockFaults(t *testing.T) {
	t.Parallel()
	m, _ := synthetic("ada", bootOne, nil)
	for _, c := range []struct {
		step Step
		does string
		left []string
	}{
		{StepGate, "create", []string{DefaultLock}},
		{StepGate, "write", []string{DefaultLock}},
		{StepGate, "sync", []string{DefaultLock}},
		{StepGate, "link", []string{DefaultLock}},
		{StepUnlock, "remove", []string{DefaultLock}},
		{StepUngate, "remove", []string{DefaultGate}},
	} {
		w := newWorld(t)
		w.write(DefaultLock, heldBy(nil))
		_, err := w.openAs(failing(c.step, c.does, syscall.EIO), m).Unlock(context.Background())
		wantRefusal(t, err, LockFailed, "EIO")
		for _, name := range []string{DefaultLock, DefaultGate} {
			if want := len(c.left) == 1 && c.left[0] == name; w.exists(name) != want {
				t.Errorf("%s %s: %s is there: %v", c.step, c.does, name, !want)
			}
		}
	}
}

// proves: QUEUE-LOCK-43
func TestARefusedUnlockTellsOfItsGate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(DefaultLock, heldBy(nil))
	m, _ := synthetic("ada", bootOne, running)
	_, err := w.openAs(failing(StepUngate, "remove", syscall.EIO), m).Unlock(context.Background())
	wantRefusal(t, err, LockLive, "nothing was removed", w.path(DefaultGate)+" was left (EIO)")
}

// unlock is for a broken queue too.
// proves: QUEUE-OPEN-59 QUEUE-LOCK-38
func TestUnlockWithoutAValidQueue(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(w *world){
		"missing": func(w *world) { w.remove(DefaultQueue) },
		"invalid": func(w *world) { w.write(DefaultQueue, "{}\n") },
	} {
		w := newWorld(t)
		damage(w)
		w.write(DefaultLock, heldBy(nil))
		m, _ := synthetic("ada", bootOne, nil)
		if u, err := w.openAs(nil, m).Unlock(context.Background()); err != nil || u.Record.PID != 7 {
			t.Errorf("%s: %+v, %v", name, u, err)
		}
		if gate, err := w.open(nil).CheckGate(context.Background()); err != nil || gate.Present {
			t.Errorf("%s: the gate: %+v, %v", name, gate, err)
		}
	}
	w := newWorld(t)
	other := beginAt(t, "/somewhere/else")
	w.put(other.file, other.state)
	w.write(DefaultLock, heldBy(nil))
	_, err := w.open(nil).Unlock(context.Background())
	wantRefusal(t, err, NotCanonical, "/somewhere/else")
}

// A real process holds the lock, is paused, and is killed.
// proves: QUEUE-LOCK-19 QUEUE-LOCK-22 QUEUE-TESTS-28 QUEUE-TESTS-40 QUEUE-LOCK-32
func TestARealHolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"=verb", "QUEUE_TEST_DIR="+w.root, "QUEUE_TEST_VERB=hold")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("the child said %q, %v", line, err)
	}
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	_, err = note(w.open(nil), "note-op-1", "text")
	wantRefusal(t, err, LockLive, "held by hold held-op-1")
	_, err = w.open(nil).Unlock(context.Background())
	wantRefusal(t, err, LockLive)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	for range 2 { // nothing reclaims it by itself
		_, err = note(w.open(nil), "note-op-1", "text")
		wantRefusal(t, err, LockStale, "mosaic queue unlock")
	}
	u, err := w.open(nil).Unlock(context.Background())
	if err != nil || u.Record.PID != cmd.Process.Pid || u.Holder != HolderDead {
		t.Errorf("got %+v, %v", u, err)
	}
	w.mustNote("note-op-1", "text")
	w.clean()
}
