package broker

import (
	"time"

	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/wire"
)

// roleInbox is a role's inbox: the first 50 open decisions that are routed to
// it, gated first and then oldest, how many there are beyond them, and how many
// messages wait (BUS-OPEN-111).
type roleInbox struct {
	Decisions []evidence.Decision `json:"decisions"`
	More      int64               `json:"more"`
	Messages  int64               `json:"messages"`
	At        wire.Timestamp      `json:"at"` // when this was read
}

// humanInbox is the human's inbox, as readers see it too: the same decisions
// that are routed to the human, and the oldest unread messages, with the number
// of all unread ones beside them, so that a cut is visible.
type humanInbox struct {
	Decisions []evidence.Decision `json:"decisions"`
	More      int64               `json:"more"`
	Messages  []evidence.Message  `json:"messages"`
	Unread    int64               `json:"unread"`
	At        wire.Timestamp      `json:"at"`
}

func readInbox(c *Call, _ none) (any, error) {
	b, route := c.Session.Business.ID, wire.HumanRole
	if c.Session.Kind == RoleSession {
		route = c.Session.Role
	}
	decisions, more, err := c.openDecisions(route)
	if err != nil {
		return nil, err
	}
	counts, err := c.Rows.LaneCounts(b, evidence.Lane(route))
	if err != nil {
		return nil, err
	}
	at := wire.Timestamp(time.Now().UTC().Format("2006-01-02T15:04:05.000Z"))
	if c.Session.Kind == RoleSession {
		return roleInbox{Decisions: decisions, More: more, Messages: counts.Undelivered, At: at}, nil
	}
	messages, err := c.Rows.UnreadMessages(b, evidence.Lane(route), inboxMessages)
	if err != nil {
		return nil, err
	}
	messages, err = fitMessages(messages)
	return humanInbox{Decisions: decisions, More: more, Messages: messages, Unread: counts.Unread, At: at}, err
}

// openDecisions are the first open decisions routed to one address, and how
// many there are beyond them.
func (c *Call) openDecisions(route wire.Role) (first []evidence.Decision, more int64, err error) {
	b := c.Session.Business.ID
	if first, err = c.Rows.OpenDecisions(b, route, inboxDecisions); err != nil {
		return nil, 0, err
	}
	total, err := c.Rows.OpenCount(b, route)
	if err != nil {
		return nil, 0, err
	}
	more = total - int64(len(first))
	first, err = fitDecisions(first)
	return first, more, err
}
