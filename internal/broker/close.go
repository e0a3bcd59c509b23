package broker

import (
	"fmt"

	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/org"
	"mosaicstack.dev/mosaic/internal/wire"
)

// resolveArgs are the arguments of decision.resolve (BUS-DEC-60).
type resolveArgs struct {
	ID     wire.DecisionID `json:"id"`
	Choice string          `json:"choice" limit:"the key of one of its options"`
	Note   *string         `json:"note,omitempty" limit:"1 to 1024 characters"`
}

// noteArgs are the arguments of decision.seen and decision.withdraw.
type noteArgs struct {
	ID   wire.DecisionID `json:"id"`
	Note *string         `json:"note,omitempty" limit:"1 to 1024 characters"`
}

// resolveDecision answers a decision and returns its close (BUS-DEC-60 to 65).
// What it checks, in this order, is what openDecision says and then
// invalid-choice.
func resolveDecision(c *Call, a resolveArgs) (any, error) {
	d, err := c.openDecision(a.ID, a.Note, Session.mayResolve)
	if err != nil {
		return nil, err
	}
	if !offers(d.Options, a.Choice) {
		return nil, wire.RefuseField(wire.InvalidChoice, "choice")
	}
	return c.close(d, "decision.resolve", evidence.DecisionEvent{Kind: evidence.Resolved, Choice: &a.Choice, Note: a.Note})
}

// seeDecision acknowledges a decision, which stays open, and returns the row
// (BUS-DEC-66 to 69). Each call adds one (BUS-OPEN-46).
func seeDecision(c *Call, a noteArgs) (any, error) {
	d, err := c.openDecision(a.ID, a.Note, Session.mayResolve)
	if err != nil {
		return nil, err
	}
	return c.sign(d, "decision.seen", evidence.DecisionEvent{Kind: evidence.Seen, Note: a.Note})
}

// withdrawDecision takes a decision back and returns its close (BUS-DEC-70 to 72).
func withdrawDecision(c *Call, a noteArgs) (any, error) {
	d, err := c.openDecision(a.ID, a.Note, Session.mayWithdraw)
	if err != nil {
		return nil, err
	}
	return c.close(d, "decision.withdraw", evidence.DecisionEvent{Kind: evidence.Withdrawn, Note: a.Note})
}

// openDecision returns an open decision that the session may act on. It
// checks, in this order:
//
//	invalid-request     the note's length
//	decision-not-found  the business has the decision
//	not-resolver        the session may act on it; who may not is told no more
//	decision-closed     it is open
func (c *Call) openDecision(id wire.DecisionID, note *string, may func(Session, *evidence.Decision) bool) (*evidence.Decision, error) {
	if note != nil && !between(*note, 1, 1024) {
		return nil, wire.RefuseField(wire.InvalidRequest, "note")
	}
	d, err := c.Rows.Decision(c.Session.Business.ID, id)
	switch {
	case err != nil:
		return nil, err
	case d == nil:
		return nil, wire.Refuse(wire.DecisionNotFound)
	case !may(c.Session, d):
		return nil, wire.Refuse(wire.NotResolver)
	}
	closed, err := c.Rows.DecisionClose(id)
	switch {
	case err != nil:
		return nil, err
	case closed != nil:
		return nil, wire.Refuse(wire.DecisionClosed)
	}
	return d, nil
}

// mayResolve accepts the human, for any decision, and the role that it is
// routed to; but no role ends a protected instance, even one that became
// protected after the raise (BUS-AUTH-15).
func (s Session) mayResolve(d *evidence.Decision) bool {
	if s.Kind == HumanSession {
		return true
	}
	return d.Route == s.Role && !(d.Action == org.ActionRoleRevoke && s.Business.protected(d.Target))
}

// mayWithdraw accepts the human and the raising role instance, in the raising
// thread; the run may be another (BUS-OPEN-47).
func (s Session) mayWithdraw(d *evidence.Decision) bool {
	return s.Kind == HumanSession || d.RaisedByRole == s.Role && same(d.Thread, s.Thread)
}

// sign appends a decision event as the session's own. The human's has a
// human.input event behind it (BUS-HUMAN-27).
func (c *Call) sign(d *evidence.Decision, verb string, e evidence.DecisionEvent) (evidence.DecisionEvent, error) {
	s := c.Session
	e.Decision = d.ID
	e.By, e.ByRole, e.Via = string(s.Run), s.Role, viaBroker
	if s.Kind == HumanSession {
		e.By, e.ByRole, e.Via = s.Business.Human, wire.HumanRole, viaCLI
		subject := string(d.ID)
		// What the person typed stands in the decision's own row, once.
		input, err := c.appendHumanInput(humanInput{Kind: inputAnswer, Verb: verb, ID: &subject})
		if err != nil {
			return evidence.DecisionEvent{}, err
		}
		e.Input = &input.ID
	}
	return c.Tx.AppendDecisionEvent(s.Business.ID, e)
}

// close signs a resolution or withdrawal and tells the raising role of it in
// the same transaction, unless the raising run closed it itself (BUS-CLOSE-01
// to 12, BUS-CLOSE-20). The message has no in_reply_to and sends no notice.
func (c *Call) close(d *evidence.Decision, verb string, e evidence.DecisionEvent) (evidence.DecisionEvent, error) {
	e, err := c.sign(d, verb, e)
	if err != nil || d.RaisedByRun == c.Session.Run {
		return e, err
	}
	_, err = c.Tx.AppendMessage(evidence.Message{
		Business: d.Business,
		FromRole: c.Session.Role,
		FromRun:  c.Session.Run,
		ToRole:   d.RaisedByRole,
		Class:    classDecision,
		Body:     closeText(d, &e),
		Decision: &d.ID,
		Request:  e.Input,
	})
	return e, err
}

// closeText is the body of the message about a close, byte for byte
// (BUS-CLOSE-13 to 18).
func closeText(d *evidence.Decision, e *evidence.DecisionEvent) string {
	text := fmt.Sprintf("Decision %s on %s was withdrawn by %s.", d.ID, d.Action, e.By)
	if e.Kind == evidence.Resolved {
		text = fmt.Sprintf("Decision %s on %s was resolved by %s: %s (%s).", d.ID, d.Action, e.By, *e.Choice, optionText(d, *e.Choice))
	}
	if e.Note != nil {
		text += "\nNote: " + *e.Note
	}
	return text
}

func optionText(d *evidence.Decision, key string) string {
	for _, o := range d.Options {
		if o.Key == key {
			return o.Text
		}
	}
	return ""
}
