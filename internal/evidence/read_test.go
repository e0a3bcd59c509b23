package evidence

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mosaicstack.dev/mosaic/internal/wire"
)

// The life of a claim: held, released, held by another, revoked for good.
//
// proves: BUS-CLAIM-03 BUS-CLAIM-04 BUS-CLAIM-05 BUS-CLAIM-07
func TestHolders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	holders := func() (names []string) {
		w.view(func(s *Snapshot) error {
			all, err := s.Holders(acme)
			for _, c := range all {
				names = append(names, string(c.Role))
				one, err := s.Holder(acme, c.Role)
				if err != nil || cmp.Diff(c, *one) != "" {
					t.Errorf("%s: %+v, %v", c.Role, one, err)
				}
			}
			return err
		})
		return names
	}
	if got := holders(); got != nil {
		t.Errorf("holders %v", got)
	}
	rev, dev := w.hold("rev"), w.hold("dev")
	other := w.launch("dev")
	if got := holders(); cmp.Diff([]string{"dev", "rev"}, got) != "" {
		t.Errorf("holders %v", got)
	}
	claim := func(run wire.Run) error {
		return w.Update(t.Context(), func(tx *Tx) error {
			_, err := tx.AppendClaim(Claim{Business: acme, Role: "dev", Run: run, Op: OpClaim, By: string(run)})
			return err
		}, nil)
	}
	if err := claim(other); !errors.Is(err, wire.Refuse(wire.RoleAlreadyHeld)) {
		t.Errorf("a second claim: %v", err)
	}
	w.release("dev", dev)
	w.view(func(s *Snapshot) error {
		if c, err := s.Holder(acme, "dev"); c != nil || err != nil {
			t.Errorf("a released role: %v, %v", c, err)
		}
		return nil
	})
	w.claim("dev", other)
	w.update(func(tx *Tx) error {
		_, err := tx.AppendClaim(Claim{Business: acme, Role: "dev", Run: other, Op: OpRevoke, By: "human-cli", Reason: ptr("stuck")})
		return err
	})
	w.reopen()
	if err := claim(other); !errors.Is(err, wire.Refuse(wire.RunRevoked)) {
		t.Errorf("a revoked run: %v", err)
	}
	w.claim("dev", dev) // that only released
	if got := holders(); cmp.Diff([]string{"dev", "rev"}, got) != "" {
		t.Errorf("holders %v", got)
	}
	w.view(func(s *Snapshot) error {
		for run, want := range map[wire.Run]bool{other: true, dev: false, rev: false} {
			if got, err := s.RunRevoked(acme, "dev", run); err != nil || got != want {
				t.Errorf("revoked %v, %v", got, err)
			}
		}
		if all, err := s.Holders("other"); all != nil || err != nil {
			t.Errorf("another business: %v, %v", all, err)
		}
		return nil
	})
}

func TestSessions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b, c := w.launch("dev"), w.launch("rev"), w.launch("pm")
	w.event(Event{Kind: SessionEnded, Role: ptr(wire.Role("rev")), Run: &b})
	w.view(func(s *Snapshot) error {
		open, err := s.RunsNotEnded()
		if err != nil || len(open) != 2 || *open[0].Run != a || *open[1].Run != c {
			t.Errorf("open %+v, %v", open, err)
		}
		if e, err := s.Launched(b); err != nil || e == nil || e.Kind != SessionLaunched {
			t.Errorf("launched %+v, %v", e, err)
		}
		if e, err := s.Ended(b); err != nil || e == nil || *e.Role != "rev" {
			t.Errorf("ended %+v, %v", e, err)
		}
		if e, err := s.Ended(a); err != nil || e != nil {
			t.Errorf("not ended %+v, %v", e, err)
		}
		if e, err := s.LaunchState(acme); err != nil || e != nil {
			t.Errorf("launch state %+v, %v", e, err)
		}
		return nil
	})
	w.event(Event{Kind: LaunchRevoked})
	last := w.event(Event{Kind: LaunchRestored})
	w.view(func(s *Snapshot) error {
		e, err := s.LaunchState(acme)
		if err != nil || cmp.Diff(last, *e) != "" {
			t.Errorf("launch state %+v, %v", e, err)
		}
		if e, err := s.Event("other", last.ID); err != nil || e != nil {
			t.Errorf("another business sees %+v, %v", e, err)
		}
		return nil
	})
}

// Messages are delivered once and in order, to the holder of the moment; what
// a holder received and did not read is stranded when it goes.
//
// proves: BUS-MSG-41 BUS-MSG-42 BUS-MSG-43 BUS-MSG-47 BUS-CLOSE-11 BUS-CLOSE-12
func TestDelivery(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dev := w.hold("dev")
	var sent []Message
	for i := range 3 {
		sent = append(sent, w.send("dev", dev, "rev", fmt.Sprint(i)))
	}
	if sent[0].RoutedTo != nil {
		t.Error("routed to nobody")
	}
	first := w.hold("rev") // routes all three
	sent = append(sent, w.send("dev", dev, "rev", "3"))
	if sent[3].RoutedTo == nil || *sent[3].RoutedTo != first {
		t.Errorf("routed to %v", sent[3].RoutedTo)
	}
	var got []Message
	w.update(func(tx *Tx) (err error) {
		got, err = tx.Deliver(acme, "rev", first, 2)
		return err
	})
	if len(got) != 2 || got[0].ID != sent[0].ID || got[1].ID != sent[1].ID {
		t.Errorf("delivered %+v", got)
	}
	receipt := w.read(sent[0].ID, first)
	if again := w.read(sent[0].ID, first); again != receipt {
		t.Errorf("read again: %+v, not %+v", again, receipt)
	}
	w.release("rev", first)
	second := w.hold("rev")
	w.view(func(s *Snapshot) error {
		stranded, err := s.Stranded(acme, "rev", second, 10)
		if err != nil || len(stranded) != 1 || stranded[0].Message != sent[1].ID || stranded[0].Run != first || stranded[0].From != "dev" {
			t.Errorf("stranded %+v, %v", stranded, err)
		}
		if n, since, err := s.UnreadBy(acme, "rev", first); n != 1 || since != stranded[0].At || err != nil {
			t.Errorf("unread by the first: %d, %s, %v", n, since, err)
		}
		if n, since, err := s.UnreadBy(acme, "rev", second); n != 0 || since != "" || err != nil {
			t.Errorf("unread by the second: %d, %s, %v", n, since, err)
		}
		if c, err := s.LaneCounts(acme, "rev"); err != nil || c != (LaneCounts{Total: 4, Undelivered: 2, Unread: 3}) {
			t.Errorf("counts %+v, %v", c, err)
		}
		unread, err := s.UnreadMessages(acme, "rev", 2)
		if err != nil || len(unread) != 2 || unread[0].ID != sent[1].ID || unread[1].ID != sent[2].ID {
			t.Errorf("unread %+v, %v", unread, err)
		}
		if all, err := s.UnreadMessages(acme, "rev", 99); err != nil || len(all) != 3 {
			t.Errorf("all unread %+v, %v", all, err)
		}
		return nil
	})
	got = w.receive("rev", second)
	if len(got) != 2 || got[0].ID != sent[2].ID {
		t.Errorf("the second receives %+v", got)
	}
	for _, id := range []wire.MessageID{sent[1].ID, "00000000-0000-7000-8000-000000000000"} {
		err := w.Update(t.Context(), func(tx *Tx) error { _, err := tx.MarkRead(acme, id, second); return err }, nil)
		if !errors.Is(err, wire.Refuse(wire.MessageNotFound)) {
			t.Errorf("reading what the first received: %v", err)
		}
	}
	err := w.Update(t.Context(), func(tx *Tx) error { _, err := tx.MarkRead("other", sent[2].ID, second); return err }, nil)
	if !errors.Is(err, wire.Refuse(wire.MessageNotFound)) {
		t.Errorf("reading from another business: %v", err)
	}
	if got := w.receive("rev", second); len(got) != 0 {
		t.Errorf("delivered again: %+v", got)
	}
	w.view(func(s *Snapshot) error {
		d, err := s.Delivery(sent[0].ID, Read)
		if err != nil || *d != receipt {
			t.Errorf("receipt %+v, %v", d, err)
		}
		if d, err := s.Delivery(sent[1].ID, Read); err != nil || d != nil {
			t.Errorf("no receipt %+v, %v", d, err)
		}
		return nil
	})
}

// A run that released and claims again is not routed what it was routed.
func TestRoutedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dev, rev := w.hold("dev"), w.hold("rev")
	w.send("dev", dev, "rev", "x")
	w.release("rev", rev)
	w.claim("rev", rev)
	if n := w.count("deliveries"); n != 1 {
		t.Errorf("%d deliveries", n)
	}
	if got := w.receive("rev", rev); len(got) != 1 {
		t.Errorf("received %+v", got)
	}
}

// The human's lane is read by everybody who may, and delivered to one address.
//
// proves: BUS-READ-29 BUS-READ-31 BUS-READ-32 BUS-READ-33 BUS-READ-34 BUS-READ-35 BUS-READ-36
func TestFeed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dev := w.hold("dev")
	var sent []Message
	for i := range 5 {
		sent = append(sent, w.send("dev", dev, "human", fmt.Sprint(i)))
	}
	w.send("dev", dev, "rev", "elsewhere")
	w.receive("human", wire.HumanRun)
	w.read(sent[3].ID, wire.HumanRun)
	w.view(func(s *Snapshot) error {
		page, more, err := s.Feed(acme, "human", "", 2)
		if err != nil || !more || len(page) != 2 || page[0].ID != sent[4].ID || page[0].Read || !page[1].Read {
			t.Errorf("first page %+v, %v, %v", page, more, err)
		}
		page, more, err = s.Feed(acme, "human", page[1].ID, 2)
		if err != nil || !more || len(page) != 2 || page[0].ID != sent[2].ID {
			t.Errorf("second page %+v, %v, %v", page, more, err)
		}
		page, more, err = s.Feed(acme, "human", page[1].ID, 2)
		if err != nil || more || len(page) != 1 || page[0].ID != sent[0].ID {
			t.Errorf("last page %+v, %v, %v", page, more, err)
		}
		if _, _, err := s.Feed(acme, "rev", sent[0].ID, 2); !errors.Is(err, wire.Refuse(wire.MessageNotFound)) {
			t.Errorf("of another lane: %v", err)
		}
		return nil
	})
}

// proves: BUS-READ-03 BUS-READ-10 BUS-READ-11 BUS-READ-12 BUS-READ-13 BUS-DEC-69
func TestDecisions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dev, cto := w.hold("dev"), w.hold("cto")
	raise := func(class Class, route wire.Role) Decision {
		d := decision("dev", dev)
		d.Class, d.Route = class, route
		return w.raise(d)
	}
	a, b := raise(CrossRole, "human"), raise(Gated, "human")
	c, d := raise(CrossRole, "cto"), raise(Gated, "pm")
	w.update(func(tx *Tx) error {
		_, err := tx.AppendDecisionEvent(acme, DecisionEvent{Decision: c.ID, Kind: Seen, By: string(cto), ByRole: "cto", Via: "broker"})
		return err
	})
	idsOf := func(all []Decision, err error) (ids []wire.DecisionID) {
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range all {
			ids = append(ids, d.ID)
		}
		return ids
	}
	w.view(func(s *Snapshot) error {
		if got := idsOf(s.OpenDecisions(acme, "human", 100)); cmp.Diff([]wire.DecisionID{b.ID, a.ID}, got) != "" {
			t.Errorf("the human's: %v", got)
		}
		if got := idsOf(s.OpenRoleDecisions(acme, 100)); cmp.Diff([]wire.DecisionID{c.ID, d.ID}, got) != "" {
			t.Errorf("the roles': %v", got)
		}
		if got := idsOf(s.OpenDecisions("other", "human", 100)); got != nil {
			t.Errorf("another business's: %v", got)
		}
		if e, err := s.DecisionClose(c.ID); e != nil || err != nil {
			t.Errorf("a seen decision is closed: %v, %v", e, err)
		}
		return nil
	})
	closed := w.decide(b.ID, "no")
	w.decide(d.ID, "yes")
	w.view(func(s *Snapshot) error {
		if got := idsOf(s.OpenDecisions(acme, "human", 100)); cmp.Diff([]wire.DecisionID{a.ID}, got) != "" {
			t.Errorf("the human's: %v", got)
		}
		recent, err := s.RecentDecisions(acme, 50)
		if err != nil || len(recent) != 2 || recent[0].ID != d.ID || cmp.Diff(recent[1].Closed, closed) != "" {
			t.Errorf("recent %+v, %v", recent, err)
		}
		if one, err := s.RecentDecisions(acme, 1); err != nil || len(one) != 1 {
			t.Errorf("recent %+v, %v", one, err)
		}
		got, err := s.Decision(acme, b.ID)
		if err != nil || cmp.Diff(b, *got) != "" {
			t.Errorf("read back: %s, %v", cmp.Diff(b, *got), err)
		}
		if got.Authorization != (Authorization{"git.merge.protected", got.Target, "yes"}) {
			t.Errorf("authorization %+v", got.Authorization)
		}
		if got, err := s.Decision("other", b.ID); got != nil || err != nil {
			t.Errorf("another business sees %v, %v", got, err)
		}
		return nil
	})
}

// Every column of every row comes back as it was written, hostile text too.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dev := w.hold("dev")
	hostile := "a\u202eb\x1b[31m'\";--\r\n\t\u0000"[:len("a\u202eb\x1b[31m'\";--\r\n\t")] + "\U000e0041<&>é\u2028"
	d := decision("dev", dev)
	d.Question, d.Options[0].Text = hostile, hostile
	d.Project, d.SpecPath, d.SpecCommit = ptr("web"), ptr("spec/north-star.md"), ptr("abc")
	d.TaskRef, d.Blocking, d.RequirementRef = ptr(wire.TaskRef("queue:7")), true, ptr("REQ-A-1")
	d.Target, d.HolderRun = nil, &dev
	d = w.raise(d)
	m := w.sendMessage(Message{FromRole: "dev", FromRun: dev, ToRole: "human", Body: hostile, ToName: ptr("Dana"), Decision: &d.ID, Class: "RESULT"})
	fixed := w.sendMessage(Message{FromRole: "dev", FromRun: dev, ToRole: "human", Body: "again", Corrects: &m.ID, InReplyTo: &m.ID})
	e := w.event(Event{Kind: ActionRefused, Role: ptr(wire.Role("dev")), Run: &dev, Subject: &hostile,
		Body: json.RawMessage(`{"text":"\u202e<&>", "n": 1.50}`)})
	w.view(func(s *Snapshot) error {
		gotD, err := s.Decision(acme, d.ID)
		if err != nil || cmp.Diff(d, *gotD) != "" {
			t.Errorf("decision: %s, %v", cmp.Diff(d, *gotD), err)
		}
		for _, want := range []Message{m, fixed} {
			got, err := s.Message(acme, want.ID)
			if err != nil || cmp.Diff(want, *got) != "" {
				t.Errorf("message: %s, %v", cmp.Diff(want, *got), err)
			}
		}
		gotE, err := s.Event(acme, e.ID)
		if err != nil || cmp.Diff(e, *gotE) != "" {
			t.Errorf("event: %s, %v", cmp.Diff(e, *gotE), err)
		}
		replies, err := s.Replies(acme, m.ID, 50)
		if err != nil || len(replies) != 1 || replies[0].ID != fixed.ID {
			t.Errorf("replies %+v, %v", replies, err)
		}
		return nil
	})
}

// What a caller gets wrong is refused with its code and leaves nothing.
func TestTypedRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dev := w.hold("dev")
	d := w.raise(decision("dev", dev))
	rows := verifyLive(t, w).Rows
	for name, x := range map[string]struct {
		do   func(*Tx) error
		want wire.Code
	}{
		"body of an event": {func(tx *Tx) error {
			_, err := tx.AppendEvent(Event{Business: acme, Kind: HumanInput, Body: json.RawMessage(`[1]`)})
			return err
		}, wire.InvalidRequest},
		"class of a message": {func(tx *Tx) error {
			_, err := tx.AppendMessage(Message{Business: acme, FromRole: "dev", FromRun: dev, ToRole: "rev", Class: "X", Body: "x"})
			return err
		}, wire.InvalidRequest},
		"no option": {func(tx *Tx) error {
			bad := decision("dev", dev)
			bad.Options = nil
			_, err := tx.AppendDecision(bad)
			return err
		}, wire.InvalidOptions},
		"choice": {func(tx *Tx) error {
			_, err := tx.AppendDecisionEvent(acme, DecisionEvent{Decision: d.ID, Kind: Resolved, By: "Dana", ByRole: "human", Via: "cli", Choice: ptr("maybe")})
			return err
		}, wire.InvalidChoice},
		"not the holder": {func(tx *Tx) error {
			_, err := tx.AppendMessage(Message{Business: acme, FromRole: "rev", FromRun: dev, ToRole: "dev", Class: "INFO", Body: "x"})
			return err
		}, wire.NotHolder},
		"open approval": {func(tx *Tx) error { _, err := tx.AppendEvent(spending(d, dev)); return err }, wire.DecisionMismatch},
	} {
		err := w.Update(t.Context(), x.do, nil)
		if !errors.Is(err, wire.Refuse(x.want)) {
			t.Errorf("%s: %v", name, err)
		}
		var e *wire.Error
		if !errors.As(err, &e) || strings.Contains(e.Error(), " ") {
			t.Errorf("%s: what may cross a process boundary is %v", name, e)
		}
	}
	if got := verifyLive(t, w).Rows; got != rows {
		t.Errorf("refusals left %d rows", got-rows)
	}
}

func verifyLive(t *testing.T, w *world) *Report { return verifyClean(t, w.path) }

// A message's id may be named before the message is there.
func TestNewMessageID(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var id wire.MessageID
	w.update(func(tx *Tx) error {
		id = tx.NewMessageID()
		m, err := tx.AppendMessage(Message{ID: id, Business: acme, FromRole: "human", FromRun: wire.HumanRun, ToRole: "dev", Class: "INFO", Body: "x"})
		if m.ID != id {
			t.Errorf("the id became %s", m.ID)
		}
		return err
	})
	w.update(func(tx *Tx) error {
		m, err := tx.AppendMessage(Message{ID: "00000000-0000-7000-8000-000000000000", Business: acme, FromRole: "human", FromRun: wire.HumanRun, ToRole: "dev", Class: "INFO", Body: "x"})
		if m.ID[:8] == "00000000" {
			t.Error("an id that the store did not give was taken")
		}
		return err
	})
}
