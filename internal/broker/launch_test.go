package broker

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/wire"
)

// Each call appends what the person did and what came of it, also when the
// state was so already; the latest one counts, for its own business alone.
//
// proves: BUS-LAUNCH-01 BUS-LAUNCH-02 BUS-LAUNCH-05 BUS-LAUNCH-06 BUS-OPEN-109 BUS-OPEN-112
func TestLaunchesAreRevokedAndRestored(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	human := tb.human()
	revoked := func(business wire.Business) bool {
		t.Helper()
		state, err := tb.LaunchesRevoked(t.Context(), business)
		if err != nil {
			t.Fatal(err)
		}
		return state
	}
	if revoked("acme") {
		t.Error("launches are revoked from the start")
	}
	for _, step := range []struct {
		verb string
		kind evidence.EventKind
		want bool
	}{
		{"launch.revoke", evidence.LaunchRevoked, true},
		{"launch.revoke", evidence.LaunchRevoked, true},
		{"launch.restore", evidence.LaunchRestored, false},
		{"launch.restore", evidence.LaunchRestored, false},
		{"launch.revoke", evidence.LaunchRevoked, true},
	} {
		event := get[evidence.Event](tb, human, step.verb, nil)
		if event.Kind != step.kind || *event.Role != wire.HumanRole || *event.Run != wire.HumanRun || event.Business != "acme" {
			t.Errorf("%s answers %+v", step.verb, event)
		}
		if got := revoked("acme"); got != step.want {
			t.Errorf("after %s: revoked %v", step.verb, got)
		}
		checkInput(tb, event, step.verb)
		tb.refused(human, step.verb, map[string]int{"x": 1}, wire.InvalidRequest)
	}
	if revoked("globex") {
		t.Error("another business is revoked")
	}
	count := tb.query(`SELECT kind, count(*) FROM events WHERE kind <> 'action.refused' GROUP BY kind ORDER BY kind`)
	want := [][]string{{"human.input", "5"}, {"launch.restored", "2"}, {"launch.revoked", "3"}}
	if diff := cmp.Diff(want, count); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	tb.restart()
	if !revoked("acme") {
		t.Error("the state is lost with the broker")
	}
}

// checkInput looks for the human.input event that a launch event names.
func checkInput(tb *testBroker, event evidence.Event, verb string) {
	tb.t.Helper()
	var body launchControlBody
	if err := json.Unmarshal(event.Body, &body); err != nil {
		tb.t.Fatal(err)
	}
	got := tb.query(`SELECT kind, role, body FROM events WHERE id = ?`, string(body.Input))
	want := [][]string{{"human.input", "human", `{"kind":"launch","verb":"` + verb + `","id":null}`}}
	if diff := cmp.Diff(want, got); diff != "" {
		tb.t.Errorf("input of %s (-want +got):\n%s", verb, diff)
	}
}

// role.launch is free for the launcher of the business alone, and for nobody
// while launches are revoked.
//
// proves: BUS-LAUNCH-07 BUS-LAUNCH-08 BUS-CTL-48 BUS-CTL-49 BUS-OPEN-36
func TestAuthorizeLaunch(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	chief, pm := tb.holder("chief"), tb.holder("pm")
	authorize := func(s session, instance wire.Role) error {
		return tb.AuthorizeLaunch(t.Context(), s.proof.Cap, instance, "")
	}
	if err := authorize(chief, "dev"); err != nil {
		t.Fatal(err)
	}
	got := tb.query(`SELECT run, body FROM events WHERE kind = 'action.allowed'`)
	if len(got) != 1 || got[0][0] != string(chief.run) {
		t.Fatalf("allowed %v", got)
	}
	var body struct{ Action, Target string }
	if err := json.Unmarshal([]byte(got[0][1]), &body); err != nil || body.Action != "role.launch" || body.Target != "dev" {
		t.Errorf("body %s", got[0][1])
	}
	refusedWith(t, "a role that does not launch", nil, authorize(pm, "dev"), wire.DecisionRequired)
	refusedWith(t, "an unknown instance", nil, authorize(chief, "nobody"), wire.UnknownRole)
	refusedWith(t, "a run without its claim", nil, authorize(tb.launch("chief"), "dev"), wire.NotHolder)
	refusedWith(t, "a reader", nil, authorize(tb.reader(), "dev"), wire.UnknownCapability)

	tb.do(tb.human(), "launch.revoke", nil)
	refusedWith(t, "revoked", nil, authorize(chief, "dev"), wire.LaunchRevoked)
	tb.do(tb.human(), "launch.restore", nil)
	if err := authorize(chief, "dev"); err != nil {
		t.Error(err)
	}
	want := []refusalEvent{
		{Verb: "authorizeLaunch", Code: wire.UnknownRole}, {Verb: "authorizeLaunch", Code: wire.LaunchRevoked},
	}
	if diff := cmp.Diff(want, tb.refusals(chief.run)); diff != "" {
		t.Errorf("refusals (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]refusalEvent{{Verb: "authorizeLaunch", Code: wire.DecisionRequired}}, tb.refusals(pm.run)); diff != "" {
		t.Errorf("refusals (-want +got):\n%s", diff)
	}
}

// An approval lets another role launch once, and a second use is refused.
//
// proves: BUS-CTL-48 BUS-AUTH-36
func TestAuthorizeLaunchSpendsItsDecision(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	pm := tb.holder("pm")
	raised := get[evidence.Decision](tb, pm, "decision.raise", map[string]any{
		"action": "role.launch", "target": "dev", "question": "Start a developer?", "blocking": false, "recommendation": "yes",
		"options": []map[string]string{{"key": "yes", "text": "start it"}, {"key": "no", "text": "wait"}},
	})
	authorize := func() error { return tb.AuthorizeLaunch(t.Context(), pm.proof.Cap, "dev", raised.ID) }
	refusedWith(t, "open", nil, authorize(), wire.DecisionOpen)
	tb.do(tb.human(), "decision.resolve", map[string]any{"id": raised.ID, "choice": "yes"})
	if err := authorize(); err != nil {
		t.Fatal(err)
	}
	refusedWith(t, "spent", nil, authorize(), wire.DecisionConsumed)
	for _, e := range tb.refusals(pm.run) {
		if e.Subject != string(raised.ID) {
			t.Errorf("refusal %+v is not on the decision's trail", e)
		}
	}
}
