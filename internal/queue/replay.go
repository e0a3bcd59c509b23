package queue

import (
	"bytes"
	"cmp"
	"errors"
	"maps"
	"slices"
	"sort"

	"mosaicstack.dev/mosaic/internal/wire"
)

// Replayed is the state that a log replays to: the rows, and what the log
// alone knows. It is what the next operation is checked against. States do not
// change: Apply returns a new one.
type Replayed struct {
	Rows      []Row // ascending by id
	Human     Seat
	Lead      Seat
	Seats     []Seat // the lead may be one
	Labels    []Seat
	HighWater RowID // the greatest id ever issued
	Retired   []RowID
	Root      string
	Branch    string
	Rev       int    // -1 before genesis
	Last      string // time of the last entry

	ops       map[OpID]struct{} // every id of the log
	requested map[OpID]Seat     // who asked for each review
	scratch   []byte            // for spelling an entry again
}

// Empty is the state before genesis.
func Empty() *Replayed {
	return &Replayed{Rows: []Row{}, Rev: -1, ops: map[OpID]struct{}{}, requested: map[OpID]Seat{}}
}

// clone returns a state that can be changed in place. Rows are copied, what
// they point to is shared: a change replaces it and never writes through it.
func (s *Replayed) clone() *Replayed {
	next := *s
	next.Rows = slices.Clone(s.Rows)
	next.scratch = nil
	next.ops, next.requested = maps.Clone(s.ops), maps.Clone(s.requested)
	return &next
}

// Replay applies every entry under its own semantics (QUEUE-DATA-87 to 93). It
// reads nothing but the log. It takes the facts that an entry recorded as they
// are, and demands that the rules give the entry's result byte for byte.
func Replay(log []Entry) (*Replayed, error) { return replay(log, rulebooks) }

func replay(log []Entry, books []*rulebook) (*Replayed, error) {
	s := Empty()
	s.ops = make(map[OpID]struct{}, len(log))
	for i := range log {
		if err := s.redo(&log[i], i, books); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *Replayed) redo(e *Entry, position int, books []*rulebook) error {
	switch {
	case e.Rev != position:
		return invalid("log entry %d has rev %d", position, e.Rev)
	case e.Semantics < 1:
		return invalid("log entry %d has semantics %d", position, e.Semantics)
	case e.Semantics > len(books):
		return newerRules(e.Semantics)
	case !isTime(e.At) || e.At < s.Last:
		return invalid("log entry %d has the time %q after %q", position, clip(e.At), s.Last)
	case !isDigest(e.ViewSha):
		return invalid("log entry %d has a viewSha that is no SHA-256", position)
	}
	r := Request{Op: e.Op, Verb: e.Verb, By: e.By, Args: e.Args}
	var recorded result
	if err := wire.Decode(e.Result, &recorded); err != nil {
		return invalid("the result of log entry %d does not match the schema: %v", position, err)
	}
	r.Facts = recorded.facts()
	computed, err := s.advance(books[e.Semantics-1], r, e.At)
	if err != nil {
		return cannotHappen(position, e, err)
	}
	s.scratch, err = wire.AppendJSON(s.scratch[:0], computed)
	if err != nil || !bytes.Equal(s.scratch, e.Result) {
		return invalid("the result of log entry %d (%s) is not what the operation gives", position, e.Op)
	}
	return nil
}

// cannotHappen says which entry the rules refuse, and why.
func cannotHappen(position int, e *Entry, err error) error {
	why := err.Error()
	var refusal *Refusal
	if errors.As(err, &refusal) {
		if refusal.Code == QueueInvalid {
			return refusal
		}
		why = refusal.Sentence
	}
	return invalid("log entry %d (%s by %s) does not follow from the entries before it: %s", position, clip(string(e.Op)), clip(string(e.By)), why)
}

// Row returns the row with this id, or nil.
func (s *Replayed) Row(id RowID) *Row {
	i, ok := s.index(id)
	if !ok {
		return nil
	}
	return &s.Rows[i]
}

// index finds a row; ids seldom have gaps, so the place that an id would have
// without any is tried first.
func (s *Replayed) index(id RowID) (int, bool) {
	if i := int(id) - 1; i >= 0 && i < len(s.Rows) && s.Rows[i].ID == id {
		return i, true
	}
	return sort.Find(len(s.Rows), func(i int) int { return cmp.Compare(id, s.Rows[i].ID) })
}

// Facts are what was looked up outside the log for one operation. They are
// recorded in its result, and replay takes them from there.
type Facts struct {
	// Blob is the object id of HEAD's brief for add and for a set of the
	// brief, and of the working file's bytes for a start; "" when there is no
	// such file.
	Blob      string
	Candidate *Candidate    // of a move to in-review that names one
	Genesis   *GenesisFacts // of genesis
	History   *HistoryFacts // of accept-history
}

// GenesisFacts are what a migration map says.
type GenesisFacts struct {
	HighWater RowID     `json:"highWater"` // the greatest id ever issued, retired ones included
	Legacy    Legacy    `json:"legacy"`
	MapBlob   string    `json:"mapBlob"`
	Retired   []Retired `json:"retired"` // ascending by id
	Rows      []Row     `json:"rows"`    // genesis fills in closes, claims, updatedAt and updatedBy
}

// Legacy is what stood in the repository before the queue, verbatim.
type Legacy struct {
	Table  string       `json:"table"` // the bytes between the markers
	Rows   []LegacyText `json:"rows"`
	Parked []LegacyText `json:"parked"`
}

// LegacyText is one legacy row or parked entry, and the row it became.
type LegacyText struct {
	ID   RowID  `json:"id"`
	Text string `json:"text"`
}

// Retired is an id that leaves the queue and is never issued again.
type Retired struct {
	ID     RowID  `json:"id"`
	Reason string `json:"reason"`
}

// HistoryFacts are what accept-history found.
type HistoryFacts struct {
	// Witness is the old witness; null when it was absent.
	Witness *LostWitness `json:"witness"`
	// Lost is the range of revisions that are gone, as it was printed.
	Lost string `json:"lost"`
	// Deduplicated is false: the operations of the lost range are not known any
	// more, so at-most-once does not hold for them (QUEUE-WRITE-81).
	Deduplicated bool `json:"deduplicated"`
	// Revision is the revision that was accepted.
	Revision int `json:"revision"`
}

// LostWitness is what the old witness said of the log.
type LostWitness struct {
	Revision  int    `json:"revision"`
	LogDigest string `json:"logDigest"`
}

// result is an entry's result: what the receipt prints, then the facts of the
// verb and what else a reader of the log wants to know.
type result struct {
	Row       *RowID        `json:"row"`  // null for an operation without a row
	From      *string       `json:"from"` // null likewise; "new" for a new row
	To        *string       `json:"to"`
	Blob      string        `json:"blob,omitempty"`
	OldBlob   string        `json:"oldBlob,omitempty"`
	Candidate *Candidate    `json:"candidate,omitempty"`
	Issue     int           `json:"issue,omitempty"`
	Round     int           `json:"round,omitempty"`
	Attempt   AttemptState  `json:"attempt,omitempty"` // the attempt's state afterwards
	Genesis   *GenesisFacts `json:"genesis,omitempty"`
	History   *HistoryFacts `json:"history,omitempty"`
}

func (r *result) facts() Facts {
	return Facts{Blob: r.Blob, Candidate: r.Candidate, Genesis: r.Genesis, History: r.History}
}

// Effect is what the receipt of an entry says.
type Effect struct {
	Row      *RowID
	From, To string // "" for an operation without a row
}

// Effect reads the entry's result.
func (e *Entry) Effect() (Effect, error) {
	var r result
	if err := wire.Decode(e.Result, &r); err != nil {
		return Effect{}, invalid("the result of log entry %d does not match the schema", e.Rev)
	}
	effect := Effect{Row: r.Row}
	if r.From != nil && r.To != nil {
		effect.From, effect.To = *r.From, *r.To
	}
	return effect, nil
}
