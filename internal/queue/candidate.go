package queue

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mosaicstack.dev/mosaic/internal/git"
)

// FoundCandidate is what --candidate names in the checkout now.
type FoundCandidate struct {
	Candidate Candidate
	Warning   string // one line for people: a file differs from its manifest (QUEUE-OPEN-77)
}

// candidates looks candidates up in one repository. It only reads.
type candidates struct {
	root string
	repo *git.Repository
}

func openCandidates(ctx context.Context, root string) (candidates, error) {
	repo, err := git.Open(ctx, root)
	if err != nil {
		return candidates{}, gitFailure(err)
	}
	return candidates{root, repo}, nil
}

// spell returns the one spelling under which the log knows a candidate: a
// commit's full id, or a manifest's path from the root. What names neither
// keeps its text, so that a retry is recognised when a manifest is gone; look
// then refuses it.
func (c candidates) spell(ctx context.Context, given string) (string, error) {
	if given == "" || isObjectID(given) {
		return given, nil
	}
	name := given
	if rel, err := filepath.Rel(c.root, given); filepath.IsAbs(given) && err == nil {
		name = rel
	}
	commit, isCommit, err := c.repo.ResolveCommit(ctx, given)
	if err != nil {
		return "", gitFailure(err)
	}
	_, err = os.Lstat(filepath.Join(c.root, name))
	isFile := err == nil
	switch {
	case isCommit && isFile:
		return "", refuse(CandidateInvalid, "%s is both a commit and a file: write ./%s or the commit's id", clip(given), clip(given))
	case isCommit:
		return string(commit), nil
	}
	return cleanPath("the candidate", name)
}

// look finds the candidate that a spelling names, or refuses it.
func (c candidates) look(ctx context.Context, spelling string) (FoundCandidate, error) {
	if isObjectID(spelling) {
		return c.commit(ctx, spelling)
	}
	return c.manifest(spelling)
}

// commit demands a commit that git keeps (QUEUE-REVIEW-24).
func (c candidates) commit(ctx context.Context, id string) (FoundCandidate, error) {
	full, ok, err := c.repo.ResolveCommit(ctx, id)
	if err != nil {
		return FoundCandidate{}, gitFailure(err)
	}
	if !ok || string(full) != id {
		return FoundCandidate{}, refuse(CandidateInvalid, "there is no commit %s", id)
	}
	kept, err := c.repo.Kept(ctx, full)
	if err != nil {
		return FoundCandidate{}, gitFailure(err)
	}
	if !kept {
		return FoundCandidate{}, refuse(CandidateInvalid, "commit %s is not reachable from a local branch or tag, so git would not keep it: give it one", id)
	}
	return FoundCandidate{Candidate: Candidate{Kind: CommitCandidate, Ref: id, Digest: id}}, nil
}

// manifest reads a manifest and compares it with the working tree
// (QUEUE-REVIEW-25, 26, QUEUE-OPEN-77).
func (c candidates) manifest(name string) (FoundCandidate, error) {
	text, err := c.readInside(name, maxManifest)
	if err != nil {
		return FoundCandidate{}, refuse(CandidateInvalid, "%s is no commit and no manifest: %s", clip(name), err)
	}
	entries, err := ParseManifest(string(text))
	if err != nil {
		return FoundCandidate{}, err
	}
	found := FoundCandidate{Candidate: Candidate{Kind: ManifestCandidate, Ref: name, Digest: digest(text)}}
	manifest := string(text)
	found.Candidate.Manifest = &manifest
	for _, e := range entries {
		sum, err := c.sumInside(e.Path)
		if err != nil {
			return FoundCandidate{}, refuse(CandidateInvalid, "the manifest names %s: %s", clip(e.Path), err)
		}
		if sum != e.Sum && found.Warning == "" {
			found.Warning = refuse(CandidateInvalid, "%s differs from what the manifest says of it", clip(e.Path)).Sentence
		}
	}
	return found, nil
}

// Why a path is not read. They are parts of sentences.
var (
	errOutside    = errors.New("it lies outside the repository")
	errNoFile     = errors.New("there is no such file")
	errNotRegular = errors.New("it is not a regular file")
	errTooLarge   = errors.New("it is too large")
	errUnreadable = errors.New("it cannot be read")
)

// openInside opens a regular file below the root. os.Root follows no link out
// of it, so a path through a symbolic link that leaves the repository is
// refused, not read.
func (c candidates) openInside(name string) (*os.File, error) {
	root, err := os.OpenRoot(c.root)
	if err != nil {
		return nil, errUnreadable
	}
	defer root.Close()
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errNoFile
	case err != nil:
		return nil, errOutside
	case !info.Mode().IsRegular():
		return nil, errNotRegular
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, errUnreadable
	}
	if again, err := f.Stat(); err != nil || !os.SameFile(info, again) {
		f.Close()
		return nil, errUnreadable
	}
	return f, nil
}

func (c candidates) readInside(name string, limit int64) ([]byte, error) {
	f, err := c.openInside(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, errUnreadable
	case int64(len(text)) > limit:
		return nil, errTooLarge
	}
	return text, nil
}

func (c candidates) sumInside(name string) (sum [32]byte, err error) {
	f, err := c.openInside(name)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return sum, errUnreadable
	}
	return [32]byte(h.Sum(nil)), nil
}

// Spelling is how a comment names the candidate: its kind and its digest.
func (c Candidate) Spelling() string { return c.Kind + ":" + c.Digest }

// plainDigest takes the kind off a candidate that is spelled as in a comment
// (QUEUE-OPEN-39).
func plainDigest(spelled string) string {
	for _, kind := range []string{CommitCandidate, ManifestCandidate} {
		if digest, ok := strings.CutPrefix(spelled, kind+":"); ok && isHex(digest) {
			return digest
		}
	}
	return spelled
}
