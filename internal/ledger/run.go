package ledger

import (
	"context"
	"time"

	"mosaicstack.dev/mosaic/internal/gitea"
	"mosaicstack.dev/mosaic/internal/proc"
	"mosaicstack.dev/mosaic/internal/queue"
)

// Issues is where issues are read; gitea.Client is one. Each call is one
// request.
type Issues interface {
	UpdatedIssues(ctx context.Context, since time.Time) ([]gitea.Issue, bool, error)
	OpenIssues(ctx context.Context) ([]gitea.Issue, bool, error)
	Issue(ctx context.Context, number int) (gitea.Issue, error)
}

// Input is what a run looks at.
type Input struct {
	File          *queue.File // as the queue's validator gave it
	State         *queue.Replayed
	Now           time.Time
	Since         time.Time    // begin of the range; zero is Range before Now
	Issues        Issues       // nil leaves the issue checks out
	Registrations string       // directory of registration files
	Exempt        []queue.Seat // declared with --unsupported-runtime
	Previous      *Report      // an earlier run, or nil
	Processes     proc.Table
}

// Range is how far the report looks back where nothing else is said.
const Range = 7 * 24 * time.Hour

// Run makes one report. The error is a failure to read the list of issues, or
// a log that does not replay.
func Run(ctx context.Context, in Input) (*Report, error) {
	if in.Since.IsZero() {
		in.Since = in.Now.Add(-Range)
	}
	known, err := readIssues(ctx, in)
	if err != nil {
		return nil, err
	}
	steps, err := stepsSince(in.File.Log, in.Since)
	if err != nil {
		return nil, err
	}
	report := &Report{
		At:    queue.Stamp(in.Now),
		Since: queue.Stamp(in.Since),
		Calls: known.calls,
		Weeks: weeks(in, steps, known),
	}
	report.LowerBound = known.metricsFull
	section := &report.Queue
	section.begin()
	section.Revision = in.File.Revision
	section.IssueChecks = known.verdict()
	section.Changes = protectedChanges(steps)
	section.checkClosure(in.State.Rows, known)
	section.checkLiveness(in)
	section.checkAge(in)
	section.compare(in.Previous, in.Now)
	section.Result = section.result()
	return report, nil
}

// begin makes every list empty rather than absent, so that a report in JSON has
// lists alone and can be read again.
func (s *Section) begin() {
	for _, list := range []*[]Finding{&s.Violations, &s.Outstanding, &s.Remediated, &s.Undecided, &s.Dispositions} {
		*list = []Finding{}
	}
}

// result is the verdict of QUEUE-LEDGER-43 to 51.
func (s *Section) result() string {
	switch {
	case len(s.Violations) > 0 || len(s.Outstanding) > 0:
		return Fail
	case len(s.Undecided) > 0 || s.IssueChecks != IssuesComplete:
		return Incomplete
	}
	return ReducedPass
}

func (s *Section) violate(check string, row queue.RowID, issue *int, detail string) {
	s.Violations = append(s.Violations, Finding{Identity{check, row, issue}, detail})
}

func (s *Section) undecide(check string, row queue.RowID, issue *int, detail string) {
	s.Undecided = append(s.Undecided, Finding{Identity{check, row, issue}, detail})
}

func (s *Section) dispose(row queue.RowID, issue int, detail string) {
	s.Dispositions = append(s.Dispositions, Finding{Identity{CheckClosure, row, &issue}, detail})
}
