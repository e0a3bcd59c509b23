package queue

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What the table is, decided by its body alone, and what each verb makes of it.
// proves: QUEUE-WRITE-52 QUEUE-WRITE-53 QUEUE-WRITE-54 QUEUE-WRITE-57 QUEUE-WRITE-58 QUEUE-WRITE-59 QUEUE-WRITE-60 QUEUE-WRITE-63 QUEUE-WRITE-64 QUEUE-WRITE-65 QUEUE-WRITE-66
// proves: QUEUE-WRITE-84 QUEUE-WRITE-88 QUEUE-WRITE-89 QUEUE-WRITE-90 QUEUE-OPEN-23 QUEUE-OPEN-56 QUEUE-CLI-20 QUEUE-CLI-21
// proves: QUEUE-TESTS-61 QUEUE-TESTS-62 QUEUE-TESTS-63
func TestTheTable(t *testing.T) {
	t.Parallel()
	const current, stale, unknown = "", ViewStale, ViewUnknown
	edit := func(old, new string) func(*world, string) string {
		return func(_ *world, text string) string { return strings.Replace(text, old, new, 1) }
	}
	for name, c := range map[string]struct {
		change func(w *world, text string) string
		want   string
	}{
		"as written":                  {edit("", ""), current},
		"the header edited":           {edit("own words", "new words"), current},
		"an older render":             {func(w *world, _ string) string { return staleView(t, w) }, stale},
		"an older render, edited":     {func(w *world, _ string) string { return strings.Replace(staleView(t, w), "a piece", "a price", 1) }, unknown},
		"a current stamp, edited":     {edit("a piece", "a price"), unknown},
		"an older stamp":              {edit("rev 2 -->", "rev 1 -->"), unknown},
		"a later stamp":               {edit("rev 2 -->", "rev 3 -->"), unknown},
		"a space more":                {edit("\n"+EndMarker, " \n"+EndMarker), unknown},
		"the line ends of another OS": {func(_ *world, text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }, unknown},
		"no begin":                    {edit(BeginMarker+"\n", ""), unknown},
		"no end":                      {edit(EndMarker, ""), unknown},
		"two begins":                  {edit(BeginMarker, BeginMarker+"\n"+BeginMarker), unknown},
		"two ends":                    {edit(EndMarker, EndMarker+"\n"+EndMarker), unknown},
		"an end in front":             {edit("# Queue", EndMarker), unknown},
		"out of order": {func(_ *world, text string) string {
			return strings.NewReplacer(BeginMarker, EndMarker, EndMarker, BeginMarker).Replace(text)
		}, unknown},
		"a marker indented": {edit(BeginMarker, " "+BeginMarker), unknown},
		"empty":             {func(*world, string) string { return "" }, unknown},
		"merge markers":     {edit("| ID", "<<<<<<< HEAD\n| ID"), unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.mustNote("note-op-1", "text")
			fresh := w.read(DefaultView)
			w.write(DefaultView, c.change(w, fresh))
			if name != "as written" && w.read(DefaultView) == fresh {
				t.Fatal("nothing was changed")
			}
			checkTableVerbs(t, w, c.want)
			if c.want == stale && w.read(DefaultView) != fresh {
				t.Error("render did not bring the table back")
			}
		})
	}
}

func checkTableVerbs(t *testing.T, w *world, want string) {
	ctx, c := context.Background(), w.open(nil)
	before := w.all()
	_, verify := c.Verify(ctx)
	_, check := c.CheckRender(ctx)
	for _, err := range []error{verify, check} {
		if want == "" && err != nil {
			t.Errorf("verify and render --check: %v", err)
		}
		if want != "" {
			wantRefusal(t, err, want)
			wantExit(t, err, 2)
		}
	}
	if _, err := c.Sync(ctx, NoOp); err != nil {
		t.Errorf("sync: %v", err)
	}
	w.unchanged(before)
	switch want {
	case "":
		if r, err := c.Render(ctx, NoOp); err != nil || r.Written {
			t.Errorf("render: %+v, %v", r, err)
		}
		w.unchanged(before)
		w.mustNote("note-op-2", "text")
	case ViewUnknown:
		_, err := c.Render(ctx, NoOp)
		wantRefusal(t, err, ViewUnknown, "by hand")
		_, err = note(c, "note-op-2", "text")
		wantRefusal(t, err, ViewUnknown)
		w.unchanged(before)
	case ViewStale:
		_, err := note(c, "note-op-2", "text")
		wantRefusal(t, err, ViewStale, "note-op-1")
		w.unchanged(before)
		r, err := c.Render(ctx, NoOp)
		if err != nil || !r.Written || r.Rev != 2 || w.file().Revision != 2 {
			t.Errorf("render: %+v, %v", r, err)
		}
		if _, err := c.CheckRender(ctx); err != nil {
			t.Errorf("after render: %v", err)
		}
	}
}

// Every operation that the table does not show is named.
// proves: QUEUE-WRITE-45 QUEUE-WRITE-54
func TestAllUnshownOperationsAreNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := w.read(DefaultView)
	w.mustNote("note-op-1", "text")
	w.mustNote("note-op-2", "text")
	w.write(DefaultView, old)
	_, err := note(w.open(nil), "note-op-3", "text")
	wantRefusal(t, err, ViewStale, "rev 2 (op note-op-1 by dev at ", "but the table shows rev 1", "Tell dev, then run `mosaic queue render`.", "note-op-2 by dev at ")
}

// A render that a person's edit overtakes writes nothing.
// proves: QUEUE-WRITE-36
func TestRenderFindsAChangedView(t *testing.T) {
	t.Parallel()
	w := withStaleView(t)
	edited := strings.Replace(w.read(DefaultView), "own words", "new words", 1)
	files := hook(func(c call) error {
		if c.Step == StepShow {
			w.write(DefaultView, edited)
		}
		return nil
	})
	_, err := w.open(files).Render(context.Background(), NoOp)
	wantRefusal(t, err, WriteFailed, "changed meanwhile")
	if w.read(DefaultView) != edited {
		t.Error("the edit was overwritten")
	}
	tail := withTail(t)
	_, err = tail.open(nil).Render(context.Background(), NoOp)
	wantRefusal(t, err, TailUnconfirmed)
}

// proves: QUEUE-WRITE-67 QUEUE-TESTS-65 QUEUE-OPEN-53
func TestCheckingWritesNothing(t *testing.T) {
	t.Parallel()
	for _, w := range []*world{newWorld(t), withTail(t), withStaleView(t), withLostHistory(t)} {
		before := w.all()
		w.open(nil).Verify(context.Background())
		w.open(nil).CheckRender(context.Background())
		w.unchanged(before)
	}
	v, err := newWorld(t).open(nil).Verify(context.Background())
	if err != nil || v.Rev != 1 || v.Rows != 1 {
		t.Errorf("got %+v, %v", v, err)
	}
}

// proves: QUEUE-CLI-24 QUEUE-CLI-25 QUEUE-CLI-26 QUEUE-CLI-27 QUEUE-CLI-28 QUEUE-CLI-29 QUEUE-CLI-30 QUEUE-CLI-33 QUEUE-CANON-11
func TestSnapshots(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := context.Background()
	take := func(dir string) {
		t.Helper()
		rev, err := w.open(nil).Snapshot(ctx, dir)
		if err != nil || rev != w.file().Revision {
			t.Fatalf("got %d, %v", rev, err)
		}
	}
	one, two := filepath.Join(t.TempDir(), "one"), t.TempDir()
	take(one)
	w.mustNote("note-op-1", "text")
	take(two)
	w.clean()
	for name, copied := range map[string]string{DefaultQueue: SnapshotQueue, DefaultView: SnapshotView} {
		if text, err := os.ReadFile(filepath.Join(two, copied)); err != nil || string(text) != w.read(name) {
			t.Errorf("%s: %v", copied, err)
		}
	}
	_, err := w.open(nil).Snapshot(ctx, two)
	wantRefusal(t, err, WriteFailed, "EEXIST")

	oneQueue, twoQueue := filepath.Join(one, SnapshotQueue), filepath.Join(two, SnapshotQueue)
	check := func(dir, base string) error { _, err := VerifySnapshot(dir, base); return err }
	if v, err := VerifySnapshot(two, oneQueue); err != nil || v.Rev != 2 || v.Rows != 1 {
		t.Errorf("got %+v, %v", v, err)
	}
	if err := check(two, twoQueue); err != nil {
		t.Errorf("its own base: %v", err)
	}
	wantRefusal(t, check(one, twoQueue), SnapshotInvalid, "does not extend")
	wantRefusal(t, check(one, ""), SnapshotInvalid, "no base")
	wantRefusal(t, check(one, filepath.Join(one, SnapshotView)), SnapshotInvalid, "base")
	wantRefusal(t, check(one, filepath.Join(one, "nothing")), SnapshotInvalid, "base", "ENOENT")
	wantRefusal(t, check(t.TempDir(), ""), SnapshotInvalid, "ENOENT")

	other := beginAt(t, w.root)
	write := func(dir string, queue []byte, view string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, SnapshotQueue), queue, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, SnapshotView), []byte(view), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(one, other.file.Bytes(), viewOf(other.state))
	if err := check(one, ""); err != nil {
		t.Errorf("genesis alone: %v", err)
	}
	other.add(rev)
	other.add(rev)
	write(one, other.file.Bytes(), viewOf(other.state))
	wantRefusal(t, check(one, twoQueue), SnapshotInvalid, "does not extend")
	write(one, other.file.Bytes(), w.read(DefaultView))
	wantRefusal(t, check(one, oneQueue), SnapshotInvalid, "table")
	write(one, other.file.Bytes(), "no markers")
	wantRefusal(t, check(one, oneQueue), SnapshotInvalid, "table")
	write(one, other.file.Bytes()[1:], viewOf(other.state))
	wantRefusal(t, check(one, twoQueue), QueueInvalid)
}

// proves: QUEUE-CLI-31 QUEUE-CLI-32
func TestNoSnapshotOfAnUnfinishedQueue(t *testing.T) {
	t.Parallel()
	edited := newWorld(t)
	edited.write(DefaultView, strings.Replace(edited.read(DefaultView), "a piece", "a price", 1))
	for code, w := range map[string]*world{
		TailUnconfirmed: withTail(t), ViewStale: withStaleView(t), HistoryLost: withLostHistory(t), ViewUnknown: edited,
	} {
		dir := t.TempDir()
		_, err := w.open(nil).Snapshot(context.Background(), dir)
		wantRefusal(t, err, code)
		if names, err := os.ReadDir(dir); err != nil || len(names) > 0 {
			t.Errorf("%s: %v, %v", code, names, err)
		}
	}
}
