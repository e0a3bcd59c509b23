package evidence

import (
	"encoding/json"

	"mosaicstack.dev/mosaic/internal/wire"
)

// The rows of the evidence tables as callers see them. JSON names are the
// column names; a nullable column is a pointer and renders as null. These
// shapes are what trail, inbox and the other reads answer.

// EventKind names what an event records (BUS-OPEN-137).
type EventKind string

const (
	SessionLaunched EventKind = "session.launched"
	SessionEnded    EventKind = "session.ended"
	ActionAllowed   EventKind = "action.allowed"
	ActionRefused   EventKind = "action.refused"
	HumanInput      EventKind = "human.input"
	LaunchRevoked   EventKind = "launch.revoked"
	LaunchRestored  EventKind = "launch.restored"
	ReviewRequested EventKind = "review.requested"
	ReviewVerdict   EventKind = "review.verdict"
)

// Event is a row of events. Spends is the decision whose approval the action
// used up; at most one event spends a decision, ever. Message is the message that
// the action sent: append the message first and name it here, so that its trail
// shows the authority behind it.
type Event struct {
	Seq      int64            `json:"seq"`
	ID       wire.EventID     `json:"id"`
	Business wire.Business    `json:"business"`
	Role     *wire.Role       `json:"role"`
	Run      *wire.Run        `json:"run"`
	Kind     EventKind        `json:"kind"`
	Subject  *string          `json:"subject"`
	Spends   *wire.DecisionID `json:"spends"`
	Message  *wire.MessageID  `json:"message"`
	Body     json.RawMessage  `json:"body"` // one JSON object
	Prev     string           `json:"prev"` // hex of the chain's head before this row
	At       wire.Timestamp   `json:"at"`
}

// ClaimOp is what a row of role_claims does.
type ClaimOp string

const (
	OpClaim   ClaimOp = "claim"
	OpRelease ClaimOp = "release"
	OpRevoke  ClaimOp = "revoke"
)

// Claim is a row of role_claims.
type Claim struct {
	Seq      int64            `json:"seq"`
	Business wire.Business    `json:"business"`
	Role     wire.Role        `json:"role"`
	Run      wire.Run         `json:"run"`
	Op       ClaimOp          `json:"op"`
	By       string           `json:"by"`
	Decision *wire.DecisionID `json:"decision"`
	Reason   *string          `json:"reason"`
	At       wire.Timestamp   `json:"at"`
}

// Message is a row of messages. Lane and LaneNo are the store's own and do not
// render.
type Message struct {
	Seq       int64            `json:"seq"`
	ID        wire.MessageID   `json:"id"`
	Business  wire.Business    `json:"business"`
	FromRole  wire.Role        `json:"from_role"`
	FromRun   wire.Run         `json:"from_run"`
	ToRole    wire.Role        `json:"to_role"`
	ToName    *string          `json:"to_name"`
	Lane      string           `json:"-"`
	LaneNo    int64            `json:"-"`
	Class     string           `json:"class"`
	Body      string           `json:"body"`
	InReplyTo *wire.MessageID  `json:"in_reply_to"`
	Corrects  *wire.MessageID  `json:"corrects"`
	Decision  *wire.DecisionID `json:"decision"`
	Request   *wire.EventID    `json:"request"`
	At        wire.Timestamp   `json:"at"`
	// RoutedTo is the run that AppendMessage routed the message to, nil when no
	// run holds the recipient. It is no column: reads leave it nil.
	RoutedTo *wire.Run `json:"-"`
}

// DeliveryState is how far a message has come towards a run.
type DeliveryState string

const (
	Routed    DeliveryState = "routed"    // meant for this holder
	Delivered DeliveryState = "delivered" // handed to its connection
	Read      DeliveryState = "read"      // acknowledged by it
)

// Delivery is a row of deliveries.
type Delivery struct {
	Seq     int64          `json:"seq"`
	Message wire.MessageID `json:"message"`
	Run     wire.Run       `json:"run"`
	State   DeliveryState  `json:"state"`
	At      wire.Timestamp `json:"at"`
}

// Class says how free a role is to take an action (BUS-AUTH-01).
type Class string

const (
	WithinRole Class = "within-role"
	CrossRole  Class = "cross-role"
	Gated      Class = "gated"
)

// Option is one answer that a decision offers.
type Option struct {
	Key  string `json:"key"`
	Text string `json:"text"`
}

// Authorization is what an approval would authorize; every surface that offers
// a resolution shows it (BUS-DEC-73, BUS-DEC-74).
type Authorization struct {
	Action         string  `json:"action"`
	Target         *string `json:"target"`
	ApprovalChoice string  `json:"approvalChoice"`
}

// Decision is a row of decisions, with the authorization of its raise
// (BUS-OPEN-49).
type Decision struct {
	Seq            int64            `json:"seq"`
	ID             wire.DecisionID  `json:"id"`
	Business       wire.Business    `json:"business"`
	Action         string           `json:"action"`
	Question       string           `json:"question"`
	Options        []Option         `json:"options"`
	Recommendation string           `json:"recommendation"`
	ApprovalChoice string           `json:"-"` // shown inside Authorization
	Blocking       bool             `json:"blocking"`
	Class          Class            `json:"class"`
	Route          wire.Role        `json:"route"` // human or an arbiter's instance
	Domain         string           `json:"domain"`
	Target         *string          `json:"target"`
	Project        *string          `json:"project"`
	SpecPath       *string          `json:"spec_path"`
	SpecCommit     *string          `json:"spec_commit"`
	TaskRef        *wire.TaskRef    `json:"task_ref"`
	RequirementRef *string          `json:"requirement_ref"`
	Supersedes     *wire.DecisionID `json:"supersedes"`
	RaisedByRole   wire.Role        `json:"raised_by_role"`
	RaisedByRun    wire.Run         `json:"raised_by_run"`
	Thread         *wire.ThreadID   `json:"thread"`
	HolderRun      *wire.Run        `json:"holder_run"`
	At             wire.Timestamp   `json:"at"`
	Authorization  Authorization    `json:"authorization"`
	// Clipped is set by a list that had no room for the whole question and
	// option texts. It is no column.
	Clipped bool `json:"clipped,omitempty"`
}

// DecisionEventKind is what happened to a decision after its raise.
type DecisionEventKind string

const (
	Seen      DecisionEventKind = "seen"
	Resolved  DecisionEventKind = "resolved"
	Withdrawn DecisionEventKind = "withdrawn"
)

// DecisionEvent is a row of decision_events. By is the human's configured name
// or the acting run; ByRole is human or the acting role instance.
type DecisionEvent struct {
	Seq      int64             `json:"seq"`
	Decision wire.DecisionID   `json:"decision"`
	Kind     DecisionEventKind `json:"kind"`
	By       string            `json:"by"`
	ByRole   wire.Role         `json:"by_role"`
	Via      string            `json:"via"` // cli or broker
	Choice   *string           `json:"choice"`
	Note     *string           `json:"note"`
	Input    *wire.EventID     `json:"input"` // the human.input event of a human's close
	At       wire.Timestamp    `json:"at"`
}

// TrailRow is one linked record, in broker write order (BUS-OPEN-114).
type TrailRow struct {
	Table string         `json:"table"`
	Seq   int64          `json:"seq"`
	At    wire.Timestamp `json:"at"`
	Row   any            `json:"row"` // Event, Claim, Message, Delivery, Decision or DecisionEvent
}

// Unread is a message that a run was delivered and has not marked read.
type Unread struct {
	Message wire.MessageID
	From    wire.Role
	Run     wire.Run
	At      wire.Timestamp // when it was delivered
}
