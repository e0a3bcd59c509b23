package git_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mosaicstack.dev/mosaic/internal/git"
	"mosaicstack.dev/mosaic/internal/git/gittest"
)

// A path that every list and every quoting rule of git gets to see.
const awkward = "a \"b\"\n\\c/ü 'd'.txt"

func TestACommitIsBuiltBesideTheIndex(t *testing.T) {
	t.Setenv("HOME", t.TempDir()) // the identity of the commit
	for _, name := range []string{"GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"} {
		t.Setenv(name, "dana")
	}
	for _, name := range []string{"GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"} {
		t.Setenv(name, "dana@example.org")
	}
	// What a hook's environment holds must lead nowhere.
	t.Setenv("GIT_INDEX_FILE", "/nonexistent/index")
	t.Setenv("GIT_DIR", "/nonexistent/git")
	for _, format := range gittest.Formats {
		t.Run(format, func(t *testing.T) {
			ctx := context.Background()
			w := gittest.New(t, format)
			w.Git("config", "core.autocrlf", "true")
			w.Git("config", "core.splitIndex", "true")
			w.Commit("dana", "a.txt", "a\n")
			w.Write("b.txt", "staged\n")
			w.Git("add", "b.txt")
			r, err := git.Open(ctx, w.Dir)
			if err != nil {
				t.Fatal(err)
			}
			head, _, err := r.HeadCommit(ctx)
			if err != nil {
				t.Fatal(err)
			}
			id, err := r.StoreBlob(ctx, []byte("c\r\n"))
			if err != nil {
				t.Fatal(err)
			}
			index, err := r.NewIndex(ctx, head)
			if err != nil {
				t.Fatal(err)
			}
			defer index.Remove()
			if err := index.Set(ctx, git.Entry{Mode: "100644", ID: id, Path: awkward}); err != nil {
				t.Fatal(err)
			}
			tree, err := index.WriteTree(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if changed, err := r.Differing(ctx, head, tree); err != nil || len(changed) != 1 || changed[0] != awkward {
				t.Fatalf("the tree differs in %q (%v)", changed, err)
			}
			commit, err := r.CommitTree(ctx, tree, head, "one\n")
			if err != nil {
				t.Fatal(err)
			}
			branch := git.Branch{Name: "main", Commit: head}
			if err := r.Advance(ctx, branch, commit, "test"); err != nil {
				t.Fatal(err)
			}
			if err := r.Advance(ctx, branch, commit, "test"); !errors.Is(err, git.ErrMoved) {
				t.Errorf("a branch that moved: %v", err)
			}
			entries, err := r.Tree(ctx, commit, awkward)
			if err != nil || len(entries) != 1 || entries[0].ID != id {
				t.Fatalf("the commit holds %v (%v)", entries, err)
			}
			if content, err := r.Blob(ctx, id); err != nil || string(content) != "c\r\n" {
				t.Errorf("the blob holds %q (%v)", content, err)
			}
			if staged, err := r.Staged(ctx, awkward); err != nil || len(staged) != 0 {
				t.Errorf("the index has %v (%v)", staged, err)
			}
			checkUnstage(t, w, r)
		})
	}
}

func checkUnstage(t *testing.T, w *gittest.Repository, r *git.Repository) {
	ctx := context.Background()
	lock := filepath.Join(w.Dir, ".git", "index.lock")
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.Unstage(ctx, awkward); !errors.Is(err, git.ErrIndexLocked) {
		t.Errorf("with a locked index: %v", err)
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	if err := r.Unstage(ctx, awkward); err != nil {
		t.Fatal(err)
	}
	staged, err := r.Staged(ctx, awkward)
	if err != nil || len(staged) != 1 {
		t.Errorf("after it the index has %v (%v)", staged, err)
	}
	w.Env = append(w.Env, "GIT_INDEX_FILE="+filepath.Join(w.Dir, ".git", "index"))
	if got := w.Git("diff", "--cached", "--name-only"); got != "b.txt" {
		t.Errorf("staged afterwards: %q, not b.txt alone", got)
	}
}

func TestHooksPathIsSeenInEveryScope(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	w := gittest.New(t, "sha1")
	r, err := git.Open(context.Background(), w.Dir)
	if err != nil {
		t.Fatal(err)
	}
	check := func(want ...string) {
		t.Helper()
		scopes, err := r.HooksPath(context.Background())
		if err != nil || strings.Join(scopes, " ") != strings.Join(want, " ") {
			t.Errorf("core.hooksPath is set in %q (%v), not in %q", scopes, err, want)
		}
	}
	check()
	w.Git("config", "core.hooksPath", "a\nb")
	check("local")
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[core]\n\thooksPath = /x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	check("global", "local")
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "core.hooksPath")
	t.Setenv("GIT_CONFIG_VALUE_0", "")
	check("global", "local", "command")
}
