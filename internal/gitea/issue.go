package gitea

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"time"
)

// PageSize is how many issues a page holds at most. A page with as many is
// full: there may be more.
const PageSize = 50

// Issue is an issue or a pull request.
type Issue struct {
	Number      int
	Closed      bool
	PullRequest bool
	CreatedAt   time.Time
	ClosedAt    time.Time // zero while open
}

// issue is the part of the server's form that is read.
type issue struct {
	Number      int             `json:"number"`
	State       string          `json:"state"`
	PullRequest json.RawMessage `json:"pull_request"`
	CreatedAt   string          `json:"created_at"`
	ClosedAt    *string         `json:"closed_at"`
}

func (i issue) checked() (Issue, error) {
	if i.Number < 1 || i.State != "open" && i.State != "closed" {
		return Issue{}, ErrAnswer
	}
	out := Issue{Number: i.Number, Closed: i.State == "closed", PullRequest: len(i.PullRequest) > 0 && string(i.PullRequest) != "null"}
	out.CreatedAt, _ = time.Parse(time.RFC3339, i.CreatedAt)
	if i.ClosedAt != nil {
		out.ClosedAt, _ = time.Parse(time.RFC3339, *i.ClosedAt)
	}
	return out, nil
}

// OpenIssues reads the first page of the open issues, pull requests left out.
// full says that there may be more.
func (c *Client) OpenIssues(ctx context.Context) (list []Issue, full bool, err error) {
	return c.issues(ctx, url.Values{"state": {"open"}})
}

// UpdatedIssues reads the first page of the issues that changed since a time,
// open or closed.
func (c *Client) UpdatedIssues(ctx context.Context, since time.Time) (list []Issue, full bool, err error) {
	return c.issues(ctx, url.Values{"state": {"all"}, "since": {since.UTC().Format(time.RFC3339)}})
}

func (c *Client) issues(ctx context.Context, query url.Values) ([]Issue, bool, error) {
	query.Set("type", "issues")
	query.Set("page", "1")
	query.Set("limit", strconv.Itoa(PageSize))
	var page []issue
	a, err := c.get(ctx, c.path("/issues?"+query.Encode()), &page)
	if err != nil {
		return nil, false, err
	}
	list := make([]Issue, 0, len(page))
	for _, found := range page {
		one, err := found.checked()
		if err != nil {
			return nil, false, err
		}
		list = append(list, one)
	}
	// A server may be set to smaller pages than were asked for.
	return list, len(page) >= PageSize || a.total > len(page), nil
}

// Issue reads one issue or pull request; StatusError(404) when there is none.
func (c *Client) Issue(ctx context.Context, number int) (Issue, error) {
	var found issue
	if _, err := c.get(ctx, c.path("/issues/"+strconv.Itoa(number)), &found); err != nil {
		return Issue{}, err
	}
	one, err := found.checked()
	if err == nil && one.Number != number {
		err = ErrAnswer
	}
	return one, err
}
