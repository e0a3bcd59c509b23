package gitgate_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mosaicstack.dev/mosaic/internal/git/gittest"
	"mosaicstack.dev/mosaic/internal/gitgate"
	"mosaicstack.dev/mosaic/internal/wire"
)

// story is a repository with one commit on main and a finished piece of work.
type story struct {
	*gittest.Repository
	t    *testing.T
	old  string // main
	work string // one commit on top of it, which adds feature.txt and changes a.txt
}

func newStory(t *testing.T, format string) *story {
	t.Helper()
	s := &story{Repository: gittest.New(t, format), t: t}
	s.Commit("dana", "b.txt", "other\n")
	s.old = s.Commit("dana", "a.txt", "one\n")
	tree := filepath.Join(t.TempDir(), "dev")
	s.Git("worktree", "add", "--quiet", "-b", "work/feature", tree)
	s.At(tree).Write("a.txt", "two\n")
	s.At(tree).Git("add", "a.txt")
	s.work = s.At(tree).Commit("dev", "feature.txt", "new\n")
	return s
}

func (s *story) check() (gitgate.Plan, error) {
	return gitgate.Check(context.Background(), s.Dir, "main", s.work)
}

func (s *story) plan() gitgate.Plan {
	s.t.Helper()
	p, err := s.check()
	if err != nil {
		s.t.Fatalf("check: %v", err)
	}
	return p
}

func (s *story) main() string { return s.Git("rev-parse", "refs/heads/main") }

// state is all that a refusal must leave alone: refs, index and files.
func (s *story) state() string {
	s.t.Helper()
	var files strings.Builder
	err := filepath.WalkDir(s.Dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == ".git" {
			return filepath.SkipDir
		}
		if d.Type().IsRegular() && d.Name() != ".git" {
			text, err := os.ReadFile(path)
			files.WriteString(path + "\x00" + string(text) + "\x00")
			return err
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return s.Git("for-each-ref") + "\n" + s.Git("ls-files", "--stage") + "\n" + s.Git("symbolic-ref", "HEAD") + "\n" + files.String()
}

// unchanged runs a landing that must refuse with a code and change nothing.
func (s *story) unchanged(code wire.Code, land func() error) {
	s.t.Helper()
	before := s.state()
	if err := land(); !errors.Is(err, wire.Refuse(code)) {
		s.t.Errorf("got %v, want %s", err, code)
	}
	if after := s.state(); after != before {
		s.t.Errorf("the refusal changed something:\n%s\nwas\n%s", after, before)
	}
}

func (s *story) checkRefuses(code wire.Code) {
	s.t.Helper()
	s.unchanged(code, func() error { _, err := s.check(); return err })
}

func (s *story) applyRefuses(code wire.Code, p gitgate.Plan) {
	s.t.Helper()
	s.unchanged(code, func() error { return gitgate.Apply(context.Background(), p) })
}

func (s *story) landed() {
	s.t.Helper()
	if s.main() != s.work {
		s.t.Errorf("main is at %s, want %s", s.main(), s.work)
	}
	if status := s.Git("status", "--porcelain"); status != "" {
		s.t.Errorf("the work tree is not clean:\n%s", status)
	}
}

func TestLandMovesBranchAndWorkTree(t *testing.T) {
	t.Parallel()
	gittest.EachFormat(t, func(t *testing.T, format string) {
		s := newStory(t, format)
		s.Write("notes.txt", "an untracked file\n")
		plan := s.plan()
		if string(plan.Old) != s.old || string(plan.New) != s.work || plan.Branch != "main" {
			t.Errorf("plan %+v", plan)
		}
		if s.main() != s.old {
			t.Error("Check moved the branch")
		}
		if err := gitgate.Apply(context.Background(), plan); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(s.Dir, "notes.txt")); err != nil {
			t.Fatal("the untracked file is gone")
		}
		s.landed()
		if s.Read("a.txt") != "two\n" || s.Read("feature.txt") != "new\n" {
			t.Error("the work tree did not move along")
		}
		if log := s.Git("reflog", "-1", "--format=%gs", "refs/heads/main"); log != "mosaic: land "+s.work {
			t.Errorf("reflog says %q", log)
		}
		s.applyRefuses(wire.MainMoved, plan) // exactly once
		s.checkRefuses(wire.AlreadyLanded)
	})
}

func TestLandInABareRepository(t *testing.T) {
	t.Parallel()
	gittest.EachFormat(t, func(t *testing.T, format string) {
		s := newStory(t, format)
		bare := gittest.NewBare(t, format)
		s.Git("push", "--quiet", bare.Dir, "main", "work/feature")
		plan, err := gitgate.Check(context.Background(), bare.Dir, "", s.work)
		if err != nil {
			t.Fatal(err)
		}
		if err := gitgate.Apply(context.Background(), plan); err != nil {
			t.Fatal(err)
		}
		if got := bare.Git("rev-parse", "main"); got != s.work {
			t.Errorf("main is at %s", got)
		}
	})
}

func TestLandWhereTheBranchIsCheckedOutNowhere(t *testing.T) {
	t.Parallel()
	s := newStory(t, "sha1")
	s.Git("switch", "--quiet", "-c", "elsewhere")
	s.Write("a.txt", "in the middle of something\n")
	if err := gitgate.Apply(context.Background(), s.plan()); err != nil {
		t.Fatal(err)
	}
	if s.main() != s.work || s.Read("a.txt") != "in the middle of something\n" {
		t.Error("the branch should move and the other work tree stay")
	}
}

func TestLandMovesALinkedWorkTree(t *testing.T) {
	t.Parallel()
	s := newStory(t, "sha1")
	s.Git("switch", "--quiet", "-c", "elsewhere")
	tree := s.At(filepath.Join(t.TempDir(), "line\nbreak \"quoted\""))
	s.Git("worktree", "add", "--quiet", tree.Dir, "main")
	if err := gitgate.Apply(context.Background(), s.plan()); err != nil {
		t.Fatal(err)
	}
	if tree.Read("a.txt") != "two\n" || tree.Git("status", "--porcelain") != "" {
		t.Error("the linked work tree did not move along")
	}
}

func TestCheckRefusesABusyWorkTree(t *testing.T) {
	t.Parallel()
	for name, disturb := range map[string]func(s *story){
		"a changed file":    func(s *story) { s.Write("b.txt", "changed\n") },
		"a staged file":     func(s *story) { s.Write("b.txt", "changed\n"); s.Git("add", "b.txt") },
		"a removed file":    func(s *story) { os.Remove(filepath.Join(s.Dir, "b.txt")) },
		"a merge under way": func(s *story) { s.Git("merge", "--no-ff", "--no-commit", "--strategy=ours", "work/feature") },
		"a changed mode":    func(s *story) { os.Chmod(filepath.Join(s.Dir, "b.txt"), 0o755) },
		"a second work tree": func(s *story) {
			s.Git("worktree", "add", "--quiet", "--force", filepath.Join(s.t.TempDir(), "w"), "main")
		},
		"a bisection started": func(s *story) { s.Git("bisect", "start") },
		"a rebase of the branch": func(s *story) {
			s.Commit("dana", "a.txt", "conflict\n")
			s.Try("rebase", "work/feature")
			s.Git("checkout", "--quiet", "--force", "--detach")
			s.Git("update-ref", "refs/heads/main", s.old)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t, "sha1")
			disturb(s)
			before := s.Git("status", "--porcelain")
			if p, err := s.check(); !errors.Is(err, wire.Refuse(wire.MainBusy)) {
				t.Errorf("got %+v, %v", p, err)
			}
			if s.Git("status", "--porcelain") != before || s.main() != s.old {
				t.Error("the refusal changed something")
			}
		})
	}
}

// A file that was only touched is not changed, though its time differs from
// what the index remembers.
func TestLandIsNotDisturbedByATouchedFile(t *testing.T) {
	t.Parallel()
	s := newStory(t, "sha1")
	s.Write("a.txt", s.Read("a.txt"))
	if err := gitgate.Apply(context.Background(), s.plan()); err != nil {
		t.Fatal(err)
	}
	s.landed()
}

func TestApplyRefusesWhatHappenedAfterTheCheck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		disturb func(s *story)
		code    wire.Code
	}{
		{"a person commits by hand", func(s *story) { s.Commit("dana", "b.txt", "by hand\n") }, wire.MainMoved},
		{"a person resets the branch", func(s *story) { s.Git("reset", "--quiet", "--hard", "HEAD~1") }, wire.MainMoved},
		{"the branch is gone", func(s *story) {
			s.Git("switch", "--quiet", "-c", "elsewhere")
			s.Git("branch", "--quiet", "-D", "main")
		}, wire.MainMoved},
		{"a person edits a file", func(s *story) { s.Write("a.txt", "edited\n") }, wire.MainBusy},
		{"a file of the landing appears", func(s *story) { s.Write("feature.txt", "mine\n") }, wire.MainBusy},
		{"an ignored file of the landing appears", func(s *story) {
			s.Write(".git/info/exclude", "feature.txt\n")
			s.Write("feature.txt", "mine\n")
		}, wire.MainBusy},
		{"somebody holds the index", func(s *story) { s.Write(".git/index.lock", "") }, wire.MainBusy},
		{"somebody holds the branch", func(s *story) { s.Write(".git/refs/heads/main.lock", "") }, wire.MainBusy},
		{"the repository names a program", func(s *story) { s.Git("config", "filter.x.clean", "touch ran") }, wire.ProjectUnsafe},
		{"the repository is gone", func(s *story) {}, wire.ProjectNotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t, "sha1")
			plan := s.plan()
			c.disturb(s)
			if c.code == wire.ProjectNotFound {
				plan.Repo += "-gone"
			}
			s.applyRefuses(c.code, plan)
		})
	}
}

// Folders become files and files become folders; only what git tracks may give
// way to that.
func TestLandOverFoldersAndFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		ignored string // a file of the person's that is in the way
	}{
		{name: "only tracked files"},
		{name: "an ignored file in the folder that becomes a file", ignored: "folder/secret"},
		{name: "an ignored file where a folder goes", ignored: "new"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := &story{Repository: gittest.New(t, "sha1"), t: t}
			s.Commit("dana", "file", "a file\n")
			s.old = s.Commit("dana", "folder/x", "in a folder\n")
			tree := s.At(filepath.Join(t.TempDir(), "dev"))
			s.Git("worktree", "add", "--quiet", "-b", "work", tree.Dir)
			tree.Git("rm", "--quiet", "-r", "file", "folder")
			tree.Commit("dev", "file/y", "now a folder\n")
			tree.Commit("dev", "new/z", "new folder\n")
			s.work = tree.Commit("dev", "folder", "now a file\n")
			plan := s.plan()
			if c.ignored != "" {
				s.Write(".git/info/exclude", "secret\nnew\n")
				s.Write(c.ignored, "of the person\n")
				s.applyRefuses(wire.MainBusy, plan)
				return
			}
			if err := gitgate.Apply(context.Background(), plan); err != nil {
				t.Fatal(err)
			}
			s.landed()
		})
	}
}

func TestCheckRefusesWhatCannotLand(t *testing.T) {
	t.Parallel()
	s := newStory(t, "sha1")
	side := s.Branch("side", "HEAD~1", "side.txt", "side\n") // does not build on main
	tree := s.Git("rev-parse", s.work+"^{tree}")
	for _, c := range []struct {
		name, branch, commit string
		code                 wire.Code
	}{
		{"a commit that does not build on main", "main", side, wire.MainMoved},
		{"main itself", "main", s.old, wire.AlreadyLanded},
		{"an older commit", "main", s.Git("rev-parse", "HEAD~1"), wire.AlreadyLanded},
		{"an unknown commit", "main", strings.Repeat("1", 40), wire.CommitNotFound},
		{"the null id", "main", strings.Repeat("0", 40), wire.CommitNotFound},
		{"an id of the other hash", "main", strings.Repeat("1", 64), wire.CommitNotFound},
		{"an abbreviation", "main", s.work[:12], wire.CommitNotFound},
		{"upper case", "main", strings.ToUpper(s.work), wire.CommitNotFound},
		{"a branch's name", "main", "work/feature", wire.CommitNotFound},
		{"an option", "main", "--all", wire.CommitNotFound},
		{"a tree", "main", tree, wire.CommitNotFound},
		{"an unknown branch", "mian", s.work, wire.BranchNotFound},
		{"a full ref name", "refs/heads/main", s.work, wire.BranchNotFound},
		{"a remote ref", "../remotes/origin/main", s.work, wire.BranchNotFound},
		{"HEAD", "HEAD", s.work, wire.BranchNotFound},
		{"a pattern", "*", s.work, wire.BranchNotFound},
		{"an option as branch", "-f", s.work, wire.BranchNotFound},
		{"a folder of branches", "work", s.work, wire.BranchNotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan, err := gitgate.Check(context.Background(), s.Dir, c.branch, c.commit)
			if !errors.Is(err, wire.Refuse(c.code)) {
				t.Errorf("got %+v, %v; want %s", plan, err, c.code)
			}
		})
	}
	t.Run("a branch that stands for another", func(t *testing.T) {
		s.Git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
		if plan, err := gitgate.Check(context.Background(), s.Dir, "alias", s.work); !errors.Is(err, wire.Refuse(wire.BranchNotFound)) {
			t.Errorf("got %+v, %v", plan, err)
		}
	})
	t.Run("a detached HEAD and no branch named", func(t *testing.T) {
		s.Git("switch", "--quiet", "--detach")
		if plan, err := gitgate.Check(context.Background(), s.Dir, "", s.work); !errors.Is(err, wire.Refuse(wire.BranchNotFound)) {
			t.Errorf("got %+v, %v", plan, err)
		}
	})
}

func TestCheckRefusesAnIncompleteCommit(t *testing.T) {
	t.Parallel()
	s := newStory(t, "sha1")
	blob := s.Git("rev-parse", s.work+":feature.txt")
	if err := os.Remove(filepath.Join(s.Dir, ".git/objects", blob[:2], blob[2:])); err != nil {
		t.Fatal(err)
	}
	s.checkRefuses(wire.CommitNotFound)
}

// A note of a work tree in the repository can be forged to name a directory of
// another repository, which a landing would then write to.
func TestCheckRefusesAForgedWorkTree(t *testing.T) {
	t.Parallel()
	s := newStory(t, "sha1")
	other := gittest.New(t, "sha1")
	other.Commit("dana", "a.txt", "one\n")
	s.Write(".git/worktrees/dev/gitdir", filepath.Join(other.Dir, ".git")+"\n")
	s.checkRefuses(wire.ProjectUnsafe)
}

// Whatever the repository is set up to run must not run: an agent can write
// there, and the host would run it outside any sandbox.
func TestLandRunsNothingOfTheRepository(t *testing.T) {
	t.Parallel()
	s := newStory(t, "sha1")
	ran := filepath.Join(t.TempDir(), "ran")
	script := "#!/bin/sh\necho \"$0\" >>'" + ran + "'\nexit 1\n"
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, hook := range []string{"reference-transaction", "post-merge", "post-checkout", "post-index-change", "pre-merge-commit", "update", "pre-receive", "post-update", "fsmonitor-watchman"} {
		path := filepath.Join(s.Dir, ".git/hooks", hook)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for key, value := range map[string]string{
		"core.fsmonitor": program, "core.pager": program, "core.editor": program, "core.sshCommand": program,
		"diff.external": program, "gpg.program": program, "core.askPass": program, "core.hooksPath": filepath.Join(s.Dir, ".git/hooks"),
		"remote.origin.url": "ext::" + program, "remote.origin.promisor": "true", "remote.origin.uploadpack": program,
	} {
		s.Git("config", key, value)
	}
	if err := os.Remove(ran); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if err := gitgate.Apply(context.Background(), s.plan()); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(ran); err == nil {
		t.Errorf("the landing ran:\n%s", text)
	}
	// The trap is real: a plain git command falls into it.
	s.Try("update-ref", "refs/heads/proof", s.work)
	if _, err := os.ReadFile(ran); err != nil {
		t.Errorf("no hook runs here at all: %v", err)
	}
}

// While a landing is under way a person pushes and commits. Each of the commits
// must end in main's history or be refused; none may vanish.
func TestLandAgainstAPersonAtTheSameMoment(t *testing.T) {
	t.Parallel()
	for range 2 {
		s := newStory(t, "sha1")
		s.Git("config", "receive.denyCurrentBranch", "updateInstead")
		clone := gittest.New(t, "sha1")
		clone.Git("pull", "--quiet", s.Dir, "main")
		byHand := clone.Commit("dana", "hand.txt", "by hand\n")
		plan := s.plan()

		var landing, push error
		var both sync.WaitGroup
		both.Go(func() { landing = gitgate.Apply(context.Background(), plan) })
		both.Go(func() { _, push = clone.Try("push", "--quiet", s.Dir, "main:main") })
		both.Wait()

		won := 0
		for id, err := range map[string]error{s.work: landing, byHand: push} {
			if err != nil {
				continue
			}
			won++
			if s.main() != id {
				t.Errorf("%s was reported as done and main is at %s", id, s.main())
			}
		}
		switch {
		case won > 1:
			t.Error("both won")
		case won == 0 && s.main() != s.old:
			t.Error("both lost and main moved")
		}
		if landing != nil && !errors.Is(landing, wire.Refuse(wire.MainMoved)) && !errors.Is(landing, wire.Refuse(wire.MainBusy)) {
			t.Errorf("landing: %v", landing)
		}
	}
}

// Of many landings of one plan, one happens.
func TestApplyOfOnePlanByMany(t *testing.T) {
	t.Parallel()
	s := newStory(t, "sha1")
	plan := s.plan()
	results := make([]error, 6)
	var all sync.WaitGroup
	for i := range results {
		all.Go(func() { results[i] = gitgate.Apply(context.Background(), plan) })
	}
	all.Wait()
	won := 0
	for _, err := range results {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, wire.Refuse(wire.MainMoved)) && !errors.Is(err, wire.Refuse(wire.MainBusy)):
			t.Errorf("got %v", err)
		}
	}
	if won != 1 {
		t.Errorf("%d landings happened", won)
	}
	s.landed()
}

func TestApplyDoesNotBeginAfterItsContextEnded(t *testing.T) {
	t.Parallel()
	s := newStory(t, "sha1")
	plan := s.plan()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s.unchanged(wire.ProjectFailed, func() error { return gitgate.Apply(ctx, plan) })
}
