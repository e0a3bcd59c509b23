package broker

import (
	"unicode/utf8"

	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/org"
	"mosaicstack.dev/mosaic/internal/wire"
)

var revokeVerbs = []Verb{
	write(Verb{
		Name:     "role.revoke",
		Sessions: RoleSession,
		Summary:  "Take a role from the run that holds it, with an approved decision or, for the chief of staff, with a reason",
		Example:  `{"role":"dev","decision":"01900000-0000-7000-8000-000000000000"}`,
		Codes: []wire.Code{
			wire.UnknownRole, wire.DecisionRequired, wire.DecisionNotFound, wire.DecisionMismatch,
			wire.DecisionOpen, wire.DecisionRefused, wire.DecisionConsumed, wire.RoleEndRefused, wire.NotHeld,
		},
	}, revokeRole),
}

// revokeArgs are the arguments of role.revoke (BUS-CLAIM-09, BUS-CLAIM-15):
// exactly one of decision and reason.
type revokeArgs struct {
	Role     wire.Role        `json:"role"`
	Decision *wire.DecisionID `json:"decision,omitempty"`
	Reason   *string          `json:"reason,omitempty" limit:"1 to 500 characters"`
}

// revoked is the result of role.revoke (BUS-OPEN-53).
type revoked struct {
	Revoked bool `json:"revoked"`
}

// revokeRole ends the current claim of a role. The revoked run gets not-holder
// at its next call and can never claim the role again. What it checks:
//
//	invalid-request    decision or reason, not both; the reason's length
//	unknown-role       the business has the role
//	                   and then permit for role.revoke, with a decision,
//	                   or permitEnd, with a reason
//	decision-required  one of them is given
func revokeRole(c *Call, a revokeArgs) (any, error) {
	switch {
	case a.Decision != nil && a.Reason != nil:
		return nil, wire.RefuseField(wire.InvalidRequest, "reason")
	case a.Reason != nil && !between(*a.Reason, 1, 500):
		return nil, wire.RefuseField(wire.InvalidRequest, "reason")
	case !c.Session.Business.hasRole(a.Role):
		return nil, wire.RefuseField(wire.UnknownRole, "role")
	}
	target := string(a.Role)
	var p permit
	var err error
	var detail map[string]any
	switch {
	case a.Decision != nil:
		p, err = c.permit(org.ActionRoleRevoke, &target, *a.Decision)
	case a.Reason != nil:
		p, err = c.permitEnd(target)
		detail = map[string]any{"reason": *a.Reason}
	default:
		// Even a role that may revoke by itself says so in a decision first:
		// the raise records which run held the target (BUS-CLAIM-10).
		err = wire.Refuse(wire.DecisionRequired)
	}
	if err != nil {
		return nil, err
	}
	holder, err := c.Rows.Holder(c.Session.Business.ID, a.Role)
	switch {
	case err != nil:
		return nil, err
	case holder == nil:
		return nil, wire.Refuse(wire.NotHeld)
	}
	if _, err := c.allow(p, &target, detail); err != nil {
		return nil, err
	}
	_, err = c.Tx.AppendClaim(evidence.Claim{
		Business: c.Session.Business.ID,
		Role:     a.Role,
		Run:      holder.Run,
		Op:       evidence.OpRevoke,
		By:       string(c.Session.Run),
		Decision: a.Decision,
		Reason:   a.Reason,
	})
	if told := c.Broker.options.ClaimRevoked; told != nil {
		c.committed = append(c.committed, func() { told(c.Session.Business.ID, holder.Run) })
	}
	return revoked{true}, err
}

// permitEnd checks that the session may end the target's run with a reason
// alone, which is the action role.end, in this order:
//
//	role-end-refused   the target is not the caller itself (BUS-CLAIM-19)
//	role-end-refused   only the chief of staff ends a protected instance
//	                   (BUS-CLAIM-21, 23)
//	decision-required  the role file lists role.end within-role (BUS-CLAIM-20)
func (c *Call) permitEnd(target string) (permit, error) {
	s := c.Session
	class, err := s.classify(org.ActionRoleEnd, &target)
	if err != nil {
		return permit{}, err
	}
	chief := s.Instance().Definition == chiefDefinition && class == evidence.WithinRole
	if wire.Role(target) == s.Role || s.Business.protected(&target) && !chief {
		return permit{}, wire.Refuse(wire.RoleEndRefused)
	}
	p, err := c.permit(org.ActionRoleEnd, &target, "")
	p.operation = "role.revoke"
	return p, err
}

// between reports whether text has low to high characters.
func between(text string, low, high int) bool {
	n := utf8.RuneCountInString(text)
	return low <= n && n <= high
}
