package evidence

// query names a prepared statement. All of them are listed here, so that a
// test can ask SQLite whether any reads more than it must.
type query int

const (
	qSavepoint query = iota
	qRelease
	qRollbackTo
	qBegin
	qBeginRead
	qCommit
	qRollback

	qHolder
	qHolders
	qRunRevoked
	qLaunched
	qEnded
	qRunsNotEnded
	qEvent
	qLaunchState
	qMessage
	qDecision
	qDecisionClose
	qDecisionSpent
	qOpenDecisions
	qOpenCount
	qOpenRaisedBy
	qInputNeeded
	qOpenRoleDecisions
	qRecentDecisions
	qReplies
	qUndelivered
	qLaneTotal
	qLaneDelivered
	qLaneRead
	qUnreadDelivered
	qFeedTop
	qFeed
	qUnreadBy
	qUnreadSince
	qStranded
	qDelivery
	qUnrouted
	qHolderRun
	qDeliveryTo

	qDecisionsOfTask
	qDecisionsSuperseding
	qDecisionEvents
	qEventsOfSubject
	qEventOfMessage
	qMessagesCiting
	qRepliesAll
	qDeliveriesOf
	qClaimBefore
	qRevocation

	qFindMessages
	qFindDecisions
	qFindEvents
	qFindRuns
	numQueries
)

var (
	claimColumns         = tables[tRoleClaims].selectList("c.")
	eventColumns         = tables[tEvents].selectList("e.")
	messageColumns       = tables[tMessages].selectList("m.")
	deliveryColumns      = tables[tDeliveries].selectList("d.")
	decisionColumns      = tables[tDecisions].selectList("d.")
	decisionEventColumns = tables[tDecisionEvents].selectList("e.")
)

var queries = [numQueries]string{
	qSavepoint:  `SAVEPOINT request`,
	qRelease:    `RELEASE request`,
	qRollbackTo: `ROLLBACK TO request`,
	qBegin:      `BEGIN IMMEDIATE`,
	qBeginRead:  `BEGIN`,
	qCommit:     `COMMIT`,
	qRollback:   `ROLLBACK`,

	qHolder: `SELECT ` + claimColumns + ` FROM role_claims c
		WHERE c.business = ?1 AND c.role = ?2 ORDER BY c.seq DESC LIMIT 1`,
	// One step through the index a role, however many claims each had.
	qHolders: `WITH RECURSIVE r(role) AS (
			SELECT min(role) FROM role_claims WHERE business = ?1
			UNION ALL
			SELECT (SELECT min(role) FROM role_claims WHERE business = ?1 AND role > r.role) FROM r WHERE r.role IS NOT NULL)
		SELECT ` + claimColumns + ` FROM r CROSS JOIN role_claims c ON c.seq = (
			SELECT max(seq) FROM role_claims WHERE business = ?1 AND role = r.role)
		WHERE c.op = 'claim' ORDER BY c.role`,
	qRunRevoked: `SELECT 1 FROM role_claims WHERE run = ?3 AND business = ?1 AND role = ?2 AND op = 'revoke' LIMIT 1`,
	qLaunched:   `SELECT ` + eventColumns + ` FROM events e WHERE e.run = ?1 AND e.kind = 'session.launched'`,
	qEnded:      `SELECT ` + eventColumns + ` FROM events e WHERE e.run = ?1 AND e.kind = 'session.ended'`,
	qRunsNotEnded: `SELECT ` + eventColumns + ` FROM session_open s CROSS JOIN events e ON e.seq = s.seq
		ORDER BY s.seq`,
	qEvent: `SELECT ` + eventColumns + ` FROM events e WHERE e.id = ?2 AND e.business = ?1`,
	qLaunchState: `SELECT ` + eventColumns + ` FROM events e
		WHERE e.business = ?1 AND (e.kind = 'launch.revoked' OR e.kind = 'launch.restored') ORDER BY e.seq DESC LIMIT 1`,
	qMessage:  `SELECT ` + messageColumns + ` FROM messages m WHERE m.id = ?2 AND m.business = ?1`,
	qDecision: `SELECT ` + decisionColumns + ` FROM decisions d WHERE d.id = ?2 AND d.business = ?1`,
	qDecisionClose: `SELECT ` + decisionEventColumns + ` FROM decision_events e
		WHERE e.decision = ?1 AND e.kind <> 'seen'`,
	qDecisionSpent: `SELECT ` + eventColumns + ` FROM events e WHERE e.spends = ?1`,
	qOpenDecisions: `SELECT ` + decisionColumns + ` FROM decision_open o CROSS JOIN decisions d ON d.seq = o.seq
		WHERE o.business = ?1 AND o.route = ?2 ORDER BY o.gated DESC, o.seq LIMIT ?3`,
	qOpenCount: `SELECT count(*) FROM decision_open WHERE business = ?1 AND route = ?2`,
	// These two look at every open decision of the business, of which a role
	// can have no more than a few (see AppendDecision's callers); closed ones
	// cost nothing.
	qOpenRaisedBy: `SELECT count(*) FROM decision_open o CROSS JOIN decisions d ON d.seq = o.seq
		WHERE o.business = ?1 AND d.raised_by_role = ?2`,
	qInputNeeded: `SELECT d.raised_by_role, d.id, d.question, d.class, d.blocking, d.task_ref, d.at
		FROM decision_open o CROSS JOIN decisions d ON d.seq = o.seq
		WHERE o.business = ?1 AND o.route = 'human' ORDER BY o.gated DESC, o.seq`,
	qOpenRoleDecisions: `SELECT ` + decisionColumns + ` FROM decision_open o CROSS JOIN decisions d ON d.seq = o.seq
		WHERE o.business = ?1 AND o.route <> 'human' ORDER BY o.seq LIMIT ?2`,
	qRecentDecisions: `SELECT ` + decisionColumns + `, ` + decisionEventColumns + `
		FROM decision_events e CROSS JOIN decisions d ON d.id = e.decision
		WHERE e.business = ?1 AND e.kind <> 'seen' ORDER BY e.seq DESC LIMIT ?2`,
	qReplies: `SELECT ` + messageColumns + ` FROM messages m
		WHERE m.in_reply_to = ?2 AND m.business = ?1 ORDER BY m.seq LIMIT ?3`,

	qUndelivered: `SELECT ` + messageColumns + ` FROM messages m
		WHERE m.business = ?1 AND m.lane = ?2 AND m.lane_no > coalesce((
			SELECT max(lane_no) FROM deliveries WHERE business = ?1 AND lane = ?2 AND state = 'delivered'), 0)
		ORDER BY m.lane_no LIMIT ?3`,
	qLaneTotal:     `SELECT max(lane_no) FROM messages WHERE business = ?1 AND lane = ?2`,
	qLaneDelivered: `SELECT max(lane_no) FROM deliveries WHERE business = ?1 AND lane = ?2 AND state = 'delivered'`,
	qLaneRead:      `SELECT max(read_no) FROM deliveries WHERE business = ?1 AND lane = ?2 AND state = 'read'`,
	qUnreadDelivered: `SELECT ` + messageColumns + ` FROM delivery_unread u CROSS JOIN messages m ON m.id = u.message
		WHERE u.business = ?1 AND u.lane = ?2 ORDER BY u.lane_no LIMIT ?3`,
	qFeedTop: `SELECT lane_no FROM messages WHERE id = ?3 AND business = ?1 AND lane = ?2`,
	qFeed: `SELECT ` + messageColumns + `, EXISTS (
			SELECT 1 FROM deliveries WHERE message = m.id AND state = 'read')
		FROM messages m WHERE m.business = ?1 AND m.lane = ?2 AND m.lane_no < ?3 ORDER BY m.lane_no DESC LIMIT ?4`,
	qUnreadBy: `SELECT count(*) FROM delivery_unread WHERE business = ?1 AND lane = ?2 AND run = ?3`,
	qUnreadSince: `SELECT at FROM delivery_unread
		WHERE business = ?1 AND lane = ?2 AND run = ?3 ORDER BY lane_no LIMIT 1`,
	qStranded: `SELECT u.message, m.from_role, u.run, u.at FROM delivery_unread u CROSS JOIN messages m ON m.id = u.message
		WHERE u.business = ?1 AND u.lane = ?2 AND u.run <> ?3 ORDER BY u.lane_no LIMIT ?4`,
	qDelivery: `SELECT ` + deliveryColumns + ` FROM deliveries d
		WHERE d.message = ?1 AND d.state = ?2 ORDER BY d.seq LIMIT 1`,
	qDeliveryTo: `SELECT ` + deliveryColumns + ` FROM deliveries d
		WHERE d.message = ?1 AND d.run = ?2 AND d.state = 'delivered' ORDER BY d.seq LIMIT 1`,
	qHolderRun: `SELECT CASE op WHEN 'claim' THEN run END FROM role_claims
		WHERE business = ?1 AND role = ?2 ORDER BY seq DESC LIMIT 1`,
	// Undelivered messages of a lane that were not routed to this run.
	qUnrouted: `SELECT ` + messageColumns + ` FROM messages m
		WHERE m.business = ?1 AND m.lane = ?2 AND m.lane_no > coalesce((
			SELECT max(lane_no) FROM deliveries WHERE business = ?1 AND lane = ?2 AND state = 'delivered'), 0)
		AND NOT EXISTS (SELECT 1 FROM deliveries WHERE message = m.id AND run = ?3)
		ORDER BY m.lane_no`,

	qDecisionsOfTask: `SELECT ` + decisionColumns + ` FROM decisions d
		WHERE d.business = ?1 AND d.task_ref = ?2 ORDER BY d.seq`,
	qDecisionsSuperseding: `SELECT ` + decisionColumns + ` FROM decisions d WHERE d.supersedes = ?1 ORDER BY d.seq`,
	qDecisionEvents:       `SELECT ` + decisionEventColumns + ` FROM decision_events e WHERE e.decision = ?1 ORDER BY e.seq`,
	qEventsOfSubject: `SELECT ` + eventColumns + ` FROM events e
		WHERE e.business = ?1 AND e.subject = ?2 ORDER BY e.seq`,
	qEventOfMessage: `SELECT ` + eventColumns + ` FROM events e WHERE e.message = ?1`,
	qMessagesCiting: `SELECT ` + messageColumns + ` FROM messages m WHERE m.decision = ?1 ORDER BY m.seq`,
	qRepliesAll:     `SELECT ` + messageColumns + ` FROM messages m WHERE m.in_reply_to = ?1 ORDER BY m.seq`,
	qDeliveriesOf:   `SELECT ` + deliveryColumns + ` FROM deliveries d WHERE d.message = ?1 ORDER BY d.seq`,
	// A run's claim of its role that was current at a time: its last one before.
	qRevocation: `SELECT ` + claimColumns + ` FROM role_claims c
		WHERE c.run = ?1 AND c.business = ?2 AND c.role = ?3 AND c.op = 'revoke' AND c.decision = ?4`,
	qClaimBefore: `SELECT ` + claimColumns + ` FROM role_claims c
		WHERE c.run = ?1 AND c.business = ?2 AND c.op = 'claim' AND c.at <= ?3 ORDER BY c.seq DESC LIMIT 1`,

	// ?2 is a part of an id, ?3 the least text after all that begin with it, ?4
	// how many of the latest rows are looked at for an end. The plus keeps
	// SQLite from an index of the business, of which all would be read.
	qFindMessages: `SELECT id FROM messages WHERE id >= ?2 AND id < ?3 AND +business = ?1
		UNION ALL SELECT id FROM messages
		WHERE seq > (SELECT max(seq) FROM messages) - ?4 AND +business = ?1 AND substr(id, -length(?2)) = ?2 LIMIT ?5`,
	qFindDecisions: `SELECT id FROM decisions WHERE id >= ?2 AND id < ?3 AND +business = ?1
		UNION ALL SELECT d.id FROM decision_open o CROSS JOIN decisions d ON d.seq = o.seq
		WHERE o.business = ?1 AND substr(d.id, -length(?2)) = ?2
		UNION ALL SELECT id FROM decisions
		WHERE seq > (SELECT max(seq) FROM decisions) - ?4 AND +business = ?1 AND substr(id, -length(?2)) = ?2 LIMIT ?5`,
	qFindEvents: `SELECT id FROM events WHERE id >= ?2 AND id < ?3 AND +business = ?1
		UNION ALL SELECT id FROM events
		WHERE seq > (SELECT max(seq) FROM events) - ?4 AND +business = ?1 AND substr(id, -length(?2)) = ?2 LIMIT ?5`,
	qFindRuns: `SELECT run FROM events WHERE kind = 'session.launched' AND run >= ?2 AND run < ?3 AND +business = ?1
		UNION ALL SELECT run FROM events WHERE seq > (SELECT max(seq) FROM events) - ?4
		AND kind = 'session.launched' AND +business = ?1 AND substr(run, -length(?2)) = ?2 LIMIT ?5`,
}
