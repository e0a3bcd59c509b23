package evidence

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"mosaicstack.dev/mosaic/internal/wire"
)

const acme wire.Business = "acme"

// world is a store with people in it. Its methods act and fail the test when
// the store refuses; at the end of the test the store is closed and verified.
type world struct {
	t    *testing.T
	path string
	*Store
}

func newWorld(t *testing.T, options ...func(*Options)) *world {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "bus.sqlite")
	if err := Create(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	return openWorld(t, path, options...)
}

func openWorld(t *testing.T, path string, options ...func(*Options)) *world {
	t.Helper()
	var o Options
	for _, set := range options {
		set(&o)
	}
	s, err := Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, path: path, Store: s}
	t.Cleanup(func() {
		w.Store.Close()
		if !t.Failed() {
			w.verify()
		}
	})
	return w
}

// reopen closes the store and opens it again.
func (w *world) reopen() {
	w.t.Helper()
	if err := w.Close(); err != nil {
		w.t.Fatal(err)
	}
	s, err := Open(w.t.Context(), w.path, w.options)
	if err != nil {
		w.t.Fatal(err)
	}
	w.Store = s
}

func (w *world) update(do func(*Tx) error) {
	w.t.Helper()
	if err := w.Update(w.t.Context(), do, nil); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) view(fn func(*Snapshot) error) {
	w.t.Helper()
	if err := w.View(w.t.Context(), fn); err != nil {
		w.t.Fatal(err)
	}
}

// launch launches a run for the role.
func (w *world) launch(role wire.Role) wire.Run {
	w.t.Helper()
	run := wire.Run(new(ids).next(wallClock()))
	w.event(Event{Kind: SessionLaunched, Role: &role, Run: &run})
	return run
}

// hold launches a run for the role and claims it.
func (w *world) hold(role wire.Role) wire.Run {
	w.t.Helper()
	run := w.launch(role)
	w.claim(role, run)
	return run
}

func (w *world) claim(role wire.Role, run wire.Run) {
	w.t.Helper()
	w.update(func(tx *Tx) error {
		if _, err := tx.AppendClaim(Claim{Business: acme, Role: role, Run: run, Op: OpClaim, By: string(run)}); err != nil {
			return err
		}
		_, err := tx.RouteUndelivered(acme, role, run)
		return err
	})
}

func (w *world) release(role wire.Role, run wire.Run) {
	w.t.Helper()
	w.update(func(tx *Tx) error {
		_, err := tx.AppendClaim(Claim{Business: acme, Role: role, Run: run, Op: OpRelease, By: string(run)})
		return err
	})
}

func (w *world) event(e Event) Event {
	w.t.Helper()
	if e.Business == "" {
		e.Business = acme
	}
	if e.Body == nil {
		e.Body = json.RawMessage(`{}`)
	}
	w.update(func(tx *Tx) (err error) {
		e, err = tx.AppendEvent(e)
		return err
	})
	return e
}

// send sends as a role does: the message and the event that allowed it.
func (w *world) send(from wire.Role, run wire.Run, to wire.Role, body string) Message {
	w.t.Helper()
	return w.sendMessage(Message{FromRole: from, FromRun: run, ToRole: to, Body: body})
}

func (w *world) sendMessage(m Message) Message {
	w.t.Helper()
	w.update(func(tx *Tx) (err error) {
		m, err = sendIn(tx, m)
		return err
	})
	return m
}

func sendIn(tx *Tx, m Message) (Message, error) {
	m.Business = acme
	if m.Class == "" {
		m.Class = "REQUEST"
	}
	m, err := tx.AppendMessage(m)
	if err != nil || m.FromRole == wire.HumanRole {
		return m, err
	}
	subject := string(m.ToRole)
	_, err = tx.AppendEvent(Event{
		Business: acme, Role: &m.FromRole, Run: &m.FromRun, Kind: ActionAllowed, Subject: &subject, Message: &m.ID,
		Body: json.RawMessage(`{"action":"message.send"}`),
	})
	return m, err
}

// ask sends as the human does: the input and the message.
func (w *world) ask(to wire.Role, body string) Message {
	w.t.Helper()
	input := w.event(Event{Kind: HumanInput, Role: ptr(wire.HumanRole), Run: ptr(wire.HumanRun)})
	return w.sendMessage(Message{FromRole: wire.HumanRole, FromRun: wire.HumanRun, ToRole: to, Body: body, Request: &input.ID})
}

func (w *world) receive(lane Lane, run wire.Run) (got []Message) {
	w.t.Helper()
	w.update(func(tx *Tx) (err error) {
		got, err = tx.Deliver(acme, lane, run, 100)
		return err
	})
	return got
}

func (w *world) read(id wire.MessageID, run wire.Run) (d Delivery) {
	w.t.Helper()
	w.update(func(tx *Tx) (err error) {
		d, err = tx.MarkRead(acme, id, run)
		return err
	})
	return d
}

// decision is one that a gated merge would raise.
func decision(role wire.Role, run wire.Run) Decision {
	return Decision{
		Business: acme, Action: "git.merge.protected", Question: "Merge it?",
		Options:        []Option{{Key: "yes", Text: "Merge"}, {Key: "no", Text: "Leave it"}},
		Recommendation: "yes", ApprovalChoice: "yes", Class: Gated, Route: wire.HumanRole, Domain: "delivery",
		Target: ptr("main"), RaisedByRole: role, RaisedByRun: run,
	}
}

func (w *world) raise(d Decision) Decision {
	w.t.Helper()
	w.update(func(tx *Tx) (err error) {
		if d, err = tx.AppendDecision(d); err != nil {
			return err
		}
		subject := string(d.ID)
		_, err = tx.AppendEvent(Event{
			Business: acme, Role: &d.RaisedByRole, Run: &d.RaisedByRun, Kind: ActionAllowed, Subject: &subject,
			Body: json.RawMessage(`{"action":"decision.raise"}`),
		})
		return err
	})
	return d
}

// decide closes a decision as the human does.
func (w *world) decide(id wire.DecisionID, choice string) (e DecisionEvent) {
	w.t.Helper()
	input := w.event(Event{Kind: HumanInput, Role: ptr(wire.HumanRole), Run: ptr(wire.HumanRun)})
	w.update(func(tx *Tx) (err error) {
		e, err = tx.AppendDecisionEvent(acme, DecisionEvent{
			Decision: id, Kind: Resolved, By: "Dana", ByRole: wire.HumanRole, Via: "cli", Choice: &choice, Input: &input.ID,
		})
		return err
	})
	return e
}

// spending is the event that uses a decision's approval up.
func spending(d Decision, run wire.Run) Event {
	return Event{
		Business: acme, Role: &d.RaisedByRole, Run: &run, Kind: ActionAllowed, Subject: d.Target, Spends: &d.ID,
		Body: json.RawMessage(`{"action":"git.merge.protected","target":"main"}`),
	}
}

func ptr[T any](v T) *T { return &v }

// history writes rows of every kind.
func (w *world) history() {
	w.t.Helper()
	dev, rev := w.hold("dev"), w.hold("rev")
	asked := w.ask("dev", "Fix the build.")
	w.receive("dev", dev)
	w.read(asked.ID, dev)
	w.send("dev", dev, "rev", "Look at this.")
	w.receive("rev", rev)
	w.sendMessage(Message{FromRole: "rev", FromRun: rev, ToRole: "human", Body: "Fine.", InReplyTo: &asked.ID})
	d := w.raise(decision("dev", dev))
	w.decide(d.ID, "yes")
	w.event(spending(d, dev))
	w.raise(decision("dev", dev))
	w.send("dev", dev, "rev", "Waiting.")
	w.release("rev", rev)
	w.event(Event{Kind: SessionEnded, Role: ptr(wire.Role("rev")), Run: &rev})
}
