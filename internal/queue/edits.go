package queue

import "slices"

// add makes a row in queued (QUEUE-STATE-01 to 12).
func (o *operation) add() error {
	args := o.args.(*AddArgs)
	if err := o.permit(mayAdd, nil); err != nil {
		return err
	}
	if args.Owner != "" || args.Gate != "" || args.GateOwner != "" || args.Required || len(args.After) > 0 || len(args.Reviewers) > 0 {
		if err := o.permit(mayAddMore, nil); err != nil {
			return err
		}
	}
	if !isObjectID(o.Facts.Blob) {
		return refuse(BriefInvalid, "the brief %s is not in HEAD", args.Brief.Path)
	}
	row := Row{
		ID: o.HighWater + 1, Piece: args.Piece, Owner: args.Owner, State: Queued,
		Issues: list(args.Issues), Closes: list(args.Issues),
		Gate: args.Gate, GateOwner: args.GateOwner,
		Brief: Brief{Path: args.Brief.Path, Anchor: args.Brief.Anchor, Blob: o.Facts.Blob},
		After: list(args.After), Reviewers: list(args.Reviewers), Note: args.Note,
		CreatedAt: o.at, UpdatedAt: o.at, UpdatedBy: o.By,
	}
	if row.Owner == "" {
		row.Owner = o.By
	}
	if row.GateOwner == "" {
		row.GateOwner = o.Human
	}
	if args.Required {
		row.Required, row.RequiredSince = true, &row.CreatedAt
	}
	if err := firstError(o.checkNames(&row), o.checkAfter(&row)); err != nil {
		return err
	}
	o.Rows = append(o.Rows, row)
	o.HighWater = row.ID
	o.result.Blob = o.Facts.Blob
	o.receipt(row.ID, "new", string(Queued))
	return nil
}

// list is never nil: an empty list stands in the file.
func list[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}

// assign gives a row to another owner, and its claim with it (QUEUE-STATE-79).
func (o *operation) assign() error {
	args := o.args.(*AssignArgs)
	row, err := o.findOpen(args.Row)
	if err != nil {
		return err
	}
	if err := o.permit(mayAssign, row); err != nil {
		return err
	}
	row.Owner = args.Owner
	if err := o.checkNames(row); err != nil {
		return err
	}
	if row.Claim != nil {
		if args.Owner == Unassigned {
			return refuse(ArgumentInvalid, "row %d is claimed by %s: release it before nobody owns it", row.ID, row.Claim.Seat)
		}
		row.Claim = &Claim{Seat: args.Owner, Op: o.Op}
	}
	o.changed(row, row.State)
	return nil
}

// note replaces the note, or the reason of a blocked row.
func (o *operation) note() error {
	args := o.args.(*NoteArgs)
	row, err := o.findOpen(args.Row)
	if err != nil {
		return err
	}
	if args.Note != nil {
		if err := o.permit(mayNote, row); err != nil {
			return err
		}
		row.Note = *args.Note
	} else {
		if err := o.permit(mayExplain, row); err != nil {
			return err
		}
		if row.State != Blocked {
			return refuse(ArgumentInvalid, "row %d is %s: only a blocked row has a reason", row.ID, ShowState(row.State, o.Human))
		}
		row.BlockedReason = &args.Reason
	}
	o.changed(row, row.State)
	return nil
}

// set edits fields, all or nothing. Each is permitted as if it were edited
// alone on the row as it is; issues come before closes.
func (o *operation) set() error {
	args := o.args.(*SetArgs)
	row, err := o.findOpen(args.Row)
	if err != nil {
		return err
	}
	for _, e := range []struct {
		given bool
		who   Permission
		apply func(*Row, *SetArgs) error
	}{
		{args.After != nil, o.afterPermission(row), o.setAfter},
		{args.Piece != nil || args.Gate != nil || args.GateOwner != nil || args.Reviewers != nil, maySet, o.setFields},
		{args.Issues != nil, maySet, o.setIssues},
		{args.Closes != nil, mayNarrow, o.setCloses},
		{args.Brief != nil, maySet, o.setBrief},
		{args.Required != nil && *args.Required, mayRequire, o.setRequired},
		{args.Required != nil && !*args.Required, mayNotRequire, o.setRequired},
	} {
		if !e.given {
			continue
		}
		if err := firstError(o.permit(e.who, row), e.apply(row, args)); err != nil {
			return err
		}
	}
	if err := o.checkNames(row); err != nil {
		return err
	}
	o.changed(row, row.State)
	return nil
}

func (o *operation) afterPermission(row *Row) Permission {
	if row.Required {
		return maySetRequiredAfter
	}
	return maySetAfter
}

func (o *operation) setAfter(row *Row, args *SetArgs) error {
	row.After = list(*args.After)
	if err := o.checkAfter(row); err != nil {
		return err
	}
	return o.checkCycles(row)
}

func (o *operation) setFields(row *Row, args *SetArgs) error {
	if args.Piece != nil {
		row.Piece = *args.Piece
	}
	if args.Gate != nil {
		row.Gate = *args.Gate
	}
	if args.GateOwner != nil {
		row.GateOwner = *args.GateOwner
	}
	if args.Reviewers != nil {
		row.Reviewers = list(*args.Reviewers)
	}
	return nil
}

// setIssues takes a removed issue out of closes too, and a new one joins both
// (QUEUE-OPEN-45).
func (o *operation) setIssues(row *Row, args *SetArgs) error {
	issues, closes := list(*args.Issues), []int{}
	for _, n := range issues {
		if slices.Contains(row.Closes, n) || !slices.Contains(row.Issues, n) {
			closes = append(closes, n)
		}
	}
	row.Issues, row.Closes = issues, closes
	return nil
}

func (o *operation) setCloses(row *Row, args *SetArgs) error {
	if args.Reason == "" {
		return refuse(ReasonMissing, "a change of closes needs --reason")
	}
	for _, n := range *args.Closes {
		if !slices.Contains(row.Issues, n) {
			return refuse(ArgumentInvalid, "row %d cannot close issue %d, which it does not name", row.ID, n)
		}
	}
	row.Closes = list(*args.Closes)
	return nil
}

// setBrief pins the committed text again (QUEUE-BRIEF-15, QUEUE-OPEN-32).
func (o *operation) setBrief(row *Row, args *SetArgs) error {
	if !isObjectID(o.Facts.Blob) {
		return refuse(BriefInvalid, "the brief %s is not in HEAD", args.Brief.Path)
	}
	o.result.OldBlob, o.result.Blob = row.Brief.Blob, o.Facts.Blob
	row.Brief = Brief{Path: args.Brief.Path, Anchor: args.Brief.Anchor, Blob: o.Facts.Blob}
	return nil
}

func (o *operation) setRequired(row *Row, args *SetArgs) error {
	switch {
	case !*args.Required:
		row.Required, row.RequiredSince = false, nil
	case !row.Required:
		row.Required, row.RequiredSince = true, &o.at
	}
	return nil
}

// roster changes who is lead, a seat or a label (QUEUE-OPEN-04).
func (o *operation) roster() error {
	args := o.args.(*RosterArgs)
	if err := o.permit(mayRoster, nil); err != nil {
		return err
	}
	if args.Lead != nil {
		o.Lead = *args.Lead
	}
	if args.Seats != nil {
		o.Seats = *args.Seats
	}
	if args.Labels != nil {
		o.Labels = *args.Labels
	}
	return checkRoster(o.Human, o.Lead, o.Seats, o.Labels)
}

// acceptHistory records what was lost (QUEUE-WRITE-75).
func (o *operation) acceptHistory() error {
	if err := o.permit(mayBegin, nil); err != nil {
		return err
	}
	lost := o.Facts.History
	switch {
	case lost == nil:
		return refuse(ArgumentInvalid, "accept-history does not say what was lost")
	case lost.Revision != o.Rev+1 || lost.Deduplicated:
		return refuse(ArgumentInvalid, "accept-history names revision %d, not %d", lost.Revision, o.Rev+1)
	case lost.Witness != nil && (lost.Witness.Revision < 0 || !isDigest(lost.Witness.LogDigest)):
		return refuse(ArgumentInvalid, "accept-history names no witness")
	}
	if err := checkText("the lost range", lost.Lost, maxReason); err != nil {
		return err
	}
	o.result.History = lost
	return nil
}

// checkRoster refuses names that could be taken for one another.
func checkRoster(human, lead Seat, seats, labels []Seat) error {
	if human == "" || lead == "" {
		return refuse(ArgumentInvalid, "a queue needs a human and a lead")
	}
	for _, name := range slices.Concat([]Seat{human, lead}, seats, labels) {
		if !isName(name) {
			return refuse(ArgumentInvalid, "%q is no name: letters, digits, '.', '_' and '-', a letter or digit first, at most 63, and not %s", clip(string(name)), Unassigned)
		}
	}
	if slices.Contains(seats, human) {
		return refuse(ArgumentInvalid, "%s is the human and cannot be a seat", human)
	}
	for _, label := range labels {
		if label == human || label == lead || slices.Contains(seats, label) {
			return refuse(ArgumentInvalid, "%s is a label and cannot be the human, the lead or a seat", label)
		}
	}
	return nil
}

// checkNames refuses owners, gate owners and reviewers that nobody configured
// (QUEUE-DATA-21, QUEUE-OPEN-42, QUEUE-OPEN-47).
func (s *Replayed) checkNames(row *Row) error {
	switch {
	case row.Owner != Unassigned && !s.knows(row.Owner):
		return refuse(NameUnknown, "%q cannot own a row: it is not the human, the lead, a seat, a label or %s", clip(string(row.Owner)), Unassigned)
	case !s.knows(row.GateOwner):
		return refuse(NameUnknown, "%q cannot hold a gate: it is not the human, the lead, a seat or a label", clip(string(row.GateOwner)))
	}
	for _, r := range row.Reviewers {
		if !s.knows(r) || slices.Contains(s.Labels, r) {
			return refuse(NameUnknown, "%q cannot review: it is not the human, the lead or a seat", clip(string(r)))
		}
		if r == row.Owner {
			return refuse(ReviewerIsTheOwner, "%s owns row %d and cannot review it", r, row.ID)
		}
	}
	return nil
}

// checkAfter refuses prerequisites that are missing or the row itself
// (QUEUE-DATA-38, QUEUE-DATA-39). A new row can be in no cycle: nothing names
// it yet.
func (s *Replayed) checkAfter(row *Row) error {
	for _, a := range row.After {
		switch {
		case a.ID == row.ID:
			return refuse(PrerequisiteWrong, "row %d cannot wait for itself", row.ID)
		case s.Row(a.ID) == nil:
			return refuse(PrerequisiteWrong, "row %d cannot wait for row %d, which does not exist", row.ID, a.ID)
		}
	}
	return nil
}

// checkCycles refuses a cycle that any of the rows is part of
// (QUEUE-DATA-40). Every prerequisite must exist.
func (s *Replayed) checkCycles(rows ...*Row) error {
	const (
		entered = 1
		left    = 2
	)
	marks := make([]uint8, len(s.Rows))
	var visit func(i int) error
	visit = func(i int) error {
		marks[i] = entered
		for _, a := range s.Rows[i].After {
			j, _ := s.index(a.ID)
			switch marks[j] {
			case entered:
				return refuse(DependencyCycle, "row %d cannot wait for row %d, which waits for it", s.Rows[i].ID, a.ID)
			case 0:
				if err := visit(j); err != nil {
					return err
				}
			}
		}
		marks[i] = left
		return nil
	}
	for _, row := range rows {
		i, _ := s.index(row.ID)
		if marks[i] == 0 {
			if err := visit(i); err != nil {
				return err
			}
		}
	}
	return nil
}
