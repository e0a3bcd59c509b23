package broker

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"mosaicstack.dev/mosaic/internal/corpus"
	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/wire"
)

// send sends a message that must go out.
func (tb *testBroker) send(s session, to wire.Role, changes ...args) sent {
	tb.t.Helper()
	a := args{"to": to, "body": "hello"}
	for _, change := range changes {
		for name, value := range change {
			a[name] = value
		}
	}
	return get[sent](tb, s, "message.send", a)
}

// message is a stored message.
func (tb *testBroker) message(id wire.MessageID) evidence.Message {
	tb.t.Helper()
	for _, m := range tb.trail(string(id)).messages() {
		if m.ID == id {
			return m
		}
	}
	tb.t.Fatalf("no message %s", id)
	return evidence.Message{}
}

const noID = "01900000-0000-7000-8000-000000000000"

// Each send is refused for its first fault in the documented order, and leaves
// no message.
//
// proves: BUS-MSG-01 BUS-MSG-05 BUS-MSG-15 BUS-MSG-16 BUS-MSG-17 BUS-MSG-18 BUS-MSG-19 BUS-MSG-20 BUS-MSG-22 BUS-MSG-23
// proves: BUS-MSG-28 BUS-MSG-34 BUS-MSG-48 BUS-MSG-49 BUS-MSG-50 BUS-MSG-51 BUS-MSG-52 BUS-NOTICE-26
// proves: BUS-OPEN-32 BUS-OPEN-57 BUS-OPEN-58 BUS-OPEN-63 BUS-OPEN-65 BUS-PROTO-22 BUS-PROTO-23
func TestSendIsCheckedInOrder(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t, acme(func(b *Business) {
		b.authority("rev", nil, []string{"message.send"})
		b.messaging("dev", []string{"reviewer", "human"}, []string{"reviewer", "human", "cto"})
		b.messaging("cto", nil, []string{})
		b.Roles["chief2"] = testRole("chief-of-staff", nil, nil)
	}))
	seats := tb.holders("chief", "cto", "pm", "dev", "rev")
	toPM := tb.send(seats["chief"], "pm")
	fromDev := tb.send(seats["dev"], "rev")
	foreign := tb.send(tb.holderOf("globex", "dev"), "chief")
	open := tb.raise(seats["rev"], "message.send", "dev")
	messages := tb.count("messages")

	for _, tt := range []struct {
		name string
		by   wire.Role
		args args
		code wire.Code
	}{
		{"no body", "dev", args{"to": "nobody", "body": "", "class": "GREETING"}, wire.InvalidRequest},
		{"body too long", "dev", args{"to": "rev", "body": strings.Repeat("ü", maxBody/2) + "x"}, wire.InvalidRequest},
		{"a sender of its own choice", "dev", args{"to": "rev", "body": "x", "from_role": "chief"}, wire.InvalidRequest},
		{"a run of its own choice", "dev", args{"to": "rev", "body": "x", "from_run": "human-cli"}, wire.InvalidRequest},
		{"another class", "dev", args{"to": "nobody", "body": "x", "class": "GREETING"}, wire.InvalidClass},
		{"a class in lower case", "dev", args{"to": "rev", "body": "x", "class": "info"}, wire.InvalidClass},
		{"staff.request's class", "pm", args{"to": "chief", "body": "x", "class": "STAFF-REQUEST"}, wire.InvalidClass},
		{"nobody, in answer to nothing", "dev", args{"to": "nobody", "body": "x", "in_reply_to": noID}, wire.UnknownRole},
		{"a definition", "dev", args{"to": "reviewer", "body": "x"}, wire.UnknownRole},
		{"the bus", "dev", args{"to": "_bus", "body": "x"}, wire.UnknownRole},
		{"another business's role", "dev", args{"to": "globex/dev", "body": "x"}, wire.UnknownRole},
		{"an assistant", "chief", args{"to": "desk", "body": "x"}, wire.ThreadRequiredReply},
		{"BLOCK by a developer", "dev", args{"to": "rev", "body": "x", "class": "BLOCK", "in_reply_to": noID}, wire.BlockSender},
		{"BLOCK by the chief of staff", "chief", args{"to": "chief", "body": "x", "class": "BLOCK"}, wire.BlockSender},
		{"BLOCK to the other arbiter", "pm", args{"to": "cto", "body": "x", "class": "BLOCK", "in_reply_to": noID}, wire.BlockRecipient},
		{"BLOCK to the human", "cto", args{"to": "human", "body": "x", "class": "BLOCK"}, wire.BlockRecipient},
		{"BLOCK to another of the chief's definition", "cto", args{"to": "chief2", "body": "x", "class": "BLOCK"}, wire.BlockRecipient},
		{"an answer to nothing", "dev", args{"to": "pm", "body": "x", "in_reply_to": noID, "corrects": noID}, wire.MessageNotFound},
		{"an answer to another business", "dev", args{"to": "rev", "body": "x", "in_reply_to": foreign.ID}, wire.MessageNotFound},
		{"a correction of nothing", "dev", args{"to": "rev", "body": "x", "corrects": noID}, wire.MessageNotFound},
		{"a correction of another's message", "dev", args{"to": "rev", "body": "x", "corrects": toPM.ID}, wire.MessageNotFound},
		{"a correction to another recipient", "dev", args{"to": "human", "body": "x", "corrects": fromDev.ID}, wire.MessageNotFound},
		{"BLOCK in answer to nothing", "pm", args{"to": "chief", "body": "x", "class": "BLOCK", "in_reply_to": noID}, wire.MessageNotFound},
		{"BLOCK without an answer", "pm", args{"to": "chief", "body": "x", "class": "BLOCK"}, wire.BlockReplyRequired},
		{"BLOCK in answer to an ordinary message", "pm", args{"to": "chief", "body": "x", "class": "BLOCK", "in_reply_to": toPM.ID}, wire.BlockReplyRequired},
		{"a tester without an answer", "dev", args{"to": "tester", "body": "x"}, wire.TesterReplyRequired},
		{"a tester in answer to a role", "dev", args{"to": "tester", "body": "x", "in_reply_to": fromDev.ID}, wire.TesterReplyRequired},
		{"not in sendTo", "dev", args{"to": "pm", "body": "x", "decision": noID}, wire.MessageRouteRefused},
		{"not in the recipient's receiveFrom", "pm", args{"to": "dev", "body": "x"}, wire.MessageRouteRefused},
		{"an empty receiveFrom", "chief", args{"to": "cto", "body": "x"}, wire.MessageRouteRefused},
		{"a citation of nothing", "dev", args{"to": "rev", "body": "x", "decision": noID}, wire.DecisionNotFound},
		{"not within-role and no decision", "rev", args{"to": "dev", "body": "x"}, wire.DecisionRequired},
		{"not within-role and an unknown one", "rev", args{"to": "dev", "body": "x", "decision": noID}, wire.DecisionNotFound},
		{"not within-role and for another recipient", "rev", args{"to": "pm", "body": "x", "decision": open.ID}, wire.DecisionMismatch},
		{"not within-role and an open one", "rev", args{"to": "dev", "body": "x", "decision": open.ID}, wire.DecisionOpen},
	} {
		t.Run(tt.name, func(t *testing.T) { tb.refused(seats[tt.by], "message.send", tt.args, tt.code) })
	}
	human := tb.human()
	tb.refused(human, "message.send", args{"to": "human", "body": "x"}, wire.MessageRouteRefused)
	tb.refused(human, "message.send", args{"to": "cto", "body": "x"}, wire.MessageRouteRefused)
	tb.refused(human, "message.send", args{"to": "tester", "body": "x"}, wire.TesterReplyRequired)
	tb.refused(human, "message.send", args{"to": "desk", "body": "x"}, wire.ThreadRequiredSend)
	tb.refused(human, "message.send", args{"to": "chief", "body": "x", "class": "BLOCK"}, wire.BlockSender)
	tb.refused(human, "message.send", args{"to": "dev", "body": "x", "decision": noID}, wire.DecisionNotFound)
	tb.refused(human, "message.send", args{"to": "dev", "body": "x", "corrects": fromDev.ID}, wire.MessageNotFound)
	tb.refused(tb.reader(), "message.send", args{"to": "dev", "body": "x"}, wire.ReadOnly)

	tb.resolve(open, "no")
	tb.refused(seats["rev"], "message.send", args{"to": "dev", "body": "x", "decision": open.ID}, wire.DecisionRefused)
	spent := tb.approved(seats["rev"], "message.send", "dev")
	tb.send(seats["rev"], "dev", args{"decision": spent.ID})
	tb.refused(seats["rev"], "message.send", args{"to": "dev", "body": "x", "decision": spent.ID}, wire.DecisionConsumed)
	// What went out in between: two closes' messages to rev and one of rev.
	if n := tb.count("messages"); n != messages+3 {
		t.Errorf("refused sends left %d messages", n-messages-3)
	}
}

// proves: BUS-MSG-20 BUS-OPEN-32
func TestMessagingLists(t *testing.T) {
	t.Parallel()
	some := func(names ...string) []string { return append([]string{}, names...) }
	for _, tt := range []struct {
		name                         string
		sendTo, receives             []string // of dev, as a sender, and of rev, as the recipient
		toRev, toHuman, toDevByHuman bool
	}{
		{"no lists", nil, nil, true, true, true},
		{"listed by definition", some("reviewer"), some("developer"), true, false, true},
		{"listed by instance", some("rev"), some("dev"), false, false, true},
		{"sender alone allows", some("reviewer"), some(), false, false, true},
		{"recipient alone allows", some("human"), some("developer"), false, true, true},
	} {
		b := testBusinesses()["acme"]
		b.messaging("dev", tt.sendTo, nil)
		b.messaging("rev", nil, tt.receives)
		for to, want := range map[wire.Role]bool{"rev": tt.toRev, "human": tt.toHuman} {
			if got := b.mayMessage("dev", to); got != want {
				t.Errorf("%s: dev may message %s = %v", tt.name, to, got)
			}
		}
		if got := b.mayMessage("human", "dev"); got != tt.toDevByHuman {
			t.Errorf("%s: human may message dev = %v", tt.name, got)
		}
	}
	b := testBusinesses()["acme"]
	b.messaging("dev", nil, some("pm"))
	if b.mayMessage("human", "dev") {
		t.Error("a receiveFrom without human lets the human write")
	}
}

// proves: BUS-MSG-21 BUS-OPEN-56
func TestClassOfAMessage(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev, human := tb.holder("dev"), tb.human()
	tb.holder("rev")
	first := tb.send(dev, "rev")
	for _, class := range []string{"REQUEST", "ASSIGNMENT", "REVIEW-REQUEST", "REVIEW-RESULT", "RESULT", "INFO", "DECISION", "REACTION"} {
		if got := tb.message(tb.send(dev, "rev", args{"class": class, "in_reply_to": first.ID}).ID).Class; got != class {
			t.Errorf("class = %s, want %s", got, class)
		}
	}
	for _, tt := range []struct {
		by    session
		reply bool
		want  string
	}{{dev, false, "REQUEST"}, {dev, true, "RESULT"}, {human, false, "REQUEST"}, {human, true, "REQUEST"}} {
		change := args{}
		if tt.reply {
			change["in_reply_to"] = first.ID
		}
		if got := tb.message(tb.send(tt.by, "rev", change).ID).Class; got != tt.want {
			t.Errorf("default class by %s (reply %v) = %s, want %s", tt.by.role, tt.reply, got, tt.want)
		}
	}
	if diff := cmp.Diff([]string{
		"REQUEST", "ASSIGNMENT", "REVIEW-REQUEST", "REVIEW-RESULT", "RESULT", "INFO", "DECISION", "REACTION", "BLOCK",
	}, messageClasses); diff != "" {
		t.Errorf("classes (-want +got):\n%s", diff)
	}
}

// proves: BUS-MSG-02 BUS-MSG-07 BUS-MSG-09 BUS-MSG-25 BUS-MSG-26 BUS-MSG-27 BUS-OPEN-59 BUS-NOTICE-37
func TestSendByARole(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev, rev := tb.holder("dev"), tb.holder("rev")
	first := tb.send(dev, "rev")
	events := tb.count("events")
	got := tb.send(dev, "rev", args{"body": "better", "corrects": first.ID, "in_reply_to": first.ID, "class": "INFO"})
	if got.ID == "" || got.Request != nil || got.Waiting != nil {
		t.Errorf("result = %+v", got)
	}
	m := tb.message(got.ID)
	want := evidence.Message{
		Seq: m.Seq, ID: got.ID, At: m.At, Business: "acme", FromRole: "dev", FromRun: dev.run, ToRole: "rev",
		Class: "INFO", Body: "better", InReplyTo: &first.ID, Corrects: &first.ID,
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
	rows := tb.trail(string(got.ID))
	if d := rows.deliveriesOf(got.ID); len(d) != 1 || d[0].State != evidence.Routed || d[0].Run != rev.run {
		t.Errorf("deliveries = %+v", d)
	}
	var authority []evidence.Event
	for _, e := range rows.events(evidence.ActionAllowed) {
		if e.Message != nil && *e.Message == got.ID {
			authority = append(authority, e)
		}
	}
	if len(authority) != 1 {
		t.Fatalf("the trail has %+v, want one action.allowed of the send", authority)
	}
	if e := authority[0]; *e.Role != "dev" || *e.Run != dev.run || *e.Subject != "rev" || e.Spends != nil {
		t.Errorf("event = %+v", e)
	}
	body := map[string]any{"action": "message.send", "target": "rev", "message": string(got.ID)}
	if diff := cmp.Diff(body, decode[map[string]any](t, authority[0].Body)); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	// Three rows in all: the message, its routing, the event.
	if n := tb.count("events"); n != events+1 {
		t.Errorf("the send left %d events", n-events)
	}
}

// proves: BUS-MSG-02 BUS-MSG-04 BUS-MSG-37 BUS-OPEN-109
func TestSendByTheHuman(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev := tb.holder("dev")
	d := tb.raise(dev, "deploy", "web")
	first := tb.send(tb.human(), "dev")
	events := tb.count("events")
	got := tb.send(tb.human(), "dev", args{"body": "do it", "decision": d.ID, "corrects": first.ID})
	if got.Request == nil || got.Waiting != nil {
		t.Fatalf("result = %+v", got)
	}
	rows := tb.trail(string(got.ID))
	inputs := rows.events(evidence.HumanInput)
	if len(inputs) != 1 || inputs[0].ID != *got.Request || *inputs[0].Role != "human" || *inputs[0].Run != "human-cli" {
		t.Fatalf("human.input events = %+v, want the request %s", inputs, *got.Request)
	}
	body := map[string]any{"kind": "instruction", "verb": "message.send", "id": string(got.ID)}
	if diff := cmp.Diff(body, decode[map[string]any](t, inputs[0].Body)); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	m := tb.message(got.ID)
	if m.FromRole != "human" || m.FromRun != "human-cli" || *m.Request != *got.Request || *m.Decision != d.ID {
		t.Errorf("message = %+v", m)
	}
	if n := tb.count("events"); n != events+1 {
		t.Errorf("the human's send left %d events, want its input alone", n-events)
	}
	in := get[batch](tb, dev, "message.receive", nil)
	if len(in.Messages) != 2 || *in.Messages[1].Request != *got.Request {
		t.Errorf("received %+v", in)
	}
}

// Within the role a decision is only cited: whatever state it is in, it is
// stored with the message, left out of the event, and not used up.
//
// proves: BUS-MSG-28 BUS-MSG-29 BUS-MSG-30 BUS-MSG-31 BUS-MSG-32 BUS-MSG-33
func TestWithinRoleSendCitesADecision(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev := tb.holder("dev")
	tb.holder("rev")
	open := tb.raise(dev, "deploy", "web")
	good := tb.approved(dev, "deploy", "web")
	spent := tb.approved(dev, "deploy", "web")
	if err := tb.use(dev, "deploy", "web", spent.ID); err != nil {
		t.Fatal(err)
	}
	refused := tb.raise(dev, "spend", "api")
	tb.resolve(refused, "no")
	for range 2 {
		for _, d := range []evidence.Decision{open, good, spent, refused} {
			got := tb.send(dev, "rev", args{"decision": d.ID})
			if m := tb.message(got.ID); m.Decision == nil || *m.Decision != d.ID {
				t.Errorf("stored decision = %v, want %s", m.Decision, d.ID)
			}
			row := tb.query("SELECT spends, body FROM events ORDER BY seq DESC LIMIT 1")[0]
			if row[0] != "" || strings.Contains(row[1], string(d.ID)) {
				t.Errorf("the event of a citation is %v", row)
			}
		}
	}
	if err := tb.use(dev, "deploy", "web", good.ID); err != nil {
		t.Errorf("a cited approval: %v", err)
	}
}

// proves: BUS-MSG-34 BUS-AUTH-37 BUS-AUTH-39
func TestSendThatNeedsAnApprovalSpendsIt(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t, acme(func(b *Business) { b.authority("dev", nil, nil) }))
	dev := tb.holder("dev")
	tb.holder("rev")
	for _, to := range []wire.Role{"rev", "human"} {
		d := tb.approved(dev, "message.send", string(to))
		got := tb.send(dev, to, args{"decision": d.ID})
		if m := tb.message(got.ID); *m.Decision != d.ID {
			t.Errorf("stored decision = %v", m.Decision)
		}
		row := tb.query("SELECT spends, subject FROM events ORDER BY seq DESC LIMIT 1")[0]
		if row[0] != string(d.ID) || row[1] != string(to) {
			t.Errorf("event = %v", row)
		}
		tb.refused(dev, "message.send", args{"to": to, "body": "x", "decision": d.ID}, wire.DecisionConsumed)
	}
}

// proves: BUS-MSG-05 BUS-TESTER-25 BUS-TESTER-28 BUS-NOTICE-39
func TestAnswerToATester(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev := tb.holder("dev")
	// Nobody is a tester yet; the message is written as one would be.
	var test evidence.Message
	err := tb.store.Update(t.Context(), func(tx *evidence.Tx) (err error) {
		test, err = tx.AppendMessage(evidence.Message{
			Business: "acme", FromRole: wire.TesterRole, FromRun: wire.TesterRun, ToRole: "dev", Class: "REQUEST", Body: "x",
		})
		return err
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := tb.send(dev, "tester", args{"in_reply_to": test.ID})
	if m := tb.message(got.ID); m.ToRole != "tester" || got.Waiting != nil {
		t.Errorf("answer = %+v, %+v", m, got)
	}
	if in := get[batch](tb, tb.human(), "message.receive", nil); len(in.Messages) != 0 {
		t.Errorf("the human received the answer to a tester: %+v", in)
	}
}

// Hostile text in questions, options, targets and notes comes out as it went
// in, and an approval of it is for exactly that text. (Bodies, and what JSON
// cannot carry, go through the socket in corpus_test.go.)
//
// proves: BUS-CLOSE-13 BUS-CLOSE-18 BUS-OPEN-38 BUS-OPEN-41 BUS-AUTH-23
func TestHostileTextOfADecisionComesOutUnchanged(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev := tb.holder("dev")
	for _, c := range corpus.Strings(t) {
		if !utf8.ValidString(c.Text) || strings.ContainsRune(c.Text, 0) {
			continue
		}
		if !between(c.Text, 1, 512) {
			tb.refused(dev, "decision.raise", asking("deploy", args{"target": c.Text}), wire.InvalidRequest)
			continue
		}
		d := tb.raise(dev, "deploy", c.Text, args{
			"question": c.Text, "options": pair("other", c.Text), "approvalChoice": "other",
		})
		if d.Question != c.Text || d.Options[1].Text != c.Text || *d.Target != c.Text || *d.Authorization.Target != c.Text {
			t.Errorf("%s: raised as %+v", c.Name, d)
		}
		if open := get[humanInbox](tb, tb.human(), "inbox", nil).Decisions; len(open) != 1 || open[0].Question != c.Text || *open[0].Target != c.Text {
			t.Errorf("%s: inbox shows %+v", c.Name, open)
		}
		tb.do(tb.human(), "decision.resolve", args{"id": d.ID, "choice": "other", "note": c.Text})
		in := get[batch](tb, dev, "message.receive", nil)
		want := "Decision " + string(d.ID) + " on deploy was resolved by Dana: other (" + c.Text + ").\nNote: " + c.Text
		if len(in.Messages) != 1 || in.Messages[0].Body != want {
			t.Errorf("%s: the close came out as %+v", c.Name, in.Messages)
		}
		tb.useRefused(dev, "deploy", c.Text+" ", d.ID, wire.DecisionMismatch)
		if err := tb.use(dev, "deploy", c.Text, d.ID); err != nil {
			t.Errorf("%s: use: %v", c.Name, err)
		}
	}
	// The store holds no byte that its own checks refuse.
	if ill := tb.query("SELECT id FROM events WHERE NOT json_valid(body)"); len(ill) != 0 {
		t.Errorf("events with ill-formed bodies: %v", ill)
	}
}
