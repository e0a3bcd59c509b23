package evidence

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ncruces/go-sqlite3"

	"mosaicstack.dev/mosaic/internal/wire"
)

// pair is one request of two messages with their authority, so that half of it
// can be recognised.
func pair(tx *Tx, dev wire.Run, body string) (last wire.MessageID, err error) {
	for _, half := range []string{"first", "second"} {
		m, err := sendIn(tx, Message{FromRole: "dev", FromRun: dev, ToRole: "rev", Body: body + " " + half})
		if err != nil {
			return "", err
		}
		last = m.ID
	}
	return last, nil
}

func (w *world) pair(dev wire.Run, body string) (last wire.MessageID, err error) {
	err = w.Update(context.Background(), func(tx *Tx) (err error) {
		last, err = pair(tx, dev, body)
		return err
	}, nil)
	return last, err
}

// checkPairs opens the store and looks for what must be there: all that was
// acknowledged, and of everything else all or nothing.
func checkPairs(t *testing.T, path string, acknowledged []wire.MessageID) {
	t.Helper()
	r, err := Verify(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Problems {
		t.Errorf("after the crash: %v", p)
	}
	s, err := Open(context.Background(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = s.View(context.Background(), func(s *Snapshot) error {
		for _, id := range acknowledged {
			if m, err := s.Message(acme, id); err != nil || m == nil {
				return fmt.Errorf("acknowledged %s: %v, %v", id, m, err)
			}
		}
		halves := map[string]int{}
		all, err := s.Undelivered(acme, "rev", 1_000_000)
		if err != nil {
			return err
		}
		for _, m := range all {
			body, half, _ := strings.Cut(m.Body, " ")
			halves[body]++
			if half != []string{"first", "second"}[halves[body]-1] {
				return fmt.Errorf("%q out of order", m.Body)
			}
			rows, err := s.Trail(acme, string(m.ID))
			if err != nil {
				return err
			}
			sent := false
			for _, r := range rows {
				e, ok := r.Row.(Event)
				sent = sent || ok && e.Message != nil && *e.Message == m.ID
			}
			if !sent {
				return fmt.Errorf("%q without its authority", m.Body)
			}
		}
		for body, n := range halves {
			if n != 2 {
				return fmt.Errorf("%q is half there", body)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// Every fault twice: not applied, and applied but reported as failed. Nothing
// that was acknowledged is lost and nothing that was not is half there. After a
// full disk the store goes on; after anything else it has stopped.
//
// proves: BUS-SCHEMA-16
func TestFaultsOfAWrite(t *testing.T) {
	t.Parallel()
	for _, op := range []operation{{"wal", "write"}, {"wal", "sync"}} {
		for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EIO} {
			for _, how := range []string{"not applied", "half", "applied"} {
				for _, skip := range []int{0, 3} {
					if op.name == "sync" && (how == "half" || skip > 0) {
						continue
					}
					x := fault{operation: op, err: errno, applied: how == "applied", short: how == "half", skip: skip}
					t.Run(fmt.Sprintf("%s %s %v %s after %d", op.file, op.name, errno, how, skip), func(t *testing.T) {
						t.Parallel()
						survive(t, x, op.name == "write" && errno != syscall.EIO)
					})
				}
			}
		}
	}
}

func survive(t *testing.T, x fault, goesOn bool) {
	layer := newFaultFS(t)
	w := newWorld(t, layer.use)
	dev := w.hold("dev")
	var acknowledged []wire.MessageID
	send := func(body string) error {
		id, err := w.pair(dev, body)
		if err == nil {
			acknowledged = append(acknowledged, id)
		}
		return err
	}
	if err := send("before"); err != nil {
		t.Fatal(err)
	}
	layer.arm(x)
	if err := send("during"); !errors.Is(err, wire.Refuse(wire.StorageUnavailable)) {
		t.Errorf("the failing write returned %v", err)
	}
	if !layer.happened() {
		t.Fatal("the fault did not happen")
	}
	err := send("after")
	select {
	case <-w.Failed():
		if goesOn {
			t.Fatalf("the store stopped: %v", w.Err())
		}
		if !errors.Is(err, wire.Refuse(wire.StorageUnavailable)) {
			t.Errorf("after the failure a write returned %v", err)
		}
		if err := w.View(context.Background(), func(*Snapshot) error { return nil }); !errors.Is(err, wire.Refuse(wire.StorageUnavailable)) {
			t.Errorf("after the failure a read returned %v", err)
		}
	default:
		if !goesOn || err != nil {
			t.Fatalf("the store goes on: %v", err)
		}
	}
	w.Close()
	checkPairs(t, w.path, acknowledged)
}

// A checkpoint that fails takes nothing back: what it moves was durable and
// acknowledged before.
func TestFaultsOfACheckpoint(t *testing.T) {
	t.Parallel()
	for _, x := range []fault{
		{operation: operation{"db", "write"}, err: syscall.ENOSPC},
		{operation: operation{"db", "write"}, err: syscall.ENOSPC, short: true},
		{operation: operation{"db", "write"}, err: syscall.EIO},
		{operation: operation{"db", "write"}, err: syscall.EIO, applied: true},
		{operation: operation{"db", "sync"}, err: syscall.EIO},
		{operation: operation{"db", "sync"}, err: syscall.EIO, applied: true},
	} {
		goesOn := x.err == syscall.ENOSPC
		t.Run(fmt.Sprintf("%s %v applied %v short %v", x.name, x.err, x.applied, x.short), func(t *testing.T) {
			t.Parallel()
			layer := newFaultFS(t)
			w := newWorld(t, layer.use, func(o *Options) { o.checkpointPages = 8 })
			dev := w.hold("dev")
			layer.arm(x)
			var acknowledged []wire.MessageID
			for i := range 10 {
				id, err := w.pair(dev, fmt.Sprint(i))
				if err != nil {
					break
				}
				acknowledged = append(acknowledged, id)
			}
			if !layer.happened() {
				t.Fatal("there was no checkpoint")
			}
			select {
			case <-w.Failed():
				if goesOn {
					t.Errorf("the store stopped: %v", w.Err())
				}
			default:
				if !goesOn || len(acknowledged) != 10 {
					t.Errorf("the store goes on, with %d writes", len(acknowledged))
				}
			}
			w.Close()
			checkPairs(t, w.path, acknowledged)
		})
	}
}

// A disk that cannot be read refuses the open and changes nothing.
//
// proves: BUS-SCHEMA-09
func TestReadFaultAtOpen(t *testing.T) {
	t.Parallel()
	layer := newFaultFS(t)
	w := newWorld(t)
	w.history()
	w.Close()
	before := hashDir(t, filepath.Dir(w.path))
	layer.arm(fault{operation: operation{"db", "read"}, err: syscall.EIO})
	if _, err := Open(t.Context(), w.path, Options{vfs: layer.name}); !errors.Is(err, wire.Refuse(wire.StorageUnavailable)) {
		t.Errorf("got %v", err)
	}
	if d := cmp.Diff(before, hashDir(t, filepath.Dir(w.path))); d != "" {
		t.Error(d)
	}
}

// After a power cut at any moment everything acknowledged is there, whichever
// of the unsynced writes reached the disk. With synchronous=NORMAL it is not:
// the test can fail.
//
// proves: BUS-SCHEMA-15
func TestPowerCut(t *testing.T) {
	t.Parallel()
	load := func(t *testing.T, layer *faultFS, w *world) (acknowledged []wire.MessageID) {
		t.Helper()
		dev := w.hold("dev")
		var mu sync.Mutex
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				for n := range 10 {
					id, err := w.pair(dev, fmt.Sprintf("%d-%d", i, n))
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					acknowledged = append(acknowledged, id)
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		return acknowledged
	}
	nothing := func() bool { return false }
	t.Run("full", func(t *testing.T) {
		t.Parallel()
		layer := newFaultFS(t)
		w := newWorld(t, layer.use, func(o *Options) { o.checkpointPages = 50 })
		acknowledged := load(t, layer, w)
		checkPairs(t, layer.cut(t, nothing), acknowledged)
		random := rand.New(rand.NewPCG(1, 2))
		for range 5 {
			checkPairs(t, layer.cut(t, func() bool { return random.IntN(2) == 0 }), acknowledged)
		}
	})
	t.Run("during a write", func(t *testing.T) {
		t.Parallel()
		layer := newFaultFS(t)
		w := newWorld(t, layer.use)
		dev := w.hold("dev")
		id, err := w.pair(dev, "acknowledged")
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(3, 4))
		var cuts []string
		layer.passed = func(operation) {
			cuts = append(cuts, layer.cut(t, nothing), layer.cut(t, func() bool { return random.IntN(2) == 0 }))
		}
		if _, err := w.pair(dev, "interrupted"); err != nil {
			t.Fatal(err)
		}
		layer.passed = nil
		if len(cuts) < 6 {
			t.Errorf("only %d cuts", len(cuts))
		}
		for _, path := range cuts {
			checkPairs(t, path, []wire.MessageID{id})
		}
	})
	t.Run("normal loses", func(t *testing.T) {
		t.Parallel()
		layer := newFaultFS(t)
		w := newWorld(t, layer.use)
		w.update(func(tx *Tx) error { // between BEGIN and COMMIT it would be ignored
			tx.c.db.WALHook(func(db *sqlite3.Conn, _ string, _ int) error {
				return db.Exec("PRAGMA synchronous = NORMAL")
			})
			_, err := tx.AppendEvent(Event{Business: acme, Kind: HumanInput, Body: []byte(`{}`)})
			return err
		})
		acknowledged := load(t, layer, w)
		path := layer.cut(t, nothing)
		s, err := Open(t.Context(), path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		lost := 0
		err = s.View(t.Context(), func(s *Snapshot) error {
			for _, id := range acknowledged {
				m, err := s.Message(acme, id)
				if err != nil {
					return err
				}
				if m == nil {
					lost++
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if lost == 0 {
			t.Error("synchronous=NORMAL lost nothing: the simulated power cut proves nothing")
		}
	})
}

// A real full disk, where the test may mount one.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=1m,mode=700"); err != nil {
		t.Skipf("cannot mount a small file system: %v", err)
	}
	defer syscall.Unmount(dir, syscall.MNT_DETACH)
	path := filepath.Join(dir, "bus.sqlite")
	if err := Create(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, path: path, Store: s}
	dev := w.hold("dev")
	filler := filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	var acknowledged []wire.MessageID
	for i := range 200 {
		id, err := w.pair(dev, fmt.Sprint(i))
		if err != nil {
			if !errors.Is(err, wire.Refuse(wire.StorageUnavailable)) || !errors.Is(err, sqlite3.FULL) {
				t.Fatalf("got %v", err)
			}
			break
		}
		acknowledged = append(acknowledged, id)
	}
	if len(acknowledged) == 200 {
		t.Fatal("the disk did not become full")
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	id, err := w.pair(dev, "room-again")
	if err != nil {
		t.Fatalf("with room again: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	checkPairs(t, path, append(acknowledged, id))
}
