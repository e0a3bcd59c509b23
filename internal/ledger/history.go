package ledger

import (
	"time"

	"mosaicstack.dev/mosaic/internal/gitea"
	"mosaicstack.dev/mosaic/internal/queue"
)

// stepsSince returns the operations of the range.
func stepsSince(log []queue.Entry, since time.Time) ([]queue.Recorded, error) {
	var steps []queue.Recorded
	from := queue.Stamp(since)
	err := queue.History(log, func(s queue.Recorded) {
		if s.Entry.At >= from {
			steps = append(steps, s)
		}
	})
	return steps, err
}

// protectedChanges lists what was done to rows that are required or parked,
// from the log (QUEUE-LEDGER-05, 06).
func protectedChanges(steps []queue.Recorded) []Change {
	changes := []Change{}
	for _, s := range steps {
		if !protected(s.Before) && !protected(s.After) {
			continue
		}
		change := Change{Rev: s.Entry.Rev, Verb: s.Entry.Verb, From: "new", By: s.Entry.By, At: s.Entry.At}
		if s.Before != nil {
			change.From = string(s.Before.State)
		}
		change.Row, change.To = s.After.ID, string(s.After.State)
		changes = append(changes, change)
	}
	return changes
}

func protected(row *queue.Row) bool {
	return row != nil && (row.Required || row.State == queue.Parked)
}

// weeks counts, for each week that the range touches, what happened in the
// range.
func weeks(in Input, steps []queue.Recorded, k *knowledge) []Week {
	table := []Week{}
	index := map[string]int{}
	for monday := mondayOf(in.Since); !monday.After(in.Now); monday = monday.AddDate(0, 0, 7) {
		week := Week{Monday: monday.Format(time.DateOnly)}
		if k.ran {
			week.Opened, week.Closed = new(int), new(int)
		}
		index[week.Monday] = len(table)
		table = append(table, week)
	}
	at := func(t time.Time) *Week {
		if t.Before(in.Since) || t.After(in.Now) {
			return nil
		}
		return &table[index[mondayOf(t).Format(time.DateOnly)]]
	}
	for _, s := range steps {
		when, _ := time.Parse(queue.TimeLayout, s.Entry.At)
		if week := at(when); week != nil && s.After != nil {
			week.count(s)
		}
	}
	for _, issue := range k.metrics {
		countIssue(at, issue)
	}
	return table
}

func (w *Week) count(s queue.Recorded) {
	switch {
	case s.Before == nil:
		w.Added++
	case s.Before.State == queue.Briefed && s.After.State == queue.InProgress:
		w.Started++
	case s.Before.State != queue.Done && s.After.State == queue.Done:
		w.Done++
	}
}

func countIssue(at func(time.Time) *Week, issue gitea.Issue) {
	if issue.PullRequest {
		return
	}
	if week := at(issue.CreatedAt); week != nil {
		*week.Opened++
	}
	if week := at(issue.ClosedAt); issue.Closed && week != nil {
		*week.Closed++
	}
}

func mondayOf(t time.Time) time.Time {
	t = t.UTC().Truncate(day)
	return t.AddDate(0, 0, -(int(t.Weekday())+6)%7)
}
