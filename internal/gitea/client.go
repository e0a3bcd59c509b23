package gitea

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"mosaicstack.dev/mosaic/internal/wire"
)

// Deadline ends a call that has no other one (QUEUE-REVIEW-55, 57, 78).
const Deadline = 30 * time.Second

// Limits of an answer, in bytes.
const (
	maxHeader = 64 << 10
	maxBody   = 8 << 20
)

// Why a call gave no usable answer. They are compared with errors.Is.
var (
	ErrServer     = errors.New("gitea: the server's address is not http(s)://HOST, or the repository is not OWNER/NAME")
	ErrCredential = errors.New("gitea: the credential file holds no usable token")
	ErrTransport  = errors.New("gitea: the request got no answer")
	ErrDeadline   = errors.New("gitea: the answer took too long")
	ErrAnswer     = errors.New("gitea: an answer of unexpected form")
)

// StatusError is an answer with another status than the call needs.
type StatusError int

// Error names the status.
func (e StatusError) Error() string { return "gitea: HTTP " + strconv.Itoa(int(e)) }

// Repository names a repository on a server.
type Repository struct {
	Server string // http(s)://HOST[:PORT][/PREFIX], without a user or a query
	Owner  string
	Name   string
}

// Client calls one server about one repository.
type Client struct {
	base     string // the API's address, without a slash at the end
	repo     Repository
	token    string
	deadline time.Duration
	http     *http.Client
}

// Options are what a client needs beside the repository.
type Options struct {
	Credential string        // path of the token file; "" calls without a token
	Deadline   time.Duration // of each call; 0 is Deadline
}

// New returns a client. It reads the credential file and calls nobody.
// ErrServer or ErrCredential otherwise.
func New(repo Repository, o Options) (*Client, error) {
	base, err := repo.api()
	if err != nil {
		return nil, err
	}
	c := &Client{base: base, repo: repo, deadline: o.Deadline, http: plainHTTP()}
	if c.deadline == 0 {
		c.deadline = Deadline
	}
	if o.Credential != "" {
		if c.token, err = readToken(o.Credential); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// plainHTTP makes a client whose every call is one request on a connection of
// its own: without a kept connection Go has no reason to send a request again.
func plainHTTP() *http.Client {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{}).DialContext,
			DisableKeepAlives:      true,
			DisableCompression:     true,
			MaxResponseHeaderBytes: maxHeader,
			Protocols:              protocols,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// api returns the address of the server's API.
func (r Repository) api() (string, error) {
	u, err := url.Parse(r.Server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", ErrServer
	}
	if !isSegment(r.Owner) || !isSegment(r.Name) {
		return "", ErrServer
	}
	return strings.TrimRight(u.String(), "/") + "/api/v1", nil
}

// isSegment reports whether a name is one segment of a path, as Gitea allows
// them: letters, digits, '-', '_' and '.', and not only dots.
func isSegment(name string) bool {
	return strings.Trim(name, ".") != "" &&
		strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == ""
}

// Parse reads OWNER/NAME.
func (r *Repository) Parse(full string) error {
	owner, name, ok := strings.Cut(full, "/")
	if !ok || !isSegment(owner) || !isSegment(name) {
		return ErrServer
	}
	r.Owner, r.Name = owner, name
	return nil
}

// IssueURL is the page of an issue, for people.
func (r Repository) IssueURL(issue int) string {
	return strings.TrimRight(r.Server, "/") + "/" + r.Owner + "/" + r.Name + "/issues/" + strconv.Itoa(issue)
}

// path is an address below the repository.
func (c *Client) path(rest string) string {
	return "/repos/" + c.repo.Owner + "/" + c.repo.Name + rest
}

// answer is the status of a response, and its body if all of it was read.
type answer struct {
	status int
	body   []byte
	total  int // X-Total-Count: how many there are beyond this page too; 0 when not said
}

// call makes one request. The status is 0 when there was no response; an error
// beside a status concerns the body alone.
func (c *Client) call(ctx context.Context, method, path string, body []byte) (answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.deadline, ErrDeadline)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, http.NoBody)
	if err != nil {
		return answer{}, ErrServer
	}
	if body != nil {
		// Without GetBody the request cannot be sent a second time.
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "mosaic")
	if c.token != "" {
		req.Header.Set("Authorization", "token "+c.token)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return answer{}, cut(ctx)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxBody+1))
	switch {
	case err != nil:
		return answer{status: res.StatusCode}, cut(ctx)
	case len(text) > maxBody:
		return answer{status: res.StatusCode}, ErrAnswer
	}
	total, _ := strconv.Atoi(res.Header.Get("X-Total-Count"))
	return answer{res.StatusCode, text, total}, nil
}

// cut says why a response or its body is missing.
func cut(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return ErrTransport
}

// get makes one GET and decodes an answer with status 200 into v.
func (c *Client) get(ctx context.Context, path string, v any) (answer, error) {
	a, err := c.call(ctx, http.MethodGet, path, nil)
	switch {
	case a.status != 0 && a.status != http.StatusOK:
		return a, StatusError(a.status)
	case err != nil:
		return a, err
	case wire.DecodePart(a.body, v) != nil:
		return a, ErrAnswer
	}
	return a, nil
}
