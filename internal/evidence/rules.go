package evidence

// rules are what Verify checks beyond the chain: that the projections are what
// the evidence says, and that the rules which the guards hold one row at a
// time hold for the history as a whole. They find what was written around the
// guards.
var rules = []rule{
	{"delivery_unread", "a delivered message without a receipt is not listed as unread", `
		SELECT seq FROM deliveries d WHERE state = 'delivered'
		  AND NOT EXISTS (SELECT 1 FROM deliveries WHERE message = d.message AND state = 'read')
		  AND NOT EXISTS (SELECT 1 FROM delivery_unread u WHERE u.business = d.business AND u.lane = d.lane
		    AND u.lane_no = d.lane_no AND u.message = d.message AND u.run = d.run AND u.at = d.at)`},
	{"delivery_unread", "a message is listed as unread that is not", `
		SELECT lane_no FROM delivery_unread u WHERE NOT EXISTS (
		  SELECT 1 FROM deliveries d WHERE d.business = u.business AND d.lane = u.lane AND d.lane_no = u.lane_no
		    AND d.state = 'delivered' AND d.message = u.message AND d.run = u.run AND d.at = u.at)
		OR EXISTS (SELECT 1 FROM deliveries WHERE message = u.message AND state = 'read')`},
	{"decision_open", "an open decision is not listed as open", `
		SELECT seq FROM decisions d
		WHERE NOT EXISTS (SELECT 1 FROM decision_events WHERE decision = d.id AND kind <> 'seen')
		  AND NOT EXISTS (SELECT 1 FROM decision_open o WHERE o.business = d.business AND o.route = d.route
		    AND o.gated = (d.class = 'gated') AND o.seq = d.seq AND o.decision = d.id)`},
	{"decision_open", "a decision is listed as open that is not", `
		SELECT seq FROM decision_open o WHERE NOT EXISTS (
		  SELECT 1 FROM decisions d WHERE d.business = o.business AND d.route = o.route
		    AND o.gated = (d.class = 'gated') AND o.seq = d.seq AND o.decision = d.id)
		OR EXISTS (SELECT 1 FROM decision_events WHERE decision = o.decision AND kind <> 'seen')`},
	{"session_open", "a run that has not ended is not listed as open", `
		SELECT seq FROM events e WHERE kind = 'session.launched'
		  AND NOT EXISTS (SELECT 1 FROM events WHERE run = e.run AND kind = 'session.ended')
		  AND NOT EXISTS (SELECT 1 FROM session_open o WHERE o.seq = e.seq AND o.run = e.run)`},
	{"session_open", "a run is listed as open that is not", `
		SELECT seq FROM session_open o WHERE NOT EXISTS (
		  SELECT 1 FROM events WHERE seq = o.seq AND run = o.run AND kind = 'session.launched')
		OR EXISTS (SELECT 1 FROM events WHERE run = o.run AND kind = 'session.ended')`},

	{"role_claims", "a role has a second holder, or is given up by a run that does not hold it", `
		SELECT seq FROM (
		  SELECT seq, op, run, lag(op) OVER w AS op_before, lag(run) OVER w AS run_before FROM role_claims
		  WINDOW w AS (PARTITION BY business, role ORDER BY seq))
		WHERE CASE op WHEN 'claim' THEN op_before = 'claim'
		  ELSE op_before IS NOT 'claim' OR run_before IS NOT run END`},
	{"role_claims", "a revoked run claims the role again", `
		SELECT c.seq FROM role_claims c JOIN role_claims r
		  ON r.run = c.run AND r.business = c.business AND r.role = c.role AND r.op = 'revoke' AND r.seq < c.seq
		WHERE c.op = 'claim'`},
	{"role_claims", "a run claims a role that it was not launched for, or after its end", `
		SELECT c.seq FROM role_claims c WHERE c.op = 'claim' AND (NOT EXISTS (
		    SELECT 1 FROM events e WHERE e.run = c.run AND e.kind = 'session.launched'
		      AND e.business = c.business AND e.role = c.role AND e.at < c.at)
		  OR EXISTS (SELECT 1 FROM events e WHERE e.run = c.run AND e.kind = 'session.ended' AND e.at < c.at))`},
	{"role_claims", "a revoke rests on an approval that was not used up for it", `
		SELECT c.seq FROM role_claims c
		WHERE c.decision IS NOT NULL AND NOT EXISTS (SELECT 1 FROM events WHERE spends = c.decision)`},

	{"events", "an approval is used up a second time", `
		SELECT max(seq) FROM events WHERE spends IS NOT NULL GROUP BY spends HAVING count(*) > 1`},
	{"events", "an approval is used up that was not given, or for something else, or by another role", `
		SELECT a.seq FROM events a WHERE a.spends IS NOT NULL AND NOT EXISTS (
		  SELECT 1 FROM decisions d JOIN decision_events e ON e.decision = d.id AND e.kind = 'resolved'
		  WHERE d.id = a.spends AND d.business = a.business AND d.raised_by_role = a.role AND e.at < a.at
		    AND e.choice = d.approval_choice AND d.action = a.body ->> 'action' AND d.target IS a.body ->> 'target')`},
	{"events", "a run is launched or ended twice, or ended and never launched", `
		SELECT e.seq FROM events e WHERE e.kind IN ('session.launched', 'session.ended') AND (
		  EXISTS (SELECT 1 FROM events x WHERE x.run = e.run AND x.kind = e.kind AND x.seq < e.seq)
		  OR (e.kind = 'session.ended' AND NOT EXISTS (
		    SELECT 1 FROM events x WHERE x.run = e.run AND x.kind = 'session.launched' AND x.seq < e.seq)))`},

	{"decision_events", "a decision is closed twice, or acknowledged after its close", `
		SELECT e.seq FROM decision_events e JOIN decision_events c
		  ON c.decision = e.decision AND c.kind <> 'seen' AND c.seq < e.seq`},
	{"decision_events", "a human's close rests on no proven input", `
		SELECT e.seq FROM decision_events e WHERE e.by_role = 'human' AND e.kind <> 'seen' AND NOT EXISTS (
		  SELECT 1 FROM events i WHERE i.id = e.input AND i.business = e.business AND i.kind = 'human.input' AND i.at < e.at)`},
	{"decisions", "a superseded decision was not withdrawn", `
		SELECT d.seq FROM decisions d WHERE d.supersedes IS NOT NULL AND NOT EXISTS (
		  SELECT 1 FROM decision_events WHERE decision = d.supersedes AND kind = 'withdrawn')`},

	{"messages", "a lane has a gap", `
		SELECT seq FROM (
		  SELECT seq, lane_no, row_number() OVER (PARTITION BY business, lane ORDER BY seq) AS n FROM messages)
		WHERE lane_no <> n`},
	{"deliveries", "a lane was not delivered in order, each message once", `
		SELECT seq FROM (
		  SELECT seq, lane_no, row_number() OVER (PARTITION BY business, lane ORDER BY seq) AS n
		  FROM deliveries WHERE state = 'delivered')
		WHERE lane_no <> n`},
	{"deliveries", "a message is read by another run than it was delivered to, or twice", `
		SELECT r.seq FROM deliveries r WHERE r.state = 'read' AND (
		  NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.message = r.message AND d.run = r.run
		    AND d.state = 'delivered' AND d.seq < r.seq)
		  OR EXISTS (SELECT 1 FROM deliveries d WHERE d.message = r.message AND d.state = 'read' AND d.seq < r.seq))`},
	{"deliveries", "the read receipts of a lane are miscounted", `
		SELECT seq FROM (
		  SELECT seq, read_no, row_number() OVER (PARTITION BY business, lane ORDER BY seq) AS n
		  FROM deliveries WHERE state = 'read')
		WHERE read_no <> n`},
}
