package queue

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"mosaicstack.dev/mosaic/internal/gitea"
	"mosaicstack.dev/mosaic/internal/gitea/giteatest"
)

// office is a world in which row 1 of dev is in progress, with rev as its
// reviewer and issue 7, and a Gitea server that knows everybody's token.
type office struct {
	*world
	server   *giteatest.Server
	home     string
	deadline time.Duration
	head     string // a commit that main keeps
}

// boss is the login under which the lead posts.
const boss = "boss"

func newOffice(t testing.TB) *office {
	t.Helper()
	w := emptyWorld(t, "sha1")
	o := &office{world: w, server: giteatest.New(t), home: t.TempDir(), deadline: 20 * time.Second}
	for _, pair := range [][2]string{
		{"giteaUrl", o.server.URL}, {"giteaRepository", giteatest.Owner + "/" + giteatest.Name},
		{"login", "chief=" + boss}, {"credentialTemplate", "~/agents/{seat}/gitea-{seat}.token"}, {"defaultCredential", "~/gitea.token"},
	} {
		w.repo.Git("config", "mosaic.queue."+pair[0], pair[1])
	}
	for _, login := range []string{"dev", "rev", "chief", boss} {
		o.token(login, login)
	}
	o.head = w.repo.Commit("dev", "src/main.go", "package main\n")
	s := beginAt(t, w.root)
	id := s.add(dev, withReviewers(rev))
	s.move(chief, id, Briefed)
	s.move(dev, id, InProgress)
	w.put(s.file, s.state)
	return o
}

// token writes a login's token file in the place of an identity.
func (o *office) token(identity, login string) string {
	o.t.Helper()
	path := o.credential(identity)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		o.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(secretOf(login)+"\n"), 0o600); err != nil {
		o.t.Fatal(err)
	}
	o.server.Logins[secretOf(login)] = login
	return path
}

func secretOf(login string) string { return "s3cr3t-token-of-" + login }

func (o *office) credential(identity string) string {
	return filepath.Join(o.home, "agents", identity, "gitea-"+identity+".token")
}

// as is the transport of whoever holds an identity's token file.
func (o *office) as(c *Checkout, identity string) Transporter {
	return c.GiteaTransport(context.Background(), o.credential(identity), o.home, o.deadline)
}

// request moves row 1 to in-review.
func (o *office) request(op OpID) (Asked, error) {
	c := o.open(nil)
	return c.MoveInReview(context.Background(), op, dev, MoveArgs{Row: 1, Candidate: o.head}, o.as(c, "dev"))
}

// again opens another attempt.
func (o *office) again(op OpID) (Asked, error) {
	c := o.open(nil)
	return c.RequestReview(context.Background(), op, dev, 1, o.as(c, "dev"))
}

func (o *office) resolve(op, attempt OpID, comment int64) (Acknowledgement, error) {
	c := o.open(nil)
	return c.ResolveReview(context.Background(), op, dev, ResolveArgs{Row: 1, Attempt: attempt, Comment: comment}, o.as(c, "dev"))
}

// rounds are row 1's.
func (o *office) rounds() []Round {
	o.t.Helper()
	s, err := Replay(o.file().Log)
	if err != nil {
		o.t.Fatal(err)
	}
	if row := s.Row(1); row.Review != nil {
		return row.Review.Rounds
	}
	return nil
}

// attempt is an attempt of row 1.
func (o *office) attempt(op OpID) Attempt {
	o.t.Helper()
	for _, round := range o.rounds() {
		for _, a := range round.Attempts {
			if a.Op == op {
				return a
			}
		}
	}
	o.t.Fatalf("there is no attempt %s", op)
	return Attempt{}
}

// posted counts the POSTs that carried an attempt's marker.
func (o *office) posted(op OpID) int {
	n := 0
	for _, c := range o.server.Posts() {
		if strings.Contains(c.Body, RequestMarker(op)) {
			n++
		}
	}
	return n
}

// wantAttempt demands how an attempt stands, and how often it was posted.
func (o *office) wantAttempt(op OpID, state AttemptState, status, posts int) Attempt {
	o.t.Helper()
	a := o.attempt(op)
	got := 0
	if a.Status != nil {
		got = *a.Status
	}
	if a.State != state || got != status {
		o.t.Errorf("attempt %s is %s with HTTP %d, want %s with %d", op, a.State, got, state, status)
	}
	if n := o.posted(op); n != posts {
		o.t.Errorf("attempt %s was posted %d times, want %d", op, n, posts)
	}
	return a
}

// proves: QUEUE-TESTS-82 QUEUE-REVIEW-01 QUEUE-REVIEW-10 QUEUE-REVIEW-15 QUEUE-REVIEW-38 QUEUE-REVIEW-39 QUEUE-REVIEW-43 QUEUE-REVIEW-49 QUEUE-REVIEW-50
// proves: QUEUE-REVIEW-58 QUEUE-REVIEW-59 QUEUE-REVIEW-60 QUEUE-REVIEW-61 QUEUE-REVIEW-67 QUEUE-REVIEW-68 QUEUE-OPEN-83
func TestARequestIsPosted(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	asked, err := o.request("review-op-1")
	if err != nil {
		t.Fatal(err)
	}
	if asked.Intent.Op != "review-op-1" || asked.Intent.To != string(InReview) || asked.Intent.Already {
		t.Errorf("the receipt is %+v", asked.Intent)
	}
	a := o.wantAttempt("review-op-1", Posted, 201, 1)
	comments := o.server.Comments()
	if len(comments) != 1 || *a.Comment != comments[0].ID || comments[0].Issue != 7 || comments[0].Login != "dev" {
		t.Fatalf("attempt %+v, comments %+v", a, comments)
	}
	want := "<!-- mosaic-queue-op: review-op-1 -->\n" +
		"Review request: row 1, round 1, candidate commit:" + o.head + ": a piece of work\n" +
		"Reviewers: rev\n"
	if comments[0].Body != want {
		t.Errorf("the comment is %q, want %q", comments[0].Body, want)
	}
	log := o.file().Log
	last := log[len(log)-1]
	if last.Op != "review-op-1.outcome" || last.Verb != VerbReviewOutcome || last.By != dev || !strings.Contains(string(last.Args), `"attempt":"review-op-1"`) {
		t.Errorf("the outcome is %+v", last)
	}
	if _, err := o.open(nil).Verify(context.Background()); err != nil {
		t.Error(err)
	}
}

// proves: QUEUE-TESTS-83 QUEUE-TESTS-84 QUEUE-TESTS-85 QUEUE-TESTS-87 QUEUE-TESTS-101 QUEUE-REVIEW-12 QUEUE-REVIEW-44 QUEUE-REVIEW-45 QUEUE-REVIEW-62
// proves: QUEUE-REVIEW-63 QUEUE-REVIEW-65 QUEUE-REVIEW-66 QUEUE-REVIEW-72 QUEUE-REVIEW-75 QUEUE-OPEN-84
func TestOutcomes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer giteatest.Answer
		state  AttemptState
		status int
		code   string
	}{
		"400": {giteatest.Status(400), Failed, 400, RequestFailed}, "401": {giteatest.Status(401), Failed, 401, RequestFailed},
		"403": {giteatest.Status(403), Failed, 403, RequestFailed}, "404": {giteatest.Status(404), Failed, 404, RequestFailed},
		"422": {giteatest.Status(422), Failed, 422, RequestFailed},
		"500": {giteatest.Status(500), Uncertain, 500, RequestUncertain}, "502": {giteatest.Status(502), Uncertain, 502, RequestUncertain},
		"429": {giteatest.Status(429), Uncertain, 429, RequestUncertain}, "200": {giteatest.Status(200), Uncertain, 200, RequestUncertain},
		"409": {giteatest.Status(409), Uncertain, 409, RequestUncertain}, "redirect": {giteatest.Redirect, Uncertain, 307, RequestUncertain},
		"no id": {giteatest.NoID, Uncertain, 201, RequestUncertain}, "dropped": {giteatest.Drop, Uncertain, 0, RequestUncertain},
		"cut": {giteatest.CutBody, Uncertain, 201, RequestUncertain}, "garbage": {giteatest.Garbage, Uncertain, 0, RequestUncertain},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			o.server.Next(test.answer)
			asked, err := o.request("review-op-1")
			wantRefusal(t, err, test.code, "review-op-1")
			if test.state == Failed {
				wantExit(t, err, 1)
			} else {
				wantExit(t, err, 3)
				if !slices.ContainsFunc(asked.Notes, func(n string) bool {
					return strings.Contains(n, "/acme/web/issues/7") && strings.Contains(n, RequestMarker("review-op-1"))
				}) {
					t.Errorf("the notes %q do not say where to look", asked.Notes)
				}
			}
			if asked.Intent.Op != "review-op-1" {
				t.Errorf("no receipt of the intent: %+v", asked)
			}
			a := o.wantAttempt("review-op-1", test.state, test.status, 1)
			if a.Comment != nil {
				t.Errorf("a comment %d that nobody confirmed", *a.Comment)
			}
			// A retry answers and sends nothing; what comes next depends.
			if again, err := o.request("review-op-1"); err != nil || !again.Intent.Already {
				t.Errorf("the retry: %+v, %v", again, err)
			}
			o.server.Next(giteatest.Created)
			_, err = o.again("review-op-2")
			if test.state == Failed {
				if err != nil {
					t.Fatal(err)
				}
				o.wantAttempt("review-op-2", Posted, 201, 1)
			} else {
				wantRefusal(t, err, AttemptUnresolved, "review-op-1")
			}
			o.wantAttempt("review-op-1", test.state, test.status, 1)
		})
	}
}

// proves: QUEUE-TESTS-86 QUEUE-TESTS-89 QUEUE-REVIEW-57 QUEUE-REVIEW-64
func TestAPostPastItsDeadline(t *testing.T) {
	t.Parallel()
	if (&Gitea{}).Deadline != 0 || gitea.Deadline != 30*time.Second {
		t.Error("a transport whose deadline nobody set has not 30 s")
	}
	o := newOffice(t)
	o.deadline = 100 * time.Millisecond
	o.server.Next(giteatest.Hang)
	_, err := o.request("review-op-1")
	wantRefusal(t, err, RequestUncertain, "no answer in time")
	o.wantAttempt("review-op-1", Uncertain, 0, 1)
	_, err = o.again("review-op-2")
	wantRefusal(t, err, AttemptUnresolved)
}

// The checks before sending: each failure leaves the attempt failed, with no
// POST and no status.
// proves: QUEUE-TESTS-95 QUEUE-TESTS-98 QUEUE-TESTS-99 QUEUE-REVIEW-02 QUEUE-REVIEW-03 QUEUE-REVIEW-06 QUEUE-REVIEW-07 QUEUE-REVIEW-08 QUEUE-REVIEW-09
// proves: QUEUE-REVIEW-53 QUEUE-REVIEW-54 QUEUE-REVIEW-56
func TestBeforeSending(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		prepare func(*testing.T, *office) (by Seat, credential string)
		says    string
	}{
		"unset":         {func(*testing.T, *office) (Seat, string) { return dev, "" }, "not set"},
		"missing":       {func(_ *testing.T, o *office) (Seat, string) { return dev, o.credential("rev2") }, "not there"},
		"relative":      {func(*testing.T, *office) (Seat, string) { return dev, "gitea.token" }, "absolute"},
		"another seat":  {func(_ *testing.T, o *office) (Seat, string) { return dev, o.credential("rev") }, "credentialTemplate"},
		"another login": {func(_ *testing.T, o *office) (Seat, string) { return dev, o.token("dev", "rev") }, "another login's"},
		"nobody's token": {func(_ *testing.T, o *office) (Seat, string) {
			delete(o.server.Logins, secretOf("dev"))
			return dev, o.credential("dev")
		}, "HTTP 401"},
		"the lead's own": {func(_ *testing.T, o *office) (Seat, string) { return chief, o.credential("chief") }, "for boss"},
		"the lead as its own login": {func(_ *testing.T, o *office) (Seat, string) {
			return chief, o.token(boss, "chief")
		}, "another login's"},
		"mode": {func(t *testing.T, o *office) (Seat, string) {
			os.Chmod(o.credential("dev"), 0o640)
			return dev, o.credential("dev")
		}, "0640"},
		"link": {func(t *testing.T, o *office) (Seat, string) {
			path := o.credential("dev")
			os.Rename(path, path+".real")
			os.Symlink(path+".real", path)
			return dev, path
		}, "not a regular file"},
		"empty": {func(t *testing.T, o *office) (Seat, string) {
			os.WriteFile(o.credential("dev"), nil, 0o600)
			return dev, o.credential("dev")
		}, "no usable token"},
		"default file": {func(t *testing.T, o *office) (Seat, string) {
			path := filepath.Join(o.home, "gitea.token")
			os.WriteFile(path, []byte(secretOf("dev")), 0o600)
			return dev, path
		}, "default credential file"},
		"default file by another name": {func(t *testing.T, o *office) (Seat, string) {
			os.Link(o.credential("dev"), filepath.Join(o.home, "gitea.token"))
			return dev, o.credential("dev")
		}, "default credential file"},
		"another user's": {func(t *testing.T, o *office) (Seat, string) {
			if os.Geteuid() != 0 {
				t.Skip("only root can give a file away")
			}
			os.Chown(o.credential("dev"), 65534, -1)
			return dev, o.credential("dev")
		}, "another user"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			by, credential := test.prepare(t, o)
			c := o.open(nil)
			if by == chief {
				if _, err := ask(c, "assign-op-1", chief, &AssignArgs{Row: 1, Owner: chief}); err != nil {
					t.Fatal(err)
				}
			}
			asked, err := c.MoveInReview(context.Background(), "review-op-1", by, MoveArgs{Row: 1, Candidate: o.head},
				c.GiteaTransport(context.Background(), credential, o.home, o.deadline))
			wantRefusal(t, err, RequestFailed, test.says, "nothing was posted")
			wantExit(t, err, 1)
			if asked.Intent.Op == "" {
				t.Error("the intent has no receipt")
			}
			if a := o.wantAttempt("review-op-1", Failed, 0, 0); a.Comment != nil || len(o.server.Posts()) != 0 {
				t.Errorf("attempt %+v, %d POSTs", a, len(o.server.Posts()))
			}
			if strings.Contains(err.Error(), o.home) {
				t.Errorf("the refusal names a path: %v", err)
			}
		})
	}
}

// proves: QUEUE-TESTS-96 QUEUE-REVIEW-55
func TestWhoAmITimesOut(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.deadline = 100 * time.Millisecond
	o.server.HangLogin = true
	_, err := o.request("review-op-1")
	wantRefusal(t, err, RequestFailed, "no answer in time")
	o.wantAttempt("review-op-1", Failed, 0, 0)
}

// proves: QUEUE-TESTS-97 QUEUE-REVIEW-11 QUEUE-OPEN-03
func TestTheLeadPostsUnderAnotherLogin(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	c := o.open(nil)
	if _, err := ask(c, "assign-op-1", chief, &AssignArgs{Row: 1, Owner: chief}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.MoveInReview(context.Background(), "review-op-1", chief, MoveArgs{Row: 1, Candidate: o.head}, o.as(c, boss)); err != nil {
		t.Fatal(err)
	}
	o.wantAttempt("review-op-1", Posted, 201, 1)
	for _, e := range o.file().Log {
		if strings.HasPrefix(string(e.Op), "review-op-1") && e.By != chief {
			t.Errorf("%s is recorded by %s", e.Op, e.By)
		}
	}
	if posts := o.server.Posts(); posts[0].Login != boss {
		t.Errorf("posted by %s", posts[0].Login)
	}
	settings, err := c.ReviewSettings(context.Background(), o.home)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := Replay(o.file().Log)
	for actor, want := range map[Seat]Poster{
		dev: {dev, "dev", "dev"}, chief: {chief, boss, boss}, dana: {dana, "dana", "dana"}, coord: {coord, "coordinator", "coordinator"},
	} {
		if got := settings.Poster(s, actor); got != want {
			t.Errorf("%s posts as %+v, want %+v", actor, got, want)
		}
	}
}

// An intent that is not durable and shown sends nothing.
// proves: QUEUE-TESTS-102 QUEUE-REVIEW-51 QUEUE-REVIEW-52 QUEUE-WRITE-48
func TestAnUncertainIntentSendsNothing(t *testing.T) {
	t.Parallel()
	for _, at := range []call{{Step: StepSync, Does: "syncdir"}, {Step: StepRecord, Does: "rename"}, {Step: StepShow, Does: "rename"}} {
		o := newOffice(t)
		c := o.open(failing(at.Step, at.Does, syscall.EIO))
		asked, err := c.MoveInReview(context.Background(), "review-op-1", dev, MoveArgs{Row: 1, Candidate: o.head}, o.as(c, "dev"))
		wantExit(t, err, 3)
		if asked.Intent.Op != "" || len(o.server.Gets()) != 0 || len(o.server.Posts()) != 0 {
			t.Errorf("%s: receipt %+v, GETs %v, POSTs %v", at, asked.Intent, o.server.Gets(), o.server.Posts())
		}
		o.wantAttempt("review-op-1", Requesting, 0, 0)
	}
}

// proves: QUEUE-TESTS-90 QUEUE-TESTS-88 QUEUE-REVIEW-42 QUEUE-REVIEW-48 QUEUE-REVIEW-73 QUEUE-REVIEW-74
func TestARequestingAttemptIsLeftAlone(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	c := o.open(failing(StepShow, "rename", syscall.EIO))
	_, err := c.MoveInReview(context.Background(), "review-op-1", dev, MoveArgs{Row: 1, Candidate: o.head}, o.as(c, "dev"))
	wantRefusal(t, err, ViewNotUpdated)
	// The view is stale: the same operation is answered, and nothing is sent.
	again, err := o.request("review-op-1")
	if err != nil || !again.Intent.Already || again.Delivery.State != "" {
		t.Fatalf("the retry: %+v, %v", again, err)
	}
	if again.Intent.Warning == "" {
		t.Error("the retry does not warn of the stale view")
	}
	if _, err := o.open(nil).Render(context.Background(), NoOp); err != nil {
		t.Fatal(err)
	}
	_, err = o.again("review-op-2")
	wantRefusal(t, err, AttemptUnresolved, "review-op-1")
	for _, look := range []func() error{
		func() error { _, err := o.open(nil).Verify(context.Background()); return err },
		func() error { _, err := o.open(nil).Read(context.Background()); return err },
		func() error { _, err := Replay(o.file().Log); return err },
	} {
		if err := look(); err != nil {
			t.Fatal(err)
		}
	}
	o.wantAttempt("review-op-1", Requesting, 0, 0)
	if n := len(o.server.Gets()); n != 0 {
		t.Errorf("%d requests were made", n)
	}
}

// proves: QUEUE-REVIEW-71 QUEUE-OPEN-82
func TestAnOutcomeThatCannotBeRecorded(t *testing.T) {
	t.Parallel()
	t.Run("lock held", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		c := o.open(nil)
		o.server.OnReceived(func(giteatest.Comment) {
			// Somebody else's lock is there by the time of the outcome.
			r, err := thisMachine().record("other-op-1", "move")
			if err != nil {
				t.Error(err)
			}
			text, err := r.bytes()
			if err != nil {
				t.Error(err)
			}
			os.WriteFile(o.path(DefaultLock), text, 0o600)
		})
		_, err := c.MoveInReview(context.Background(), "review-op-1", dev, MoveArgs{Row: 1, Candidate: o.head}, o.as(c, "dev"))
		wantRefusal(t, err, OutcomeNotRecorded, "uncertain review-op-1: transport said posted comment 100, not recorded")
		wantExit(t, err, 3)
		o.remove(DefaultLock)
		o.wantAttempt("review-op-1", Requesting, 0, 1)
	})
	t.Run("stale view", func(t *testing.T) {
		t.Parallel()
		o := newOffice(t)
		c := o.open(nil)
		before := o.read(DefaultView)
		o.server.Next(giteatest.Status(403))
		o.server.OnReceived(func(giteatest.Comment) { os.WriteFile(o.path(DefaultView), []byte(before), 0o644) })
		_, err := c.MoveInReview(context.Background(), "review-op-1", dev, MoveArgs{Row: 1, Candidate: o.head}, o.as(c, "dev"))
		wantRefusal(t, err, OutcomeNotRecorded, "transport said failed: HTTP 403, not recorded", "table")
		o.wantAttempt("review-op-1", Requesting, 0, 1)
	})
}

// A caller that is interrupted while it waits leaves an outcome, not a riddle.
func TestInterruptedWhileSending(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	c := o.open(nil)
	ctx, cancel := context.WithCancel(context.Background())
	o.server.Next(giteatest.Hang)
	o.server.OnReceived(func(giteatest.Comment) { cancel() })
	_, err := c.MoveInReview(ctx, "review-op-1", dev, MoveArgs{Row: 1, Candidate: o.head}, o.as(c, "dev"))
	wantRefusal(t, err, RequestUncertain)
	o.wantAttempt("review-op-1", Uncertain, 0, 1)
}

// meanwhile runs while the server holds the POST, as another seat would.
func (o *office) meanwhile(do func()) {
	o.server.OnReceived(func(giteatest.Comment) { do() })
}

// proves: QUEUE-TESTS-91 QUEUE-TESTS-92 QUEUE-TESTS-93 QUEUE-REVIEW-46 QUEUE-REVIEW-47 QUEUE-REVIEW-69 QUEUE-REVIEW-70 QUEUE-REVIEW-87 QUEUE-OPEN-81
func TestLateOutcomes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		resolve func(*office)
		answer  giteatest.Answer
		want    AttemptState
	}{
		"posted after abandon": {func(o *office) { o.abandon("abandon-op-1", "review-op-1") }, giteatest.Created, Conflict},
		"failed after abandon": {func(o *office) { o.abandon("abandon-op-1", "review-op-1") }, giteatest.Status(404), Abandoned},
		"lost after abandon":   {func(o *office) { o.abandon("abandon-op-1", "review-op-1") }, giteatest.Drop, Abandoned},
		"posted as resolved":   {func(o *office) { o.found("review-op-1", 0) }, giteatest.Created, Posted},
		"posted otherwise":     {func(o *office) { o.found("review-op-1", 1) }, giteatest.Created, Conflict},
		"failed after resolve": {func(o *office) { o.found("review-op-1", 1) }, giteatest.Status(422), Conflict},
		"lost after resolve":   {func(o *office) { o.found("review-op-1", 0) }, giteatest.Drop, Posted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			o.server.Next(test.answer)
			o.meanwhile(func() { test.resolve(o) })
			o.request("review-op-1")
			a := o.attempt("review-op-1")
			if a.State != test.want || o.posted("review-op-1") != 1 {
				t.Errorf("the attempt is %s after %d POSTs, want %s after 1", a.State, o.posted("review-op-1"), test.want)
			}
			if o.times("review-op-1.outcome") != 1 {
				t.Error("the transport's word is not in the log")
			}
			if test.want == Conflict {
				_, err := o.again("review-op-2")
				wantRefusal(t, err, AttemptUnresolved)
				o.abandon("abandon-op-9", "review-op-1")
				if s := o.attempt("review-op-1").State; s != Abandoned {
					t.Errorf("one more resolution leaves %s", s)
				}
			}
		})
	}
}

func (o *office) abandon(op, attempt OpID) {
	c := o.open(nil)
	if _, err := c.AbandonReview(context.Background(), op, chief, AbandonArgs{Row: 1, Attempt: attempt, Reason: "it never came"}, true); err != nil {
		o.t.Errorf("abandon: %v", err)
	}
}

// found resolves an attempt by a comment: the server's nth, or a copy of it by
// somebody else.
func (o *office) found(attempt OpID, copies int) {
	comments := o.server.Comments()
	id := int64(0)
	if len(comments) > 0 {
		id = comments[0].ID
	}
	if copies > 0 {
		posts := o.server.Posts()
		id = o.server.Add(7, posts[len(posts)-1].Body)
	}
	if _, err := o.resolve("resolve-op-1", attempt, id); err != nil {
		o.t.Errorf("resolve: %v", err)
	}
}

// proves: QUEUE-TESTS-94 QUEUE-REVIEW-18 QUEUE-REVIEW-77 QUEUE-REVIEW-79 QUEUE-REVIEW-80 QUEUE-REVIEW-81 QUEUE-REVIEW-82 QUEUE-REVIEW-83 QUEUE-REVIEW-86
func TestResolve(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.server.Next(giteatest.Drop)
	_, err := o.request("review-op-1")
	wantRefusal(t, err, RequestUncertain)
	comment := o.server.Comments()[0]
	other := strings.Repeat("9", 40)
	for name, body := range map[string]string{
		"marker":     strings.Replace(comment.Body, "review-op-1", "review-op-2", 1),
		"not first":  "Look:\n" + comment.Body,
		"only cited": "> " + comment.Body,
		"row":        strings.Replace(comment.Body, "row 1", "row 2", 1),
		"round":      strings.Replace(comment.Body, "round 1", "round 2", 1),
		"candidate":  strings.Replace(comment.Body, o.head, other, 1),
		"mentioned":  RequestMarker("review-op-1") + "\n" + o.head,
		"empty":      "",
	} {
		before := o.read(DefaultQueue)
		gets := len(o.server.Gets())
		_, err := o.resolve("resolve-op-1", "review-op-1", o.server.Add(7, body))
		wantRefusal(t, err, CommentMismatch, "review-op-1")
		wantExit(t, err, 2)
		if o.read(DefaultQueue) != before {
			t.Errorf("%s: the queue has changed", name)
		}
		if n := len(o.server.Gets()) - gets; n != 1 {
			t.Errorf("%s: %d GETs", name, n)
		}
	}
	_, err = o.resolve("resolve-op-1", "review-op-1", o.server.Add(8, comment.Body))
	wantRefusal(t, err, CommentMismatch, "issue 7")
	_, err = o.resolve("resolve-op-1", "review-op-1", 99999)
	wantRefusal(t, err, CommentUnreadable, "HTTP 404", "unchanged")
	wantExit(t, err, 1)
	o.wantAttempt("review-op-1", Uncertain, 0, 1)

	// What the rules refuse is refused before anybody is asked.
	c := o.open(nil)
	gets := len(o.server.Gets())
	_, err = c.ResolveReview(context.Background(), "resolve-op-1", rev, ResolveArgs{Row: 1, Attempt: "review-op-1", Comment: comment.ID}, o.as(c, "rev"))
	wantRefusal(t, err, NotPermitted)
	_, err = o.resolve("resolve-op-1", "no-such-attempt", comment.ID)
	wantRefusal(t, err, AttemptUnknown)
	if n := len(o.server.Gets()) - gets; n != 0 {
		t.Errorf("%d GETs for a refusal", n)
	}

	a, err := o.resolve("resolve-op-1", "review-op-1", comment.ID)
	if err != nil || a.Already {
		t.Fatalf("%+v, %v", a, err)
	}
	gets = len(o.server.Gets())
	if a, err = o.resolve("resolve-op-1", "review-op-1", comment.ID); err != nil || !a.Already {
		t.Errorf("the retry: %+v, %v", a, err)
	}
	if n := len(o.server.Gets()) - gets; n != 0 {
		t.Errorf("the retry made %d GETs", n)
	}
	got := o.wantAttempt("review-op-1", Posted, 0, 1)
	if *got.Comment != comment.ID || *got.ResolvedBy != dev {
		t.Errorf("the attempt is %+v", got)
	}
	_, err = o.resolve("resolve-op-2", "review-op-1", comment.ID)
	wantRefusal(t, err, AttemptClosed)
}

// A reader that Gitea gives CRLF still finds its comment.
func TestResolveReadsCRLF(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.server.Next(giteatest.Drop)
	o.request("review-op-1")
	id := o.server.Add(7, strings.ReplaceAll(o.server.Comments()[0].Body, "\n", "\r\n"))
	if _, err := o.resolve("resolve-op-1", "review-op-1", id); err != nil {
		t.Error(err)
	}
}

// proves: QUEUE-REVIEW-19 QUEUE-REVIEW-20 QUEUE-REVIEW-84
func TestAbandonNeedsConsent(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.server.Next(giteatest.Drop)
	o.request("review-op-1")
	c := o.open(nil)
	abandon := func(by Seat, reason string, yes bool) error {
		_, err := c.AbandonReview(context.Background(), "abandon-op-1", by, AbandonArgs{Row: 1, Attempt: "review-op-1", Reason: reason}, yes)
		return err
	}
	wantRefusal(t, abandon(chief, "gone", false), ReasonMissing, "--yes")
	wantRefusal(t, abandon(chief, "", true), ArgumentInvalid, "reason")
	wantRefusal(t, abandon(dev, "gone", true), NotPermitted)
	o.wantAttempt("review-op-1", Uncertain, 0, 1)
	if err := abandon(chief, "gone", true); err != nil {
		t.Fatal(err)
	}
	if r := o.rounds()[0]; !r.DuplicateRisk {
		t.Error("the round does not say that its request may exist twice")
	}
	if _, err := o.again("review-op-2"); err == nil {
		t.Error("a dropped connection was taken for an answer")
	}
	o.wantAttempt("review-op-2", Uncertain, 0, 1)
}

// A whole review, with a change in the middle: every round pins its candidate,
// nothing is left in the repository, and no token leaves its file.
// proves: QUEUE-TESTS-100 QUEUE-TESTS-103 QUEUE-REVIEW-13 QUEUE-REVIEW-14 QUEUE-REVIEW-16 QUEUE-REVIEW-21 QUEUE-REVIEW-27 QUEUE-REVIEW-28 QUEUE-REVIEW-29
// proves: QUEUE-REVIEW-30 QUEUE-REVIEW-31 QUEUE-REVIEW-32 QUEUE-REVIEW-91 QUEUE-REVIEW-92 QUEUE-CLI-19 QUEUE-OPEN-39
func TestAWholeReview(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	c := o.open(nil)
	before := o.names()
	asked1, err := o.request("review-op-1")
	if err != nil {
		t.Fatal(err)
	}
	first := *o.attempt("review-op-1").Comment
	record := func(op OpID, verdict, candidate string, comment int64) error {
		_, err := c.RecordReview(context.Background(), op, rev, RecordArgs{Row: 1, Verdict: verdict, Candidate: candidate, Comment: comment})
		return err
	}
	wantRefusal(t, record("record-op-1", Changes, strings.Repeat("9", 40), first), ReceiptRefused)
	if err := record("record-op-1", Changes, "commit:"+o.head, first); err != nil {
		t.Fatal(err)
	}
	if _, err := ask(c, "move-op-1", dev, &MoveArgs{Row: 1, To: InProgress}); err != nil {
		t.Fatal(err)
	}
	manifest := manifestOf(o.world, "src/main.go")
	o.write("work/CANDIDATE.sha256", manifest)
	asked2, err := c.MoveInReview(context.Background(), "review-op-2", dev, MoveArgs{Row: 1, Candidate: "work/CANDIDATE.sha256"}, o.as(c, "dev"))
	if err != nil {
		t.Fatal(err)
	}
	second := *o.attempt("review-op-2").Comment
	wantRefusal(t, record("record-op-2", Approve, o.head, second), ReceiptRefused, "round 2")
	if err := record("record-op-2", Approve, digest([]byte(manifest)), second); err != nil {
		t.Fatal(err)
	}
	rounds := o.rounds()
	if len(rounds) != 2 || rounds[0].Candidate.Digest != o.head || rounds[0].Receipts[0].Candidate != o.head {
		t.Fatalf("round 1 is %+v", rounds[0])
	}
	if m := rounds[1].Candidate; m.Kind != ManifestCandidate || m.Digest != digest([]byte(manifest)) || *m.Manifest != manifest || rounds[1].Receipts[0].Candidate != m.Digest {
		t.Fatalf("round 2 is %+v", rounds[1])
	}
	body := o.server.Comments()[1].Body
	if !strings.Contains(body, "round 2, candidate manifest:"+rounds[1].Candidate.Digest) || !strings.Contains(body, manifest) || strings.Contains(body, "package main") {
		t.Errorf("the second comment is %q", body)
	}
	o.remove("work/CANDIDATE.sha256")
	// A retry is recognised although its manifest is gone.
	if again, err := c.MoveInReview(context.Background(), "review-op-2", dev, MoveArgs{Row: 1, Candidate: "work/CANDIDATE.sha256"}, o.as(c, "dev")); err != nil || !again.Intent.Already {
		t.Errorf("the retry: %+v, %v", again, err)
	}
	if n := len(o.server.Posts()); n != 2 {
		t.Errorf("%d POSTs for two attempts", n)
	}
	os.Remove(o.path("work"))
	if after := o.names(); !slices.Equal(before, after) {
		t.Errorf("the repository has other files than before:\n%v\n%v", before, after)
	}
	o.noToken(fmt.Sprintf("%+v %+v", asked1, asked2))
}

// names lists the files of the work tree.
func (o *office) names() []string {
	var all []string
	filepath.WalkDir(o.root, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == ".git" {
			return filepath.SkipDir
		}
		if err == nil && !d.IsDir() {
			all = append(all, path)
		}
		return err
	})
	return all
}

// noToken demands that no token stands in any file but its own, nor in what was
// said.
func (o *office) noToken(said string) {
	o.t.Helper()
	if strings.Contains(said, "s3cr3t") {
		o.t.Errorf("a token was said: %s", said)
	}
	looked := 0
	for _, dir := range []string{o.root, o.home} {
		filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || strings.HasSuffix(path, ".token") {
				return err
			}
			looked++
			text, err := os.ReadFile(path)
			if strings.Contains(string(text), "s3cr3t") {
				o.t.Errorf("%s holds a token", path)
			}
			return err
		})
	}
	if looked < 5 {
		o.t.Errorf("looked at %d files only", looked)
	}
}

// Only the Gitea client opens the credential file.
// proves: QUEUE-REVIEW-05
func TestTheReviewCodeNeverReadsTheCredential(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"giteatransport.go", "review.go", "reviewsettings.go", "transport.go"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if found := regexp.MustCompile(`os\.(Open|OpenFile|ReadFile|OpenRoot)\b|syscall\.Open`).Find(text); found != nil {
			t.Errorf("%s has %s", file, found)
		}
	}
}

// proves: QUEUE-OPEN-02 QUEUE-OPEN-84
func TestReviewSettings(t *testing.T) {
	t.Parallel()
	for remote, want := range map[string]string{
		"https://git.example.org/acme/web.git":        "https://git.example.org/acme/web",
		"https://dana@git.example.org:3000/acme/web/": "https://git.example.org:3000/acme/web",
		"http://127.0.0.1:3000/code/acme/web":         "http://127.0.0.1:3000/code/acme/web",
		"ssh://git@git.example.org:2222/acme/web.git": "https://git.example.org/acme/web",
		"git@git.example.org:acme/web.git":            "https://git.example.org/acme/web",
		"/srv/git/web.git":                            "",
		"../web":                                      "",
		"https://git.example.org/web":                 "",
		"file:///srv/acme/web":                        "",
	} {
		got, ok := fromRemote(remote)
		text := ""
		if ok {
			text = got.Server + "/" + got.Owner + "/" + got.Name
		}
		if text != want {
			t.Errorf("%s: got %q, want %q", remote, text, want)
		}
	}
	w := newWorld(t)
	w.repo.Git("remote", "add", "origin", "git@git.example.org:acme/web.git")
	read := func() (ReviewSettings, error) {
		return w.openAs(nil, quick()).ReviewSettings(context.Background(), "/home/dana")
	}
	s, err := read()
	if err != nil || s.Repository.Server != "https://git.example.org" || s.credentialFor("dev") != "/home/dana/.secrets/dev.gitea" || s.DefaultCredential != "/home/dana/.secrets/gitea" {
		t.Errorf("the defaults are %+v, %v", s, err)
	}
	w.repo.Git("config", "mosaic.queue.giteaUrl", "https://code.example.org")
	if s, err = read(); err != nil || s.Repository.Server != "https://code.example.org" || s.Repository.Name != "web" {
		t.Errorf("with a server: %+v, %v", s, err)
	}
	for key, value := range map[string]string{
		"giteaUrl": "git.example.org", "giteaRepository": "web", "login": "chief", "credentialTemplate": "/etc/token", "defaultCredential": "secrets/x",
	} {
		w.repo.Git("config", "--add", "mosaic.queue."+key, value)
		_, err := read()
		wantRefusal(t, err, SettingsInvalid, "mosaic.queue."+key)
		w.repo.Git("config", "--unset-all", "mosaic.queue."+key)
	}
}

// No word of anybody says that a comment was not posted, and finding the comment
// changes nothing until a person says so.
// proves: QUEUE-REVIEW-23 QUEUE-REVIEW-76
func TestNobodyDecidesThatNothingWasPosted(t *testing.T) {
	t.Parallel()
	_, err := Canonical(&ResolveArgs{Row: 1, Attempt: "review-op-1"})
	wantRefusal(t, err, ArgumentInvalid, "comment")
	o := newOffice(t)
	o.server.Next(giteatest.Drop)
	asked, _ := o.request("review-op-1")
	if len(asked.Notes) != 1 || len(o.server.Comments()) != 1 {
		t.Fatalf("notes %q, comments %v", asked.Notes, o.server.Comments())
	}
	gets := len(o.server.Gets())
	if again, err := o.request("review-op-1"); err != nil || !again.Intent.Already {
		t.Fatalf("the retry: %+v, %v", again, err)
	}
	o.wantAttempt("review-op-1", Uncertain, 0, 1)
	if n := len(o.server.Gets()) - gets; n != 0 {
		t.Errorf("a retry looked %d times", n)
	}
}

// wrongTransport fails the test when it is used.
func wrongTransport(t *testing.T) Transporter {
	return func(*Replayed, Seat) (Transport, Poster, error) {
		t.Error("a transport was asked for")
		return nil, Poster{}, errors.New("no transport")
	}
}

// proves: QUEUE-STATE-27 QUEUE-OPEN-38
func TestRowsWithoutReviewersPostNothing(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	c := o.open(nil)
	none := []Seat{}
	if _, err := ask(c, "set-op-01", chief, &SetArgs{Row: 1, Reviewers: &none}); err != nil {
		t.Fatal(err)
	}
	asked, err := c.MoveInReview(context.Background(), "review-op-1", dev, MoveArgs{Row: 1}, wrongTransport(t))
	if err != nil || asked.Intent.Op == "" || asked.Delivery.State != "" {
		t.Errorf("%+v, %v", asked, err)
	}
	if r := o.rounds()[0]; r.Request != RequestNone || r.Candidate.Digest != "none" || len(r.Attempts) != 0 {
		t.Errorf("the round is %+v", r)
	}
	_, err = c.RequestReview(context.Background(), "review-op-2", rev, 1, wrongTransport(t))
	wantRefusal(t, err, NotPermitted)
}
