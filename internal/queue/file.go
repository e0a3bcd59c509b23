package queue

import "encoding/json"

// Version is the only value of a file's version member (QUEUE-OPEN-06), and
// Semantics the newest rules that this binary knows (QUEUE-OPEN-07).
const (
	Version   = 1
	Semantics = 1
)

// Seat is the name of an actor or owner: a seat, the human, the lead, a label
// or Unassigned. Names are claims; nothing verifies them (QUEUE-STATE-18).
type Seat string

// Unassigned owns rows that nobody has; it never acts.
const Unassigned Seat = "unassigned"

// OpID identifies an operation and its retries, ^[a-z0-9][a-z0-9._-]{7,79}$ in
// the log and at most 72 characters from a caller (QUEUE-OP-02).
type OpID string

// RowID is a positive integer, never reused (QUEUE-DATA-16).
type RowID int

// State is a row's state (QUEUE-DATA-25).
type State string

const (
	Queued         State = "queued"
	Briefed        State = "briefed"
	InProgress     State = "in-progress"
	InReview       State = "in-review"
	WaitingOnHuman State = "waiting-on-human"
	Blocked        State = "blocked"
	Parked         State = "parked"
	Done           State = "done"
)

// File is the queue file. Field order here and below is schema order, the
// order of keys in the file (QUEUE-OPEN-08). Every member is always present.
type File struct {
	Version       int     `json:"version"`
	CanonicalRoot string  `json:"canonicalRoot"`
	Revision      int     `json:"revision"` // rev of the last log entry; genesis is 0
	Rows          []Row   `json:"rows"`     // ascending by id
	Log           []Entry `json:"log"`      // in the order appended; Log[i].Rev == i
}

// Row is one piece of work.
type Row struct {
	ID            RowID   `json:"id"`
	Piece         string  `json:"piece"` // one line, at most 200 characters
	Owner         Seat    `json:"owner"`
	Issues        []int   `json:"issues"` // sorted, unique
	Closes        []int   `json:"closes"` // a subset of Issues
	State         State   `json:"state"`
	PreviousState *State  `json:"previousState"` // where Blocked returns to
	Required      bool    `json:"required"`
	RequiredSince *string `json:"requiredSince"` // a time or "unknown"
	Gate          string  `json:"gate"`
	GateOwner     Seat    `json:"gateOwner"`
	Brief         Brief   `json:"brief"`
	After         []After `json:"after"` // sorted by id
	Reviewers     []Seat  `json:"reviewers"`
	Review        *Review `json:"review"`
	Claim         *Claim  `json:"claim"` // Claim.Seat equals Owner
	Note          string  `json:"note"`
	BlockedReason *string `json:"blockedReason"` // set exactly while Blocked
	CreatedAt     string  `json:"createdAt"`     // a time or "unknown"
	UpdatedAt     string  `json:"updatedAt"`
	UpdatedBy     Seat    `json:"updatedBy"`
}

// Brief pins the committed text that says what to do.
type Brief struct {
	Path   string  `json:"path"`   // relative to the canonical root
	Anchor *string `json:"anchor"` // a heading's exact text
	Blob   string  `json:"blob"`   // full object id, 40 or 64 hex digits
}

// After is a prerequisite.
type After struct {
	ID   RowID `json:"id"`
	When When  `json:"when"`
}

// When says which end of a prerequisite satisfies it.
type When string

const (
	WhenDone    When = "done"
	WhenSettled When = "settled" // done or blocked
)

// Claim names who started the row, and the operation that gave it to them.
type Claim struct {
	Seat Seat `json:"seat"`
	Op   OpID `json:"op"`
}

// Review holds a row's review rounds, numbered from 1, all kept unchanged.
type Review struct {
	Issue  *int    `json:"issue"` // null on a row without reviewers
	Rounds []Round `json:"rounds"`
}

// Round is one candidate put before the reviewers (QUEUE-OPEN-17).
type Round struct {
	Round         int       `json:"round"`
	Candidate     Candidate `json:"candidate"`
	Request       string    `json:"request"` // "none" or "posted": whether this round asks by a comment
	DuplicateRisk bool      `json:"duplicateRisk"`
	Attempts      []Attempt `json:"attempts"`
	Receipts      []Receipt `json:"receipts"`
}

// Candidate is frozen for its round.
type Candidate struct {
	Kind     string  `json:"kind"`     // "commit", "manifest" or "none"
	Ref      string  `json:"ref"`      // the commit's full id, the manifest's path, or ""
	Digest   string  `json:"digest"`   // commit id, SHA-256 of the manifest's bytes, or "none"
	Manifest *string `json:"manifest"` // the manifest's text
}

// AttemptState is how one POST of a review request ended (QUEUE-REVIEW-41).
type AttemptState string

const (
	Requesting AttemptState = "requesting"
	Posted     AttemptState = "posted"
	Failed     AttemptState = "failed"
	Uncertain  AttemptState = "uncertain"
	Abandoned  AttemptState = "abandoned"
	Conflict   AttemptState = "conflict"
)

// Attempt is one request, keyed by its operation; at most one POST is made
// for it.
type Attempt struct {
	Op         OpID         `json:"op"`
	State      AttemptState `json:"state"`
	Comment    *int64       `json:"comment"`
	Status     *int         `json:"status"`     // HTTP status
	ResolvedBy *Seat        `json:"resolvedBy"` // a person's resolution
}

// Receipt is a reviewer's verdict on the round's candidate.
type Receipt struct {
	Seat      Seat   `json:"seat"`
	Verdict   string `json:"verdict"` // "approve" or "changes"
	Comment   int64  `json:"comment"`
	Candidate string `json:"candidate"` // the digest
	At        string `json:"at"`
}

// Entry is one operation of the log. Args is canonical: the same request gives
// the same bytes whatever the order or spelling of its flags (QUEUE-OPEN-09,
// 10). Result is what the receipt prints again, and what was looked up outside
// the log when the operation was made. Both are kept without white space here
// and indented in the file.
type Entry struct {
	Rev       int             `json:"rev"`
	Op        OpID            `json:"op"`
	Verb      string          `json:"verb"`
	Args      json.RawMessage `json:"args"`
	By        Seat            `json:"by"`
	At        string          `json:"at"` // YYYY-MM-DDTHH:MM:SS.sssZ, never before the entry before it
	Semantics int             `json:"semantics"`
	Result    json.RawMessage `json:"result"`
	ViewSha   string          `json:"viewSha"` // SHA-256 of the body rendered for this revision
}
