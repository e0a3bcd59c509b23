package ledger

import (
	"slices"
	"time"

	"mosaicstack.dev/mosaic/internal/queue"
)

// compare sets this run beside an earlier one of the same UTC day
// (QUEUE-LEDGER-52 to 55). An earlier violation is remediated when this run
// could have reported it and does not; it is outstanding when this run could
// not decide it.
func (s *Section) compare(previous *Report, now time.Time) {
	if previous == nil || !sameDay(previous.At, now) {
		return
	}
	for _, f := range append(slices.Clone(previous.Queue.Violations), previous.Queue.Outstanding...) {
		switch {
		case contains(s.Violations, f.Identity) || contains(s.Outstanding, f.Identity):
		case s.undecided(f.Identity):
			s.Outstanding = append(s.Outstanding, f)
		default:
			s.Remediated = append(s.Remediated, f)
		}
	}
}

// undecided reports whether this run could not decide what a violation's
// identity names.
func (s *Section) undecided(id Identity) bool {
	if contains(s.Undecided, id) {
		return true
	}
	return id.Check == CheckClosure && s.IssueChecks != IssuesComplete
}

func contains(list []Finding, id Identity) bool {
	return slices.ContainsFunc(list, func(f Finding) bool { return f.same(id) })
}

func sameDay(at string, now time.Time) bool {
	then, err := time.Parse(queue.TimeLayout, at)
	return err == nil && !then.After(now) && then.Format(time.DateOnly) == now.UTC().Format(time.DateOnly)
}
