package broker

import (
	"time"

	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/wire"
)

// roleInbox is a role's inbox: the open decisions that are routed to it, gated
// first and then oldest, and how many messages wait (BUS-OPEN-111).
type roleInbox struct {
	Decisions []evidence.Decision `json:"decisions"`
	Messages  int64               `json:"messages"`
	At        wire.Timestamp      `json:"at"` // when this was read
}

// humanInbox is the human's inbox, as readers see it too: the open decisions
// that are routed to the human and the oldest unread messages, with the number
// of all unread ones beside them, so that a cut is visible.
type humanInbox struct {
	Decisions []evidence.Decision `json:"decisions"`
	Messages  []evidence.Message  `json:"messages"`
	Unread    int64               `json:"unread"`
	At        wire.Timestamp      `json:"at"`
}

func readInbox(c *Call, _ none) (any, error) {
	b, route := c.Session.Business.ID, wire.HumanRole
	if c.Session.Kind == RoleSession {
		route = c.Session.Role
	}
	decisions, err := c.Rows.OpenDecisions(b, route)
	if err != nil {
		return nil, err
	}
	counts, err := c.Rows.LaneCounts(b, evidence.Lane(route))
	if err != nil {
		return nil, err
	}
	at := wire.Timestamp(time.Now().UTC().Format("2006-01-02T15:04:05.000Z"))
	if c.Session.Kind == RoleSession {
		return roleInbox{Decisions: list(decisions), Messages: counts.Undelivered, At: at}, nil
	}
	messages, err := c.Rows.UnreadMessages(b, evidence.Lane(route), inboxMessages)
	return humanInbox{Decisions: list(decisions), Messages: list(messages), Unread: counts.Unread, At: at}, err
}
