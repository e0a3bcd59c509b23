package queue

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The order of everything durable, and what each call is for.
// proves: QUEUE-WRITE-05 QUEUE-WRITE-06 QUEUE-WRITE-09 QUEUE-WRITE-16 QUEUE-WRITE-20 QUEUE-WRITE-21 QUEUE-WRITE-24 QUEUE-WRITE-26 QUEUE-WRITE-31 QUEUE-WRITE-33 QUEUE-WRITE-37
// proves: QUEUE-WRITE-04 QUEUE-WITNESS-13 QUEUE-WITNESS-14 QUEUE-DATA-03
func TestTheTwelveSteps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	files := hook(nil)
	a, err := note(w.open(files), "note-op-1", "a note")
	if err != nil {
		t.Fatal(err)
	}
	if a.Op != "note-op-1" || a.Rev != 2 || *a.Row != 1 || a.From != "queued" || a.To != "queued" || a.Already || a.Warning != "" || a.By != dev {
		t.Errorf("got %+v", a)
	}
	want := []string{
		"lock create", "lock write", "lock sync", "lock read", "lock link",
		"1-read read", "2-witness read", "4-view read",
		"6-stage create", "6-stage write", "6-stage sync",
		"7-unchanged read", "8-publish rename", "9-sync syncdir",
		"10-record create", "10-record write", "10-record sync", "10-record rename", "10-record syncdir",
		"11-show read", "11-show create", "11-show write", "11-show sync", "11-show rename", "11-show syncdir",
		"12-release read",
	}
	got := files.trace("create", "write", "sync", "read", "link", "rename", "syncdir")
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
	for _, c := range files.calls {
		if c.Does == "create" && c.Step != StepLock {
			target := map[Step]string{StepStage: DefaultQueue, StepRecord: DefaultWitness, StepShow: DefaultView}[c.Step]
			if c.Path != w.path(target)+".note-op-1.tmp" {
				t.Errorf("%s stages %s", c.Step, c.Path)
			}
		}
	}
	w.clean()
	w.isSound("note-op-1")
}

// isSound demands that file, witness and table agree and that the operation is
// in the log once.
func (w *world) isSound(op OpID) {
	w.t.Helper()
	if v, err := w.open(nil).Verify(context.Background()); err != nil || len(v.Leftovers) > 0 {
		w.t.Fatalf("verify: %+v, %v", v, err)
	}
	f := w.file()
	v := w.witness()
	if v.Revision != f.Revision || v.LogDigest != LogDigest(f.Log) || v.FileSha != digest([]byte(w.read(DefaultQueue))) || !isTime(v.At) {
		w.t.Errorf("the witness is %+v", v)
	}
	if op != "" && w.times(op) != 1 {
		w.t.Errorf("%s is in the log %d times", op, w.times(op))
	}
}

// Everything up to the rename refuses, and nothing has changed.
// proves: QUEUE-WRITE-22 QUEUE-WRITE-25 QUEUE-WRITE-39 QUEUE-CLI-07
// proves: QUEUE-TESTS-41 QUEUE-TESTS-42 QUEUE-TESTS-43 QUEUE-TESTS-44
func TestFaultsBeforeTheRename(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.all()
	for _, c := range []struct {
		step Step
		does string
		err  error
	}{
		{StepStage, "create", syscall.EACCES},
		{StepStage, "write", syscall.ENOSPC},
		{StepStage, "sync", syscall.EIO},
		{StepStage, "close", syscall.EIO},
		{StepPublish, "rename", syscall.EIO},
	} {
		_, err := note(w.open(failing(c.step, c.does, c.err)), "note-op-1", "text")
		wantRefusal(t, err, WriteFailed, errno(c.err), "nothing has changed")
		wantExit(t, err, 1)
		w.unchanged(before)
	}
	short := hook(nil)
	half := 0
	short.short = func(c call) int {
		if c.is(StepStage, "write") {
			half++
			return 100
		}
		return 0
	}
	short.before = func(c call) error {
		if c.is(StepStage, "write") && half > 1 {
			return syscall.ENOSPC
		}
		return nil
	}
	_, err := note(w.open(short), "note-op-1", "text")
	wantRefusal(t, err, WriteFailed, "ENOSPC")
	w.unchanged(before)

	short.before = nil // short writes alone are continued
	if a, err := note(w.open(short), "note-op-1", "text"); err != nil || a.Rev != 2 || half < 3 {
		t.Errorf("got %+v, %v after %d writes", a, err, half)
	}
	w.isSound("note-op-1")
}

// A write that claims success and took nothing must not loop for ever.
func TestAWriteThatTakesNothing(t *testing.T) {
	t.Parallel()
	if err := writeLoop(stuck{}, []byte("text")); err != errShort {
		t.Errorf("got %v", err)
	}
}

type stuck struct{ Output }

func (stuck) Write([]byte) (int, error) { return 0, nil }

// The operation is visible and perhaps not durable: nobody says more, and
// nothing more is written.
// proves: QUEUE-WRITE-10 QUEUE-WRITE-11 QUEUE-WRITE-17 QUEUE-WRITE-27 QUEUE-WRITE-28 QUEUE-WRITE-29 QUEUE-WRITE-30 QUEUE-WRITE-50 QUEUE-WITNESS-02 QUEUE-WITNESS-08
// proves: QUEUE-TESTS-45 QUEUE-TESTS-46 QUEUE-TESTS-47
func TestADirectoryThatDoesNotSync(t *testing.T) {
	t.Parallel()
	for _, repair := range []string{"retry", "sync"} {
		w := newWorld(t)
		before := w.all()
		_, err := note(w.open(failing(StepSync, "syncdir", syscall.EIO)), "note-op-1", "text")
		wantRefusal(t, err, DurabilityUnknown, "uncertain note-op-1 rev 2: visible, durability not confirmed (EIO)")
		wantExit(t, err, 3)
		after := w.all()
		if after[DefaultQueue] == before[DefaultQueue] {
			t.Error("the operation is not visible")
		}
		after[DefaultQueue] = before[DefaultQueue]
		for name := range after {
			if after[name] != before[name] {
				t.Errorf("%s was written", name)
			}
		}
		before = w.all()
		_, err = note(w.open(nil), "note-op-2", "another")
		wantRefusal(t, err, TailUnconfirmed, "note-op-1 by dev at ", "mosaic queue sync")
		wantExit(t, err, 2)
		_, err = note(w.open(nil), "note-op-1", "another text under the same id")
		wantRefusal(t, err, OpReused)
		w.unchanged(before)

		for _, does := range []string{"sync", "syncdir"} {
			_, err = note(w.open(failing(StepConfirm, does, syscall.EIO)), "note-op-1", "text")
			wantRefusal(t, err, DurabilityUnknown, "uncertain note-op-1 rev 2: visible, durability not confirmed (EIO)")
		}
		_, err = note(w.open(failing(StepConfirm, "rename", syscall.EIO)), "note-op-1", "text")
		wantRefusal(t, err, WitnessNotUpdated, "uncertain note-op-1 rev 2: durable, witness not updated")
		wantExit(t, err, 3)
		w.unchanged(before)

		if repair == "retry" {
			files := hook(nil)
			a, err := note(w.open(files), "note-op-1", "text")
			if err != nil || !a.Already || a.Rev != 2 || !strings.Contains(a.Warning, "the table shows rev 1") {
				t.Errorf("got %+v, %v", a, err)
			}
			want := "2-confirm sync, 2-confirm syncdir, 2-confirm sync, 2-confirm rename, 2-confirm syncdir"
			if got := strings.Join(files.trace("sync", "syncdir", "rename")[1:], ", "); got != want {
				t.Errorf("a retry's calls are %s", got)
			}
		} else {
			s, err := w.open(nil).Sync(context.Background(), "sync-op-1")
			if err != nil || s.Rev != 2 || len(s.Confirmed) != 1 || s.Confirmed[0].Op != "note-op-1" || s.Confirmed[0].By != dev {
				t.Errorf("got %+v, %v", s, err)
			}
		}
		if _, err := w.open(nil).Render(context.Background(), NoOp); err != nil {
			t.Fatal(err)
		}
		w.isSound("note-op-1")
	}
}

// proves: QUEUE-WRITE-32 QUEUE-TESTS-48
func TestAWitnessThatIsNotWritten(t *testing.T) {
	t.Parallel()
	for _, does := range []string{"create", "write", "sync", "rename", "syncdir"} {
		w := newWorld(t)
		view := w.all()[DefaultView]
		_, err := note(w.open(failing(StepRecord, does, syscall.EIO)), "note-op-1", "text")
		wantRefusal(t, err, WitnessNotUpdated, "uncertain note-op-1 rev 2: durable, witness not updated")
		wantExit(t, err, 3)
		if w.all()[DefaultView] != view {
			t.Error("the table was written")
		}
		w.clean()
		if a, err := note(w.open(nil), "note-op-1", "text"); err != nil || !a.Already {
			t.Errorf("a retry: %+v, %v", a, err)
		}
	}
}

// proves: QUEUE-OPEN-67 QUEUE-WRITE-36 QUEUE-WRITE-86 QUEUE-TESTS-64
func TestAViewThatIsNotWritten(t *testing.T) {
	t.Parallel()
	for _, does := range []string{"read", "create", "write", "sync", "rename"} {
		w := newWorld(t)
		view := w.all()[DefaultView]
		_, err := note(w.open(failing(StepShow, does, syscall.EIO)), "note-op-1", "text")
		wantRefusal(t, err, ViewNotUpdated, "uncertain note-op-1 rev 2: durable, view not updated (")
		wantExit(t, err, 3)
		if w.all()[DefaultView] != view || w.witness().Revision != 2 {
			t.Error("the table was written, or the witness was not")
		}
		w.clean()
		if a, err := note(w.open(nil), "note-op-1", "text"); err != nil || !a.Already || a.Warning == "" {
			t.Errorf("a retry: %+v, %v", a, err)
		}
	}
	w := newWorld(t)
	edited := strings.Replace(w.read(DefaultView), "own words", "new words", 1)
	files := hook(func(c call) error {
		if c.is(StepPublish, "rename") {
			w.write(DefaultView, edited)
		}
		return nil
	})
	_, err := note(w.open(files), "note-op-1", "text")
	wantRefusal(t, err, ViewNotUpdated, "changed meanwhile")
	if w.read(DefaultView) != edited {
		t.Error("a person's edit was overwritten")
	}
	if r, err := w.open(nil).Render(context.Background(), NoOp); err != nil || !r.Written {
		t.Errorf("render: %+v, %v", r, err)
	}
	if !strings.Contains(w.read(DefaultView), "new words") || !strings.HasSuffix(w.read(DefaultView), "A footer, without a newline") {
		t.Error("render lost what stands outside of the markers")
	}
	w.isSound("note-op-1")
}

// Only the bytes between the markers change, whatever the others are.
// proves: QUEUE-WRITE-34 QUEUE-WRITE-35 QUEUE-WRITE-86 QUEUE-WRITE-87
func TestWhatIsOutsideTheMarkersStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := w.read(DefaultView)
	head, rest, _ := strings.Cut(text, BeginMarker)
	body, _, _ := strings.Cut(rest, EndMarker)
	head = "\xff\x00 no text\r\n" + head
	foot := "\n\ntext " + BeginMarker + " in a line\r\n"
	w.write(DefaultView, head+BeginMarker+body+EndMarker+foot)
	if err := os.Chmod(w.path(DefaultView), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(w.path(DefaultQueue), 0o664); err != nil {
		t.Fatal(err)
	}
	w.mustNote("note-op-1", "text")
	now := w.read(DefaultView)
	if !strings.HasPrefix(now, head+BeginMarker+"\n<!-- mosaic-queue rev 2 -->\n") || !strings.HasSuffix(now, "\n"+EndMarker+foot) {
		t.Errorf("got %q", now)
	}
	for name, want := range map[string]os.FileMode{DefaultView: 0o640, DefaultQueue: 0o664, DefaultWitness: 0o600} {
		if info, err := os.Stat(w.path(name)); err != nil || info.Mode() != want {
			t.Errorf("%s has mode %v, %v", name, info.Mode(), err)
		}
	}
}

// proves: QUEUE-WRITE-23 QUEUE-TESTS-55 QUEUE-WRITE-39
func TestGitChangesTheFileDuringAWrite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.repo.Git("add", "docs")
	w.repo.Git("commit", "--quiet", "-m", "rev 1")
	committed := w.read(DefaultQueue)
	w.mustNote("note-op-1", "text")
	files := hook(nil)
	files.before = func(c call) error {
		if c.Step == StepUnchanged {
			w.repo.Git("checkout", "--", DefaultQueue)
		}
		return nil
	}
	_, err := note(w.open(files), "note-op-2", "text")
	wantRefusal(t, err, QueueChanged)
	w.clean()
	if w.read(DefaultQueue) != committed || w.witness().Revision != 2 {
		t.Error("something was written over what git put there")
	}

	// The same bytes in another file are a change too: git was here.
	w = newWorld(t)
	files.before = func(c call) error {
		if c.Step == StepUnchanged {
			text := w.read(DefaultQueue)
			w.remove(DefaultQueue)
			w.write(DefaultQueue, text)
		}
		return nil
	}
	_, err = note(w.open(files), "note-op-1", "text")
	wantRefusal(t, err, QueueChanged)
	w.clean()
}

// A retry is answered whatever the table is, and writes nothing.
// proves: QUEUE-WRITE-14 QUEUE-WRITE-15 QUEUE-WRITE-16 QUEUE-WRITE-18 QUEUE-WRITE-55 QUEUE-OP-05 QUEUE-OP-06 QUEUE-OP-07 QUEUE-OP-08 QUEUE-OP-09 QUEUE-TESTS-54 QUEUE-TESTS-77
func TestRetries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.mustNote("note-op-1", "text")
	w.mustNote("note-op-2", "since changed")
	fresh := w.read(DefaultView)
	for name, c := range map[string]struct{ view, warning string }{
		"current": {fresh, ""},
		"stale":   {staleView(t, w), "the table shows rev 1, and the queue is at rev 3"},
		"edited":  {strings.Replace(fresh, "since changed", "by hand", 1), "the table was changed by hand (its text is no render of this queue)"},
	} {
		w.write(DefaultView, c.view)
		before := w.all()
		files := hook(nil)
		again, err := note(w.open(files), "note-op-1", "text")
		if err != nil || !again.Already || again.Warning != c.warning {
			t.Errorf("%s: got %+v, %v", name, again, err)
		}
		again.Already, again.Warning, again.Row = false, "", first.Row
		if again != first {
			t.Errorf("%s: got %+v, want %+v", name, again, first)
		}
		if got := files.trace("sync", "syncdir", "rename"); len(got) != 1 { // the lock's own
			t.Errorf("%s: a lookup synced: %v", name, got)
		}
		_, err = note(w.open(nil), "note-op-1", "another text")
		wantRefusal(t, err, OpReused)
		wantExit(t, err, 2)
		_, err = ask(w.open(nil), "note-op-1", dev, &AssignArgs{Row: 1, Owner: rev})
		wantRefusal(t, err, OpReused)
		if c.warning != "" {
			_, err = note(w.open(nil), "note-op-3", "new")
			wantRefusal(t, err, map[string]string{"stale": ViewStale, "edited": ViewUnknown}[name])
			wantExit(t, err, 2)
		}
		w.unchanged(before)
	}
}

// staleView is the view file as it was at rev 1.
func staleView(t *testing.T, w *world) string {
	t.Helper()
	s, err := Replay(w.file().Log[:2])
	if err != nil {
		t.Fatal(err)
	}
	return viewOf(s)
}

// Whatever a rule refuses leaves every byte and time as it was.
// proves: QUEUE-WRITE-19 QUEUE-WRITE-39 QUEUE-TESTS-73 QUEUE-TESTS-74
func TestRefusedOperationsChangeNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.all()
	for _, c := range []struct {
		op   OpID
		by   Seat
		args Args
		code string
	}{
		{"refused-op", dev, &NoteArgs{Row: 9, Note: ptr("x")}, RowUnknown},
		{"refused-op", rev, &AssignArgs{Row: 1, Owner: rev}, NotPermitted},
		{"refused-op", "nobody", &NoteArgs{Row: 1, Note: ptr("x")}, ActorUnknown},
		{"refused-op", dev, &MoveArgs{Row: 1, To: Done}, IllegalTransition},
		{"../../x", dev, &NoteArgs{Row: 1, Note: ptr("x")}, OpMalformed},
		{"short", dev, &NoteArgs{Row: 1, Note: ptr("x")}, OpMalformed},
		{OpID(strings.Repeat("a", 73)), dev, &NoteArgs{Row: 1, Note: ptr("x")}, OpMalformed},
		{"note-op-1.outcome", dev, &NoteArgs{Row: 1, Note: ptr("x")}, OpMalformed},
	} {
		_, err := ask(w.open(nil), c.op, c.by, c.args)
		wantRefusal(t, err, c.code)
		w.unchanged(before)
	}
	_, err := w.open(nil).Write(context.Background(), "../../../x.outcome", VerbReviewOutcome, json.RawMessage(`{}`), dev, looked(Facts{}))
	wantRefusal(t, err, OpMalformed)
	w.unchanged(before)
}

// A clock that jumps back never makes time run backwards in the log.
// proves: QUEUE-OPEN-14
func TestTheClockJumpsBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := quick()
	at := func(text string) {
		now, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		m.now = func() time.Time { return now }
	}
	for i, clock := range []string{"2026-05-01T10:00:00Z", "2026-05-01T09:00:00Z", "2026-05-01T09:30:00Z", "2026-05-01T11:00:00Z"} {
		at(clock)
		if _, err := note(w.openAs(nil, m), OpID("note-op-"+itoa(i)), "text"); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, e := range w.file().Log[2:] {
		got = append(got, e.At[11:16])
	}
	if text := strings.Join(got, " "); text != "10:00 10:00 10:00 11:00" {
		t.Errorf("got %s", text)
	}
	w.isSound("")
}

// A killed writer's own leftovers are removed unread; those of others stay and
// are reported.
// proves: QUEUE-OPEN-66
func TestLeftovers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, name := range []string{DefaultQueue, DefaultView, DefaultWitness} {
		w.write(name+".note-op-1.tmp", "half")
		w.write(name+".other-op-1.tmp", "half")
	}
	dead := DefaultLock + ".2000000000.0123456789abcdef.tmp" // no such pid
	w.write(dead, "half")
	w.write(DefaultLock+"."+itoa(os.Getpid())+".0123456789abcdef.tmp", "this process waits")
	w.mustNote("note-op-1", "text")
	before := w.all()
	v, err := w.open(nil).Verify(context.Background())
	want := []string{DefaultQueue + ".other-op-1.tmp", DefaultView + ".other-op-1.tmp", DefaultWitness + ".other-op-1.tmp", dead}
	if err != nil || strings.Join(v.Leftovers, " ") != strings.Join(want, " ") {
		t.Errorf("got %v, %v", v.Leftovers, err)
	}
	w.unchanged(before)
}

// proves: QUEUE-DATA-85 QUEUE-DATA-86
func TestBeforeGenesisIsCommitted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.repo.Git("rm", "--quiet", "--cached", DefaultQueue)
	w.repo.Git("commit", "--quiet", "-m", "without the queue")
	before := w.all()
	_, err := note(w.open(nil), "note-op-1", "text")
	wantRefusal(t, err, GenesisNotCommitted, "genesis not committed")
	wantExit(t, err, 2)
	if _, err := w.open(nil).Sync(context.Background(), NoOp); err != nil {
		t.Errorf("sync: %v", err)
	}
	if _, err := w.open(nil).Render(context.Background(), NoOp); err != nil {
		t.Errorf("render: %v", err)
	}
	if _, err := w.open(nil).Read(context.Background()); err != nil {
		t.Errorf("a read: %v", err)
	}
	w.unchanged(before)
}

// Many at once, through both names of the checkout: every acknowledged
// operation is in the log once, and the table is current in the end.
// proves: QUEUE-LOCK-10 QUEUE-LOCK-53 QUEUE-TESTS-23 QUEUE-TESTS-39 QUEUE-CANON-09 QUEUE-WRITE-38
func TestWritersAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(w.root, link); err != nil {
		t.Fatal(err)
	}
	m := thisMachine()
	m.wait = func(done <-chan struct{}, _ time.Duration) { pause(done, 5*time.Millisecond) }
	var wg sync.WaitGroup
	var mu sync.Mutex
	acknowledged := map[OpID]int{}
	for i, dir := range []string{w.root, link, filepath.Join(link, "docs"), w.root} {
		c, err := open(context.Background(), dir, disk{}, m)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			for n := range 4 {
				op := OpID("many-op-" + itoa(i) + "-" + itoa(n))
				var a Acknowledgement
				err := error(&Refusal{Code: LockLive})
				for isLive(err) {
					switch (i + n) % 3 {
					case 0:
						a, err = c.Write(context.Background(), op, VerbAdd, addition(t), chief, looked(Facts{Blob: blobA}))
					case 1:
						a, err = note(c, op, string(op))
					default:
						_, err = c.Render(context.Background(), NoOp)
					}
				}
				if err != nil {
					t.Errorf("%s: %v", op, err)
				}
				if a.Op != "" {
					mu.Lock()
					acknowledged[op] = a.Rev
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	f := w.file()
	if len(acknowledged) < 8 || f.Revision != 1+len(acknowledged) {
		t.Errorf("%d acknowledged, rev %d", len(acknowledged), f.Revision)
	}
	for op, rev := range acknowledged {
		if w.times(op) != 1 || f.Log[rev].Op != op {
			t.Errorf("%s of rev %d is in the log %d times", op, rev, w.times(op))
		}
	}
	w.clean()
	w.isSound("")
}

func addition(t *testing.T) json.RawMessage {
	raw, err := Canonical(&AddArgs{Piece: "more", Brief: BriefRef{Path: "docs/brief.md"}})
	if err != nil {
		t.Error(err)
	}
	return raw
}

func isLive(err error) bool {
	r, ok := err.(*Refusal)
	return ok && r.Code == LockLive
}
