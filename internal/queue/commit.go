package queue

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mosaicstack.dev/mosaic/internal/git"
	"mosaicstack.dev/mosaic/internal/wire"
)

// CommitStep names a place between two steps of a commit, where tests let
// others act.
type CommitStep string

// The places, in order.
const (
	CommitChecked    CommitStep = "checked"    // step 1 is done
	CommitSnapshot   CommitStep = "snapshot"   // step 2 is done
	CommitBuilt      CommitStep = "built"      // step 6 is done, the guard not yet checked again
	CommitPublishing CommitStep = "publishing" // the guard is checked again, the branch not moved
	CommitPublished  CommitStep = "published"  // the branch moved, the index not reconciled
)

// CommitRequest asks for a commit of the queue.
type CommitRequest struct {
	By      Seat
	Message string
	Genesis bool // the first commit of the queue

	// Verify judges the snapshot in dir outside of any repository, with the
	// installed program. base says whether dir has the base.json that the log
	// must extend; otherwise the log must be genesis alone.
	Verify func(ctx context.Context, dir string, base bool) error

	at func(CommitStep)
}

// CommitDone is a commit that was made. Commit is "" when HEAD has what the
// snapshot has.
type CommitDone struct {
	Commit string   `json:"commit"`
	Branch string   `json:"branch"`
	Rev    int      `json:"rev"`
	Paths  []string `json:"paths"`
}

// Commit commits exactly the bytes of a verified snapshot of the two queue
// files, and nothing that anyone has staged (QUEUE-COMMIT-31 to 60). The queue's
// lock is held for the snapshot alone.
//
// What is true if it ends: before the branch moves nothing has changed but
// unreferenced objects; afterwards the commit stands, and the guard refuses
// ordinary commits until the index is reconciled, each naming the command. That
// last case is an Uncertain refusal.
func (c *Checkout) Commit(ctx context.Context, r CommitRequest) (done CommitDone, err error) {
	p, err := c.prepareCommit(ctx, r.By, r.Message, r.at)
	if err != nil {
		return CommitDone{}, err
	}
	queue, view := c.paths()
	base, err := p.one(ctx, queue)
	if err != nil {
		return CommitDone{}, err
	}
	if err := p.begin(ctx, queue, view); err != nil {
		return CommitDone{}, err
	}
	switch {
	case r.Genesis && base != nil:
		return CommitDone{}, refuse(GenesisCommitted, "HEAD has %s already; commit without --genesis", queue)
	case !r.Genesis && base == nil:
		return CommitDone{}, refuse(GenesisNotCommitted, "genesis not committed: the first commit of the queue is made with --genesis")
	}
	dir, err := c.scratchDir()
	if err != nil {
		return CommitDone{}, err
	}
	defer func() { err = keepOnFailure(dir, err) }()
	texts, rev, err := p.snapshot(ctx, dir, base, r.Verify)
	if err != nil {
		return CommitDone{}, err
	}
	entries, err := p.store(ctx, map[string][]byte{queue: texts.queue, view: texts.view})
	if err != nil {
		return CommitDone{}, err
	}
	done = CommitDone{Branch: p.branch.Name, Rev: rev, Paths: []string{queue, view}}
	tree, err := p.tree(ctx, entries)
	if err != nil {
		return CommitDone{}, err
	}
	done.Commit, err = p.publish(ctx, tree)
	return done, err
}

// commit is one commit on its way.
type commit struct {
	c       *Checkout
	repo    *git.Repository
	state   *Replayed
	branch  git.Branch // with H, the commit that HEAD had at the beginning
	message string
	paths   []string // what the commit may change
	at      func(CommitStep)
}

// prepareCommit is the part of step 1 that needs no look at the index: who
// asks, where HEAD is.
func (c *Checkout) prepareCommit(ctx context.Context, by Seat, message string, at func(CommitStep)) (*commit, error) {
	if strings.TrimSpace(message) == "" {
		return nil, refuse(ArgumentInvalid, "the commit has no message")
	}
	if !strings.HasSuffix(message, "\n") {
		message += "\n"
	}
	r, err := c.Read(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.State.AllowCommit(by); err != nil {
		return nil, err
	}
	repo, err := git.Open(ctx, c.Root)
	if err != nil {
		return nil, gitFailure(err)
	}
	branch, found, err := repo.FindBranch(ctx, r.State.Branch)
	if err != nil {
		return nil, gitFailure(err)
	}
	if !found {
		return nil, refuse(WrongBranch, "branch %s has no commit, or stands for another one", r.State.Branch)
	}
	if at == nil {
		at = func(CommitStep) {}
	}
	return &commit{c: c, repo: repo, state: r.State, branch: branch, message: message, at: at}, nil
}

// begin is the rest of step 1: the guard is active, and nobody has staged a
// change of the paths.
func (p *commit) begin(ctx context.Context, paths ...string) error {
	p.paths = paths
	if err := p.c.checkGuard(ctx, p.repo, p.branch.Commit); err != nil {
		return err
	}
	changed, err := p.staged(ctx, paths)
	if err != nil {
		return err
	}
	if changed {
		return refuse(PathsStaged, "a change of what this commit is about is staged; take it out first: %s", ResetCommand(paths...))
	}
	p.at(CommitChecked)
	return nil
}

// staged reports whether the shared index has something else at the paths than
// H.
func (p *commit) staged(ctx context.Context, paths []string) (bool, error) {
	index, err := p.repo.Staged(ctx, paths...)
	if err != nil {
		return false, gitFailure(err)
	}
	head, err := p.repo.Tree(ctx, p.branch.Commit, paths...)
	if err != nil {
		return false, gitFailure(err)
	}
	byPath := func(a, b git.Entry) int { return strings.Compare(a.Path, b.Path) }
	slices.SortFunc(index, byPath)
	slices.SortFunc(head, byPath)
	return !slices.Equal(index, head), nil
}

// one returns H's entry for a path; nil when there is none.
func (p *commit) one(ctx context.Context, path string) (*git.Entry, error) {
	entries, err := p.repo.Tree(ctx, p.branch.Commit, path)
	if err != nil {
		return nil, gitFailure(err)
	}
	for _, e := range entries {
		if e.Path == path {
			return &e, nil
		}
	}
	return nil, nil
}

// texts are the bytes of a verified snapshot.
type texts struct{ queue, view []byte }

// snapshot is steps 2 to 4.
func (p *commit) snapshot(ctx context.Context, dir string, base *git.Entry, verify func(context.Context, string, bool) error) (texts, int, error) {
	rev, err := p.c.Snapshot(ctx, dir)
	if err != nil {
		return texts{}, 0, err
	}
	p.at(CommitSnapshot)
	if err := p.writeBase(ctx, dir, base); err != nil {
		return texts{}, 0, err
	}
	if err := verify(ctx, dir, base != nil); err != nil {
		return texts{}, 0, err
	}
	var t texts
	for _, read := range []struct {
		to   *[]byte
		name string
	}{{&t.queue, SnapshotQueue}, {&t.view, SnapshotView}} {
		if *read.to, err = os.ReadFile(filepath.Join(dir, read.name)); err != nil {
			return texts{}, 0, failed(ReadFailed, "the snapshot cannot be read (%s)", cause(err))
		}
	}
	if base == nil {
		err = p.checkFirst(ctx, t.queue)
	}
	return t, rev, err
}

// writeBase writes what the validator needs of HEAD, so that it runs no git.
func (p *commit) writeBase(ctx context.Context, dir string, base *git.Entry) error {
	tree, err := p.repo.TreeOf(ctx, p.branch.Commit)
	if err != nil {
		return gitFailure(err)
	}
	files := map[string][]byte{"base.id": []byte(string(p.branch.Commit) + "\n" + string(tree) + "\n")}
	if base != nil {
		if files[BaseFile], err = p.repo.Blob(ctx, base.ID); err != nil {
			return gitFailure(err)
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return failed(WriteFailed, "the snapshot cannot be completed (%s)", cause(err))
		}
	}
	return nil
}

// BaseFile is HEAD's queue file in a snapshot's directory.
const BaseFile = "base.json"

// checkFirst demands of a first commit that it is genesis alone, of this
// checkout, from a map that HEAD has (QUEUE-COMMIT-25 to 27).
func (p *commit) checkFirst(ctx context.Context, text []byte) error {
	f, s, err := Load(text)
	if err != nil {
		return err
	}
	if len(f.Log) != 1 {
		return refuse(GenesisInvalid, "the first commit of a queue holds genesis alone, and the log has %d entries", len(f.Log))
	}
	if s.Root != p.c.Root || s.Branch != p.branch.Name {
		return refuse(GenesisInvalid, "genesis was made for %s on branch %s, and this is %s on branch %s", s.Root, s.Branch, p.c.Root, p.branch.Name)
	}
	facts, err := f.Log[0].genesis()
	if err != nil {
		return err
	}
	entries, err := p.repo.Tree(ctx, p.branch.Commit)
	if err != nil {
		return gitFailure(err)
	}
	if !slices.ContainsFunc(entries, func(e git.Entry) bool { return string(e.ID) == facts.MapBlob }) {
		return refuse(MapInvalid, "HEAD has no file with the migration map that genesis was made from, blob %s", facts.MapBlob)
	}
	return nil
}

// genesis reads the facts of a genesis entry.
func (e *Entry) genesis() (*GenesisFacts, error) {
	var r result
	if err := wire.Decode(e.Result, &r); err != nil || r.Genesis == nil {
		return nil, invalid("the result of log entry %d is none of genesis", e.Rev)
	}
	return r.Genesis, nil
}

// store is step 5: the bytes become blobs as they are.
func (p *commit) store(ctx context.Context, files map[string][]byte) ([]git.Entry, error) {
	var entries []git.Entry
	for _, path := range p.paths {
		text, ok := files[path]
		if !ok {
			continue
		}
		id, err := p.repo.StoreBlob(ctx, text)
		if err != nil {
			return nil, gitFailure(err)
		}
		entries = append(entries, git.Entry{Mode: "100644", ID: id, Path: path})
	}
	return entries, nil
}

// tree is step 6. It refuses a tree that changes anything else.
func (p *commit) tree(ctx context.Context, entries []git.Entry) (git.ObjectID, error) {
	index, err := p.repo.NewIndex(ctx, p.branch.Commit)
	if err != nil {
		return "", gitFailure(err)
	}
	defer index.Remove()
	if err := index.Set(ctx, entries...); err != nil {
		return "", gitFailure(err)
	}
	tree, err := index.WriteTree(ctx)
	if err != nil {
		return "", gitFailure(err)
	}
	changed, err := p.repo.Differing(ctx, p.branch.Commit, tree)
	if err != nil {
		return "", gitFailure(err)
	}
	for _, path := range changed {
		if !slices.Contains(p.paths, path) {
			return "", refuse(CommitForeign, "the commit would change %s too; nothing was committed", path)
		}
	}
	if len(changed) == 0 {
		return "", nil
	}
	p.at(CommitBuilt)
	return tree, nil
}

// publish is steps 7 and 8. An empty tree says that there is nothing to commit.
func (p *commit) publish(ctx context.Context, tree git.ObjectID) (string, error) {
	if tree == "" {
		return "", nil
	}
	id, err := p.repo.CommitTree(ctx, tree, p.branch.Commit, p.message)
	if err != nil {
		return "", failed(GitFailed, "git made no commit, for which it needs your user.name and user.email (%v); nothing has changed", err)
	}
	if err := p.c.checkGuard(ctx, p.repo, p.branch.Commit); err != nil {
		return "", err
	}
	p.at(CommitPublishing)
	switch err := p.repo.Advance(ctx, p.branch, id, "queue-commit"); {
	case errors.Is(err, git.ErrMoved):
		return "", failed(BranchMoved, "branch %s has moved or is locked; nothing has changed, start again", p.branch.Name)
	case err != nil:
		return "", uncertain(GitFailed, "uncertain whether branch %s moved to %s (%v); look before you repeat", p.branch.Name, id, err)
	}
	p.at(CommitPublished)
	return string(id), p.reconcile(ctx, id)
}

// reconcile is step 8: the shared index follows the commit, unless somebody
// staged one of the paths meanwhile.
func (p *commit) reconcile(ctx context.Context, id git.ObjectID) error {
	fix := ResetCommand(p.paths...)
	unfinished := func(why string) error {
		return uncertain(IndexNotReconciled, "committed %s, but %s; ordinary commits are refused until this has run in %s: %s", id, why, p.c.Root, fix)
	}
	head, _, err := p.repo.HeadCommit(ctx)
	if err != nil {
		return unfinished("HEAD cannot be read, and the index was left alone")
	}
	if head != id {
		return unfinished("HEAD is at another commit, which passed the guard by: look first, the index was left alone")
	}
	switch changed, err := p.staged(ctx, p.paths); {
	case err != nil:
		return unfinished("the index cannot be read")
	case changed:
		return unfinished("somebody staged a change of the same files: look first, the index was left alone")
	}
	switch err := p.repo.Unstage(ctx, p.paths...); {
	case errors.Is(err, git.ErrIndexLocked):
		return unfinished("another git process has the index")
	case err != nil:
		return unfinished("the index was not reconciled")
	}
	return nil
}

// scratchDir makes a private directory outside of the repository.
func (c *Checkout) scratchDir() (string, error) {
	dir, err := os.MkdirTemp("", "mosaic-queue-commit-")
	if err != nil {
		return "", failed(WriteFailed, "no temporary directory can be made (%s)", cause(err))
	}
	real, err := filepath.EvalSymlinks(dir)
	if err == nil && real != c.Root && !strings.HasPrefix(real, c.Root+string(filepath.Separator)) {
		return real, nil
	}
	os.Remove(dir)
	return "", refuse(SettingsInvalid, "the directory for temporary files lies inside the repository; set TMPDIR to one outside")
}

// keepOnFailure removes a scratch directory, or names it in the refusal, so
// that a person can look at what was refused (QUEUE-OPEN-101).
func keepOnFailure(dir string, err error) error {
	var r *Refusal
	if !errors.As(err, &r) || r.Code == IndexNotReconciled {
		os.RemoveAll(dir)
		return err
	}
	kept := *r
	kept.Sentence += "; the snapshot is kept in " + dir
	return &kept
}
