package broker

import (
	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/wire"
)

// The classes that the rules themselves name.
const (
	classRequest      = "REQUEST"
	classResult       = "RESULT"
	classDecision     = "DECISION"
	classBlock        = "BLOCK"
	classStaffRequest = "STAFF-REQUEST"
)

// messageClasses are the classes of message.send, exactly (BUS-MSG-21).
var messageClasses = []string{
	classRequest, "ASSIGNMENT", "REVIEW-REQUEST", "REVIEW-RESULT", classResult, "INFO", classDecision, "REACTION", classBlock,
}

// maxBody is the size of a message body in bytes of UTF-8 (BUS-OPEN-57).
const maxBody = 32 << 10

// maxBatch is how many messages one message.receive hands over (BUS-MSG-36).
const maxBatch = 100

var messageVerbs = []Verb{
	write(Verb{
		Name:     "message.send",
		Sessions: RoleSession | HumanSession,
		Summary:  "Send a message to a role or to the human",
		Example:  `{"to":"dev","body":"please look at the failing test"}`,
		Codes: []wire.Code{
			wire.InvalidClass, wire.UnknownRole, wire.ThreadRequiredSend, wire.ThreadRequiredReply,
			wire.BlockSender, wire.BlockRecipient, wire.MessageNotFound, wire.BlockReplyRequired,
			wire.TesterReplyRequired, wire.MessageRouteRefused,
			wire.DecisionRequired, wire.DecisionNotFound, wire.DecisionMismatch,
			wire.DecisionOpen, wire.DecisionRefused, wire.DecisionConsumed,
		},
	}, sendMessage),
	write(Verb{
		Name:     "message.receive",
		Sessions: RoleSession | HumanSession,
		Summary:  "Take the messages that wait for you, at most 100; each is handed over once",
		Example:  `{}`,
	}, receiveMessages),
	write(Verb{
		Name:     "message.read",
		Sessions: RoleSession | HumanSession,
		Summary:  "Acknowledge a message that you received",
		Example:  `{"id":"01900000-0000-7000-8000-000000000000"}`,
		Codes:    []wire.Code{wire.MessageNotFound},
	}, readMessage),
}

// batch is the result of message.receive.
type batch struct {
	Messages []received `json:"messages"` // oldest first
}

// received is a message as its recipient gets it (BUS-OPEN-60).
type received struct {
	ID        wire.MessageID   `json:"id"`
	FromRole  wire.Role        `json:"from_role"`
	FromRun   wire.Run         `json:"from_run"`
	ToRole    wire.Role        `json:"to_role"`
	ToName    *string          `json:"to_name"`
	Class     string           `json:"class"`
	Body      string           `json:"body"`
	InReplyTo *wire.MessageID  `json:"in_reply_to"`
	Corrects  *wire.MessageID  `json:"corrects"`
	Decision  *wire.DecisionID `json:"decision"`
	Thread    *wire.ThreadID   `json:"thread"`
	Request   *wire.EventID    `json:"request"` // the human.input behind it, or null
	At        wire.Timestamp   `json:"at"`
}

// lane is the session's own lane of deliveries.
func (s Session) lane() evidence.Lane { return evidence.Lane(s.Role) }

// receiveMessages hands over what waits for the session and records that it
// did. A reply that is lost on its way is not repeated: the delivery is then
// uncertain, and the trail of a message shows it (BUS-MSG-40, 41).
func receiveMessages(c *Call, _ none) (any, error) {
	s := c.Session
	waiting, err := c.Rows.Undelivered(s.Business.ID, s.lane(), maxBatch)
	if err != nil {
		return nil, err
	}
	out := batch{Messages: []received{}}
	size := 0
	for i := range waiting {
		r := receive(&waiting[i], s.Thread)
		encoded, err := wire.Encode(r)
		if err != nil {
			return nil, err
		}
		// What does not fit the reply stays for the next call. One message
		// always fits: a body's escapes are at most six times its length.
		if size += len(encoded) + 1; size > wire.MaxReply-1024 {
			break
		}
		out.Messages = append(out.Messages, r)
	}
	if len(out.Messages) == 0 {
		return out, nil
	}
	_, err = c.Tx.Deliver(s.Business.ID, s.lane(), s.Run, len(out.Messages))
	return out, err
}

func receive(m *evidence.Message, thread *wire.ThreadID) received {
	return received{
		ID: m.ID, FromRole: m.FromRole, FromRun: m.FromRun, ToRole: m.ToRole, ToName: m.ToName,
		Class: m.Class, Body: m.Body, InReplyTo: m.InReplyTo, Corrects: m.Corrects, Decision: m.Decision,
		Thread: thread, Request: m.Request, At: m.At,
	}
}

type readArgs struct {
	ID wire.MessageID `json:"id"`
}

// receipt is the result of message.read (BUS-OPEN-62).
type receipt struct {
	ID wire.MessageID `json:"id"`
	At wire.Timestamp `json:"at"` // of the first read
}

// readMessage acknowledges a message that was delivered to this very run: no
// later holder reads for an earlier one (BUS-MSG-43, 47).
func readMessage(c *Call, a readArgs) (any, error) {
	b := c.Session.Business.ID
	m, err := c.Rows.Message(b, a.ID)
	switch {
	case err != nil:
		return nil, err
	case m == nil:
		return nil, wire.RefuseField(wire.MessageNotFound, "id")
	}
	delivered, err := c.Rows.Delivery(a.ID, evidence.Delivered)
	switch {
	case err != nil:
		return nil, err
	case delivered == nil, delivered.Run != c.Session.Run:
		return nil, wire.RefuseField(wire.MessageNotFound, "id")
	}
	read, err := c.Tx.MarkRead(b, a.ID, c.Session.Run)
	return receipt{ID: a.ID, At: read.At}, err
}
