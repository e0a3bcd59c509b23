package broker

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/wire"
)

// proves: BUS-READ-01 BUS-READ-02 BUS-READ-03 BUS-OPEN-111 BUS-DEC-73 BUS-DEC-09
func TestInbox(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t, acme(func(b *Business) { b.Arbiters.Delivery = "" }))
	dev, cto, human := tb.holder("dev"), tb.holder("cto"), tb.human()
	cross := tb.raise(dev, "git.merge.protected", "main") // to the human, without an arbiter
	gated := tb.raise(dev, "deploy", "web", args{"approvalChoice": "no"})
	later := tb.raise(dev, "prd.approve", "")
	technical := tb.raise(dev, "git.merge.protected", "api", args{"domain": "technical"})
	tb.raise(tb.holderOf("globex", "dev"), "deploy", "")
	read, unread := tb.send(dev, "human"), tb.send(dev, "human", args{"body": "second"})
	tb.send(dev, "cto")
	tb.do(human, "message.receive", nil)
	tb.do(human, "message.read", args{"id": read.ID})
	waits := tb.send(dev, "human", args{"body": "third"})

	for name, s := range map[string]session{"human": human, "reader": tb.reader()} {
		in := get[humanInbox](tb, s, "inbox", nil)
		if diff := cmp.Diff([]evidence.Decision{gated, later, cross}, in.Decisions); diff != "" {
			t.Errorf("%s: decisions (-want +got):\n%s", name, diff)
		}
		want := evidence.Authorization{Action: "deploy", Target: ptr("web"), ApprovalChoice: "no"}
		if diff := cmp.Diff(want, in.Decisions[0].Authorization); diff != "" {
			t.Errorf("%s: authorization (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff([]evidence.Message{tb.message(unread.ID), tb.message(waits.ID)}, in.Messages); diff != "" || in.Unread != 2 {
			t.Errorf("%s: %d unread messages (-want +got):\n%s", name, in.Unread, diff)
		}
		if _, err := time.Parse("2006-01-02T15:04:05.000Z", string(in.At)); err != nil {
			t.Errorf("%s: at = %s", name, in.At)
		}
	}
	in := get[roleInbox](tb, cto, "inbox", nil)
	if diff := cmp.Diff([]evidence.Decision{technical}, in.Decisions); diff != "" || in.Messages != 1 || in.At == "" {
		t.Errorf("cto: %d messages at %s, decisions (-want +got):\n%s", in.Messages, in.At, diff)
	}
	tb.do(cto, "message.receive", nil)
	if in := get[roleInbox](tb, cto, "inbox", nil); in.Messages != 0 {
		t.Errorf("cto still has %d messages", in.Messages)
	}
	if raw := string(tb.do(tb.humanOf("globex"), "trail", args{"subject": string(read.ID)})); raw != "[]" {
		t.Errorf("another business's trail = %s", raw)
	}
	tb.refused(human, "inbox", args{"limit": 1}, wire.InvalidRequest)
}

// proves: BUS-OPEN-111
func TestInboxOfManyMessagesShowsItsCut(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev := tb.holder("dev")
	for range inboxMessages + 3 {
		tb.send(dev, "human")
	}
	in := get[humanInbox](tb, tb.human(), "inbox", nil)
	if len(in.Messages) != inboxMessages || in.Unread != inboxMessages+3 {
		t.Errorf("inbox has %d messages of %d", len(in.Messages), in.Unread)
	}
	for i := 1; i < len(in.Messages); i++ {
		if in.Messages[i-1].Seq >= in.Messages[i].Seq {
			t.Fatal("messages are not oldest first")
		}
	}
}

// proves: BUS-READ-04 BUS-READ-05 BUS-READ-06 BUS-READ-07 BUS-READ-17 BUS-OPEN-114 BUS-PROTO-19 BUS-EVENT-14
func TestTrailTellsTheStoryInOrder(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev, pm := tb.holder("dev"), tb.holder("pm")
	d := tb.raise(dev, "git.merge.protected", "main", args{"blocking": true, "task_ref": "queue:7"})
	cite := tb.send(dev, "pm", args{"decision": d.ID, "class": "INFO"})
	tb.do(pm, "message.receive", nil)
	tb.do(pm, "decision.seen", args{"id": d.ID})
	tb.do(pm, "decision.resolve", args{"id": d.ID, "choice": "yes"})
	if err := tb.use(dev, "git.merge.protected", "main", d.ID); err != nil {
		t.Fatal(err)
	}
	rows := tb.trail(string(d.ID))
	tables := map[string]int{}
	for i, row := range rows.rows {
		tables[row.Table]++
		if i > 0 && row.At <= rows.rows[i-1].At {
			t.Errorf("row %d is not later than the one before", i)
		}
	}
	for table, least := range map[string]int{"decisions": 1, "decision_events": 2, "messages": 2, "deliveries": 3, "events": 2} {
		if tables[table] < least {
			t.Errorf("the trail has %d rows of %s, want %d", tables[table], table, least)
		}
	}
	if got := rows.decisions(); len(got) != 1 || cmp.Diff(d, got[0]) != "" {
		t.Errorf("decision in the trail = %+v, want %+v", got, d)
	}
	// Every session gets the same.
	for _, s := range []session{dev, tb.reader()} {
		if diff := cmp.Diff(rows.rows, get[[]trailRow](tb, s, "trail", args{"subject": d.ID})); diff != "" {
			t.Errorf("trail for %s (-human +got):\n%s", s.role, diff)
		}
	}
	message := tb.trail(string(cite.ID))
	if len(message.messages()) != 1 || len(message.deliveriesOf(cite.ID)) != 2 {
		t.Errorf("trail of a message = %+v", message.rows)
	}
	for _, subject := range []string{"", noID, "queue:8", "nothing", "dev"} {
		if raw := string(tb.do(tb.human(), "trail", args{"subject": subject})); raw != "[]" {
			t.Errorf("trail of %q = %s", subject, raw)
		}
	}
	tb.refused(tb.human(), "trail", nil, wire.InvalidRequest)
}

// proves: BUS-READ-08 BUS-READ-09 BUS-READ-10 BUS-READ-11 BUS-READ-12 BUS-READ-13 BUS-READ-14 BUS-READ-15 BUS-READ-16
func TestDecisions(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev := tb.holder("dev")
	first := tb.raise(dev, "git.merge.protected", "main")
	tb.raise(dev, "deploy", "web") // to the human
	second := tb.raise(dev, "git.merge.protected", "api", args{"domain": "technical", "blocking": true, "task_ref": "queue:7"})
	tb.raise(tb.holderOf("globex", "dev"), "deploy", "")
	var closed []evidence.Decision
	for i := range recentDecisions + 1 {
		closed = append([]evidence.Decision{tb.raise(dev, "routine", fmt.Sprint(i), args{"choice": "no"})}, closed...)
	}
	for name, s := range map[string]session{"human": tb.human(), "reader": tb.reader()} {
		if diff := cmp.Diff([]evidence.Decision{first, second}, get[[]evidence.Decision](tb, s, "decisions", args{"list": "roles"})); diff != "" {
			t.Errorf("%s: roles (-want +got):\n%s", name, diff)
		}
		recent := get[[]evidence.ClosedDecision](tb, s, "decisions", args{"list": "recent"})
		if len(recent) != recentDecisions {
			t.Fatalf("%s: recent has %d rows", name, len(recent))
		}
		for i, row := range recent {
			if diff := cmp.Diff(closed[i], row.Decision); diff != "" || row.Closed.Decision != row.ID || *row.Closed.Choice != "no" {
				t.Errorf("%s: recent %d, closed by %+v (-want +got):\n%s", name, i, row.Closed, diff)
			}
		}
	}
	raw := get[[]map[string]any](tb, tb.human(), "decisions", args{"list": "roles"})
	if raw[0]["blocking"] != false || raw[1]["blocking"] != true {
		t.Errorf("blocking = %v, %v", raw[0]["blocking"], raw[1]["blocking"])
	}
	want := map[string]any{"action": "git.merge.protected", "target": "main", "approvalChoice": "yes"}
	if diff := cmp.Diff(want, raw[0]["authorization"]); diff != "" {
		t.Errorf("authorization (-want +got):\n%s", diff)
	}
	tb.refused(dev, "decisions", args{"list": "roles"}, wire.HumanRequired)
	for _, bad := range []args{{}, {"list": ""}, {"list": "all"}, {"list": "roles", "limit": 1}, {"list": true}} {
		tb.refused(tb.human(), "decisions", bad, wire.InvalidRequest)
	}
	if raw := string(tb.do(tb.humanOf("globex"), "decisions", args{"list": "recent"})); raw != "[]" {
		t.Errorf("nothing closed is %s", raw)
	}
}

// proves: BUS-READ-18 BUS-READ-19 BUS-READ-20 BUS-READ-21 BUS-READ-22 BUS-READ-23 BUS-NOTICE-24
func TestReplies(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev, human := tb.holder("dev"), tb.human()
	question := tb.send(human, "dev")
	var want []evidence.Message
	for range maxReplies + 1 {
		want = append(want, tb.message(tb.send(dev, "human", args{"in_reply_to": question.ID}).ID))
	}
	for _, s := range []session{human, tb.reader()} {
		got := get[[]evidence.Message](tb, s, "replies", args{"id": question.ID})
		if diff := cmp.Diff(want[:maxReplies], got); diff != "" {
			t.Errorf("replies (-want +got):\n%s", diff)
		}
	}
	// The launcher's notice is a reply too.
	waits := tb.send(human, "rev")
	if got := get[[]evidence.Message](tb, human, "replies", args{"id": waits.ID}); len(got) != 1 || got[0].FromRole != "_bus" {
		t.Errorf("replies to a waiting message = %+v", got)
	}
	if raw := string(tb.do(human, "replies", args{"id": want[0].ID})); raw != "[]" {
		t.Errorf("no replies are %s", raw)
	}
	tb.refused(dev, "replies", args{"id": question.ID}, wire.HumanRequired)
	tb.refused(human, "replies", args{"id": noID}, wire.MessageNotFound)
	tb.refused(tb.humanOf("globex"), "replies", args{"id": question.ID}, wire.MessageNotFound)
	tb.refused(human, "replies", args{"id": question.ID, "limit": 1}, wire.InvalidRequest)
}

// proves: BUS-READ-25 BUS-READ-26 BUS-READ-27 BUS-READ-28 BUS-READ-29 BUS-READ-30 BUS-READ-31 BUS-READ-32 BUS-READ-33
// proves: BUS-READ-34 BUS-READ-35 BUS-READ-36 BUS-READ-37 BUS-READ-38
func TestMessagesPageThroughTheFeed(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev, human := tb.holder("dev"), tb.human()
	empty := get[feed](tb, human, "messages", nil)
	if empty.Messages == nil || len(empty.Messages) != 0 || empty.Total != 0 || empty.Unread != 0 || empty.Next != nil {
		t.Errorf("an empty feed is %+v", empty)
	}
	const total = 55
	var newest []wire.MessageID
	for range total {
		newest = append([]wire.MessageID{tb.send(dev, "human").ID}, newest...)
	}
	other := tb.send(dev, "pm") // not in the feed
	tb.send(tb.holderOf("globex", "dev"), "human")
	oldest := newest[total-1]
	tb.do(human, "message.receive", nil)
	tb.do(human, "message.read", args{"id": oldest})
	before := tb.count("deliveries")

	for _, s := range []session{human, tb.reader()} {
		var got []wire.MessageID
		page := args{"limit": 20}
		for _, n := range []int{20, 20, 15} {
			f := get[feed](tb, s, "messages", page)
			if len(f.Messages) != n || f.Total != total || f.Unread != total-1 || (f.Next == nil) != (n == 15) {
				t.Fatalf("page of %d: %d of %d, %d unread, next %v", n, len(f.Messages), f.Total, f.Unread, f.Next)
			}
			for _, m := range f.Messages {
				got = append(got, m.ID)
				if m.Read != (m.ID == oldest) {
					t.Errorf("message %s has read %v", m.ID, m.Read)
				}
			}
			if f.Next != nil {
				if *f.Next != got[len(got)-1] {
					t.Errorf("next = %s, want the last of the page", *f.Next)
				}
				page["after"] = *f.Next
			}
		}
		if diff := cmp.Diff(newest, got); diff != "" {
			t.Errorf("feed (-want +got):\n%s", diff)
		}
		if f := get[feed](tb, s, "messages", nil); len(f.Messages) != feedPage || *f.Next != newest[feedPage-1] {
			t.Errorf("the default page has %d messages", len(f.Messages))
		}
		if f := get[feed](tb, s, "messages", args{"limit": total}); len(f.Messages) != total || f.Next != nil {
			t.Errorf("a page of everything has %d messages and next %v", len(f.Messages), f.Next)
		}
		if f := get[feed](tb, s, "messages", args{"after": oldest}); len(f.Messages) != 0 || f.Next != nil || f.Messages == nil {
			t.Errorf("after the oldest come %+v", f)
		}
	}
	tb.refused(dev, "messages", nil, wire.HumanRequired)
	for _, after := range []any{noID, "", string(other.ID), "yesterday"} {
		tb.refused(human, "messages", args{"after": after}, wire.MessageNotFound)
	}
	for _, bad := range []args{{"limit": 0}, {"limit": 201}, {"limit": -1}, {"limit": 1.5}, {"limit": "5"}, {"after": 7}, {"before": oldest}} {
		tb.refused(human, "messages", bad, wire.InvalidRequest)
	}
	if after := tb.count("deliveries"); after != before {
		t.Errorf("reading the feed left %d deliveries", after-before)
	}
}

// proves: BUS-HUMAN-29 BUS-HUMAN-30 BUS-HUMAN-31 BUS-HUMAN-32
func TestReaderSeesAndChangesNothing(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	tb.holder("dev")
	reader := tb.reader()
	may := map[string]args{
		"inbox": nil, "agents": nil, "trail": {"subject": noID}, "decisions": {"list": "roles"}, "messages": nil,
	}
	rows := tb.count("events")
	for _, v := range Verbs {
		if a, reads := may[v.Name]; reads {
			if a == nil {
				a = args{}
			}
			tb.do(reader, v.Name, a)
			continue
		}
		if v.Name == "replies" {
			tb.refused(reader, v.Name, args{"id": noID}, wire.MessageNotFound)
			continue
		}
		want := wire.ReadOnly
		if v.Sessions == HumanSession {
			want = wire.HumanRequired
		}
		tb.refused(reader, v.Name, decode[args](t, []byte(v.Example)), want)
	}
	// Its refusals are the only trace.
	if n, want := tb.count("events")-rows, len(tb.refusals("")); n != want {
		t.Errorf("a reader left %d events, %d of them refusals", n, want)
	}
}
