// Package gittest makes real repositories for tests, with the git program, away
// from the configuration of whoever runs the tests.
package gittest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Formats are the object formats that every test of repositories runs with.
var Formats = []string{"sha1", "sha256"}

// Repository is a disposable repository with the branch main.
type Repository struct {
	t   testing.TB
	Dir string
	Env []string // added to the environment of every command
}

// New makes an empty repository with a work tree.
func New(t testing.TB, format string) *Repository {
	t.Helper()
	r := &Repository{t: t, Dir: filepath.Join(t.TempDir(), "work")}
	r.init(format)
	return r
}

// NewBare makes an empty bare repository.
func NewBare(t testing.TB, format string) *Repository {
	t.Helper()
	r := &Repository{t: t, Dir: filepath.Join(t.TempDir(), "bare.git")}
	r.init(format, "--bare")
	return r
}

func (r *Repository) init(format string, extra ...string) {
	r.t.Helper()
	if err := os.MkdirAll(r.Dir, 0o755); err != nil {
		r.t.Fatal(err)
	}
	r.Git(append([]string{"init", "--quiet", "--initial-branch=main", "--object-format=" + format}, extra...)...)
}

// At is the repository seen from another directory, such as a linked work tree.
func (r *Repository) At(dir string) *Repository { return &Repository{t: r.t, Dir: dir, Env: r.Env} }

// Git runs git in the repository and returns its trimmed output.
func (r *Repository) Git(args ...string) string {
	r.t.Helper()
	out, err := r.Try(args...)
	if err != nil {
		r.t.Fatalf("git %q: %v: %s", args, err, out)
	}
	return out
}

// Try is Git for commands that may fail.
func (r *Repository) Try(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = r.Dir
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=dana", "GIT_AUTHOR_EMAIL=dana@example.org",
		"GIT_COMMITTER_NAME=dana", "GIT_COMMITTER_EMAIL=dana@example.org",
	}, r.Env...)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// Write writes a file of the work tree.
func (r *Repository) Write(path, text string) {
	r.t.Helper()
	full := filepath.Join(r.Dir, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// Read reads a file of the work tree.
func (r *Repository) Read(path string) string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.Dir, path))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(text)
}

// Commit writes a file, commits it as author, and returns the commit's id.
func (r *Repository) Commit(author, path, text string) string {
	r.t.Helper()
	r.Write(path, text)
	r.Git("add", "--", path)
	r.Git("commit", "--quiet", "--allow-empty", "--author="+author+" <a@example.org>", "-m", "change "+path)
	return r.Head()
}

// Head is the id of the commit of HEAD.
func (r *Repository) Head() string {
	r.t.Helper()
	return r.Git("rev-parse", "HEAD")
}

// Branch makes a branch with one more commit than start and returns that
// commit; the work tree is back where it was afterwards.
func (r *Repository) Branch(name, start, path, text string) string {
	r.t.Helper()
	tree := filepath.Join(r.t.TempDir(), "branch")
	r.Git("worktree", "add", "--quiet", "-b", name, tree, start)
	id := r.At(tree).Commit("dev", path, text)
	r.Git("worktree", "remove", "--force", tree)
	return id
}

// EachFormat runs a test once for every object format.
func EachFormat(t *testing.T, test func(t *testing.T, format string)) {
	t.Helper()
	for _, format := range Formats {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			test(t, format)
		})
	}
}

// Over is a repository that exists already.
func Over(t testing.TB, dir string) *Repository { return &Repository{t: t, Dir: dir} }
