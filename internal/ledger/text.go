package ledger

import (
	"fmt"
	"strings"

	"mosaicstack.dev/mosaic/internal/queue"
)

// Lines draws the report for people: the queue's section, then the weekly
// table. What rows and files contributed is not yet made safe to show.
func (r *Report) Lines() []string {
	lines := []string{fmt.Sprintf("ledger at %s UTC, since %s, queue revision %d, %d calls", r.At, r.Since, r.Queue.Revision, r.Calls), ""}
	lines = append(lines, r.Queue.lines()...)
	return append(append(lines, ""), r.table()...)
}

func (s *Section) lines() []string {
	lines := []string{plural(len(s.Violations), "queue: %d violation")}
	lines = append(lines, findings(s.Violations)...)
	if s.IssueChecks == IssuesNotRun {
		lines = append(lines, "queue issue checks: not run")
	} else if s.IssueChecks == IssuesIncomplete {
		lines = append(lines, "queue issue checks: incomplete")
	}
	for _, part := range []struct {
		title string
		list  []Finding
	}{
		{"outstanding from an earlier run of today:", s.Outstanding},
		{"remediated since an earlier run of today:", s.Remediated},
		{"undecided:", s.Undecided},
		{"for disposition:", s.Dispositions},
	} {
		if len(part.list) > 0 {
			lines = append(append(lines, part.title), findings(part.list)...)
		}
	}
	lines = append(lines, s.Liveness.lines()...)
	if len(s.Changes) > 0 {
		lines = append(lines, "changes to required or parked rows:")
	}
	for _, c := range s.Changes {
		lines = append(lines, fmt.Sprintf("  %s rev %d row %d %s %s→%s by %s", c.At, c.Rev, c.Row, c.Verb, c.From, c.To, c.By))
	}
	return append(lines, "result: "+s.Result)
}

func findings(list []Finding) []string {
	var lines []string
	for _, f := range list {
		lines = append(lines, fmt.Sprintf("  %s row %d: %s", f.Check, f.Row, f.Detail))
	}
	return lines
}

func (l Liveness) lines() []string {
	lines := []string{l.Coverage()}
	for _, o := range l.Owners {
		lines = append(lines, fmt.Sprintf("  %s: %s, %s", o.Seat, o.Class, o.Why))
	}
	if len(l.Exempted) > 0 {
		lines = append(lines, "exempt on this run: "+join(l.Exempted))
	}
	for _, d := range l.Duplicates {
		lines = append(lines, fmt.Sprintf("%s is registered more than once: %s", d.Seat, strings.Join(d.Layouts, ", ")))
	}
	return lines
}

func (r *Report) table() []string {
	lines := []string{"week of     issues opened  closed  rows added  started  done"}
	for _, w := range r.Weeks {
		lines = append(lines, fmt.Sprintf("%s  %13s  %6s  %10d  %7d  %4d", w.Monday, r.count(w.Opened), r.count(w.Closed), w.Added, w.Started, w.Done))
	}
	return lines
}

// count is a number of issues, unknown or a lower bound where it is.
func (r *Report) count(n *int) string {
	switch {
	case n == nil:
		return "-"
	case r.LowerBound:
		return fmt.Sprintf("≥ %d", *n)
	}
	return fmt.Sprint(*n)
}

// plural appends the s.
func plural(n int, format string) string {
	if n != 1 {
		format += "s"
	}
	return fmt.Sprintf(format, n)
}

func join(seats []queue.Seat) string {
	words := make([]string, len(seats))
	for i, s := range seats {
		words[i] = string(s)
	}
	return strings.Join(words, ", ")
}
