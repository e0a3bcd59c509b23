package broker

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mosaicstack.dev/mosaic/internal/proc/proctest"
	"mosaicstack.dev/mosaic/internal/wire"
)

// wrongSessions writes out what each kind of session gets at each verb, "" for
// a verb that serves it: role, human, reader. It is not derived from the
// registry, so that a verb that is opened to others has to be meant.
var wrongSessions = map[string][3]wire.Code{
	"role.claim":        {"", "agent-required", "read-only"},
	"role.release":      {"", "agent-required", "read-only"},
	"role.revoke":       {"", "agent-required", "read-only"},
	"decision.raise":    {"", "agent-required", "read-only"},
	"decision.resolve":  {"", "", "read-only"},
	"decision.seen":     {"", "", "read-only"},
	"decision.withdraw": {"", "", "read-only"},
	"message.send":      {"", "", "read-only"},
	"message.receive":   {"", "", "read-only"},
	"message.read":      {"", "", "read-only"},
	"launch.revoke":     {"human-required", "", "human-required"},
	"launch.restore":    {"human-required", "", "human-required"},
	"inbox":             {"", "", ""},
	"agents":            {"", "", ""},
	"trail":             {"", "", ""},
	"decisions":         {"human-required", "", ""},
	"replies":           {"human-required", "", ""},
	"messages":          {"human-required", "", ""},
	"find":              {"", "", "read-only"},
}

// Every verb answers every kind of session it does not serve with the fixed
// code, before it looks at the arguments, and leaves one refusal behind.
//
// proves: BUS-OPEN-22 BUS-OPEN-25 BUS-OPEN-50 BUS-HUMAN-28 BUS-HUMAN-29 BUS-HUMAN-30 BUS-HUMAN-31 BUS-HUMAN-32
// proves: BUS-LAUNCH-03 BUS-LAUNCH-04 BUS-PROTO-27
func TestTheWrongSession(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	sessions := [3]session{tb.holder("dev"), tb.human(), tb.reader()}
	named := map[string]bool{}
	for _, verb := range Verbs {
		named[verb.Name] = true
		codes, known := wrongSessions[verb.Name]
		if !known {
			t.Errorf("%s is in no row of the table", verb.Name)
			continue
		}
		for i, s := range sessions {
			code := codes[i]
			if code == "" {
				if verb.Name == "role.release" {
					continue // the session is wanted for the others
				}
				_, err := tb.call(s, verb.Name, json.RawMessage(verb.Example))
				var refusal *wire.Error
				if errors.As(err, &refusal) && slices.Contains([]wire.Code{
					wire.HumanRequired, wire.AgentRequired, wire.ReadOnly, wire.InvalidRequest, wire.NotHolder, wire.StorageUnavailable,
				}, refusal.Code) {
					t.Errorf("%s by a session that it serves: %v", verb.Name, refusal)
				}
				continue
			}
			before := tb.refusals(s.run)
			tb.refused(s, verb.Name, map[string]int{"nonsense": 1}, code)
			want := append(before, refusalEvent{Verb: verb.Name, Code: code})
			if diff := cmp.Diff(want, tb.refusals(s.run)); diff != "" {
				t.Errorf("%s: refusals (-want +got):\n%s", verb.Name, diff)
			}
		}
	}
	for name := range wrongSessions {
		if !named[name] {
			t.Errorf("there is no verb %s", name)
		}
	}
}

// proves: BUS-OPEN-22
func TestTheCodeOfAWrongSession(t *testing.T) {
	t.Parallel()
	all := RoleSession | HumanSession | ReaderSession | TesterSession
	for _, c := range []struct {
		kind, allowed Kind
		want          wire.Code
	}{
		{RoleSession, HumanSession, wire.HumanRequired},
		{ReaderSession, HumanSession, wire.HumanRequired},
		{TesterSession, HumanSession, wire.HumanRequired},
		{RoleSession, all &^ RoleSession, wire.HumanRequired},
		{HumanSession, RoleSession, wire.AgentRequired},
		{ReaderSession, RoleSession, wire.ReadOnly},
		{ReaderSession, all &^ ReaderSession, wire.ReadOnly},
		{TesterSession, RoleSession, wire.TesterRefused},
		{TesterSession, all &^ TesterSession, wire.TesterRefused},
	} {
		if got := wrongSession(c.kind, c.allowed); got != c.want {
			t.Errorf("kind %04b at a verb of %04b: %s, want %s", c.kind, c.allowed, got, c.want)
		}
	}
}

// Until testers are built every tester is off, and one that is off leaves no
// evidence: it has no session.
func TestTestersAreOff(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	tester := session{
		from: humanSocket, peer: wire.Peer{PID: shimPID},
		proof: wire.Request{Tester: &wire.Proof{PID: shimPID, Nonce: testNonce}, Business: "acme"},
	}
	for _, verb := range Verbs {
		tb.refused(tester, verb.Name, nil, wire.TesterOff)
	}
	if n := tb.query(`SELECT count(*) FROM events`); n[0][0] != "0" {
		t.Errorf("%s events", n[0][0])
	}
}

// Each socket serves its own kind of proof, exactly one of them.
//
// proves: BUS-PROTO-29 BUS-CTL-20 BUS-OPEN-21
func TestOneProofOnItsOwnSocket(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev, human, reader := tb.holder("dev"), tb.human(), tb.reader()
	otherSocket := func(s session) session {
		s.from = 1 - s.from
		return s
	}
	both := dev
	both.proof.Human = human.proof.Human
	neither := session{}
	declared := dev
	declared.proof.Business = "acme"
	undeclared := human
	undeclared.proof.Business = ""
	unknown := dev
	unknown.proof.Cap = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	elsewhere := tb.humanOf("nowhere")
	for name, c := range map[string]struct {
		session session
		code    wire.Code
		field   string
	}{
		"a capability at human.sock":    {otherSocket(dev), wire.InvalidRequest, "cap"},
		"a reader's at human.sock":      {otherSocket(reader), wire.InvalidRequest, "cap"},
		"a human at bus.sock":           {otherSocket(human), wire.InvalidRequest, "human"},
		"two proofs":                    {both, wire.InvalidRequest, "human"},
		"no proof":                      {neither, wire.InvalidRequest, "cap"},
		"a business beside a cap":       {declared, wire.InvalidRequest, "business"},
		"no business beside a human":    {undeclared, wire.InvalidRequest, "business"},
		"a capability of nobody":        {unknown, wire.UnknownCapability, ""},
		"a human of an unknown busines": {elsewhere, wire.HumanRequired, ""},
	} {
		refusal := tb.refused(c.session, "agents", nil, c.code)
		if refusal.Field != c.field {
			t.Errorf("%s: field %q, want %q", name, refusal.Field, c.field)
		}
	}
	if n := tb.query(`SELECT count(*) FROM events WHERE kind = 'action.refused'`); n[0][0] != "0" {
		t.Errorf("%s refusals without a session are recorded", n[0][0])
	}
}

// An unknown verb is refused without a hint, and its name, which is the
// caller's text, stays out of the evidence. There is no verb that takes SQL,
// no control op and no trusted call among the verbs.
//
// proves: BUS-PROTO-20 BUS-PROTO-06 BUS-CTL-46 BUS-CTL-07 BUS-BOOT-08 BUS-AUTH-48 BUS-AUTH-53 BUS-BOOT-07
func TestUnknownVerbs(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev := tb.holder("dev")
	names := []string{
		"", "agent", "Agents", "agents ", "sql", "query", "boot", "bindLaunch", "identity", "authorizeLaunch", "refuse",
		"endLaunch", "close", "authorize", "recordEvent", "lostRuns", "endLost", "task.create",
	}
	for _, name := range names {
		if refusal := tb.refused(dev, name, nil, wire.UnknownVerb); refusal.Field != "" {
			t.Errorf("%q: field %q", name, refusal.Field)
		}
	}
	for _, e := range tb.refusals(dev.run) {
		if e.Verb != "" || e.Code != wire.UnknownVerb {
			t.Errorf("refusal %+v", e)
		}
	}
	if got := len(tb.refusals(dev.run)); got != len(names) {
		t.Errorf("%d refusals, want %d", got, len(names))
	}
}

// Arguments are decoded strictly, whatever the verb, and the field says which
// one is wrong. Nobody declares who they are.
//
// proves: BUS-PROTO-21 BUS-PROTO-22 BUS-OPEN-21 BUS-MSG-18 BUS-CTL-20
func TestArgumentsAreStrict(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev := tb.holder("dev")
	for _, c := range []struct{ verb, args, field string }{
		{"agents", `{"x":1}`, "x"},
		{"agents", `[]`, ""},
		{"agents", `null`, ""},
		{"role.claim", `{"role":"pm"}`, "role"},
		{"role.claim", `{"run":"` + string(dev.run) + `"}`, "run"},
		{"role.release", `{"business":"globex"}`, "business"},
		{"trail", `{}`, "subject"},
		{"trail", `{"subject":1}`, "subject"},
		{"trail", `{"Subject":"queue:1"}`, "Subject"},
		{"message.send", `{"to":"rev","body":"x","from_role":"pm"}`, "from_role"},
		{"message.send", `{"to":"rev","body":"x","from_run":"` + string(dev.run) + `"}`, "from_run"},
		{"message.send", `{"to":"rev"}`, "body"},
		{"message.send", `{"to":"rev","body":"x","class":null}`, "class"},
	} {
		refusal := tb.refused(dev, c.verb, json.RawMessage(c.args), wire.InvalidRequest)
		if refusal.Field != c.field {
			t.Errorf("%s %s: field %q, want %q", c.verb, c.args, refusal.Field, c.field)
		}
	}
	for _, e := range tb.refusals(dev.run) {
		if e.Code != wire.InvalidRequest || e.Verb == "" || e.Subject != "" {
			t.Errorf("refusal %+v", e)
		}
	}
}

// A run that does not hold its role gets not-holder at every verb but
// role.claim, on its very next call after it lost the role.
//
// proves: BUS-OPEN-26 BUS-CLAIM-14 BUS-OPEN-25
func TestVerbsOfARoleNeedItsClaim(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev := tb.launch("dev")
	asked := 0
	for _, verb := range Verbs {
		if verb.Sessions&RoleSession == 0 || verb.Name == "role.claim" {
			continue
		}
		asked++
		tb.refused(dev, verb.Name, json.RawMessage(verb.Example), wire.NotHolder)
	}
	if got := tb.refusals(dev.run); len(got) != asked {
		t.Errorf("%d refusals recorded, want %d", len(got), asked)
	}
	tb.do(dev, "role.claim", nil)
	tb.do(dev, "agents", nil)
	chief := tb.holder("chief")
	tb.do(chief, "role.revoke", map[string]string{"role": "dev", "reason": "test"})
	tb.refused(dev, "agents", nil, wire.NotHolder)
	tb.refused(dev, "message.receive", nil, wire.NotHolder)
}

// A refusal stands on the trail of what the call was about, when that is the
// business's own.
//
// proves: BUS-OPEN-25 BUS-PROTO-25 BUS-PROTO-26 BUS-PROTO-27
func TestTheSubjectOfARefusal(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev, rev := tb.holder("dev"), tb.holder("rev")
	other := tb.holderOf("globex", "dev")
	foreign := get[sent](tb, other, "message.send", map[string]string{"to": "chief", "body": "x"})
	mine := get[sent](tb, rev, "message.send", map[string]string{"to": "human", "body": "x"})

	tb.refused(dev, "message.read", map[string]any{"id": mine.ID}, wire.MessageNotFound)
	tb.refused(dev, "message.read", map[string]any{"id": foreign.ID}, wire.MessageNotFound)
	tb.refused(dev, "message.send", map[string]any{"to": "nobody", "body": "x", "in_reply_to": mine.ID}, wire.UnknownRole)
	raise := func(task string) map[string]any {
		return map[string]any{
			"action": "fly", "question": "?", "recommendation": "no", "blocking": true, "task_ref": task,
			"options": []map[string]string{{"key": "yes", "text": "y"}, {"key": "no", "text": "n"}},
		}
	}
	tb.refused(dev, "decision.raise", raise("queue:7"), wire.UnknownAction)
	tb.refused(dev, "decision.raise", raise("vikunja:07/1"), wire.InvalidRequest)
	want := []refusalEvent{
		{"message.read", wire.MessageNotFound, string(mine.ID)},
		{"message.read", wire.MessageNotFound, ""},
		{"message.send", wire.UnknownRole, string(mine.ID)},
		{"decision.raise", wire.UnknownAction, "queue:7"},
		{"decision.raise", wire.InvalidRequest, ""},
	}
	if diff := cmp.Diff(want, tb.refusals(dev.run)); diff != "" {
		t.Errorf("refusals (-want +got):\n%s", diff)
	}
}

// A refused write leaves its refusal and nothing else.
//
// proves: BUS-PROTO-27
func TestARefusedWriteLeavesOnlyItsRefusal(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev := tb.holder("dev")
	failing := write(Verb{Name: "test.fail", Sessions: RoleSession}, func(c *Call, _ none) (any, error) {
		if _, err := c.Session.append(c.Tx, "action.allowed", nil, struct{}{}); err != nil {
			t.Error(err)
		}
		return nil, wire.Refuse(wire.NotAuthorized)
	})
	_, err := tb.runVerb(dev, failing)
	refusedWith(t, "test.fail", nil, err, wire.NotAuthorized)
	if n := tb.query(`SELECT count(*) FROM events WHERE kind = 'action.allowed'`); n[0][0] != "0" {
		t.Errorf("%s rows of the refused write are there", n[0][0])
	}
	if diff := cmp.Diff([]refusalEvent{{Verb: "test.fail", Code: wire.NotAuthorized}}, tb.refusals(dev.run)); diff != "" {
		t.Errorf("refusals (-want +got):\n%s", diff)
	}
}

// runVerb runs a verb that is in no registry, for a session.
func (tb *testBroker) runVerb(s session, v Verb) (wire.Encoded, error) {
	tb.t.Helper()
	request := s.proof
	proven, refusal := tb.prove(s.from, s.peer, &request)
	if refusal != nil {
		tb.t.Fatal(refusal)
	}
	return tb.run(tb.t.Context(), &Call{Broker: tb.Broker, Session: proven}, &v, s.peer, &request)
}

// Text of an error never leaves: what is no refusal is storage-unavailable.
//
// proves: BUS-BOOT-52
func TestErrorTextStaysInside(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev := tb.holder("dev")
	for _, v := range []Verb{
		write(Verb{Name: "test.fail", Sessions: RoleSession}, func(*Call, none) (any, error) { return nil, errors.New("/etc/secret") }),
		read(Verb{Name: "test.fail", Sessions: RoleSession}, func(*Call, none) (any, error) { return nil, errors.New("/etc/secret") }),
	} {
		_, err := tb.runVerb(dev, v)
		if public := tb.public(err); public.Error() != string(wire.StorageUnavailable) {
			t.Errorf("the caller gets %v", public)
		}
	}
}

// When the evidence of a refusal cannot be written, the refusal is not told.
//
// proves: BUS-PROTO-28
func TestARefusalWithoutEvidenceIsStorageUnavailable(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev := tb.holder("dev")
	if err := tb.store.Close(); err != nil {
		t.Fatal(err)
	}
	tb.refused(dev, "launch.revoke", nil, wire.StorageUnavailable)
	tb.refused(dev, "no.verb", nil, wire.StorageUnavailable)
	tb.refused(dev, "agents", nil, wire.StorageUnavailable)
	tb.refused(dev, "message.read", map[string]string{"id": "x"}, wire.StorageUnavailable)
}

// A reply that is too large to send is refused before anything is committed.
//
// proves: BUS-OPEN-29
func TestAWriteWhoseReplyIsTooLargeHasNotHappened(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev := tb.holder("dev")
	large := strings.Repeat("x", wire.MaxReply)
	_, err := tb.runVerb(dev, write(Verb{Name: "test.large", Sessions: RoleSession}, func(c *Call, _ none) (any, error) {
		_, err := c.Session.append(c.Tx, "action.allowed", nil, struct{}{})
		return large, err
	}))
	refusedWith(t, "a large write", nil, err, wire.ResponseTooLarge)
	_, err = tb.runVerb(dev, read(Verb{Name: "test.large", Sessions: RoleSession}, func(*Call, none) (any, error) {
		return large, nil
	}))
	refusedWith(t, "a large read", nil, err, wire.ResponseTooLarge)
	if n := tb.query(`SELECT count(*) FROM events WHERE kind = 'action.allowed'`); n[0][0] != "0" {
		t.Error("the write is there")
	}
	if got := tb.refusals(dev.run); len(got) != 2 {
		t.Errorf("refusals %+v", got)
	}
}

// prepared declares a verb with a step outside of the transaction.
func prepared(sessions Kind, prepare func(context.Context) error) Verb {
	v := write(Verb{Name: "test.wait", Sessions: sessions}, func(c *Call, _ none) (any, error) { return c.Prepared, nil })
	v.prepare = func(ctx context.Context, _ *Broker, _ Session, _ any) (any, error) { return "ready", prepare(ctx) }
	return v
}

// While a request waits for something else, no transaction is open: others
// write. A run without its claim makes nobody wait.
//
// proves: BUS-PROTO-36
func TestNothingWaitsInsideATransaction(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev, rev := tb.holder("dev"), tb.holder("rev")
	result, err := tb.runVerb(dev, prepared(RoleSession, func(context.Context) error {
		_, err := tb.call(rev, "message.send", map[string]string{"to": "dev", "body": "meanwhile"})
		return err
	}))
	if err != nil || string(result) != `"ready"` {
		t.Errorf("%s, %v", result, err)
	}
	tb.do(dev, "role.release", nil)
	_, err = tb.runVerb(dev, prepared(RoleSession, func(context.Context) error {
		t.Error("a run without its claim is made to wait for")
		return nil
	}))
	refusedWith(t, "without a claim", nil, err, wire.NotHolder)

	// The claim is checked again inside the transaction.
	tb.do(dev, "role.claim", nil)
	_, err = tb.runVerb(dev, prepared(RoleSession, func(context.Context) error {
		_, err := tb.call(dev, "role.release", nil)
		return err
	}))
	refusedWith(t, "a claim lost while waiting", nil, err, wire.NotHolder)
}

// The proof of a human must still be good when a request that waited goes on.
//
// proves: BUS-PROTO-35
func TestAProofIsHeldWhileARequestWaits(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	human := tb.human()
	if _, err := tb.runVerb(human, prepared(HumanSession, func(context.Context) error { return nil })); err != nil {
		t.Fatal(err)
	}
	_, err := tb.runVerb(human, prepared(HumanSession, func(context.Context) error {
		tb.table.Fail(shimPID, proctest.Stat, errors.New("gone"))
		return nil
	}))
	refusedWith(t, "a human who left", nil, err, wire.HumanRequired)
}

// Nothing of another business is found or reached from this one.
//
// proves: BUS-PROTO-26 BUS-CTL-19
func TestBusinessesAreApart(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	ours, theirs := tb.holder("dev"), tb.holderOf("globex", "dev")
	message := get[sent](tb, theirs, "message.send", map[string]string{"to": "human", "body": "secret"})
	tb.refused(ours, "message.send", map[string]any{"to": "rev", "body": "x", "in_reply_to": message.ID}, wire.MessageNotFound)
	tb.refused(tb.human(), "replies", map[string]any{"id": message.ID}, wire.MessageNotFound)
	if trail := tb.do(ours, "trail", map[string]any{"subject": message.ID}); string(trail) != `[]` {
		t.Errorf("trail %s", trail)
	}
	if agents := tb.do(ours, "agents", nil); strings.Contains(string(agents), string(theirs.run)) {
		t.Errorf("agents %s", agents)
	}
	tb.refused(ours, "message.send", map[string]any{"to": "globex", "body": "x"}, wire.UnknownRole)
}
