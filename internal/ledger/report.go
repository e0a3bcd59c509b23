package ledger

import (
	"mosaicstack.dev/mosaic/internal/queue"
)

// The checks, as part of a violation's identity.
const (
	CheckClosure      = "issue-open"   // every row that closes an open issue is done
	CheckRegistration = "registration" // the owner of active work has none that counts
	CheckAge          = "required-age" // a required row is older than MaxAge
)

// The results of a run. There is no full pass (QUEUE-LEDGER-43).
const (
	Fail        = "fail"
	Incomplete  = "incomplete"
	ReducedPass = "reduced pass"
)

// What became of the queue's issue checks.
const (
	IssuesComplete   = "complete"
	IssuesIncomplete = "incomplete"
	IssuesNotRun     = "not run"
)

// Identity tells violations apart from run to run (QUEUE-LEDGER-52).
type Identity struct {
	Check string      `json:"check"`
	Row   queue.RowID `json:"row"`
	Issue *int        `json:"issue"`
}

// same compares two identities by value.
func (i Identity) same(other Identity) bool {
	return i.Check == other.Check && i.Row == other.Row &&
		(i.Issue == nil) == (other.Issue == nil) && (i.Issue == nil || *i.Issue == *other.Issue)
}

// Finding is a violation, something undecided, or a matter for disposition.
type Finding struct {
	Identity
	Detail string `json:"detail"` // one line, for people
}

// Change is an operation on a row that is required or parked, before or after
// it (QUEUE-LEDGER-05).
type Change struct {
	Rev  int         `json:"rev"`
	Row  queue.RowID `json:"row"`
	Verb string      `json:"verb"`
	From string      `json:"from"`
	To   string      `json:"to"`
	By   queue.Seat  `json:"by"`
	At   string      `json:"at"`
}

// Section is the report on the queue.
type Section struct {
	Result       string    `json:"result"`
	Revision     int       `json:"revision"`
	Violations   []Finding `json:"violations"`
	Outstanding  []Finding `json:"outstanding"` // of an earlier run of the day, not shown to be remedied
	Remediated   []Finding `json:"remediated"`
	Undecided    []Finding `json:"undecided"`
	Dispositions []Finding `json:"dispositions"`
	IssueChecks  string    `json:"issueChecks"`
	Liveness     Liveness  `json:"liveness"`
	Changes      []Change  `json:"changes"`
}

// Week is one line of the table. Issue counts are null when the issues were
// not read, and lower bounds when the page was full.
type Week struct {
	Monday  string `json:"monday"` // YYYY-MM-DD
	Opened  *int   `json:"issuesOpened"`
	Closed  *int   `json:"issuesClosed"`
	Added   int    `json:"rowsAdded"`
	Started int    `json:"rowsStarted"`
	Done    int    `json:"rowsDone"`
}

// Report is one dated run.
type Report struct {
	At         string  `json:"at"`    // UTC, of this run (QUEUE-LEDGER-56)
	Since      string  `json:"since"` // the range's begin
	Calls      int     `json:"calls"` // made to the issue server
	Queue      Section `json:"queue"`
	Weeks      []Week  `json:"weeks"`
	LowerBound bool    `json:"issuesAreLowerBounds"` // the table's page was full
}
