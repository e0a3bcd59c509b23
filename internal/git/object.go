package git

import (
	"context"
	"errors"
	"strings"
)

// ErrMoved says that a branch does not point where it was expected to.
var ErrMoved = errors.New("git: the branch has moved")

// Blob returns the content of a blob as it is stored: no filter and no
// conversion of line endings.
func (r *Repository) Blob(ctx context.Context, id ObjectID) ([]byte, error) {
	return runInput(ctx, r.dir, environment(false, r.ceiling()), nil, maxBlob, "cat-file", "blob", string(id))
}

// StoreBlob stores content as it is and returns its id.
func (r *Repository) StoreBlob(ctx context.Context, content []byte) (ObjectID, error) {
	if content == nil {
		content = []byte{}
	}
	out, err := runInput(ctx, r.dir, environment(false, r.ceiling()), content, maxOutput, "hash-object", "-w", "-t", "blob", "--no-filters", "--stdin")
	if err != nil {
		return "", err
	}
	return answerID(out)
}

// TreeOf returns the tree of a commit.
func (r *Repository) TreeOf(ctx context.Context, commit ObjectID) (ObjectID, error) {
	out, err := r.read(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", string(commit)+"^{tree}")
	if err != nil {
		return "", err
	}
	return answerID(out)
}

// Advance moves a branch from b.Commit to another commit, with a reason for the
// reflog. ErrMoved when it points somewhere else by now or cannot be locked;
// nothing has changed then.
func (r *Repository) Advance(ctx context.Context, b Branch, to ObjectID, reason string) error {
	_, err := r.read(ctx, "update-ref", "--no-deref", "-m", reason, b.Ref(), string(to), string(b.Commit))
	if Refused(err) {
		return ErrMoved
	}
	return err
}

// answerID reads an answer that is one object id.
func answerID(out []byte) (ObjectID, error) {
	id, ok := ParseObjectID(strings.TrimSuffix(string(out), "\n"))
	if !ok {
		return "", ErrAnswer
	}
	return id, nil
}
