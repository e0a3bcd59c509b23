package queue

import (
	"context"
	"encoding/json"
	"errors"
)

var errNotBuilt = errors.New("queue: not built yet")

// Refusal is why a verb did not do what it was asked: nothing changed.
// Sentence holds the document's phrase; Exit is the command's exit code
// (1 may succeed when tried again unchanged, 2 refused by rule, state or data,
// 3 uncertain: Uncertain is set).
type Refusal struct {
	Code      string // kebab-case, declared in codes.go
	Sentence  string
	Exit      int
	Uncertain bool
}

func (r *Refusal) Error() string { return r.Code + ": " + r.Sentence }

// Parse reads a queue file. It refuses what does not parse strictly, match the
// schema, re-serialize byte for byte (QUEUE-DATA-10) or replay to its rows.
func Parse(data []byte) (*File, error) { return nil, errNotBuilt }

// Bytes is the file's one serialization (QUEUE-DATA-04 to 08).
func (f *File) Bytes() []byte { return nil }

// LogDigest is the SHA-256, in hex, of the canonical serialization of the
// entries (QUEUE-WITNESS-03).
func LogDigest(log []Entry) string { return "" }

// Replayed is the state that a log replays to: the rows, and what the log
// alone knows (roster, ids, root, branch). It is what the next operation is
// checked against.
type Replayed struct {
	Rows      []Row
	Human     Seat
	Lead      Seat
	Seats     []Seat // the lead may be one
	Labels    []Seat
	HighWater RowID // the greatest id ever issued
	Retired   []RowID
	Root      string
	Branch    string
	Rev       int
	Last      string // time of the last entry
}

// Replay applies every entry under its own semantics (QUEUE-DATA-87 to 93). It
// reads nothing but the log.
func Replay(log []Entry) (*Replayed, error) { return nil, errNotBuilt }

// Request is an operation that somebody asks for. Facts are what the caller
// looked up outside of the log before asking (a brief's blob, the working
// brief's blob, a candidate's digest); they become part of the canonical args
// or of the checks at write time, and replay never looks them up again.
type Request struct {
	Op   OpID
	Verb string
	By   Seat
	Args json.RawMessage // canonical
}

// Apply checks a request against the state and returns the entry it becomes
// (without ViewSha) and the state after it. It is the one meaning of an
// operation: replay and the write path both call it. now is used only when it
// is not before the last entry's time.
func (s *Replayed) Apply(r Request, now string) (*Replayed, Entry, error) {
	return nil, Entry{}, errNotBuilt
}

// Body renders the table for a state: the bytes between the markers of the
// view file, whose SHA-256 is the entry's ViewSha (QUEUE-OPEN-24, 25).
func Body(s *Replayed) []byte { return nil }

// Checkout is the canonical checkout: its root, branch, paths of the five
// files, and the git directory. Open runs the canonical checks (QUEUE-CANON)
// from a working directory.
type Checkout struct {
	Root, GitDir, Branch             string
	Queue, View, Lock, Gate, Witness string // absolute paths
}

// Change is what a mutation does inside the write path: given the state, it
// returns the request to apply. It runs under the lock and must not touch the
// network.
type Change func(s *Replayed) (Request, error)

// Receipt line and JSON of an acknowledged operation.
type Acknowledgement struct {
	Op      OpID   `json:"op"`
	Rev     int    `json:"rev"`
	Row     *RowID `json:"row"`
	From    string `json:"from"`
	To      string `json:"to"`
	Already bool   `json:"already"`
	Warning string `json:"-"` // one line for stderr, or ""
}

// Write runs the twelve steps for one operation (QUEUE-WRITE-05 to 42). verb
// and args identify a retry before change is called.
func (c *Checkout) Write(ctx context.Context, op OpID, verb string, args json.RawMessage, by Seat, change Change) (Acknowledgement, error) {
	return Acknowledgement{}, errNotBuilt
}

// Reading is what an unlocked read saw.
type Reading struct {
	File   *File
	State  *Replayed
	Notice string // "rev N visible, not confirmed durable", a stale view's warning, or ""
}

// Read reads without the lock, the witness first (QUEUE-LOCK-54 to 64); only a
// locked recheck reports what is wrong.
func (c *Checkout) Read(ctx context.Context) (*Reading, error) { return nil, errNotBuilt }
