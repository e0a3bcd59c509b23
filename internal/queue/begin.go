package queue

import "slices"

// genesis begins a queue: the roster, and the rows that the migration map
// gives (QUEUE-DATA-73 to 84).
func (o *operation) genesis() error {
	args := o.args.(*GenesisArgs)
	if o.By == "" {
		return o.CheckActor(o.By)
	}
	facts := o.Facts.Genesis
	if facts == nil {
		return refuse(GenesisInvalid, "genesis has no migration map")
	}
	o.Human, o.Lead, o.Seats, o.Labels = args.Human, args.Lead, args.Seats, args.Labels
	o.Root, o.Branch = args.CanonicalRoot, args.Branch
	if err := o.permit(mayBegin, nil); err != nil {
		return err
	}
	recorded := *facts
	recorded.Legacy.Rows, recorded.Legacy.Parked = list(facts.Legacy.Rows), list(facts.Legacy.Parked)
	recorded.Retired = list(facts.Retired)
	recorded.Rows = make([]Row, len(facts.Rows))
	for i, row := range facts.Rows {
		recorded.Rows[i] = o.firstForm(row)
	}
	if err := o.settle(&recorded); err != nil {
		return err
	}
	o.result.Genesis = &recorded
	return nil
}

// settle takes the map's rows and ids over.
func (o *operation) settle(facts *GenesisFacts) error {
	if !isObjectID(facts.MapBlob) {
		return refuse(GenesisInvalid, "the migration map is not in HEAD")
	}
	if facts.HighWater < 0 {
		return refuse(GenesisInvalid, "the greatest id is %d", facts.HighWater)
	}
	var last RowID
	for _, r := range facts.Retired {
		if r.ID <= last || r.ID > facts.HighWater {
			return refuse(GenesisInvalid, "retired id %d is out of order or above the greatest id %d", r.ID, facts.HighWater)
		}
		last = r.ID
		o.Retired = append(o.Retired, r.ID)
	}
	last = 0
	for i := range facts.Rows {
		row := &facts.Rows[i]
		if row.ID <= last || row.ID > facts.HighWater || slices.Contains(o.Retired, row.ID) {
			return refuse(GenesisInvalid, "row %d is out of order, given twice, retired, or above the greatest id %d", row.ID, facts.HighWater)
		}
		last = row.ID
	}
	o.Rows, o.HighWater = slices.Clone(facts.Rows), facts.HighWater
	rows := make([]*Row, len(o.Rows))
	for i := range o.Rows {
		rows[i] = &o.Rows[i]
		if err := o.checkFirst(rows[i]); err != nil {
			return err
		}
	}
	return o.checkCycles(rows...)
}

// firstForm is a legacy row as it enters the queue: its lists in order, its
// issues all closed by it, its claim the genesis operation's.
func (o *operation) firstForm(row Row) Row {
	row.Issues, row.Reviewers = list(sortedSet(row.Issues)), list(sortedSet(row.Reviewers))
	row.Closes = slices.Clone(row.Issues) // QUEUE-DATA-82
	row.After = list(row.After)
	row.Review, row.Claim = nil, nil // no approval is invented (QUEUE-DATA-84)
	if row.workedOn() && row.Owner != Unassigned {
		row.Claim = &Claim{Seat: row.Owner, Op: o.Op} // QUEUE-OPEN-21
	}
	row.UpdatedAt, row.UpdatedBy = o.at, o.By
	return row
}

// workedOn reports whether the row was started and is not finished.
func (r *Row) workedOn() bool {
	state := r.State
	if state == Blocked && r.PreviousState != nil {
		state = *r.PreviousState
	}
	return state == InProgress || state == InReview || state == WaitingOnHuman
}

// checkFirst refuses a legacy row that no sequence of operations could have
// made.
func (o *operation) checkFirst(row *Row) error {
	after, err := sortedAfter(row.After)
	if err == nil && !slices.Equal(after, row.After) {
		err = refuse(GenesisInvalid, "its after is not in order")
	}
	brief := BriefRef{Path: row.Brief.Path, Anchor: row.Brief.Anchor}
	err = firstError(err,
		checkText("piece", row.Piece, maxLine), checkLine("note", row.Note, maxLine), checkLine("gate", row.Gate, maxReason),
		checkIssues(row.Issues), brief.normalize(),
		o.checkNames(row), o.checkAfter(row), checkStateOf(row), checkTimesOf(row))
	switch {
	case err != nil:
		return refuse(GenesisInvalid, "row %d: %v", row.ID, err)
	case !isObjectID(row.Brief.Blob) || brief.Path != row.Brief.Path || !equal(brief.Anchor, row.Brief.Anchor):
		return refuse(GenesisInvalid, "the brief of row %d is not in HEAD", row.ID)
	}
	return nil
}

func checkStateOf(row *Row) error {
	blocked := row.State == Blocked
	switch {
	case !row.State.known():
		return refuse(GenesisInvalid, "%q is no state", clip(string(row.State)))
	case blocked != (row.PreviousState != nil) || blocked != (row.BlockedReason != nil):
		return refuse(GenesisInvalid, "a previous state and a reason belong to a blocked row and to no other")
	case blocked && !slices.Contains(blockable(), *row.PreviousState):
		return refuse(GenesisInvalid, "no row is blocked from %q", clip(string(*row.PreviousState)))
	case blocked:
		return checkText("the reason", *row.BlockedReason, maxReason)
	case row.Required && row.State == Parked:
		return refuse(GenesisInvalid, "a parked row cannot be required")
	}
	return nil
}

// blockable lists the states that a row can be blocked from.
func blockable() []State {
	var from []State
	for _, t := range Transitions {
		if t.To == Blocked {
			from = append(from, t.From...)
		}
	}
	return from
}

func checkTimesOf(row *Row) error {
	switch {
	case row.CreatedAt != Unknown && !isTime(row.CreatedAt):
		return refuse(GenesisInvalid, "createdAt is neither a time nor %s", Unknown)
	case row.Required != (row.RequiredSince != nil):
		return refuse(GenesisInvalid, "requiredSince belongs to a required row and to no other")
	case row.Required && *row.RequiredSince != Unknown && !isTime(*row.RequiredSince):
		return refuse(GenesisInvalid, "requiredSince is neither a time nor %s", Unknown)
	}
	return nil
}

func equal[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }
