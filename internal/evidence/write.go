package evidence

import "mosaicstack.dev/mosaic/internal/wire"

// The store assigns Seq, ID (UUIDv7), At and everything about lanes and the
// chain; what a caller puts there is ignored. Each method returns the row as
// stored. A guard that refuses returns its static code as a *wire.Error:
// callers check first and see one only when they are wrong.

// AppendEvent appends an event. Body must be one JSON object.
func (t *Tx) AppendEvent(e Event) (Event, error) { return Event{}, errNotBuilt }

// AppendClaim appends a claim, release or revoke. It routes nothing.
func (t *Tx) AppendClaim(c Claim) (Claim, error) { return Claim{}, errNotBuilt }

// NewMessageID returns an id for a message that another row of this
// transaction names before the message can be appended: the human.input event
// that stands behind it.
func (t *Tx) NewMessageID() wire.MessageID { return "" }

// AppendMessage appends a message to its recipient's lane and, when a run
// holds the recipient role, the routed delivery to it (BUS-CLOSE-11), which
// the returned RoutedTo names. It keeps an ID that came from NewMessageID and
// makes one otherwise.
func (t *Tx) AppendMessage(m Message) (Message, error) { return Message{}, errNotBuilt }

// RouteUndelivered routes the undelivered messages of a role to its new
// holder; called in the transaction of a claim. It returns their number.
func (t *Tx) RouteUndelivered(b wire.Business, role wire.Role, run wire.Run) (int, error) {
	return 0, errNotBuilt
}

// Deliver records that at most n undelivered messages of the lane were handed
// to the run, in order, and returns them.
func (t *Tx) Deliver(b wire.Business, lane Lane, run wire.Run, n int) ([]Message, error) {
	return nil, errNotBuilt
}

// MarkRead records the read receipt of a message by the run that it was
// delivered to, or returns the receipt that exists.
func (t *Tx) MarkRead(b wire.Business, id wire.MessageID, run wire.Run) (Delivery, error) {
	return Delivery{}, errNotBuilt
}

// AppendDecision appends a decision. Authorization is ignored.
func (t *Tx) AppendDecision(d Decision) (Decision, error) { return Decision{}, errNotBuilt }

// AppendDecisionEvent appends a seen, resolved or withdrawn row.
func (t *Tx) AppendDecisionEvent(b wire.Business, e DecisionEvent) (DecisionEvent, error) {
	return DecisionEvent{}, errNotBuilt
}
