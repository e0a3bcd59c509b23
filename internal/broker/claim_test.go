package broker

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"mosaicstack.dev/mosaic/internal/wire"
)

// claims returns the rows of a role's claims, oldest first: op, run, by.
func (tb *testBroker) claims(role wire.Role) [][]string {
	tb.t.Helper()
	return tb.query(`SELECT op, run, by FROM role_claims WHERE business = 'acme' AND role = ? ORDER BY seq`, string(role))
}

// proves: BUS-CLAIM-01 BUS-CLAIM-02 BUS-CLAIM-03 BUS-CLAIM-06 BUS-CLAIM-07 BUS-OPEN-51 BUS-OPEN-52 BUS-OPEN-53
func TestClaimAndRelease(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	one, two := tb.launch("dev"), tb.launch("dev")

	first := get[claimed](tb, one, "role.claim", nil)
	if first.Role != "dev" || first.Run != one.run || first.At == "" {
		t.Errorf("claim %+v", first)
	}
	if again := get[claimed](tb, one, "role.claim", nil); again != first {
		t.Errorf("a repeated claim gives %+v, want %+v", again, first)
	}
	if refusal := tb.refused(two, "role.claim", nil, wire.RoleAlreadyHeld); refusal.Field != "" {
		t.Errorf("the refusal says more: %v", refusal)
	}
	tb.refused(two, "role.release", nil, wire.NotHolder)
	if got := string(tb.do(one, "role.release", nil)); got != `{"released":true}` {
		t.Errorf("release %s", got)
	}
	tb.refused(one, "role.release", nil, wire.NotHolder)
	tb.do(two, "role.claim", nil)
	tb.refused(one, "role.claim", nil, wire.RoleAlreadyHeld)
	tb.do(two, "role.release", nil)
	tb.do(one, "role.claim", nil) // one that only released may come back

	o, w := string(one.run), string(two.run)
	want := [][]string{
		{"claim", o, o}, {"release", o, o}, {"claim", w, w}, {"release", w, w}, {"claim", o, o},
	}
	if diff := cmp.Diff(want, tb.claims("dev")); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
	for _, args := range []map[string]string{{"role": "pm"}, {"run": w}} {
		tb.refused(one, "role.claim", args, wire.InvalidRequest)
		tb.refused(one, "role.release", args, wire.InvalidRequest)
	}
}

// A revoked run never gets the role back, not even from a broker that was
// started since. Another run of the role does.
//
// proves: BUS-CLAIM-04 BUS-CLAIM-05 BUS-CLAIM-14
func TestARevokedRunNeverClaimsAgain(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	chief, dev := tb.holder("chief"), tb.holder("dev")
	tb.do(chief, "role.revoke", map[string]string{"role": "dev", "reason": "it goes round in circles"})
	tb.refused(dev, "message.receive", nil, wire.NotHolder)
	tb.refused(dev, "role.claim", nil, wire.RunRevoked)
	tb.restart()
	dev = tb.rebind(dev)
	tb.refused(dev, "role.claim", nil, wire.RunRevoked)
	tb.holder("dev")
	tb.refused(dev, "role.claim", nil, wire.RunRevoked)
}

// Messages that nobody was there for are routed to the run that claims next.
//
// proves: BUS-CLOSE-12
func TestAClaimRoutesWhatWaited(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	pm := tb.holder("pm")
	message := get[sent](tb, pm, "message.send", map[string]string{"to": "dev", "body": "for whoever comes"})
	dev := tb.launch("dev")
	routed := func() [][]string {
		return tb.query(`SELECT run, state FROM deliveries WHERE message = ? ORDER BY seq`, string(message.ID))
	}
	if got := routed(); len(got) != 0 {
		t.Errorf("deliveries before the claim: %v", got)
	}
	tb.do(dev, "role.claim", nil)
	if diff := cmp.Diff([][]string{{string(dev.run), "routed"}}, routed()); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
	batch := get[batch](tb, dev, "message.receive", nil)
	if len(batch.Messages) != 1 || batch.Messages[0].ID != message.ID {
		t.Errorf("received %+v", batch)
	}
}

// A claim that was under way when its run ended comes too late.
func TestAnEndedRunCannotClaim(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev := tb.launch("dev")
	proven, refusal := tb.prove(dev.from, dev.peer, &dev.proof)
	if refusal != nil {
		t.Fatal(refusal)
	}
	if err := tb.EndLaunch(t.Context(), LaunchEnd{Business: "acme", Run: dev.run, Reason: "exited"}); err != nil {
		t.Fatal(err)
	}
	request := dev.proof
	request.Verb = "role.claim"
	_, err := tb.perform(t.Context(), &Call{Broker: tb.Broker, Session: proven}, dev.peer, &request)
	refusalsGiven.note("role.claim", err)
	refusedWith(t, "late claim", nil, err, wire.RunEnded)
}
