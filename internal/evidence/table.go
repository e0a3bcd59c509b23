package evidence

import "strings"

// table describes an evidence table: the columns in the order of the schema.
// Inserts, reads and the hash chain are made from this one list; a test
// compares it with the schema.
type table struct {
	name    string
	insert  string // SQL
	columns []string
	since   int // version of the schema
	chained bool
	encoded [][]byte // of each column, the part of the chain's encoding that never changes
}

type tableID int

const (
	tDecisions tableID = iota
	tDecisionEvents
	tEvents
	tRoleClaims
	tMessages
	tDeliveries
	tCheckpoints
	numTables
)

var tables = [numTables]*table{
	tDecisions: newTable("decisions", 1, true, `seq id business action question options recommendation
		approval_choice blocking class route domain target project spec_path spec_commit task_ref
		requirement_ref supersedes raised_by_role raised_by_run thread holder_run at`),
	tDecisionEvents: newTable("decision_events", 1, true, `seq decision business kind by by_role via choice note input at`),
	tEvents:         newTable("events", 1, true, `seq id business role run kind subject spends message body prev at`),
	tRoleClaims:     newTable("role_claims", 1, true, `seq business role run op by decision reason at`),
	tMessages: newTable("messages", 1, true, `seq id business from_role from_run to_role to_name lane lane_no class
		body in_reply_to corrects decision request at`),
	tDeliveries:  newTable("deliveries", 1, true, `seq business message lane lane_no run state read_no at`),
	tCheckpoints: newTable("checkpoints", 2, false, `seq size head note at`),
}

func newTable(name string, since int, chained bool, columns string) *table {
	t := &table{name: name, columns: strings.Fields(columns), since: since, chained: chained}
	for _, c := range t.columns {
		t.encoded = append(t.encoded, appendField(nil, c))
	}
	t.insert = "INSERT INTO " + t.name + " (" + t.selectList("") + ") VALUES (?" +
		strings.Repeat(", ?", len(t.columns)-1) + ")"
	return t
}

// selectList returns the table's columns, each behind the prefix "m.".
func (t *table) selectList(prefix string) string {
	return prefix + strings.Join(t.columns, ", "+prefix)
}
