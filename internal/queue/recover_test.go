package queue

import (
	"context"
	"strings"
	"testing"
)

func yes(Loss) bool { return true }

// proves: QUEUE-WITNESS-06 QUEUE-WITNESS-09 QUEUE-WRITE-12 QUEUE-WRITE-51 QUEUE-WRITE-73 QUEUE-WRITE-74 QUEUE-WRITE-75 QUEUE-WRITE-76 QUEUE-WRITE-77 QUEUE-WRITE-78 QUEUE-WRITE-79 QUEUE-WRITE-80 QUEUE-WRITE-81
// proves: QUEUE-TESTS-56 QUEUE-TESTS-57 QUEUE-OPEN-69 QUEUE-OPEN-71
func TestAnOlderPairIsPutBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.repo.Git("add", "docs")
	w.repo.Git("commit", "--quiet", "-m", "rev 1")
	w.mustNote("lost-op-1", "text")
	w.mustNote("lost-op-2", "text")
	w.repo.Git("stash", "--quiet")
	before := w.all()
	for _, err := range everyVerb(w.open(nil)) {
		wantRefusal(t, err, HistoryLost, "the witness saw rev 3", "mosaic queue accept-history")
		wantExit(t, err, 2)
	}
	w.unchanged(before)

	ctx := context.Background()
	c := w.open(nil)
	var told Loss
	_, err := c.AcceptHistory(ctx, "accept-op-2", dev, "reason", yes)
	wantRefusal(t, err, NotPermitted)
	_, err = c.AcceptHistory(ctx, "accept-op-2", dana, "", yes)
	wantRefusal(t, err, ReasonMissing)
	_, err = c.AcceptHistory(ctx, "accept-op-2", dana, "reason", func(l Loss) bool { told = l; return false })
	wantRefusal(t, err, NotConfirmed)
	w.unchanged(before)
	if text := strings.Join(told.Lines(), "\n"); told.Range != "2 to 3" || told.Revision != 1 || !strings.Contains(text, "2 to 3") || !strings.Contains(text, "ops in that range are no longer deduplicated") {
		t.Errorf("told %+v: %s", told, text)
	}
	view := w.all()[DefaultView]
	old := w.witness()
	confirmedBeforeWriting := false
	a, err := c.AcceptHistory(ctx, "accept-op-2", dana, "restored from the stash", func(Loss) bool {
		confirmedBeforeWriting = w.file().Revision == 1
		return true
	})
	if err != nil || a.Rev != 2 || a.Row != nil || !confirmedBeforeWriting {
		t.Fatalf("got %+v, %v", a, err)
	}
	e := w.file().Log[2]
	for _, phrase := range []string{`"revision":3,"logDigest":"` + old.LogDigest, `"deduplicated":false`, `"revision":2}`, `"lost":"2 to 3"`} {
		if !strings.Contains(string(e.Result), phrase) {
			t.Errorf("%s does not say %s", e.Result, phrase)
		}
	}
	if !strings.Contains(string(e.Args), "restored from the stash") || e.By != dana || w.witness().Revision != 2 {
		t.Errorf("got %+v, witness %+v", e, w.witness())
	}
	if w.all()[DefaultView] != view {
		t.Error("the table was written")
	}
	again, err := c.AcceptHistory(ctx, "accept-op-2", dana, "restored from the stash", yes)
	if err != nil || !again.Already || again.Rev != 2 {
		t.Errorf("a retry: %+v, %v", again, err)
	}
	_, err = note(c, "note-op-1", "text")
	wantRefusal(t, err, ViewStale, "accept-op-2 by dana")
	if _, err := c.Render(ctx, NoOp); err != nil {
		t.Fatal(err)
	}
	w.isSound("accept-op-2")
	w.mustNote("lost-op-1", "no longer known")
	w.clean()
}

// Another log of the same length, or a longer one, is no extension either.
// proves: QUEUE-WITNESS-07 QUEUE-WITNESS-10 QUEUE-WITNESS-03 QUEUE-WITNESS-04 QUEUE-OPEN-72
func TestAnotherPrefixIsLostHistory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := beginAt(t, w.root)
	other.add(rev)
	for range 2 {
		w.write(DefaultQueue, string(other.file.Bytes()))
		w.write(DefaultView, viewOf(other.state))
		_, err := note(w.open(nil), "note-op-1", "text")
		wantRefusal(t, err, HistoryLost)
		other.do(rev, &NoteArgs{Row: 1, Note: ptr("longer")}, Facts{})
	}
	w.repo.Git("rm", "--quiet", "--cached", DefaultQueue)
	w.repo.Git("commit", "--quiet", "-m", "without")
	_, err := w.open(nil).AcceptHistory(context.Background(), "accept-op-1", dana, "reason", yes)
	wantRefusal(t, err, GenesisNotCommitted) // QUEUE-OPEN-74

	w = newWorld(t)
	v := w.witness()
	v.FileSha = strings.Repeat("0", 64)
	w.write(DefaultWitness, string(v.bytes()))
	_, err = note(w.open(nil), "note-op-1", "text")
	wantRefusal(t, err, HistoryLost)
}

// proves: QUEUE-OPEN-70 QUEUE-OPEN-74
func TestAcceptHistoryWhenNothingIsLost(t *testing.T) {
	t.Parallel()
	for _, w := range []*world{newWorld(t), withTail(t)} {
		before := w.all()
		_, err := w.open(nil).AcceptHistory(context.Background(), "accept-op-1", dana, "reason", yes)
		wantRefusal(t, err, HistoryIntact, "history is not lost")
		wantExit(t, err, 2)
		w.unchanged(before)
	}
}

// An accepted loss is accepted once: its entry does not excuse the next one.
func TestAnAcceptedFileThatIsPutBackLater(t *testing.T) {
	t.Parallel()
	w := withLostHistory(t)
	c, ctx := w.open(nil), context.Background()
	if _, err := c.AcceptHistory(ctx, "accept-op-1", dana, "reason", yes); err != nil {
		t.Fatal(err)
	}
	accepted := w.read(DefaultQueue)
	if _, err := c.Render(ctx, NoOp); err != nil {
		t.Fatal(err)
	}
	w.mustNote("note-op-1", "text")
	w.write(DefaultQueue, accepted)
	_, err := c.AcceptHistory(ctx, "accept-op-1", dana, "reason", yes)
	wantRefusal(t, err, HistoryLost)
}

// proves: QUEUE-WITNESS-11 QUEUE-WITNESS-12 QUEUE-WITNESS-01 QUEUE-WITNESS-05 QUEUE-WRITE-13 QUEUE-TESTS-58 QUEUE-OPEN-72
func TestAMissingWitness(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(w *world){
		"deleted":    func(w *world) { w.remove(DefaultWitness) },
		"empty":      func(w *world) { w.write(DefaultWitness, "") },
		"no witness": func(w *world) { w.write(DefaultWitness, "{}\n") },
		"a member more": func(w *world) {
			w.write(DefaultWitness, strings.Replace(w.read(DefaultWitness), "{", `{"rows":[],`, 1))
		},
		"negative": func(w *world) {
			w.write(DefaultWitness, strings.Replace(w.read(DefaultWitness), `"revision": 1`, `"revision": -1`, 1))
		},
		"a digest's half": func(w *world) {
			w.write(DefaultWitness, strings.Replace(w.read(DefaultWitness), w.witness().LogDigest, "abc", 1))
		},
	} {
		w := newWorld(t)
		damage(w)
		before := w.all()
		for _, err := range everyVerb(w.open(nil)) {
			wantRefusal(t, err, WitnessMissing, "mosaic queue accept-history")
			wantExit(t, err, 2)
		}
		w.unchanged(before)
		if _, err := w.open(nil).AcceptHistory(context.Background(), "accept-op-1", dana, "reason", yes); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if e := w.file().Log[2]; !strings.Contains(string(e.Result), `"witness":null`) || !strings.Contains(string(e.Result), `"lost":"unknown"`) {
			t.Errorf("%s: %s", name, e.Result)
		}
	}
	w := emptyWorld(t, "sha1")
	s := beginAt(t, w.root)
	w.put(s.file, s.state)
	w.remove(DefaultWitness)
	_, err := note(w.open(nil), "note-op-1", "text")
	wantRefusal(t, err, WitnessMissing, "mosaic queue accept-history", "mosaic queue sync")
	got, err := w.open(nil).Sync(context.Background(), NoOp)
	if err != nil || len(got.Confirmed) != 1 || got.Confirmed[0].Op != "genesis-op" {
		t.Errorf("got %+v, %v", got, err)
	}
	w.isSound("genesis-op")
}

// sync on a queue in order says so and writes nothing.
// proves: QUEUE-WRITE-61 QUEUE-WRITE-62 QUEUE-OPEN-51
func TestSyncWithoutATail(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.all()
	s, err := w.open(nil).Sync(context.Background(), "sync-op-1")
	if err != nil || s.Rev != 1 || len(s.Confirmed) != 0 {
		t.Errorf("got %+v, %v", s, err)
	}
	w.unchanged(before)
	_, err = w.open(nil).Sync(context.Background(), "../x")
	wantRefusal(t, err, OpMalformed)
	for op, want := range map[OpID]string{"sync-op-1": `"op":"sync-op-1","verb":"sync"`, "": `"op":"-","verb":"sync"`} {
		seen := ""
		files := hook(func(c call) error {
			if c.Step == StepRead {
				seen = w.read(DefaultLock)
			}
			return nil
		})
		if _, err := w.open(files).Sync(context.Background(), op); err != nil || !strings.Contains(seen, want) {
			t.Errorf("%s: %v", seen, err)
		}
	}
	w.unchanged(before)
}

// An invalid file stops everything, and nothing repairs it.
// proves: QUEUE-WRITE-07 QUEUE-WRITE-08 QUEUE-WRITE-49 QUEUE-WRITE-68 QUEUE-DATA-13 QUEUE-TESTS-59 QUEUE-TESTS-60
func TestAnInvalidFile(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(text string) string{
		"empty":       func(string) string { return "" },
		"half":        func(text string) string { return text[:len(text)/2] },
		"a hand edit": func(text string) string { return strings.Replace(text, `"a piece of work"`, `"another piece"`, 1) },
		"formatting":  func(text string) string { return strings.Replace(text, "  ", "\t", 1) },
		"no newline":  func(text string) string { return strings.TrimSuffix(text, "\n") },
		"revision":    func(text string) string { return strings.Replace(text, `"revision": 1`, `"revision": 2`, 1) },
		"a key twice": func(text string) string {
			return strings.Replace(text, `"version": 1,`, `"version": 1, "version": 1,`, 1)
		},
		"merge markers": func(text string) string { return "<<<<<<< HEAD\n" + text },
	} {
		w := newWorld(t)
		text := w.read(DefaultQueue)
		if w.write(DefaultQueue, damage(text)); w.read(DefaultQueue) == text {
			t.Fatalf("%s: no damage", name)
		}
		w.everyVerbRefuses(QueueInvalid)
	}
	w := newWorld(t)
	w.remove(DefaultQueue)
	w.everyVerbRefuses(QueueMissing)
	w.remove(DefaultWitness)
	_, err := w.open(nil).Read(context.Background())
	wantRefusal(t, err, QueueMissing, "mosaic queue genesis")
}
