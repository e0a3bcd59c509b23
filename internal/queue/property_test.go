package queue

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"mosaicstack.dev/mosaic/internal/corpus"
)

// draws makes up requests: mostly possible ones, so that rows get far, and
// every kind of impossible one.
type draws struct {
	*rapid.T
	s *story
}

func (d draws) seat(what string) Seat {
	return rapid.SampledFrom([]Seat{dev, dev, rev, rev2, chief, chief, dana, dana, coord, "mallory", Unassigned}).Draw(d.T, what)
}

func (d draws) id() RowID {
	return RowID(rapid.IntRange(1, int(d.s.state.HighWater)+1).Draw(d.T, "row"))
}

// reviewed is a row that has been under review, or any.
func (d draws) reviewed() RowID {
	var ids []RowID
	for _, row := range d.s.state.Rows {
		if row.Review != nil && !row.State.terminal() {
			ids = append(ids, row.ID)
		}
	}
	if len(ids) == 0 || rapid.IntRange(0, 9).Draw(d.T, "any row") == 0 {
		return d.id()
	}
	return rapid.SampledFrom(ids).Draw(d.T, "reviewed")
}

// actor is somebody whom the request may suit, or anybody.
func (d draws) actor(a Args) Seat {
	var target struct{ Row RowID }
	raw, err := Canonical(a)
	if err == nil {
		err = json.Unmarshal(raw, &target)
	}
	row := d.s.state.Row(target.Row)
	if err != nil || row == nil || !rapid.Bool().Draw(d.T, "a likely actor") {
		return d.seat("by")
	}
	likely := slices.Concat([]Seat{row.Owner, row.Owner, row.GateOwner, chief, dana}, row.Reviewers)
	return rapid.SampledFrom(likely).Draw(d.T, "likely")
}

func (d draws) issues() []int {
	return rapid.SliceOfN(rapid.IntRange(1, 9), 0, 3).Draw(d.T, "issues")
}

func (d draws) seats() []Seat {
	return rapid.SliceOfN(rapid.SampledFrom([]Seat{rev, rev2, dana}), 0, 2).Draw(d.T, "seats")
}

func (d draws) after() []After {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) After {
		return After{ID: draws{t, d.s}.id(), When: rapid.SampledFrom([]When{"", WhenDone, WhenSettled}).Draw(t, "when")}
	}), 0, 2).Draw(d.T, "after")
}

func (d draws) text() string {
	return rapid.SampledFrom([]string{"", "fine", "a | b", "<!-- x -->", "two\nlines", "\u202eevil", "ünï \"quoted\" \\"}).Draw(d.T, "text")
}

func (d draws) attempt(id RowID) OpID {
	ops := []OpID{"no-such-attempt"}
	if row := d.s.state.Row(id); row != nil && row.Review != nil {
		for _, round := range row.Review.Rounds {
			for _, a := range round.Attempts {
				ops = append(ops, a.Op)
			}
		}
	}
	return rapid.SampledFrom(ops).Draw(d.T, "attempt")
}

// move draws a move that the row's state allows, or any.
func (d draws) move() (OpID, Args, Facts) {
	id := d.id()
	a := &MoveArgs{Row: id, To: rapid.SampledFrom(States).Draw(d.T, "to"), Reason: d.text()}
	row := d.s.state.Row(id)
	if row != nil && rapid.Bool().Draw(d.T, "along the table") {
		var ways []State
		for _, t := range Transitions {
			if slices.Contains(t.From, row.State) && t.To != Previous {
				ways = append(ways, t.To)
			}
		}
		if row.PreviousState != nil {
			ways = append(ways, *row.PreviousState)
		}
		if len(ways) > 0 {
			a.To = rapid.SampledFrom(ways).Draw(d.T, "way")
		}
	}
	facts := Facts{}
	switch a.To {
	case InProgress:
		facts.Blob = rapid.SampledFrom([]string{blobA, blobA, blobB}).Draw(d.T, "working")
	case InReview:
		a.Candidate = rapid.SampledFrom([]string{"", commitA, commitB}).Draw(d.T, "candidate")
		if a.Candidate != "" {
			facts.Candidate = &Candidate{Kind: CommitCandidate, Ref: a.Candidate, Digest: a.Candidate}
		}
	case Done:
		a.Evidence = "dana said yes"
		if row != nil && row.Review.current() != nil {
			round := row.Review.current()
			a.Evidence = fmt.Sprintf("round=%d,candidate=%s", round.Round, round.Candidate.Digest)
			if len(row.Reviewers) == 0 {
				a.Evidence += ",comment=3"
			}
		}
	}
	return "", a, facts
}

// request draws any request; op is "" where any new id will do.
func (d draws) request() (OpID, Args, Facts) {
	id := d.id()
	brief := Facts{Blob: rapid.SampledFrom([]string{blobA, blobA, blobB, ""}).Draw(d.T, "blob")}
	verb := rapid.SampledFrom([]string{
		"add", "move", "move", "move", "move", "assign", "note", "set", "roster", "request", "outcome", "resolve", "abandon", "record", "genesis",
	}).Draw(d.T, "verb")
	if slices.Contains([]string{"request", "outcome", "resolve", "abandon", "record"}, verb) {
		id = d.reviewed()
	}
	switch verb {
	case "add":
		a := &AddArgs{Piece: d.text(), Brief: BriefRef{Path: "docs/b.md"}, Issues: d.issues()}
		if rapid.Bool().Draw(d.T, "more") {
			a.Owner, a.Reviewers, a.After, a.Required = d.seat("owner"), d.seats(), d.after(), rapid.Bool().Draw(d.T, "required")
			a.GateOwner = rapid.SampledFrom([]Seat{"", rev2}).Draw(d.T, "gate owner")
		}
		return "", a, brief
	case "move":
		return d.move()
	case "assign":
		return "", &AssignArgs{Row: id, Owner: d.seat("owner")}, Facts{}
	case "note":
		if rapid.Bool().Draw(d.T, "reason") {
			return "", &NoteArgs{Row: id, Reason: d.text()}, Facts{}
		}
		return "", &NoteArgs{Row: id, Note: ptr(d.text())}, Facts{}
	case "set":
		a := &SetArgs{Row: id}
		switch rapid.IntRange(0, 6).Draw(d.T, "field") {
		case 0:
			a.After = ptr(d.after())
		case 1:
			a.Issues = ptr(d.issues())
		case 2:
			a.Closes, a.Reason = ptr(d.issues()), d.text()
		case 3:
			a.Required = ptr(rapid.Bool().Draw(d.T, "required"))
		case 4:
			a.Reviewers, a.GateOwner = ptr(d.seats()), ptr(d.seat("gate owner"))
		case 5:
			a.Brief = &BriefRef{Path: "docs/c.md", Anchor: ptr("Gate")}
		default:
			a.Piece, a.Gate = ptr(d.text()), ptr(d.text())
		}
		return "", a, brief
	case "roster":
		return "", &RosterArgs{Labels: ptr(rapid.SliceOfN(rapid.SampledFrom([]Seat{coord, "ops"}), 0, 2).Draw(d.T, "labels"))}, Facts{}
	case "request":
		return "", &RequestArgs{Row: id}, Facts{}
	case "outcome":
		op := d.attempt(id)
		a := &OutcomeArgs{Row: id, Attempt: op, State: rapid.SampledFrom([]AttemptState{Posted, Failed, Uncertain}).Draw(d.T, "outcome")}
		if a.State == Posted {
			a.Comment = ptr(int64(rapid.IntRange(1, 2).Draw(d.T, "comment")))
		}
		return op.Outcome(), a, Facts{}
	case "resolve":
		return "", &ResolveArgs{Row: id, Attempt: d.attempt(id), Comment: int64(rapid.IntRange(1, 2).Draw(d.T, "comment"))}, Facts{}
	case "abandon":
		return "", &AbandonArgs{Row: id, Attempt: d.attempt(id), Reason: "x"}, Facts{}
	case "record":
		return "", &RecordArgs{Row: id, Verdict: rapid.SampledFrom([]string{Approve, Approve, Changes}).Draw(d.T, "verdict"), Comment: 1,
			Candidate: rapid.SampledFrom([]string{commitA, commitB}).Draw(d.T, "candidate")}, Facts{}
	default:
		return "", team(), Facts{Genesis: &GenesisFacts{MapBlob: blobA}}
	}
}

// Whatever is asked for: what was accepted serializes, parses and replays to
// the same rows, and no row breaks a rule that holds for all of them.
//
// proves: QUEUE-TESTS-02 QUEUE-DATA-19 QUEUE-DATA-16 QUEUE-DATA-44 QUEUE-DATA-91 QUEUE-DATA-46 QUEUE-DATA-47 QUEUE-DATA-24 QUEUE-DATA-63
// proves: QUEUE-STATE-69 QUEUE-DATA-94 QUEUE-DATA-95 QUEUE-REVIEW-91 QUEUE-NEXT-14
func TestAnySequenceOfRequests(t *testing.T) {
	t.Parallel()
	accepted := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		s := begin(t, legacyRow(2, InProgress), legacyRow(4, Blocked), legacyRow(5, Done))
		s.rowIn(InProgress, withReviewers(rev))
		s.rowIn(InReview, withReviewers(rev, rev2))
		failed := s.rowIn(InReview, withReviewers(rev2))
		ask := s.row(failed).Review.Rounds[0].Attempts[0].Op
		s.mustApply(ask.Outcome(), dev, &OutcomeArgs{Row: failed, Attempt: ask, State: Failed}, Facts{})
		for range rapid.IntRange(20, 60).Draw(rt, "requests") {
			d := draws{rt, s}
			op, a, facts := d.request()
			if op == "" {
				op = s.nextOp()
			}
			before, log := s.state, len(s.file.Log)
			if _, err := s.ask(op, d.actor(a), a, facts); err != nil {
				continue
			}
			accepted[a.Verb()]++
			if len(s.file.Log) != log+1 {
				rt.Fatalf("%s logged %d entries", a.Verb(), len(s.file.Log)-log)
			}
			checkStep(rt, before, s.state)
		}
		s.verify()
		for _, seat := range []Seat{dev, rev, rev2, chief, dana} {
			n, err := s.state.Next(seat, same)
			if err != nil || n.Action != Start {
				continue
			}
			if _, err := s.ask(s.nextOp(), seat, &MoveArgs{Row: n.Row.ID, To: InProgress}, Facts{Blob: n.Row.Brief.Blob}); err != nil {
				rt.Fatalf("next names row %d for %s to start, and: %v", n.Row.ID, seat, err)
			}
		}
	})
	total := 0
	for _, n := range accepted {
		total += n
	}
	if total < 100 || len(accepted) < 7 {
		t.Errorf("the requests are too seldom possible: %v", accepted)
	}
}

// checkStep compares the states around one operation.
func checkStep(t *rapid.T, before, after *Replayed) {
	for i := range before.Rows {
		old, now := &before.Rows[i], after.Row(before.Rows[i].ID)
		switch {
		case now == nil:
			t.Fatalf("row %d is gone", old.ID)
		case old.State == Done && !bytes.Equal(rowBytes(old), rowBytes(now)):
			t.Fatalf("the done row %d changed", old.ID)
		case old.State == Parked && now.State == Parked && !bytes.Equal(rowBytes(old), rowBytes(now)):
			t.Fatalf("the parked row %d changed", old.ID)
		case old.CreatedAt != now.CreatedAt:
			t.Fatalf("row %d was created again", old.ID)
		}
		if old.Review != nil {
			checkRounds(t, old.Review.Rounds, now.Review.Rounds)
		}
	}
	if after.HighWater < before.HighWater || len(after.Rows) > len(before.Rows)+1 {
		t.Fatalf("the greatest id went from %d to %d", before.HighWater, after.HighWater)
	}
	last := RowID(0)
	for i := range after.Rows {
		row := &after.Rows[i]
		blocked := row.State == Blocked
		switch {
		case row.ID <= last || row.ID > after.HighWater:
			t.Fatalf("row %d stands after row %d", row.ID, last)
		case row.Claim != nil && row.Claim.Seat != row.Owner:
			t.Fatalf("row %d is claimed by %s and owned by %s", row.ID, row.Claim.Seat, row.Owner)
		case row.Claim != nil && !row.workedOn():
			t.Fatalf("row %d is %s and claimed", row.ID, row.State)
		case blocked != (row.BlockedReason != nil && *row.BlockedReason != "") || blocked != (row.PreviousState != nil):
			t.Fatalf("row %d is %s with a reason %v", row.ID, row.State, row.BlockedReason)
		case row.Required != (row.RequiredSince != nil) || row.Required && row.State == Parked:
			t.Fatalf("row %d is required: %v since %v", row.ID, row.Required, row.RequiredSince)
		case slices.Contains(row.Reviewers, row.Owner):
			t.Fatalf("row %d is reviewed by its owner", row.ID)
		case slices.ContainsFunc(row.Closes, func(n int) bool { return !slices.Contains(row.Issues, n) }):
			t.Fatalf("row %d closes %v of %v", row.ID, row.Closes, row.Issues)
		}
		last = row.ID
	}
}

// checkRounds demands that rounds are only added, keep their candidates, and
// that no earlier round gets a receipt.
func checkRounds(t *rapid.T, before, after []Round) {
	for i, old := range before {
		now := after[i]
		if old.Round != i+1 || now.Candidate != old.Candidate || old.DuplicateRisk && !now.DuplicateRisk ||
			!slices.Equal(now.Receipts[:len(old.Receipts)], old.Receipts) || i < len(after)-1 && len(now.Receipts) != len(old.Receipts) {
			t.Fatalf("round %d became %+v", i+1, now)
		}
		for j, attempt := range old.Attempts {
			if now.Attempts[j].Op != attempt.Op {
				t.Fatalf("attempt %s became %s", attempt.Op, now.Attempts[j].Op)
			}
		}
	}
}

// No bytes make Parse panic, and what it accepts is its own serialization.
func FuzzParse(f *testing.F) {
	golden, err := os.ReadFile(filepath.Join("testdata", "queue.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden)
	f.Add(begin(f).file.Bytes())
	for _, c := range corpus.JSON(f) {
		f.Add([]byte(c.Text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, state, err := Load(data)
		if err != nil {
			if r, ok := err.(*Refusal); !ok || r.Exit != 2 {
				t.Fatalf("not a refusal: %v", err)
			}
			return
		}
		if !bytes.Equal(file.Bytes(), data) {
			t.Fatal("what was accepted is spelt differently")
		}
		Body(state)
		for i := range file.Log {
			if _, err := file.Log[i].Effect(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
