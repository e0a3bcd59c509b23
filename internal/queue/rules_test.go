package queue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// The team of the tests.
const (
	dana  Seat = "dana" // the human
	chief Seat = "chief"
	dev   Seat = "dev"
	rev   Seat = "rev"
	rev2  Seat = "rev2"
	coord Seat = "coordinator" // a label
)

const (
	blobA   = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	blobB   = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	commitA = "1111111111111111111111111111111111111111"
	commitB = "2222222222222222222222222222222222222222"
)

// team is what genesis records in the tests.
func team() *GenesisArgs {
	return &GenesisArgs{
		CanonicalRoot: "/src/web", Branch: "main", Map: "docs/plans/map.md",
		Human: dana, Lead: chief, Seats: []Seat{chief, dev, rev, rev2}, Labels: []Seat{coord},
	}
}

// story is a queue under test: operations are asked for one after another,
// and after each the file must parse to the state that Apply returned.
type story struct {
	t     testing.TB
	file  *File
	state *Replayed
	clock time.Time
	ops   int
}

// begin is a queue with these legacy rows.
func begin(t testing.TB, rows ...Row) *story {
	t.Helper()
	facts := &GenesisFacts{MapBlob: blobA, Rows: rows}
	for _, r := range rows {
		facts.HighWater = max(facts.HighWater, r.ID)
	}
	return beginWith(t, facts)
}

func beginWith(t testing.TB, facts *GenesisFacts) *story {
	t.Helper()
	s := &story{t: t, state: Empty(), clock: time.Date(2027, 3, 1, 9, 0, 0, 0, time.UTC)}
	s.mustApply("genesis-op", chief, team(), Facts{Genesis: facts})
	return s
}

// ask applies one request; on success the story goes on from there.
func (s *story) ask(op OpID, by Seat, a Args, facts Facts) (Entry, error) {
	s.t.Helper()
	r, err := NewRequest(op, by, a, facts)
	if err != nil {
		return Entry{}, err
	}
	s.clock = s.clock.Add(time.Second)
	before := (&File{Rows: s.state.Rows}).Bytes()
	next, e, err := s.state.Apply(r, Stamp(s.clock))
	if after := (&File{Rows: s.state.Rows}).Bytes(); !bytes.Equal(before, after) {
		s.t.Fatalf("%s by %s changed the state it was asked of", a.Verb(), by)
	}
	if err != nil {
		return Entry{}, err
	}
	if s.file == nil {
		s.file = NewFile(next, e)
	} else {
		s.file = s.file.With(next, e)
	}
	s.state = next
	return s.file.Log[e.Rev], nil
}

func (s *story) mustApply(op OpID, by Seat, a Args, facts Facts) Entry {
	s.t.Helper()
	e, err := s.ask(op, by, a, facts)
	if err != nil {
		s.t.Fatalf("%s %s by %s: %v", op, a.Verb(), by, err)
	}
	return e
}

// nextOp makes up an operation id.
func (s *story) nextOp() OpID {
	s.ops++
	return OpID(fmt.Sprintf("test-op-%d", s.ops))
}

// do is mustApply under a made-up id, and returns the id.
func (s *story) do(by Seat, a Args, facts Facts) OpID {
	s.t.Helper()
	op := s.nextOp()
	s.mustApply(op, by, a, facts)
	return op
}

// refused demands a refusal with this code that leaves the state as it is,
// and returns its sentence.
func (s *story) refused(code string, by Seat, a Args, facts Facts) string {
	s.t.Helper()
	state, file := s.state, s.file
	_, err := s.ask(s.nextOp(), by, a, facts)
	var r *Refusal
	if !errors.As(err, &r) || r.Code != code {
		s.t.Fatalf("%s by %s: got %v, want a refusal with %s", a.Verb(), by, err, code)
	}
	if r.Exit != 2 || r.Uncertain || r.Sentence == "" || strings.ContainsAny(r.Sentence, "\n\r") {
		s.t.Errorf("a refusal exits 2 with one line, not %+v", r)
	}
	if s.state != state || s.file != file {
		s.t.Fatal("a refusal changed the state")
	}
	return r.Sentence
}

// row returns a row of the present state.
func (s *story) row(id RowID) Row {
	s.t.Helper()
	r := s.state.Row(id)
	if r == nil {
		s.t.Fatalf("there is no row %d", id)
	}
	return *r
}

// verify demands that the file parses, serializes to the same bytes and
// replays to its rows.
func (s *story) verify() {
	s.t.Helper()
	data := s.file.Bytes()
	f, state, err := Load(data)
	if err != nil {
		s.t.Fatalf("the file does not parse: %v\n%s", err, data)
	}
	if again := f.Bytes(); !bytes.Equal(again, data) {
		s.t.Fatal("the file does not serialize to its own bytes")
	}
	if got, want := (&File{Rows: state.Rows}).Bytes(), (&File{Rows: s.state.Rows}).Bytes(); !bytes.Equal(got, want) {
		s.t.Fatalf("the log replays to other rows:\n%s\nwant\n%s", got, want)
	}
	if !json.Valid(data) {
		s.t.Fatal("the file is no JSON")
	}
}

// add makes a row owned by owner and returns its id.
func (s *story) add(owner Seat, change ...func(*AddArgs)) RowID {
	s.t.Helper()
	a := &AddArgs{Piece: "a piece of work", Brief: BriefRef{Path: "docs/brief.md"}, Issues: []int{7}, Owner: owner}
	for _, c := range change {
		c(a)
	}
	s.do(chief, a, Facts{Blob: blobA})
	return s.state.HighWater
}

// move moves a row with the facts that the move needs.
func (s *story) move(by Seat, id RowID, to State, change ...func(*MoveArgs)) OpID {
	s.t.Helper()
	a, facts := moveTo(id, to, change...)
	return s.do(by, a, facts)
}

func (s *story) moveRefused(code string, by Seat, id RowID, to State, change ...func(*MoveArgs)) string {
	s.t.Helper()
	a, facts := moveTo(id, to, change...)
	return s.refused(code, by, a, facts)
}

func moveTo(id RowID, to State, change ...func(*MoveArgs)) (*MoveArgs, Facts) {
	a := &MoveArgs{Row: id, To: to}
	if to == Blocked {
		a.Reason = "waiting for the vendor"
	}
	for _, c := range change {
		c(a)
	}
	facts := Facts{}
	if to == InProgress {
		facts.Blob = blobA
	}
	if a.Candidate != "" {
		facts.Candidate = &Candidate{Kind: CommitCandidate, Ref: a.Candidate, Digest: a.Candidate}
	}
	return a, facts
}

func withCandidate(commit string) func(*MoveArgs) { return func(a *MoveArgs) { a.Candidate = commit } }
func withEvidence(text string) func(*MoveArgs)    { return func(a *MoveArgs) { a.Evidence = text } }
func withReason(text string) func(*MoveArgs)      { return func(a *MoveArgs) { a.Reason = text } }

func withReviewers(seats ...Seat) func(*AddArgs) { return func(a *AddArgs) { a.Reviewers = seats } }

// proves: QUEUE-TESTS-18 QUEUE-DATA-87 QUEUE-DATA-92
func TestALifeReplays(t *testing.T) {
	t.Parallel()
	s := begin(t)
	id := s.add(dev, withReviewers(rev))
	s.move(chief, id, Briefed)
	s.move(dev, id, InProgress)
	ask := s.move(dev, id, InReview, withCandidate(commitA))
	s.mustApply(ask.Outcome(), dev, &OutcomeArgs{Row: id, Attempt: ask, State: Posted, Comment: ptr(int64(41)), Status: ptr(201)}, Facts{})
	s.do(rev, &RecordArgs{Row: id, Verdict: Approve, Comment: 42, Candidate: commitA}, Facts{})
	s.move(dev, id, WaitingOnHuman)
	s.move(dana, id, Done)
	s.verify()
	if row := s.row(id); row.State != Done || row.Claim != nil {
		t.Errorf("the row ended as %+v", row)
	}
}

func ptr[T any](v T) *T { return &v }
