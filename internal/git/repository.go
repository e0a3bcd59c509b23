package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Why a directory is not opened. They are compared with errors.Is.
var (
	ErrMissing = errors.New("git: no such directory")
	ErrUnsafe  = errors.New("git: not a repository of this user's own")
)

// Repository is a repository of this user, bare or with a work tree.
type Repository struct {
	dir  string // the work tree's root, or the bare repository; absolute, no links
	bare bool
}

// Open opens the repository whose root is dir: an absolute path that is no
// symbolic link (its parents may be), belongs to this user, and is itself the
// root of a work tree or a bare repository. ErrMissing when nothing is there,
// ErrUnsafe for everything else that is refused, an *Error when git fails.
func Open(ctx context.Context, dir string) (*Repository, error) {
	if !filepath.IsAbs(dir) {
		return nil, ErrUnsafe
	}
	if err := ownDirectory(dir); err != nil {
		return nil, err
	}
	if err := ownGitDir(filepath.Join(dir, ".git")); err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, ErrMissing
	}
	r := &Repository{dir: real}
	if err := r.identify(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// Dir is the repository's root, with symbolic links resolved.
func (r *Repository) Dir() string { return r.dir }

func ownDirectory(dir string) error {
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ErrMissing
	case err != nil || !info.IsDir() || !owned(info):
		return ErrUnsafe
	}
	return nil
}

// ownGitDir checks .git when there is one: the directory of a repository, or
// the file of a linked work tree.
func ownGitDir(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil || !info.IsDir() && !info.Mode().IsRegular() || !owned(info):
		return ErrUnsafe
	}
	return nil
}

func owned(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// identify asks git what it takes the directory for. Git looks upwards for a
// repository and believes core.worktree; both would make it work somewhere
// else than in dir.
func (r *Repository) identify(ctx context.Context) error {
	out, err := r.read(ctx, "rev-parse", "--is-bare-repository", "--is-inside-git-dir", "--absolute-git-dir")
	if exitCode(err) > 0 {
		return ErrUnsafe
	}
	if err != nil {
		return err
	}
	bare, rest, _ := strings.Cut(string(out), "\n")
	inside, gitDir, _ := strings.Cut(rest, "\n")
	r.bare = bare == "true"
	if r.bare {
		if strings.TrimSuffix(gitDir, "\n") != r.dir {
			return ErrUnsafe
		}
		return nil
	}
	if inside == "true" {
		return ErrUnsafe // the .git directory of a work tree
	}
	top, err := r.read(ctx, "rev-parse", "--show-toplevel")
	if exitCode(err) > 0 || err == nil && strings.TrimSuffix(string(top), "\n") != r.dir {
		return ErrUnsafe
	}
	return err
}

// read runs a command that changes nothing.
func (r *Repository) read(ctx context.Context, args ...string) ([]byte, error) {
	return run(ctx, r.dir, environment(false, r.ceiling()), args...)
}

// ceiling keeps git from looking for a repository above the directory.
func (r *Repository) ceiling() string { return "GIT_CEILING_DIRECTORIES=" + filepath.Dir(r.dir) }
