package cli

import (
	"encoding/json"

	"mosaicstack.dev/mosaic/internal/gitgate"
	"mosaicstack.dev/mosaic/internal/org"
	"mosaicstack.dev/mosaic/internal/wire"
)

// The rows of the bus's replies, as far as people are shown them. A newer
// broker may send more; with --json everything is passed on as it came.

// option is one answer that a decision offers.
type option struct {
	Key  string `json:"key"`
	Text string `json:"text"`
}

// authorization is what an approval authorizes, and which option approves.
type authorization struct {
	Action         string  `json:"action"`
	Target         *string `json:"target"`
	ApprovalChoice string  `json:"approvalChoice"`
}

// shortCommit is the width of a commit's id where the whole id stands beside or
// in the record: twelve digits, and the ellipsis that says that more follow.
const shortCommit = 13

// String says what an approval allows, with the commit of a landing shortened.
func (a authorization) String() string {
	if a.Target == nil {
		return word(a.Action)
	}
	if t, ok := a.landing(); ok {
		return a.Action + " on " + word(t.Project+"/"+t.Branch) + "@" + cut(string(t.Commit), shortCommit)
	}
	return word(a.Action) + " on " + word(*a.Target)
}

// landing is the target of an approval to land a commit; false for any other.
func (a authorization) landing() (gitgate.Target, bool) {
	if a.Action != org.ActionMergeProtected || a.Target == nil {
		return gitgate.Target{}, false
	}
	return gitgate.ParseTarget(*a.Target)
}

// decision is a decision. Closed is there in lists of closed ones.
type decision struct {
	ID             wire.DecisionID  `json:"id"`
	Question       string           `json:"question"`
	Options        []option         `json:"options"`
	Recommendation string           `json:"recommendation"`
	Blocking       bool             `json:"blocking"`
	Class          string           `json:"class"`
	Route          wire.Role        `json:"route"`
	TaskRef        *wire.TaskRef    `json:"task_ref"`
	Supersedes     *wire.DecisionID `json:"supersedes"`
	RaisedByRole   wire.Role        `json:"raised_by_role"`
	RaisedByRun    wire.Run         `json:"raised_by_run"`
	At             wire.Timestamp   `json:"at"`
	Authorization  authorization    `json:"authorization"`
	Closed         *decisionEvent   `json:"closed,omitempty"`
	Clipped        bool             `json:"clipped,omitempty"` // its texts are cut
}

// Kinds of decisionEvent.
const (
	kindSeen      = "seen"
	kindResolved  = "resolved"
	kindWithdrawn = "withdrawn"
)

// decisionEvent is what happened to a decision after its raise.
type decisionEvent struct {
	Decision wire.DecisionID `json:"decision"`
	Kind     string          `json:"kind"`
	By       string          `json:"by"`
	ByRole   wire.Role       `json:"by_role"`
	Choice   *string         `json:"choice"`
	Note     *string         `json:"note"`
	Input    *wire.EventID   `json:"input"`
	At       wire.Timestamp  `json:"at"`
}

// approves reports whether the event is the answer that approves d.
func (e decisionEvent) approves(d decision) bool {
	return e.Kind == kindResolved && e.Choice != nil && *e.Choice == d.Authorization.ApprovalChoice
}

// message is a message; Read is there in the person's feed.
type message struct {
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
	Request   *wire.EventID    `json:"request"`
	At        wire.Timestamp   `json:"at"`
	Read      bool             `json:"read"`
}

// delivery says how far a message has come: routed, delivered or read.
type delivery struct {
	Message wire.MessageID `json:"message"`
	Run     wire.Run       `json:"run"`
	State   string         `json:"state"`
}

// claim is a claim, release or revoke of a role.
type claim struct {
	Role     wire.Role        `json:"role"`
	Run      wire.Run         `json:"run"`
	Op       string           `json:"op"`
	By       string           `json:"by"`
	Decision *wire.DecisionID `json:"decision"`
	Reason   *string          `json:"reason"`
}

// event is an event; Spends is the approval that it used up.
type event struct {
	ID     wire.EventID     `json:"id"`
	Role   *wire.Role       `json:"role"`
	Run    *wire.Run        `json:"run"`
	Kind   string           `json:"kind"`
	Spends *wire.DecisionID `json:"spends"`
	Body   json.RawMessage  `json:"body"`
}

// record is one row of a trail. Exactly one of the pointers is set; a table
// that this program does not know sets none.
type record struct {
	Table string          `json:"table"`
	Seq   int64           `json:"seq"`
	At    wire.Timestamp  `json:"at"`
	Row   json.RawMessage `json:"row"`

	event         *event
	claim         *claim
	message       *message
	delivery      *delivery
	decision      *decision
	decisionEvent *decisionEvent
}

// UnmarshalJSON reads the row by its table.
func (r *record) UnmarshalJSON(data []byte) error {
	type plain record
	if err := json.Unmarshal(data, (*plain)(r)); err != nil {
		return err
	}
	switch r.Table {
	case "events":
		return json.Unmarshal(r.Row, &r.event)
	case "role_claims":
		return json.Unmarshal(r.Row, &r.claim)
	case "messages":
		return json.Unmarshal(r.Row, &r.message)
	case "deliveries":
		return json.Unmarshal(r.Row, &r.delivery)
	case "decisions":
		return json.Unmarshal(r.Row, &r.decision)
	case "decision_events":
		return json.Unmarshal(r.Row, &r.decisionEvent)
	}
	return nil
}
