package queue

import (
	"strings"
	"syscall"
	"testing"
)

// proves: QUEUE-DATA-64 QUEUE-DATA-72 QUEUE-DATA-81 QUEUE-OPEN-11 QUEUE-OPEN-26 QUEUE-OPEN-75
func TestGenesisWithoutAView(t *testing.T) {
	t.Parallel()
	w := withoutQueue(t)
	files := hook(nil)
	a, err := begun(w.open(files), "genesis-op")
	if err != nil || a.Rev != 0 || a.Row != nil {
		t.Fatalf("got %+v, %v", a, err)
	}
	s, err := Replay(w.file().Log)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := w.read(DefaultView), "# Queue\n\n"+BeginMarker+"\n"+string(Body(s))+EndMarker+"\n"; got != want {
		t.Errorf("got %q", got)
	}
	want := "9-sync syncdir, 10-record rename, 10-record syncdir, 11-show rename, 11-show syncdir"
	if got := strings.Join(files.trace("rename", "syncdir"), ", "); !strings.HasSuffix(got, "8-publish rename, "+want) {
		t.Errorf("got %s", got)
	}
	w.isSound("genesis-op")
	again, err := begun(w.open(nil), "genesis-op")
	if err != nil || !again.Already {
		t.Errorf("a retry: %+v, %v", again, err)
	}
	_, err = begun(w.open(nil), "genesis-op-2")
	wantRefusal(t, err, QueueExists)
	w.clean()
}

// proves: QUEUE-OPEN-26 QUEUE-WRITE-86
func TestGenesisKeepsTheTableOfBefore(t *testing.T) {
	t.Parallel()
	w := withoutQueue(t)
	w.write(DefaultView, "# Ours\n"+BeginMarker+"\n| 1 | legacy |\n"+EndMarker+"\nfooter\n")
	if _, err := begun(w.open(nil), "genesis-op"); err != nil {
		t.Fatal(err)
	}
	text := w.read(DefaultView)
	if !strings.HasPrefix(text, "# Ours\n"+BeginMarker+"\n<!-- mosaic-queue rev 0 -->\n") || !strings.HasSuffix(text, EndMarker+"\nfooter\n") {
		t.Errorf("got %q", text)
	}
	if !strings.Contains(string(w.file().Log[0].Result), `"table":"| 1 | legacy |\n"`) {
		t.Errorf("got %s", w.file().Log[0].Result)
	}
	w.isSound("genesis-op")
}

// proves: QUEUE-DATA-66 QUEUE-DATA-67 QUEUE-DATA-68 QUEUE-DATA-70 QUEUE-DATA-80 QUEUE-OPEN-26 QUEUE-OPEN-75
func TestGenesisRefusals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(w *world)
		code    string
	}{
		"the file exists":     {func(w *world) { w.write(DefaultQueue, "anything") }, QueueExists},
		"a witness exists":    {func(w *world) { w.write(DefaultWitness, "anything") }, WitnessPresent},
		"HEAD has the file":   {func(w *world) { w.repo.Commit("dana", DefaultQueue, "{}\n"); w.remove(DefaultQueue) }, QueueExists},
		"another branch":      {func(w *world) { w.repo.Git("checkout", "--quiet", "-b", "other") }, WrongBranch},
		"a detached HEAD":     {func(w *world) { w.repo.Git("checkout", "--quiet", "--detach") }, WrongBranch},
		"a marker is missing": {func(w *world) { w.write(DefaultView, BeginMarker+"\n") }, ViewUnknown},
		"a marker twice":      {func(w *world) { w.write(DefaultView, BeginMarker+"\n"+BeginMarker+"\n"+EndMarker+"\n") }, ViewUnknown},
	} {
		w := withoutQueue(t)
		w.write("docs/plans/README.md", "plans\n")
		c.prepare(w)
		before := w.all()
		_, err := begun(w.open(nil), "genesis-op")
		if wantRefusal(t, err, c.code); t.Failed() {
			t.Fatal(name)
		}
		wantExit(t, err, 2)
		w.unchanged(before)
	}
	w := withoutQueue(t)
	files := hook(func(c call) error {
		if c.is(StepPublish, "rename") {
			w.write(DefaultQueue, "somebody else's")
		}
		return nil
	})
	_, err := begun(w.open(files), "genesis-op")
	wantRefusal(t, err, QueueExists)
	if w.read(DefaultQueue) != "somebody else's" || w.exists(DefaultWitness) {
		t.Error("genesis replaced a file")
	}
	w = withoutQueue(t)
	_, err = begun(w.open(failing(StepStage, "mkdir", syscall.EACCES)), "genesis-op")
	wantRefusal(t, err, WriteFailed, "EACCES")
	_, err = begun(w.open(failing(StepShow, "rename", syscall.EIO)), "genesis-op")
	wantRefusal(t, err, ViewNotUpdated, "uncertain genesis-op rev 0")
}
