package queue

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mosaicstack.dev/mosaic/internal/git/gittest"
)

// everyVerb asks every verb of a checkout but accept-history, and returns what
// each said.
func everyVerb(c *Checkout) map[string]error {
	ctx := context.Background()
	all := map[string]error{}
	_, all["read"] = c.Read(ctx)
	_, all["write"] = note(c, "note-op-1", "text")
	_, all["sync"] = c.Sync(ctx, NoOp)
	_, all["render"] = c.Render(ctx, NoOp)
	_, all["render --check"] = c.CheckRender(ctx)
	_, all["verify"] = c.Verify(ctx)
	_, all["snapshot"] = c.Snapshot(ctx, filepath.Join(c.Root, "never"))
	return all
}

// everyVerbRefuses demands one code of every verb, accept-history included,
// and that nothing changes.
func (w *world) everyVerbRefuses(code string, phrases ...string) {
	w.t.Helper()
	before := w.all()
	c := w.openAs(nil, quick())
	said := everyVerb(c)
	_, said["accept-history"] = c.AcceptHistory(context.Background(), "accept-op-1", dana, "reason", yes)
	for verb, err := range said {
		if err == nil {
			w.t.Errorf("%s: not refused", verb)
			continue
		}
		wantRefusal(w.t, err, code, phrases...)
		wantExit(w.t, err, 2)
	}
	w.unchanged(before)
}

// proves: QUEUE-CANON-01 QUEUE-CANON-04 QUEUE-CANON-05 QUEUE-TESTS-19
func TestALinkedWorktreeIsRefused(t *testing.T) {
	t.Parallel()
	for _, format := range gittest.Formats {
		w := newWorldOf(t, format)
		tree := filepath.Join(t.TempDir(), "tree")
		w.repo.Git("worktree", "add", "--quiet", "-b", "other", tree)
		_, err := Open(context.Background(), filepath.Join(tree, "docs"))
		wantRefusal(t, err, NotCanonical, "linked work tree", w.path(".git"))
		wantExit(t, err, 2)
		if _, err := note(w.open(nil), "note-op-1", "text"); err != nil {
			t.Errorf("the main work tree: %v", err)
		}
	}
}

// proves: QUEUE-CANON-01 QUEUE-CANON-02 QUEUE-CANON-10 QUEUE-CANON-12 QUEUE-CANON-13 QUEUE-TESTS-20
func TestACloneElsewhereIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.repo.Git("add", "docs")
	w.repo.Git("commit", "--quiet", "-m", "the queue")
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	clone := &world{t: t, root: filepath.Join(root, "clone")}
	w.repo.Git("clone", "--quiet", w.root, clone.root)
	clone.repo = gittest.Over(t, clone.root)
	clone.everyVerbRefuses(NotCanonical, w.root, clone.root)
	// Not with a witness and a lock of its own either.
	clone.write(DefaultWitness, w.read(DefaultWitness))
	clone.everyVerbRefuses(NotCanonical, w.root)
}

// proves: QUEUE-CANON-01 QUEUE-CANON-06 QUEUE-CANON-07 QUEUE-CANON-08 QUEUE-TESTS-21 QUEUE-TESTS-22 QUEUE-OPEN-05
func TestAnotherHeadIsRefused(t *testing.T) {
	t.Parallel()
	for _, format := range gittest.Formats {
		w := newWorldOf(t, format)
		w.repo.Git("branch", "other")
		w.repo.Git("symbolic-ref", "HEAD", "refs/heads/other")
		w.everyVerbRefuses(WrongBranch, "on branch other", "branch main")
		w.repo.Git("symbolic-ref", "HEAD", "refs/heads/main/deeper")
		w.everyVerbRefuses(WrongBranch, "main/deeper")
		w.repo.Git("symbolic-ref", "HEAD", "refs/heads/main")
		w.repo.Git("update-ref", "--no-deref", "HEAD", w.repo.Git("rev-parse", "other"))
		w.everyVerbRefuses(WrongBranch, "detached", "branch main")
		w.repo.Git("symbolic-ref", "HEAD", "refs/heads/main")
		for verb, err := range everyVerb(w.open(nil)) {
			if err != nil {
				t.Errorf("%s on the right branch: %v", verb, err)
			}
		}
	}
}

// HEAD moves while an operation waits for the lock: it is looked at under it.
// proves: QUEUE-CANON-06 QUEUE-WRITE-05
func TestHeadIsLookedAtUnderTheLock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	files := hook(func(c call) error {
		if c.Step == StepRead {
			w.repo.Git("symbolic-ref", "HEAD", "refs/heads/other")
		}
		return nil
	})
	c := w.open(files)
	_, err := note(c, "note-op-1", "text")
	wantRefusal(t, err, WrongBranch)
	w.clean()
}

// From a subdirectory, through a symbolic link, with a git environment that
// points elsewhere: the same checkout, the same files.
// proves: QUEUE-CANON-02 QUEUE-CANON-03 QUEUE-CANON-09 QUEUE-TESTS-23 QUEUE-LOCK-01 QUEUE-DATA-09
func TestWaysToTheCheckout(t *testing.T) {
	w := newWorld(t)
	elsewhere := newWorld(t)
	for name, value := range map[string]string{
		"GIT_DIR": elsewhere.path(".git"), "GIT_WORK_TREE": elsewhere.root, "GIT_COMMON_DIR": elsewhere.path(".git"),
		"GIT_INDEX_FILE": elsewhere.path(".git/index"), "GIT_OBJECT_DIRECTORY": elsewhere.path(".git/objects"),
		"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "mosaic.queue.lock", "GIT_CONFIG_VALUE_0": ".git/other.lock",
		"GIT_PREFIX": "docs/", "GIT_CEILING_DIRECTORIES": w.root,
	} {
		t.Setenv(name, value)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(w.root, link); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{w.root, w.path("docs/plans"), link, filepath.Join(link, "docs")} {
		c, err := Open(context.Background(), dir)
		if err != nil {
			t.Fatalf("%s: %v", dir, err)
		}
		got := []string{c.Root, c.GitDir, c.Branch, c.Queue, c.View, c.Lock, c.Gate, c.Witness}
		want := []string{w.root, w.path(".git"), "main", w.path("docs/plans/queue.json"), w.path("docs/plans/QUEUE.md"),
			w.path(".git/mosaic-queue.lock"), w.path(".git/mosaic-queue.unlock"), w.path(".git/mosaic-queue.head")}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("from %s: got %q", dir, got)
		}
		if _, err := c.Verify(context.Background()); err != nil {
			t.Errorf("from %s: %v", dir, err)
		}
	}
}

// Git answers with lines, and a path may hold one's end.
func TestAPathWithANewline(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	moved := filepath.Join(root, "a\nb \"c\" *")
	if err := os.Rename(w.root, moved); err != nil {
		t.Fatal(err)
	}
	c, err := Open(context.Background(), filepath.Join(moved, "docs"))
	if err != nil || c.Root != moved || c.GitDir != filepath.Join(moved, ".git") {
		t.Fatalf("got %+v, %v", c, err)
	}
	_, err = c.Read(context.Background())
	wantRefusal(t, err, NotCanonical)
}

// Outside of a repository, in a bare one, and in .git itself.
// proves: QUEUE-CANON-01
func TestNoWorkTree(t *testing.T) {
	t.Parallel()
	bare := gittest.NewBare(t, "sha1")
	w := newWorld(t)
	for _, dir := range []string{t.TempDir(), bare.Dir, w.path(".git"), "/nowhere"} {
		if _, err := Open(context.Background(), dir); err == nil {
			t.Errorf("%s was opened", dir)
		}
	}
}

// A submodule is a checkout of its own: the queue of the repository around it
// is not its.
func TestASubmodule(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sub := gittest.New(t, "sha1")
	sub.Commit("dana", "a.txt", "text\n")
	w.repo.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", sub.Dir, "sub")
	c, err := Open(context.Background(), w.path("sub"))
	if err != nil || c.Root != w.path("sub") || c.Lock != w.path(".git/modules/sub/mosaic-queue.lock") {
		t.Fatalf("got %+v, %v", c, err)
	}
	_, err = c.Read(context.Background())
	wantRefusal(t, err, QueueMissing)
	if _, err := note(w.open(nil), "note-op-1", "text"); err != nil {
		t.Error(err)
	}
}

// Git's own rule about a repository of another user holds, and so does the
// person's exception.
func TestARepositoryOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root gives files away")
	}
	w := newWorld(t)
	for _, path := range []string{w.root, w.path(".git")} {
		if err := os.Chown(path, 4242, 4242); err != nil {
			t.Fatal(err)
		}
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	_, err := Open(context.Background(), w.root)
	wantRefusal(t, err, NotCanonical)
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[safe]\n\tdirectory = "+w.root+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := Open(context.Background(), w.root)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := note(c, "note-op-1", "text"); err != nil {
		t.Error(err)
	}
}

// The five paths come from the repository's own configuration and from no
// other place.
// proves: QUEUE-OPEN-02 QUEUE-DATA-09
func TestConfiguredPaths(t *testing.T) {
	w := newWorld(t)
	home := t.TempDir()
	t.Setenv("HOME", home)
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[mosaic \"queue\"]\n\tlock = .git/of-the-person.lock\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{
		"file": "work/q.json", "view": "work/Q.md", "lock": ".git/q.lock", "gate": ".git/q.gate", "WITNESS": ".git/q.head",
	} {
		w.repo.Git("config", "mosaic.queue."+key, value)
	}
	c, err := Open(context.Background(), w.root)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join([]string{c.Queue, c.View, c.Lock, c.Gate, c.Witness}, " ")
	want := strings.Join([]string{w.path("work/q.json"), w.path("work/Q.md"), w.path(".git/q.lock"), w.path(".git/q.gate"), w.path(".git/q.head")}, " ")
	if got != want {
		t.Errorf("got %s", got)
	}
	for _, name := range []string{"file", "view"} {
		w.repo.Git("config", "mosaic.queue."+name, map[string]string{"file": DefaultQueue, "view": DefaultView}[name])
	}
	w.repo.Git("config", "mosaic.queue.witness", DefaultWitness)
	files := hook(nil)
	w.mustNote("note-op-1", "text")
	if _, err := note(w.open(files), "note-op-2", "text"); err != nil {
		t.Fatal(err)
	}
	linked := false
	for _, c := range files.calls {
		linked = linked || c.is(StepLock, "link") && c.Path == w.path(".git/q.lock")
	}
	if !linked {
		t.Error("the configured lock was not taken")
	}
}

// proves: QUEUE-OPEN-02
func TestRefusedPaths(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ key, value string }{
		{"file", "/etc/queue.json"}, {"file", "../queue.json"}, {"file", ".git/queue.json"}, {"file", ".GIT/queue.json"}, {"file", ""}, {"file", "docs/"},
		{"view", "docs/../../x"}, {"lock", "mosaic.lock"}, {"lock", ".git"}, {"lock", ".git/../x"}, {"witness", "/tmp/head"},
		{"gate", ".git/mosaic-queue.lock"}, {"view", "docs/plans/queue.json"},
	} {
		w := newWorld(t)
		w.repo.Git("config", "mosaic.queue."+c.key, c.value)
		_, err := Open(context.Background(), w.root)
		wantRefusal(t, err, SettingsInvalid)
	}
}

// A directory on the way that leads elsewhere would be another file system,
// and another name for the same file.
func TestADirectoryThroughALinkIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := os.Rename(w.path("docs"), w.path("real")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", w.path("docs")); err != nil {
		t.Fatal(err)
	}
	_, err := Open(context.Background(), w.root)
	wantRefusal(t, err, NotCanonical, "symbolic link")
	w = newWorld(t)
	if err := os.Rename(w.path(DefaultQueue), w.path("docs/q.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../q.json", w.path(DefaultQueue)); err != nil {
		t.Fatal(err)
	}
	_, err = note(w.open(nil), "note-op-1", "text")
	wantRefusal(t, err, ReadFailed)
}

// proves: QUEUE-WRITE-01 QUEUE-WRITE-02 QUEUE-WRITE-03 QUEUE-OPEN-73
func TestFileSystems(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	on := func(queue, gitDir int64) *hooked {
		return &hooked{Files: typed{disk{}, map[string]int64{w.path("docs/plans"): queue, w.path(".git"): gitDir}}}
	}
	const ext4, xfs, btrfs, tmpfs, overlay, nfs, strange = 0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0x6969, 0xabcd1234
	n := 0
	try := func(files Files) error {
		n++
		_, err := note(w.openAs(files, quick()), OpID("note-op-"+itoa(n)), "text")
		return err
	}
	for _, kind := range []int64{ext4, xfs, btrfs, tmpfs} {
		if err := try(on(kind, ext4)); err != nil {
			t.Errorf("%#x: %v", kind, err)
		}
	}
	before := w.all()
	for _, c := range []struct {
		queue, git int64
		name       string
	}{{overlay, ext4, "overlayfs"}, {ext4, nfs, "nfs"}, {strange, ext4, "0xabcd1234"}, {ext4, overlay, "overlayfs"}} {
		err := try(on(c.queue, c.git))
		wantRefusal(t, err, FilesystemRefused, "is on "+c.name, "mosaic.queue.allowFilesystem "+c.name)
		wantExit(t, err, 2)
		_, err = w.open(on(c.queue, c.git)).Unlock(context.Background())
		wantRefusal(t, err, FilesystemRefused)
	}
	w.unchanged(before)
	w.repo.Git("config", "--add", "mosaic.queue.allowFilesystem", "overlayfs")
	w.repo.Git("config", "--add", "mosaic.queue.allowFilesystem", "0xABCD1234")
	for _, kind := range []int64{overlay, strange} {
		if err := try(on(kind, kind)); err != nil {
			t.Errorf("allowed %#x: %v", kind, err)
		}
	}
	wantRefusal(t, try(on(nfs, ext4)), FilesystemRefused)
}

// typed is a file system whose types the test chose.
type typed struct {
	Files
	types map[string]int64
}

func (f typed) Filesystem(_ Step, dir string) (int64, error) { return f.types[dir], nil }
