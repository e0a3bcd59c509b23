package gitgate

import (
	"context"
	"errors"
	"time"

	"mosaicstack.dev/mosaic/internal/git"
	"mosaicstack.dev/mosaic/internal/wire"
)

// Plan is a landing that can happen now.
type Plan struct {
	Repo   string       // the repository's root
	Branch string       // such as main
	Old    git.ObjectID // what the branch points at
	New    git.ObjectID // the commit to land
}

// Check looks whether a commit can land on a branch of the repository at repo,
// an absolute path. commit is a full id. An empty branch means the one that
// the repository's HEAD is on. It changes nothing.
//
// Errors are *wire.Error: project-not-found, project-unsafe, project-failed,
// branch-not-found, commit-not-found, already-landed, main-moved when the
// commit does not build on the branch, and main-busy.
func Check(ctx context.Context, repo, branch, commit string) (Plan, error) {
	r, err := git.Open(ctx, repo)
	if err != nil {
		return Plan{}, refusal(err)
	}
	b, err := findBranch(ctx, r, branch)
	if err != nil {
		return Plan{}, refusal(err)
	}
	id, ok := git.ParseObjectID(commit)
	if !ok || len(id) != len(b.Commit) {
		return Plan{}, wire.Refuse(wire.CommitNotFound)
	}
	if err := checkCommit(ctx, r, b, id); err != nil {
		return Plan{}, refusal(err)
	}
	if _, err := checkWorktrees(ctx, r, b); err != nil {
		return Plan{}, refusal(err)
	}
	return Plan{Repo: r.Dir(), Branch: b.Name, Old: b.Commit, New: id}, nil
}

func findBranch(ctx context.Context, r *git.Repository, name string) (git.Branch, error) {
	if name == "" {
		head, ok, err := r.HeadBranch(ctx)
		if err != nil {
			return git.Branch{}, err
		}
		if !ok {
			return git.Branch{}, wire.Refuse(wire.BranchNotFound)
		}
		name = head
	}
	b, ok, err := r.FindBranch(ctx, name)
	if err == nil && !ok {
		err = wire.Refuse(wire.BranchNotFound)
	}
	return b, err
}

// checkCommit holds that the commit is there, whole, and a fast-forward.
func checkCommit(ctx context.Context, r *git.Repository, b git.Branch, id git.ObjectID) error {
	if ok, err := r.IsCommit(ctx, id); err != nil || !ok {
		return orRefuse(err, wire.CommitNotFound)
	}
	if landed, err := r.IsAncestor(ctx, id, b.Commit); err != nil || landed {
		return orRefuse(err, wire.AlreadyLanded)
	}
	if forward, err := r.IsAncestor(ctx, b.Commit, id); err != nil || !forward {
		return orRefuse(err, wire.MainMoved)
	}
	if whole, err := r.Complete(ctx, b.Commit, id); err != nil || !whole {
		return orRefuse(err, wire.CommitNotFound)
	}
	return nil
}

func orRefuse(err error, code wire.Code) error {
	if err != nil {
		return err
	}
	return wire.Refuse(code)
}

// checkWorktrees returns the work tree that has the branch checked out, or nil.
// It refuses when there are several, when one is not clean, or when one will
// come back to the branch after a rebase.
func checkWorktrees(ctx context.Context, r *git.Repository, b git.Branch) (*git.Worktree, error) {
	trees, err := r.Worktrees(ctx)
	if err != nil {
		return nil, err
	}
	var found *git.Worktree
	for _, w := range trees {
		uses, err := w.Uses(b)
		if err != nil {
			return nil, err
		}
		if !uses {
			continue
		}
		if found != nil || w.Branch != b.Ref() {
			return nil, wire.Refuse(wire.MainBusy)
		}
		found = &w
	}
	if found == nil {
		return nil, nil
	}
	if programs, err := r.Programs(ctx); err != nil || programs {
		return nil, orRefuse(err, wire.ProjectUnsafe)
	}
	if clean, err := found.Clean(ctx); err != nil || !clean {
		return nil, orRefuse(err, wire.MainBusy)
	}
	return found, nil
}

// Apply carries out a plan. Errors are those of Check, and outcome-unknown.
// Applied a second time it refuses main-moved.
//
// Once the branch is locked, the end of ctx no longer interrupts it: a landing
// that was begun is finished or taken back.
func Apply(ctx context.Context, p Plan) error {
	r, err := git.Open(ctx, p.Repo)
	if err != nil {
		return refusal(err)
	}
	b := git.Branch{Name: p.Branch, Commit: p.Old}
	if _, err := checkWorktrees(ctx, r, b); err != nil {
		return refusal(err)
	}
	if err := ctx.Err(); err != nil {
		return refusal(err)
	}
	// Bounded all the same: each git command has its own time limit.
	ctx = context.WithoutCancel(ctx)
	move, err := r.PrepareMove(ctx, b, p.New)
	if err != nil {
		return refusal(whyNotLocked(ctx, r, b, err))
	}
	return finish(ctx, r, b, p.New, move)
}

// whyNotLocked tells a branch that moved from one that somebody has locked.
func whyNotLocked(ctx context.Context, r *git.Repository, b git.Branch, cause error) error {
	if !errors.Is(cause, git.ErrLost) {
		return cause
	}
	now, ok, err := r.FindBranch(ctx, b.Name)
	switch {
	case err != nil:
		return err
	case !ok || now.Commit != b.Commit:
		return wire.Refuse(wire.MainMoved)
	default:
		return wire.Refuse(wire.MainBusy)
	}
}

// finish moves the work tree, if one has the branch checked out, and then the
// branch, which is locked. Only now can nobody commit to it any more, so only
// now does the look at the work trees hold.
func finish(ctx context.Context, r *git.Repository, b git.Branch, to git.ObjectID, move *git.Move) error {
	tree, err := checkWorktrees(ctx, r, b)
	if err != nil {
		move.Abort()
		return refusal(err)
	}
	if tree != nil {
		if err := moveTree(ctx, tree, b, to); err != nil {
			move.Abort()
			return refusal(err)
		}
	}
	if move.Commit() == nil {
		return nil
	}
	return settle(ctx, r, b, to, tree)
}

// moveTree writes the commit's files. git checks all of them before it touches
// one, so a refusal has changed nothing.
func moveTree(ctx context.Context, tree *git.Worktree, b git.Branch, to git.ObjectID) error {
	if err := tree.Move(ctx, b.Commit, to); err != nil {
		if git.Refused(err) || errors.Is(err, git.ErrInTheWay) {
			return wire.Refuse(wire.MainBusy)
		}
		return err
	}
	// Somebody may have switched to another branch in that moment; the files
	// of the landing do not belong there.
	if ref, err := tree.HeadRef(ctx); err != nil || ref != b.Ref() {
		return errors.Join(orRefuse(err, wire.MainBusy), tree.Move(ctx, to, b.Commit))
	}
	return nil
}

// settleTime is how long an uncertain end is looked into.
const settleTime = 10 * time.Second

// settle finds out what became of a move whose end git did not report.
func settle(ctx context.Context, r *git.Repository, b git.Branch, to git.ObjectID, tree *git.Worktree) error {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	now, ok, err := r.FindBranch(ctx, b.Name)
	switch {
	case err != nil || !ok:
		return wire.Refuse(wire.OutcomeUnknown)
	case now.Commit == to:
		return nil
	}
	if tree != nil && tree.Move(ctx, to, b.Commit) != nil {
		return wire.Refuse(wire.OutcomeUnknown)
	}
	if now.Commit != b.Commit {
		return wire.Refuse(wire.MainMoved)
	}
	return wire.Refuse(wire.ProjectFailed)
}

// refusal gives every failure a static code.
func refusal(err error) error {
	var refused *wire.Error
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.Is(err, git.ErrMissing):
		return wire.Refuse(wire.ProjectNotFound)
	case errors.Is(err, git.ErrUnsafe):
		return wire.Refuse(wire.ProjectUnsafe)
	default:
		return wire.Refuse(wire.ProjectFailed)
	}
}
