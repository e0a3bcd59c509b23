package queue

import "slices"

// Previous stands in Transitions for the state that a blocked row returns to.
const Previous State = "previousState"

// Transition is one row of the table of moves: from any of From to To, by any
// of Who, when every condition holds, with the effects in order.
type Transition struct {
	From       []State
	To         State
	Who        Who
	Conditions []Condition
	Effects    []MoveEffect
}

// Condition refuses a move, or does not.
type Condition struct {
	Text  string // for the reference
	check func(*moving) error
}

// MoveEffect changes the row beside its state.
type MoveEffect struct {
	Text  string // for the reference
	apply func(*moving) error
}

// moving is a move under way.
type moving struct {
	*operation
	row  *Row
	args *MoveArgs
	from State
}

// Transitions is every move there is; any other pair of states is refused,
// the same state twice included (QUEUE-STATE-53). A claim stays as it is where
// no effect names it.
var Transitions = []Transition{
	{From: []State{Queued}, To: Briefed, Who: Privileged},
	{From: []State{Briefed}, To: InProgress, Who: ByOwner,
		Conditions: []Condition{prerequisitesMet, briefUnchanged}, Effects: []MoveEffect{takeClaim}},
	{From: []State{InProgress}, To: Briefed, Who: ByClaimant | Privileged,
		Effects: []MoveEffect{dropClaim}},
	{From: []State{InProgress}, To: InReview, Who: ByClaimant,
		Conditions: []Condition{noOpenAttempt}, Effects: []MoveEffect{openRound}},
	{From: []State{InReview}, To: InProgress, Who: ByOwner | Privileged},
	{From: []State{InReview}, To: WaitingOnHuman, Who: ByOwner | Privileged},
	{From: []State{WaitingOnHuman}, To: InProgress, Who: ByHuman,
		Conditions: []Condition{reasonGiven}},
	{From: []State{WaitingOnHuman}, To: Done, Who: Privileged,
		Conditions: []Condition{approvalCited}, Effects: []MoveEffect{dropClaim}},
	{From: []State{InReview}, To: Done, Who: ByGateOwner | Privileged,
		Conditions: []Condition{gateNotHumans, evidenceMatches, reviewersApprove}, Effects: []MoveEffect{dropClaim}},
	{From: []State{Queued, Briefed, InProgress, InReview, WaitingOnHuman}, To: Blocked, Who: ByOwner | Privileged,
		Conditions: []Condition{reasonGiven}, Effects: []MoveEffect{block}},
	{From: []State{Blocked}, To: Previous, Who: ByOwner | Privileged,
		Effects: []MoveEffect{unblock}},
	{From: []State{Queued, Briefed}, To: Parked, Who: ByHuman,
		Conditions: []Condition{notRequired}},
	{From: []State{Parked}, To: Queued, Who: ByHuman},
}

// transition finds the move of a row to a state.
func transition(row *Row, to State) *Transition {
	for i := range Transitions {
		t := &Transitions[i]
		if !slices.Contains(t.From, row.State) {
			continue
		}
		if t.To == to || t.To == Previous && row.PreviousState != nil && *row.PreviousState == to {
			return t
		}
	}
	return nil
}

// move changes a row's state by the table.
func (o *operation) move() error {
	args := o.args.(*MoveArgs)
	row, err := o.find(args.Row)
	if err != nil {
		return err
	}
	t := transition(row, args.To)
	if t == nil {
		return o.illegal(row, args.To)
	}
	what := ShowState(row.State, o.Human) + "→" + ShowState(args.To, o.Human)
	if err := o.allow(o.By, row, what, t.Who); err != nil {
		return err
	}
	m := moving{o, row, args, row.State}
	for _, c := range t.Conditions {
		if err := c.check(&m); err != nil {
			return err
		}
	}
	row.State = args.To
	for _, e := range t.Effects {
		if err := e.apply(&m); err != nil {
			return err
		}
	}
	o.changed(row, m.from)
	return nil
}

func (o *operation) illegal(row *Row, to State) error {
	switch {
	case row.State == Done:
		return refuse(IllegalTransition, "row %d is done; nothing changes a done row", row.ID)
	case row.State == Blocked && to == Blocked:
		return refuse(IllegalTransition, "row %d is blocked already; change the reason with note %d --reason TEXT", row.ID, row.ID)
	case row.State == Blocked:
		return refuse(IllegalTransition, "row %d returns from blocked to %s only, not to %s", row.ID, ShowState(*row.PreviousState, o.Human), ShowState(to, o.Human))
	}
	return refuse(IllegalTransition, "row %d cannot move from %s to %s", row.ID, ShowState(row.State, o.Human), ShowState(to, o.Human))
}

// The conditions.
var (
	prerequisitesMet = Condition{"every after is satisfied", func(m *moving) error {
		if open := m.unmet(m.row); open != nil {
			return refuse(PrerequisiteOpen, "row %d waits for row %d to be %s", m.row.ID, open.ID, open.When)
		}
		return nil
	}}
	briefUnchanged = Condition{"the working brief is the pinned blob", func(m *moving) error {
		m.result.Blob = m.Facts.Blob
		if m.Facts.Blob != m.row.Brief.Blob {
			return refuse(BriefDiffers, "brief differs from pinned blob; ask the lead to re-pin %s of row %d", m.row.Brief.Path, m.row.ID)
		}
		return nil
	}}
	noOpenAttempt = Condition{"no review attempt of the row is unresolved", func(m *moving) error {
		return m.row.Review.settled(m.row.ID)
	}}
	reasonGiven = Condition{"a reason", func(m *moving) error {
		if err := checkText("the reason", m.args.Reason, maxReason); err != nil {
			return refuse(ReasonMissing, "a move of row %d to %s needs --reason", m.row.ID, ShowState(m.args.To, m.Human))
		}
		return nil
	}}
	approvalCited = Condition{"the lead cites the human's approval as evidence", func(m *moving) error {
		if m.By != m.Human && checkText("the evidence", m.args.Evidence, maxReason) != nil {
			return refuse(EvidenceInvalid, "the lead needs --evidence that cites %s's approval", m.Human)
		}
		return nil
	}}
	gateNotHumans = Condition{"the gate owner is not the human", func(m *moving) error {
		if m.row.GateOwner == m.Human {
			return refuse(GateIsHumans, "the gate of row %d is %s's: move it to %s first", m.row.ID, m.Human, ShowState(WaitingOnHuman, m.Human))
		}
		return nil
	}}
	evidenceMatches = Condition{"the evidence names the current round and its candidate, and without reviewers a comment", func(m *moving) error {
		return m.checkEvidence()
	}}
	reviewersApprove = Condition{"every listed reviewer has approved the current round", func(m *moving) error {
		round := m.row.Review.current()
		for _, seat := range m.row.Reviewers {
			if receipt := round.receiptOf(seat); receipt == nil || receipt.Verdict != Approve {
				return refuse(ApprovalMissing, "%s has not approved round %d of row %d", seat, round.Round, m.row.ID)
			}
		}
		return nil
	}}
	notRequired = Condition{"the row is not required", func(m *moving) error {
		if m.row.Required {
			return refuse(RowRequired, "row %d is required; %s clears that before it can be parked", m.row.ID, m.Human)
		}
		return nil
	}}
)

// The effects.
var (
	takeClaim = MoveEffect{"the owner holds the claim", func(m *moving) error {
		m.row.Claim = &Claim{Seat: m.row.Owner, Op: m.Op}
		return nil
	}}
	dropClaim = MoveEffect{"the claim is cleared", func(m *moving) error {
		m.row.Claim = nil
		return nil
	}}
	openRound = MoveEffect{"a new round; with reviewers, its first request", func(m *moving) error {
		return m.openRound()
	}}
	block = MoveEffect{"the reason and the previous state are kept", func(m *moving) error {
		previous, reason := m.from, m.args.Reason
		m.row.PreviousState, m.row.BlockedReason = &previous, &reason
		return nil
	}}
	unblock = MoveEffect{"the reason and the previous state are cleared", func(m *moving) error {
		m.row.PreviousState, m.row.BlockedReason = nil, nil
		return nil
	}}
)

// unmet returns a row's first prerequisite that is not satisfied, or nil
// (QUEUE-STATE-86, QUEUE-STATE-87).
func (s *Replayed) unmet(row *Row) *After {
	for i := range row.After {
		a := &row.After[i]
		state := s.Row(a.ID).State
		if state != Done && (a.When != WhenSettled || state != Blocked) {
			return a
		}
	}
	return nil
}
