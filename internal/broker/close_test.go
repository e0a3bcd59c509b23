package broker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/wire"
)

// Each close is refused for its first fault in the documented order, and
// leaves no row and no message.
//
// proves: BUS-DEC-60 BUS-DEC-61 BUS-DEC-62 BUS-DEC-64 BUS-DEC-66 BUS-DEC-70 BUS-DEC-71 BUS-CLOSE-04 BUS-OPEN-44 BUS-OPEN-46 BUS-OPEN-50
func TestCloseIsCheckedInOrder(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	seats := tb.holders("dev", "pm", "cto", "rev")
	open := tb.raise(seats["dev"], "git.merge.protected", "main")
	closed := tb.approved(seats["dev"], "git.merge.protected", "main")
	foreign := tb.raise(tb.holderOf("globex", "dev"), "deploy", "")
	rows, messages := tb.count("decision_events"), tb.count("messages")

	long := strings.Repeat("ü", 1025)
	for _, tt := range []struct {
		by   wire.Role
		verb string
		args args
		code wire.Code
	}{
		{"pm", "decision.resolve", args{"id": open.ID, "choice": "yes", "note": ""}, wire.InvalidRequest},
		{"pm", "decision.resolve", args{"id": open.ID, "choice": "yes", "note": long}, wire.InvalidRequest},
		{"pm", "decision.seen", args{"id": open.ID, "note": ""}, wire.InvalidRequest},
		{"dev", "decision.withdraw", args{"id": open.ID, "note": long}, wire.InvalidRequest},
		{"pm", "decision.resolve", args{"id": "01900000-0000-7000-8000-000000000000", "choice": "yes"}, wire.DecisionNotFound},
		{"pm", "decision.resolve", args{"id": foreign.ID, "choice": "yes"}, wire.DecisionNotFound},
		{"pm", "decision.seen", args{"id": foreign.ID}, wire.DecisionNotFound},
		{"dev", "decision.withdraw", args{"id": foreign.ID}, wire.DecisionNotFound},
		{"dev", "decision.resolve", args{"id": open.ID, "choice": "yes"}, wire.NotResolver},
		{"cto", "decision.resolve", args{"id": open.ID, "choice": "yes"}, wire.NotResolver},
		{"cto", "decision.resolve", args{"id": closed.ID, "choice": "maybe"}, wire.NotResolver},
		{"dev", "decision.seen", args{"id": open.ID}, wire.NotResolver},
		{"pm", "decision.withdraw", args{"id": open.ID}, wire.NotResolver},
		{"rev", "decision.withdraw", args{"id": closed.ID}, wire.NotResolver},
		{"pm", "decision.resolve", args{"id": closed.ID, "choice": "maybe"}, wire.DecisionClosed},
		{"pm", "decision.seen", args{"id": closed.ID}, wire.DecisionClosed},
		{"dev", "decision.withdraw", args{"id": closed.ID}, wire.DecisionClosed},
		{"pm", "decision.resolve", args{"id": open.ID, "choice": "maybe"}, wire.InvalidChoice},
		{"pm", "decision.resolve", args{"id": open.ID, "choice": "go ahead"}, wire.InvalidChoice},
	} {
		tb.refused(seats[tt.by], tt.verb, tt.args, tt.code)
	}
	human := tb.human()
	tb.refused(human, "decision.resolve", args{"id": closed.ID, "choice": "yes"}, wire.DecisionClosed)
	tb.refused(human, "decision.withdraw", args{"id": foreign.ID}, wire.DecisionNotFound)
	tb.refused(human, "decision.raise", asking("deploy"), wire.AgentRequired)
	tb.refused(tb.reader(), "decision.resolve", args{"id": open.ID, "choice": "yes"}, wire.ReadOnly)
	if n := tb.count("decision_events"); n != rows {
		t.Errorf("refused closes left %d rows", n-rows)
	}
	if n := tb.count("messages"); n != messages {
		t.Errorf("refused closes sent %d messages", n-messages)
	}
}

// A close by the human or by a role tells the raising role once, in words that
// are promised byte for byte.
//
// proves: BUS-DEC-62 BUS-DEC-63 BUS-DEC-65 BUS-OPEN-45 BUS-CLOSE-01 BUS-CLOSE-02 BUS-CLOSE-03 BUS-CLOSE-05
// proves: BUS-CLOSE-06 BUS-CLOSE-07 BUS-CLOSE-08 BUS-CLOSE-09 BUS-CLOSE-10 BUS-CLOSE-11 BUS-CLOSE-13 BUS-CLOSE-14
// proves: BUS-CLOSE-15 BUS-CLOSE-16 BUS-CLOSE-17 BUS-CLOSE-18 BUS-CLOSE-23 BUS-HUMAN-27 BUS-EVENT-13 BUS-MSG-38 BUS-MSG-39
// proves: BUS-NOTICE-16
func TestCloseTellsTheRaisingRole(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		by   wire.Role
		verb string
		args args
		body string // of the message; %s is the decision, %s who closed it
	}{
		{"resolve by the human", "human", "decision.resolve", args{"choice": "no"},
			"Decision %s on git.merge.protected was resolved by %s: no (leave it)."},
		{"resolve by the human with a note", "human", "decision.resolve", args{"choice": "yes", "note": "but\nnot on Friday"},
			"Decision %s on git.merge.protected was resolved by %s: yes (go ahead).\nNote: but\nnot on Friday"},
		{"resolve by the arbiter", "pm", "decision.resolve", args{"choice": "yes"},
			"Decision %s on git.merge.protected was resolved by %s: yes (go ahead)."},
		{"withdraw by the human", "human", "decision.withdraw", args{},
			"Decision %s on git.merge.protected was withdrawn by %s."},
		{"withdraw by the human with a note", "human", "decision.withdraw", args{"note": "too late"},
			"Decision %s on git.merge.protected was withdrawn by %s.\nNote: too late"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tb := newTestBroker(t)
			dev, pm := tb.holder("dev"), tb.holder("pm")
			d := tb.raise(dev, "git.merge.protected", "main")
			by, who, via := tb.human(), "Dana", "cli"
			if tt.by == "pm" {
				by, who, via = pm, string(pm.run), "broker"
			}
			tt.args["id"] = d.ID
			closed := get[evidence.DecisionEvent](tb, by, tt.verb, tt.args)
			if closed.By != who || closed.ByRole != by.role || closed.Via != via || closed.Decision != d.ID {
				t.Errorf("close = %+v", closed)
			}

			rows := tb.trail(string(d.ID))
			if closes := rows.closes(); len(closes) != 1 || cmp.Diff(closed, closes[0]) != "" {
				t.Errorf("trail has the closes %+v, want %+v", closes, closed)
			}
			messages := rows.messages()
			if len(messages) != 1 {
				t.Fatalf("the close sent %+v, want one message", messages)
			}
			want := evidence.Message{
				Seq: messages[0].Seq, ID: messages[0].ID, At: messages[0].At, Business: "acme",
				FromRole: by.role, FromRun: by.run, ToRole: "dev", Class: "DECISION",
				Body: fmt.Sprintf(tt.body, d.ID, who), Decision: &d.ID, Request: closed.Input,
			}
			if diff := cmp.Diff(want, messages[0]); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
			if n := tb.count("messages"); n != 1 {
				t.Errorf("the close sent %d messages in all", n)
			}

			answers := rows.events(evidence.HumanInput)
			if tt.by == "pm" {
				if closed.Input != nil || len(answers) != 0 {
					t.Errorf("a role's close has the input %v and %+v", closed.Input, answers)
				}
			} else {
				if len(answers) != 1 || closed.Input == nil || answers[0].ID != *closed.Input {
					t.Fatalf("the human's close has the input %v and %+v", closed.Input, answers)
				}
				body := map[string]any{"kind": "answer", "verb": tt.verb, "id": string(d.ID)}
				if diff := cmp.Diff(body, decode[map[string]any](t, answers[0].Body)); diff != "" {
					t.Errorf("human.input (-want +got):\n%s", diff)
				}
			}
			// The holder gets it with the answer behind it.
			got := get[batch](tb, dev, "message.receive", nil)
			if len(got.Messages) != 1 || got.Messages[0].ID != messages[0].ID || cmp.Diff(got.Messages[0].Request, closed.Input) != "" {
				t.Errorf("dev received %+v", got)
			}
		})
	}
}

// proves: BUS-CLOSE-11 BUS-CLOSE-12 BUS-OPEN-47 BUS-CLOSE-02
func TestCloseMessageFindsTheRoleNotTheRun(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	first := tb.holder("dev")
	d := tb.raise(first, "deploy", "web")
	other := tb.raise(first, "deploy", "api")
	tb.do(first, "role.release", nil)

	tb.resolve(d, "yes") // nobody holds the role
	second := tb.holder("dev")
	got := get[batch](tb, second, "message.receive", nil)
	if len(got.Messages) != 1 || *got.Messages[0].Decision != d.ID {
		t.Errorf("the next holder received %+v", got)
	}
	// A withdrawal by another run of the raising role is not the raiser's own.
	tb.do(second, "decision.withdraw", args{"id": other.ID})
	if messages := tb.trail(string(other.ID)).messages(); len(messages) != 1 || messages[0].FromRun != second.run {
		t.Errorf("the withdrawal by another run sent %+v", messages)
	}
}

// proves: BUS-CLOSE-19 BUS-CLOSE-20 BUS-DEC-66 BUS-DEC-67 BUS-DEC-68 BUS-DEC-69 BUS-OPEN-46
func TestWhatSendsNoMessage(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev, pm := tb.holder("dev"), tb.holder("pm")
	d := tb.raise(dev, "git.merge.protected", "main")
	for range 2 {
		row := get[evidence.DecisionEvent](tb, pm, "decision.seen", args{"id": d.ID, "note": "looking"})
		if row.Kind != evidence.Seen || row.By != string(pm.run) || *row.Note != "looking" {
			t.Errorf("seen = %+v", row)
		}
	}
	row := get[evidence.DecisionEvent](tb, tb.human(), "decision.seen", args{"id": d.ID})
	if row.Kind != evidence.Seen || row.By != "Dana" || row.Via != "cli" || row.Input == nil {
		t.Errorf("seen by the human = %+v", row)
	}
	// It is open still, and in the inbox.
	tb.useRefused(dev, "git.merge.protected", "main", d.ID, wire.DecisionOpen)
	if in := get[roleInbox](tb, pm, "inbox", nil); len(in.Decisions) != 1 {
		t.Errorf("inbox = %+v", in)
	}
	tb.do(dev, "decision.withdraw", args{"id": d.ID})
	if closes := tb.trail(string(d.ID)).closes(); len(closes) != 4 {
		t.Errorf("the trail has %d decision events, want 3 seen and the withdrawal", len(closes))
	}
	if n := tb.count("messages"); n != 0 {
		t.Errorf("%d messages were sent", n)
	}
}

// A role can become protected between raise and close. No arbiter ends it.
//
// proves: BUS-AUTH-15 BUS-DEC-28 BUS-DEC-63
func TestNoArbiterResolvesTheEndOfAProtectedInstance(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t, committed(Spec{Commit: commitA, Confirmed: true}))
	dev := tb.holder("dev")
	d := tb.raise(dev, "role.revoke", "rev", citing("web", commitA))
	if d.Route != "pm" {
		t.Fatalf("route = %s", d.Route)
	}
	tb.restartWith(func(b *Business) { b.Roles["rev"] = testRole("assistant", nil, nil) })
	pm := tb.holder("pm")
	tb.refused(pm, "decision.resolve", args{"id": d.ID, "choice": "yes"}, wire.NotResolver)
	tb.refused(pm, "decision.seen", args{"id": d.ID}, wire.NotResolver)
	tb.resolve(d, "no")
}
