-- The schema of the bus, version 1. The digest of this file and of the
-- sqlite_master that it makes are pinned in schema.go: a change here is a new
-- version and a migration step, never an edit.
--
-- Conventions. Every evidence table is STRICT and has
--   seq  1, 2, 3 ... without gaps, the primary order within the table;
--   at   canonical UTC milliseconds, strictly advancing within the table here
--        and across all tables by the store's clock.
-- Three guards stand before every evidence table: no UPDATE, no DELETE, and an
-- order guard that refuses a seq which is not the next one, so that
-- INSERT OR REPLACE can replace nothing. Guards that look something up do so
-- through an index, so that the cost of an insert does not grow.

CREATE TABLE meta (
  key   TEXT PRIMARY KEY NOT NULL,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE decisions (
  seq             INTEGER PRIMARY KEY,
  id              TEXT NOT NULL UNIQUE CHECK (length(id) = 36),
  business        TEXT NOT NULL,
  action          TEXT NOT NULL,
  question        TEXT NOT NULL CHECK (length(question) BETWEEN 1 AND 4096),
  options         TEXT NOT NULL CHECK (json_valid(options) AND json_type(options) = 'array'
                                       AND json_array_length(options) BETWEEN 2 AND 9),
  recommendation  TEXT NOT NULL,
  approval_choice TEXT NOT NULL,
  blocking        INTEGER NOT NULL CHECK (blocking IN (0, 1)),
  class           TEXT NOT NULL CHECK (class IN ('within-role', 'cross-role', 'gated')),
  route           TEXT NOT NULL,          -- 'human' or a role instance; never changes
  domain          TEXT NOT NULL CHECK (domain IN ('delivery', 'technical')),
  target          TEXT CHECK (length(target) BETWEEN 1 AND 512),
  project         TEXT,
  spec_path       TEXT,
  spec_commit     TEXT,
  task_ref        TEXT,
  requirement_ref TEXT,
  supersedes      TEXT REFERENCES decisions (id),
  raised_by_role  TEXT NOT NULL,
  raised_by_run   TEXT NOT NULL,
  thread          TEXT,
  holder_run      TEXT,                   -- role.revoke: who held the target at the raise
  at              TEXT NOT NULL CHECK (strftime('%Y-%m-%dT%H:%M:%fZ', at) IS at),
  CHECK (blocking = 0 OR task_ref IS NOT NULL),
  CHECK ((project IS NULL) = (spec_path IS NULL) AND (project IS NULL) = (spec_commit IS NULL))
) STRICT;
CREATE INDEX decisions_task ON decisions (business, task_ref, seq) WHERE task_ref IS NOT NULL;

CREATE TABLE decision_events (
  seq      INTEGER PRIMARY KEY,
  decision TEXT NOT NULL REFERENCES decisions (id),
  business TEXT NOT NULL,
  kind     TEXT NOT NULL CHECK (kind IN ('seen', 'resolved', 'withdrawn')),
  by       TEXT NOT NULL,                 -- the human's configured name, or the closing run
  by_role  TEXT NOT NULL,                 -- 'human' or the closing role instance
  via      TEXT NOT NULL CHECK (via IN ('cli', 'broker')),
  choice   TEXT,
  note     TEXT CHECK (length(note) BETWEEN 1 AND 1024),
  input    TEXT REFERENCES events (id),   -- the human.input event of a human's close
  at       TEXT NOT NULL CHECK (strftime('%Y-%m-%dT%H:%M:%fZ', at) IS at),
  CHECK ((kind = 'resolved') = (choice IS NOT NULL))
) STRICT;
CREATE INDEX decision_events_decision ON decision_events (decision, seq);
CREATE UNIQUE INDEX decision_events_close ON decision_events (decision) WHERE kind <> 'seen';
CREATE INDEX decision_events_recent ON decision_events (business, seq) WHERE kind <> 'seen';

CREATE TABLE events (
  seq      INTEGER PRIMARY KEY,
  id       TEXT NOT NULL UNIQUE CHECK (length(id) = 36),
  business TEXT NOT NULL,
  role     TEXT,
  run      TEXT,
  kind     TEXT NOT NULL CHECK (kind IN (
             'session.launched', 'session.ended', 'action.allowed', 'action.refused',
             'human.input', 'launch.revoked', 'launch.restored',
             'review.requested', 'review.verdict',
             'task.created', 'task.updated', 'task.closed', 'task.commented')),
  subject  TEXT,
  spends   TEXT REFERENCES decisions (id), -- the approval that this action used up
  body     TEXT NOT NULL CHECK (json_valid(body) AND json_type(body) = 'object'),
  prev     BLOB NOT NULL CHECK (length(prev) = 32), -- head of the chain before this row
  at       TEXT NOT NULL CHECK (strftime('%Y-%m-%dT%H:%M:%fZ', at) IS at),
  CHECK (spends IS NULL OR kind = 'action.allowed')
) STRICT;
CREATE INDEX events_subject ON events (business, subject, seq) WHERE subject IS NOT NULL;
CREATE UNIQUE INDEX events_spends ON events (spends) WHERE spends IS NOT NULL;
CREATE UNIQUE INDEX events_session ON events (run, kind) WHERE kind IN ('session.launched', 'session.ended');
CREATE INDEX events_launch ON events (business, seq) WHERE kind IN ('launch.revoked', 'launch.restored');

CREATE TABLE role_claims (
  seq      INTEGER PRIMARY KEY,
  business TEXT NOT NULL,
  role     TEXT NOT NULL,
  run      TEXT NOT NULL,
  op       TEXT NOT NULL CHECK (op IN ('claim', 'release', 'revoke')),
  by       TEXT NOT NULL,                 -- the run that acted, 'human-cli' or 'bus'
  decision TEXT REFERENCES decisions (id),
  reason   TEXT CHECK (length(reason) BETWEEN 1 AND 500),
  at       TEXT NOT NULL CHECK (strftime('%Y-%m-%dT%H:%M:%fZ', at) IS at)
) STRICT;
CREATE INDEX role_claims_role ON role_claims (business, role, seq);
CREATE INDEX role_claims_revoked ON role_claims (run, business, role) WHERE op = 'revoke';

-- A lane is one first-in-first-out queue of deliveries: a role instance's, the
-- human's or the testers' (a thread gets its own when threads come). lane_no
-- counts a lane's messages, so that what was delivered is always a prefix and
-- totals need no counting.
CREATE TABLE messages (
  seq         INTEGER PRIMARY KEY,
  id          TEXT NOT NULL UNIQUE CHECK (length(id) = 36),
  business    TEXT NOT NULL,
  from_role   TEXT NOT NULL,
  from_run    TEXT NOT NULL,
  to_role     TEXT NOT NULL,
  to_name     TEXT,
  lane        TEXT NOT NULL,
  lane_no     INTEGER NOT NULL CHECK (lane_no >= 1),
  class       TEXT NOT NULL CHECK (class IN (
                'REQUEST', 'ASSIGNMENT', 'REVIEW-REQUEST', 'REVIEW-RESULT', 'RESULT', 'INFO',
                'DECISION', 'REACTION', 'BLOCK', 'STAFF-REQUEST')),
  body        TEXT NOT NULL CHECK (length(CAST(body AS BLOB)) BETWEEN 1 AND 32768 AND instr(body, char(0)) = 0),
  in_reply_to TEXT REFERENCES messages (id),
  corrects    TEXT REFERENCES messages (id),
  decision    TEXT REFERENCES decisions (id),
  request     TEXT REFERENCES events (id), -- the human.input behind it, or null
  at          TEXT NOT NULL CHECK (strftime('%Y-%m-%dT%H:%M:%fZ', at) IS at)
) STRICT;
CREATE UNIQUE INDEX messages_lane ON messages (business, lane, lane_no);
CREATE INDEX messages_reply ON messages (in_reply_to, seq) WHERE in_reply_to IS NOT NULL;
CREATE INDEX messages_decision ON messages (decision, seq) WHERE decision IS NOT NULL;
CREATE INDEX messages_request ON messages (request) WHERE request IS NOT NULL;

CREATE TABLE deliveries (
  seq      INTEGER PRIMARY KEY,
  business TEXT NOT NULL,
  message  TEXT NOT NULL REFERENCES messages (id),
  lane     TEXT NOT NULL,
  lane_no  INTEGER NOT NULL,
  run      TEXT NOT NULL,
  state    TEXT NOT NULL CHECK (state IN ('routed', 'delivered', 'read')),
  at       TEXT NOT NULL CHECK (strftime('%Y-%m-%dT%H:%M:%fZ', at) IS at)
) STRICT;
CREATE INDEX deliveries_message ON deliveries (message, seq);
CREATE UNIQUE INDEX deliveries_delivered ON deliveries (business, lane, lane_no) WHERE state = 'delivered';
CREATE UNIQUE INDEX deliveries_read ON deliveries (message) WHERE state = 'read';

-- Projections: derived, maintained by the triggers below, recomputed by verify.

CREATE TABLE delivery_unread (
  message  TEXT PRIMARY KEY NOT NULL,
  business TEXT NOT NULL,
  lane     TEXT NOT NULL,
  run      TEXT NOT NULL,                 -- the run that it was delivered to
  at       TEXT NOT NULL                  -- when it was delivered
) STRICT, WITHOUT ROWID;
CREATE INDEX delivery_unread_lane ON delivery_unread (business, lane, run, at);

CREATE TABLE decision_open (
  decision TEXT PRIMARY KEY NOT NULL,
  business TEXT NOT NULL,
  route    TEXT NOT NULL,
  gated    INTEGER NOT NULL,
  seq      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX decision_open_route ON decision_open (business, route, gated DESC, seq);

-- Views for people who read the file with other tools (mode=ro).

CREATE VIEW role_current AS
  SELECT c.* FROM role_claims c
  WHERE c.op = 'claim' AND c.seq = (SELECT max(seq) FROM role_claims x WHERE x.business = c.business AND x.role = c.role);

CREATE VIEW decision_current AS
  SELECT d.*, e.kind AS closed, e.choice AS choice, e.by AS closed_by, e.via AS via, e.at AS closed_at
  FROM decisions d LEFT JOIN decision_events e ON e.decision = d.id AND e.kind <> 'seen';

-- Guards. Each raises the static code that the broker would have given.

CREATE TRIGGER meta_no_insert BEFORE INSERT ON meta
WHEN EXISTS (SELECT 1 FROM meta WHERE key = 'schema_version')
BEGIN SELECT RAISE(ABORT, 'meta-immutable'); END;
CREATE TRIGGER meta_no_update BEFORE UPDATE ON meta BEGIN SELECT RAISE(ABORT, 'meta-immutable'); END;
CREATE TRIGGER meta_no_delete BEFORE DELETE ON meta BEGIN SELECT RAISE(ABORT, 'meta-immutable'); END;

CREATE TRIGGER decisions_order BEFORE INSERT ON decisions
WHEN NEW.seq IS NOT coalesce((SELECT max(seq) FROM decisions), 0) + 1
  OR NEW.at <= (SELECT at FROM decisions WHERE seq = NEW.seq - 1)
  OR EXISTS (SELECT 1 FROM decisions WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'evidence-order'); END;
CREATE TRIGGER decisions_no_update BEFORE UPDATE ON decisions BEGIN SELECT RAISE(ABORT, 'evidence-immutable'); END;
CREATE TRIGGER decisions_no_delete BEFORE DELETE ON decisions BEGIN SELECT RAISE(ABORT, 'evidence-immutable'); END;
CREATE TRIGGER decisions_choices BEFORE INSERT ON decisions
WHEN NOT EXISTS (SELECT 1 FROM json_each(NEW.options) WHERE value ->> 'key' = NEW.recommendation)
  OR NOT EXISTS (SELECT 1 FROM json_each(NEW.options) WHERE value ->> 'key' = NEW.approval_choice)
BEGIN SELECT RAISE(ABORT, 'invalid-options'); END;
CREATE TRIGGER decisions_supersede BEFORE INSERT ON decisions
WHEN NEW.supersedes IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM decisions d WHERE d.id = NEW.supersedes AND d.business = NEW.business
    AND d.raised_by_role = NEW.raised_by_role AND d.thread IS NEW.thread)
BEGIN SELECT RAISE(ABORT, 'supersede-refused'); END;
CREATE TRIGGER decisions_opened AFTER INSERT ON decisions
BEGIN INSERT INTO decision_open VALUES (NEW.id, NEW.business, NEW.route, NEW.class = 'gated', NEW.seq); END;

CREATE TRIGGER decision_events_order BEFORE INSERT ON decision_events
WHEN NEW.seq IS NOT coalesce((SELECT max(seq) FROM decision_events), 0) + 1
  OR NEW.at <= (SELECT at FROM decision_events WHERE seq = NEW.seq - 1)
BEGIN SELECT RAISE(ABORT, 'evidence-order'); END;
CREATE TRIGGER decision_events_no_update BEFORE UPDATE ON decision_events BEGIN SELECT RAISE(ABORT, 'evidence-immutable'); END;
CREATE TRIGGER decision_events_no_delete BEFORE DELETE ON decision_events BEGIN SELECT RAISE(ABORT, 'evidence-immutable'); END;
CREATE TRIGGER decision_events_closed BEFORE INSERT ON decision_events
WHEN EXISTS (SELECT 1 FROM decision_events WHERE decision = NEW.decision AND kind <> 'seen')
BEGIN SELECT RAISE(ABORT, 'decision-closed'); END;
CREATE TRIGGER decision_events_match BEFORE INSERT ON decision_events
WHEN NOT EXISTS (SELECT 1 FROM decisions WHERE id = NEW.decision AND business = NEW.business)
BEGIN SELECT RAISE(ABORT, 'decision-not-found'); END;
CREATE TRIGGER decision_events_choice BEFORE INSERT ON decision_events
WHEN NEW.choice IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM decisions d, json_each(d.options) o WHERE d.id = NEW.decision AND o.value ->> 'key' = NEW.choice)
BEGIN SELECT RAISE(ABORT, 'invalid-choice'); END;
CREATE TRIGGER decision_events_human BEFORE INSERT ON decision_events
WHEN (NEW.by_role = 'human') IS NOT (NEW.via = 'cli')
  OR (NEW.by_role = 'human' AND NOT EXISTS (
    SELECT 1 FROM events WHERE id = NEW.input AND business = NEW.business AND kind = 'human.input'))
BEGIN SELECT RAISE(ABORT, 'human-required'); END;
CREATE TRIGGER decision_events_close_open AFTER INSERT ON decision_events
WHEN NEW.kind <> 'seen'
BEGIN DELETE FROM decision_open WHERE decision = NEW.decision; END;

CREATE TRIGGER events_order BEFORE INSERT ON events
WHEN NEW.seq IS NOT coalesce((SELECT max(seq) FROM events), 0) + 1
  OR NEW.at <= (SELECT at FROM events WHERE seq = NEW.seq - 1)
  OR EXISTS (SELECT 1 FROM events WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'evidence-order'); END;
CREATE TRIGGER events_no_update BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'evidence-immutable'); END;
CREATE TRIGGER events_no_delete BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'evidence-immutable'); END;
CREATE TRIGGER events_launched_once BEFORE INSERT ON events
WHEN NEW.kind = 'session.launched' AND (NEW.run IS NULL OR NEW.role IS NULL OR EXISTS (
  SELECT 1 FROM events WHERE run = NEW.run AND kind = 'session.launched'))
BEGIN SELECT RAISE(ABORT, 'launch-mismatch'); END;
CREATE TRIGGER events_ended_once BEFORE INSERT ON events
WHEN NEW.kind = 'session.ended' AND (
  EXISTS (SELECT 1 FROM events WHERE run = NEW.run AND kind = 'session.ended')
  OR NOT EXISTS (SELECT 1 FROM events WHERE run = NEW.run AND kind = 'session.launched' AND business = NEW.business))
BEGIN SELECT RAISE(ABORT, 'run-ended'); END;
CREATE TRIGGER events_spends_once BEFORE INSERT ON events
WHEN NEW.spends IS NOT NULL AND EXISTS (SELECT 1 FROM events WHERE spends = NEW.spends)
BEGIN SELECT RAISE(ABORT, 'decision-consumed'); END;
CREATE TRIGGER events_spends_approved BEFORE INSERT ON events
WHEN NEW.spends IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM decisions d JOIN decision_events e ON e.decision = d.id AND e.kind = 'resolved'
  WHERE d.id = NEW.spends AND d.business = NEW.business AND d.raised_by_role = NEW.role
    AND e.choice = d.approval_choice AND d.action = NEW.body ->> 'action'
    AND d.target IS NEW.body ->> 'target')
BEGIN SELECT RAISE(ABORT, 'decision-mismatch'); END;

CREATE TRIGGER role_claims_order BEFORE INSERT ON role_claims
WHEN NEW.seq IS NOT coalesce((SELECT max(seq) FROM role_claims), 0) + 1
  OR NEW.at <= (SELECT at FROM role_claims WHERE seq = NEW.seq - 1)
BEGIN SELECT RAISE(ABORT, 'evidence-order'); END;
CREATE TRIGGER role_claims_no_update BEFORE UPDATE ON role_claims BEGIN SELECT RAISE(ABORT, 'evidence-immutable'); END;
CREATE TRIGGER role_claims_no_delete BEFORE DELETE ON role_claims BEGIN SELECT RAISE(ABORT, 'evidence-immutable'); END;
CREATE TRIGGER role_claims_one_holder BEFORE INSERT ON role_claims
WHEN NEW.op = 'claim' AND 'claim' = (
  SELECT op FROM role_claims WHERE business = NEW.business AND role = NEW.role ORDER BY seq DESC LIMIT 1)
BEGIN SELECT RAISE(ABORT, 'role-already-held'); END;
CREATE TRIGGER role_claims_launched BEFORE INSERT ON role_claims
WHEN NEW.op = 'claim' AND (
  NOT EXISTS (SELECT 1 FROM events WHERE run = NEW.run AND kind = 'session.launched' AND business = NEW.business AND role = NEW.role)
  OR EXISTS (SELECT 1 FROM events WHERE run = NEW.run AND kind = 'session.ended'))
BEGIN SELECT RAISE(ABORT, 'run-ended'); END;
CREATE TRIGGER role_claims_revoked_run BEFORE INSERT ON role_claims
WHEN NEW.op = 'claim' AND EXISTS (
  SELECT 1 FROM role_claims WHERE run = NEW.run AND business = NEW.business AND role = NEW.role AND op = 'revoke')
BEGIN SELECT RAISE(ABORT, 'run-revoked'); END;
CREATE TRIGGER role_claims_holder BEFORE INSERT ON role_claims
WHEN NEW.op <> 'claim' AND NOT EXISTS (
  SELECT 1 FROM (SELECT op, run FROM role_claims WHERE business = NEW.business AND role = NEW.role ORDER BY seq DESC LIMIT 1)
  WHERE op = 'claim' AND run = NEW.run)
BEGIN SELECT RAISE(ABORT, 'not-holder'); END;
CREATE TRIGGER role_revoke_needs_decision BEFORE INSERT ON role_claims
WHEN CASE NEW.op
  WHEN 'revoke' THEN NEW.reason IS NULL AND NOT EXISTS (
    SELECT 1 FROM decisions d JOIN decision_events e ON e.decision = d.id AND e.kind = 'resolved'
    WHERE d.id = NEW.decision AND d.business = NEW.business AND e.choice = d.approval_choice)
  ELSE NEW.decision IS NOT NULL OR NEW.reason IS NOT NULL END
BEGIN SELECT RAISE(ABORT, 'decision-required'); END;

CREATE TRIGGER messages_order BEFORE INSERT ON messages
WHEN NEW.seq IS NOT coalesce((SELECT max(seq) FROM messages), 0) + 1
  OR NEW.at <= (SELECT at FROM messages WHERE seq = NEW.seq - 1)
  OR EXISTS (SELECT 1 FROM messages WHERE id = NEW.id)
  OR NEW.lane_no IS NOT coalesce((SELECT max(lane_no) FROM messages WHERE business = NEW.business AND lane = NEW.lane), 0) + 1
BEGIN SELECT RAISE(ABORT, 'evidence-order'); END;
CREATE TRIGGER messages_no_update BEFORE UPDATE ON messages BEGIN SELECT RAISE(ABORT, 'evidence-immutable'); END;
CREATE TRIGGER messages_no_delete BEFORE DELETE ON messages BEGIN SELECT RAISE(ABORT, 'evidence-immutable'); END;
CREATE TRIGGER messages_reply_match BEFORE INSERT ON messages
WHEN NEW.in_reply_to IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM messages WHERE id = NEW.in_reply_to AND business = NEW.business)
BEGIN SELECT RAISE(ABORT, 'message-not-found'); END;
CREATE TRIGGER messages_corrects_match BEFORE INSERT ON messages
WHEN NEW.corrects IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM messages WHERE id = NEW.corrects AND business = NEW.business
    AND from_role = NEW.from_role AND to_role = NEW.to_role)
BEGIN SELECT RAISE(ABORT, 'message-not-found'); END;
CREATE TRIGGER messages_decision_match BEFORE INSERT ON messages
WHEN NEW.decision IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM decisions WHERE id = NEW.decision AND business = NEW.business)
BEGIN SELECT RAISE(ABORT, 'decision-not-found'); END;
CREATE TRIGGER messages_request_match BEFORE INSERT ON messages
WHEN NEW.request IS NOT NULL AND (NEW.from_role <> 'human' OR NOT EXISTS (
  SELECT 1 FROM events WHERE id = NEW.request AND business = NEW.business AND kind = 'human.input'))
BEGIN SELECT RAISE(ABORT, 'human-required'); END;
CREATE TRIGGER messages_sender BEFORE INSERT ON messages
WHEN (NEW.from_role = 'human') IS NOT (NEW.from_run = 'human-cli')
  OR (NEW.from_role = 'tester') IS NOT (NEW.from_run = 'tester-cli')
  OR (NEW.from_role = '_bus') IS NOT (NEW.from_run = 'bus')
  OR NEW.to_role = '_bus'
  OR (NEW.from_role NOT IN ('human', 'tester', '_bus') AND NOT EXISTS (
    SELECT 1 FROM events WHERE run = NEW.from_run AND kind = 'session.launched'
      AND business = NEW.business AND role = NEW.from_role))
BEGIN SELECT RAISE(ABORT, 'unknown-role'); END;

CREATE TRIGGER deliveries_order BEFORE INSERT ON deliveries
WHEN NEW.seq IS NOT coalesce((SELECT max(seq) FROM deliveries), 0) + 1
  OR NEW.at <= (SELECT at FROM deliveries WHERE seq = NEW.seq - 1)
BEGIN SELECT RAISE(ABORT, 'evidence-order'); END;
CREATE TRIGGER deliveries_no_update BEFORE UPDATE ON deliveries BEGIN SELECT RAISE(ABORT, 'evidence-immutable'); END;
CREATE TRIGGER deliveries_no_delete BEFORE DELETE ON deliveries BEGIN SELECT RAISE(ABORT, 'evidence-immutable'); END;
CREATE TRIGGER deliveries_match BEFORE INSERT ON deliveries
WHEN NOT EXISTS (
  SELECT 1 FROM messages WHERE id = NEW.message AND business = NEW.business AND lane = NEW.lane AND lane_no = NEW.lane_no)
BEGIN SELECT RAISE(ABORT, 'message-not-found'); END;
-- Routing and delivering go to the current holder only; the human and the
-- testers hold nothing and are delivered to their own address.
CREATE TRIGGER deliveries_holder BEFORE INSERT ON deliveries
WHEN NEW.state <> 'read' AND CASE NEW.lane
  WHEN 'human'  THEN NEW.run <> 'human-cli'  OR NEW.state = 'routed'
  WHEN 'tester' THEN NEW.run <> 'tester-cli' OR NEW.state = 'routed'
  ELSE NOT EXISTS (
    SELECT 1 FROM (SELECT c.op, c.run FROM role_claims c JOIN messages m ON m.id = NEW.message
                   WHERE c.business = NEW.business AND c.role = m.to_role ORDER BY c.seq DESC LIMIT 1)
    WHERE op = 'claim' AND run = NEW.run) END
BEGIN SELECT RAISE(ABORT, 'not-holder'); END;
-- Delivered once, in order: a message is never delivered again, to the same or
-- another holder.
CREATE TRIGGER deliveries_prefix BEFORE INSERT ON deliveries
WHEN NEW.state = 'delivered' AND NEW.lane_no IS NOT coalesce((
  SELECT max(lane_no) FROM deliveries WHERE business = NEW.business AND lane = NEW.lane AND state = 'delivered'), 0) + 1
BEGIN SELECT RAISE(ABORT, 'evidence-order'); END;
CREATE TRIGGER deliveries_routed_first BEFORE INSERT ON deliveries
WHEN NEW.state = 'delivered' AND NEW.lane NOT IN ('human', 'tester') AND NOT EXISTS (
  SELECT 1 FROM deliveries WHERE message = NEW.message AND run = NEW.run AND state = 'routed')
BEGIN SELECT RAISE(ABORT, 'not-holder'); END;
CREATE TRIGGER deliveries_read_by_receiver BEFORE INSERT ON deliveries
WHEN NEW.state = 'read' AND NOT EXISTS (
  SELECT 1 FROM deliveries WHERE message = NEW.message AND run = NEW.run AND state = 'delivered')
BEGIN SELECT RAISE(ABORT, 'message-not-found'); END;
CREATE TRIGGER deliveries_read_once BEFORE INSERT ON deliveries
WHEN NEW.state = 'read' AND EXISTS (SELECT 1 FROM deliveries WHERE message = NEW.message AND state = 'read')
BEGIN SELECT RAISE(ABORT, 'message-read'); END;
CREATE TRIGGER deliveries_unread_add AFTER INSERT ON deliveries
WHEN NEW.state = 'delivered'
BEGIN INSERT INTO delivery_unread VALUES (NEW.message, NEW.business, NEW.lane, NEW.run, NEW.at); END;
CREATE TRIGGER deliveries_unread_remove AFTER INSERT ON deliveries
WHEN NEW.state = 'read'
BEGIN DELETE FROM delivery_unread WHERE message = NEW.message; END;
