package broker

import (
	"context"
	"slices"

	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/org"
	"mosaicstack.dev/mosaic/internal/wire"
)

// The trusted calls of the host that start from a run's capability. None of
// them is a socket verb (BUS-CTL-46).

// RunIdentity is what a capability proves (BUS-CTL-47).
type RunIdentity struct {
	Business wire.Business `json:"business"`
	Role     wire.Role     `json:"role"`
	Run      wire.Run      `json:"run"`
}

// Identity returns whose capability this is, or unknown-capability.
func (b *Broker) Identity(cap wire.Capability) (RunIdentity, error) {
	s, err := b.runSession(cap)
	if err != nil {
		return RunIdentity{}, err
	}
	return RunIdentity{Business: s.Business.ID, Role: s.Role, Run: s.Run}, nil
}

// runSession is the session of a run's capability. A reader's proves no run.
func (b *Broker) runSession(cap wire.Capability) (Session, error) {
	s, found := b.sessions.session(cap)
	if !found || s.Kind != RoleSession {
		return Session{}, wire.Refuse(wire.UnknownCapability)
	}
	return s, nil
}

// HostRefusals are the codes that the host may record (BUS-OPEN-16).
var HostRefusals = []wire.Code{
	wire.InstanceNotListed, wire.InstanceRunning, wire.Capacity,
	wire.LaunchRevoked, wire.SpawnFailed, wire.SandboxUnavailable, wire.SandboxLowered, wire.DataRootUnsafe,
	wire.CommandMissing, wire.InvalidHarness, wire.ThreadRequired,
	// Of a landing.
	wire.ProjectNotFound, wire.ProjectUnsafe, wire.ProjectFailed, wire.BranchNotFound,
	wire.CommitNotFound, wire.AlreadyLanded, wire.MainMoved, wire.MainBusy, wire.OutcomeUnknown,
}

// Refuse records a refusal that the host decided itself (BUS-CTL-50 to 54):
// the code and nothing else, on the trail of the task when subject is a task
// ref. invalid-request for any other code than the host's own.
func (b *Broker) Refuse(ctx context.Context, cap wire.Capability, code wire.Code, subject string) error {
	s, err := b.runSession(cap)
	if err != nil {
		return err
	}
	if !slices.Contains(HostRefusals, code) {
		return wire.RefuseField(wire.InvalidRequest, "code")
	}
	err = b.store.Update(ctx, func(tx *evidence.Tx) error {
		return appendRefusal(tx, s, "", &refusalTarget{TaskRef: wire.TaskRef(subject)}, wire.Refuse(code))
	}, nil)
	if err != nil {
		return b.public(err)
	}
	return nil
}

// LaunchesRevoked reports the business's launch state (BUS-LAUNCH-08).
func (b *Broker) LaunchesRevoked(ctx context.Context, business wire.Business) (bool, error) {
	revoked := false
	err := b.store.View(ctx, func(s *evidence.Snapshot) (err error) {
		revoked, err = launchesRevoked(&s.Rows, business)
		return err
	})
	if err != nil {
		return false, b.public(err)
	}
	return revoked, nil
}

// launchesRevoked reads the launch state. Launches are allowed until the
// person has revoked them.
func launchesRevoked(rows *evidence.Rows, business wire.Business) (bool, error) {
	latest, err := rows.LaunchState(business)
	return latest != nil && latest.Kind == evidence.LaunchRevoked, err
}

// Action is what a trusted adapter asks authority for. Detail holds further
// facts for the evidence (such as the commit that is about to land); it cannot
// replace action, target or operation. Subject is a task ref or "".
type Action struct {
	Action   string
	Target   *string
	Decision wire.DecisionID // the approval to spend, or ""
	Subject  string
	Detail   map[string]any
}

// The names under which a trusted call's refusal is recorded.
const (
	callAuthorize       = "authorize"
	callAuthorizeLaunch = "authorizeLaunch"
)

// Authorize checks that the capability's run holds its claim and may take the
// action on its target now, spends the decision when one is given, and appends
// the evidence, in one transaction. It performs nothing (BUS-AUTH-48 to 51).
// Callers repeat it after waiting rather than rely on an earlier answer. A
// refusal is recorded. It returns the id of the action.allowed event.
func (b *Broker) Authorize(ctx context.Context, cap wire.Capability, a Action) (wire.EventID, error) {
	return b.authorize(ctx, callAuthorize, cap, a)
}

// AuthorizeLaunch authorizes role.launch of instance for the caller; a refusal
// is recorded (BUS-CTL-48, 49). decision is the approval to spend, or "".
func (b *Broker) AuthorizeLaunch(ctx context.Context, cap wire.Capability, instance wire.Role, decision wire.DecisionID) error {
	target := string(instance)
	_, err := b.authorize(ctx, callAuthorizeLaunch, cap, Action{
		Action: org.ActionRoleLaunch, Target: &target, Decision: decision,
	})
	return err
}

// MayLaunch checks what AuthorizeLaunch checks, and spends and allows nothing: a
// host asks it before it looks at what could stand in the way of the launch, so
// that nobody without authority learns what runs and no approval is spent for
// nothing. A refusal is recorded as one of AuthorizeLaunch.
func (b *Broker) MayLaunch(ctx context.Context, cap wire.Capability, instance wire.Role, decision wire.DecisionID) error {
	target := string(instance)
	_, err := b.authorized(ctx, callAuthorizeLaunch, cap, Action{
		Action: org.ActionRoleLaunch, Target: &target, Decision: decision,
	}, func(*Call, permit) (evidence.Event, error) { return evidence.Event{}, nil })
	return err
}

// refusalTarget names what a refused trusted call was about.
type refusalTarget struct {
	TaskRef  wire.TaskRef
	Decision wire.DecisionID
}

func (b *Broker) authorize(ctx context.Context, call string, cap wire.Capability, a Action) (wire.EventID, error) {
	return b.authorized(ctx, call, cap, a, func(c *Call, p permit) (evidence.Event, error) {
		return c.allow(p, taskSubject(a.Subject), a.Detail)
	})
}

// authorized does use with the permit of an action, in its transaction.
func (b *Broker) authorized(ctx context.Context, call string, cap wire.Capability, a Action, use func(*Call, permit) (evidence.Event, error)) (wire.EventID, error) {
	s, err := b.runSession(cap)
	if err != nil {
		return "", err
	}
	c := &Call{Broker: b, Session: s}
	var allowed evidence.Event
	err = b.store.Update(ctx, func(tx *evidence.Tx) (err error) {
		c.Rows, c.Tx = &tx.Rows, tx
		if err := s.holds(c.Rows); err != nil {
			return err
		}
		permit, err := c.permit(a.Action, a.Target, a.Decision)
		if err != nil {
			return err
		}
		allowed, err = use(c, permit)
		return err
	}, func(tx *evidence.Tx, refusal error) error {
		about := refusalTarget{TaskRef: wire.TaskRef(a.Subject), Decision: a.Decision}
		return appendRefusal(tx, s, call, &about, refusal)
	})
	if err != nil {
		return "", b.public(err)
	}
	return allowed.ID, nil
}

// taskSubject is the subject when it is a task ref.
func taskSubject(subject string) *string {
	if !validTaskRef(subject) {
		return nil
	}
	return &subject
}
