package git

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// What is found without a child is what git says, or nothing is.
func TestAPlainPlaceIsWhatGitSays(t *testing.T) {
	t.Parallel()
	gitIn := func(t *testing.T, dir string, args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = append(environment(false), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
	}
	for name, c := range map[string]struct {
		change func(t *testing.T, top string) (from string)
		plain  bool
	}{
		"a repository":      {func(t *testing.T, top string) string { return top }, true},
		"a directory in it": {func(t *testing.T, top string) string { return filepath.Join(top, "a", "b") }, true},
		"through a link": {func(t *testing.T, top string) string {
			link := filepath.Join(t.TempDir(), "link")
			if err := os.Symlink(filepath.Join(top, "a"), link); err != nil {
				t.Fatal(err)
			}
			return link
		}, true},
		"core.worktree": {func(t *testing.T, top string) string {
			gitIn(t, top, "config", "core.worktree", filepath.Join(top, "a"))
			return filepath.Join(top, "a")
		}, false},
		"bare": {func(t *testing.T, top string) string {
			gitIn(t, top, "config", "core.bare", "true")
			return top
		}, false},
		"a linked work tree": {func(t *testing.T, top string) string {
			linked := filepath.Join(t.TempDir(), "linked")
			gitIn(t, top, "worktree", "add", "-q", linked)
			return linked
		}, false},
		"a submodule's file": {func(t *testing.T, top string) string {
			gitIn(t, top, "init", "-q", "--separate-git-dir="+filepath.Join(t.TempDir(), "apart"), "a")
			return filepath.Join(top, "a")
		}, false},
		"inside .git": {func(t *testing.T, top string) string { return filepath.Join(top, ".git", "refs") }, false},
		"a broken .git": {func(t *testing.T, top string) string {
			if err := os.Mkdir(filepath.Join(top, "a", ".git"), 0o755); err != nil {
				t.Fatal(err)
			}
			return filepath.Join(top, "a", "b")
		}, false},
		"an unknown extension": {func(t *testing.T, top string) string {
			gitIn(t, top, "config", "core.repositoryformatversion", "1")
			gitIn(t, top, "config", "extensions.unheardof", "true")
			return top
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Join(top, "a", "b"), 0o755); err != nil {
				t.Fatal(err)
			}
			gitIn(t, top, "init", "-q", "-b", "main")
			gitIn(t, top, "commit", "-q", "--allow-empty", "-m", "first")
			from := c.change(t, top)
			found, plain := locatePlain(from)
			if plain != c.plain {
				t.Fatalf("plain is %v, not %v: %+v", plain, c.plain, found)
			}
			if !plain {
				return
			}
			said, err := ask(context.Background(), from, "--show-toplevel", "--git-dir", "--git-common-dir")
			if err != nil {
				t.Fatal(err)
			}
			if found.Top != said[0] || found.GitDir != said[1] || found.CommonDir != said[2] {
				t.Errorf("found %+v, git says %q", found, said)
			}
		})
	}
}
