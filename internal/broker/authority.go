package broker

import (
	"encoding/json"
	"maps"
	"slices"

	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/org"
	"mosaicstack.dev/mosaic/internal/wire"
)

// Definitions that the rules themselves name.
const (
	// protectedDefinition is the definition whose instances only the chief of
	// staff or the human may end (BUS-AUTH-16).
	protectedDefinition = "assistant"
	chiefDefinition     = "chief-of-staff"
)

// protected reports whether the target is an instance that only the chief of
// staff or the human may end.
func (b *Business) protected(target *string) bool {
	return target != nil && b.Roles[wire.Role(*target)].Definition == protectedDefinition
}

// classify says how free the session's role is to take an action on a target
// now (BUS-AUTH-01). unknown-action is its only refusal.
func (s Session) classify(action string, target *string) (evidence.Class, error) {
	switch {
	case !org.KnownAction(action):
		return "", wire.RefuseField(wire.UnknownAction, "action")
	case org.HardWait(action),
		action == org.ActionRoleLaunch && !s.launches(),
		action == org.ActionRoleRevoke && s.Business.protected(target):
		return evidence.Gated, nil
	}
	authority := s.Instance().Authority
	switch {
	case authority == nil:
		return evidence.Gated, nil
	// A role that lists an action in both maps gets the stricter class.
	case slices.Contains(authority.CrossRole, action):
		return evidence.CrossRole, nil
	case slices.Contains(authority.WithinRole, action):
		return evidence.WithinRole, nil
	}
	return evidence.Gated, nil
}

// launches reports whether the business's launch block names the session's
// role as its launcher (BUS-LAUNCH-07).
func (s Session) launches() bool {
	return s.Business.Launch != nil && s.Business.Launch.By == s.Role
}

// checkTarget refuses unknown-role for an action on a role instance, or on a
// recipient, that the business does not have (BUS-OPEN-38).
func (b *Business) checkTarget(action string, target *string) error {
	var known bool
	switch action {
	case org.ActionRoleLaunch, org.ActionRoleRevoke, org.ActionRoleEnd:
		known = target != nil && b.hasRole(wire.Role(*target))
	case org.ActionMessageSend:
		known = target != nil && b.receives(wire.Role(*target))
	default:
		known = true
	}
	if !known {
		return wire.RefuseField(wire.UnknownRole, "target")
	}
	return nil
}

func (b *Business) hasRole(role wire.Role) bool {
	_, found := b.Roles[role]
	return found
}

// receives reports whether messages can be addressed to role.
func (b *Business) receives(role wire.Role) bool {
	return role == wire.HumanRole || role == wire.TesterRole || b.hasRole(role)
}

// permit is an action that the check below has allowed in the transaction that
// is open now. It is worth nothing outside of it.
type permit struct {
	action    string
	target    *string
	operation string           // the verb that acts, when its name is not the action's
	spends    *wire.DecisionID // the approval that allow uses up, or nil
	message   *wire.MessageID  // the message that the action sent, or nil
}

// permit is the one authority-and-consumption check: authorize, authorizeLaunch,
// message.send and role.revoke all pass through it (BUS-AUTH-38). decision is
// the approval to spend, or "". It checks, in this order:
//
//	unknown-action     the vocabulary has the action
//	unknown-role       the business has the instance or recipient it targets
//	launch-revoked     role.launch: launches are allowed now (BUS-LAUNCH-08)
//	decision-required  the class is within-role, or a decision is given
//	                   and then the approval, see checkApproval
//
// The caller appends the evidence with allow in the same transaction.
func (c *Call) permit(action string, target *string, decision wire.DecisionID) (permit, error) {
	class, err := c.Session.classify(action, target)
	if err != nil {
		return permit{}, err
	}
	if err := c.Session.Business.checkTarget(action, target); err != nil {
		return permit{}, err
	}
	if action == org.ActionRoleLaunch {
		revoked, err := launchesRevoked(c.Rows, c.Session.Business.ID)
		switch {
		case err != nil:
			return permit{}, err
		case revoked:
			return permit{}, wire.Refuse(wire.LaunchRevoked)
		}
	}
	p := permit{action: action, target: target}
	switch {
	case decision != "":
		p.spends = &decision
		return p, c.checkApproval(decision, action, target, class)
	case class != evidence.WithinRole:
		return permit{}, wire.Refuse(wire.DecisionRequired)
	}
	return p, nil
}

// allowedBody is the body of action.allowed as every permit has it.
type allowedBody struct {
	Action    string          `json:"action"`
	Target    *string         `json:"target"`
	Operation string          `json:"operation,omitempty"`
	Message   *wire.MessageID `json:"message,omitempty"`
}

// allow appends the action.allowed event of a permit, which spends its
// approval. detail holds further facts for the body and cannot replace the
// permit's own.
func (c *Call) allow(p permit, subject *string, detail map[string]any) (evidence.Event, error) {
	body, err := p.body(detail)
	if err != nil {
		return evidence.Event{}, err
	}
	return c.Tx.AppendEvent(evidence.Event{
		Business: c.Session.Business.ID,
		Role:     &c.Session.Role,
		Run:      &c.Session.Run,
		Kind:     evidence.ActionAllowed,
		Subject:  subject,
		Spends:   p.spends,
		Message:  p.message,
		Body:     body,
	})
}

func (p permit) body(detail map[string]any) ([]byte, error) {
	own, err := json.Marshal(allowedBody{p.action, p.target, p.operation, p.message})
	if err != nil || len(detail) == 0 {
		return own, err
	}
	body := maps.Clone(detail)
	for _, name := range []string{"operation", "message"} {
		delete(body, name)
	}
	if err := json.Unmarshal(own, &body); err != nil {
		return nil, err
	}
	return json.Marshal(body)
}
