package git

import (
	"bytes"
	"context"
	"strings"
)

// TypeOf is what a path is in a commit.
type TypeOf uint8

// The types of a path.
const (
	Absent  TypeOf = iota
	Regular        // a file, executable or not
	Other          // a directory, symbolic link or submodule
)

// Path says what a path is in the commit of HEAD; Absent too when there is no
// commit yet.
func (r *Repository) Path(ctx context.Context, path string) (TypeOf, error) {
	if _, ok, err := r.HeadCommit(ctx); err != nil || !ok {
		return Absent, err
	}
	out, err := r.read(ctx, "ls-tree", "-z", "--full-tree", "HEAD", "--", path)
	if err != nil {
		return Absent, err
	}
	record, rest, found := bytes.Cut(out, []byte{0})
	if !found {
		return Absent, nil
	}
	mode, name, tabbed := strings.Cut(string(record), "\t")
	if !tabbed || name != path || len(rest) > 0 {
		return Absent, ErrAnswer
	}
	if strings.HasPrefix(mode, "100644 blob ") || strings.HasPrefix(mode, "100755 blob ") {
		return Regular, nil
	}
	return Other, nil
}

// HeadCommit returns the commit of HEAD; false when there is none yet.
func (r *Repository) HeadCommit(ctx context.Context) (ObjectID, bool, error) {
	out, err := r.read(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", "HEAD^{commit}")
	if exitCode(err) == 1 {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	id, ok := ParseObjectID(strings.TrimSuffix(string(out), "\n"))
	if !ok {
		return "", false, ErrAnswer
	}
	return id, true, nil
}

// Change is a commit that changed a path.
type Change struct {
	Commit ObjectID
	Author string // the name as the commit has it, no mailmap applied
}

// LastChange returns the last commit reachable from HEAD that changed a path;
// false when there is none.
func (r *Repository) LastChange(ctx context.Context, path string) (Change, bool, error) {
	// rev-list rather than log: no setting of the repository, such as
	// log.follow, changes what it finds.
	out, err := r.read(ctx, "rev-list", "-1", "--no-commit-header", "--encoding=UTF-8", "--format=%H%n%an", "HEAD", "--", path)
	if err != nil || len(out) == 0 {
		return Change{}, false, err
	}
	commit, author, _ := strings.Cut(strings.TrimSuffix(string(out), "\n"), "\n")
	id, ok := ParseObjectID(commit)
	if !ok {
		return Change{}, false, ErrAnswer
	}
	return Change{Commit: id, Author: author}, true, nil
}

// Shallow reports whether the repository lacks older history, so that a commit
// at its edge looks as if it had made everything.
func (r *Repository) Shallow(ctx context.Context) (bool, error) {
	out, err := r.read(ctx, "rev-parse", "--is-shallow-repository")
	if err != nil {
		return false, err
	}
	switch strings.TrimSpace(string(out)) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, ErrAnswer
}

// IsCommit reports whether the repository has a commit with this id.
func (r *Repository) IsCommit(ctx context.Context, id ObjectID) (bool, error) {
	out, err := r.read(ctx, "cat-file", "-t", string(id))
	if exitCode(err) > 0 {
		return false, nil
	}
	return strings.TrimSpace(string(out)) == "commit", err
}

// IsAncestor reports whether old is an ancestor of new, or new itself.
func (r *Repository) IsAncestor(ctx context.Context, old, new ObjectID) (bool, error) {
	_, err := r.read(ctx, "merge-base", "--is-ancestor", string(old), string(new))
	if exitCode(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// Complete reports whether everything that new has over old is stored: its
// commits, trees and files.
func (r *Repository) Complete(ctx context.Context, old, new ObjectID) (bool, error) {
	_, err := r.read(ctx, "rev-list", "--objects", "--quiet", string(new), "^"+string(old))
	if exitCode(err) > 0 {
		return false, nil
	}
	return err == nil, err
}
