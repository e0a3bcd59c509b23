package broker

import (
	"slices"

	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/org"
	"mosaicstack.dev/mosaic/internal/wire"
)

// sendArgs are the arguments of message.send (BUS-MSG-01).
type sendArgs struct {
	To   wire.Role `json:"to"` // a role instance, human or tester
	Body string    `json:"body" limit:"1 to 32768 bytes of UTF-8"`
	// Class is REQUEST by default, and RESULT for a role's reply.
	Class     *string          `json:"class,omitempty" limit:"REQUEST, ASSIGNMENT, REVIEW-REQUEST, REVIEW-RESULT, RESULT, INFO, DECISION, REACTION or BLOCK"`
	InReplyTo *wire.MessageID  `json:"in_reply_to,omitempty"`
	Corrects  *wire.MessageID  `json:"corrects,omitempty"` // an earlier message of the sender to the same recipient
	Decision  *wire.DecisionID `json:"decision,omitempty"` // a citation, or the authority when sending needs one
}

// sent is the result of message.send (BUS-MSG-02, 03).
type sent struct {
	ID      wire.MessageID `json:"id"`
	Request *wire.EventID  `json:"request"` // the human.input event of a human's instruction
	Waiting *waiting       `json:"waiting,omitempty"`
}

// sendMessage stores a message, routes it to the recipient's holder and, when
// there is none, tells the launcher. What it checks, in this order:
//
//	invalid-request, invalid-class     the body's length; the class
//	unknown-role, thread-required-*,
//	message-route-refused              the recipient, see checkRecipient
//	block-sender, block-recipient      who may send a BLOCK, and to whom
//	message-not-found                  in_reply_to and corrects
//	block-reply-required,
//	tester-reply-required              what the reply must answer
//	message-route-refused              the messaging lists of both definitions
//	                                   and then the authority, see authorizeSend
func sendMessage(c *Call, a sendArgs) (any, error) {
	m, err := c.composeMessage(a)
	if err != nil {
		return nil, err
	}
	if c.Session.Kind == HumanSession {
		return c.sendInstruction(m)
	}
	p, err := c.authorizeSend(m)
	if err != nil {
		return nil, err
	}
	if m, err = c.Tx.AppendMessage(m); err != nil {
		return nil, err
	}
	p.message = &m.ID
	if _, err = c.allow(p, p.target, nil); err != nil {
		return nil, err
	}
	result := sent{ID: m.ID}
	result.Waiting, err = c.notice(m)
	return result, err
}

// sendInstruction stores a message of the human, with the human.input event
// that stands behind it (BUS-MSG-04).
func (c *Call) sendInstruction(m evidence.Message) (any, error) {
	if m.Decision != nil {
		if err := c.checkCited(*m.Decision); err != nil {
			return nil, err
		}
	}
	m.ID = c.Tx.NewMessageID()
	id := string(m.ID)
	input, err := c.appendHumanInput(humanInput{Kind: inputInstruction, Verb: "message.send", ID: &id})
	if err != nil {
		return nil, err
	}
	m.Request = &input.ID
	if m, err = c.Tx.AppendMessage(m); err != nil {
		return nil, err
	}
	result := sent{ID: m.ID, Request: m.Request}
	result.Waiting, err = c.notice(m)
	return result, err
}

// composeMessage checks everything about a message but its authority.
func (c *Call) composeMessage(a sendArgs) (evidence.Message, error) {
	s := c.Session
	m := evidence.Message{
		Business: s.Business.ID, FromRole: s.Role, FromRun: s.Run, ToRole: a.To,
		Class: s.classOf(a), Body: a.Body, InReplyTo: a.InReplyTo, Corrects: a.Corrects, Decision: a.Decision,
	}
	switch {
	case len(a.Body) < 1 || len(a.Body) > maxBody:
		return m, wire.RefuseField(wire.InvalidRequest, "body")
	case !slices.Contains(messageClasses, m.Class):
		// STAFF-REQUEST is a class too, but staff.request alone writes it.
		return m, wire.RefuseField(wire.InvalidClass, "class")
	}
	if err := s.checkRecipient(a.To); err != nil {
		return m, err
	}
	if m.Class == classBlock {
		if err := s.checkBlock(a.To); err != nil {
			return m, err
		}
	}
	if err := c.checkReferences(&m); err != nil {
		return m, err
	}
	if a.To != wire.TesterRole && !s.Business.mayMessage(s.Role, a.To) {
		return m, wire.RefuseField(wire.MessageRouteRefused, "to")
	}
	return m, nil
}

// classOf is the class of a message, with its default (BUS-OPEN-56).
func (s Session) classOf(a sendArgs) string {
	switch {
	case a.Class != nil:
		return *a.Class
	case s.Kind == RoleSession && a.InReplyTo != nil:
		return classResult
	}
	return classRequest
}

// checkRecipient checks, in this order:
//
//	unknown-role           the address exists (BUS-MSG-15, BUS-MSG-19)
//	thread-required-*      it is no assistant: everything to and from one is in
//	                       a thread (BUS-THREAD-52)
//	message-route-refused  the human does not write to himself
func (s Session) checkRecipient(to wire.Role) error {
	switch {
	case !s.Business.receives(to):
		return wire.RefuseField(wire.UnknownRole, "to")
	case s.Business.Roles[to].Definition == protectedDefinition && s.Kind == HumanSession:
		return wire.RefuseField(wire.ThreadRequiredSend, "to")
	case s.Business.Roles[to].Definition == protectedDefinition:
		return wire.RefuseField(wire.ThreadRequiredReply, "to")
	case s.Kind == HumanSession && to == wire.HumanRole:
		return wire.RefuseField(wire.MessageRouteRefused, "to")
	}
	return nil
}

// checkBlock checks who sends a BLOCK, and to whom (BUS-MSG-49, 50).
func (s Session) checkBlock(to wire.Role) error {
	if definition := s.Instance().Definition; definition != "pm" && definition != "cto" {
		return wire.RefuseField(wire.BlockSender, "class")
	}
	if !s.Business.chiefOfStaff(to) {
		return wire.RefuseField(wire.BlockRecipient, "to")
	}
	return nil
}

// checkReferences checks what a message answers and corrects.
func (c *Call) checkReferences(m *evidence.Message) error {
	var answered *evidence.Message
	if m.InReplyTo != nil {
		found, err := c.Rows.Message(m.Business, *m.InReplyTo)
		switch {
		case err != nil:
			return err
		case found == nil:
			return wire.RefuseField(wire.MessageNotFound, "in_reply_to")
		}
		answered = found
	}
	if m.Corrects != nil {
		found, err := c.Rows.Message(m.Business, *m.Corrects)
		switch {
		case err != nil:
			return err
		case found == nil, found.FromRole != m.FromRole, found.ToRole != m.ToRole:
			return wire.RefuseField(wire.MessageNotFound, "corrects")
		}
	}
	switch {
	// A BLOCK answers a spec notice, and the bus has sent none (BUS-MSG-52).
	case m.Class == classBlock:
		return wire.RefuseField(wire.BlockReplyRequired, "in_reply_to")
	case m.ToRole == wire.TesterRole && (c.Session.Kind == HumanSession || answered == nil || answered.FromRole != wire.TesterRole):
		return wire.RefuseField(wire.TesterReplyRequired, "in_reply_to")
	}
	return nil
}

// authorizeSend is the authority of a role's send. Within the role, decision
// is a citation: it must exist, is stored, and is neither matched nor used up
// (BUS-MSG-28 to 33). Otherwise it is the approval to spend (BUS-MSG-34).
func (c *Call) authorizeSend(m evidence.Message) (permit, error) {
	target := string(m.ToRole)
	class, err := c.Session.classify(org.ActionMessageSend, &target)
	if err != nil {
		return permit{}, err
	}
	var approval wire.DecisionID
	switch {
	case m.Decision == nil:
	case class == evidence.WithinRole:
		if err := c.checkCited(*m.Decision); err != nil {
			return permit{}, err
		}
	default:
		approval = *m.Decision
	}
	return c.permit(org.ActionMessageSend, &target, approval)
}

// checkCited refuses decision-not-found unless the business has the decision.
func (c *Call) checkCited(id wire.DecisionID) error {
	d, err := c.Rows.Decision(c.Session.Business.ID, id)
	if err == nil && d == nil {
		return wire.RefuseField(wire.DecisionNotFound, "decision")
	}
	return err
}
