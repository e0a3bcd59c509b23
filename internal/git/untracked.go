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

// ErrInTheWay says that a file which git does not track has the place of one
// that would be written.
var ErrInTheWay = errors.New("git: an untracked file is in the way")

// checkFree holds that every file which to has over from can be written without
// replacing one that is not tracked. git itself protects untracked files and
// sacrifices ignored ones, among which are the settings and secrets that people
// keep beside their code.
func (w Worktree) checkFree(ctx context.Context, from, to ObjectID) error {
	added, err := w.changed(ctx, "A", from, to)
	if err != nil {
		return err
	}
	removed, err := w.changed(ctx, "D", from, to)
	if err != nil {
		return err
	}
	goes := make(map[string]bool, len(removed))
	for _, path := range removed {
		goes[path] = true
	}
	for _, path := range added {
		if free, err := w.free(path, goes); err != nil || !free {
			return errors.Join(err, ErrInTheWay)
		}
	}
	return nil
}

func (w Worktree) changed(ctx context.Context, filter string, from, to ObjectID) ([]string, error) {
	out, err := run(ctx, w.Dir, environment(false), "diff-tree", "-r", "-z", "--no-renames", "--name-only",
		"--diff-filter="+filter, string(from), string(to))
	if err != nil || len(out) == 0 {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), nil
}

// free reports whether path can be written: nothing stands there or above it
// but directories and files that go.
func (w Worktree) free(path string, goes map[string]bool) (bool, error) {
	for i, r := range path {
		if r != '/' {
			continue
		}
		info, err := os.Lstat(filepath.Join(w.Dir, path[:i]))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return true, nil
		case err != nil:
			return false, err
		case !info.IsDir():
			return goes[path[:i]], nil
		}
	}
	return w.onlyGoing(path, goes)
}

// onlyGoing reports whether path is missing or a directory of files that go.
func (w Worktree) onlyGoing(path string, goes map[string]bool) (bool, error) {
	free := true
	err := filepath.WalkDir(filepath.Join(w.Dir, path), func(full string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(w.Dir, full)
		free = free && goes[filepath.ToSlash(name)]
		return err
	})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return true, nil
	}
	return free, err
}
