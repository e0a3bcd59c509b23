package evidence

import "mosaicstack.dev/mosaic/internal/wire"

// Every method takes the business: nothing of another business is ever found.
// "Found" methods return nil, nil for what does not exist. Errors are failures
// of the store only.

// Holder returns the current claim of a role, or nil.
func (r *Rows) Holder(b wire.Business, role wire.Role) (*Claim, error) { return nil, errNotBuilt }

// Holders returns the current claim of each held role, ordered by role.
func (r *Rows) Holders(b wire.Business) ([]Claim, error) { return nil, errNotBuilt }

// RunRevoked reports whether the run's claim of the role was revoked.
func (r *Rows) RunRevoked(b wire.Business, role wire.Role, run wire.Run) (bool, error) {
	return false, errNotBuilt
}

// Launched returns the session.launched event of a run of any business, or nil.
func (r *Rows) Launched(run wire.Run) (*Event, error) { return nil, errNotBuilt }

// Ended returns the session.ended event of a run of any business, or nil.
func (r *Rows) Ended(run wire.Run) (*Event, error) { return nil, errNotBuilt }

// RunsNotEnded returns the session.launched events of the runs that have no
// session.ended, oldest first.
func (r *Rows) RunsNotEnded() ([]Event, error) { return nil, errNotBuilt }

// Event returns the event of this id, or nil.
func (r *Rows) Event(b wire.Business, id wire.EventID) (*Event, error) { return nil, errNotBuilt }

// LaunchState returns the latest launch.revoked or launch.restored event, or nil.
func (r *Rows) LaunchState(b wire.Business) (*Event, error) { return nil, errNotBuilt }

// Message returns the message of this id, or nil.
func (r *Rows) Message(b wire.Business, id wire.MessageID) (*Message, error) {
	return nil, errNotBuilt
}

// Decision returns the decision of this id, or nil.
func (r *Rows) Decision(b wire.Business, id wire.DecisionID) (*Decision, error) {
	return nil, errNotBuilt
}

// DecisionClose returns the closing event of a decision, or nil while it is open.
func (r *Rows) DecisionClose(id wire.DecisionID) (*DecisionEvent, error) { return nil, errNotBuilt }

// DecisionSpent returns the event that spent the decision's approval, or nil.
func (r *Rows) DecisionSpent(id wire.DecisionID) (*Event, error) { return nil, errNotBuilt }

// OpenDecisions returns the open decisions routed to one address, gated first,
// then oldest (BUS-READ-03).
func (r *Rows) OpenDecisions(b wire.Business, route wire.Role) ([]Decision, error) {
	return nil, errNotBuilt
}

// OpenRoleDecisions returns the open decisions routed to any role, never to
// the human, oldest first (BUS-READ-10).
func (r *Rows) OpenRoleDecisions(b wire.Business) ([]Decision, error) { return nil, errNotBuilt }

// ClosedDecision is a decision with the event that closed it.
type ClosedDecision struct {
	Decision
	Closed DecisionEvent `json:"closed"`
}

// RecentDecisions returns the last n closed decisions, newest close first.
func (r *Rows) RecentDecisions(b wire.Business, n int) ([]ClosedDecision, error) {
	return nil, errNotBuilt
}

// Replies returns at most n messages in reply to id, oldest first.
func (r *Rows) Replies(b wire.Business, id wire.MessageID, n int) ([]Message, error) {
	return nil, errNotBuilt
}

// Lane names a first-in-first-out queue of deliveries: the role instance's
// key, "human" or "tester".
type Lane = string

// Undelivered returns at most n messages of a lane that were not delivered,
// oldest first.
func (r *Rows) Undelivered(b wire.Business, lane Lane, n int) ([]Message, error) {
	return nil, errNotBuilt
}

// UnreadMessages returns at most n messages of a lane that have no read
// receipt, delivered or not, oldest first.
func (r *Rows) UnreadMessages(b wire.Business, lane Lane, n int) ([]Message, error) {
	return nil, errNotBuilt
}

// LaneCounts says how many messages a lane ever had, and how many of them were
// not delivered and not read.
type LaneCounts struct{ Total, Undelivered, Unread int64 }

// LaneCounts counts a lane without scanning it. Unread is every message
// without a read receipt, delivered or not.
func (r *Rows) LaneCounts(b wire.Business, lane Lane) (LaneCounts, error) {
	return LaneCounts{}, errNotBuilt
}

// FeedMessage is a message of a feed with its read mark.
type FeedMessage struct {
	Message
	Read bool `json:"read"`
}

// Feed returns at most n messages of a lane, newest first, older than before
// ("" for the newest page). more reports whether another page exists.
// message-not-found when before is not in this lane.
func (r *Rows) Feed(b wire.Business, lane Lane, before wire.MessageID, n int) (page []FeedMessage, more bool, err error) {
	return nil, false, errNotBuilt
}

// UnreadBy returns how many messages of the lane the run was delivered and has
// not read, and when the oldest of them was delivered.
func (r *Rows) UnreadBy(b wire.Business, lane Lane, run wire.Run) (n int64, since wire.Timestamp, err error) {
	return 0, "", errNotBuilt
}

// Stranded returns at most n messages of the lane that were delivered to
// another run than holder and never read, oldest delivery first.
func (r *Rows) Stranded(b wire.Business, lane Lane, holder wire.Run, n int) ([]Unread, error) {
	return nil, errNotBuilt
}

// Delivery returns the row of this state of a message, or nil.
func (r *Rows) Delivery(id wire.MessageID, state DeliveryState) (*Delivery, error) {
	return nil, errNotBuilt
}

// Trail returns the records linked to a task ref, decision or message, in
// broker write order; empty for an unknown subject (BUS-READ-04 to 07).
func (r *Rows) Trail(b wire.Business, subject string) ([]TrailRow, error) { return nil, errNotBuilt }
