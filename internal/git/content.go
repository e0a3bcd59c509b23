package git

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// ResolveCommit returns the full id of the commit that a revision names; false
// when it names none, or more than one.
func (r *Repository) ResolveCommit(ctx context.Context, revision string) (ObjectID, bool, error) {
	return r.resolve(ctx, revision, "commit")
}

// ResolveTree returns the full id of the tree that a revision names: a tree, or
// that of a commit.
func (r *Repository) ResolveTree(ctx context.Context, revision string) (ObjectID, bool, error) {
	return r.resolve(ctx, revision, "tree")
}

func (r *Repository) resolve(ctx context.Context, revision, kind string) (ObjectID, bool, error) {
	if revision == "" || strings.ContainsRune(revision, 0) {
		return "", false, nil
	}
	out, err := r.read(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{"+kind+"}")
	if exitCode(err) > 0 {
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

// Kept reports whether a commit is reachable from a local branch or a tag, so
// that git does not collect it.
func (r *Repository) Kept(ctx context.Context, commit ObjectID) (bool, error) {
	out, err := r.read(ctx, "for-each-ref", "--contains="+string(commit), "--count=1", "--format=%(refname)", "refs/heads", "refs/tags")
	return len(out) > 0, err
}

// Changes returns every path that a commit changes against its first parent
// (against nothing when it has none), with what the commit has there: an Entry
// without an ID where it removes the path.
func (r *Repository) Changes(ctx context.Context, commit ObjectID) ([]Entry, error) {
	args := []string{"diff-tree", "-r", "-z", "--no-renames", "--no-commit-id", "--root", string(commit)}
	if parent, ok, err := r.ResolveCommit(ctx, string(commit)+"^1"); err != nil {
		return nil, err
	} else if ok {
		args = []string{"diff-tree", "-r", "-z", "--no-renames", string(parent), string(commit)}
	}
	out, err := runInput(ctx, r.dir, environment(false, r.ceiling()), nil, maxListing, args...)
	if err != nil {
		return nil, err
	}
	var changed []Entry
	for pair := range slices.Chunk(slices.Collect(records(out)), 2) {
		meta := strings.Fields(pair[0]) // :old mode, new mode, old id, new id, status
		if len(pair) != 2 || len(meta) != 5 {
			return nil, ErrAnswer
		}
		entry := Entry{Mode: meta[1], ID: ObjectID(meta[3]), Stage: "0", Path: pair[1]}
		if meta[4] == "D" {
			entry = Entry{Path: pair[1]}
		} else if _, ok := ParseObjectID(meta[3]); !ok {
			return nil, ErrAnswer
		}
		changed = append(changed, entry)
	}
	return changed, nil
}

// Sums returns the SHA-256 of the bytes of each blob, whatever its size. A blob
// that the repository lacks is ErrAnswer.
func (r *Repository) Sums(ctx context.Context, blobs []ObjectID) (map[ObjectID][sha256.Size]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, ErrTimeout)
	defer cancel()
	var ids bytes.Buffer
	for _, id := range blobs {
		fmt.Fprintln(&ids, id)
	}
	cmd := child(ctx, r.dir, environment(false, r.ceiling()), []string{"cat-file", "--batch"})
	cmd.Stdin = &ids
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, failed(ctx, "cat-file", err, false)
	}
	if err := cmd.Start(); err != nil {
		return nil, failed(ctx, "cat-file", err, false)
	}
	sums, readErr := sumBatch(bufio.NewReader(out), blobs)
	if readErr != nil {
		cancel()
	}
	if err := cmd.Wait(); err != nil && readErr == nil {
		return nil, failed(ctx, "cat-file", err, false)
	}
	if readErr != nil {
		return nil, failedRead(ctx, readErr)
	}
	return sums, nil
}

func failedRead(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), ErrTimeout) {
		err = ErrTimeout
	}
	return &Error{Command: "cat-file", Exit: -1, Cause: err}
}

// sumBatch reads the answers of cat-file --batch: "ID blob SIZE", the bytes, a
// newline.
func sumBatch(in *bufio.Reader, blobs []ObjectID) (map[ObjectID][sha256.Size]byte, error) {
	sums := map[ObjectID][sha256.Size]byte{}
	for _, id := range blobs {
		head, err := in.ReadString('\n')
		fields := strings.Fields(head)
		if err != nil || len(fields) != 3 || fields[0] != string(id) || fields[1] != "blob" {
			return nil, ErrAnswer
		}
		size, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil {
			return nil, ErrAnswer
		}
		sum := sha256.New()
		if _, err := io.CopyN(sum, in, size); err != nil {
			return nil, ErrAnswer
		}
		if end, err := in.ReadByte(); err != nil || end != '\n' {
			return nil, ErrAnswer
		}
		sums[id] = [sha256.Size]byte(sum.Sum(nil))
	}
	return sums, nil
}

// RemoteURL returns the address of the remote that a branch follows, else of
// origin; "" when there is none.
func (r *Repository) RemoteURL(ctx context.Context, branch string) (string, error) {
	remote, err := r.setting(ctx, "branch."+branch+".remote")
	if err != nil {
		return "", err
	}
	if remote == "" {
		remote = "origin"
	}
	return r.setting(ctx, "remote."+remote+".url")
}

// setting is one value of the repository's own configuration, "" when unset.
func (r *Repository) setting(ctx context.Context, key string) (string, error) {
	out, err := r.read(ctx, "config", "--local", "-z", "--get", key)
	if exitCode(err) == 1 {
		return "", nil
	}
	return strings.TrimSuffix(string(out), "\x00"), err
}
