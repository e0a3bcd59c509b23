package queue

import (
	"encoding/json"
	"slices"
	"strings"

	"mosaicstack.dev/mosaic/internal/wire"
)

// The verbs of the log.
const (
	VerbGenesis       = "genesis"
	VerbAdd           = "add"
	VerbMove          = "move"
	VerbAssign        = "assign"
	VerbSet           = "set"
	VerbNote          = "note"
	VerbRoster        = "roster"
	VerbReviewRequest = "review-request"
	VerbReviewOutcome = "review-outcome"
	VerbReviewResolve = "review-resolve"
	VerbReviewAbandon = "review-abandon"
	VerbReviewRecord  = "review-record"
	VerbAcceptHistory = "accept-history"
)

// Request is an operation that somebody asks for.
type Request struct {
	Op    OpID
	Verb  string
	By    Seat
	Args  json.RawMessage // canonical
	Facts Facts           // what was looked up for it
}

// NewRequest is the request for a verb's arguments.
func NewRequest(op OpID, by Seat, a Args, facts Facts) (Request, error) {
	raw, err := Canonical(a)
	return Request{Op: op, Verb: a.Verb(), By: by, Args: raw, Facts: facts}, err
}

// rulebook is one version of the rules: what each verb means.
type rulebook struct {
	semantics int
	verbs     map[string]verb
}

// verb is one function, and the arguments that it takes.
type verb struct {
	args  func() Args
	apply func(*operation) error
}

// rulebooks holds every version of the rules, the first at index 0. A change
// of the rules is a new version; an entry keeps those that it was checked with
// (QUEUE-DATA-88).
var rulebooks = []*rulebook{{semantics: 1, verbs: map[string]verb{
	VerbGenesis:       {func() Args { return &GenesisArgs{} }, (*operation).genesis},
	VerbAdd:           {func() Args { return &AddArgs{} }, (*operation).add},
	VerbMove:          {func() Args { return &MoveArgs{} }, (*operation).move},
	VerbAssign:        {func() Args { return &AssignArgs{} }, (*operation).assign},
	VerbSet:           {func() Args { return &SetArgs{} }, (*operation).set},
	VerbNote:          {func() Args { return &NoteArgs{} }, (*operation).note},
	VerbRoster:        {func() Args { return &RosterArgs{} }, (*operation).roster},
	VerbReviewRequest: {func() Args { return &RequestArgs{} }, (*operation).request},
	VerbReviewOutcome: {func() Args { return &OutcomeArgs{} }, (*operation).outcome},
	VerbReviewResolve: {func() Args { return &ResolveArgs{} }, (*operation).resolve},
	VerbReviewAbandon: {func() Args { return &AbandonArgs{} }, (*operation).abandon},
	VerbReviewRecord:  {func() Args { return &RecordArgs{} }, (*operation).record},
	VerbAcceptHistory: {func() Args { return &AcceptArgs{} }, (*operation).acceptHistory},
}}}

// Apply checks a request against the state and returns the entry it becomes
// (without ViewSha) and the state after it; s is unchanged. It is the one
// meaning of an operation: replay and the write path both use it. now, in
// TimeLayout, is the entry's time unless the last entry's is later. Refusals
// are *Refusal.
func (s *Replayed) Apply(r Request, now string) (*Replayed, Entry, error) {
	book := rulebooks[len(rulebooks)-1]
	next, at := s.clone(), max(now, s.Last)
	computed, err := next.advance(book, r, at)
	if err != nil {
		return nil, Entry{}, err
	}
	recorded, err := wire.Encode(computed)
	if err != nil {
		return nil, Entry{}, refuse(ArgumentInvalid, "the result cannot be written: %v", err)
	}
	return next, Entry{
		Rev: next.Rev, Op: r.Op, Verb: r.Verb, Args: r.Args, By: r.By, At: at,
		Semantics: book.semantics, Result: recorded,
	}, nil
}

// operation is one verb under way. It changes its state in place; after a
// refusal the state is of no use.
type operation struct {
	*Replayed
	Request
	args   Args
	at     string
	result result
}

// advance applies one request in place and returns its result.
func (s *Replayed) advance(book *rulebook, r Request, at string) (_ *result, err error) {
	v, ok := book.verbs[r.Verb]
	if !ok {
		return nil, refuse(ArgumentInvalid, "%q is no verb of the log", clip(r.Verb))
	}
	if err := s.admit(r); err != nil {
		return nil, err
	}
	o := operation{Replayed: s, Request: r, args: v.args(), at: at}
	if s.scratch, err = decodeArgs(r.Args, o.args, s.scratch); err != nil {
		return nil, err
	}
	if err := v.apply(&o); err != nil {
		return nil, err
	}
	s.Rev++
	s.Last = at
	s.ops[r.Op] = struct{}{}
	return &o.result, nil
}

// admit checks what holds for every verb: the id's form and that it is new,
// that genesis comes first and once, and that the actor is known. An outcome
// is recorded by who asked for the review, whatever the roster says since.
func (s *Replayed) admit(r Request) error {
	if r.Verb == VerbReviewOutcome {
		if !isOp(r.Op) || !strings.HasSuffix(string(r.Op), OutcomeSuffix) {
			return refuse(OpMalformed, "an outcome's operation id is its request's with %s, not %q", OutcomeSuffix, clip(string(r.Op)))
		}
	} else if err := CheckOp(r.Op); err != nil {
		return err
	}
	if _, taken := s.ops[r.Op]; taken {
		return refuse(OpReused, "operation %s is in the log already", r.Op)
	}
	switch {
	case s.Rev < 0 && r.Verb != VerbGenesis:
		return refuse(GenesisInvalid, "the log does not begin with genesis")
	case s.Rev >= 0 && r.Verb == VerbGenesis:
		return refuse(GenesisInvalid, "the log has a second genesis entry")
	case r.Verb == VerbGenesis || r.Verb == VerbReviewOutcome:
		return nil
	}
	return s.CheckActor(r.By)
}

// CheckActor refuses an actor that is missing or that nobody configured
// (QUEUE-STATE-15, QUEUE-OPEN-47).
func (s *Replayed) CheckActor(by Seat) error {
	switch {
	case by == "":
		return refuse(ActorMissing, "no actor: give --by or set MOSAIC_AGENT_NAME")
	case !s.knows(by):
		return refuse(ActorUnknown, "%q is not the human, the lead, a seat or a label of this queue", clip(string(by)))
	}
	return nil
}

// knows reports whether a name can act.
func (s *Replayed) knows(name Seat) bool {
	return name != "" && name != Unassigned &&
		(name == s.Human || name == s.Lead || slices.Contains(s.Seats, name) || slices.Contains(s.Labels, name))
}

// Privileged reports whether the actor is the human or the lead
// (QUEUE-STATE-13).
func (s *Replayed) Privileged(actor Seat) bool {
	return actor != "" && (actor == s.Human || actor == s.Lead)
}

// find returns a row to be changed in place.
func (o *operation) find(id RowID) (*Row, error) {
	if row := o.Row(id); row != nil {
		return row, nil
	}
	return nil, refuse(RowUnknown, "there is no row %d", id)
}

// findOpen is find for edits, which nothing makes of a done or parked row
// (QUEUE-STATE-69, QUEUE-STATE-70).
func (o *operation) findOpen(id RowID) (*Row, error) {
	row, err := o.find(id)
	switch {
	case err != nil:
		return nil, err
	case row.State == Done:
		return nil, refuse(RowFinal, "row %d is done; nothing changes a done row", id)
	case row.State == Parked:
		return nil, refuse(RowFinal, "row %d is parked; only unparking changes a parked row", id)
	}
	return row, nil
}

// changed stamps a row and fills in the receipt.
func (o *operation) changed(row *Row, from State) {
	row.UpdatedAt, row.UpdatedBy = o.at, o.By
	o.receipt(row.ID, string(from), string(row.State))
}

func (o *operation) receipt(id RowID, from, to string) {
	o.result.Row, o.result.From, o.result.To = &id, &from, &to
}
