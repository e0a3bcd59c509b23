package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// verbChild is a process that runs one verb on a checkout. It ends itself
// before the file call that the test numbered.
func verbChild() {
	files := hook(nil)
	if n, err := strconv.Atoi(os.Getenv("QUEUE_TEST_KILL")); err == nil {
		files.before = killAt(n)
	}
	c, err := open(context.Background(), os.Getenv("QUEUE_TEST_DIR"), files, quick())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := verbs[os.Getenv("QUEUE_TEST_VERB")](c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// verbs are what a child can be asked for.
var verbs = map[string]func(*Checkout) error{
	"hold": func(c *Checkout) error {
		if _, err := c.lock(context.Background(), "held-op-1", "hold"); err != nil {
			return err
		}
		fmt.Println("held")
		_, err := os.Stdin.Read(make([]byte, 1))
		return err
	},
	"note": func(c *Checkout) error {
		_, err := note(c, killedOp, "killed")
		return err
	},
	"sync": func(c *Checkout) error {
		_, err := c.Sync(context.Background(), NoOp)
		return err
	},
	"render": func(c *Checkout) error {
		_, err := c.Render(context.Background(), NoOp)
		return err
	},
	"accept": func(c *Checkout) error {
		_, err := c.AcceptHistory(context.Background(), killedOp, dana, "restored from the stash", func(Loss) bool { return true })
		return err
	},
	"unlock": func(c *Checkout) error {
		_, err := c.Unlock(context.Background())
		return err
	},
	"found": func(c *Checkout) error {
		_, err := begun(c, killedOp)
		return err
	},
}

// killedOp is the operation that is killed.
const killedOp OpID = "killed-op-1"

// begun founds a queue in a checkout.
func begun(c *Checkout, op OpID) (Acknowledgement, error) {
	args := team()
	args.CanonicalRoot = c.Root
	raw, err := Canonical(args)
	if err != nil {
		return Acknowledgement{}, err
	}
	return c.Found(context.Background(), op, raw, chief, func(table []byte) (*GenesisFacts, error) {
		return &GenesisFacts{MapBlob: blobA, Legacy: Legacy{Table: string(table)}}, nil
	})
}

// child runs a verb in a process that ends itself before its n-th file call,
// and reports whether that came.
func (w *world) child(verb string, n int) (killed bool) {
	w.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"=verb", "QUEUE_TEST_DIR="+w.root, "QUEUE_TEST_VERB="+verb, "QUEUE_TEST_KILL="+strconv.Itoa(n))
	var said bytes.Buffer
	cmd.Stderr = &said
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return true
	}
	if err != nil {
		w.t.Fatalf("%s: %v: %s", verb, err, said.String())
	}
	return false
}

// boundaries are the calls of a verb that runs to its end, in their order.
func boundaries(t *testing.T, prepare func(t *testing.T) *world, verb string) []call {
	t.Helper()
	w := prepare(t)
	files := hook(nil)
	if err := verbs[verb](w.open(files)); err != nil {
		t.Fatal(err)
	}
	return files.calls
}

// points are the calls before which a process is killed: the first of every
// step, and every one that follows a change. Killed before another one, it
// would leave what it left at the point before.
func points(calls []call) []int {
	var at []int
	for n := range calls {
		changed := n > 0 && slices.Contains([]string{"create", "write", "link", "rename", "remove", "mkdir"}, calls[n-1].Does)
		if n == 0 || changed || calls[n].Step != calls[n-1].Step {
			at = append(at, n)
		}
	}
	return at
}

// passed says how far a process came that ended before the n-th call.
func passed(calls []call, n int, s Step, does string) bool {
	for _, c := range calls[:n] {
		if c.is(s, does) {
			return true
		}
	}
	return false
}

// freed removes a dead process's lock, if there is one, as a person would.
func (w *world) freed(locked bool) {
	w.t.Helper()
	if w.exists(DefaultLock) != locked {
		w.t.Fatalf("locked: %v, want %v", !locked, locked)
	}
	if !locked {
		return
	}
	_, err := note(w.open(nil), "note-op-9", "while it is locked")
	wantRefusal(w.t, err, LockStale)
	if _, err := w.open(nil).Unlock(context.Background()); err != nil {
		w.t.Fatal(err)
	}
}

// A process is killed at every step, and after every single change that an
// operation makes to the file system. Whatever it left, the next call gives the outcome that the
// document defines for that point, nothing that was acknowledged is lost, and
// a retry records the operation once.
// proves: QUEUE-WRITE-40 QUEUE-WRITE-41 QUEUE-WRITE-43 QUEUE-WRITE-44 QUEUE-WRITE-45 QUEUE-WRITE-46 QUEUE-WRITE-47 QUEUE-WRITE-54
// proves: QUEUE-TESTS-25 QUEUE-TESTS-49 QUEUE-TESTS-50 QUEUE-TESTS-51 QUEUE-TESTS-52 QUEUE-TESTS-53
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	prepare := func(t *testing.T) *world {
		w := newWorld(t)
		w.mustNote("acknowledged-1", "kept")
		return w
	}
	calls := boundaries(t, prepare, "note")
	for _, n := range points(calls) {
		t.Run(fmt.Sprintf("%02d before %s", n, strings.ReplaceAll(calls[n].String(), "/", "_")), func(t *testing.T) {
			t.Parallel()
			w := prepare(t)
			before := w.read(DefaultQueue)
			if !w.child("note", n) {
				t.Fatal("the child ran to its end")
			}
			visible := passed(calls, n, StepPublish, "rename")
			durable := passed(calls, n, StepRecord, "rename")
			shown := passed(calls, n, StepShow, "rename")
			w.freed(passed(calls, n, StepLock, "link") && !passed(calls, n, StepRelease, "remove"))
			if got := w.read(DefaultQueue) != before; got != visible {
				t.Fatalf("visible: %v, want %v", got, visible)
			}
			_, next := note(w.open(nil), "note-op-2", "the next operation")
			switch {
			case !visible || shown:
				if next != nil {
					t.Fatalf("the next operation: %v", next)
				}
			case !durable:
				wantRefusal(t, next, TailUnconfirmed, "killed-op-1 by dev at ", "mosaic queue sync")
			default:
				at := w.file().Log[3].At
				wantRefusal(t, next, ViewStale, "rev 3 (op killed-op-1 by dev at "+at+") is recorded but the table shows rev 2; it may never have been acknowledged. Tell dev, then run `mosaic queue render`.")
				_, err := w.open(nil).Verify(context.Background())
				wantRefusal(t, err, ViewStale, "killed-op-1")
			}
			if n%2 == 0 && visible && !durable {
				s, err := w.open(nil).Sync(context.Background(), NoOp)
				if err != nil || len(s.Confirmed) != 1 || s.Confirmed[0].Op != killedOp {
					t.Fatalf("sync: %+v, %v", s, err)
				}
			}
			a, err := note(w.open(nil), killedOp, "killed")
			if err != nil || a.Already != visible {
				t.Fatalf("the retry: %+v, %v", a, err)
			}
			if _, err := w.open(nil).Render(context.Background(), NoOp); err != nil {
				t.Fatalf("render: %v", err)
			}
			for _, op := range []OpID{killedOp, "acknowledged-1"} {
				if w.times(op) != 1 {
					t.Errorf("%s is in the log %d times", op, w.times(op))
				}
			}
			if _, err := w.open(nil).Verify(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}

// The same for the verbs that bring a queue back in order: killed anywhere,
// they are run again and end where they would have.
// proves: QUEUE-TESTS-53 QUEUE-DATA-81 QUEUE-WRITE-82
func TestRepairsKilledAnywhere(t *testing.T) {
	t.Parallel()
	for verb, prepare := range map[string]func(t *testing.T) *world{
		"sync":   withTail,
		"render": withStaleView,
		"accept": withLostHistory,
		"found":  withoutQueue,
	} {
		calls := boundaries(t, prepare, verb)
		for _, n := range points(calls) {
			t.Run(fmt.Sprintf("%s %02d before %s", verb, n, calls[n]), func(t *testing.T) {
				t.Parallel()
				w := prepare(t)
				if !w.child(verb, n) {
					t.Fatal("the child ran to its end")
				}
				if w.exists(DefaultLock) {
					if _, err := w.open(nil).Unlock(context.Background()); err != nil {
						t.Fatal(err)
					}
				}
				again := verbs[verb](w.open(nil))
				if verb == "found" && w.exists(DefaultQueue) && !w.exists(DefaultWitness) {
					// Genesis alone without a witness is sync's (QUEUE-WITNESS-12).
					wantRefusal(t, again, WitnessMissing, "mosaic queue sync")
					_, again = w.open(nil).Sync(context.Background(), NoOp)
				}
				if again != nil {
					t.Fatalf("again: %v", again)
				}
				f, v := w.file(), w.witness()
				if v.Revision != f.Revision || v.LogDigest != LogDigest(f.Log) {
					t.Errorf("rev %d, the witness at rev %d", f.Revision, v.Revision)
				}
				if verb != "sync" && verb != "render" && w.times(killedOp) != 1 {
					t.Errorf("%s is in the log %d times", killedOp, w.times(killedOp))
				}
			})
		}
	}
}

// An unlocker that is killed leaves a gate, which nothing removes, or the lock
// as it was.
// proves: QUEUE-LOCK-48 QUEUE-LOCK-51
func TestUnlockKilledAnywhere(t *testing.T) {
	t.Parallel()
	prepare := func(t *testing.T) *world {
		w := newWorld(t)
		m := thisMachine()
		r, err := m.record("other-op-1", "move")
		if err != nil {
			t.Fatal(err)
		}
		r.PID = 2000000000 // no such process
		text, err := r.bytes()
		if err != nil {
			t.Fatal(err)
		}
		w.write(DefaultLock, string(text))
		return w
	}
	calls := boundaries(t, prepare, "unlock")
	for _, n := range points(calls) {
		t.Run(fmt.Sprintf("%02d before %s", n, calls[n]), func(t *testing.T) {
			t.Parallel()
			w := prepare(t)
			if !w.child("unlock", n) {
				t.Fatal("the child ran to its end")
			}
			if gated := passed(calls, n, StepGate, "link") && !passed(calls, n, StepUngate, "remove"); gated {
				g, err := w.open(nil).CheckGate(context.Background())
				if err != nil || g.Holder != HolderDead {
					t.Fatalf("the gate: %+v, %v", g, err)
				}
				_, err = w.open(nil).Unlock(context.Background())
				wantRefusal(t, err, GatePresent, "dead")
				w.remove(DefaultGate) // what a person does then
			} else if w.exists(DefaultGate) {
				t.Fatal("a gate was left")
			}
			if locked := !passed(calls, n, StepUnlock, "remove"); locked {
				if _, err := w.open(nil).Unlock(context.Background()); err != nil {
					t.Fatal(err)
				}
			}
			w.mustNote("note-op-1", "text")
		})
	}
}

// withTail has an operation that was never confirmed.
func withTail(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	_, err := note(w.open(failing(StepSync, "syncdir", syscall.EIO)), "tail-op-1", "text")
	wantRefusal(t, err, DurabilityUnknown)
	return w
}

// withStaleView has a durable operation that the table does not show.
func withStaleView(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	_, err := note(w.open(failing(StepShow, "rename", syscall.EIO)), "hidden-op-1", "text")
	wantRefusal(t, err, ViewNotUpdated)
	return w
}

// withLostHistory was at rev 3 when somebody put back the pair of rev 1, which
// HEAD has too.
func withLostHistory(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	queue, view := w.read(DefaultQueue), w.read(DefaultView)
	w.mustNote("lost-op-1", "text")
	w.mustNote("lost-op-2", "text")
	w.write(DefaultQueue, queue)
	w.write(DefaultView, view)
	return w
}

// withoutQueue has a commit and no queue.
func withoutQueue(t *testing.T) *world {
	t.Helper()
	return emptyWorld(t, noQueue)
}
