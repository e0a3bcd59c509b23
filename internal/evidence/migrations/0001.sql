-- The schema of the bus, version 1. The digest of this file and of the
-- sqlite_master that it makes are pinned in schema.go: a change is a new
-- version and a migration step, never an edit.
--
-- Conventions. Every evidence table is STRICT and has
--   seq  1, 2, 3 ... without gaps, the primary order within the table;
--   at   canonical UTC milliseconds, strictly advancing within the table here
--        and across all tables by the store's clock.
-- Three triggers stand before every evidence table: no UPDATE, no DELETE, and
-- one guard over INSERT that lists the table's rules in the order in which
-- their codes are given. The first rule refuses a seq that is not the next
-- one, and every unique key has a rule of its own, so that INSERT OR REPLACE
-- can replace nothing. Rules look things up through indexes only: the cost of
-- an insert does not grow with the table.

CREATE TABLE meta (
  key   TEXT PRIMARY KEY NOT NULL,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE decisions (
  seq             INTEGER PRIMARY KEY,
  id              TEXT NOT NULL UNIQUE CHECK (length(id) = 36),
  business        TEXT NOT NULL CHECK (business <> ''),
  action          TEXT NOT NULL CHECK (action <> ''),
  question        TEXT NOT NULL CHECK (length(question) BETWEEN 1 AND 4096 AND instr(question, char(0)) = 0),
  options         TEXT NOT NULL CHECK (json_valid(options) AND json_type(options) = 'array'
                                       AND json_array_length(options) BETWEEN 2 AND 9),
  recommendation  TEXT NOT NULL,
  approval_choice TEXT NOT NULL,
  blocking        INTEGER NOT NULL CHECK (blocking IN (0, 1)),
  class           TEXT NOT NULL CHECK (class IN ('within-role', 'cross-role', 'gated')),
  route           TEXT NOT NULL CHECK (route <> ''),  -- 'human' or a role instance; never changes
  domain          TEXT NOT NULL CHECK (domain IN ('delivery', 'technical')),
  target          TEXT CHECK (length(target) BETWEEN 1 AND 512),
  project         TEXT,
  spec_path       TEXT,
  spec_commit     TEXT,
  task_ref        TEXT CHECK (length(task_ref) BETWEEN 1 AND 128),
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
CREATE INDEX decisions_supersedes ON decisions (supersedes) WHERE supersedes IS NOT NULL;

CREATE TABLE decision_events (
  seq      INTEGER PRIMARY KEY,
  decision TEXT NOT NULL REFERENCES decisions (id),
  business TEXT NOT NULL,
  kind     TEXT NOT NULL CHECK (kind IN ('seen', 'resolved', 'withdrawn')),
  by       TEXT NOT NULL CHECK (by <> ''), -- the human's configured name, or the acting run
  by_role  TEXT NOT NULL,                 -- 'human' or the acting role instance
  via      TEXT NOT NULL CHECK (via IN ('cli', 'broker')),
  choice   TEXT,
  note     TEXT CHECK (length(note) BETWEEN 1 AND 1024),
  input    TEXT REFERENCES events (id),   -- the human.input event of a human's close
  at       TEXT NOT NULL CHECK (strftime('%Y-%m-%dT%H:%M:%fZ', at) IS at),
  CHECK ((kind = 'resolved') = (choice IS NOT NULL)),
  CHECK (input IS NULL OR by_role = 'human')
) STRICT;
CREATE INDEX decision_events_decision ON decision_events (decision, seq);
CREATE UNIQUE INDEX decision_events_close ON decision_events (decision) WHERE kind <> 'seen';
CREATE INDEX decision_events_input ON decision_events (input) WHERE input IS NOT NULL;
CREATE INDEX decision_events_recent ON decision_events (business, seq) WHERE kind <> 'seen';

CREATE TABLE events (
  seq      INTEGER PRIMARY KEY,
  id       TEXT NOT NULL UNIQUE CHECK (length(id) = 36),
  business TEXT NOT NULL CHECK (business <> ''),
  role     TEXT,
  run      TEXT,
  kind     TEXT NOT NULL CHECK (kind IN (
             'session.launched', 'session.ended', 'action.allowed', 'action.refused',
             'human.input', 'launch.revoked', 'launch.restored',
             'review.requested', 'review.verdict',
             'task.created', 'task.updated', 'task.closed', 'task.commented')),
  subject  TEXT,
  spends   TEXT REFERENCES decisions (id), -- the approval that this action used up
  message  TEXT REFERENCES messages (id),  -- the message that this action sent
  body     TEXT NOT NULL CHECK (json_valid(body) AND json_type(body) = 'object'),
  prev     BLOB NOT NULL CHECK (length(prev) = 32), -- head of the chain before this row
  at       TEXT NOT NULL CHECK (strftime('%Y-%m-%dT%H:%M:%fZ', at) IS at),
  CHECK (spends IS NULL OR kind = 'action.allowed'),
  CHECK (message IS NULL OR kind = 'action.allowed')
) STRICT;
CREATE INDEX events_subject ON events (business, subject, seq) WHERE subject IS NOT NULL;
CREATE UNIQUE INDEX events_spends ON events (spends) WHERE spends IS NOT NULL;
CREATE UNIQUE INDEX events_message ON events (message) WHERE message IS NOT NULL;
CREATE UNIQUE INDEX events_launched ON events (run) WHERE kind = 'session.launched';
CREATE UNIQUE INDEX events_ended ON events (run) WHERE kind = 'session.ended';
CREATE INDEX events_launch ON events (business, seq) WHERE kind = 'launch.revoked' OR kind = 'launch.restored';

CREATE TABLE role_claims (
  seq      INTEGER PRIMARY KEY,
  business TEXT NOT NULL,
  role     TEXT NOT NULL,
  run      TEXT NOT NULL,
  op       TEXT NOT NULL CHECK (op IN ('claim', 'release', 'revoke')),
  by       TEXT NOT NULL CHECK (by <> ''), -- the run that acted, 'human-cli' or 'bus'
  decision TEXT REFERENCES decisions (id),
  reason   TEXT CHECK (length(reason) BETWEEN 1 AND 500),
  at       TEXT NOT NULL CHECK (strftime('%Y-%m-%dT%H:%M:%fZ', at) IS at),
  CHECK (decision IS NULL OR reason IS NULL),
  CHECK (op = 'revoke' OR (decision IS NULL AND reason IS NULL))
) STRICT;
CREATE INDEX role_claims_role ON role_claims (business, role, seq);
CREATE INDEX role_claims_run ON role_claims (run, seq);
CREATE INDEX role_claims_revoked ON role_claims (run, business, role) WHERE op = 'revoke';
CREATE UNIQUE INDEX role_claims_decision ON role_claims (decision) WHERE decision IS NOT NULL;

-- A lane is one first-in-first-out queue of deliveries: a role instance's, the
-- human's or the testers' (a thread gets its own when threads come). lane_no
-- counts a lane's messages, so that what was delivered is always a prefix and
-- totals need no counting.
CREATE TABLE messages (
  seq         INTEGER PRIMARY KEY,
  id          TEXT NOT NULL UNIQUE CHECK (length(id) = 36),
  business    TEXT NOT NULL CHECK (business <> ''),
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
CREATE INDEX messages_corrects ON messages (corrects) WHERE corrects IS NOT NULL;
CREATE INDEX messages_decision ON messages (decision, seq) WHERE decision IS NOT NULL;
CREATE INDEX messages_request ON messages (request) WHERE request IS NOT NULL;

-- read_no counts a lane's read receipts, so that the unread need no counting.
CREATE TABLE deliveries (
  seq      INTEGER PRIMARY KEY,
  business TEXT NOT NULL,
  message  TEXT NOT NULL REFERENCES messages (id),
  lane     TEXT NOT NULL,
  lane_no  INTEGER NOT NULL,
  run      TEXT NOT NULL,
  state    TEXT NOT NULL CHECK (state IN ('routed', 'delivered', 'read')),
  read_no  INTEGER CHECK ((read_no IS NOT NULL) = (state = 'read')),
  at       TEXT NOT NULL CHECK (strftime('%Y-%m-%dT%H:%M:%fZ', at) IS at)
) STRICT;
CREATE INDEX deliveries_message ON deliveries (message, seq);
CREATE UNIQUE INDEX deliveries_delivered ON deliveries (business, lane, lane_no) WHERE state = 'delivered';
CREATE UNIQUE INDEX deliveries_read ON deliveries (message) WHERE state = 'read';
CREATE UNIQUE INDEX deliveries_reads ON deliveries (business, lane, read_no) WHERE state = 'read';

-- Projections: derived, maintained by the triggers below, recomputed by verify.

CREATE TABLE delivery_unread (
  business TEXT NOT NULL,
  lane     TEXT NOT NULL,
  lane_no  INTEGER NOT NULL,
  message  TEXT NOT NULL,
  run      TEXT NOT NULL,                 -- the run that it was delivered to
  at       TEXT NOT NULL,                 -- when it was delivered
  PRIMARY KEY (business, lane, lane_no)
) STRICT, WITHOUT ROWID;
CREATE INDEX delivery_unread_run ON delivery_unread (business, lane, run, lane_no);

CREATE TABLE decision_open (
  business TEXT NOT NULL,
  route    TEXT NOT NULL,
  gated    INTEGER NOT NULL,
  seq      INTEGER NOT NULL,
  decision TEXT NOT NULL,
  PRIMARY KEY (business, route, gated DESC, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE session_open (
  seq INTEGER PRIMARY KEY,                -- of the session.launched event
  run TEXT NOT NULL UNIQUE
) STRICT;

-- Views for people who read the file with other tools (mode=ro).

CREATE VIEW role_current AS
  SELECT c.* FROM role_claims c
  WHERE c.op = 'claim' AND c.seq = (SELECT max(seq) FROM role_claims x WHERE x.business = c.business AND x.role = c.role);

CREATE VIEW decision_current AS
  SELECT d.*, e.kind AS closed, e.choice AS choice, e.by AS closed_by, e.via AS via, e.at AS closed_at
  FROM decisions d LEFT JOIN decision_events e ON e.decision = d.id AND e.kind <> 'seen';

-- Guards. Each rule raises the static code that the broker would have given.

CREATE TRIGGER meta_no_insert BEFORE INSERT ON meta
WHEN EXISTS (SELECT 1 FROM meta WHERE key = 'schema_version')
BEGIN SELECT RAISE(ABORT, 'meta-immutable'); END;
CREATE TRIGGER meta_no_update BEFORE UPDATE ON meta BEGIN SELECT RAISE(ABORT, 'meta-immutable'); END;
CREATE TRIGGER meta_no_delete BEFORE DELETE ON meta BEGIN SELECT RAISE(ABORT, 'meta-immutable'); END;

CREATE TRIGGER decisions_no_update BEFORE UPDATE ON decisions BEGIN SELECT RAISE(ABORT, 'evidence-immutable'); END;
CREATE TRIGGER decisions_no_delete BEFORE DELETE ON decisions BEGIN SELECT RAISE(ABORT, 'evidence-immutable'); END;
CREATE TRIGGER decisions_guard BEFORE INSERT ON decisions
BEGIN
  SELECT CASE
    WHEN NEW.seq IS NOT coalesce((SELECT max(seq) FROM decisions), 0) + 1
      OR NEW.at <= (SELECT at FROM decisions WHERE seq = NEW.seq - 1)
      OR EXISTS (SELECT 1 FROM decisions WHERE id = NEW.id)
    THEN RAISE(ABORT, 'evidence-order')
    -- Only the run that holds the role raises for it.
    WHEN NEW.raised_by_run IS NOT (
      SELECT CASE op WHEN 'claim' THEN run END FROM role_claims
      WHERE business = NEW.business AND role = NEW.raised_by_role ORDER BY seq DESC LIMIT 1)
    THEN RAISE(ABORT, 'not-holder')
    WHEN (SELECT count(DISTINCT value ->> 'key') FROM json_each(NEW.options)) IS NOT json_array_length(NEW.options)
      OR EXISTS (SELECT 1 FROM json_each(NEW.options)
                 WHERE json_type(value, '$.key') IS NOT 'text' OR json_type(value, '$.text') IS NOT 'text'
                    OR length(value ->> 'key') NOT BETWEEN 1 AND 160 OR length(value ->> 'text') NOT BETWEEN 1 AND 1024)
    THEN RAISE(ABORT, 'invalid-options')
    WHEN NOT EXISTS (SELECT 1 FROM json_each(NEW.options) WHERE value ->> 'key' = NEW.recommendation)
    THEN RAISE(ABORT, 'invalid-recommendation')
    WHEN NOT EXISTS (SELECT 1 FROM json_each(NEW.options) WHERE value ->> 'key' = NEW.approval_choice)
    THEN RAISE(ABORT, 'invalid-approval-choice')
    -- Only an open decision of the same instance and thread is superseded.
    WHEN NEW.supersedes IS NOT NULL AND (
      NOT EXISTS (SELECT 1 FROM decisions d WHERE d.id = NEW.supersedes AND d.business = NEW.business
                  AND d.raised_by_role = NEW.raised_by_role AND d.thread IS NEW.thread)
      OR EXISTS (SELECT 1 FROM decision_events WHERE decision = NEW.supersedes AND kind <> 'seen'))
    THEN RAISE(ABORT, 'supersede-refused')
  END;
END;
CREATE TRIGGER decisions_opened AFTER INSERT ON decisions
BEGIN INSERT INTO decision_open VALUES (NEW.business, NEW.route, NEW.class = 'gated', NEW.seq, NEW.id); END;

CREATE TRIGGER decision_events_no_update BEFORE UPDATE ON decision_events BEGIN SELECT RAISE(ABORT, 'evidence-immutable'); END;
CREATE TRIGGER decision_events_no_delete BEFORE DELETE ON decision_events BEGIN SELECT RAISE(ABORT, 'evidence-immutable'); END;
CREATE TRIGGER decision_events_guard BEFORE INSERT ON decision_events
BEGIN
  SELECT CASE
    WHEN NEW.seq IS NOT coalesce((SELECT max(seq) FROM decision_events), 0) + 1
      OR NEW.at <= (SELECT at FROM decision_events WHERE seq = NEW.seq - 1)
    THEN RAISE(ABORT, 'evidence-order')
    WHEN NOT EXISTS (SELECT 1 FROM decisions WHERE id = NEW.decision AND business = NEW.business)
    THEN RAISE(ABORT, 'decision-not-found')
    WHEN EXISTS (SELECT 1 FROM decision_events WHERE decision = NEW.decision AND kind <> 'seen')
    THEN RAISE(ABORT, 'decision-closed')
    -- The routed role or the human acknowledges and resolves, the raiser or
    -- the human withdraws; a within-role decision is the raiser's own.
    WHEN NEW.by_role <> 'human' AND NOT EXISTS (
      SELECT 1 FROM decisions d WHERE d.id = NEW.decision AND NEW.by_role = CASE
        WHEN NEW.kind = 'withdrawn' OR d.class = 'within-role' THEN d.raised_by_role ELSE d.route END)
    THEN RAISE(ABORT, 'not-resolver')
    WHEN NEW.by_role <> 'human' AND NEW.by IS NOT (
      SELECT CASE op WHEN 'claim' THEN run END FROM role_claims
      WHERE business = NEW.business AND role = NEW.by_role ORDER BY seq DESC LIMIT 1)
    THEN RAISE(ABORT, 'not-holder')
    WHEN NEW.choice IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM decisions d, json_each(d.options) o WHERE d.id = NEW.decision AND o.value ->> 'key' = NEW.choice)
    THEN RAISE(ABORT, 'invalid-choice')
    -- A human's close rests on a proven input.
    WHEN (NEW.by_role = 'human') IS NOT (NEW.via = 'cli')
      OR (NEW.by_role = 'human' AND NEW.kind <> 'seen' AND NEW.input IS NULL)
      OR (NEW.input IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM events WHERE id = NEW.input AND business = NEW.business AND kind = 'human.input'))
    THEN RAISE(ABORT, 'human-required')
  END;
END;
CREATE TRIGGER decision_events_close_open AFTER INSERT ON decision_events
WHEN NEW.kind <> 'seen'
BEGIN
  DELETE FROM decision_open
  WHERE (business, route, gated, seq) = (
    SELECT business, route, class = 'gated', seq FROM decisions WHERE id = NEW.decision);
END;

CREATE TRIGGER events_no_update BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'evidence-immutable'); END;
CREATE TRIGGER events_no_delete BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'evidence-immutable'); END;
CREATE TRIGGER events_guard BEFORE INSERT ON events
BEGIN
  SELECT CASE
    WHEN NEW.seq IS NOT coalesce((SELECT max(seq) FROM events), 0) + 1
      OR NEW.at <= (SELECT at FROM events WHERE seq = NEW.seq - 1)
      OR EXISTS (SELECT 1 FROM events WHERE id = NEW.id)
    THEN RAISE(ABORT, 'evidence-order')
    WHEN NEW.kind = 'session.launched' AND (
      NEW.run IS NULL OR NEW.role IS NULL OR NEW.role IN ('human', 'tester', '_bus')
      OR EXISTS (SELECT 1 FROM events WHERE run = NEW.run AND kind = 'session.launched'))
    THEN RAISE(ABORT, 'launch-mismatch')
    WHEN NEW.kind = 'session.ended' AND NOT EXISTS (
      SELECT 1 FROM events WHERE run = NEW.run AND kind = 'session.launched'
        AND business = NEW.business AND role IS NEW.role)
    THEN RAISE(ABORT, 'unknown-run')
    WHEN NEW.kind = 'session.ended' AND EXISTS (SELECT 1 FROM events WHERE run = NEW.run AND kind = 'session.ended')
    THEN RAISE(ABORT, 'run-ended')
    -- An approval is spent once, on what it was given for, by whom it was
    -- given to.
    WHEN NEW.spends IS NOT NULL AND EXISTS (SELECT 1 FROM events WHERE spends = NEW.spends)
    THEN RAISE(ABORT, 'decision-consumed')
    WHEN NEW.spends IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM decisions d JOIN decision_events e ON e.decision = d.id AND e.kind <> 'seen'
      WHERE d.id = NEW.spends AND d.business = NEW.business AND d.raised_by_role = NEW.role
        AND e.kind = 'resolved' AND e.choice = d.approval_choice
        AND d.action = NEW.body ->> 'action' AND d.target IS NEW.body ->> 'target')
    THEN RAISE(ABORT, 'decision-mismatch')
    WHEN NEW.message IS NOT NULL AND (
      EXISTS (SELECT 1 FROM events WHERE message = NEW.message)
      OR NOT EXISTS (SELECT 1 FROM messages WHERE id = NEW.message AND business = NEW.business
                     AND from_role = NEW.role AND from_run = NEW.run))
    THEN RAISE(ABORT, 'message-not-found')
  END;
END;
CREATE TRIGGER events_session_opened AFTER INSERT ON events WHEN NEW.kind = 'session.launched'
BEGIN INSERT INTO session_open VALUES (NEW.seq, NEW.run); END;
CREATE TRIGGER events_session_closed AFTER INSERT ON events WHEN NEW.kind = 'session.ended'
BEGIN DELETE FROM session_open WHERE run = NEW.run; END;

CREATE TRIGGER role_claims_no_update BEFORE UPDATE ON role_claims BEGIN SELECT RAISE(ABORT, 'evidence-immutable'); END;
CREATE TRIGGER role_claims_no_delete BEFORE DELETE ON role_claims BEGIN SELECT RAISE(ABORT, 'evidence-immutable'); END;
CREATE TRIGGER role_claims_guard BEFORE INSERT ON role_claims
BEGIN
  SELECT CASE
    WHEN NEW.seq IS NOT coalesce((SELECT max(seq) FROM role_claims), 0) + 1
      OR NEW.at <= (SELECT at FROM role_claims WHERE seq = NEW.seq - 1)
    THEN RAISE(ABORT, 'evidence-order')
    WHEN NEW.op = 'claim' AND NOT EXISTS (
      SELECT 1 FROM events WHERE run = NEW.run AND kind = 'session.launched' AND business = NEW.business AND role = NEW.role)
    THEN RAISE(ABORT, 'unknown-run')
    WHEN NEW.op = 'claim' AND EXISTS (SELECT 1 FROM events WHERE run = NEW.run AND kind = 'session.ended')
    THEN RAISE(ABORT, 'run-ended')
    WHEN NEW.op = 'claim' AND EXISTS (
      SELECT 1 FROM role_claims WHERE run = NEW.run AND business = NEW.business AND role = NEW.role AND op = 'revoke')
    THEN RAISE(ABORT, 'run-revoked')
    WHEN NEW.op = 'claim' AND 'claim' = (
      SELECT op FROM role_claims WHERE business = NEW.business AND role = NEW.role ORDER BY seq DESC LIMIT 1)
    THEN RAISE(ABORT, 'role-already-held')
    WHEN NEW.op <> 'claim' AND NEW.run IS NOT (
      SELECT CASE op WHEN 'claim' THEN run END FROM role_claims
      WHERE business = NEW.business AND role = NEW.role ORDER BY seq DESC LIMIT 1)
    THEN RAISE(ABORT, 'not-holder')
  END;
END;
-- A revoke has an approval for exactly this role and holder, or a reason.
CREATE TRIGGER role_revoke_needs_decision BEFORE INSERT ON role_claims WHEN NEW.op = 'revoke'
BEGIN
  SELECT CASE
    WHEN NEW.decision IS NULL AND NEW.reason IS NULL THEN RAISE(ABORT, 'decision-required')
    WHEN NEW.decision IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM decisions d JOIN decision_events e ON e.decision = d.id AND e.kind <> 'seen'
      WHERE d.id = NEW.decision AND d.business = NEW.business AND e.kind = 'resolved' AND e.choice = d.approval_choice)
    THEN RAISE(ABORT, 'decision-required')
    WHEN NEW.decision IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM decisions WHERE id = NEW.decision AND action = 'role.revoke'
        AND target = NEW.role AND holder_run IS NEW.run)
    THEN RAISE(ABORT, 'decision-mismatch')
    WHEN NEW.decision IS NOT NULL AND EXISTS (SELECT 1 FROM role_claims WHERE decision = NEW.decision)
    THEN RAISE(ABORT, 'decision-consumed')
  END;
END;

CREATE TRIGGER messages_no_update BEFORE UPDATE ON messages BEGIN SELECT RAISE(ABORT, 'evidence-immutable'); END;
CREATE TRIGGER messages_no_delete BEFORE DELETE ON messages BEGIN SELECT RAISE(ABORT, 'evidence-immutable'); END;
CREATE TRIGGER messages_guard BEFORE INSERT ON messages
BEGIN
  SELECT CASE
    WHEN NEW.seq IS NOT coalesce((SELECT max(seq) FROM messages), 0) + 1
      OR NEW.at <= (SELECT at FROM messages WHERE seq = NEW.seq - 1)
      OR EXISTS (SELECT 1 FROM messages WHERE id = NEW.id)
      OR NEW.lane IS NOT NEW.to_role
      OR NEW.lane_no IS NOT coalesce((
        SELECT max(lane_no) FROM messages WHERE business = NEW.business AND lane = NEW.lane), 0) + 1
    THEN RAISE(ABORT, 'evidence-order')
    -- The reserved senders have their reserved runs; any other sender is the
    -- run that holds the role.
    WHEN NEW.to_role = '_bus' OR CASE NEW.from_role
      WHEN 'human'  THEN NEW.from_run <> 'human-cli'
      WHEN 'tester' THEN NEW.from_run <> 'tester-cli'
      WHEN '_bus'   THEN NEW.from_run <> 'bus'
      ELSE NEW.from_run IN ('human-cli', 'tester-cli', 'bus') END
    THEN RAISE(ABORT, 'unknown-role')
    WHEN NEW.from_role NOT IN ('human', 'tester', '_bus') AND NEW.from_run IS NOT (
      SELECT CASE op WHEN 'claim' THEN run END FROM role_claims
      WHERE business = NEW.business AND role = NEW.from_role ORDER BY seq DESC LIMIT 1)
    THEN RAISE(ABORT, 'not-holder')
    WHEN NEW.in_reply_to IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM messages WHERE id = NEW.in_reply_to AND business = NEW.business)
    THEN RAISE(ABORT, 'message-not-found')
    WHEN NEW.corrects IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM messages WHERE id = NEW.corrects AND business = NEW.business
        AND from_role = NEW.from_role AND to_role = NEW.to_role)
    THEN RAISE(ABORT, 'message-not-found')
    WHEN NEW.decision IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM decisions WHERE id = NEW.decision AND business = NEW.business)
    THEN RAISE(ABORT, 'decision-not-found')
    WHEN NEW.request IS NOT NULL AND (NEW.from_role <> 'human' OR NOT EXISTS (
      SELECT 1 FROM events WHERE id = NEW.request AND business = NEW.business AND kind = 'human.input'))
    THEN RAISE(ABORT, 'human-required')
  END;
END;

CREATE TRIGGER deliveries_no_update BEFORE UPDATE ON deliveries BEGIN SELECT RAISE(ABORT, 'evidence-immutable'); END;
CREATE TRIGGER deliveries_no_delete BEFORE DELETE ON deliveries BEGIN SELECT RAISE(ABORT, 'evidence-immutable'); END;
CREATE TRIGGER deliveries_guard BEFORE INSERT ON deliveries
BEGIN
  SELECT CASE
    WHEN NEW.seq IS NOT coalesce((SELECT max(seq) FROM deliveries), 0) + 1
      OR NEW.at <= (SELECT at FROM deliveries WHERE seq = NEW.seq - 1)
    THEN RAISE(ABORT, 'evidence-order')
    WHEN NOT EXISTS (
      SELECT 1 FROM messages
      WHERE id = NEW.message AND business = NEW.business AND lane = NEW.lane AND lane_no = NEW.lane_no)
    THEN RAISE(ABORT, 'message-not-found')
    -- Routing and delivering go to the current holder only; the human and the
    -- testers hold nothing and are delivered to their own address.
    WHEN NEW.state <> 'read' AND CASE NEW.lane
      WHEN 'human'  THEN NEW.run <> 'human-cli'  OR NEW.state = 'routed'
      WHEN 'tester' THEN NEW.run <> 'tester-cli' OR NEW.state = 'routed'
      ELSE NEW.run IS NOT (
        SELECT CASE c.op WHEN 'claim' THEN c.run END FROM messages m, role_claims c
        WHERE m.id = NEW.message AND c.business = m.business AND c.role = m.to_role ORDER BY c.seq DESC LIMIT 1) END
    THEN RAISE(ABORT, 'not-holder')
    WHEN NEW.state = 'routed' AND EXISTS (
      SELECT 1 FROM deliveries WHERE message = NEW.message AND (state <> 'routed' OR run = NEW.run))
    THEN RAISE(ABORT, 'evidence-order')
    -- Delivered once and in order: a message is never delivered again, to the
    -- same or another holder.
    WHEN NEW.state = 'delivered' AND NEW.lane_no IS NOT coalesce((
      SELECT max(lane_no) FROM deliveries
      WHERE business = NEW.business AND lane = NEW.lane AND state = 'delivered'), 0) + 1
    THEN RAISE(ABORT, 'evidence-order')
    WHEN NEW.state = 'delivered' AND NEW.lane NOT IN ('human', 'tester') AND NOT EXISTS (
      SELECT 1 FROM deliveries WHERE message = NEW.message AND run = NEW.run AND state = 'routed')
    THEN RAISE(ABORT, 'not-holder')
    -- Only the run that received a message acknowledges it, once.
    WHEN NEW.state = 'read' AND NOT EXISTS (
      SELECT 1 FROM deliveries WHERE message = NEW.message AND run = NEW.run AND state = 'delivered')
    THEN RAISE(ABORT, 'message-not-found')
    WHEN NEW.state = 'read' AND (
      EXISTS (SELECT 1 FROM deliveries WHERE message = NEW.message AND state = 'read')
      OR NEW.read_no IS NOT coalesce((
        SELECT max(read_no) FROM deliveries
        WHERE business = NEW.business AND lane = NEW.lane AND state = 'read'), 0) + 1)
    THEN RAISE(ABORT, 'evidence-order')
  END;
END;
CREATE TRIGGER deliveries_unread_add AFTER INSERT ON deliveries WHEN NEW.state = 'delivered'
BEGIN
  INSERT INTO delivery_unread VALUES (NEW.business, NEW.lane, NEW.lane_no, NEW.message, NEW.run, NEW.at);
END;
CREATE TRIGGER deliveries_unread_remove AFTER INSERT ON deliveries WHEN NEW.state = 'read'
BEGIN
  DELETE FROM delivery_unread WHERE business = NEW.business AND lane = NEW.lane AND lane_no = NEW.lane_no;
END;

-- A projection changes only as the evidence already says.

CREATE TRIGGER delivery_unread_no_update BEFORE UPDATE ON delivery_unread BEGIN SELECT RAISE(ABORT, 'projection-mismatch'); END;
CREATE TRIGGER delivery_unread_no_delete BEFORE DELETE ON delivery_unread
WHEN NOT EXISTS (SELECT 1 FROM deliveries WHERE message = OLD.message AND state = 'read')
BEGIN SELECT RAISE(ABORT, 'projection-mismatch'); END;
CREATE TRIGGER delivery_unread_guard BEFORE INSERT ON delivery_unread
WHEN NOT EXISTS (
    SELECT 1 FROM deliveries WHERE business = NEW.business AND lane = NEW.lane AND lane_no = NEW.lane_no
      AND state = 'delivered' AND message = NEW.message AND run = NEW.run AND at = NEW.at)
  OR EXISTS (SELECT 1 FROM deliveries WHERE message = NEW.message AND state = 'read')
BEGIN SELECT RAISE(ABORT, 'projection-mismatch'); END;

CREATE TRIGGER decision_open_no_update BEFORE UPDATE ON decision_open BEGIN SELECT RAISE(ABORT, 'projection-mismatch'); END;
CREATE TRIGGER decision_open_no_delete BEFORE DELETE ON decision_open
WHEN NOT EXISTS (SELECT 1 FROM decision_events WHERE decision = OLD.decision AND kind <> 'seen')
BEGIN SELECT RAISE(ABORT, 'projection-mismatch'); END;
CREATE TRIGGER decision_open_guard BEFORE INSERT ON decision_open
WHEN NOT EXISTS (
    SELECT 1 FROM decisions WHERE id = NEW.decision AND seq = NEW.seq AND business = NEW.business
      AND route = NEW.route AND (class = 'gated') = NEW.gated)
  OR EXISTS (SELECT 1 FROM decision_events WHERE decision = NEW.decision AND kind <> 'seen')
BEGIN SELECT RAISE(ABORT, 'projection-mismatch'); END;

CREATE TRIGGER session_open_no_update BEFORE UPDATE ON session_open BEGIN SELECT RAISE(ABORT, 'projection-mismatch'); END;
CREATE TRIGGER session_open_no_delete BEFORE DELETE ON session_open
WHEN NOT EXISTS (SELECT 1 FROM events WHERE run = OLD.run AND kind = 'session.ended')
BEGIN SELECT RAISE(ABORT, 'projection-mismatch'); END;
CREATE TRIGGER session_open_guard BEFORE INSERT ON session_open
WHEN NOT EXISTS (SELECT 1 FROM events WHERE seq = NEW.seq AND run = NEW.run AND kind = 'session.launched')
  OR EXISTS (SELECT 1 FROM events WHERE run = NEW.run AND kind = 'session.ended')
BEGIN SELECT RAISE(ABORT, 'projection-mismatch'); END;
