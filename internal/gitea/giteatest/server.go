// Package giteatest is a server for tests that answers as Gitea does, and that
// misbehaves in every way that a network or a server can. It counts what it
// receives; a test asserts on these counts, never on what a client says of
// itself.
package giteatest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// The repository that the server has.
const (
	Owner = "acme"
	Name  = "web"
)

// Answer is how the server treats a request to post a comment, once it has
// received all of it.
type Answer int

const (
	Created  Answer = 0  // 201 with the comment
	NoID     Answer = -1 // 201 without an id
	Drop     Answer = -2 // accept it, then cut the connection
	CutBody  Answer = -3 // accept it, then cut the connection in the answer
	Hang     Answer = -4 // accept it, then say nothing
	Redirect Answer = -5 // 307 to another address of this server
	Garbage  Answer = -6 // accept it, then say something that is no HTTP
)

// Status answers with a status and accepts nothing.
func Status(code int) Answer { return Answer(code) }

// Comment is a comment that the server has accepted.
type Comment struct {
	ID    int64
	Issue int
	Body  string
	Login string
}

// Issue is an issue of the repository.
type Issue struct {
	Number      int
	Closed      bool
	PullRequest bool
	Created     string // RFC 3339
	ClosedAt    string
}

// Server is one server. Its fields are set before it is used; Answers may be
// changed with Next.
type Server struct {
	URL    string
	Logins map[string]string // by token
	Issues []Issue
	Total  int // X-Total-Count of the list of issues; 0 leaves it out
	// HangLogin makes GET user say nothing.
	HangLogin bool

	mu       sync.Mutex
	received func(Comment)
	login    func()
	answer   Answer
	comments []Comment
	posts    []Comment
	gets     []string
	done     chan struct{}
}

// New starts a server that the test's end stops.
func New(t testing.TB) *Server {
	s := &Server{Logins: map[string]string{}, done: make(chan struct{})}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(s.done) }) // runs first: nothing hangs any more
	s.URL = server.URL
	return s
}

// Next says how the posts from now on are treated.
func (s *Server) Next(a Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = a
}

// Add puts a comment there as somebody else would.
func (s *Server) Add(issue int, body string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accept(Comment{Issue: issue, Body: body})
}

func (s *Server) accept(c Comment) int64 {
	c.ID = int64(100 + len(s.comments))
	s.comments = append(s.comments, c)
	return c.ID
}

// Posts returns the POSTs that were received in full, in their order, answered
// or not, accepted or not.
func (s *Server) Posts() []Comment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.posts)
}

// Comments returns the comments that exist.
func (s *Server) Comments() []Comment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.comments)
}

// Gets returns the paths of the GETs.
func (s *Server) Gets() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.gets)
}

// OnReceived sets what is called with every POST that was received in full,
// before it is answered; nil for nothing.
func (s *Server) OnReceived(f func(Comment)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.received = f
}

// OnLogin sets what is called with every GET user, before it is answered.
func (s *Server) OnLogin(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.login = f
}

func (s *Server) hooks() (received func(Comment), login func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.received, s.login
}

// ServeHTTP is the API.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const repo = "/api/v1/repos/" + Owner + "/" + Name
	login := s.Logins[strings.TrimPrefix(r.Header.Get("Authorization"), "token ")]
	if r.Method == http.MethodGet {
		s.mu.Lock()
		s.gets = append(s.gets, r.URL.RequestURI())
		s.mu.Unlock()
	}
	if _, login := s.hooks(); login != nil && r.URL.Path == "/api/v1/user" {
		login()
	}
	switch path := r.URL.Path; {
	case path == "/api/v1/user" && s.HangLogin:
		s.hang(r)
	case path == "/api/v1/user" && login == "":
		http.Error(w, `{"message":"token is required"}`, http.StatusUnauthorized)
	case path == "/api/v1/user":
		reply(w, http.StatusOK, map[string]any{"id": 1, "login": login, "email": ""})
	case r.Method == http.MethodPost:
		s.post(w, r, login)
	case strings.HasPrefix(path, repo+"/issues/comments/"):
		s.comment(w, strings.TrimPrefix(path, repo+"/issues/comments/"))
	case path == repo+"/issues":
		s.list(w, r)
	case strings.HasPrefix(path, repo+"/issues/"):
		s.issue(w, strings.TrimPrefix(path, repo+"/issues/"))
	default:
		http.NotFound(w, r)
	}
}

func (s *Server) post(w http.ResponseWriter, r *http.Request, login string) {
	var body struct {
		Body string `json:"body"`
	}
	text, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(text, &body) != nil {
		http.Error(w, "{}", http.StatusUnprocessableEntity)
		return
	}
	issue, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/api/v1/repos/"+Owner+"/"+Name+"/issues/"), "/comments"))
	c := Comment{Issue: issue, Body: body.Body, Login: login}
	s.mu.Lock()
	answer := s.answer
	if answer <= Created && answer != Redirect {
		c.ID = s.accept(c)
	}
	s.posts = append(s.posts, c)
	s.mu.Unlock()
	if received, _ := s.hooks(); received != nil {
		received(c)
	}
	s.say(w, r, answer, c)
}

func (s *Server) say(w http.ResponseWriter, r *http.Request, answer Answer, c Comment) {
	switch answer {
	case Created:
		reply(w, http.StatusCreated, s.form(c))
	case NoID:
		reply(w, http.StatusCreated, map[string]any{"message": "created"})
	case Drop:
		raw(w, "")
	case CutBody:
		raw(w, "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{\"id\":")
	case Garbage:
		raw(w, "220 mail.example.org ESMTP\r\n\r\n")
	case Hang:
		s.hang(r)
	case Redirect:
		http.Redirect(w, r, s.URL+r.URL.Path, http.StatusTemporaryRedirect)
	default:
		reply(w, int(answer), map[string]any{"message": "no", "id": 7})
	}
}

// hang holds a request until its client or the test is gone.
func (s *Server) hang(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-s.done:
	}
}

// raw writes bytes in place of an answer and cuts the connection.
func raw(w http.ResponseWriter, text string) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	io.WriteString(conn, text)
	conn.Close()
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}

func (s *Server) form(c Comment) map[string]any {
	return map[string]any{
		"id": c.ID, "body": c.Body, "html_url": "", "pull_request_url": "",
		"issue_url": fmt.Sprintf("%s/%s/%s/issues/%d", s.URL, Owner, Name, c.Issue),
		"user":      map[string]any{"id": 1, "login": c.Login},
	}
}

func (s *Server) comment(w http.ResponseWriter, id string) {
	for _, c := range s.Comments() {
		if strconv.FormatInt(c.ID, 10) == id {
			reply(w, http.StatusOK, s.form(c))
			return
		}
	}
	http.Error(w, "{}", http.StatusNotFound)
}

func (i Issue) form() map[string]any {
	form := map[string]any{"number": i.Number, "state": "open", "created_at": i.Created, "closed_at": nil, "pull_request": nil}
	if i.Closed {
		form["state"] = "closed"
		form["closed_at"] = i.ClosedAt
	}
	if i.PullRequest {
		form["pull_request"] = map[string]any{"merged": false}
	}
	return form
}

func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	list := []map[string]any{}
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	for _, i := range s.Issues {
		if len(list) < limit && (r.URL.Query().Get("state") == "all" || !i.Closed) {
			list = append(list, i.form())
		}
	}
	if s.Total > 0 {
		w.Header().Set("X-Total-Count", strconv.Itoa(s.Total))
	}
	reply(w, http.StatusOK, list)
}

func (s *Server) issue(w http.ResponseWriter, number string) {
	for _, i := range s.Issues {
		if strconv.Itoa(i.Number) == number {
			reply(w, http.StatusOK, i.form())
			return
		}
	}
	http.Error(w, "{}", http.StatusNotFound)
}
