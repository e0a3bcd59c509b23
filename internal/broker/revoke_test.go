package broker

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/wire"
)

// proves: BUS-CLAIM-09 BUS-CLAIM-10 BUS-CLAIM-14 BUS-CLAIM-04 BUS-CLAIM-05 BUS-OPEN-53
func TestRevokeWithADecision(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev, rev := tb.holder("dev"), tb.holder("rev")
	d := tb.approved(dev, "role.revoke", "rev")
	if d.HolderRun == nil || *d.HolderRun != rev.run {
		t.Errorf("the raise recorded the holder %v, want %s", d.HolderRun, rev.run)
	}
	if got := get[revoked](tb, dev, "role.revoke", args{"role": "rev", "decision": d.ID}); !got.Revoked {
		t.Errorf("result = %+v", got)
	}
	rows := tb.trail(string(d.ID))
	want := []evidence.Claim{{
		Business: "acme", Role: "rev", Run: rev.run, Op: evidence.OpRevoke, By: string(dev.run), Decision: &d.ID,
	}}
	var claims []evidence.Claim
	for _, c := range rowsOf[evidence.Claim](rows, "role_claims") {
		if c.Decision != nil {
			c.Seq, c.At = 0, ""
			claims = append(claims, c)
		}
	}
	if diff := cmp.Diff(want, claims); diff != "" {
		t.Errorf("claims of the trail (-want +got):\n%s", diff)
	}
	var spent []evidence.Event
	for _, e := range rows.events(evidence.ActionAllowed) {
		if e.Spends != nil {
			spent = append(spent, e)
		}
	}
	if len(spent) != 1 || *spent[0].Subject != "rev" {
		t.Fatalf("spending events = %+v", spent)
	}
	body := map[string]any{"action": "role.revoke", "target": "rev"}
	if diff := cmp.Diff(body, decode[map[string]any](t, spent[0].Body)); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	tb.refused(rev, "inbox", nil, wire.NotHolder)
	tb.refused(rev, "message.receive", nil, wire.NotHolder)
	tb.refused(rev, "role.claim", nil, wire.RunRevoked)
	tb.restart()
	tb.refused(tb.rebind(rev), "role.claim", nil, wire.RunRevoked)
	tb.holder("rev") // the role itself is free
}

// proves: BUS-CLAIM-10 BUS-CLAIM-11 BUS-CLAIM-16 BUS-CLAIM-18 BUS-CLAIM-19 BUS-CLAIM-20 BUS-AUTH-31 BUS-OPEN-54
func TestRevokeIsCheckedInOrder(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	chief, dev, pm, rev := tb.holder("chief"), tb.holder("dev"), tb.holder("pm"), tb.holder("rev")
	forRev := tb.approved(dev, "role.revoke", "rev")
	forUnheld := tb.approved(dev, "role.revoke", "cto")
	open := tb.raise(dev, "role.revoke", "rev")
	no := tb.raise(dev, "role.revoke", "rev")
	tb.resolve(no, "no")
	claims := tb.count("role_claims")

	for _, tt := range []struct {
		name string
		by   session
		args args
		code wire.Code
	}{
		{"both", chief, args{"role": "nobody", "decision": forRev.ID, "reason": "x"}, wire.InvalidRequest},
		{"empty reason", chief, args{"role": "nobody", "reason": ""}, wire.InvalidRequest},
		{"long reason", chief, args{"role": "rev", "reason": strings.Repeat("ü", 501)}, wire.InvalidRequest},
		{"unknown role", dev, args{"role": "nobody"}, wire.UnknownRole},
		{"the human", dev, args{"role": "human", "decision": forRev.ID}, wire.UnknownRole},
		{"neither", chief, args{"role": "rev"}, wire.DecisionRequired},
		{"unknown decision", dev, args{"role": "rev", "decision": "01900000-0000-7000-8000-000000000000"}, wire.DecisionNotFound},
		{"for another role", dev, args{"role": "pm", "decision": forRev.ID}, wire.DecisionMismatch},
		{"raised by another role", pm, args{"role": "rev", "decision": forRev.ID}, wire.DecisionMismatch},
		{"open", dev, args{"role": "rev", "decision": open.ID}, wire.DecisionOpen},
		{"refused", dev, args{"role": "rev", "decision": no.ID}, wire.DecisionRefused},
		{"nobody holds it", dev, args{"role": "cto", "decision": forUnheld.ID}, wire.NotHeld},
		{"own run", chief, args{"role": "chief", "reason": "x"}, wire.RoleEndRefused},
		{"own run without role.end", dev, args{"role": "dev", "reason": "x"}, wire.RoleEndRefused},
		{"without role.end", dev, args{"role": "rev", "reason": "x"}, wire.DecisionRequired},
		{"nobody holds it, with a reason", chief, args{"role": "cto", "reason": "x"}, wire.NotHeld},
	} {
		t.Run(tt.name, func(t *testing.T) { tb.refused(tt.by, "role.revoke", tt.args, tt.code) })
	}
	tb.refused(tb.human(), "role.revoke", args{"role": "rev", "reason": "x"}, wire.AgentRequired)

	// A later holder is not the one that the approval was about.
	tb.do(rev, "role.release", nil)
	tb.refused(dev, "role.revoke", args{"role": "rev", "decision": forRev.ID}, wire.NotHeld)
	tb.holder("rev")
	tb.refused(dev, "role.revoke", args{"role": "rev", "decision": forRev.ID}, wire.DecisionMismatch)
	tb.useRefused(dev, "role.revoke", "rev", forRev.ID, wire.DecisionMismatch)
	tb.holder("cto")
	tb.refused(dev, "role.revoke", args{"role": "cto", "decision": forUnheld.ID}, wire.DecisionMismatch)
	if n := tb.count("role_claims"); n != claims+3 {
		t.Errorf("refused revocations left rows: %d, want the release and two claims", n-claims)
	}
}

// proves: BUS-CLAIM-15 BUS-CLAIM-16 BUS-CLAIM-17 BUS-CLAIM-14
func TestRevokeWithAReason(t *testing.T) {
	t.Parallel()
	// Not the chief of staff: listing role.end is enough.
	tb := newTestBroker(t, acme(func(b *Business) { b.authority("pm", []string{"role.end"}, nil) }))
	pm, dev := tb.holder("pm"), tb.holder("dev")
	reason := strings.Repeat("ü", 500)
	tb.do(pm, "role.revoke", args{"role": "dev", "reason": reason})
	tb.refused(dev, "inbox", nil, wire.NotHolder)
	row := tb.query("SELECT role, run, op, \"by\", reason FROM role_claims ORDER BY seq DESC LIMIT 1")[0]
	if diff := cmp.Diff([]string{"dev", string(dev.run), "revoke", string(pm.run), reason}, row); diff != "" {
		t.Errorf("claim (-want +got):\n%s", diff)
	}
	event := tb.query("SELECT kind, subject, body FROM events WHERE kind = 'action.allowed' ORDER BY seq DESC LIMIT 1")[0]
	want := map[string]any{"action": "role.end", "target": "dev", "operation": "role.revoke", "reason": reason}
	if diff := cmp.Diff(want, decode[map[string]any](t, []byte(event[2]))); event[1] != "dev" || diff != "" {
		t.Errorf("event on %s (-want +got):\n%s", event[1], diff)
	}

	// Listing it cross-role is not enough: then somebody has to approve.
	tb.restartWith(func(b *Business) { b.authority("pm", nil, []string{"role.end"}) })
	tb.holder("dev")
	tb.refused(tb.rebind(pm), "role.revoke", args{"role": "dev", "reason": "x"}, wire.DecisionRequired)
}

// Assistants have no run yet that could claim their role, so a role becomes
// protected while it is held.
//
// proves: BUS-AUTH-13 BUS-AUTH-14 BUS-AUTH-16 BUS-CLAIM-21 BUS-CLAIM-22 BUS-CLAIM-23 BUS-CLAIM-24 BUS-OPEN-55
func TestOnlyChiefAndHumanEndAProtectedInstance(t *testing.T) {
	t.Parallel()
	protect := func(b *Business) { b.Roles["rev"] = testRole("assistant", nil, nil) }
	tb := newTestBroker(t, committed(Spec{Commit: commitA, Confirmed: true}), acme(func(b *Business) {
		b.authority("pm", []string{"role.end"}, nil)
	}))
	pm, dev, rev := tb.holder("pm"), tb.holder("dev"), tb.holder("rev")
	byArbiter := tb.raise(dev, "role.revoke", "rev", citing("web", commitA))
	tb.do(pm, "decision.resolve", args{"id": byArbiter.ID, "choice": "yes"})
	byHuman := tb.approved(dev, "role.revoke", "rev")
	again := tb.approved(dev, "role.revoke", "rev")

	tb.restartWith(protect)
	pm, dev = tb.rebind(pm), tb.rebind(dev)
	tb.refused(pm, "role.revoke", args{"role": "rev", "reason": "x"}, wire.RoleEndRefused)
	tb.refused(dev, "role.revoke", args{"role": "rev", "reason": "x"}, wire.RoleEndRefused)
	tb.refused(dev, "role.revoke", args{"role": "rev", "decision": byArbiter.ID}, wire.RoleEndRefused)
	tb.useRefused(dev, "role.revoke", "rev", byArbiter.ID, wire.RoleEndRefused)
	tb.do(dev, "role.revoke", args{"role": "rev", "decision": byHuman.ID})
	tb.refused(dev, "role.revoke", args{"role": "rev", "decision": again.ID}, wire.NotHeld)

	// The chief of staff needs no decision, but the grant of role.end.
	tb.restartWith(func(b *Business) { b.Roles["rev"] = testRole("reviewer", nil, nil) })
	rev = tb.holder("rev")
	tb.restartWith(func(b *Business) {
		protect(b)
		b.authority("chief", nil, nil)
	})
	chief := tb.holder("chief")
	tb.refused(chief, "role.revoke", args{"role": "rev", "reason": "x"}, wire.RoleEndRefused)
	tb.restartWith(func(b *Business) { b.authority("chief", []string{"role.end"}, nil) })
	tb.do(tb.rebind(chief), "role.revoke", args{"role": "rev", "reason": "x"})
	if row := tb.query("SELECT run FROM role_claims WHERE op = 'revoke' ORDER BY seq DESC LIMIT 1")[0]; row[0] != string(rev.run) {
		t.Errorf("revoked the run %s, want %s", row[0], rev.run)
	}

	// Nothing else is protected, and a map that grants role.revoke does not help.
	b := testBusinesses()["acme"]
	b.authority("dev", []string{"role.revoke"}, nil)
	s := Session{Kind: RoleSession, Business: &b, Role: "dev"}
	for role, r := range b.Roles {
		want := evidence.WithinRole
		if r.Definition == "assistant" {
			want = evidence.Gated
		}
		target := string(role)
		if got, err := s.classify("role.revoke", &target); err != nil || got != want {
			t.Errorf("role.revoke of %s is %s, %v; want %s", r.Definition, got, err, want)
		}
	}
}

// A role that may revoke by itself still says so in a decision, which records
// whom it was about.
//
// proves: BUS-CLAIM-10
func TestRevokeWithinRole(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t, acme(func(b *Business) { b.authority("pm", []string{"role.revoke"}, nil) }))
	pm, dev := tb.holder("pm"), tb.holder("dev")
	tb.refused(pm, "role.revoke", args{"role": "dev"}, wire.DecisionRequired)
	d := tb.raise(pm, "role.revoke", "dev", args{"choice": "yes"})
	tb.do(pm, "role.revoke", args{"role": "dev", "decision": d.ID})
	tb.refused(dev, "inbox", nil, wire.NotHolder)
}
