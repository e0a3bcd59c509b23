package queue

import (
	"context"
	"slices"

	"mosaicstack.dev/mosaic/internal/git"
)

// Compared is what verify-commit compared.
type Compared struct {
	Row       RowID  `json:"row"`
	Round     int    `json:"round"`
	Candidate string `json:"candidate"` // the digest
	Tree      string `json:"tree"`      // full id of the tree compared with
	Paths     int    `json:"paths"`     // how many paths were compared
}

// VerifyCommit checks that a commit or tree has the candidate of the row's
// current round: of a manifest every path with its digest, of a commit every
// path that it changes against its first parent, with its content, its mode or
// its absence (QUEUE-REVIEW-33, 34, QUEUE-OPEN-78). It writes nothing. The
// candidate is never replaced by another one (QUEUE-REVIEW-35): a candidate
// that is gone is a refusal.
func (c *Checkout) VerifyCommit(ctx context.Context, s *Replayed, id RowID, treeish string) (Compared, error) {
	row := s.Row(id)
	if row == nil {
		return Compared{}, refuse(RowUnknown, "there is no row %d", id)
	}
	round := row.Review.current()
	if round == nil || round.Candidate.Kind == NoCandidate {
		return Compared{}, refuse(CandidateInvalid, "row %d has no candidate to compare with", id)
	}
	look, err := openCandidates(ctx, c.Root)
	if err != nil {
		return Compared{}, err
	}
	tree, ok, err := look.repo.ResolveTree(ctx, treeish)
	if err != nil {
		return Compared{}, gitFailure(err)
	}
	if !ok {
		return Compared{}, refuse(ArgumentInvalid, "%s is no commit and no tree", clip(treeish))
	}
	done := Compared{Row: id, Round: round.Round, Candidate: round.Candidate.Digest, Tree: string(tree)}
	var differing []string
	if round.Candidate.Kind == ManifestCandidate {
		differing, done.Paths, err = look.differFromManifest(ctx, tree, *round.Candidate.Manifest)
	} else {
		differing, done.Paths, err = look.differFromCommit(ctx, tree, round.Candidate.Digest)
	}
	if err != nil {
		return Compared{}, err
	}
	if len(differing) > 0 {
		slices.Sort(differing)
		return Compared{}, refuse(CandidateDiffers, "%s has not the candidate of round %d of row %d: %d of %d paths differ or are gone, the first is %s",
			clip(treeish), round.Round, id, len(differing), done.Paths, clip(differing[0]))
	}
	return done, nil
}

// differFromManifest returns the paths whose bytes in the tree are not the
// manifest's.
func (c candidates) differFromManifest(ctx context.Context, tree git.ObjectID, text string) (differing []string, n int, err error) {
	want, err := ParseManifest(text)
	if err != nil {
		return nil, 0, err
	}
	paths := make([]string, len(want))
	for i, e := range want {
		paths[i] = e.Path
	}
	entries, err := c.entries(ctx, tree, paths)
	if err != nil {
		return nil, 0, err
	}
	var blobs []git.ObjectID
	for _, e := range entries {
		if isRegular(e) {
			blobs = append(blobs, e.ID)
		}
	}
	sums, err := c.repo.Sums(ctx, blobs)
	if err != nil {
		return nil, 0, gitFailure(err)
	}
	for _, e := range want {
		entry := entries[e.Path]
		if !isRegular(entry) || sums[entry.ID] != e.Sum {
			differing = append(differing, e.Path)
		}
	}
	return differing, len(want), nil
}

// differFromCommit returns the paths that the candidate changes and the tree
// has otherwise.
func (c candidates) differFromCommit(ctx context.Context, tree git.ObjectID, commit string) (differing []string, n int, err error) {
	id, ok, err := c.repo.ResolveCommit(ctx, commit)
	if err != nil {
		return nil, 0, gitFailure(err)
	}
	if !ok {
		return nil, 0, refuse(CandidateDiffers, "the candidate %s is gone: no ref kept it; put a new candidate into a new round", commit)
	}
	want, err := c.repo.Changes(ctx, id)
	if err != nil {
		return nil, 0, gitFailure(err)
	}
	paths := make([]string, len(want))
	for i, e := range want {
		paths[i] = e.Path
	}
	have, err := c.entries(ctx, tree, paths)
	if err != nil {
		return nil, 0, err
	}
	for _, e := range want {
		if got := have[e.Path]; got.ID != e.ID || got.Mode != e.Mode {
			differing = append(differing, e.Path)
		}
	}
	return differing, len(want), nil
}

// entries returns what a tree has at each of the paths; those with nothing are
// left out.
func (c candidates) entries(ctx context.Context, tree git.ObjectID, paths []string) (map[string]git.Entry, error) {
	found := map[string]git.Entry{}
	for some := range slices.Chunk(paths, pathsAtOnce) {
		list, err := c.repo.Tree(ctx, tree, some...)
		if err != nil {
			return nil, gitFailure(err)
		}
		for _, e := range list {
			found[e.Path] = e
		}
	}
	return found, nil
}
