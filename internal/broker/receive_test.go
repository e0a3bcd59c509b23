package broker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/wire"
)

// proves: BUS-MSG-35 BUS-MSG-36 BUS-MSG-40 BUS-MSG-41 BUS-OPEN-60
func TestReceiveHandsOverOnce(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev, rev := tb.holder("dev"), tb.holder("rev")
	var want []wire.MessageID
	for range 130 {
		want = append(want, tb.send(dev, "rev").ID)
	}
	tb.refused(rev, "message.receive", args{"limit": 1}, wire.InvalidRequest)
	var got []wire.MessageID
	for _, n := range []int{100, 30, 0} {
		in := get[batch](tb, rev, "message.receive", nil)
		if len(in.Messages) != n {
			t.Fatalf("received %d messages, want %d", len(in.Messages), n)
		}
		for _, m := range in.Messages {
			got = append(got, m.ID)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	for _, id := range []wire.MessageID{want[0], want[129]} {
		d := tb.deliveries(id)
		if len(d) != 2 || d[1].State != evidence.Delivered || d[1].Run != rev.run {
			t.Errorf("deliveries of %s = %+v", id, d)
		}
	}
	raw := tb.do(rev, "message.receive", nil)
	if string(raw) != `{"messages":[]}` {
		t.Errorf("an empty batch is %s", raw)
	}
	// Every name of a message is there, also when it has no value.
	tb.send(dev, "rev")
	shape := get[struct{ Messages []map[string]any }](tb, rev, "message.receive", nil).Messages[0]
	for _, name := range []string{
		"id", "from_role", "from_run", "to_role", "to_name", "class", "body", "in_reply_to", "corrects", "decision", "thread", "request", "at",
	} {
		if _, found := shape[name]; !found {
			t.Errorf("a received message has no %s", name)
		}
		delete(shape, name)
	}
	if len(shape) != 0 {
		t.Errorf("a received message also has %v", shape)
	}
}

// A batch of long messages is cut at the size of a reply, not refused: what
// was not handed over comes with the next call.
//
// proves: BUS-MSG-36 BUS-PROTO-08
func TestReceiveFitsTheReply(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev, rev := tb.holder("dev"), tb.holder("rev")
	body := strings.Repeat("\x01", maxBody) // six bytes each in JSON
	const n = 30
	for range n {
		// Longer than a request's line may be, so it is sent from inside.
		err := tb.store.Update(t.Context(), func(tx *evidence.Tx) error {
			_, err := tx.AppendMessage(evidence.Message{
				Business: "acme", FromRole: "dev", FromRun: dev.run, ToRole: "rev", Class: "INFO", Body: body,
			})
			return err
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
	}
	seen := map[wire.MessageID]bool{}
	for calls := 0; len(seen) < n; calls++ {
		raw := tb.do(rev, "message.receive", nil)
		in := decode[batch](t, raw)
		if len(raw) > wire.MaxReply || len(in.Messages) == 0 {
			t.Fatalf("call %d: %d messages in %d bytes", calls, len(in.Messages), len(raw))
		}
		for _, m := range in.Messages {
			if seen[m.ID] || m.Body != body {
				t.Errorf("message %s came twice or changed", m.ID)
			}
			seen[m.ID] = true
		}
	}
}

// proves: BUS-OPEN-61 BUS-READ-24 BUS-READ-38 BUS-MSG-46 BUS-OPEN-62
func TestHumanReceivesAndReads(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev, human := tb.holder("dev"), tb.human()
	question := tb.send(human, "dev")
	answer := tb.send(dev, "human", args{"in_reply_to": question.ID})
	// Looking delivers nothing.
	for range 2 {
		tb.do(human, "replies", args{"id": question.ID})
		tb.do(human, "messages", nil)
		tb.do(human, "inbox", nil)
	}
	tb.refused(human, "message.read", args{"id": answer.ID}, wire.MessageNotFound)
	in := get[batch](tb, human, "message.receive", nil)
	if len(in.Messages) != 1 || in.Messages[0].ID != answer.ID {
		t.Fatalf("received %+v", in)
	}
	// Another business's human has the same sender name and not the message.
	tb.refused(tb.humanOf("globex"), "message.read", args{"id": answer.ID}, wire.MessageNotFound)
	first := get[receipt](tb, human, "message.read", args{"id": answer.ID})
	if again := get[receipt](tb, human, "message.read", args{"id": answer.ID}); again != first || first.ID != answer.ID {
		t.Errorf("read = %+v, then %+v", first, again)
	}
	if d := tb.deliveries(answer.ID); len(d) != 2 || d[1].State != evidence.Read || d[1].At != first.At {
		t.Errorf("deliveries = %+v", d)
	}
}

// proves: BUS-MSG-41 BUS-MSG-42 BUS-MSG-43 BUS-MSG-45 BUS-MSG-46 BUS-MSG-47 BUS-OPEN-62 BUS-AGENT-25
func TestOnlyTheReceiverReads(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev, rev := tb.holder("dev"), tb.holder("rev")
	undelivered := func() wire.MessageID { return tb.send(dev, "rev").ID }
	received, left := undelivered(), undelivered()
	tb.do(rev, "message.receive", nil)
	waits := undelivered()

	tb.refused(rev, "message.read", args{"id": received, "at": "now"}, wire.InvalidRequest)
	tb.refused(rev, "message.read", args{"id": noID}, wire.MessageNotFound)
	tb.refused(rev, "message.read", args{"id": waits}, wire.MessageNotFound)
	tb.refused(dev, "message.read", args{"id": received}, wire.MessageNotFound)
	tb.refused(tb.holderOf("globex", "dev"), "message.read", args{"id": received}, wire.MessageNotFound)
	tb.do(rev, "message.read", args{"id": received})

	tb.do(rev, "role.release", nil)
	tb.refused(rev, "message.read", args{"id": left}, wire.NotHolder)
	next := tb.holder("rev")
	in := get[batch](tb, next, "message.receive", nil)
	if len(in.Messages) != 1 || in.Messages[0].ID != waits {
		t.Errorf("the next holder received %+v, want only what was not delivered", in)
	}
	for _, id := range []wire.MessageID{received, left} {
		tb.refused(next, "message.read", args{"id": id}, wire.MessageNotFound)
	}
	// Not even a restart brings the stranded one back.
	tb.restart()
	if in := get[batch](tb, tb.rebind(next), "message.receive", nil); len(in.Messages) != 0 {
		t.Errorf("after a restart it received %+v", in)
	}
}

// proves: BUS-NOTICE-01 BUS-NOTICE-02 BUS-NOTICE-03 BUS-NOTICE-04 BUS-NOTICE-12 BUS-NOTICE-17 BUS-NOTICE-18 BUS-NOTICE-19 BUS-NOTICE-20
// proves: BUS-NOTICE-21 BUS-NOTICE-22 BUS-NOTICE-23 BUS-NOTICE-29 BUS-NOTICE-30 BUS-NOTICE-31 BUS-NOTICE-32 BUS-NOTICE-33 BUS-NOTICE-34
// proves: BUS-MSG-03
func TestNoticeForARoleThatNobodyHolds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name            string
		to              wire.Role
		launcherRunning bool
		launchable      bool
		body            string
	}{
		{"launchable", "rev", true, true,
			"Message %[1]s from dev to rev waits: rev has no running session. Launch rev within the launch block's limits, or tell dev why not with message.send in_reply_to %[1]s."},
		{"not launchable", "ops", true, false,
			"Message %[1]s from dev to ops waits: ops has no running session and isn't in the launch block's instances, so a launch of ops is refused. Tell dev why not with message.send in_reply_to %[1]s."},
		{"launcher stopped", "rev", false, true,
			"Message %[1]s from dev to rev waits: rev has no running session. Launch rev within the launch block's limits, or tell dev why not with message.send in_reply_to %[1]s."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tb := newTestBroker(t, acme(func(b *Business) { b.Roles["ops"] = testRole("operator", nil, nil) }))
			dev := tb.holder("dev")
			waiter := tb.launch(tt.to) // launched, and it has not claimed
			var chief session
			if tt.launcherRunning {
				chief = tb.holder("chief")
			}
			got := tb.send(dev, tt.to)
			launcher := wire.Role("chief")
			want := &waiting{Role: tt.to, Launcher: &launcher, Told: true, LauncherRunning: &tt.launcherRunning, Launchable: &tt.launchable}
			if diff := cmp.Diff(want, got.Waiting); diff != "" {
				t.Errorf("waiting (-want +got):\n%s", diff)
			}
			if !tt.launcherRunning {
				chief = tb.holder("chief")
			}
			in := get[batch](tb, chief, "message.receive", nil)
			if len(in.Messages) != 1 {
				t.Fatalf("the launcher received %+v, want one notice", in)
			}
			notice := received{
				ID: in.Messages[0].ID, At: in.Messages[0].At, FromRole: "_bus", FromRun: "bus", ToRole: "chief",
				Class: "RESULT", Body: fmt.Sprintf(tt.body, got.ID), InReplyTo: &got.ID,
			}
			if diff := cmp.Diff(notice, in.Messages[0]); diff != "" {
				t.Errorf("notice (-want +got):\n%s", diff)
			}
			tb.do(waiter, "role.claim", nil)
			if in := get[batch](tb, waiter, "message.receive", nil); len(in.Messages) != 1 || in.Messages[0].ID != got.ID {
				t.Errorf("the waiting message was received as %+v", in)
			}
		})
	}
}

// proves: BUS-NOTICE-05 BUS-NOTICE-06 BUS-NOTICE-08 BUS-NOTICE-33 BUS-NOTICE-35 BUS-NOTICE-36 BUS-NOTICE-37 BUS-NOTICE-38 BUS-NOTICE-41
func TestSendsThatNoticeNobody(t *testing.T) {
	t.Parallel()
	yes, no, chief := true, false, wire.Role("chief")
	for _, tt := range []struct {
		name        string
		from, to    wire.Role
		chiefHeld   bool
		noLaunch    bool
		wantWaiting *waiting
	}{
		{"to the stopped launcher", "dev", "chief", false, false,
			&waiting{Role: "chief", Launcher: &chief, LauncherRunning: &no, Launchable: &no}},
		{"from the launcher", "chief", "rev", true, false,
			&waiting{Role: "rev", Launcher: &chief, LauncherRunning: &yes, Launchable: &yes}},
		{"no launch block", "dev", "rev", true, true, &waiting{Role: "rev"}},
		{"to a holder", "dev", "chief", true, false, nil},
		{"to the human", "dev", "human", true, false, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tb := newTestBroker(t, acme(func(b *Business) {
				if tt.noLaunch {
					b.Launch = nil
				}
			}))
			seats := tb.holders("dev")
			if tt.chiefHeld {
				seats["chief"] = tb.holder("chief")
			}
			got := tb.send(seats[tt.from], tt.to)
			if diff := cmp.Diff(tt.wantWaiting, got.Waiting); diff != "" {
				t.Errorf("waiting (-want +got):\n%s", diff)
			}
			if n := tb.count("messages"); n != 1 {
				t.Errorf("%d messages were stored, want no notice", n)
			}
		})
	}
	// The human's sends are told of in the same way.
	tb := newTestBroker(t)
	if got := tb.send(tb.human(), "rev"); got.Waiting == nil || !got.Waiting.Told || *got.Waiting.LauncherRunning {
		t.Errorf("waiting = %+v", got.Waiting)
	}
	if got := tb.send(tb.human(), "chief"); got.Waiting == nil || got.Waiting.Told {
		t.Errorf("waiting = %+v", got.Waiting)
	}
	// All names are there, null without a launch block.
	tb.restartWith(func(b *Business) { b.Launch = nil })
	raw := tb.do(tb.human(), "message.send", args{"to": "rev", "body": "x"})
	if want := `"waiting":{"role":"rev","launcher":null,"told":false,"launcherRunning":null,"launchable":null}`; !strings.Contains(string(raw), want) {
		t.Errorf("result = %s, want it to hold %s", raw, want)
	}
}

// What is stored is not told of again.
//
// proves: BUS-NOTICE-09 BUS-NOTICE-10 BUS-NOTICE-11 BUS-NOTICE-13 BUS-NOTICE-16
func TestOnlyASendSendsANotice(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev := tb.holder("dev")
	d := tb.raise(dev, "deploy", "web")
	tb.send(dev, "rev") // with its notice
	messages := tb.count("messages")
	tb.do(dev, "role.release", nil)
	rev := tb.holder("rev")
	tb.do(rev, "role.release", nil)
	tb.holder("rev")
	tb.restart()
	if n := tb.count("messages"); n != messages {
		t.Errorf("claims, releases and a restart sent %d messages", n-messages)
	}
	tb.resolve(d, "yes") // to dev, which nobody holds
	if n := tb.count("messages"); n != messages+1 {
		t.Errorf("the close sent %d messages, want its own alone", n-messages)
	}
}
