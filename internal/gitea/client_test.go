package gitea_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mosaicstack.dev/mosaic/internal/gitea"
	"mosaicstack.dev/mosaic/internal/gitea/giteatest"
)

const token = "0123456789abcdef-secret"

// at is a client of a server, with a token and a deadline that a test can wait
// for.
func at(t *testing.T, s *giteatest.Server) *gitea.Client {
	t.Helper()
	s.Logins[token] = "dev"
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := gitea.New(gitea.Repository{Server: s.URL, Owner: giteatest.Owner, Name: giteatest.Name},
		gitea.Options{Credential: path, Deadline: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// proves: QUEUE-REVIEW-55 QUEUE-REVIEW-57 QUEUE-REVIEW-78
func TestDeadlineIsThirtySeconds(t *testing.T) {
	if gitea.Deadline != 30*time.Second {
		t.Errorf("the deadline of a call is %v", gitea.Deadline)
	}
}

func TestLoginAndComment(t *testing.T) {
	t.Parallel()
	s := giteatest.New(t)
	c := at(t, s)
	if login, err := c.Login(t.Context()); login != "dev" || err != nil {
		t.Fatalf("got %q, %v", login, err)
	}
	made, err := c.Post(t.Context(), 7, "hello <>& \"")
	if err != nil || made.Status != 201 || made.ID == 0 {
		t.Fatalf("got %+v, %v", made, err)
	}
	found, err := c.Comment(t.Context(), made.ID)
	if err != nil || found.Issue != 7 || found.Body != "hello <>& \"" {
		t.Errorf("got %+v, %v", found, err)
	}
	if _, err := c.Comment(t.Context(), 9999); !errors.Is(err, gitea.StatusError(404)) {
		t.Errorf("a comment that is not there: %v", err)
	}
}

// One Post is one request, whatever becomes of it.
//
// proves: QUEUE-REVIEW-75
func TestPostIsSentOnce(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer giteatest.Answer
		want   gitea.Posted
		err    error
	}{
		"created":  {giteatest.Created, gitea.Posted{Status: 201, ID: 100}, nil},
		"no id":    {giteatest.NoID, gitea.Posted{Status: 201}, nil},
		"dropped":  {giteatest.Drop, gitea.Posted{}, gitea.ErrTransport},
		"cut":      {giteatest.CutBody, gitea.Posted{Status: 201}, gitea.ErrTransport},
		"garbage":  {giteatest.Garbage, gitea.Posted{}, gitea.ErrTransport},
		"redirect": {giteatest.Redirect, gitea.Posted{Status: 307}, nil},
		"refused":  {giteatest.Status(403), gitea.Posted{Status: 403, ID: 7}, nil},
		"late":     {giteatest.Status(503), gitea.Posted{Status: 503, ID: 7}, nil},
		"limited":  {giteatest.Status(429), gitea.Posted{Status: 429, ID: 7}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := giteatest.New(t)
			c := at(t, s)
			s.Next(test.answer)
			made, err := c.Post(t.Context(), 7, "once")
			if made != test.want || !errors.Is(err, test.err) {
				t.Errorf("got %+v, %v; want %+v, %v", made, err, test.want, test.err)
			}
			if n := len(s.Posts()); n != 1 {
				t.Errorf("the server received %d requests", n)
			}
		})
	}
}

func TestPostEndsAtItsDeadline(t *testing.T) {
	t.Parallel()
	s := giteatest.New(t)
	s.Logins[token] = "dev"
	path := filepath.Join(t.TempDir(), "token")
	os.WriteFile(path, []byte(token), 0o600)
	c, err := gitea.New(gitea.Repository{Server: s.URL, Owner: giteatest.Owner, Name: giteatest.Name},
		gitea.Options{Credential: path, Deadline: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	s.Next(giteatest.Hang)
	if made, err := c.Post(t.Context(), 7, "slow"); made.Status != 0 || !errors.Is(err, gitea.ErrDeadline) {
		t.Errorf("got %+v, %v", made, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Login(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled call: %v", err)
	}
}

func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	c, err := gitea.New(gitea.Repository{Server: "http://" + l.Addr().String(), Owner: "acme", Name: "web"}, gitea.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if made, err := c.Post(t.Context(), 7, "nobody"); made.Status != 0 || !errors.Is(err, gitea.ErrTransport) {
		t.Errorf("got %+v, %v", made, err)
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	t.Parallel()
	s := giteatest.New(t)
	c := at(t, s)
	delete(s.Logins, token)
	if _, err := c.Login(t.Context()); !errors.Is(err, gitea.StatusError(401)) {
		t.Errorf("a token that nobody has: %v", err)
	}
	if _, err := c.Issue(t.Context(), 3); !errors.Is(err, gitea.StatusError(404)) {
		t.Errorf("an issue that is not there: %v", err)
	}
}

func TestIssuePages(t *testing.T) {
	t.Parallel()
	s := giteatest.New(t)
	c := at(t, s)
	for i := 1; i <= gitea.PageSize-1; i++ {
		s.Issues = append(s.Issues, giteatest.Issue{Number: i, Created: "2027-03-01T09:00:00Z"})
	}
	if list, full, err := c.OpenIssues(t.Context()); len(list) != gitea.PageSize-1 || full || err != nil {
		t.Errorf("%d issues, full %t, %v", len(list), full, err)
	}
	// A server that is set to smaller pages says how many there are.
	s.Total = gitea.PageSize + 10
	if _, full, err := c.OpenIssues(t.Context()); !full || err != nil {
		t.Errorf("a short page of many: full %t, %v", full, err)
	}
	s.Total = 0
	s.Issues = append(s.Issues, giteatest.Issue{Number: 50, Created: "2027-03-01T09:00:00Z"})
	if _, full, err := c.OpenIssues(t.Context()); !full || err != nil {
		t.Errorf("a full page: full %t, %v", full, err)
	}
	s.Issues = []giteatest.Issue{{Number: 4, Closed: true, ClosedAt: "2027-03-02T09:00:00Z", PullRequest: true, Created: "2027-03-01T09:00:00Z"}}
	one, err := c.Issue(t.Context(), 4)
	if err != nil || !one.Closed || !one.PullRequest || one.ClosedAt.Day() != 2 {
		t.Errorf("got %+v, %v", one, err)
	}
}

// proves: QUEUE-REVIEW-04
func TestTokenFiles(t *testing.T) {
	t.Parallel()
	repo := gitea.Repository{Server: "https://git.example.org", Owner: "acme", Name: "web"}
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good", token+"\n", 0o600)
	link := filepath.Join(dir, "link")
	if err := os.Symlink(good, link); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"open to others": write("open", token, 0o640), "empty": write("empty", "\n", 0o600),
		"two words": write("two", "a b", 0o600), "a header": write("header", "a\r\nX: y", 0o600),
		"too long": write("long", strings.Repeat("x", 5000), 0o600), "a link": link, "a directory": dir,
		"missing": filepath.Join(dir, "none"),
	} {
		if _, err := gitea.New(repo, gitea.Options{Credential: path}); !errors.Is(err, gitea.ErrCredential) {
			t.Errorf("%s: %v", name, err)
		} else if strings.Contains(err.Error(), token) || strings.Contains(err.Error(), dir) {
			t.Errorf("%s: the error tells too much: %v", name, err)
		}
	}
	if _, err := gitea.New(repo, gitea.Options{Credential: good}); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 7 {
		t.Errorf("%d files beside the token file, and the test made 7", len(left))
	}
}

func TestServersAndRepositories(t *testing.T) {
	t.Parallel()
	for _, bad := range []gitea.Repository{
		{Server: "", Owner: "a", Name: "b"}, {Server: "git.example.org", Owner: "a", Name: "b"},
		{Server: "ftp://git.example.org", Owner: "a", Name: "b"}, {Server: "https://user:pw@git.example.org", Owner: "a", Name: "b"},
		{Server: "https://git.example.org?x=1", Owner: "a", Name: "b"}, {Server: "https://git.example.org", Owner: "..", Name: "b"},
		{Server: "https://git.example.org", Owner: "a/b", Name: "c"}, {Server: "https://git.example.org", Owner: "a", Name: ""},
	} {
		if _, err := gitea.New(bad, gitea.Options{}); !errors.Is(err, gitea.ErrServer) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	r := gitea.Repository{Server: "https://git.example.org/code/"}
	if err := r.Parse("acme/web"); err != nil || r.IssueURL(7) != "https://git.example.org/code/acme/web/issues/7" {
		t.Errorf("%v, %s", err, r.IssueURL(7))
	}
	if err := r.Parse("acme"); err == nil {
		t.Error("a name without an owner is accepted")
	}
}
