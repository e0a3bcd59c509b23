package evidence

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"mosaicstack.dev/mosaic/internal/wire"
)

var errRefused = errors.New("refused by the test")

// block runs a request that holds the writer until the returned function is
// called, so that what is queued meanwhile becomes one batch.
func (w *world) block() (release func()) {
	w.t.Helper()
	entered, let, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		err := w.Update(context.Background(), func(*Tx) error {
			close(entered)
			<-let
			return nil
		}, nil)
		if err != nil {
			w.t.Error(err)
		}
	}()
	<-entered
	return func() {
		close(let)
		<-done
	}
}

// queued waits until n requests are in the queue.
func (w *world) queued(n int) {
	w.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); len(w.queue) < n; {
		if time.Now().After(deadline) {
			w.t.Fatalf("only %d requests are queued", len(w.queue))
		}
		time.Sleep(time.Millisecond)
	}
}

// Requests that wait together are committed together, each in a savepoint of
// its own: one that is refused leaves the others, and its refusal is recorded
// in the same commit.
//
// proves: BUS-SCHEMA-16 BUS-AUTH-40
func TestGroupCommit(t *testing.T) {
	t.Parallel()
	layer := newFaultFS(t)
	w := newWorld(t, layer.use)
	dev := w.hold("dev")
	var mu sync.Mutex
	syncs := 0
	layer.passed = func(op operation) {
		mu.Lock()
		defer mu.Unlock()
		if op == (operation{"wal", "sync"}) {
			syncs++
		}
	}
	release := w.block()
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			err := w.Update(context.Background(), func(tx *Tx) error {
				if _, err := sendIn(tx, Message{FromRole: "dev", FromRun: dev, ToRole: "rev", Body: fmt.Sprint(i)}); err != nil {
					return err
				}
				if i%4 == 0 {
					return errRefused
				}
				return nil
			}, func(tx *Tx, cause error) error {
				if cause != errRefused {
					t.Errorf("the refusal is told %v", cause)
				}
				if _, err := tx.Undelivered(acme, "rev", 100); err != nil {
					return err
				}
				_, err := tx.AppendEvent(Event{Business: acme, Kind: ActionRefused, Role: ptr(wire.Role("dev")), Run: &dev, Body: []byte(`{}`)})
				return err
			})
			if (i%4 == 0) != errors.Is(err, errRefused) {
				t.Errorf("request %d: %v", i, err)
			}
		})
	}
	w.queued(20)
	release()
	wg.Wait()
	layer.passed = nil
	mu.Lock()
	if syncs != 1 {
		t.Errorf("20 requests took %d syncs", syncs)
	}
	mu.Unlock()
	w.view(func(s *Snapshot) error {
		sent, err := s.Undelivered(acme, "rev", 100)
		if err != nil {
			return err
		}
		if len(sent) != 15 {
			t.Errorf("%d messages", len(sent))
		}
		for _, m := range sent {
			if strings.Contains(" 0 4 8 12 16 ", " "+m.Body+" ") {
				t.Errorf("the refused message %s is there", m.Body)
			}
		}
		return nil
	})
	if got := w.count("events WHERE kind = 'action.refused'"); got != 5 {
		t.Errorf("%d refusals were recorded", got)
	}
}

// A batch that wrote nothing costs no sync, also when what it wrote was rolled
// back.
func TestNothingWrittenNothingSynced(t *testing.T) {
	t.Parallel()
	layer := newFaultFS(t)
	w := newWorld(t, layer.use)
	dev := w.hold("dev")
	var ops []operation
	layer.passed = func(op operation) { ops = append(ops, op) }
	w.update(func(tx *Tx) error { _, err := tx.Holders(acme); return err })
	err := w.Update(t.Context(), func(tx *Tx) error {
		if _, err := pair(tx, dev, "x"); err != nil {
			return err
		}
		return errRefused
	}, nil)
	if err != errRefused {
		t.Errorf("got %v", err)
	}
	layer.passed = nil
	if len(ops) != 0 {
		t.Errorf("the file saw %v", ops)
	}
}

// A refusal that cannot be recorded is a failure of the store, and leaves
// nothing.
func TestRefusalThatCannotBeRecorded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	err := w.Update(t.Context(), func(*Tx) error { return errRefused }, func(tx *Tx, _ error) error {
		if _, err := tx.AppendEvent(Event{Business: acme, Kind: ActionRefused, Body: []byte(`{}`)}); err != nil {
			return err
		}
		_, err := tx.AppendEvent(Event{Business: acme, Kind: "no.kind", Body: []byte(`{}`)})
		return err
	})
	if !errors.Is(err, wire.Refuse(wire.StorageUnavailable)) {
		t.Errorf("got %v", err)
	}
	w.event(Event{Kind: HumanInput})
	if got := w.count("events"); got != 1 {
		t.Errorf("%d events", got)
	}
}

// count returns the number of rows of a table.
func (w *world) count(table string) (n int64) {
	w.t.Helper()
	w.view(func(s *Snapshot) error {
		st, err := s.c.prepare("SELECT count(*) FROM " + table)
		if err != nil {
			return err
		}
		defer st.Close()
		n, err = number(st)
		return err
	})
	return n
}

// A panic is the caller's own: it is raised where Update was called, and the
// store goes on.
func TestPanicInARequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dev := w.hold("dev")
	func() {
		defer func() {
			if p := recover(); p == nil || !strings.Contains(fmt.Sprint(p), "boom") {
				t.Errorf("recovered %v", p)
			}
		}()
		w.Update(t.Context(), func(tx *Tx) error {
			if _, err := pair(tx, dev, "x"); err != nil {
				return err
			}
			panic("boom")
		}, func(*Tx, error) error {
			t.Error("a panic is no refusal")
			return nil
		})
	}()
	if w.count("messages") != 0 {
		t.Error("the request is half there")
	}
	if _, err := w.pair(dev, "y"); err != nil {
		t.Error(err)
	}
}

// A request whose context ends while it waits is withdrawn; one that has begun
// is waited for.
func TestUpdateContext(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	release := w.block()
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error)
	go func() {
		result <- w.Update(ctx, func(*Tx) error { t.Error("the withdrawn request ran"); return nil }, nil)
	}()
	w.queued(1)
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	release()

	ctx, cancel = context.WithCancel(t.Context())
	err := w.Update(ctx, func(tx *Tx) error {
		cancel()
		_, err := tx.AppendEvent(Event{Business: acme, Kind: HumanInput, Body: []byte(`{}`)})
		return err
	}, nil)
	if err != nil || w.count("events") != 1 {
		t.Errorf("the request that had begun: %v", err)
	}
	if err := w.Update(ctx, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := w.View(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// Close waits for what is under way; afterwards everything is refused.
func TestClose(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	release := w.block()
	done := make(chan error)
	go func() {
		done <- w.Update(context.Background(), func(tx *Tx) error {
			_, err := tx.AppendEvent(Event{Business: acme, Kind: HumanInput, Body: []byte(`{}`)})
			return err
		}, nil)
	}()
	w.queued(1)
	closed := make(chan error)
	go func() { closed <- w.Close() }()
	release()
	if err := <-done; err != nil {
		t.Errorf("the request under way: %v", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Errorf("again: %v", err)
	}
	if err := w.Update(t.Context(), nil, nil); !errors.Is(err, wire.Refuse(wire.StorageUnavailable)) {
		t.Errorf("got %v", err)
	}
	if err := w.View(t.Context(), nil); !errors.Is(err, wire.Refuse(wire.StorageUnavailable)) {
		t.Errorf("got %v", err)
	}
	if r := verifyClean(t, w.path); r.Rows != 1 {
		t.Errorf("%d rows", r.Rows)
	}
}

// A snapshot holds what was acknowledged before it and does not change.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dev := w.hold("dev")
	w.view(func(s *Snapshot) error {
		before, err := s.LaneCounts(acme, "rev")
		if err != nil {
			return err
		}
		w.send("dev", dev, "rev", "while a snapshot is open")
		after, err := s.LaneCounts(acme, "rev")
		if before != after || before.Total != 0 {
			t.Errorf("the snapshot changed from %+v to %+v", before, after)
		}
		w.view(func(s *Snapshot) error {
			if c, err := s.LaneCounts(acme, "rev"); err != nil || c.Total != 1 {
				t.Errorf("a new snapshot has %+v, %v", c, err)
			}
			return nil
		})
		return err
	})
}

// Times strictly advance over all tables, run ahead of the wall clock in a
// burst, survive a reopen, and do not follow a clock that goes back.
//
// proves: BUS-EVENT-14 BUS-EVENT-15 BUS-EVENT-16 BUS-EVENT-17
func TestClock(t *testing.T) {
	t.Parallel()
	now := int64(1_800_000_000_000)
	w := newWorld(t, func(o *Options) { o.clock = func() int64 { return now } })
	last := int64(0)
	next := func() int64 {
		e := w.event(Event{Kind: HumanInput})
		ms, err := parseTime(string(e.At))
		if err != nil {
			t.Fatal(err)
		}
		if ms <= last {
			t.Errorf("%d after %d", ms, last)
		}
		last = ms
		return ms
	}
	if got := next(); got != now {
		t.Errorf("the first row is at %d", got)
	}
	for range 100 {
		next()
	}
	if last != now+100 {
		t.Errorf("a burst of 100 ends %d ms ahead", last-now)
	}
	now -= 3_600_000
	w.reopen()
	if got := next(); got != now+3_600_000+101 {
		t.Errorf("after a reopen and a clock that went back: %d", got)
	}
	w.history()
	now += 7_200_000
	if got := next(); got != now {
		t.Errorf("the clock caught up and the row is at %d, not %d", got, now)
	}
}

func TestTimestampForm(t *testing.T) {
	t.Parallel()
	if got := formatTime(1_800_000_000_007); got != "2027-01-15T08:00:00.007Z" {
		t.Error(got)
	}
	for _, bad := range []string{
		"", "2027-01-15T08:00:00Z", "2027-01-15T08:00:00.07Z", "2027-01-15 08:00:00.007Z", "2027-01-15T08:00:00.007",
		"2027-01-15T08:00:00.007+00:00", "2027-02-30T08:00:00.007Z", "2027-01-15T24:00:00.007Z", "2027-01-15T08:00:00.0070Z",
		"2027-01-15T08:00:00,007Z", "+2027-01-15T08:00:00.007Z",
	} {
		if ms, err := parseTime(bad); err == nil {
			t.Errorf("%q gave %d", bad, ms)
		}
	}
}

// Ids are UUIDv7 in the order of writing, and never the same twice.
func TestIDs(t *testing.T) {
	t.Parallel()
	var g ids
	last := ""
	for ms := range int64(2000) {
		id := g.next(1_800_000_000_000 + ms)
		if len(id) != 36 || id[14] != '7' || !strings.ContainsRune("89ab", rune(id[19])) || id <= last {
			t.Fatalf("%s after %s", id, last)
		}
		last = id
	}
	if first, second := g.next(1), g.next(1); first == second {
		t.Errorf("%s twice", first)
	}
}

// Many writers and readers at once; the race detector looks on.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *Options) { o.checkpointPages = 40 })
	dev, rev := w.hold("dev"), w.hold("rev")
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for n := range 10 {
				if _, err := w.pair(dev, fmt.Sprintf("%d-%d", i, n)); err != nil {
					t.Error(err)
				}
				err := w.View(context.Background(), func(s *Snapshot) error {
					c, err := s.LaneCounts(acme, "rev")
					if c.Total%2 != 0 {
						t.Errorf("half a request is visible: %+v", c)
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	received := 0
	for received < 320 && !t.Failed() {
		got := w.receive("rev", rev)
		received += len(got)
	}
	wg.Wait()
}

// One approval, 64 who want to use it: one does.
//
// proves: BUS-AUTH-36 BUS-AUTH-41
func TestSingleUseUnderConcurrency(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dev := w.hold("dev")
	d := w.raise(decision("dev", dev))
	w.decide(d.ID, "yes")
	var mu sync.Mutex
	used := 0
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			err := w.Update(context.Background(), func(tx *Tx) error {
				_, err := tx.AppendEvent(spending(d, dev))
				return err
			}, nil)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				used++
			case !errors.Is(err, wire.Refuse(wire.DecisionConsumed)):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if used != 1 {
		t.Errorf("the approval was used %d times", used)
	}
	w.reopen()
	err := w.Update(t.Context(), func(tx *Tx) error { _, err := tx.AppendEvent(spending(d, dev)); return err }, nil)
	if !errors.Is(err, wire.Refuse(wire.DecisionConsumed)) {
		t.Errorf("after a reopen: %v", err)
	}
}
