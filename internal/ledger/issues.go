package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"mosaicstack.dev/mosaic/internal/gitea"
	"mosaicstack.dev/mosaic/internal/queue"
)

// MaxLookups is how many issues a run looks up one by one (QUEUE-LEDGER-16).
const MaxLookups = 10

// standing is what is known of an issue.
type standing int

const (
	unknown standing = iota
	isOpen
	isClosed
)

// knowledge is what the calls of one run told.
type knowledge struct {
	ran         bool
	calls       int
	metrics     []gitea.Issue
	metricsFull bool
	openFull    bool
	overBudget  bool
	state       map[int]standing
	why         map[int]string // of an issue that is unknown
}

// readIssues makes the run's calls: the table's page, the page of open issues,
// and single issues that only a look can decide.
func readIssues(ctx context.Context, in Input) (*knowledge, error) {
	k := &knowledge{state: map[int]standing{}, why: map[int]string{}}
	if in.Issues == nil {
		return k, nil
	}
	k.ran = true
	var err error
	k.calls++
	if k.metrics, k.metricsFull, err = in.Issues.UpdatedIssues(ctx, in.Since); err != nil {
		return nil, fmt.Errorf("the issues of the range: %w", err)
	}
	k.calls++
	open, full, err := in.Issues.OpenIssues(ctx)
	if err != nil {
		return nil, fmt.Errorf("the open issues: %w", err)
	}
	k.openFull = full
	k.learn(k.metrics)
	k.learn(open) // the later look wins
	for i, number := range k.wanted(in.State.Rows) {
		if i >= MaxLookups {
			k.overBudget = true
			k.why[number] = "unknown (budget)"
			continue
		}
		k.calls++
		k.look(ctx, in.Issues, number)
	}
	return k, ctx.Err()
}

func (k *knowledge) learn(list []gitea.Issue) {
	for _, issue := range list {
		switch {
		case issue.PullRequest:
		case issue.Closed:
			k.state[issue.Number] = isClosed
		default:
			k.state[issue.Number] = isOpen
		}
	}
}

// wanted lists the issues that some row closes and that no page decided, those
// of done rows first: on them a verdict depends.
func (k *knowledge) wanted(rows []queue.Row) []int {
	var first, then []int
	for _, row := range rows {
		for _, n := range row.Closes {
			switch {
			case k.state[n] != unknown:
			case row.State == queue.Done:
				first = append(first, n)
			default:
				then = append(then, n)
			}
		}
	}
	slices.Sort(first)
	slices.Sort(then)
	var all []int
	for _, n := range append(slices.Compact(first), slices.Compact(then)...) {
		if !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

// look asks for one issue. What is no issue is no evidence (QUEUE-LEDGER-24,
// 25).
func (k *knowledge) look(ctx context.Context, from Issues, number int) {
	issue, err := from.Issue(ctx, number)
	var status gitea.StatusError
	switch {
	case errors.As(err, &status):
		k.why[number] = fmt.Sprintf("unknown (HTTP %d)", int(status))
	case err != nil:
		k.why[number] = "unknown (no answer)"
	case issue.PullRequest:
		k.why[number] = "unknown (a pull request)"
	default:
		k.learn([]gitea.Issue{issue})
	}
}

// verdict says how far the issue checks got (QUEUE-LEDGER-15, 17, 19).
func (k *knowledge) verdict() string {
	switch {
	case !k.ran:
		return IssuesNotRun
	case k.openFull || k.overBudget:
		return IssuesIncomplete
	}
	return IssuesComplete
}

// reason says why an issue is unknown.
func (k *knowledge) reason(number int) string {
	switch {
	case !k.ran:
		return "not run"
	case k.why[number] != "":
		return k.why[number]
	}
	return "unknown"
}
