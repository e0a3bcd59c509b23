package broker

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"mosaicstack.dev/mosaic/internal/wire"
)

// state is one role's row of agents, as the human gets it.
func (tb *testBroker) state(role wire.Role) *agentState {
	tb.t.Helper()
	for _, row := range get[[]agentState](tb, tb.human(), "agents", nil) {
		if row.Role == role {
			return &row
		}
	}
	return nil
}

// proves: BUS-AGENT-01 BUS-AGENT-02 BUS-AGENT-03 BUS-AGENT-04 BUS-AGENT-05 BUS-AGENT-23 BUS-AGENT-27 BUS-AGENT-32 BUS-OPEN-115
func TestAgentsListsHeldRoles(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	rev, dev := tb.holder("rev"), tb.holder("dev")
	left := tb.holder("pm")
	tb.do(left, "role.release", nil)
	tb.launch("cto")
	tb.holderOf("globex", "dev")
	rows := tb.count("events") + tb.count("deliveries")

	seen := get[[]map[string]any](tb, dev, "agents", nil)
	want := []map[string]any{
		{"role": "dev", "definition": "developer", "name": nil, "run": string(dev.run), "harness": "exec"},
		{"role": "rev", "definition": "reviewer", "name": nil, "run": string(rev.run), "harness": "exec"},
	}
	for i := range seen {
		if at, _ := seen[i]["at"].(string); at == "" {
			t.Errorf("row %d has no time", i)
		}
		delete(seen[i], "at")
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("agents for a role (-want +got):\n%s", diff)
	}
	for _, row := range want {
		row["state"], row["working"], row["inputNeeded"], row["inputNeededMore"], row["stranded"] = "idle", nil, []any{}, 0.0, []any{}
	}
	for _, s := range []session{tb.human(), tb.reader()} {
		seen := get[[]map[string]any](tb, s, "agents", nil)
		for i := range seen {
			delete(seen[i], "at")
		}
		if diff := cmp.Diff(want, seen); diff != "" {
			t.Errorf("agents for the human (-want +got):\n%s", diff)
		}
	}
	if raw := string(tb.do(tb.humanOf("globex"), "agents", nil)); raw == "[]" {
		t.Error("globex has an agent of its own")
	}
	if n := tb.count("events") + tb.count("deliveries"); n != rows {
		t.Errorf("agents left %d rows", n-rows)
	}
	tb.refused(dev, "agents", args{"role": "dev"}, wire.InvalidRequest)
}

// proves: BUS-AGENT-06 BUS-AGENT-07 BUS-AGENT-08 BUS-AGENT-14 BUS-AGENT-16 BUS-AGENT-28 BUS-AGENT-29 BUS-AGENT-30
func TestAgentIsWorkingOnWhatItReceivedAndHasNotRead(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev, rev := tb.holder("dev"), tb.holder("rev")
	first := tb.send(dev, "rev")
	if s := tb.state("rev"); s.State != "idle" || s.Working != nil {
		t.Errorf("routed and not received: %+v", s)
	}
	tb.do(rev, "message.receive", nil)
	since := tb.deliveries(first.ID)[1].At
	second := tb.send(dev, "rev")
	tb.do(rev, "message.receive", nil)
	if s := tb.state("rev"); s.State != "working" || *s.Working != (working{2, since}) {
		t.Errorf("two unread: %+v, want since %s", s.Working, since)
	}
	// A reply that failed leaves the message unread, and since as it was.
	tb.refused(rev, "message.send", args{"to": "nobody", "body": "x"}, wire.UnknownRole)
	tb.do(rev, "message.read", args{"id": second.ID})
	if s := tb.state("rev"); s.State != "working" || *s.Working != (working{1, since}) {
		t.Errorf("one unread: %+v", s.Working)
	}
	tb.do(rev, "role.release", nil)
	tb.holder("rev")
	if s := tb.state("rev"); s.State != "idle" || s.Working != nil {
		t.Errorf("the next holder is %+v", s)
	}
	tb.do(dev, "message.receive", nil)
	if s := tb.state("dev"); s.State != "idle" {
		t.Errorf("dev is %s", s.State)
	}
}

// proves: BUS-AGENT-10 BUS-AGENT-11 BUS-AGENT-12 BUS-AGENT-13 BUS-AGENT-14 BUS-AGENT-15 BUS-AGENT-16 BUS-AGENT-17 BUS-AGENT-31
func TestAgentWaitsForTheHuman(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t, acme(func(b *Business) { b.Arbiters.Delivery = "" }))
	dev, human := tb.holder("dev"), tb.human()
	cross := tb.raise(dev, "git.merge.protected", "main", args{"blocking": true, "task_ref": "queue:7"})
	gated := tb.raise(dev, "deploy", "web")
	tb.raise(dev, "git.merge.protected", "main", args{"domain": "technical"}) // cto's
	tb.raise(tb.holder("rev"), "deploy", "web")
	tb.do(human, "decision.seen", args{"id": gated.ID})

	want := []inputNeeded{
		{ID: gated.ID, Question: "May I?", Class: "gated", At: gated.At},
		{ID: cross.ID, Question: "May I?", Class: "cross-role", Blocking: true, TaskRef: cross.TaskRef, At: cross.At},
	}
	s := tb.state("dev")
	if diff := cmp.Diff(want, s.InputNeeded); diff != "" || s.State != "waiting" {
		t.Errorf("dev is %s, input needed (-want +got):\n%s", s.State, diff)
	}
	// Decisions stay with the role; working goes before waiting.
	tb.send(human, "dev")
	tb.do(dev, "message.receive", nil)
	if s := tb.state("dev"); s.State != "working" || len(s.InputNeeded) != 2 {
		t.Errorf("dev is %s and needs %d", s.State, len(s.InputNeeded))
	}
	tb.do(dev, "role.release", nil)
	tb.holder("dev")
	if s := tb.state("dev"); s.State != "waiting" || len(s.InputNeeded) != 2 {
		t.Errorf("the next dev is %s and needs %d", s.State, len(s.InputNeeded))
	}
	tb.resolve(gated, "no")
	tb.resolve(cross, "no")
	if s := tb.state("dev"); s.State != "idle" || len(s.InputNeeded) != 0 {
		t.Errorf("dev is %s and needs %d", s.State, len(s.InputNeeded))
	}
}

// proves: BUS-MSG-44 BUS-AGENT-18 BUS-AGENT-19 BUS-AGENT-20 BUS-AGENT-21 BUS-AGENT-22 BUS-AGENT-24 BUS-AGENT-26 BUS-AGENT-33
func TestStrandedMessagesStayListed(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev, rev, human := tb.holder("dev"), tb.holder("rev"), tb.human()
	var want []stranded
	for i := range maxStranded + 2 {
		by := dev
		if i%2 == 0 {
			by = human
		}
		id := tb.send(by, "rev").ID
		tb.do(rev, "message.receive", nil)
		want = append(want, stranded{ID: id, From: by.role, Run: rev.run, At: tb.deliveries(id)[1].At})
	}
	tb.do(rev, "message.read", args{"id": want[0].ID})
	want = want[1:]
	if s := tb.state("rev"); len(s.Stranded) != 0 {
		t.Errorf("the holder's own are stranded: %+v", s.Stranded)
	}
	tb.do(rev, "role.release", nil)
	if s := tb.state("rev"); s != nil {
		t.Errorf("an unheld role is listed: %+v", s)
	}
	next := tb.holder("rev")
	tb.send(human, "rev", args{"body": "in its place"})
	tb.do(next, "message.receive", nil)
	s := tb.state("rev")
	if diff := cmp.Diff(want[:maxStranded], s.Stranded); diff != "" {
		t.Errorf("stranded (-want +got):\n%s", diff)
	}
	if s.Working == nil || s.Working.Messages != 1 {
		t.Errorf("working = %+v", s.Working)
	}
}
