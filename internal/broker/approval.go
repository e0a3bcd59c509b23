package broker

import (
	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/org"
	"mosaicstack.dev/mosaic/internal/wire"
)

// viaCLI and viaBroker say how a close came about: by the proven human or by a
// role session.
const (
	viaCLI    = "cli"
	viaBroker = "broker"
)

// checkApproval checks that a decision authorizes the action on the target for
// this session now, which takes an answer, the right one, that nobody has used
// (BUS-AUTH-18 to 37). What it checks, in this order:
//
//	decision-not-found  the business has the decision
//	decision-mismatch   action, target, raising role instance and thread are
//	                    the same; the run may be another (BUS-AUTH-25)
//	decision-mismatch   its class is what policy says today; neither a stricter
//	                    nor a looser policy leaves an old approval in force
//	decision-open       it is closed
//	decision-refused    it was resolved, with its approvalChoice
//	decision-consumed   no action has spent it
//	                    and for role.revoke what checkRevocation says
func (c *Call) checkApproval(id wire.DecisionID, action string, target *string, class evidence.Class) error {
	s := c.Session
	d, err := c.Rows.Decision(s.Business.ID, id)
	switch {
	case err != nil:
		return err
	case d == nil:
		return wire.Refuse(wire.DecisionNotFound)
	case d.Action != action, !same(d.Target, target),
		d.RaisedByRole != s.Role, !same(d.Thread, s.Thread),
		d.Class != class:
		return wire.Refuse(wire.DecisionMismatch)
	}
	closed, err := c.Rows.DecisionClose(id)
	switch {
	case err != nil:
		return err
	case closed == nil:
		return wire.Refuse(wire.DecisionOpen)
	case closed.Kind != evidence.Resolved || *closed.Choice != d.ApprovalChoice:
		return wire.Refuse(wire.DecisionRefused)
	}
	spent, err := c.Rows.DecisionSpent(id)
	switch {
	case err != nil:
		return err
	case spent != nil:
		return wire.Refuse(wire.DecisionConsumed)
	}
	if action == org.ActionRoleRevoke {
		return c.checkRevocation(d, closed)
	}
	return nil
}

// checkRevocation checks what a role.revoke asks of its approval beyond the
// others, in this order:
//
//	role-end-refused   the human resolved it, when the target is protected
//	                   (BUS-CLAIM-22, BUS-CLAIM-24)
//	not-held           a run holds the target
//	decision-mismatch  it is the run that held it at the raise (BUS-AUTH-31)
func (c *Call) checkRevocation(d *evidence.Decision, closed *evidence.DecisionEvent) error {
	b := c.Session.Business
	if b.protected(d.Target) && closed.Via != viaCLI {
		return wire.Refuse(wire.RoleEndRefused)
	}
	holder, err := c.Rows.Holder(b.ID, wire.Role(*d.Target))
	switch {
	case err != nil:
		return err
	case holder == nil:
		return wire.Refuse(wire.NotHeld)
	case !same(d.HolderRun, &holder.Run):
		return wire.Refuse(wire.DecisionMismatch)
	}
	return nil
}

// same compares two optional values: absent equals absent alone.
func same[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
