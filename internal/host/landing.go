package host

import (
	"context"

	"mosaicstack.dev/mosaic/internal/broker"
	"mosaicstack.dev/mosaic/internal/gitgate"
	"mosaicstack.dev/mosaic/internal/org"
	"mosaicstack.dev/mosaic/internal/wire"
)

// land moves a protected branch to the commit that an approval is for: its
// target names project, branch and commit (gitgate.Target), so it allows this
// landing and no other. It looks
// whether the commit can land, lets the broker spend the approval, and moves
// the branch from the very commit that it looked at; one landing at a time, so
// that two approved ones do not cost each other their approvals.
//
// If the host dies after the approval was spent, or the branch moved under it
// at that moment, nothing has landed and the approval is gone: the evidence
// has an action.allowed that names project, commit and previous, the branch
// does not show it, and the role raises another decision. It never lands twice.
func (h *host) land(ctx context.Context, who caller, a LandArgs) (Landed, error) {
	h.landing.Lock()
	defer h.landing.Unlock()
	landed, err := h.landOnce(context.WithoutCancel(ctx), who, a)
	if err != nil {
		return Landed{}, h.noted(err, "land", who, "")
	}
	h.log.Info("a commit was landed", "project", a.Project, "branch", landed.Branch, "commit", landed.Commit, "event", landed.Event)
	return landed, nil
}

func (h *host) landOnce(ctx context.Context, who caller, a LandArgs) (Landed, error) {
	project, found := h.configured().Businesses[who.business].Projects[a.Project]
	if !found {
		return Landed{}, h.recorded(ctx, who, wire.RefuseField(wire.ProjectNotFound, "project"), a.TaskRef)
	}
	plan, err := gitgate.Check(ctx, project.Repo, a.Branch, a.Commit)
	if err != nil {
		return Landed{}, h.recorded(ctx, who, err, a.TaskRef)
	}
	target := gitgate.Target{Project: a.Project, Branch: plan.Branch, Commit: plan.New}.String()
	event, err := h.broker.Authorize(ctx, who.cap, broker.Action{
		Action: org.ActionMergeProtected, Target: &target, Decision: a.Decision, Subject: string(a.TaskRef),
		Detail: map[string]any{"project": a.Project, "branch": plan.Branch, "commit": plan.New, "previous": plan.Old},
	})
	if err != nil {
		return Landed{}, err // the broker has recorded it
	}
	if err := gitgate.Apply(ctx, plan); err != nil {
		return Landed{}, h.recorded(ctx, who, err, a.TaskRef)
	}
	return Landed{
		Project: a.Project, Branch: plan.Branch, Commit: string(plan.New), Previous: string(plan.Old), Event: event,
	}, nil
}
