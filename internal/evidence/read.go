package evidence

import (
	"math"

	"mosaicstack.dev/mosaic/internal/wire"
)

// Every method takes the business: nothing of another business is ever found.
// "Found" methods return nil, nil for what does not exist. Errors are failures
// of the store only.

// Holder returns the current claim of a role, or nil.
func (r *Rows) Holder(b wire.Business, role wire.Role) (*Claim, error) {
	s := r.c.query(qHolder).text(1, string(b)).text(2, string(role))
	c, err := first(s, scanClaim)
	if c != nil && c.Op != OpClaim {
		c = nil
	}
	return c, err
}

// Holders returns the current claim of each held role, ordered by role.
func (r *Rows) Holders(b wire.Business) ([]Claim, error) {
	return list(r.c.query(qHolders).text(1, string(b)), scanClaim)
}

// RunRevoked reports whether the run's claim of the role was revoked.
func (r *Rows) RunRevoked(b wire.Business, role wire.Role, run wire.Run) (bool, error) {
	s := r.c.query(qRunRevoked).text(1, string(b)).text(2, string(role)).text(3, string(run))
	n, err := number(s)
	return n != 0, err
}

// Launched returns the session.launched event of a run of any business, or nil.
func (r *Rows) Launched(run wire.Run) (*Event, error) {
	return first(r.c.query(qLaunched).text(1, string(run)), scanEvent)
}

// Ended returns the session.ended event of a run of any business, or nil.
func (r *Rows) Ended(run wire.Run) (*Event, error) {
	return first(r.c.query(qEnded).text(1, string(run)), scanEvent)
}

// RunsNotEnded returns the session.launched events of the runs that have no
// session.ended, oldest first.
func (r *Rows) RunsNotEnded() ([]Event, error) {
	return list(r.c.query(qRunsNotEnded), scanEvent)
}

// Event returns the event of this id, or nil.
func (r *Rows) Event(b wire.Business, id wire.EventID) (*Event, error) {
	return first(r.c.query(qEvent).text(1, string(b)).text(2, string(id)), scanEvent)
}

// LaunchState returns the latest launch.revoked or launch.restored event, or nil.
func (r *Rows) LaunchState(b wire.Business) (*Event, error) {
	return first(r.c.query(qLaunchState).text(1, string(b)), scanEvent)
}

// Message returns the message of this id, or nil.
func (r *Rows) Message(b wire.Business, id wire.MessageID) (*Message, error) {
	return first(r.c.query(qMessage).text(1, string(b)).text(2, string(id)), scanMessage)
}

// Decision returns the decision of this id, or nil.
func (r *Rows) Decision(b wire.Business, id wire.DecisionID) (*Decision, error) {
	return first(r.c.query(qDecision).text(1, string(b)).text(2, string(id)), scanDecision)
}

// DecisionClose returns the closing event of a decision, or nil while it is open.
func (r *Rows) DecisionClose(id wire.DecisionID) (*DecisionEvent, error) {
	return first(r.c.query(qDecisionClose).text(1, string(id)), scanDecisionEvent)
}

// DecisionSpent returns the event that spent the decision's approval, or nil.
func (r *Rows) DecisionSpent(id wire.DecisionID) (*Event, error) {
	return first(r.c.query(qDecisionSpent).text(1, string(id)), scanEvent)
}

// OpenDecisions returns at most n of the open decisions routed to one address,
// gated first, then oldest (BUS-READ-03).
func (r *Rows) OpenDecisions(b wire.Business, route wire.Role, n int) ([]Decision, error) {
	s := r.c.query(qOpenDecisions).text(1, string(b)).text(2, string(route)).integer(3, int64(n))
	return list(s, scanDecision)
}

// OpenCount returns how many open decisions are routed to one address.
func (r *Rows) OpenCount(b wire.Business, route wire.Role) (int64, error) {
	return number(r.c.query(qOpenCount).text(1, string(b)).text(2, string(route)))
}

// OpenRaisedBy returns how many open decisions a role instance raised.
func (r *Rows) OpenRaisedBy(b wire.Business, role wire.Role) (int64, error) {
	return number(r.c.query(qOpenRaisedBy).text(1, string(b)).text(2, string(role)))
}

// InputNeeded is what agents shows of an open decision routed to the human.
type InputNeeded struct {
	RaisedByRole wire.Role
	ID           wire.DecisionID
	Question     string
	Class        Class
	Blocking     bool
	TaskRef      *wire.TaskRef
	At           wire.Timestamp
}

// InputNeeded returns the open decisions routed to the human in the order of
// the inbox (BUS-AGENT-11).
func (r *Rows) InputNeeded(b wire.Business) ([]InputNeeded, error) {
	return list(r.c.query(qInputNeeded).text(1, string(b)), scanInputNeeded)
}

// OpenRoleDecisions returns at most n of the open decisions routed to any role,
// never to the human, oldest first (BUS-READ-10).
func (r *Rows) OpenRoleDecisions(b wire.Business, n int) ([]Decision, error) {
	return list(r.c.query(qOpenRoleDecisions).text(1, string(b)).integer(2, int64(n)), scanDecision)
}

// ClosedDecision is a decision with the event that closed it.
type ClosedDecision struct {
	Decision
	Closed DecisionEvent `json:"closed"`
}

// RecentDecisions returns the last n closed decisions, newest close first.
func (r *Rows) RecentDecisions(b wire.Business, n int) ([]ClosedDecision, error) {
	return list(r.c.query(qRecentDecisions).text(1, string(b)).integer(2, int64(n)), scanClosedDecision)
}

// Replies returns at most n messages in reply to id, oldest first.
func (r *Rows) Replies(b wire.Business, id wire.MessageID, n int) ([]Message, error) {
	s := r.c.query(qReplies).text(1, string(b)).text(2, string(id)).integer(3, int64(n))
	return list(s, scanMessage)
}

// Lane names a first-in-first-out queue of deliveries: the role instance's
// key, "human" or "tester".
type Lane = string

// Undelivered returns at most n messages of a lane that were not delivered,
// oldest first.
func (r *Rows) Undelivered(b wire.Business, lane Lane, n int) ([]Message, error) {
	return list(r.c.query(qUndelivered).lane(b, lane).integer(3, int64(n)), scanMessage)
}

// UnreadMessages returns at most n messages of a lane that have no read
// receipt, delivered or not, oldest first.
func (r *Rows) UnreadMessages(b wire.Business, lane Lane, n int) ([]Message, error) {
	unread, err := list(r.c.query(qUnreadDelivered).lane(b, lane).integer(3, int64(n)), scanMessage)
	if err != nil || len(unread) == n {
		return unread, err
	}
	rest, err := r.Undelivered(b, lane, n-len(unread))
	return append(unread, rest...), err
}

// LaneCounts says how many messages a lane ever had, and how many of them were
// not delivered and not read.
type LaneCounts struct{ Total, Undelivered, Unread int64 }

// LaneCounts counts a lane without scanning it. Unread is every message
// without a read receipt, delivered or not.
func (r *Rows) LaneCounts(b wire.Business, lane Lane) (LaneCounts, error) {
	total, err := number(r.c.query(qLaneTotal).lane(b, lane))
	if err != nil {
		return LaneCounts{}, err
	}
	delivered, err := number(r.c.query(qLaneDelivered).lane(b, lane))
	if err != nil {
		return LaneCounts{}, err
	}
	read, err := number(r.c.query(qLaneRead).lane(b, lane))
	if err != nil {
		return LaneCounts{}, err
	}
	return LaneCounts{Total: total, Undelivered: total - delivered, Unread: total - read}, nil
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
	top := int64(math.MaxInt64)
	if before != "" {
		if top, err = number(r.c.query(qFeedTop).lane(b, lane).text(3, string(before))); err != nil {
			return nil, false, err
		}
		if top == 0 {
			return nil, false, wire.Refuse(wire.MessageNotFound)
		}
	}
	s := r.c.query(qFeed).lane(b, lane).integer(3, top).integer(4, int64(n)+1)
	if page, err = list(s, scanFeedMessage); err != nil {
		return nil, false, err
	}
	if len(page) > n {
		return page[:n], true, nil
	}
	return page, false, nil
}

// UnreadBy returns how many messages of the lane the run was delivered and has
// not read, and when the oldest of them was delivered.
func (r *Rows) UnreadBy(b wire.Business, lane Lane, run wire.Run) (n int64, since wire.Timestamp, err error) {
	if n, err = number(r.c.query(qUnreadBy).lane(b, lane).text(3, string(run))); err != nil || n == 0 {
		return 0, "", err
	}
	s := r.c.query(qUnreadSince).lane(b, lane).text(3, string(run))
	if s.step() {
		since = wire.Timestamp(s.ColumnText(0))
	}
	return n, since, s.finish()
}

// Stranded returns at most n messages of the lane that were delivered to
// another run than holder and never read, oldest delivery first.
func (r *Rows) Stranded(b wire.Business, lane Lane, holder wire.Run, n int) ([]Unread, error) {
	s := r.c.query(qStranded).lane(b, lane).text(3, string(holder)).integer(4, int64(n))
	return list(s, scanUnread)
}

// Delivery returns the row of this state of a message, or nil.
func (r *Rows) Delivery(id wire.MessageID, state DeliveryState) (*Delivery, error) {
	return first(r.c.query(qDelivery).text(1, string(id)).text(2, string(state)), scanDelivery)
}

// lane binds the first two parameters of the queries about a lane.
func (s *stmt) lane(b wire.Business, lane Lane) *stmt { return s.text(1, string(b)).text(2, lane) }
