package broker

import (
	"slices"
	"strings"

	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/wire"
)

// Sizes of the reads that do not page.
const (
	recentDecisions = 50  // of decisions recent (BUS-READ-12)
	roleDecisions   = 100 // of decisions roles
	inboxDecisions  = 50  // of an inbox; more says how many there are beyond
	maxInputNeeded  = 50  // of each agent of agents
	maxReplies      = 50  // of replies (BUS-READ-21)
	inboxMessages   = 50  // of the human's inbox; unread says how many there are
	maxStranded     = 50  // of agents (BUS-AGENT-22)
	feedPage        = 50  // the default of messages (BUS-READ-28)
	maxFeedPage     = 200
)

var readVerbs = []Verb{
	read(Verb{
		Name:     "inbox",
		Sessions: RoleSession | HumanSession | ReaderSession,
		Summary:  "Show the decisions and messages that wait for you, at most 50 of each",
		Example:  `{}`,
	}, readInbox),
	read(Verb{
		Name:     "agents",
		Sessions: RoleSession | HumanSession | ReaderSession,
		Summary:  "List the held roles, with the state of each for the human",
		Example:  `{}`,
	}, readAgents),
	read(Verb{
		Name:     "trail",
		Sessions: RoleSession | HumanSession | ReaderSession,
		Summary:  "List every record about a task, decision, message, event or run in the order in which it was written",
		Example:  `{"subject":"01900000-0000-7000-8000-000000000000"}`,
	}, readTrail),
	read(Verb{
		Name:     "decisions",
		Sessions: HumanSession | ReaderSession,
		Summary:  "List the oldest 100 open decisions that roles have, or the last 50 that were closed",
		Example:  `{"list":"recent"}`,
	}, readDecisions),
	read(Verb{
		Name:     "replies",
		Sessions: HumanSession | ReaderSession,
		Summary:  "List the replies to a message, oldest first, at most 50",
		Example:  `{"id":"01900000-0000-7000-8000-000000000000"}`,
		Codes:    []wire.Code{wire.MessageNotFound},
	}, readReplies),
	read(Verb{
		Name:     "messages",
		Sessions: HumanSession | ReaderSession,
		Summary:  "Page through the human's messages, newest first",
		Example:  `{"limit":50}`,
		Codes:    []wire.Code{wire.MessageNotFound},
	}, readFeed),
	read(Verb{
		Name:     "find",
		Sessions: RoleSession | HumanSession,
		Summary:  "Find the messages, decisions, events and runs whose id begins or ends so, at most five of each",
		Example:  `{"id":"5f0c9e21"}`,
	}, readFind),
}

type findArgs struct {
	ID string `json:"id" limit:"6 to 36 of the characters 0-9, a-f and -"` // the beginning or the end of an id
}

// idPart is a piece of an id that is long enough to look for.
var idPart = wire.NewPattern(`^[0-9a-f-]{6,36}$`)

// readFind serves people, who are shown and type the ends of ids. An end is
// looked for among the open decisions, the messages that the inbox shows and
// the latest evidence.FindWindow records of each kind, so that the answer costs
// the same however long the record is; a beginning is found wherever it is.
func readFind(c *Call, a findArgs) (any, error) {
	if !idPart.MatchString(a.ID) {
		return nil, wire.RefuseField(wire.InvalidRequest, "id")
	}
	b := c.Session.Business.ID
	found, err := c.Rows.Find(b, a.ID)
	if err != nil || c.Session.Kind == RoleSession {
		return list(found), err
	}
	unread, err := c.Rows.UnreadMessages(b, evidence.Lane(wire.HumanRole), inboxMessages)
	for _, m := range unread {
		f := evidence.Found{Kind: evidence.FoundMessage, ID: string(m.ID)}
		if strings.HasSuffix(f.ID, a.ID) && !slices.Contains(found, f) {
			found = append(found, f)
		}
	}
	return list(found), err
}

type trailArgs struct {
	Subject string `json:"subject"` // a task ref, or a decision, message, event or run
}

// readTrail lists linked records; an unknown subject has none (BUS-READ-04 to 07).
func readTrail(c *Call, a trailArgs) (any, error) {
	rows, err := c.Rows.Trail(c.Session.Business.ID, a.Subject)
	return list(rows), err
}

type decisionsArgs struct {
	List string `json:"list" limit:"roles or recent"`
}

// readDecisions lists decisions (BUS-READ-08 to 16); those that the list has no
// room for are clipped.
func readDecisions(c *Call, a decisionsArgs) (any, error) {
	b := c.Session.Business.ID
	switch a.List {
	case "roles":
		rows, err := c.Rows.OpenRoleDecisions(b, roleDecisions)
		if err != nil {
			return nil, err
		}
		return fitDecisions(rows)
	case "recent":
		rows, err := c.Rows.RecentDecisions(b, recentDecisions)
		if err != nil {
			return nil, err
		}
		return fitClosed(rows)
	}
	return nil, wire.RefuseField(wire.InvalidRequest, "list")
}

type repliesArgs struct {
	ID wire.MessageID `json:"id"`
}

// readReplies lists what answers a message; it records nothing, so the replies
// are still delivered (BUS-READ-18 to 24).
func readReplies(c *Call, a repliesArgs) (any, error) {
	b := c.Session.Business.ID
	m, err := c.Rows.Message(b, a.ID)
	switch {
	case err != nil:
		return nil, err
	case m == nil:
		return nil, wire.RefuseField(wire.MessageNotFound, "id")
	}
	rows, err := c.Rows.Replies(b, a.ID, maxReplies)
	return list(rows), err
}

type feedArgs struct {
	Limit *int            `json:"limit,omitempty" limit:"1 to 200"` // default 50
	After *wire.MessageID `json:"after,omitempty"`                  // the next of the page before
}

// feed is one page of the messages addressed to the human (BUS-READ-29).
type feed struct {
	Messages []evidence.FeedMessage `json:"messages"` // newest first
	Total    int64                  `json:"total"`    // of the whole feed, as is Unread
	Unread   int64                  `json:"unread"`
	Next     *wire.MessageID        `json:"next"` // null on the last page
}

// readFeed pages through the human's messages and delivers none of them
// (BUS-READ-25 to 38).
func readFeed(c *Call, a feedArgs) (any, error) {
	b, limit := c.Session.Business.ID, feedPage
	if a.Limit != nil {
		limit = *a.Limit
	}
	if limit < 1 || limit > maxFeedPage {
		return nil, wire.RefuseField(wire.InvalidRequest, "limit")
	}
	var before wire.MessageID
	if a.After != nil {
		// An empty cursor is no message, not the newest page.
		if before = *a.After; before == "" {
			return nil, wire.RefuseField(wire.MessageNotFound, "after")
		}
	}
	page, more, err := c.Rows.Feed(b, evidence.Lane(wire.HumanRole), before, limit)
	if err != nil {
		return nil, err
	}
	counts, err := c.Rows.LaneCounts(b, evidence.Lane(wire.HumanRole))
	if err != nil {
		return nil, err
	}
	f := feed{Messages: list(page), Total: counts.Total, Unread: counts.Unread}
	if more {
		f.Next = &page[len(page)-1].ID
	}
	return f, nil
}

// list makes sure that an empty list renders as [] and not as null.
func list[T any](rows []T) []T {
	if rows == nil {
		return []T{}
	}
	return rows
}
