package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Worktree is a directory that a repository is checked out in.
type Worktree struct {
	Dir    string
	Branch string // full name of the ref; "" when HEAD is detached
	gitDir string // where its HEAD and index are
}

// Worktrees returns the repository's work trees whose directory exists, its own
// first.
func (r *Repository) Worktrees(ctx context.Context) ([]Worktree, error) {
	out, err := r.read(ctx, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return nil, err
	}
	common, err := r.path(ctx, r.dir, "--git-common-dir")
	if err != nil {
		return nil, err
	}
	var trees []Worktree
	for record := range strings.SplitSeq(string(out), "\x00\x00") {
		w, ok := parseWorktree(record)
		if !ok {
			continue
		}
		if _, err := os.Lstat(w.Dir); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		// The repository's note of where the tree is can be forged; the tree
		// must say too that it belongs to this repository.
		if back, err := r.path(ctx, w.Dir, "--git-common-dir"); Refused(err) || err == nil && back != common {
			return nil, ErrUnsafe
		} else if err != nil {
			return nil, err
		}
		if w.gitDir, err = r.path(ctx, w.Dir, "--git-dir"); err != nil {
			return nil, err
		}
		trees = append(trees, w)
	}
	return trees, nil
}

// path asks for one path of the repository that dir is in.
func (r *Repository) path(ctx context.Context, dir, which string) (string, error) {
	out, err := run(ctx, dir, environment(false), "rev-parse", "--path-format=absolute", which)
	return strings.TrimSuffix(string(out), "\n"), err
}

// parseWorktree reads one record of attributes; false for a bare repository.
func parseWorktree(record string) (w Worktree, ok bool) {
	for attribute := range strings.SplitSeq(record, "\x00") {
		key, value, _ := strings.Cut(attribute, " ")
		switch key {
		case "worktree":
			w.Dir = value
		case "branch":
			w.Branch = value
		case "bare":
			return Worktree{}, false
		}
	}
	return w, w.Dir != ""
}

// Uses reports whether the work tree is on the branch, or in the middle of
// something that will come back to it: a rebase or a bisection.
func (w Worktree) Uses(b Branch) (bool, error) {
	if w.Branch == b.Ref() {
		return true, nil
	}
	for file, want := range map[string]string{
		"rebase-merge/head-name": b.Ref(),
		"rebase-apply/head-name": b.Ref(),
		"BISECT_START":           b.Name,
	} {
		text, err := os.ReadFile(filepath.Join(w.gitDir, file))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		if err == nil && strings.TrimSuffix(string(text), "\n") == want {
			return true, nil
		}
	}
	return false, nil
}

// Clean reports whether no tracked file differs from HEAD, in the index or on
// disk, and no merge, rebase, revert or the like is under way. Untracked files
// do not count.
func (w Worktree) Clean(ctx context.Context) (bool, error) {
	for _, file := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "BISECT_START"} {
		if _, err := os.Lstat(filepath.Join(w.gitDir, file)); !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
	}
	out, err := run(ctx, w.Dir, environment(true), "status", "--porcelain=v2", "-z", "--untracked-files=no", "--no-renames", "--ignore-submodules=dirty")
	return err == nil && len(out) == 0, err
}

// HeadRef returns the full name of the ref that the work tree is on now, or "".
func (w Worktree) HeadRef(ctx context.Context) (string, error) {
	out, err := run(ctx, w.Dir, environment(false), "symbolic-ref", "--quiet", "HEAD")
	if exitCode(err) == 1 {
		return "", nil
	}
	return strings.TrimSuffix(string(out), "\n"), err
}

// Move brings index and files from one commit to another and leaves HEAD. It
// touches nothing when a file that differs between them was changed, or when a
// file that is not tracked is in the way (ErrInTheWay), ignored ones included.
func (w Worktree) Move(ctx context.Context, from, to ObjectID) error {
	if err := w.checkFree(ctx, from, to); err != nil {
		return err
	}
	// read-tree trusts the index about which files are unchanged.
	if _, err := run(ctx, w.Dir, environment(true), "update-index", "-q", "--ignore-submodules", "--refresh"); err != nil {
		return err
	}
	_, err := run(ctx, w.Dir, environment(true), "read-tree", "-m", "-u", string(from), string(to))
	return err
}

// Programs reports whether the repository's own configuration names filter
// programs, which comparing and writing a work tree would run.
func (r *Repository) Programs(ctx context.Context) (bool, error) {
	out, err := r.read(ctx, "config", "--list", "-z", "--name-only")
	if err != nil {
		return false, err
	}
	for name := range strings.SplitSeq(string(out), "\x00") {
		last := name[strings.LastIndex(name, ".")+1:]
		if strings.HasPrefix(name, "filter.") && (last == "clean" || last == "smudge" || last == "process") {
			return true, nil
		}
	}
	return false, nil
}
