package queue

import (
	"context"
	"crypto/sha256"
	"os"

	"mosaicstack.dev/mosaic/internal/git"
)

// maxSource bounds one file of reviewed source.
const maxSource = 256 << 20

// SourceRequest asks for a commit of the reviewed source of a row.
type SourceRequest struct {
	By      Seat
	Row     RowID
	Message string

	// Suite runs the project's own checks in dir, the unpacked prospective
	// tree; nil runs none.
	Suite func(ctx context.Context, dir string) error

	at func(CommitStep)
}

// CommitSource commits the manifest's paths of a row's current round as the
// reviewers approved them: HEAD plus those blobs and nothing else
// (QUEUE-COMMIT-61 to 64, QUEUE-OPEN-100). It takes the same steps as Commit.
// Bytes that are no longer on disk as they were approved are a refusal.
func (c *Checkout) CommitSource(ctx context.Context, r SourceRequest) (CommitDone, error) {
	p, err := c.prepareCommit(ctx, r.By, r.Message, r.at)
	if err != nil {
		return CommitDone{}, err
	}
	manifest, err := p.approved(r.Row)
	if err != nil {
		return CommitDone{}, err
	}
	paths := make([]string, len(manifest))
	for i, e := range manifest {
		paths[i] = e.Path
	}
	if err := p.begin(ctx, paths...); err != nil {
		return CommitDone{}, err
	}
	entries, err := p.source(ctx, manifest)
	if err != nil {
		return CommitDone{}, err
	}
	tree, err := p.tree(ctx, entries)
	if err != nil {
		return CommitDone{}, err
	}
	if tree != "" {
		if _, err := c.VerifyCommit(ctx, p.state, r.Row, string(tree)); err != nil {
			return CommitDone{}, err
		}
		if err := p.runSuite(ctx, entries, r.Suite); err != nil {
			return CommitDone{}, err
		}
	}
	done := CommitDone{Branch: p.branch.Name, Rev: p.state.Rev, Paths: paths}
	done.Commit, err = p.publish(ctx, tree)
	return done, err
}

// approved returns the manifest of a row's current round, which every listed
// reviewer has approved.
func (p *commit) approved(id RowID) ([]ManifestEntry, error) {
	row := p.state.Row(id)
	if row == nil {
		return nil, refuse(RowUnknown, "there is no row %d", id)
	}
	round := row.Review.current()
	if round == nil || round.Candidate.Kind != ManifestCandidate {
		return nil, refuse(CandidateInvalid, "row %d has no manifest under review; a commit is integrated with git", id)
	}
	if len(row.Reviewers) == 0 {
		return nil, refuse(ApprovalMissing, "row %d has no reviewers, so nobody approved its manifest", id)
	}
	for _, seat := range row.Reviewers {
		if receipt := round.receiptOf(seat); receipt == nil || receipt.Verdict != Approve {
			return nil, refuse(ApprovalMissing, "%s has not approved round %d of row %d", seat, round.Round, id)
		}
	}
	manifest, err := ParseManifest(*round.Candidate.Manifest)
	if err != nil {
		return nil, err
	}
	queue, view := p.c.paths()
	for _, e := range manifest {
		if e.Path == queue || e.Path == view {
			return nil, refuse(CandidateInvalid, "the manifest names %s, which is committed without --source", e.Path)
		}
	}
	return manifest, nil
}

// source stores the approved bytes from disk. Modes are HEAD's, and of a new
// file what it has on disk.
func (p *commit) source(ctx context.Context, manifest []ManifestEntry) ([]git.Entry, error) {
	look := candidates{p.c.Root, p.repo}
	head, err := look.entries(ctx, p.branch.Commit, p.paths)
	if err != nil {
		return nil, err
	}
	var entries []git.Entry
	for _, e := range manifest {
		text, executable, err := look.readSource(e.Path)
		if err != nil {
			return nil, refuse(CandidateDiffers, "the approved bytes of %s are not on disk: %v", e.Path, err)
		}
		if sha256.Sum256(text) != e.Sum {
			return nil, refuse(CandidateDiffers, "the approved bytes of %s are not on disk: it was changed after the review", e.Path)
		}
		id, err := p.repo.StoreBlob(ctx, text)
		if err != nil {
			return nil, gitFailure(err)
		}
		mode := head[e.Path].Mode
		switch {
		case mode == "" && executable:
			mode = "100755"
		case mode == "":
			mode = "100644"
		case !isRegular(head[e.Path]):
			return nil, refuse(CandidateDiffers, "HEAD has no regular file at %s", e.Path)
		}
		entries = append(entries, git.Entry{Mode: mode, ID: id, Path: e.Path})
	}
	return entries, nil
}

func (c candidates) readSource(path string) (text []byte, executable bool, err error) {
	f, err := c.openInside(path)
	if err != nil {
		return nil, false, err
	}
	info, err := f.Stat()
	f.Close()
	if err != nil {
		return nil, false, errUnreadable
	}
	text, err = c.readInside(path, maxSource)
	return text, info.Mode()&0o100 != 0, err
}

// runSuite unpacks the prospective tree and lets the suite judge it, not the
// working tree (QUEUE-COMMIT-63).
func (p *commit) runSuite(ctx context.Context, entries []git.Entry, suite func(context.Context, string) error) (err error) {
	if suite == nil {
		return nil
	}
	dir, err := p.c.scratchDir()
	if err != nil {
		return err
	}
	defer func() {
		if err == nil {
			os.RemoveAll(dir)
		}
	}()
	index, err := p.repo.NewIndex(ctx, p.branch.Commit)
	if err != nil {
		return gitFailure(err)
	}
	defer index.Remove()
	if err := index.Set(ctx, entries...); err != nil {
		return gitFailure(err)
	}
	if err := index.Unpack(ctx, dir); err != nil {
		return gitFailure(err)
	}
	if err := suite(ctx, dir); err != nil {
		return failed(SuiteFailed, "the suite failed in the prospective tree (%v); nothing was committed, and the tree is kept in %s", err, dir)
	}
	return nil
}
