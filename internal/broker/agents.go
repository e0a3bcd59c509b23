package broker

import (
	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/wire"
)

// agent is the latest claim of a held role (BUS-OPEN-115).
type agent struct {
	Role       wire.Role      `json:"role"`
	Definition string         `json:"definition"`
	Name       *string        `json:"name"` // null until instances have names
	Run        wire.Run       `json:"run"`
	Harness    string         `json:"harness"`
	At         wire.Timestamp `json:"at"` // of the claim
}

// agentState is an agent with its state, as the human and readers see it. All
// of it is derived from stored records (BUS-AGENT-04, 05).
type agentState struct {
	agent
	State       string        `json:"state"`   // working, waiting or idle
	Working     *working      `json:"working"` // null when it has nothing unread
	InputNeeded []inputNeeded `json:"inputNeeded"`
	More        int64         `json:"inputNeededMore"` // decisions beyond the 50 of InputNeeded
	Stranded    []stranded    `json:"stranded"`
}

// working counts the messages that the holder received and has not marked
// read; since is when it received the oldest (BUS-AGENT-06 to 08).
type working struct {
	Messages int64          `json:"messages"`
	Since    wire.Timestamp `json:"since"`
}

// inputNeeded is an open decision of the role that waits for the human
// (BUS-AGENT-12).
type inputNeeded struct {
	ID       wire.DecisionID `json:"id"`
	Question string          `json:"question"`
	Class    evidence.Class  `json:"class"`
	Blocking bool            `json:"blocking"`
	TaskRef  *wire.TaskRef   `json:"task_ref"`
	At       wire.Timestamp  `json:"at"`
	Clipped  bool            `json:"clipped,omitempty"` // there was no room for the whole question
}

// waits are the decisions of one role that wait for the human.
type waits struct {
	first []inputNeeded
	more  int64
}

// stranded is a message that an earlier holder received and never read; nobody
// else will get it (BUS-AGENT-18 to 25).
type stranded struct {
	ID   wire.MessageID `json:"id"`
	From wire.Role      `json:"from"`
	Run  wire.Run       `json:"run"` // the run that it was delivered to
	At   wire.Timestamp `json:"at"`  // when it was delivered
}

func readAgents(c *Call, _ none) (any, error) {
	claims, err := c.Rows.Holders(c.Session.Business.ID)
	if err != nil {
		return nil, err
	}
	agents := make([]agent, len(claims))
	for i, claim := range claims {
		if agents[i], err = c.agent(claim); err != nil {
			return nil, err
		}
	}
	if c.Session.Kind == RoleSession {
		return agents, nil
	}
	needed, err := c.inputNeeded()
	if err != nil {
		return nil, err
	}
	states := make([]agentState, len(agents))
	for i, a := range agents {
		if states[i], err = c.agentState(a, needed[a.Role]); err != nil {
			return nil, err
		}
	}
	return states, nil
}

func (c *Call) agent(claim evidence.Claim) (agent, error) {
	a := agent{
		Role:       claim.Role,
		Definition: c.Session.Business.Roles[claim.Role].Definition,
		Run:        claim.Run,
		At:         claim.At,
	}
	launched, err := c.Rows.Launched(claim.Run)
	if err != nil || launched == nil {
		return a, err
	}
	body, err := decodeLaunched(launched)
	a.Harness = body.Harness
	return a, err
}

func (c *Call) agentState(a agent, needed waits) (agentState, error) {
	b, lane := c.Session.Business.ID, evidence.Lane(a.Role)
	state := agentState{agent: a, State: "idle", InputNeeded: list(needed.first), More: needed.more, Stranded: []stranded{}}
	if len(needed.first) > 0 {
		state.State = "waiting"
	}
	n, since, err := c.Rows.UnreadBy(b, lane, a.Run)
	if err != nil {
		return state, err
	}
	if n > 0 {
		state.State, state.Working = "working", &working{Messages: n, Since: since}
	}
	left, err := c.Rows.Stranded(b, lane, a.Run, maxStranded)
	for _, m := range left {
		state.Stranded = append(state.Stranded, stranded{ID: m.Message, From: m.From, Run: m.Run, At: m.At})
	}
	return state, err
}

// inputNeeded groups the human's open decisions by the role that raised them,
// in the order of the inbox (BUS-AGENT-10, 11), the first 50 of each.
func (c *Call) inputNeeded() (map[wire.Role]waits, error) {
	open, err := c.Rows.InputNeeded(c.Session.Business.ID)
	if err != nil {
		return nil, err
	}
	needed, left := make(map[wire.Role]waits), room(listBytes)
	for _, d := range open {
		w := needed[d.RaisedByRole]
		if len(w.first) == maxInputNeeded {
			w.more++
			needed[d.RaisedByRole] = w
			continue
		}
		item := inputNeeded{
			ID: d.ID, Question: d.Question, Class: d.Class, Blocking: d.Blocking, TaskRef: d.TaskRef, At: d.At,
		}
		whole, err := left.takes(item)
		if err != nil {
			return nil, err
		}
		if !whole {
			item.Question, item.Clipped = clip(d.Question, clipQuestion), true
		}
		w.first = append(w.first, item)
		needed[d.RaisedByRole] = w
	}
	return needed, nil
}
