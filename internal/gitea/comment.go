package gitea

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"mosaicstack.dev/mosaic/internal/wire"
)

// Login asks which account the token belongs to.
func (c *Client) Login(ctx context.Context) (string, error) {
	var user struct {
		Login string `json:"login"`
	}
	_, err := c.get(ctx, "/user", &user)
	if err == nil && user.Login == "" {
		err = ErrAnswer
	}
	return user.Login, err
}

// Posted is what is known after a Post.
type Posted struct {
	Status int   // of the response; 0 when there was none
	ID     int64 // of the comment; 0 when the response named none
}

// Post makes exactly one request that adds a comment to an issue. The error is
// ErrTransport or ErrDeadline (or the context's) when the response or its end
// is missing: the comment may exist.
func (c *Client) Post(ctx context.Context, issue int, body string) (Posted, error) {
	request, err := wire.Encode(struct {
		Body string `json:"body"`
	}{body})
	if err != nil {
		return Posted{}, err
	}
	a, err := c.call(ctx, http.MethodPost, c.path("/issues/"+strconv.Itoa(issue)+"/comments"), request)
	if err != nil {
		return Posted{Status: a.status}, err
	}
	var made struct {
		ID int64 `json:"id"`
	}
	if wire.DecodePart(a.body, &made) != nil || made.ID < 1 || made.ID > wire.MaxSafeInteger {
		made.ID = 0
	}
	return Posted{a.status, made.ID}, nil
}

// Comment is a comment as the server has it now.
type Comment struct {
	ID    int64
	Issue int // of this repository; 0 when it belongs to something else
	Body  string
}

// Comment reads one comment with exactly one request.
func (c *Client) Comment(ctx context.Context, id int64) (Comment, error) {
	var found struct {
		ID          int64  `json:"id"`
		IssueURL    string `json:"issue_url"`
		PullRequest string `json:"pull_request_url"`
		Body        string `json:"body"`
	}
	if _, err := c.get(ctx, c.path("/issues/comments/"+strconv.FormatInt(id, 10)), &found); err != nil {
		return Comment{}, err
	}
	if found.ID != id {
		return Comment{}, ErrAnswer
	}
	issue := c.numberIn(found.IssueURL, "issues")
	if issue == 0 {
		issue = c.numberIn(found.PullRequest, "pulls") // they share their numbers
	}
	return Comment{ID: id, Issue: issue, Body: found.Body}, nil
}

// numberIn returns the number at the end of the address of one of this
// repository's issues or pull requests, or 0.
func (c *Client) numberIn(address, kind string) int {
	u, err := url.Parse(address)
	if err != nil {
		return 0
	}
	before, digits, _ := cutLast(u.Path, "/")
	if !strings.HasSuffix(strings.ToLower(before), strings.ToLower("/"+c.repo.Owner+"/"+c.repo.Name+"/"+kind)) {
		return 0
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || strconv.Itoa(n) != digits {
		return 0
	}
	return n
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
