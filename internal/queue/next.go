package queue

import "encoding/json"

// Action is what a seat does next.
type Action string

// The actions, in the order in which next looks for them.
const (
	Resume  Action = "resume"
	Answer  Action = "review"
	Start   Action = "start"
	Wait    Action = "wait"
	Nothing Action = "nothing"
)

// DifferingBrief marks a start that would be refused (QUEUE-NEXT-08).
const DifferingBrief = "brief differs from pinned blob; ask the lead to re-pin"

// Next is the one answer of next. Row is nil for Nothing; Note is the row's
// note, or why a start would be refused.
type Next struct {
	Action Action
	Row    *Row
	Note   string
}

// MarshalRow returns a row as the file has it, without white space, for --json.
func MarshalRow(r *Row) json.RawMessage { return compact(rowBytes(r)) }

// nextClasses are the classes of work, the first that has a row wins; within
// a class the lowest id does (QUEUE-NEXT-04 to 09).
var nextClasses = []struct {
	action  Action
	matches func(s *Replayed, seat Seat, r *Row) bool
}{
	{Resume, func(_ *Replayed, seat Seat, r *Row) bool {
		return r.State == InProgress && r.Claim != nil && r.Claim.Seat == seat
	}},
	{Answer, func(s *Replayed, seat Seat, r *Row) bool {
		return r.State == InReview && r.Owner != seat && s.relations(seat, r)&ByReviewer != 0 && r.Review.awaits(seat)
	}},
	{Start, func(s *Replayed, seat Seat, r *Row) bool {
		t := transition(r, InProgress)
		return r.State == Briefed && s.relations(seat, r)&t.Who != 0 && s.unmet(r) == nil
	}},
	{Wait, func(_ *Replayed, seat Seat, r *Row) bool {
		return r.State == InReview && r.Owner == seat
	}},
}

// awaits reports whether a listed reviewer has no receipt for the current
// round yet; a round without a candidate is nobody's to judge.
func (r *Review) awaits(seat Seat) bool {
	round := r.current()
	return round != nil && round.Candidate.Kind != NoCandidate && round.receiptOf(seat) == nil
}

// Next says what a seat does next, by the same predicates as move. The working
// brief is asked for the row to start and for no other; differs reports
// whether it is not the pinned blob. A name that cannot act is refused.
func (s *Replayed) Next(seat Seat, differs func(*Row) (bool, error)) (Next, error) {
	if err := s.CheckActor(seat); err != nil {
		return Next{}, err
	}
	for _, class := range nextClasses {
		var first *Row
		for i := range s.Rows {
			row := &s.Rows[i]
			if (first == nil || row.ID < first.ID) && class.matches(s, seat, row) {
				first = row
			}
		}
		if first != nil {
			return class.action.of(first, differs)
		}
	}
	return Next{Action: Nothing}, nil
}

// of is the answer that names a row.
func (a Action) of(row *Row, differs func(*Row) (bool, error)) (Next, error) {
	n := Next{Action: a, Row: row, Note: row.Note}
	if a != Start {
		return n, nil
	}
	changed, err := differs(row)
	if err != nil {
		return Next{}, err
	}
	if changed {
		n.Note = DifferingBrief
	}
	return n, nil
}
