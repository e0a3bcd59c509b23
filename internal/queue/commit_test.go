package queue

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mosaicstack.dev/mosaic/internal/git/gittest"
)

const mapPath = "docs/plans/queue-map.md"

// legacyTable is what stood between the markers before genesis.
const legacyTable = "| ID | Piece |\n|---|---|\n| 1 | Log in |\n"

// oneRowMap makes a briefed row of dev's of it, whose reviewer is rev.
const oneRowMap = "# Map\n\n## Row 1\n\nLog in.\n\n```json\n" +
	`{"rows": [{"id": 1, "legacy": "| 1 | Log in |", "piece": "Log in", "owner": "dev", "state": "briefed", "issues": [12], "reviewers": ["rev"], "brief": "docs/plans/queue-map.md#Row 1"}]}` +
	"\n```\n"

// project is a repository whose map is committed, before genesis.
type project struct{ *world }

// projects are the templates of newProject, one for each object format.
var projects = map[string]func() (string, error){}

func init() {
	for _, format := range gittest.Formats {
		projects[format] = sync.OnceValues(func() (string, error) { return makeProject(format) })
	}
}

func newProject(t testing.TB, format string) *project {
	t.Helper()
	template, err := projects[format]()
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root = filepath.Join(root, "web")
	if err := os.CopyFS(root, os.DirFS(template)); err != nil {
		t.Fatal(err)
	}
	return &project{&world{t: t, root: root, repo: gittest.Over(t, root)}}
}

func makeProject(format string) (string, error) {
	dir, err := makeCheckout("project-"+format, format)
	if err != nil {
		return "", err
	}
	for path, text := range map[string]string{
		DefaultView: "# Queue\n\n" + BeginMarker + "\n" + legacyTable + EndMarker + "\n\nBelow.\n",
		mapPath:     oneRowMap,
	} {
		err = errors.Join(err, os.MkdirAll(filepath.Join(dir, filepath.Dir(path)), 0o755), os.WriteFile(filepath.Join(dir, path), []byte(text), 0o644))
	}
	for _, args := range [][]string{
		{"config", "user.name", "chief"}, {"config", "user.email", "chief@example.org"}, {"add", "."}, {"commit", "-q", "-m", "map"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		err = errors.Join(err, cmd.Run())
	}
	return dir, err
}

func (p *project) genesisArgs() *GenesisArgs {
	return &GenesisArgs{CanonicalRoot: p.root, Branch: "main", Map: mapPath, Human: dana, Lead: chief, Seats: []Seat{chief, dev, rev}, Labels: []Seat{coord}}
}

// begin makes the queue and installs the guard.
func (p *project) begin() *Checkout {
	p.t.Helper()
	c := p.open(nil)
	if _, err := c.InstallHook(context.Background(), chief); err != nil {
		p.t.Fatal(err)
	}
	if _, err := c.Begin(context.Background(), "genesis-op", chief, p.genesisArgs()); err != nil {
		p.t.Fatal(err)
	}
	return c
}

// begun is a project whose genesis is committed.
func begunProject(t testing.TB, format string) (*project, *Checkout) {
	t.Helper()
	p := newProject(t, format)
	c := p.begin()
	if _, err := p.commit(c, true, nil); err != nil {
		t.Fatal(err)
	}
	return p, c
}

// inProcess is the installed program's verdict without its process.
func inProcess(_ context.Context, dir string, base bool) error {
	path := ""
	if base {
		path = filepath.Join(dir, BaseFile)
	}
	_, err := VerifySnapshot(dir, path)
	return err
}

func (p *project) commit(c *Checkout, genesis bool, at func(CommitStep)) (CommitDone, error) {
	return c.Commit(context.Background(), CommitRequest{By: chief, Message: "queue", Genesis: genesis, Verify: inProcess, at: at})
}

// when runs an act at one place of a commit.
func when(place CommitStep, act func()) func(CommitStep) {
	return func(at CommitStep) {
		if at == place {
			act()
		}
	}
}

// blob is what a commit has at a path, byte for byte.
func (p *project) blob(commit, path string) string {
	p.t.Helper()
	cmd := exec.Command("git", "cat-file", "blob", commit+":"+path)
	cmd.Dir = p.root
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatalf("%s of %s: %v", path, commit, err)
	}
	return string(out)
}

func (p *project) stage(path, text string) {
	p.t.Helper()
	p.write(path, text)
	p.repo.Git("add", "--", path)
}

// proves: QUEUE-COMMIT-23 QUEUE-COMMIT-31 QUEUE-COMMIT-34 QUEUE-COMMIT-35 QUEUE-COMMIT-36 QUEUE-COMMIT-37
// proves: QUEUE-COMMIT-38 QUEUE-COMMIT-41 QUEUE-COMMIT-42 QUEUE-COMMIT-43 QUEUE-COMMIT-44 QUEUE-COMMIT-45
// proves: QUEUE-COMMIT-47 QUEUE-COMMIT-48 QUEUE-COMMIT-51 QUEUE-COMMIT-52 QUEUE-COMMIT-55 QUEUE-COMMIT-56
// proves: QUEUE-TESTS-143 QUEUE-TESTS-148 QUEUE-TESTS-150 QUEUE-OPEN-101 QUEUE-OPEN-103 QUEUE-MIGRATE-20
func TestTheFirstCommitAndTheNext(t *testing.T) {
	t.Parallel()
	for _, format := range gittest.Formats {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, format)
			p.repo.Git("config", "core.autocrlf", "true")
			p.repo.Git("config", "core.splitIndex", "true")
			c := p.begin()
			// Whatever hook there is besides the guard: none of them runs.
			ran := filepath.Join(p.root, "hook-ran")
			for _, name := range []string{"commit-msg", "post-commit", "reference-transaction", "post-index-change"} {
				if err := os.WriteFile(filepath.Join(c.GitDir, "hooks", name), []byte("#!/bin/sh\necho "+name+" >>'"+ran+"'\n"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			p.stage("a \"b\"\n'c'.txt", "staged by somebody\n")
			os.Remove(ran) // staging may run one
			head := p.repo.Head()
			var dir, id string
			first, err := c.Commit(context.Background(), CommitRequest{
				By: chief, Message: "queue: begin", Genesis: true,
				Verify: func(ctx context.Context, at string, base bool) error {
					dir = at
					if base {
						t.Error("genesis has no base")
					}
					text, err := os.ReadFile(filepath.Join(dir, "base.id"))
					id = string(text)
					return errors.Join(err, inProcess(ctx, at, base))
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			if want := head + "\n" + p.repo.Git("rev-parse", head+"^{tree}") + "\n"; id != want {
				t.Errorf("base.id is %q, want %q", id, want)
			}
			if strings.HasPrefix(dir, p.root) {
				t.Errorf("the snapshot %s lies in the repository", dir)
			}
			if _, err := os.Stat(dir); !os.IsNotExist(err) {
				t.Errorf("the snapshot was left: %v", err)
			}
			p.checkCommit(first.Commit, head, 0)
			if _, err := note(c, "note-op-1", "text"); err != nil {
				t.Fatal(err)
			}
			next, err := p.commit(c, false, nil)
			if err != nil {
				t.Fatal(err)
			}
			p.checkCommit(next.Commit, first.Commit, 1)
			if _, err := os.Stat(ran); !os.IsNotExist(err) {
				t.Errorf("hooks ran: %s", p.read("hook-ran"))
			}
			// A commit of what HEAD has is none.
			same, err := p.commit(c, false, nil)
			if err != nil || same.Commit != "" || p.repo.Head() != next.Commit {
				t.Errorf("nothing to commit: %+v, %v", same, err)
			}
		})
	}
}

// checkCommit demands that a commit has the two files as they are on disk, on
// top of its parent, and that the index follows it and nothing else is lost.
func (p *project) checkCommit(commit, parent string, rev int) {
	p.t.Helper()
	if p.repo.Head() != commit || p.repo.Git("rev-parse", commit+"^") != parent {
		p.t.Fatalf("HEAD is %s on %s, want %s on %s", p.repo.Head(), p.repo.Git("rev-parse", "HEAD^"), commit, parent)
	}
	for _, path := range []string{DefaultQueue, DefaultView} {
		if p.blob(commit, path) != p.read(path) {
			p.t.Errorf("%s is committed with other bytes", path)
		}
		if entry := p.repo.Git("ls-tree", commit, path); !strings.HasPrefix(entry, "100644 blob ") {
			p.t.Errorf("%s: %s", path, entry)
		}
	}
	if f, err := Parse([]byte(p.blob(commit, DefaultQueue))); err != nil || f.Revision != rev {
		p.t.Errorf("committed rev %d: %v", rev, err)
	}
	if changed := p.repo.Git("diff-tree", "-r", "--name-only", parent, commit); changed != DefaultView+"\n"+DefaultQueue {
		p.t.Errorf("the commit changes %q", changed)
	}
	if staged := p.repo.Git("-c", "core.quotePath=true", "diff", "--cached", "--name-only"); staged != `"a \"b\"\n'c'.txt"` {
		p.t.Errorf("staged afterwards: %s", staged)
	}
	if author := p.repo.Git("log", "-1", "--format=%an <%ae> %s"); !strings.HasPrefix(author, "chief <chief@example.org> queue") {
		p.t.Errorf("the commit is by %s", author)
	}
	if reflog := p.repo.Git("reflog", "-1", "--format=%gs"); reflog != "queue-commit" {
		p.t.Errorf("the reflog says %q", reflog)
	}
}

// proves: QUEUE-COMMIT-24 QUEUE-COMMIT-25 QUEUE-COMMIT-28 QUEUE-COMMIT-29 QUEUE-COMMIT-30 QUEUE-TESTS-144
// proves: QUEUE-TESTS-145 QUEUE-TESTS-146 QUEUE-DATA-85 QUEUE-DATA-86 QUEUE-OPEN-50
func TestTheBootstrapOfTheFirstCommit(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newProject(t, "sha1")
	c := p.begin()
	_, err := p.commit(c, false, nil)
	wantRefusal(t, err, GenesisNotCommitted, "--genesis")
	_, err = note(c, "note-op-1", "text")
	wantRefusal(t, err, GenesisNotCommitted, "genesis not committed")
	wantExit(t, err, 2)
	if _, err := c.Sync(ctx, NoOp); err != nil {
		t.Errorf("sync before the commit: %v", err)
	}
	if _, err := c.Render(ctx, NoOp); err != nil {
		t.Errorf("render before the commit: %v", err)
	}
	for _, by := range []Seat{dev, coord, "stranger", ""} {
		if _, err := c.Commit(ctx, CommitRequest{By: by, Message: "queue", Genesis: true, Verify: inProcess}); err == nil {
			t.Errorf("%q may commit", by)
		}
	}
	_, err = c.Commit(ctx, CommitRequest{By: dana, Message: " \n", Genesis: true, Verify: inProcess})
	wantRefusal(t, err, ArgumentInvalid)
	if _, err := c.Commit(ctx, CommitRequest{By: dana, Message: "queue", Genesis: true, Verify: inProcess}); err != nil {
		t.Fatalf("the human: %v", err)
	}
	_, err = p.commit(c, true, nil)
	wantRefusal(t, err, GenesisCommitted)
}

// proves: QUEUE-COMMIT-25 QUEUE-COMMIT-26 QUEUE-COMMIT-27
func TestAFirstCommitThatIsNotThisGenesis(t *testing.T) {
	t.Parallel()
	p := newProject(t, "sha1")
	c := p.begin()
	head := p.repo.Head()
	prepared, err := c.prepareCommit(context.Background(), chief, "queue", nil)
	if err != nil {
		t.Fatal(err)
	}
	f := p.file()
	if err := prepared.checkFirst(context.Background(), f.Bytes()); err != nil {
		t.Fatalf("genesis itself: %v", err)
	}
	text := "more"
	r, err := NewRequest("note-op-1", dev, &NoteArgs{Row: 1, Note: &text}, Facts{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Replay(f.Log)
	if err != nil {
		t.Fatal(err)
	}
	after, entry, err := s.Apply(r, s.Last)
	if err != nil {
		t.Fatal(err)
	}
	err = prepared.checkFirst(context.Background(), f.With(after, entry).Bytes())
	wantRefusal(t, err, GenesisInvalid, "2 entries")
	elsewhere := *prepared
	elsewhere.branch.Name = "other"
	wantRefusal(t, elsewhere.checkFirst(context.Background(), f.Bytes()), GenesisInvalid, "branch other")
	// The map is no longer in HEAD as genesis read it.
	p.write(mapPath, oneRowMap+"\nchanged\n")
	p.repo.Git("add", mapPath)
	p.repo.Git("commit", "-q", "-m", "another map")
	_, err = p.commit(c, true, nil)
	wantRefusal(t, err, MapInvalid, "HEAD has no file", "kept in")
	if p.repo.Git("rev-parse", "HEAD^") != head {
		t.Error("something was committed")
	}
}

// off are the ways in which a guard is not active.
var off = map[string]func(t testing.TB, p *project, hook string){
	"missing": func(t testing.TB, _ *project, hook string) { must(t, os.Remove(hook)) },
	"another hook": func(t testing.TB, _ *project, hook string) {
		must(t, os.WriteFile(hook, []byte("#!/bin/sh\nexit 0\n"), 0o755))
	},
	"another text": func(t testing.TB, _ *project, hook string) {
		must(t, os.WriteFile(hook, append(Guard(DefaultQueue, DefaultView), '\n'), 0o755))
	},
	"not executable": func(t testing.TB, _ *project, hook string) { must(t, os.Chmod(hook, 0o644)) },
	"a symbolic link": func(t testing.TB, _ *project, hook string) {
		real := filepath.Join(filepath.Dir(hook), "guard")
		must(t, os.Rename(hook, real))
		must(t, os.Symlink(real, hook))
	},
	"core.hooksPath in the repository": func(_ testing.TB, p *project, _ string) {
		p.repo.Git("config", "core.hooksPath", "/nowhere")
	},
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// proves: QUEUE-COMMIT-11 QUEUE-COMMIT-13 QUEUE-COMMIT-14 QUEUE-COMMIT-15 QUEUE-COMMIT-20 QUEUE-COMMIT-22
// proves: QUEUE-COMMIT-46 QUEUE-TESTS-136 QUEUE-TESTS-137 QUEUE-TESTS-138 QUEUE-TESTS-139 QUEUE-TESTS-140
// proves: QUEUE-TESTS-142
func TestNothingIsCommittedWithoutAnActiveGuard(t *testing.T) {
	t.Parallel()
	for name, disable := range off {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, "sha1")
			c := p.begin()
			head := p.repo.Head()
			// Off at the end of the build: found by the second check.
			_, err := p.commit(c, true, when(CommitBuilt, func() { disable(t, p, c.hook()) }))
			wantRefusal(t, err, GuardInactive)
			wantExit(t, err, 2)
			// Off from the beginning: found by the first.
			_, err = p.commit(c, true, func(CommitStep) { t.Error("went on without a guard") })
			wantRefusal(t, err, GuardInactive)
			if p.repo.Head() != head {
				t.Error("something was committed")
			}
		})
	}
}

// proves: QUEUE-COMMIT-15 QUEUE-COMMIT-21 QUEUE-TESTS-141
func TestAHooksPathInTheCallersConfiguration(t *testing.T) {
	p := newProject(t, "sha1")
	c := p.begin()
	head := p.repo.Head()
	global := filepath.Join(t.TempDir(), "gitconfig")
	must(t, os.WriteFile(global, []byte("[core]\n\thooksPath = /nowhere\n"), 0o600))
	t.Run("global", func(t *testing.T) {
		t.Setenv("GIT_CONFIG_GLOBAL", global)
		_, err := p.commit(c, true, nil)
		wantRefusal(t, err, GuardInactive, "global")
		_, err = c.InstallHook(context.Background(), chief)
		wantRefusal(t, err, GuardInactive, "global")
	})
	t.Run("environment", func(t *testing.T) {
		t.Setenv("GIT_CONFIG_COUNT", "1")
		t.Setenv("GIT_CONFIG_KEY_0", "core.hooksPath")
		t.Setenv("GIT_CONFIG_VALUE_0", "/nowhere")
		_, err := p.commit(c, true, nil)
		wantRefusal(t, err, GuardInactive, "command")
	})
	t.Run("set meanwhile", func(t *testing.T) {
		_, err := p.commit(c, true, when(CommitBuilt, func() { t.Setenv("GIT_CONFIG_GLOBAL", global) }))
		wantRefusal(t, err, GuardInactive, "global")
	})
	t.Run("variables of a hook", func(t *testing.T) {
		if p.repo.Head() != head {
			t.Fatal("something was committed")
		}
		// What says where git works leads it nowhere else.
		for _, name := range []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"} {
			t.Setenv(name, "/nonexistent")
		}
		t.Setenv("GIT_LITERAL_PATHSPECS", "0")
		if _, err := p.commit(c, true, nil); err != nil {
			t.Error(err)
		}
	})
}

// proves: QUEUE-COMMIT-16 QUEUE-COMMIT-17 QUEUE-COMMIT-18 QUEUE-COMMIT-19
func TestTheCanary(t *testing.T) {
	t.Parallel()
	p, c := begunProject(t, "sha1")
	prepared, err := c.prepareCommit(context.Background(), chief, "queue", nil)
	must(t, err)
	canary := func() error { return c.canary(context.Background(), prepared.repo, prepared.branch.Commit) }
	must(t, canary())
	for name, hook := range map[string]string{
		"lets everything through":  "#!/bin/sh\nexit 0\n",
		"refuses everything":       "#!/bin/sh\necho '" + guardRefusal + ": all' >&2\nexit 1\n",
		"refuses in other words":   "#!/bin/sh\ngit diff --cached --quiet || exit 1\n",
		"says the words and exits": "#!/bin/sh\necho '" + guardRefusal + "' >&2\n",
	} {
		must(t, os.WriteFile(c.hook(), []byte(hook), 0o755))
		if err := canary(); err == nil {
			t.Errorf("%s: passed", name)
		} else {
			wantRefusal(t, err, GuardInactive)
		}
	}
	must(t, os.Remove(c.hook()))
	wantRefusal(t, canary(), GuardInactive)
	if left := p.repo.Git("status", "--porcelain"); left != "" {
		t.Errorf("the canary left %q", left)
	}
}

// proves: QUEUE-COMMIT-54 QUEUE-TESTS-130
func TestAnOrdinaryCommitAfterPublishing(t *testing.T) {
	t.Parallel()
	p, c := begunProject(t, "sha1")
	p.stage("source.go", "package source\n")
	if _, err := note(c, "note-op-1", "text"); err != nil {
		t.Fatal(err)
	}
	done, err := p.commit(c, false, when(CommitPublished, func() {
		out, err := p.repo.Try("commit", "-m", "source")
		if err == nil || !strings.Contains(out, guardRefusal) || !strings.Contains(out, ResetCommand(DefaultQueue, DefaultView)) {
			t.Errorf("the guard let a revert of the queue through, or said nothing: %v: %s", err, out)
		}
	}))
	must(t, err)
	if p.repo.Head() != done.Commit {
		t.Fatal("HEAD is not the queue's commit")
	}
	p.repo.Git("commit", "-q", "-m", "source")
	if f, err := Parse([]byte(p.blob("HEAD", DefaultQueue))); err != nil || f.Revision != 1 {
		t.Errorf("the queue went back: %v", err)
	}
}

// proves: QUEUE-COMMIT-58 QUEUE-TESTS-131
func TestACommitWhoseGuardRanBefore(t *testing.T) {
	t.Parallel()
	p, c := begunProject(t, "sha1")
	p.stage("source.go", "package source\n")
	if _, err := note(c, "note-op-1", "text"); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	editing, publish := filepath.Join(dir, "editing"), filepath.Join(dir, "published")
	editor := filepath.Join(dir, "editor")
	must(t, os.WriteFile(editor, []byte("#!/bin/sh\necho message >\"$1\"\n: >'"+editing+"'\nwhile ! [ -e '"+publish+"' ]; do sleep 0.02; done\n"), 0o755))
	ended := make(chan string, 1)
	done, err := p.commit(c, false, func(at CommitStep) {
		switch at {
		case CommitPublishing:
			go func() {
				other := gittest.Over(t, p.root)
				other.Env = append(p.repo.Env, "GIT_EDITOR="+editor)
				out, err := other.Try("commit")
				if err == nil {
					out = "committed: " + out
				}
				ended <- out
			}()
			waitForFile(t, editing)
		case CommitPublished:
			must(t, os.WriteFile(publish, nil, 0o600))
			if out := <-ended; !strings.Contains(out, "cannot lock ref") {
				t.Errorf("the other commit: %s", out)
			}
		}
	})
	must(t, err)
	if p.repo.Head() != done.Commit {
		t.Error("HEAD is not the queue's commit")
	}
}

// waitForFile waits until somebody has made a file.
func waitForFile(t testing.TB, path string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s was never made", path)
		}
	}
}

// proves: QUEUE-COMMIT-47 QUEUE-COMMIT-59 QUEUE-TESTS-133
func TestAHeadThatMoves(t *testing.T) {
	t.Parallel()
	p, c := begunProject(t, "sha1")
	if _, err := note(c, "note-op-1", "text"); err != nil {
		t.Fatal(err)
	}
	var other string
	_, err := p.commit(c, false, when(CommitPublishing, func() {
		p.stage("source.go", "package source\n")
		p.repo.Git("commit", "-q", "-m", "source")
		other = p.repo.Head()
	}))
	wantRefusal(t, err, BranchMoved, "nothing has changed")
	wantExit(t, err, 1)
	if p.repo.Head() != other {
		t.Error("the other commit was lost")
	}
	if _, err := p.commit(c, false, nil); err != nil {
		t.Errorf("again: %v", err)
	}
}

// proves: QUEUE-COMMIT-49 QUEUE-COMMIT-50 QUEUE-COMMIT-53 QUEUE-TESTS-132 QUEUE-TESTS-135
func TestAnIndexThatCannotBeReconciled(t *testing.T) {
	t.Parallel()
	fix := ResetCommand(DefaultQueue, DefaultView)
	if fix != "git reset -q -- docs/plans/queue.json docs/plans/QUEUE.md" {
		t.Fatalf("the command is %q", fix)
	}
	for name, meanwhile := range map[string]func(p *project){
		"the index is locked": func(p *project) { p.write(".git/index.lock", "") },
		"a queue path is staged": func(p *project) {
			p.stage(DefaultView, "mine\n")
		},
		"HEAD is another commit": func(p *project) { p.repo.Git("commit", "-q", "--no-verify", "--allow-empty", "-m", "by") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, c := begunProject(t, "sha1")
			p.stage("source.go", "package source\n")
			if _, err := note(c, "note-op-1", "text"); err != nil {
				t.Fatal(err)
			}
			var index []byte
			_, err := p.commit(c, false, when(CommitPublished, func() {
				meanwhile(p)
				index = []byte(p.read(".git/index"))
			}))
			wantRefusal(t, err, IndexNotReconciled, "committed ", fix)
			wantExit(t, err, 3)
			if !bytes.Equal(index, []byte(p.read(".git/index"))) {
				t.Error("the index was touched")
			}
			if name != "the index is locked" {
				return
			}
			p.remove(".git/index.lock")
			if out, err := p.repo.Try("commit", "-m", "source"); err == nil || !strings.Contains(out, fix) {
				t.Errorf("an ordinary commit before the command: %v: %s", err, out)
			}
			p.repo.Git(strings.Fields(fix)[1:]...)
			p.repo.Git("commit", "-q", "-m", "source")
		})
	}
}

// proves: QUEUE-COMMIT-32 QUEUE-COMMIT-51 QUEUE-COMMIT-55 QUEUE-TESTS-134
func TestWhatIsStagedIsNotCommitted(t *testing.T) {
	t.Parallel()
	p, c := begunProject(t, "sha1")
	if _, err := note(c, "note-op-1", "text"); err != nil {
		t.Fatal(err)
	}
	p.repo.Git("add", DefaultQueue)
	_, err := p.commit(c, false, nil)
	wantRefusal(t, err, PathsStaged, ResetCommand(DefaultQueue, DefaultView))
	p.repo.Git("reset", "-q", "--", DefaultQueue)
	p.repo.Git("rm", "-q", "--cached", DefaultView)
	_, err = p.commit(c, false, nil)
	wantRefusal(t, err, PathsStaged)
	p.repo.Git("reset", "-q", "--", DefaultView)
	done, err := p.commit(c, false, when(CommitBuilt, func() { p.stage("late.go", "package late\n") }))
	must(t, err)
	if out := p.repo.Git("ls-tree", "-r", "--name-only", done.Commit); strings.Contains(out, "late.go") {
		t.Errorf("the commit has %s", out)
	}
	if out := p.repo.Git("diff", "--cached", "--name-only"); out != "late.go" {
		t.Errorf("staged afterwards: %s", out)
	}
}

// proves: QUEUE-COMMIT-57 QUEUE-TESTS-149
func TestAWriteAfterTheSnapshot(t *testing.T) {
	t.Parallel()
	p, c := begunProject(t, "sha1")
	if _, err := note(c, "note-op-1", "first"); err != nil {
		t.Fatal(err)
	}
	write := func(op OpID) {
		// No step holds the lock: a writer gets through at once.
		if _, err := note(c, op, "later"); err != nil {
			t.Errorf("%s: %v", op, err)
		}
	}
	done, err := p.commit(c, false, func(at CommitStep) {
		if at != CommitChecked {
			write(OpID("note-at-" + string(at)))
		}
	})
	must(t, err)
	if f, err := Parse([]byte(p.blob(done.Commit, DefaultQueue))); err != nil || f.Revision != 1 || done.Rev != 1 {
		t.Errorf("committed rev %d: %v", f.Revision, err)
	}
	if p.file().Revision != 5 {
		t.Errorf("the working file is at rev %d", p.file().Revision)
	}
}

// proves: QUEUE-COMMIT-40 QUEUE-TESTS-151
func TestASnapshotThatDoesNotExtendTheBase(t *testing.T) {
	t.Parallel()
	p, c := begunProject(t, "sha1")
	genesis, view := p.file(), p.read(DefaultView)
	if _, err := note(c, "note-op-1", "text"); err != nil {
		t.Fatal(err)
	}
	done, err := p.commit(c, false, nil)
	must(t, err)
	// An older file with a witness of its own: the checkout itself sees nothing.
	p.write(DefaultQueue, string(genesis.Bytes()))
	p.write(DefaultView, view)
	p.write(DefaultWitness, string(witnessOf(genesis, genesis.Bytes(), time.Now()).bytes()))
	_, err = p.commit(c, false, nil)
	wantRefusal(t, err, SnapshotInvalid, "does not extend", "kept in")
	if p.repo.Head() != done.Commit {
		t.Error("it was committed")
	}
}

// proves: QUEUE-COMMIT-33
func TestACommitOnAnotherBranch(t *testing.T) {
	t.Parallel()
	p, c := begunProject(t, "sha1")
	p.repo.Git("switch", "-q", "-c", "other")
	_, err := p.commit(c, false, nil)
	wantRefusal(t, err, WrongBranch)
}

// reviewed is a project whose row 1 has an approved manifest of two files, one
// of them new and executable.
func reviewed(t *testing.T) (*project, *Checkout, string) {
	t.Helper()
	p, c := begunProject(t, "sha1")
	p.stage("old.sh", "#!/bin/sh\necho old\n")
	p.repo.Git("commit", "-q", "-m", "old")
	p.write("old.sh", "#!/bin/sh\necho new\r\n")
	p.write("new dir/ü.sh", "#!/bin/sh\ntrue\n")
	must(t, os.Chmod(p.path("new dir/ü.sh"), 0o755))
	manifest := ""
	for _, path := range []string{"new dir/ü.sh", "old.sh"} {
		sum := sha256.Sum256([]byte(p.read(path)))
		manifest += hex.EncodeToString(sum[:]) + "  " + path + "\n"
	}
	candidate := Candidate{Kind: ManifestCandidate, Ref: "m.txt", Digest: digest([]byte(manifest)), Manifest: &manifest}
	p.mustRecord(c, "start-op", dev, &MoveArgs{Row: 1, To: InProgress}, Facts{Blob: p.file().Rows[0].Brief.Blob})
	p.mustRecord(c, "review-op", dev, &MoveArgs{Row: 1, To: InReview, Candidate: "m.txt"}, Facts{Candidate: &candidate})
	return p, c, candidate.Digest
}

func (p *project) mustRecord(c *Checkout, op OpID, by Seat, a Args, f Facts) {
	p.t.Helper()
	raw, err := Canonical(a)
	if err == nil {
		_, err = c.Write(context.Background(), op, a.Verb(), raw, by, looked(f))
	}
	if err != nil {
		p.t.Fatalf("%s: %v", op, err)
	}
}

// proves: QUEUE-COMMIT-61 QUEUE-COMMIT-62 QUEUE-COMMIT-63 QUEUE-COMMIT-64 QUEUE-OPEN-100 QUEUE-TESTS-152
func TestReviewedSourceIsCommittedAsItWasApproved(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p, c, digest := reviewed(t)
	head := p.repo.Head()
	source := func(suite func(context.Context, string) error, at func(CommitStep)) (CommitDone, error) {
		return c.CommitSource(ctx, SourceRequest{By: chief, Row: 1, Message: "login", Suite: suite, at: at})
	}
	_, err := source(nil, nil)
	wantRefusal(t, err, ApprovalMissing, "rev")
	p.mustRecord(c, "approve-op", rev, &RecordArgs{Row: 1, Verdict: Approve, Comment: 7, Candidate: digest}, Facts{})
	_, err = c.CommitSource(ctx, SourceRequest{By: dev, Row: 1, Message: "login"})
	wantRefusal(t, err, NotPermitted)
	good := p.read("old.sh")
	p.write("old.sh", "changed after the review\n")
	_, err = source(nil, nil)
	wantRefusal(t, err, CandidateDiffers, "old.sh")
	p.write("old.sh", good)
	_, err = source(func(context.Context, string) error { return errors.New("exit 1") }, nil)
	wantRefusal(t, err, SuiteFailed)
	wantExit(t, err, 1)
	if p.repo.Head() != head {
		t.Fatal("something was committed")
	}
	p.write("untracked.txt", "not reviewed")
	p.stage("README.md", "staged, not reviewed\n")
	done, err := source(func(_ context.Context, dir string) error {
		if text, err := os.ReadFile(filepath.Join(dir, "old.sh")); err != nil || string(text) != good {
			t.Errorf("the suite sees %q, %v", text, err)
		}
		if text, err := os.ReadFile(filepath.Join(dir, "README.md")); err != nil || len(text) != 0 {
			t.Errorf("the suite sees the working tree: %q, %v", text, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "untracked.txt")); err == nil {
			t.Error("the suite sees the working tree")
		}
		return nil
	}, nil)
	must(t, err)
	if p.blob(done.Commit, "old.sh") != good || p.blob(done.Commit, "new dir/ü.sh") != p.read("new dir/ü.sh") {
		t.Error("the committed bytes are others")
	}
	if modes := p.repo.Git("ls-tree", "-r", "--format=%(objectmode)", done.Commit, "--", "new dir", "old.sh"); modes != "100755\n100644" {
		t.Errorf("modes %q", modes)
	}
	if changed := p.repo.Git("diff-tree", "-r", "-z", "--name-only", head, done.Commit); changed != "new dir/ü.sh\x00old.sh\x00" {
		t.Errorf("the commit changes %q", changed)
	}
	if out := p.repo.Git("diff", "--cached", "--name-only"); out != "README.md" {
		t.Errorf("staged afterwards: %s", out)
	}
	s, err := Replay(p.file().Log)
	must(t, err)
	if _, err := c.VerifyCommit(ctx, s, 1, done.Commit); err != nil {
		t.Errorf("verify-commit of the commit: %v", err)
	}
	// A prospective tree with one path as it was.
	p.repo.Git("checkout", "-q", head, "--", "old.sh")
	_, err = c.VerifyCommit(ctx, s, 1, p.repo.Git("write-tree"))
	wantRefusal(t, err, CandidateDiffers, "old.sh")
}
