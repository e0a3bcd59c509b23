package evidence

import (
	"fmt"
	"strings"
	"testing"

	"mosaicstack.dev/mosaic/internal/wire"
)

// guardWorld is a store in which every guard has something to guard, closed.
type guardWorld struct {
	path     string
	dev, rev wire.Run // hold dev and rev
	idle     wire.Run // launched for dev, holds nothing
	gone     wire.Run // launched for dev and ended
	revoked  wire.Run // of rev's role, revoked
	foreign  wire.Run // of another business
	open     Decision // of dev, routed to the human
	routed   Decision // of dev, routed to rev, open
	closed   Decision // of dev, approved and spent
	approved Decision // of dev, approved and not spent
	refused  Decision // of dev, answered no
	revoke   Decision // role.revoke of rev, held by rev, approved
	sent     Message  // dev to rev, undelivered
	received Message  // human to dev, delivered
	read     Message  // human to dev, read
	input    Event    // human.input
}

func newGuardWorld(t *testing.T) *guardWorld {
	w := newWorld(t)
	g := &guardWorld{path: w.path}
	first := w.hold("rev")
	w.update(func(tx *Tx) error {
		_, err := tx.AppendClaim(Claim{Business: acme, Role: "rev", Run: first, Op: OpRevoke, By: "human-cli", Reason: ptr("idle")})
		return err
	})
	g.revoked = first
	g.dev, g.rev = w.hold("dev"), w.hold("rev")
	g.idle, g.gone = w.launch("dev"), w.launch("dev")
	w.event(Event{Kind: SessionEnded, Role: ptr(wire.Role("dev")), Run: &g.gone})
	g.foreign = wire.Run(new(ids).next(wallClock()))
	w.event(Event{Business: "other", Kind: SessionLaunched, Role: ptr(wire.Role("dev")), Run: &g.foreign})
	g.open = w.raise(decision("dev", g.dev))
	toRev := decision("dev", g.dev)
	toRev.Route = "rev"
	g.routed = w.raise(toRev)
	g.closed = w.raise(decision("dev", g.dev))
	w.decide(g.closed.ID, "yes")
	w.event(spending(g.closed, g.dev))
	g.approved = w.raise(decision("dev", g.dev))
	w.decide(g.approved.ID, "yes")
	g.refused = w.raise(decision("dev", g.dev))
	w.decide(g.refused.ID, "no")
	g.revoke = decision("dev", g.dev)
	g.revoke.Action, g.revoke.Target, g.revoke.HolderRun = "role.revoke", ptr("rev"), &g.rev
	g.revoke = w.raise(g.revoke)
	w.decide(g.revoke.ID, "yes")
	g.read = w.ask("dev", "Read this.")
	w.receive("dev", g.dev)
	w.read(g.read.ID, g.dev)
	g.received = w.ask("dev", "Receive this.")
	w.receive("dev", g.dev)
	g.sent = w.send("dev", g.dev, "rev", "Look.")
	g.input = w.event(Event{Kind: HumanInput, Role: ptr(wire.HumanRole), Run: ptr(wire.HumanRun)})
	w.Close()
	return g
}

// insert writes an INSERT of a row that the store would accept, with some
// columns changed. Values are SQL.
func (g *guardWorld) insert(table string, change map[string]string) string {
	next := func(column string) string { return "(SELECT max(" + column + ") + 1 FROM " + table + ")" }
	row := map[string]map[string]string{
		"events": {
			"id": "'00000000-0000-7000-8000-000000000001'", "business": "'acme'", "role": "'dev'", "run": quote(g.dev),
			"kind": "'action.allowed'", "body": `'{"action":"git.merge.protected","target":"main"}'`, "prev": "zeroblob(32)",
		},
		"role_claims": {"business": "'acme'", "role": "'dev'", "run": quote(g.dev), "op": "'release'", "by": quote(g.dev)},
		"decisions": {
			"id": "'00000000-0000-7000-8000-000000000002'", "business": "'acme'", "action": "'deploy'", "question": "'?'",
			"options": `'[{"key":"yes","text":"Yes"},{"key":"no","text":"No"}]'`, "recommendation": "'yes'",
			"approval_choice": "'yes'", "blocking": "0", "class": "'gated'", "route": "'human'", "domain": "'delivery'",
			"raised_by_role": "'dev'", "raised_by_run": quote(g.dev),
		},
		"decision_events": {
			"decision": quote(g.open.ID), "business": "'acme'", "kind": "'resolved'", "by": "'Dana'", "by_role": "'human'",
			"via": "'cli'", "choice": "'yes'", "input": quote(g.input.ID),
		},
		"messages": {
			"id": "'00000000-0000-7000-8000-000000000003'", "business": "'acme'", "from_role": "'dev'", "from_run": quote(g.dev),
			"to_role": "'rev'", "lane": "'rev'", "lane_no": "2", "class": "'INFO'", "body": "'x'",
		},
		"deliveries": {
			"business": "'acme'", "message": quote(g.sent.ID), "lane": "'rev'", "lane_no": "1", "run": quote(g.rev),
			"state": "'delivered'",
		},
		"checkpoints": {"size": g.size(), "head": "zeroblob(32)", "note": "'x'"},
	}[table]
	columns := map[string]string{"seq": next("seq"), "at": "'2999-01-01T00:00:00.000Z'"}
	if table == "checkpoints" {
		columns["seq"] = "1"
	}
	for _, from := range []map[string]string{row, change} {
		for k, v := range from {
			columns[k] = v
		}
	}
	var names, values []string
	for k, v := range columns {
		names, values = append(names, k), append(values, v)
	}
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", table, strings.Join(names, ", "), strings.Join(values, ", "))
}

func (g *guardWorld) size() string {
	var sums []string
	for _, table := range tables {
		if table.chained {
			sums = append(sums, "(SELECT count(*) FROM "+table.name+")")
		}
	}
	return strings.Join(sums, " + ")
}

func quote[T ~string](v T) string { return "'" + string(v) + "'" }

// guardCase is a row that a guard stops, and with what.
type guardCase struct {
	name, table string
	change      map[string]string
	want        string
}

type sqlRow = map[string]string

func (g *guardWorld) cases() []guardCase {
	other := quote("other")
	foreignID := "'00000000-0000-7000-8000-0000000000ff'"
	cases := []guardCase{
		// Sessions.
		{"launched twice", "events", sqlRow{"kind": "'session.launched'"}, "launch-mismatch"},
		{"launched without a run", "events", sqlRow{"kind": "'session.launched'", "run": "NULL"}, "launch-mismatch"},
		{"launched as the human", "events", sqlRow{"kind": "'session.launched'", "run": foreignID, "role": "'human'"}, "launch-mismatch"},
		{"ended twice", "events", sqlRow{"kind": "'session.ended'", "run": quote(g.gone)}, "run-ended"},
		{"ended and never launched", "events", sqlRow{"kind": "'session.ended'", "run": foreignID}, "unknown-run"},
		{"ended by another business", "events", sqlRow{"kind": "'session.ended'", "business": other}, "unknown-run"},

		// Approvals.
		{"spent twice", "events", sqlRow{"spends": quote(g.closed.ID)}, "decision-consumed"},
		{"open spent", "events", sqlRow{"spends": quote(g.open.ID)}, "decision-mismatch"},
		{"refused spent", "events", sqlRow{"spends": quote(g.refused.ID)}, "decision-mismatch"},
		{"spent on another action", "events", sqlRow{"spends": quote(g.approved.ID), "body": `'{"action":"deploy","target":"main"}'`}, "decision-mismatch"},
		{"spent on another target", "events", sqlRow{"spends": quote(g.approved.ID), "body": `'{"action":"git.merge.protected","target":"next"}'`}, "decision-mismatch"},
		{"spent on no target", "events", sqlRow{"spends": quote(g.approved.ID), "body": `'{"action":"git.merge.protected"}'`}, "decision-mismatch"},
		{"spent by another role", "events", sqlRow{"spends": quote(g.approved.ID), "role": "'rev'"}, "decision-mismatch"},
		{"spent by nobody", "events", sqlRow{"spends": quote(g.approved.ID), "role": "NULL"}, "decision-mismatch"},
		{"spent in another business", "events", sqlRow{"spends": quote(g.approved.ID), "business": other}, "decision-mismatch"},
		{"spent by a refusal", "events", sqlRow{"spends": quote(g.approved.ID), "kind": "'action.refused'"}, "CHECK constraint failed"},
		{"authority of another's message", "events", sqlRow{"message": quote(g.read.ID)}, "message-not-found"},
		{"second authority of a message", "events", sqlRow{"message": quote(g.sent.ID)}, "message-not-found"},
		{"no body", "events", sqlRow{"body": "'[]'"}, "CHECK constraint failed"},
		{"unknown kind", "events", sqlRow{"kind": "'action.taken'"}, "CHECK constraint failed"},

		// Claims.
		{"second holder", "role_claims", sqlRow{"op": "'claim'", "run": quote(g.idle)}, "role-already-held"},
		{"claim twice", "role_claims", sqlRow{"op": "'claim'"}, "role-already-held"},
		{"claim by the ended", "role_claims", sqlRow{"op": "'claim'", "run": quote(g.gone)}, "run-ended"},
		{"claim by the revoked", "role_claims", sqlRow{"op": "'claim'", "role": "'rev'", "run": quote(g.revoked)}, "run-revoked"},
		{"claim of another role", "role_claims", sqlRow{"op": "'claim'", "role": "'pm'"}, "unknown-run"},
		{"claim by a stranger", "role_claims", sqlRow{"op": "'claim'", "role": "'pm'", "run": foreignID}, "unknown-run"},
		{"claim in another business", "role_claims", sqlRow{"op": "'claim'", "business": other}, "unknown-run"},
		{"release by another", "role_claims", sqlRow{"run": quote(g.idle)}, "not-holder"},
		{"release of an unheld role", "role_claims", sqlRow{"role": "'pm'"}, "not-holder"},
		{"revoke of another", "role_claims", sqlRow{"op": "'revoke'", "run": quote(g.idle), "reason": "'x'"}, "not-holder"},
		{"revoke with neither", "role_claims", sqlRow{"op": "'revoke'"}, "decision-required"},
		{"revoke with both", "role_claims", sqlRow{"op": "'revoke'", "role": "'rev'", "run": quote(g.rev), "reason": "'x'", "decision": quote(g.revoke.ID)}, "CHECK constraint failed"},
		{"revoke by an open decision", "role_claims", sqlRow{"op": "'revoke'", "decision": quote(g.open.ID)}, "decision-required"},
		{"revoke by a refused decision", "role_claims", sqlRow{"op": "'revoke'", "decision": quote(g.refused.ID)}, "decision-required"},
		{"revoke by another approval", "role_claims", sqlRow{"op": "'revoke'", "decision": quote(g.approved.ID)}, "decision-mismatch"},
		{"revoke of another role", "role_claims", sqlRow{"op": "'revoke'", "decision": quote(g.revoke.ID)}, "decision-mismatch"},
		{"release with a reason", "role_claims", sqlRow{"reason": "'x'"}, "CHECK constraint failed"},
		{"a long reason", "role_claims", sqlRow{"op": "'revoke'", "reason": quote(strings.Repeat("x", 501))}, "CHECK constraint failed"},

		// Decisions.
		{"raised by no holder", "decisions", sqlRow{"raised_by_run": quote(g.idle)}, "not-holder"},
		{"raised in another business", "decisions", sqlRow{"business": other}, "not-holder"},
		{"one option", "decisions", sqlRow{"options": `'[{"key":"yes","text":"Yes"}]'`}, "CHECK constraint failed"},
		{"equal options", "decisions", sqlRow{"options": `'[{"key":"yes","text":"Yes"},{"key":"yes","text":"No"}]'`}, "invalid-options"},
		{"option without text", "decisions", sqlRow{"options": `'[{"key":"yes","text":""},{"key":"no","text":"No"}]'`}, "invalid-options"},
		{"option that is no text", "decisions", sqlRow{"options": `'[{"key":"yes","text":1},{"key":"no","text":"No"}]'`}, "invalid-options"},
		{"recommends no option", "decisions", sqlRow{"recommendation": "'maybe'"}, "invalid-recommendation"},
		{"approves with no option", "decisions", sqlRow{"approval_choice": "'maybe'"}, "invalid-approval-choice"},
		{"supersedes a closed one", "decisions", sqlRow{"supersedes": quote(g.closed.ID)}, "supersede-refused"},
		{"supersedes another role's", "decisions", sqlRow{"supersedes": quote(g.open.ID), "raised_by_role": "'rev'", "raised_by_run": quote(g.rev)}, "supersede-refused"},
		{"supersedes from a thread", "decisions", sqlRow{"supersedes": quote(g.open.ID), "thread": "'t'"}, "supersede-refused"},
		{"supersedes nothing", "decisions", sqlRow{"supersedes": foreignID}, "supersede-refused"},
		{"blocks no task", "decisions", sqlRow{"blocking": "1"}, "CHECK constraint failed"},
		{"half a citation", "decisions", sqlRow{"spec_path": "'spec/north-star.md'"}, "CHECK constraint failed"},

		// What happens to decisions.
		{"closed twice", "decision_events", sqlRow{"decision": quote(g.closed.ID)}, "decision-closed"},
		{"seen after the close", "decision_events", sqlRow{"decision": quote(g.closed.ID), "kind": "'seen'", "choice": "NULL"}, "decision-closed"},
		{"no such decision", "decision_events", sqlRow{"decision": foreignID}, "decision-not-found"},
		{"closed in another business", "decision_events", sqlRow{"business": other}, "decision-not-found"},
		{"no such option", "decision_events", sqlRow{"choice": "'maybe'"}, "invalid-choice"},
		{"no choice", "decision_events", sqlRow{"choice": "NULL"}, "CHECK constraint failed"},
		{"withdrawn with a choice", "decision_events", sqlRow{"kind": "'withdrawn'"}, "CHECK constraint failed"},
		{"human without input", "decision_events", sqlRow{"input": "NULL"}, "human-required"},
		{"human with another event", "decision_events", sqlRow{"input": "(SELECT id FROM events WHERE seq = 1)"}, "human-required"},
		{"human through the broker", "decision_events", sqlRow{"via": "'broker'"}, "human-required"},
		{"resolved by the raiser", "decision_events", sqlRow{"by_role": "'dev'", "by": quote(g.dev), "via": "'broker'", "input": "NULL"}, "not-resolver"},
		{"resolved for another role", "decision_events", sqlRow{"decision": quote(g.routed.ID), "by_role": "'rev'", "by": quote(g.dev), "via": "'broker'", "input": "NULL"}, "not-holder"},
		{"withdrawn by the resolver", "decision_events", sqlRow{"decision": quote(g.routed.ID), "kind": "'withdrawn'", "choice": "NULL", "by_role": "'rev'", "by": quote(g.rev), "via": "'broker'", "input": "NULL"}, "not-resolver"},

		// Messages.
		{"sent by no holder", "messages", sqlRow{"from_run": quote(g.idle)}, "not-holder"},
		{"sent for another role", "messages", sqlRow{"from_role": "'rev'"}, "not-holder"},
		{"sent as the human", "messages", sqlRow{"from_role": "'human'"}, "unknown-role"},
		{"sent from the human's run", "messages", sqlRow{"from_run": "'human-cli'"}, "unknown-role"},
		{"sent as the bus", "messages", sqlRow{"from_role": "'_bus'"}, "unknown-role"},
		{"sent to the bus", "messages", sqlRow{"to_role": "'_bus'", "lane": "'_bus'", "lane_no": "1"}, "unknown-role"},
		{"sent as a tester", "messages", sqlRow{"from_role": "'tester'"}, "unknown-role"},
		{"a gap in the lane", "messages", sqlRow{"lane_no": "3"}, "evidence-order"},
		{"another's lane", "messages", sqlRow{"lane": "'dev'"}, "evidence-order"},
		{"answers nothing", "messages", sqlRow{"in_reply_to": foreignID}, "message-not-found"},
		{"corrects another's", "messages", sqlRow{"corrects": quote(g.read.ID)}, "message-not-found"},
		{"cites nothing", "messages", sqlRow{"decision": foreignID}, "decision-not-found"},
		{"claims a request", "messages", sqlRow{"request": quote(g.input.ID)}, "human-required"},
		{"NUL", "messages", sqlRow{"body": "'a' || char(0)"}, "CHECK constraint failed"},
		{"an empty body", "messages", sqlRow{"body": "''"}, "CHECK constraint failed"},
		{"a long body", "messages", sqlRow{"body": "printf('%.*c', 32769, 'x')"}, "CHECK constraint failed"},
		{"an unknown class", "messages", sqlRow{"class": "'SHOUT'"}, "CHECK constraint failed"},

		// Deliveries.
		{"routed to no holder", "deliveries", sqlRow{"state": "'routed'", "run": quote(g.idle)}, "not-holder"},
		{"routed twice", "deliveries", sqlRow{"state": "'routed'"}, "evidence-order"},
		{"routed after delivery", "deliveries", sqlRow{"state": "'routed'", "message": quote(g.read.ID), "lane": "'dev'", "run": quote(g.dev)}, "evidence-order"},
		{"delivered to no holder", "deliveries", sqlRow{"run": quote(g.idle)}, "not-holder"},
		{"delivered twice", "deliveries", sqlRow{"message": quote(g.read.ID), "lane": "'dev'", "run": quote(g.dev)}, "evidence-order"},
		{"delivered as another message", "deliveries", sqlRow{"lane_no": "2"}, "message-not-found"},
		{"delivered in another business", "deliveries", sqlRow{"business": other}, "message-not-found"},
		{"read by another", "deliveries", sqlRow{"message": quote(g.received.ID), "lane": "'dev'", "lane_no": "2", "state": "'read'", "read_no": "2"}, "message-not-found"},
		{"read twice", "deliveries", sqlRow{"message": quote(g.read.ID), "lane": "'dev'", "run": quote(g.dev), "state": "'read'", "read_no": "2"}, "evidence-order"},
		{"read before delivery", "deliveries", sqlRow{"state": "'read'", "read_no": "1"}, "message-not-found"},
		{"read and miscounted", "deliveries", sqlRow{"message": quote(g.received.ID), "lane": "'dev'", "lane_no": "2", "run": quote(g.dev), "state": "'read'", "read_no": "3"}, "evidence-order"},

		{"checkpoint of more rows", "checkpoints", sqlRow{"size": g.size() + " + 1"}, "evidence-order"},
		{"checkpoint of fewer rows", "checkpoints", sqlRow{"size": g.size() + " - 1"}, "evidence-order"},
	}
	for _, table := range tables {
		cases = append(cases,
			guardCase{table.name + " out of order", table.name, sqlRow{"seq": "99"}, "evidence-order"},
			guardCase{table.name + " without order", table.name, sqlRow{"seq": "NULL"}, "evidence-order"},
			guardCase{table.name + " at no time", table.name, sqlRow{"at": "'2999-01-01 00:00:00.000'"}, "CHECK constraint failed"},
		)
		if table.name != "checkpoints" {
			cases = append(cases, guardCase{table.name + " in the past", table.name, sqlRow{"at": "'2001-01-01T00:00:00.000Z'"}, "evidence-order"})
		}
	}
	return cases
}

// Every guard stops a row that reaches it around the typed methods, whatever
// the form of the INSERT.
//
// proves: BUS-SCHEMA-19 BUS-SCHEMA-20 BUS-SCHEMA-22 BUS-SCHEMA-24 BUS-SCHEMA-41 BUS-EVENT-16
// proves: BUS-CLAIM-03 BUS-CLAIM-04 BUS-CLAIM-10 BUS-CLAIM-11 BUS-AUTH-18 BUS-AUTH-20 BUS-AUTH-21 BUS-AUTH-22
// proves: BUS-AUTH-23 BUS-AUTH-24 BUS-AUTH-36 BUS-DEC-54 BUS-DEC-57 BUS-DEC-61
func TestGuards(t *testing.T) {
	t.Parallel()
	g := newGuardWorld(t)
	c, err := connect(t.Context(), g.path, "", writing)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	for _, x := range g.cases() {
		sql := g.insert(x.table, x.change)
		for _, form := range []string{"INSERT", "INSERT OR REPLACE", "INSERT OR IGNORE"} {
			if form == "INSERT OR IGNORE" && !strings.Contains(x.want, "-") {
				continue // IGNORE skips the row quietly when a CHECK refuses it
			}
			err := c.db.Exec(form + strings.TrimPrefix(sql, "INSERT"))
			if err == nil || !strings.Contains(err.Error(), x.want) {
				t.Errorf("%s: %s: got %v, want %s", x.name, form, err, x.want)
			}
		}
	}
}

// The rows that the cases start from are accepted: each case is stopped by
// what it changes. So are the neighbours that a guard could stop wrongly.
//
// proves: BUS-SCHEMA-41 BUS-SCHEMA-42 BUS-AUTH-27
func TestGuardsAccept(t *testing.T) {
	t.Parallel()
	g := newGuardWorld(t)
	for _, x := range []guardCase{
		{"event", "events", nil, ""},
		{"spending", "events", sqlRow{"spends": quote(g.approved.ID)}, ""},
		{"spending by another run of the role", "events", sqlRow{"spends": quote(g.approved.ID), "run": quote(g.idle)}, ""},
		{"end of a session", "events", sqlRow{"kind": "'session.ended'", "run": quote(g.idle)}, ""},
		{"release", "role_claims", nil, ""},
		{"revoke with a reason", "role_claims", sqlRow{"op": "'revoke'", "reason": "'x'"}, ""},
		{"revoke with a decision", "role_claims", sqlRow{"op": "'revoke'", "role": "'rev'", "run": quote(g.rev), "decision": quote(g.revoke.ID)}, ""},
		{"decision", "decisions", nil, ""},
		{"superseding", "decisions", sqlRow{"supersedes": quote(g.open.ID)}, ""},
		{"resolve by the human", "decision_events", nil, ""},
		{"resolve by the route", "decision_events", sqlRow{"decision": quote(g.routed.ID), "by_role": "'rev'", "by": quote(g.rev), "via": "'broker'", "input": "NULL"}, ""},
		{"resolve of another's by the human", "decision_events", sqlRow{"decision": quote(g.routed.ID)}, ""},
		{"withdraw by the raiser", "decision_events", sqlRow{"kind": "'withdrawn'", "choice": "NULL", "by_role": "'dev'", "by": quote(g.dev), "via": "'broker'", "input": "NULL"}, ""},
		{"seen by the human", "decision_events", sqlRow{"kind": "'seen'", "choice": "NULL", "input": "NULL"}, ""},
		{"message", "messages", nil, ""},
		{"notice of the bus", "messages", sqlRow{"from_role": "'_bus'", "from_run": "'bus'"}, ""},
		{"message of a tester", "messages", sqlRow{"from_role": "'tester'", "from_run": "'tester-cli'"}, ""},
		{"delivery", "deliveries", nil, ""},
		{"receipt", "deliveries", sqlRow{"message": quote(g.received.ID), "lane": "'dev'", "lane_no": "2", "run": quote(g.dev), "state": "'read'", "read_no": "2"}, ""},
		{"checkpoint", "checkpoints", nil, ""},
	} {
		if err := rawExec(t, g.path, "BEGIN;"+g.insert(x.table, x.change)+";ROLLBACK"); err != nil {
			t.Errorf("%s: %v", x.name, err)
		}
	}
}

// proves: BUS-SCHEMA-17 BUS-SCHEMA-18 BUS-SCHEMA-19 BUS-SCHEMA-51 BUS-DEC-72
func TestEvidenceIsImmutable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.history()
	if err := CreateCheckpointKey(t.Context(), w.path); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Close()
	for _, table := range tables {
		for _, sql := range []string{
			"UPDATE " + table.name + " SET at = at", "UPDATE OR REPLACE " + table.name + " SET seq = seq + 1",
			"DELETE FROM " + table.name,
			"INSERT OR REPLACE INTO " + table.name + " SELECT * FROM " + table.name + " WHERE seq = 1",
			"REPLACE INTO " + table.name + " SELECT * FROM " + table.name + " ORDER BY seq DESC LIMIT 1",
		} {
			err := rawExec(t, w.path, sql)
			if !mentions(err, "evidence-immutable") && !mentions(err, "evidence-order") {
				t.Errorf("%s: %v", sql, err)
			}
		}
	}
	for _, sql := range []string{
		"UPDATE meta SET value = 'x' WHERE key = 'schema_version'", "DELETE FROM meta",
		"INSERT INTO meta VALUES ('x', 'y')", "REPLACE INTO meta VALUES ('store_id', 'y')",
	} {
		if err := rawExec(t, w.path, sql); !mentions(err, "meta-immutable") {
			t.Errorf("%s: %v", sql, err)
		}
	}
	for _, sql := range []string{
		"UPDATE delivery_unread SET run = 'x'", "DELETE FROM delivery_unread",
		"INSERT INTO delivery_unread VALUES ('acme', 'dev', 9, 'x', 'y', 'z')",
		"UPDATE decision_open SET route = 'x'", "DELETE FROM decision_open",
		"INSERT INTO decision_open VALUES ('acme', 'human', 1, 1, (SELECT id FROM decisions WHERE seq = 1))",
		"UPDATE session_open SET run = 'x'", "DELETE FROM session_open", "INSERT INTO session_open VALUES (99, 'x')",
	} {
		if err := rawExec(t, w.path, sql); !mentions(err, "projection-mismatch") {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// Defensive mode: the schema cannot be written, not even to disarm a guard
// without a trace.
func TestSchemaIsNotWritable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Close()
	for _, sql := range []string{
		"PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'events_guard'",
		"UPDATE sqlite_schema SET sql = ''",
	} {
		if err := rawExec(t, w.path, sql); err == nil {
			t.Errorf("%s was done", sql)
		}
	}
}
