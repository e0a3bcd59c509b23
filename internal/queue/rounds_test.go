package queue

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// reviewing is a queue whose row 1, dev's, asks rev and rev2 under "request-1".
func reviewing(t testing.TB) *story {
	t.Helper()
	s := begin(t)
	id := s.rowIn(InProgress, withReviewers(rev, rev2))
	s.ask1("request-1", id, commitA)
	return s
}

// ask1 is the review request by a move.
func (s *story) ask1(op OpID, id RowID, commit string) {
	s.t.Helper()
	a, facts := moveTo(id, InReview, withCandidate(commit))
	s.mustApply(op, dev, a, facts)
}

// ended records a request's outcome.
func (s *story) ended(op OpID, state AttemptState, status int, comment int64) {
	s.t.Helper()
	s.mustApply(op.Outcome(), dev, outcomeOf(op, state, status, comment), Facts{})
}

func outcomeOf(op OpID, state AttemptState, status int, comment int64) *OutcomeArgs {
	a := &OutcomeArgs{Row: 1, Attempt: op, State: state}
	if status != 0 {
		a.Status = &status
	}
	if comment != 0 {
		a.Comment = &comment
	}
	return a
}

// attempt returns an attempt of row 1.
func (s *story) attempt(op OpID) Attempt {
	s.t.Helper()
	for _, round := range s.row(1).Review.Rounds {
		for _, a := range round.Attempts {
			if a.Op == op {
				return a
			}
		}
	}
	s.t.Fatalf("there is no attempt %s", op)
	return Attempt{}
}

// proves: QUEUE-REVIEW-38 QUEUE-REVIEW-42 QUEUE-DATA-42
func TestTheIntentOpensARound(t *testing.T) {
	t.Parallel()
	s := reviewing(t)
	row := s.row(1)
	if len(row.Review.Rounds) != 1 || *row.Review.Issue != 7 {
		t.Fatalf("the review is %+v", row.Review)
	}
	round := row.Review.Rounds[0]
	if round.Round != 1 || round.Request != "posted" || round.DuplicateRisk || len(round.Receipts) != 0 ||
		round.Candidate != (Candidate{Kind: "commit", Ref: commitA, Digest: commitA}) {
		t.Errorf("the round is %+v", round)
	}
	if got := s.attempt("request-1"); got != (Attempt{Op: "request-1", State: Requesting}) {
		t.Errorf("the attempt is %+v", got)
	}
	e := s.file.Log[s.state.Rev]
	for _, part := range []string{`"issue":7`, `"round":1`, `"attempt":"requesting"`, `"digest":"` + commitA + `"`} {
		if !strings.Contains(string(e.Result), part) {
			t.Errorf("the intent's result lacks %s: %s", part, e.Result)
		}
	}
	s.verify()
}

// What each state of an attempt allows, and what an outcome makes of it.
//
// proves: QUEUE-REVIEW-39 QUEUE-REVIEW-41 QUEUE-REVIEW-43 QUEUE-REVIEW-44 QUEUE-REVIEW-45 QUEUE-REVIEW-46 QUEUE-REVIEW-47
// proves: QUEUE-REVIEW-48 QUEUE-REVIEW-67 QUEUE-REVIEW-68 QUEUE-REVIEW-69 QUEUE-REVIEW-70 QUEUE-REVIEW-17 QUEUE-REVIEW-86 QUEUE-REVIEW-87
func TestAttemptStates(t *testing.T) {
	t.Parallel()
	resolve := func(comment int64) Args { return &ResolveArgs{Row: 1, Attempt: "request-1", Comment: comment} }
	abandon := &AbandonArgs{Row: 1, Attempt: "request-1", Reason: "nobody saw it"}
	for _, c := range []struct {
		name     string
		person   Args // before the outcome, or nil
		outcome  *OutcomeArgs
		state    AttemptState
		comment  int64 // 0: none
		status   int
		again    string // code of a new request, "" when it is allowed
		resolved Seat
	}{
		{"no outcome", nil, nil, Requesting, 0, 0, AttemptUnresolved, ""},
		{"created", nil, outcomeOf("request-1", Posted, 201, 41), Posted, 41, 201, AttemptClosed, ""},
		{"refused", nil, outcomeOf("request-1", Failed, 403, 0), Failed, 0, 403, "", ""},
		{"failed before it was sent", nil, outcomeOf("request-1", Failed, 0, 0), Failed, 0, 0, "", ""},
		{"server error", nil, outcomeOf("request-1", Uncertain, 502, 0), Uncertain, 0, 502, AttemptUnresolved, ""},
		{"resolved", resolve(41), nil, Posted, 41, 0, AttemptClosed, chief},
		{"resolved, then the same comment", resolve(41), outcomeOf("request-1", Posted, 201, 41), Posted, 41, 201, AttemptClosed, chief},
		{"resolved, then another comment", resolve(41), outcomeOf("request-1", Posted, 201, 42), Conflict, 41, 201, AttemptUnresolved, chief},
		{"resolved, then failed", resolve(41), outcomeOf("request-1", Failed, 404, 0), Conflict, 41, 404, AttemptUnresolved, chief},
		{"resolved, then uncertain", resolve(41), outcomeOf("request-1", Uncertain, 500, 0), Posted, 41, 500, AttemptClosed, chief},
		{"abandoned", abandon, nil, Abandoned, 0, 0, "", chief},
		{"abandoned, then created", abandon, outcomeOf("request-1", Posted, 201, 41), Conflict, 41, 201, AttemptUnresolved, chief},
		{"abandoned, then failed", abandon, outcomeOf("request-1", Failed, 422, 0), Abandoned, 0, 422, "", chief},
		{"abandoned, then uncertain", abandon, outcomeOf("request-1", Uncertain, 0, 0), Abandoned, 0, 0, "", chief},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := reviewing(t)
			if c.person != nil {
				s.do(chief, c.person, Facts{})
			}
			if c.outcome != nil {
				s.mustApply("request-1.outcome", dev, c.outcome, Facts{})
				s.refused(OpMalformed, dev, c.outcome, Facts{}) // under no other id
				if _, err := s.ask("request-1.outcome", dev, c.outcome, Facts{}); code(err) != OpReused {
					t.Errorf("a second outcome: %v", err)
				}
			}
			got := s.attempt("request-1")
			if got.State != c.state || c.comment != 0 && (got.Comment == nil || *got.Comment != c.comment) || c.comment == 0 && got.Comment != nil ||
				c.status != 0 && (got.Status == nil || *got.Status != c.status) || c.status == 0 && got.Status != nil ||
				(got.ResolvedBy == nil) != (c.resolved == "") || got.ResolvedBy != nil && *got.ResolvedBy != c.resolved {
				t.Errorf("the attempt is %+v", got)
			}
			if risk := s.row(1).Review.Rounds[0].DuplicateRisk; risk != (c.person == Args(abandon)) {
				t.Errorf("duplicateRisk is %v", risk)
			}
			for _, again := range []Args{resolve(43), abandon} {
				if got.State.unresolved() {
					continue
				}
				if sentence := s.refused(AttemptClosed, chief, again, Facts{}); !strings.Contains(sentence, string(c.state)) {
					t.Errorf("%q does not name the state", sentence)
				}
			}
			if c.again != "" {
				s.refused(c.again, dev, &RequestArgs{Row: 1}, Facts{})
			}
			s.move(dev, 1, InProgress)
			switch c.again {
			case AttemptUnresolved: // in any round
				s.moveRefused(AttemptUnresolved, dev, 1, InReview, withCandidate(commitB))
				s.do(chief, resolve(43), Facts{}) // one more resolution, by either verb
			case "":
				s.move(chief, 1, Blocked)
				s.move(chief, 1, InProgress)
			}
			s.ask1("request-2", 1, commitB)
			s.verify()
		})
	}
}

// proves: QUEUE-REVIEW-87
func TestAConflictEndsByEitherVerb(t *testing.T) {
	t.Parallel()
	for _, last := range []Args{
		&ResolveArgs{Row: 1, Attempt: "request-1", Comment: 42},
		&AbandonArgs{Row: 1, Attempt: "request-1", Reason: "both are wrong"},
	} {
		s := reviewing(t)
		s.do(dev, &ResolveArgs{Row: 1, Attempt: "request-1", Comment: 41}, Facts{})
		s.ended("request-1", Posted, 201, 42)
		s.do(chief, last, Facts{})
		if got := s.attempt("request-1"); got.State.unresolved() || *got.ResolvedBy != chief {
			t.Errorf("after %s the attempt is %+v", last.Verb(), got)
		}
		s.refused(AttemptClosed, chief, last, Facts{})
		s.verify()
	}
}

// proves: QUEUE-REVIEW-16 QUEUE-REVIEW-40 QUEUE-REVIEW-28 QUEUE-REVIEW-29
func TestAnotherAttemptKeepsTheCandidate(t *testing.T) {
	t.Parallel()
	s := reviewing(t)
	s.ended("request-1", Failed, 403, 0)
	before := s.attempt("request-1")
	s.mustApply("request-2", chief, &RequestArgs{Row: 1}, Facts{})
	round := s.row(1).Review.Rounds[0]
	if len(s.row(1).Review.Rounds) != 1 || len(round.Attempts) != 2 || round.Candidate.Digest != commitA || s.attempt("request-2").State != Requesting {
		t.Errorf("the round is %+v", round)
	}
	if s.attempt("request-1").Op != before.Op || s.attempt("request-1").State != Failed {
		t.Errorf("the first attempt became %+v", s.attempt("request-1"))
	}
	if _, err := s.ask("request-2.outcome", dev, outcomeAs(1, "request-2"), Facts{}); code(err) != NotPermitted {
		t.Errorf("an outcome by another actor: %v", err)
	}
	s.mustApply("request-2.outcome", chief, outcomeAs(1, "request-2"), Facts{}) // who asked says how it ended
	s.refused(AttemptClosed, dev, &RequestArgs{Row: 1}, Facts{})
	s.refused(NotInReview, dev, &RequestArgs{Row: s.rowIn(InProgress)}, Facts{})
	s.verify()
}

func outcomeAs(row RowID, op OpID) *OutcomeArgs {
	return &OutcomeArgs{Row: row, Attempt: op, State: Posted, Comment: ptr(int64(5)), Status: ptr(201)}
}

// An outcome is recorded whoever owns the row by then, and whoever is a seat.
//
// proves: QUEUE-REVIEW-67
func TestAnOutcomeOutlivesItsRequestersRights(t *testing.T) {
	t.Parallel()
	s := reviewing(t)
	s.refused(OpMalformed, dev, outcomeAs(1, "request-1"), Facts{})
	s.do(chief, &SetArgs{Row: 1, Reviewers: &[]Seat{rev2}}, Facts{})
	s.do(chief, &AssignArgs{Row: 1, Owner: rev}, Facts{})
	s.do(dana, &RosterArgs{Seats: &[]Seat{rev, rev2, chief}}, Facts{})
	s.ended("request-1", Posted, 201, 5)
	if got := s.attempt("request-1").State; got != Posted {
		t.Errorf("the attempt is %s", got)
	}
	s.verify()
	for name, a := range map[string]*OutcomeArgs{
		"no comment": {Row: 1, Attempt: "request-1", State: Posted}, "a comment": {Row: 1, Attempt: "request-1", State: Failed, Comment: ptr(int64(1))},
		"a state": {Row: 1, Attempt: "request-1", State: Abandoned}, "a status": {Row: 1, Attempt: "request-1", State: Failed, Status: ptr(7)},
	} {
		if _, err := Canonical(a); code(err) != ArgumentInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// proves: QUEUE-REVIEW-21 QUEUE-REVIEW-88 QUEUE-REVIEW-89 QUEUE-REVIEW-90 QUEUE-REVIEW-18 QUEUE-REVIEW-19
func TestReceipts(t *testing.T) {
	t.Parallel()
	s := reviewing(t)
	receipt := func(candidate string) *RecordArgs {
		return &RecordArgs{Row: 1, Verdict: Changes, Comment: 12, Candidate: candidate}
	}
	s.refused(NotPermitted, dev, receipt(commitA), Facts{})
	s.refused(NotPermitted, chief, receipt(commitA), Facts{})
	s.refused(ReceiptRefused, rev, receipt(commitB), Facts{})
	s.refused(ArgumentInvalid, rev, &RecordArgs{Row: 1, Verdict: "maybe", Comment: 12, Candidate: commitA}, Facts{})
	s.refused(ArgumentInvalid, rev, &RecordArgs{Row: 1, Verdict: Approve, Candidate: commitA}, Facts{})
	s.do(rev, receipt(commitA), Facts{})
	e := s.file.Log[s.state.Rev]
	if got := s.row(1).Review.Rounds[0].Receipts; !slices.Equal(got, []Receipt{{Seat: rev, Verdict: Changes, Comment: 12, Candidate: commitA, At: e.At}}) {
		t.Errorf("the receipts are %+v", got)
	}
	s.refused(ReceiptRefused, rev, &RecordArgs{Row: 1, Verdict: Approve, Comment: 13, Candidate: commitA}, Facts{})
	s.move(dev, 1, InProgress)
	s.refused(NotInReview, rev2, receipt(commitA), Facts{})
	s.ended("request-1", Posted, 201, 5)
	s.ask1("request-2", 1, commitB)
	s.refused(ReceiptRefused, rev2, receipt(commitA), Facts{}) // of the round before
	s.do(rev2, receipt(commitB), Facts{})
	s.do(rev, receipt(commitB), Facts{})
	s.verify()

	none := s.rowIn(InReview)
	s.do(chief, &SetArgs{Row: none, Reviewers: &[]Seat{rev}}, Facts{})
	s.refused(ReceiptRefused, rev, &RecordArgs{Row: none, Verdict: Approve, Comment: 1, Candidate: "none"}, Facts{})
	s.refused(ArgumentInvalid, dev, &RequestArgs{Row: none}, Facts{}) // the round asks nobody
}

// proves: QUEUE-REVIEW-84 QUEUE-REVIEW-20
func TestAbandoningLeavesADuplicateRisk(t *testing.T) {
	t.Parallel()
	s := reviewing(t)
	if _, err := Canonical(&AbandonArgs{Row: 1, Attempt: "request-1"}); code(err) != ArgumentInvalid {
		t.Errorf("without a reason: %v", err)
	}
	s.refused(NotPermitted, dev, &AbandonArgs{Row: 1, Attempt: "request-1", Reason: "x"}, Facts{})
	s.refused(AttemptUnknown, chief, &AbandonArgs{Row: 1, Attempt: "request-9", Reason: "x"}, Facts{})
	s.do(chief, &AbandonArgs{Row: 1, Attempt: "request-1", Reason: "no comment on the issue"}, Facts{})
	s.mustApply("request-2", dev, &RequestArgs{Row: 1}, Facts{})
	round := s.row(1).Review.Rounds[0]
	if !round.DuplicateRisk || round.Attempts[0].State != Abandoned || *round.Attempts[0].ResolvedBy != chief || round.Attempts[1].State != Requesting {
		t.Errorf("the round is %+v", round)
	}
	s.verify()
}

// Request, changes requested, new candidate, approval.
//
// proves: QUEUE-TESTS-100 QUEUE-REVIEW-91 QUEUE-REVIEW-27
func TestEveryRoundPinsItsCandidate(t *testing.T) {
	t.Parallel()
	s := begin(t)
	id := s.rowIn(InProgress, withReviewers(rev))
	manifest := strings.Repeat("0", 64) + "  src/a.go\n"
	pinned := &Candidate{Kind: ManifestCandidate, Ref: "review/a.manifest", Digest: digest([]byte(manifest)), Manifest: &manifest}
	s.mustApply("request-1", dev, &MoveArgs{Row: id, To: InReview, Candidate: "./review/a.manifest"}, Facts{Candidate: pinned})
	s.ended("request-1", Posted, 201, 40)
	s.do(rev, &RecordArgs{Row: id, Verdict: Changes, Comment: 41, Candidate: pinned.Digest}, Facts{})
	first := s.row(id).Review.Rounds[0]
	s.move(dev, id, InProgress)
	s.ask1("request-2", id, commitB)
	s.ended("request-2", Posted, 201, 42)
	s.do(rev, &RecordArgs{Row: id, Verdict: Approve, Comment: 43, Candidate: commitB}, Facts{})
	s.moveRefused(EvidenceInvalid, rev2, id, Done, withEvidence("round=2,candidate="+pinned.Digest))
	s.move(rev2, id, Done, withEvidence("round=2,candidate="+commitB))

	rounds := s.row(id).Review.Rounds
	var before, after encoder
	before.round(&first)
	after.round(&rounds[0])
	if !bytes.Equal(before.b, after.b) {
		t.Errorf("round 1 became\n%s\nfrom\n%s", after.b, before.b)
	}
	if len(rounds) != 2 || *rounds[0].Candidate.Manifest != manifest || rounds[0].Receipts[0].Candidate != pinned.Digest ||
		rounds[1].Candidate.Digest != commitB || rounds[1].Receipts[0].Candidate != commitB || rounds[1].Round != 2 {
		t.Errorf("the rounds are %+v", rounds)
	}
	if log := string(s.file.Bytes()); !strings.Contains(log, "src/a.go") {
		t.Error("the log does not hold the manifest's text")
	}
	s.verify()
}

func TestACandidateIsWhatItsNameSays(t *testing.T) {
	t.Parallel()
	s := begin(t)
	id := s.rowIn(InProgress, withReviewers(rev))
	text := "x"
	for name, c := range map[string]*Candidate{
		"another commit":   {Kind: CommitCandidate, Ref: commitB, Digest: commitB},
		"another digest":   {Kind: CommitCandidate, Ref: commitA, Digest: commitB},
		"a manifest's":     {Kind: ManifestCandidate, Ref: commitA, Digest: commitA},
		"a commit's text":  {Kind: CommitCandidate, Ref: commitA, Digest: commitA, Manifest: &text},
		"a wrong manifest": {Kind: ManifestCandidate, Ref: commitA, Digest: digest([]byte("y")), Manifest: &text},
		"another kind":     {Kind: "none", Ref: commitA, Digest: commitA},
	} {
		if sentence := s.refused(CandidateInvalid, dev, &MoveArgs{Row: id, To: InReview, Candidate: commitA}, Facts{Candidate: c}); !strings.Contains(sentence, commitA) {
			t.Errorf("%s: %q", name, sentence)
		}
	}
}

// proves: QUEUE-REVIEW-37
func TestTheIssueOfAReview(t *testing.T) {
	t.Parallel()
	s := begin(t)
	ask := func(issues []int, issue *int) (RowID, Args, Facts) {
		id := s.rowIn(InProgress, withReviewers(rev), func(a *AddArgs) { a.Issues = issues })
		a, facts := moveTo(id, InReview, withCandidate(commitA), func(a *MoveArgs) { a.Issue = issue })
		return id, a, facts
	}
	_, a, facts := ask(nil, nil)
	s.refused(ArgumentInvalid, dev, a, facts)
	_, a, facts = ask([]int{4, 5}, nil)
	s.refused(ArgumentInvalid, dev, a, facts)
	_, a, facts = ask([]int{4, 5}, ptr(6))
	s.refused(ArgumentInvalid, dev, a, facts)
	id, a, facts := ask([]int{4, 5}, ptr(5))
	op := s.do(dev, a, facts)
	if got := s.row(id).Review.Issue; *got != 5 {
		t.Errorf("asked on %d", *got)
	}
	s.mustApply(op.Outcome(), dev, &OutcomeArgs{Row: id, Attempt: op, State: Failed}, Facts{})
	s.move(dev, id, InProgress)
	s.move(dev, id, InReview, withCandidate(commitB)) // the issue of the round before
	if got := s.row(id).Review.Issue; *got != 5 {
		t.Errorf("asked on %d", *got)
	}
	s.verify()
}
