package queue

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"mosaicstack.dev/mosaic/internal/wire"
)

// proves: QUEUE-OP-02 QUEUE-OP-04 QUEUE-TESTS-73 QUEUE-TESTS-74 QUEUE-TESTS-78 QUEUE-DATA-61
func TestOperationIDs(t *testing.T) {
	t.Parallel()
	for op, want := range map[OpID]bool{
		"abcdefgh": true, "0bcdefgh": true, "a._-a._-": true, OpID(strings.Repeat("a", 72)): true, "op.outcomes": true, "outcome-1": true,
		"": false, "abcdefg": false, OpID(strings.Repeat("a", 73)): false, "Abcdefgh": false, ".bcdefgh": false, "_bcdefgh": false,
		"-bcdefgh": false, "abcdefg ": false, "abcdefgé": false, "abcdefg/": false, "abcdefg\n": false, "abcdefg\x00": false,
		"abcdefgh.outcome": false, OpID(strings.Repeat("a", 64) + ".outcome"): false,
	} {
		err := CheckOp(op)
		if want && err != nil || !want && code(err) != OpMalformed {
			t.Errorf("%q: %v", op, err)
		}
		s := begin(t)
		r, err := NewRequest(op, dev, addBy(), withBrief)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.state.Apply(r, Stamp(s.clock)); want && err != nil || !want && code(err) != OpMalformed {
			t.Errorf("an operation under %q: %v", op, err)
		}
	}
}

// proves: QUEUE-TESTS-72 QUEUE-OP-03
func TestTheLongestRequestHasAnOutcome(t *testing.T) {
	t.Parallel()
	s := begin(t)
	id := s.rowIn(InProgress, withReviewers(rev))
	op := OpID(strings.Repeat("r", 72))
	s.ask1(op, id, commitA)
	if got := op.Outcome(); len(got) != 80 || got != op+".outcome" {
		t.Fatalf("the outcome is %s", got)
	}
	s.ended(op, Posted, 201, 3)
	s.verify()
}

// The id alone says what was done: whatever has happened since, the same
// request gets its entry, and any other is refused.
//
// proves: QUEUE-OP-05 QUEUE-OP-06 QUEUE-OP-07 QUEUE-OP-08 QUEUE-OP-09 QUEUE-OP-10 QUEUE-OP-12 QUEUE-TESTS-75 QUEUE-TESTS-76 QUEUE-TESTS-77
// proves: QUEUE-DATA-53 QUEUE-DATA-57 QUEUE-DATA-60
func TestARetryIsRecognised(t *testing.T) {
	t.Parallel()
	s := begin(t)
	add := func(change ...func(*AddArgs)) json.RawMessage {
		raw, err := Canonical(addBy(append([]func(*AddArgs){func(a *AddArgs) { a.Owner, a.Reviewers = dev, []Seat{rev, rev2} }}, change...)...))
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	recorded := func(op OpID, verb string, args json.RawMessage) *Entry {
		t.Helper()
		e, err := s.file.Recorded(op, verb, args)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	if e := recorded("add-op-1", VerbAdd, add()); e != nil {
		t.Fatalf("a new id is recorded: %+v", e)
	}
	s.mustApply("add-op-1", chief, addBy(func(a *AddArgs) { a.Owner, a.Reviewers = dev, []Seat{rev2, rev} }), withBrief)
	s.mustApply("add-op-2", chief, addBy(func(a *AddArgs) { a.Owner, a.Reviewers = dev, []Seat{rev2, rev} }), withBrief)
	if len(s.state.Rows) != 2 {
		t.Errorf("two ids made %d rows", len(s.state.Rows))
	}
	s.move(chief, 1, Briefed)
	s.move(dev, 1, InProgress)
	ask, facts := moveTo(1, InReview, withCandidate(commitA), func(a *MoveArgs) { a.Issue = ptr(7) })
	s.mustApply("request-1", dev, ask, facts)
	s.do(chief, &AssignArgs{Row: 1, Owner: chief}, Facts{})
	s.move(chief, 1, WaitingOnHuman)
	s.move(dana, 1, Done)

	e := recorded("add-op-1", VerbAdd, add())
	effect, err := e.Effect()
	if err != nil || effect.Row == nil || *effect.Row != 1 || effect.From != "new" || effect.To != "queued" || e.By != chief || e.Rev != 1 {
		t.Errorf("the retried add is %+v by %s at %d, %v", effect, e.By, e.Rev, err)
	}
	raw, err := Canonical(ask)
	if err != nil {
		t.Fatal(err)
	}
	if effect, err := recorded("request-1", VerbMove, raw).Effect(); err != nil || effect.From != "in-progress" || effect.To != "in-review" {
		t.Errorf("the retried request is %+v, %v", effect, err)
	}
	if rounds := s.row(1).Review.Rounds; len(rounds) != 1 || len(rounds[0].Attempts) != 1 {
		t.Errorf("the rounds are %+v", rounds)
	}
	for what, try := range map[string]struct {
		verb string
		args json.RawMessage
	}{
		"another verb":      {VerbMove, add()},
		"another piece":     {VerbAdd, add(func(a *AddArgs) { a.Piece = "Something else" })},
		"one argument more": {VerbAdd, add(func(a *AddArgs) { a.Required = true })},
	} {
		if e, err := s.file.Recorded("add-op-1", try.verb, try.args); code(err) != OpReused || e != nil {
			t.Errorf("%s: %+v, %v", what, e, err)
		}
	}
	// Apply itself takes no id twice either.
	if _, err := s.ask("add-op-1", chief, addBy(), withBrief); code(err) != OpReused {
		t.Errorf("an id applied twice: %v", err)
	}
	last := s.file.Log[s.state.Rev]
	if effect, err := last.Effect(); err != nil || effect.From != "waiting-on-human" {
		t.Errorf("the log stores %+v, %v", effect, err)
	}
}

// The same request in other words gives the same bytes.
//
// proves: QUEUE-DATA-53
func TestCanonicalArguments(t *testing.T) {
	t.Parallel()
	for what, pair := range map[string][2]Args{
		"lists in any order, with repetitions": {
			&AddArgs{Piece: "x", Brief: BriefRef{Path: "b.md"}, Issues: []int{2, 1, 2}, Reviewers: []Seat{rev2, rev}, After: []After{{ID: 9}, {ID: 3, When: WhenSettled}}},
			&AddArgs{Piece: "x", Brief: BriefRef{Path: "b.md"}, Issues: []int{1, 2}, Reviewers: []Seat{rev, rev2, rev}, After: []After{{ID: 3, When: WhenSettled}, {ID: 9, When: WhenDone}}},
		},
		"empty lists and absent ones": {
			&AddArgs{Piece: "x", Brief: BriefRef{Path: "b.md"}, Issues: []int{}, After: []After{}},
			&AddArgs{Piece: "x", Brief: BriefRef{Path: "b.md"}},
		},
		"paths": {
			&SetArgs{Row: 1, Brief: &BriefRef{Path: "./docs//a/../b.md", Anchor: ptr(" Gate ")}},
			&SetArgs{Row: 1, Brief: &BriefRef{Path: "docs/b.md", Anchor: ptr("Gate")}},
		},
		"a manifest": {
			&MoveArgs{Row: 1, To: InReview, Candidate: "./r/../review.txt"},
			&MoveArgs{Row: 1, To: InReview, Candidate: "review.txt"},
		},
		"evidence": {
			&MoveArgs{Row: 1, To: Done, Evidence: " candidate=none , comment=04, round=1"},
			&MoveArgs{Row: 1, To: Done, Evidence: "round=1,candidate=none,comment=4"},
		},
	} {
		a, errA := Canonical(pair[0])
		b, errB := Canonical(pair[1])
		if errA != nil || errB != nil || string(a) != string(b) {
			t.Errorf("%s:\n%s (%v)\n%s (%v)", what, a, errA, b, errB)
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(a, &members); err != nil {
			t.Fatal(err)
		}
		var order []string
		for d := json.NewDecoder(strings.NewReader(string(a))); d.More(); {
			token, err := d.Token()
			if err != nil {
				t.Fatal(err)
			}
			if key, ok := token.(string); ok && len(members[key]) > 0 {
				order = append(order, key)
				var value json.RawMessage
				if err := d.Decode(&value); err != nil {
					t.Fatal(err)
				}
			}
		}
		if !slices.IsSorted(order) || len(order) != len(members) {
			t.Errorf("%s: the keys are not sorted: %v", what, order)
		}
	}
}

// proves: QUEUE-DATA-27 QUEUE-DATA-25 QUEUE-DATA-26
func TestStatesAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]State{
		"queued": Queued, "briefed": Briefed, "in-progress": InProgress, "in-review": InReview, "waiting-on-human": WaitingOnHuman,
		"waiting-on-dana": WaitingOnHuman, "blocked": Blocked, "parked": Parked, "done": Done,
		"required": "", "waiting-on-chief": "", "waiting-on-": "", "Done": "", "": "", "previousState": "",
	} {
		got, err := ParseState(word, dana)
		if got != want || (want == "") != (code(err) == ArgumentInvalid) {
			t.Errorf("%q is %q, %v", word, got, err)
		}
	}
	if got := ShowState(WaitingOnHuman, dana); got != "waiting-on-dana" {
		t.Errorf("shown as %q", got)
	}
	if len(States) != 8 {
		t.Errorf("there are %d states", len(States))
	}
	s := begin(t)
	id := s.rowIn(WaitingOnHuman)
	if data := string(s.file.Bytes()); !strings.Contains(data, `"state": "waiting-on-human"`) || strings.Contains(data, "waiting-on-dana") {
		t.Error("the file does not store waiting-on-human")
	}
	if body := string(Body(s.state)); !strings.Contains(body, "| waiting-on-dana |") {
		t.Errorf("the table of row %d is\n%s", id, body)
	}
}

// proves: QUEUE-DATA-51 QUEUE-DATA-32
func TestTimesAreUTC(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("far", 5*3600)
	if got := Stamp(time.Date(2027, 1, 1, 2, 3, 4, 5678901, zone)); got != "2026-12-31T21:03:04.005Z" {
		t.Errorf("the time is %s", got)
	}
	for text, want := range map[string]bool{
		"2026-12-31T21:03:04.005Z": true, "2028-02-29T00:00:00.000Z": true,
		"2026-12-31T21:03:04Z": false, "2026-12-31T21:03:04.005+00:00": false, "2026-12-31 21:03:04.005Z": false, "2027-02-29T00:00:00.000Z": false,
		"2026-12-31T24:00:00.000Z": false, "2026-12-31T21:03:04,005Z": false, "unknown": false, "": false, "2026-12-31T21:03:04.0055": false,
	} {
		if isTime(text) != want {
			t.Errorf("%q is a time: %v", text, !want)
		}
	}
}

// Every code is described once, in order, and nothing else is.
func TestEveryCodeIsExplained(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("codes.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := map[wire.Code]bool{}
	for line := range strings.Lines(string(source)) {
		if _, value, ok := strings.Cut(line, `= "`); ok {
			value, _, _ = strings.Cut(value, `"`)
			declared[wire.Code(value)] = true
		}
	}
	for i, info := range Codes {
		if !declared[info.Code] {
			t.Errorf("%s is described and not declared", info.Code)
		}
		delete(declared, info.Code)
		if i > 0 && Codes[i-1].Code >= info.Code {
			t.Errorf("%s stands before %s", Codes[i-1].Code, info.Code)
		}
		if info.Sentence == "" || info.Cause == "" || info.Remedy == "" || strings.HasSuffix(info.Sentence, ".") {
			t.Errorf("%s is not explained: %+v", info.Code, info)
		}
		// Bringing the index up to HEAD takes nothing away.
		if !info.Operator && info.Code != IndexNotReconciled {
			for _, command := range []string{"rm ", "git reset", "git checkout", "git restore", "git stash", "delete", "--force", "queue unlock`", "accept-history"} {
				if strings.Contains(info.Remedy, command) {
					t.Errorf("the remedy of %s names %q", info.Code, command)
				}
			}
		}
	}
	for c := range declared {
		t.Errorf("%s is declared and not described", c)
	}
}
