package broker

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/wire"
)

// raise raises an action on a target ("" for none).
func (tb *testBroker) raise(s session, action, target string, changes ...args) evidence.Decision {
	tb.t.Helper()
	if target != "" {
		changes = append(changes, args{"target": target})
	}
	return get[evidence.Decision](tb, s, "decision.raise", asking(action, changes...))
}

// resolve lets the human answer a decision.
func (tb *testBroker) resolve(d evidence.Decision, choice string) {
	tb.t.Helper()
	tb.do(tb.humanOf(d.Business), "decision.resolve", args{"id": d.ID, "choice": choice})
}

// approved raises an action on a target and lets the human approve it.
func (tb *testBroker) approved(s session, action, target string) evidence.Decision {
	tb.t.Helper()
	d := tb.raise(s, action, target)
	tb.resolve(d, "yes")
	return d
}

// use asks the trusted call for an action, spending a decision ("" for none).
func (tb *testBroker) use(s session, action, target string, decision wire.DecisionID) error {
	tb.t.Helper()
	a := Action{Action: action, Decision: decision}
	if target != "" {
		a.Target = &target
	}
	_, err := tb.Authorize(tb.t.Context(), s.proof.Cap, a)
	return err
}

func (tb *testBroker) useRefused(s session, action, target string, decision wire.DecisionID, code wire.Code) {
	tb.t.Helper()
	refusedWith(tb.t, "authorize "+action+" on "+target, nil, tb.use(s, action, target, decision), code)
}

// Each decision is refused for its first fault in the documented order: what
// it is for, its class, its answer, its use.
//
// proves: BUS-AUTH-18 BUS-AUTH-20 BUS-AUTH-21 BUS-AUTH-22 BUS-AUTH-23 BUS-AUTH-24 BUS-AUTH-36 BUS-AUTH-41
// proves: BUS-OPEN-34 BUS-PROTO-25 BUS-PROTO-26 BUS-DEC-72 BUS-DEC-75
func TestApprovalIsCheckedInOrder(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev, rev := tb.holder("dev"), tb.holder("rev")
	elsewhere := tb.holderOf("globex", "dev")

	open := tb.raise(dev, "deploy", "web")
	refused := tb.raise(dev, "deploy", "web")
	tb.resolve(refused, "no")
	withdrawn := tb.raise(dev, "deploy", "web")
	tb.do(dev, "decision.withdraw", args{"id": withdrawn.ID})
	otherChoice := tb.raise(dev, "deploy", "web", args{"approvalChoice": "no"})
	tb.resolve(otherChoice, "yes")
	spent := tb.approved(dev, "deploy", "web")
	if err := tb.use(dev, "deploy", "web", spent.ID); err != nil {
		t.Fatal(err)
	}
	foreign := tb.approved(elsewhere, "deploy", "web")

	for _, tt := range []struct {
		name           string
		by             session
		action, target string
		decision       wire.DecisionID
		code           wire.Code
	}{
		{"no action of the vocabulary", dev, "deploy.twice", "web", spent.ID, wire.UnknownAction},
		{"no decision", dev, "deploy", "web", "", wire.DecisionRequired},
		{"unknown", dev, "deploy", "web", "01900000-0000-7000-8000-000000000000", wire.DecisionNotFound},
		{"no id", dev, "deploy", "web", "yes", wire.DecisionNotFound},
		{"of another business", dev, "deploy", "web", foreign.ID, wire.DecisionNotFound},
		{"another action", dev, "spend", "web", open.ID, wire.DecisionMismatch},
		{"another target", dev, "deploy", "api", refused.ID, wire.DecisionMismatch},
		{"no target", dev, "deploy", "", spent.ID, wire.DecisionMismatch},
		{"target in another case", dev, "deploy", "Web", spent.ID, wire.DecisionMismatch},
		{"another role", rev, "deploy", "web", spent.ID, wire.DecisionMismatch},
		{"open", dev, "deploy", "web", open.ID, wire.DecisionOpen},
		{"refused", dev, "deploy", "web", refused.ID, wire.DecisionRefused},
		{"withdrawn", dev, "deploy", "web", withdrawn.ID, wire.DecisionRefused},
		{"another option than approvalChoice", dev, "deploy", "web", otherChoice.ID, wire.DecisionRefused},
		{"spent", dev, "deploy", "web", spent.ID, wire.DecisionConsumed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tb.useRefused(tt.by, tt.action, tt.target, tt.decision, tt.code)
		})
	}
	if used := tb.query("SELECT count(*) FROM events WHERE spends IS NOT NULL")[0][0]; used != "1" {
		t.Errorf("%s approvals were spent, want the one", used)
	}
	// Closing takes nothing from the decision itself.
	if d := tb.trail(string(withdrawn.ID)).decisions(); len(d) != 1 || cmp.Diff(withdrawn, d[0]) != "" {
		t.Errorf("the withdrawn decision is %+v, want %+v", d, withdrawn)
	}
}

// An approval that was given under another policy is worth nothing, whether it
// would be enough today or not, and whether it was spent or not.
//
// proves: BUS-AUTH-32 BUS-AUTH-33
func TestApprovalOfAnotherClassIsWorthNothing(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Business){
		"stricter": func(b *Business) { b.authority("dev", nil, nil) },
		"looser":   func(b *Business) { b.authority("dev", []string{"git.merge.protected"}, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tb := newTestBroker(t)
			dev := tb.holder("dev")
			good, spent := tb.approved(dev, "git.merge.protected", "main"), tb.approved(dev, "git.merge.protected", "main")
			open := tb.raise(dev, "git.merge.protected", "main")
			if err := tb.use(dev, "git.merge.protected", "main", spent.ID); err != nil {
				t.Fatal(err)
			}
			tb.restartWith(change)
			dev = tb.rebind(dev)
			for _, d := range []evidence.Decision{good, spent, open} {
				tb.useRefused(dev, "git.merge.protected", "main", d.ID, wire.DecisionMismatch)
			}
			// Back under the old policy, it is what it was.
			tb.restartWith(func(b *Business) { b.authority("dev", nil, []string{"git.merge.protected"}) })
			dev = tb.rebind(dev)
			tb.useRefused(dev, "git.merge.protected", "main", spent.ID, wire.DecisionConsumed)
			if err := tb.use(dev, "git.merge.protected", "main", good.ID); err != nil {
				t.Error(err)
			}
		})
	}
}

// proves: BUS-AUTH-25 BUS-AUTH-26 BUS-AUTH-27
func TestApprovalOutlivesItsRunAndTheBroker(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev := tb.holder("dev")
	d := tb.approved(dev, "deploy", "web")
	tb.do(dev, "role.release", nil)
	tb.useRefused(dev, "deploy", "web", d.ID, wire.NotHolder)

	tb.restart()
	if err := tb.use(tb.holder("dev"), "deploy", "web", d.ID); err != nil {
		t.Errorf("use by another run of the role after a restart: %v", err)
	}
}

// paths are the ways in which an approval can be spent.
var paths = map[string]func(*testBroker, session, evidence.Decision) error{
	"authorize": func(tb *testBroker, s session, d evidence.Decision) error {
		return tb.use(s, d.Action, *d.Target, d.ID)
	},
	"message.send": func(tb *testBroker, s session, d evidence.Decision) error {
		_, err := tb.call(s, "message.send", args{"to": *d.Target, "body": "x", "decision": d.ID})
		return err
	},
	"role.revoke": func(tb *testBroker, s session, d evidence.Decision) error {
		_, err := tb.call(s, "role.revoke", args{"role": *d.Target, "decision": d.ID})
		return err
	},
}

// Whatever path spends an approval first, no path, run or broker spends it
// again.
//
// proves: BUS-AUTH-36 BUS-AUTH-37 BUS-AUTH-38 BUS-AUTH-41 BUS-AUTH-42 BUS-AUTH-43 BUS-AUTH-44 BUS-AUTH-46
func TestApprovalIsSpentOnceAcrossPaths(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ action, first, second string }{
		{"message.send", "authorize", "authorize"},
		{"message.send", "authorize", "message.send"},
		{"message.send", "message.send", "authorize"},
		{"message.send", "message.send", "message.send"},
		{"role.revoke", "authorize", "authorize"},
		{"role.revoke", "authorize", "role.revoke"},
		{"role.revoke", "role.revoke", "authorize"},
		{"role.revoke", "role.revoke", "role.revoke"},
	} {
		t.Run(fmt.Sprintf("%s by %s then %s", tt.action, tt.first, tt.second), func(t *testing.T) {
			t.Parallel()
			tb := newTestBroker(t, acme(func(b *Business) { b.authority("dev", nil, []string{"message.send", "role.revoke"}) }))
			dev := tb.holder("dev")
			tb.holder("rev")
			d := tb.approved(dev, tt.action, "rev")
			if d.Class != evidence.CrossRole {
				t.Fatalf("class = %s", d.Class)
			}
			if err := paths[tt.first](tb, dev, d); err != nil {
				t.Fatalf("first use: %v", err)
			}
			refusedWith(t, "second use by the same run", nil, paths[tt.second](tb, dev, d), wire.DecisionConsumed)
			tb.do(dev, "role.release", nil)
			other := tb.holder("dev")
			refusedWith(t, "second use by another run", nil, paths[tt.second](tb, other, d), wire.DecisionConsumed)
			tb.restart()
			refusedWith(t, "second use after a restart", nil, paths[tt.second](tb, tb.rebind(other), d), wire.DecisionConsumed)
		})
	}
}

// proves: BUS-AUTH-39 BUS-AUTH-40
func TestFailedTransactionLeavesTheApprovalUnused(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev := tb.holder("dev")
	d := tb.approved(dev, "deploy", "web")
	failure := errors.New("the effect failed")
	s, err := tb.runSession(dev.proof.Cap)
	if err != nil {
		t.Fatal(err)
	}
	err = tb.store.Update(t.Context(), func(tx *evidence.Tx) error {
		c := &Call{Broker: tb.Broker, Session: s, Rows: &tx.Rows, Tx: tx}
		p, err := c.permit("deploy", d.Target, d.ID)
		if err != nil {
			return err
		}
		if _, err := c.allow(p, nil, nil); err != nil {
			return err
		}
		return failure
	}, nil)
	if !errors.Is(err, failure) {
		t.Fatalf("update = %v, want %v", err, failure)
	}
	if err := tb.use(dev, "deploy", "web", d.ID); err != nil {
		t.Errorf("use after a failed transaction: %v", err)
	}
	// A send that is refused after its approval was found good spends nothing.
	tb.useRefused(dev, "deploy", "web", d.ID, wire.DecisionConsumed)
}

// proves: BUS-AUTH-34 BUS-AUTH-35
func TestWithinRoleAuthorizeNeedsNoDecisionButChecksOne(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev := tb.holder("dev")
	if err := tb.use(dev, "routine", "", ""); err != nil {
		t.Errorf("within-role without a decision: %v", err)
	}
	yes, no := tb.raise(dev, "routine", "", args{"choice": "yes"}), tb.raise(dev, "routine", "", args{"choice": "no"})
	tb.useRefused(dev, "routine", "", no.ID, wire.DecisionRefused)
	tb.useRefused(dev, "routine", "x", yes.ID, wire.DecisionMismatch)
	if err := tb.use(dev, "routine", "", yes.ID); err != nil {
		t.Errorf("within-role with an approval: %v", err)
	}
	tb.useRefused(dev, "routine", "", yes.ID, wire.DecisionConsumed)
}

// proves: BUS-AUTH-48 BUS-AUTH-49 BUS-AUTH-50 BUS-AUTH-51 BUS-AUTH-52
func TestAuthorizeRecordsTheAction(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev := tb.holder("dev")
	d := tb.approved(dev, "deploy", "web")
	before := tb.count("events")
	target := "web"
	id, err := tb.Authorize(t.Context(), dev.proof.Cap, Action{
		Action: "deploy", Target: &target, Decision: d.ID, Subject: "queue:7",
		Detail: map[string]any{"commit": commitA, "action": "spend", "target": "api", "operation": "decision.raise"},
	})
	if err != nil {
		t.Fatal(err)
	}
	events := tb.trail("queue:7").events(evidence.ActionAllowed)
	if len(events) != 1 {
		t.Fatalf("the task's trail has %+v, want one action.allowed", events)
	}
	e := events[0]
	if e.ID != id || *e.Role != "dev" || *e.Run != dev.run || *e.Spends != d.ID {
		t.Errorf("event = %+v", e)
	}
	want := map[string]any{"action": "deploy", "target": "web", "commit": commitA}
	if diff := cmp.Diff(want, decode[map[string]any](t, e.Body)); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	if after := tb.count("events"); after != before+1 {
		t.Errorf("authorize made %d events", after-before)
	}

	// It holds for the moment only: a run that lost the role has to hear so.
	tb.do(dev, "role.release", nil)
	tb.useRefused(dev, "routine", "", "", wire.NotHolder)
	refused := tb.refusals(dev.run)
	if want := (refusalEvent{Verb: "authorize", Code: wire.NotHolder}); refused[len(refused)-1] != want {
		t.Errorf("the refusal is recorded as %+v, want %+v", refused[len(refused)-1], want)
	}
	_, err = tb.Authorize(t.Context(), tb.reader().proof.Cap, Action{Action: "routine"})
	refusedWith(t, "authorize with a reader's capability", nil, err, wire.UnknownCapability)
	_, err = tb.Authorize(t.Context(), "nothing", Action{Action: "routine"})
	refusedWith(t, "authorize with no capability", nil, err, wire.UnknownCapability)
}

// An approval of a launch is for one instance and does not outweigh the human
// who has revoked launches.
//
// proves: BUS-LAUNCH-08 BUS-AUTH-23
func TestLaunchApprovalWhileLaunchesAreRevoked(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev := tb.holder("dev")
	d := tb.approved(dev, "role.launch", "rev")
	tb.do(tb.human(), "launch.revoke", nil)
	tb.useRefused(dev, "role.launch", "rev", d.ID, wire.LaunchRevoked)
	tb.do(tb.human(), "launch.restore", nil)
	tb.useRefused(dev, "role.launch", "pm", d.ID, wire.DecisionMismatch)
	if err := tb.use(dev, "role.launch", "rev", d.ID); err != nil {
		t.Error(err)
	}
}

// The launch block lifts the gate for its launcher; the role file still says
// how free it is. Without a launch block nobody launches but by decision.
//
// proves: BUS-LAUNCH-07
func TestLaunchClass(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	b := tb.config.Businesses["acme"]
	target := "rev"
	class := func(role wire.Role) evidence.Class {
		c, err := Session{Kind: RoleSession, Business: &b, Role: role}.classify("role.launch", &target)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	b.authority("dev", []string{"role.launch"}, nil)
	b.authority("pm", nil, []string{"role.launch"})
	for role, want := range map[wire.Role]evidence.Class{"chief": evidence.WithinRole, "dev": evidence.Gated, "pm": evidence.Gated} {
		if got := class(role); got != want {
			t.Errorf("role.launch by %s is %s, want %s", role, got, want)
		}
	}
	b.Launch.By = "pm"
	if got := class("pm"); got != evidence.CrossRole {
		t.Errorf("role.launch by a launcher that lists it cross-role is %s", got)
	}
	b.Launch.By = "rev"
	if got := class("rev"); got != evidence.Gated {
		t.Errorf("role.launch by a launcher that does not list it is %s", got)
	}
	b.Launch = nil
	if got := class("chief"); got != evidence.Gated {
		t.Errorf("role.launch without a launch block is %s", got)
	}
}

// proves: BUS-AUTH-01 BUS-AUTH-02
func TestClassIsTheStricterOfBothMaps(t *testing.T) {
	t.Parallel()
	b := testBusinesses()["acme"]
	s := Session{Kind: RoleSession, Business: &b, Role: "dev"}
	for _, tt := range []struct {
		within, cross []string
		want          evidence.Class
	}{
		{[]string{"routine"}, nil, evidence.WithinRole},
		{nil, []string{"routine"}, evidence.CrossRole},
		{[]string{"routine"}, []string{"routine"}, evidence.CrossRole},
		{nil, nil, evidence.Gated},
		// Whatever a map says, a hard wait stays one.
		{[]string{"deploy"}, []string{"deploy"}, evidence.Gated},
	} {
		b.authority("dev", tt.within, tt.cross)
		action := "routine"
		if len(tt.within) > 0 {
			action = tt.within[0]
		}
		if got, err := s.classify(action, nil); err != nil || got != tt.want {
			t.Errorf("%s with %v and %v is %s, %v; want %s", action, tt.within, tt.cross, got, err, tt.want)
		}
	}
}

// No verb lets a client act as an adapter or define what happens.
//
// proves: BUS-AUTH-48 BUS-AUTH-53
func TestVerbsAreTheseOnly(t *testing.T) {
	t.Parallel()
	var names []string
	for _, v := range Verbs {
		names = append(names, v.Name)
	}
	want := []string{
		"role.claim", "role.release", "role.revoke",
		"decision.raise", "decision.resolve", "decision.seen", "decision.withdraw",
		"message.send", "message.receive", "message.read",
		"launch.revoke", "launch.restore",
		"inbox", "agents", "trail", "decisions", "replies", "messages", "find",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("verbs (-want +got):\n%s", diff)
	}
}
