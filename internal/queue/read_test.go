package queue

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"
)

// reading reads through a file layer.
func reading(c *Checkout) (*Reading, error) { return c.Read(context.Background()) }

// proves: QUEUE-LOCK-54 QUEUE-LOCK-55 QUEUE-LOCK-64 QUEUE-WRITE-67
func TestAReadTakesNoLock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.all()
	files := hook(nil)
	r, err := reading(w.open(files))
	if err != nil || r.Notice != "" || r.File.Revision != 1 || len(r.State.Rows) != 1 {
		t.Fatalf("got %+v, %v", r, err)
	}
	want := "peek-witness read, peek-queue read, peek-view read"
	if got := strings.Join(files.trace("create", "link", "read", "sync", "syncdir"), ", "); got != want {
		t.Errorf("got %s", got)
	}
	// A held lock stops no reader.
	w.write(DefaultLock, heldBy(nil))
	if r, err := reading(w.open(nil)); err != nil || r.Notice != "" {
		t.Errorf("while it is locked: %+v, %v", r, err)
	}
	w.remove(DefaultLock)
	w.unchanged(before)
}

// A reader is paused between witness and file while a writer runs to its end.
// proves: QUEUE-LOCK-56 QUEUE-LOCK-57 QUEUE-LOCK-61 QUEUE-TESTS-66
func TestAReaderPausedBetweenItsReads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	files := hook(nil)
	files.after = func(c call) error {
		if c.Step == StepPeekWitness {
			w.mustNote("note-op-1", "text")
		}
		return nil
	}
	r, err := reading(w.open(files))
	if err != nil || r.File.Revision != 2 || r.Notice != "rev 2 visible, not confirmed durable" {
		t.Errorf("got %+v, %v", r, err)
	}
	if got := files.trace("link"); len(got) > 0 {
		t.Errorf("a normal write made a reader lock: %v", got)
	}
}

// The wrong order, forced: the file is of before a write and the witness of
// after it. The recheck sees that nothing is wrong.
// proves: QUEUE-LOCK-58 QUEUE-LOCK-61 QUEUE-LOCK-62 QUEUE-TESTS-67
func TestTheFileReadBeforeTheWitness(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := w.read(DefaultQueue)
	w.mustNote("note-op-1", "text")
	files := &oldFile{hooked: hook(nil), step: StepPeekQueue, text: old}
	r, err := reading(w.open(files))
	if err != nil || r.File.Revision != 2 || r.Notice != "" {
		t.Errorf("got %+v, %v", r, err)
	}
	if got := files.trace("link"); len(got) != 1 {
		t.Errorf("the lock was taken %d times", len(got))
	}
	w.clean()
}

// oldFile answers one step's read with a text of before.
type oldFile struct {
	*hooked
	step Step
	text string
}

func (f *oldFile) Read(s Step, path string) ([]byte, FileStamp, error) {
	text, st, err := f.hooked.Read(s, path)
	if s == f.step {
		return []byte(f.text), st, err
	}
	return text, st, err
}

// A writer is paused before and after the witness's rename.
// proves: QUEUE-LOCK-57 QUEUE-TESTS-68 QUEUE-TESTS-69 QUEUE-WRITE-40 QUEUE-WRITE-56
func TestAWriterPausedAroundTheWitness(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var before, after *Reading
	files := hook(nil)
	look := func(to **Reading) {
		r, err := reading(w.open(nil))
		if err != nil {
			t.Error(err)
			return
		}
		*to = r
	}
	files.before = func(c call) error {
		if c.is(StepRecord, "rename") {
			look(&before)
		}
		return nil
	}
	files.after = func(c call) error {
		if c.is(StepRecord, "rename") {
			look(&after)
		}
		return nil
	}
	w.open(nil)
	if _, err := note(w.open(files), "note-op-1", "text"); err != nil {
		t.Fatal(err)
	}
	if before == nil || before.Notice != "rev 2 visible, not confirmed durable" || before.File.Revision != 2 {
		t.Errorf("before: %+v", before)
	}
	if after == nil || after.Notice != "" || after.File.Revision != 2 {
		t.Errorf("after, with the table still to come: %+v", after)
	}
}

// proves: QUEUE-LOCK-58 QUEUE-LOCK-60 QUEUE-TESTS-70 QUEUE-TESTS-58
func TestATrueRollbackIsReportedUnderTheLock(t *testing.T) {
	t.Parallel()
	w := withLostHistory(t)
	before := w.all()
	files := hook(nil)
	_, err := reading(w.open(files))
	wantRefusal(t, err, HistoryLost, "the witness saw rev 3")
	if got := strings.Join(files.trace("link", "read")[:5], ", "); got != "peek-witness read, peek-queue read, lock read, lock link, 1-read read" {
		t.Errorf("got %s", got)
	}
	w.unchanged(before)

	// Who cannot lock cannot tell: the holder is named, and no remedy.
	m, _ := synthetic("ada", bootOne, running)
	w.write(DefaultLock, heldBy(nil))
	for _, damage := range []func(){func() {}, func() { w.remove(DefaultWitness) }, func() { w.write(DefaultQueue, "{") }} {
		damage()
		_, err = reading(w.openAs(nil, m))
		wantRefusal(t, err, LockLive, "held by move other-op-1")
		if strings.Contains(err.Error(), "accept-history") || strings.Contains(err.Error(), "lost") {
			t.Errorf("a reader without the lock said %v", err)
		}
	}
}

// accept-history writes the file first, then the witness; a reader between the
// two finds the file not extending the witness, waits for the lock, and sees
// the end.
// proves: QUEUE-LOCK-59 QUEUE-LOCK-61 QUEUE-LOCK-62 QUEUE-WRITE-82 QUEUE-TESTS-71
func TestAReadDuringAcceptHistory(t *testing.T) {
	t.Parallel()
	w := withLostHistory(t)
	waiting, done := make(chan struct{}), make(chan error, 1)
	var seen *Reading
	resume := make(chan struct{})
	reader := quick()
	first := true
	// The reader waits for the lock; the writer goes on when it does.
	reader.wait = waitOnce(&first, waiting, resume)
	c := w.openAs(nil, reader)
	files := hook(nil)
	files.after = func(cl call) error {
		if cl.is(StepPublish, "rename") {
			go func() {
				r, err := reading(c)
				seen = r
				done <- err
			}()
			<-waiting
		}
		return nil
	}
	_, err := w.open(files).AcceptHistory(context.Background(), "accept-op-1", dana, "reason", yes)
	close(resume)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil || seen.File.Revision != 2 || strings.Contains(seen.Notice, "lost") {
		t.Errorf("got %+v, %v", seen, err)
	}
	w.clean()
}

// proves: QUEUE-LOCK-63 QUEUE-OPEN-68
func TestATailUnderTheLockIsSomethingToFix(t *testing.T) {
	t.Parallel()
	w := withTail(t)
	r, err := reading(w.open(nil))
	if err != nil || r.Notice != "rev 2 visible, not confirmed durable" {
		t.Errorf("got %+v, %v", r, err)
	}
	files := &oldFile{hooked: hook(nil), step: StepPeekQueue, text: "{"} // read while it was replaced by git
	r, err = reading(w.open(files))
	if err != nil || r.Notice != "rev 2 visible, not confirmed durable; run `mosaic queue sync`" {
		t.Errorf("got %+v, %v", r, err)
	}
	w.clean()
}

// proves: QUEUE-WRITE-56 QUEUE-OPEN-56
func TestReadsWarnOfTheTable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		damage func(w *world)
		want   string
	}{
		"stale":   {func(w *world) { w.write(DefaultView, staleView(t, w)) }, "the table shows rev 1, and the queue is at rev 2"},
		"edited":  {func(w *world) { w.write(DefaultView, strings.Replace(w.read(DefaultView), "| 1 |", "| 2 |", 1)) }, "changed by hand"},
		"missing": {func(w *world) { w.remove(DefaultView) }, "the file is missing"},
	} {
		w := newWorld(t)
		w.mustNote("note-op-1", "text")
		c.damage(w)
		r, err := reading(w.open(nil))
		if err != nil || !strings.Contains(r.Notice, c.want) || strings.Contains(r.Notice, "\n") {
			t.Errorf("%s: got %+v, %v", name, r, err)
		}
	}
	w := newWorld(t)
	r, err := reading(w.open(failing(StepPeekView, "read", syscall.EIO)))
	if err != nil || r.Notice != "the table cannot be read" {
		t.Errorf("got %+v, %v", r, err)
	}
	_, err = reading(w.open(failing(StepPeekWitness, "read", syscall.EIO)))
	wantRefusal(t, err, ReadFailed)
	if errors.Is(err, syscall.EIO) {
		t.Error("a refusal carries the system's error")
	}
}

// waitOnce says that it waits, and then waits for the writer.
func waitOnce(first *bool, waiting, resume chan struct{}) func(<-chan struct{}, time.Duration) {
	return func(<-chan struct{}, time.Duration) {
		if *first {
			*first = false
			close(waiting)
		}
		<-resume
	}
}
