package queue

// Recorded is one entry of the log, with the row that it concerns before and
// after it. Before is nil for a new row; both are nil for an entry without a
// row.
type Recorded struct {
	Entry         *Entry
	Before, After *Row
}

// History replays a log and shows every entry to visit, the oldest first. It
// refuses what Replay refuses. What visit is shown must not be changed.
func History(log []Entry, visit func(Recorded)) error {
	s := Empty()
	for i := range log {
		effect, err := log[i].Effect()
		if err != nil {
			return err
		}
		step := Recorded{Entry: &log[i]}
		if effect.Row != nil {
			step.Before = s.copyOf(*effect.Row)
		}
		if err := s.redo(&log[i], i, rulebooks); err != nil {
			return err
		}
		if effect.Row != nil {
			step.After = s.copyOf(*effect.Row)
		}
		visit(step)
	}
	return nil
}

func (s *Replayed) copyOf(id RowID) *Row {
	row := s.Row(id)
	if row == nil {
		return nil
	}
	copied := *row
	return &copied
}
