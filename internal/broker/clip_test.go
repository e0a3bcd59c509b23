package broker

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/wire"
)

// flood lets the role have as many open decisions as it can, each as large as
// the wire takes, in characters that cost the most as JSON.
func (tb *testBroker) flood(by session, more args) {
	tb.t.Helper()
	var options []args
	for i := range 9 {
		options = append(options, args{"key": fmt.Sprintf("%s%d", strings.Repeat("k", 100), i), "text": strings.Repeat("\u2028", 900)})
	}
	options[0]["key"] = "yes"
	big := args{"question": strings.Repeat("\u2028", 4096), "options": options, "recommendation": "yes"}
	for name, value := range more {
		big[name] = value
	}
	for range maxOpen {
		tb.raise(by, "git.merge.protected", strings.Repeat("\u2028", 500), big)
	}
}

// One role floods the person and an arbiter; every list still answers, with
// what the others ask in it, and says what it cut.
//
// proves: BUS-OPEN-111 BUS-READ-03 BUS-AGENT-11
func TestNoRoleTakesAListAway(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t, acme(func(b *Business) {
		b.Arbiters.Delivery = ""
		b.Roles["rev"] = testRole("reviewer", []string{"message.send"}, []string{"git.merge.protected"})
	}))
	dev, rev, cto, human := tb.holder("dev"), tb.holder("rev"), tb.holder("cto"), tb.human()
	tb.flood(dev, nil)
	tb.flood(rev, args{"domain": "technical"}) // to cto
	small := tb.raise(tb.holder("pm"), "deploy", "web")
	for range inboxMessages {
		tb.send(dev, "human", args{"body": strings.Repeat("\u2028", 10000)})
	}

	for name, s := range map[string]session{"human": human, "reader": tb.reader()} {
		in := get[humanInbox](tb, s, "inbox", nil)
		if len(in.Decisions) != inboxDecisions || in.More != maxOpen+1-inboxDecisions {
			t.Fatalf("%s: inbox has %d decisions and %d more", name, len(in.Decisions), in.More)
		}
		if in.Decisions[0].ID != small.ID || in.Decisions[0].Clipped {
			t.Errorf("%s: the gated decision is not first and whole", name)
		}
		if in.Decisions[1].Clipped {
			t.Errorf("%s: the second decision is clipped, though it fits", name)
		}
		last := in.Decisions[inboxDecisions-1]
		if !last.Clipped || utf8.RuneCountInString(last.Question) != clipQuestion || len(last.Options) != 9 ||
			last.Options[0].Key != "yes" || last.Authorization.ApprovalChoice != "yes" || last.RaisedByRole != "dev" || last.At == "" {
			t.Errorf("%s: the last decision is %+v", name, last)
		}
		if len(in.Messages) == 0 || len(in.Messages) >= inboxMessages || in.Unread != inboxMessages {
			t.Errorf("%s: %d messages of %d", name, len(in.Messages), in.Unread)
		}
	}
	if in := get[roleInbox](tb, cto, "inbox", nil); len(in.Decisions) != inboxDecisions || in.More != maxOpen-inboxDecisions {
		t.Errorf("cto's inbox has %d decisions and %d more", len(in.Decisions), in.More)
	}
	if rows := get[[]evidence.Decision](tb, human, "decisions", args{"list": "roles"}); len(rows) != roleDecisions || !rows[roleDecisions-1].Clipped {
		t.Errorf("decisions roles has %d", len(rows))
	}
	if s := tb.state("dev"); s.State != "waiting" || len(s.InputNeeded) != maxInputNeeded || s.More != maxOpen-maxInputNeeded {
		t.Errorf("dev is %s and needs %d and %d more", s.State, len(s.InputNeeded), s.More)
	}
	if s := tb.state("pm"); len(s.InputNeeded) != 1 || s.More != 0 {
		t.Errorf("pm needs %d and %d more", len(s.InputNeeded), s.More)
	}
	// The clipped ones are answered by id, and a list of the answered holds too.
	in := get[humanInbox](tb, human, "inbox", nil)
	for _, d := range in.Decisions {
		tb.do(human, "decision.resolve", args{"id": d.ID, "choice": d.Options[1].Key})
	}
	rows := get[[]evidence.ClosedDecision](tb, human, "decisions", args{"list": "recent"})
	if len(rows) != recentDecisions || rows[0].Clipped || !rows[recentDecisions-2].Clipped {
		t.Errorf("decisions recent has %d", len(rows))
	}
	if in := get[humanInbox](tb, human, "inbox", nil); in.More != maxOpen+1-2*inboxDecisions {
		t.Errorf("after %d answers %d are more", inboxDecisions, in.More)
	}
}

// A role instance has a limited number of open decisions. Another role is not
// in its way, and each close frees a place.
func TestARoleHasALimitedNumberOfOpenDecisions(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev := tb.holder("dev")
	var last evidence.Decision
	for i := range maxOpen {
		change := args{}
		if i%2 == 0 {
			change["domain"] = "technical" // whoever decides them
		}
		last = tb.raise(dev, "git.merge.protected", "main", change)
	}
	one := asking("deploy", args{"target": "web"})
	tb.refused(dev, "decision.raise", one, wire.TooManyOpen)
	tb.raise(tb.holder("rev"), "deploy", "web")
	tb.raise(dev, "deploy", "web", args{"supersedes": last.ID})
	tb.refused(dev, "decision.raise", one, wire.TooManyOpen)

	mine := tb.state("dev").InputNeeded
	tb.do(dev, "decision.withdraw", args{"id": mine[0].ID})
	tb.raise(dev, "deploy", "web")
	tb.refused(dev, "decision.raise", one, wire.TooManyOpen)
	tb.restart()
	tb.refused(tb.rebind(dev), "decision.raise", one, wire.TooManyOpen)
}
