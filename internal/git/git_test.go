package git_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mosaicstack.dev/mosaic/internal/corpus"
	"mosaicstack.dev/mosaic/internal/git"
	"mosaicstack.dev/mosaic/internal/git/gittest"
)

func open(t *testing.T, r *gittest.Repository) *git.Repository {
	t.Helper()
	repo, err := git.Open(context.Background(), r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

func TestParseObjectID(t *testing.T) {
	t.Parallel()
	for _, good := range []string{strings.Repeat("a", 40), strings.Repeat("0", 64), "0123456789abcdef0123456789abcdef01234567"} {
		if id, ok := git.ParseObjectID(good); !ok || string(id) != good {
			t.Errorf("%q refused", good)
		}
	}
	bad := []string{"", "HEAD", strings.Repeat("a", 39), strings.Repeat("a", 41), strings.Repeat("a", 63), strings.Repeat("a", 65),
		strings.Repeat("A", 40), strings.Repeat("g", 40), strings.Repeat("a", 39) + "\n", "--" + strings.Repeat("a", 38)}
	for _, c := range corpus.Strings(t) {
		bad = append(bad, c.Text)
	}
	for _, text := range bad {
		if _, ok := git.ParseObjectID(text); ok {
			t.Errorf("%q accepted", text)
		}
	}
}

// Hostile paths and names are only ever names: they find nothing and run
// nothing.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	r := gittest.New(t, "sha1")
	r.Commit("dana", "a.txt", "one")
	repo := open(t, r)
	for i, c := range append(corpus.Paths(t), corpus.Strings(t)...) {
		if i%4 != 0 { // each is a process or three; every fourth keeps the test short
			continue
		}
		if b, ok, err := repo.FindBranch(context.Background(), c.Text); ok || err != nil {
			t.Errorf("branch %q: %+v, %v", c.Text, b, err)
		}
	}
	for _, path := range []string{":(glob)**", ":/", "*", "a.*", "-h", "--", "", "a.txt/", "./a.txt"} {
		if kind, err := repo.Path(context.Background(), path); kind != git.Absent && err == nil {
			t.Errorf("path %q: %v, %v", path, kind, err)
		}
	}
}

func TestPathTellsKindsApart(t *testing.T) {
	t.Parallel()
	gittest.EachFormat(t, func(t *testing.T, format string) {
		r := gittest.New(t, format)
		r.Write("run.sh", "#!/bin/sh\n")
		if err := os.Chmod(filepath.Join(r.Dir, "run.sh"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("run.sh", filepath.Join(r.Dir, "link")); err != nil {
			t.Fatal(err)
		}
		r.Write("folder/x", "x")
		r.Git("add", ".")
		r.Commit("dana", "line\nbreak", "x")
		repo := open(t, r)
		for path, want := range map[string]git.TypeOf{
			"run.sh": git.Regular, "line\nbreak": git.Regular, "link": git.Other, "folder": git.Other, "none": git.Absent,
		} {
			if got, err := repo.Path(context.Background(), path); err != nil || got != want {
				t.Errorf("%q: got %v, %v; want %v", path, got, err, want)
			}
		}
	})
}

// Commands end with their context, and so do the programs that they started.
func TestCommandsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	r := gittest.New(t, "sha1")
	r.Commit("dana", "a.txt", "one")
	repo := open(t, r)
	ctx, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	_, _, err := repo.HeadCommit(ctx)
	if !errors.Is(err, context.DeadlineExceeded) || git.Refused(err) {
		t.Errorf("got %v", err)
	}
}

// Messages of git hold paths and whatever an author wrote; errors hold neither.
func TestErrorsAreStatic(t *testing.T) {
	t.Parallel()
	r := gittest.New(t, "sha1")
	r.Commit("dana", "a.txt", "one")
	repo := open(t, r)
	_, err := repo.IsAncestor(context.Background(), git.ObjectID(strings.Repeat("1", 40)), git.ObjectID(strings.Repeat("2", 40)))
	if err == nil || err.Error() != "git merge-base: exit 128" {
		t.Errorf("got %v", err)
	}
	if !git.Refused(err) {
		t.Error("an exit of git's own is a refusal")
	}
}

func TestOpenNeedsAnAbsolutePath(t *testing.T) {
	t.Parallel()
	if r, err := git.Open(context.Background(), "."); !errors.Is(err, git.ErrUnsafe) {
		t.Errorf("got %+v, %v", r, err)
	}
	if r, err := git.Open(context.Background(), filepath.Join(t.TempDir(), "none")); !errors.Is(err, git.ErrMissing) {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestPrepareMoveHoldsTheBranch(t *testing.T) {
	t.Parallel()
	gittest.EachFormat(t, func(t *testing.T, format string) {
		r := gittest.NewBare(t, format)
		work := gittest.New(t, format)
		first := git.ObjectID(work.Commit("dana", "a.txt", "one"))
		second := git.ObjectID(work.Commit("dana", "a.txt", "two"))
		work.Git("push", "--quiet", r.Dir, "main:spare", string(first)+":refs/heads/main")
		repo := open(t, r)
		b := git.Branch{Name: "main", Commit: first}

		move, err := repo.PrepareMove(context.Background(), b, second)
		if err != nil {
			t.Fatal(err)
		}
		if out, err := r.Try("update-ref", "refs/heads/main", string(second)); err == nil {
			t.Errorf("the branch was not locked: %s", out)
		}
		move.Abort()
		if got := r.Git("rev-parse", "main"); got != string(first) {
			t.Errorf("after Abort main is at %s", got)
		}

		move, err = repo.PrepareMove(context.Background(), b, second)
		if err != nil {
			t.Fatal(err)
		}
		if err := move.Commit(); err != nil {
			t.Fatal(err)
		}
		if got := r.Git("rev-parse", "main"); got != string(second) {
			t.Errorf("after Commit main is at %s", got)
		}
		if _, err := repo.PrepareMove(context.Background(), b, second); !errors.Is(err, git.ErrLost) {
			t.Errorf("from a commit that it left: %v", err)
		}
	})
}
