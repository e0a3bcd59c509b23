package queue

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// rowIn brings a new row of dev's to a state by the ordinary way. Its gate is
// rev2's, so that review can end without the human.
func (s *story) rowIn(state State, change ...func(*AddArgs)) RowID {
	s.t.Helper()
	id := s.add(dev, append([]func(*AddArgs){func(a *AddArgs) { a.GateOwner = rev2 }}, change...)...)
	way := map[State][]State{
		Queued:         {},
		Briefed:        {Briefed},
		InProgress:     {Briefed, InProgress},
		InReview:       {Briefed, InProgress, InReview},
		WaitingOnHuman: {Briefed, InProgress, InReview, WaitingOnHuman},
		Blocked:        {Briefed, InProgress, Blocked},
		Parked:         {Parked},
		Done:           {Briefed, InProgress, InReview, WaitingOnHuman, Done},
	}[state]
	for _, to := range way {
		by := dev
		switch to {
		case Briefed:
			by = chief
		case Parked, Done:
			by = dana
		}
		candidate := func(*MoveArgs) {}
		if to == InReview && len(s.row(id).Reviewers) > 0 {
			candidate = withCandidate(commitA)
		}
		s.move(by, id, to, candidate)
	}
	if got := s.row(id).State; got != state {
		s.t.Fatalf("row %d is %s, not %s", id, got, state)
	}
	return id
}

// allowed is the table of the requirements, written a second time: who of the
// team may make each move of dev's claimed row, whose gate is rev2's.
var allowed = map[string][]Seat{
	"queued→briefed":               {chief, dana},
	"briefed→in-progress":          {dev},
	"in-progress→briefed":          {dev, chief, dana},
	"in-progress→in-review":        {dev},
	"in-review→in-progress":        {dev, chief, dana},
	"in-review→waiting-on-human":   {dev, chief, dana},
	"waiting-on-human→in-progress": {dana},
	"waiting-on-human→done":        {chief, dana},
	"in-review→done":               {rev2, chief, dana},
	"queued→blocked":               {dev, chief, dana},
	"briefed→blocked":              {dev, chief, dana},
	"in-progress→blocked":          {dev, chief, dana},
	"in-review→blocked":            {dev, chief, dana},
	"waiting-on-human→blocked":     {dev, chief, dana},
	"blocked→in-progress":          {dev, chief, dana}, // where it was blocked
	"queued→parked":                {dana},
	"briefed→parked":               {dana},
	"parked→queued":                {dana},
}

// withEverything adds whatever any move could ask for.
func withEverything(a *MoveArgs) {
	a.Reason = "because"
	if a.To == Done {
		a.Evidence = "round=1,candidate=none,comment=12"
	}
}

// Every pair of states with every actor: the moves of the table are made, all
// others are refused and change nothing.
//
// proves: QUEUE-STATE-53 QUEUE-TESTS-03 QUEUE-STATE-19 QUEUE-STATE-20 QUEUE-STATE-24 QUEUE-STATE-25
// proves: QUEUE-STATE-28 QUEUE-STATE-29 QUEUE-STATE-30 QUEUE-STATE-34 QUEUE-STATE-40 QUEUE-STATE-43 QUEUE-STATE-44 QUEUE-STATE-45
// proves: QUEUE-STATE-46 QUEUE-STATE-48 QUEUE-STATE-50 QUEUE-STATE-51 QUEUE-STATE-52 QUEUE-OP-11 QUEUE-STATE-16 QUEUE-STATE-17
func TestEveryPairOfStatesWithEveryActor(t *testing.T) {
	t.Parallel()
	for _, from := range States {
		t.Run(string(from), func(t *testing.T) {
			s := begin(t)
			for _, to := range States {
				pair := string(from) + "→" + string(to)
				for _, actor := range []Seat{dev, rev, rev2, coord, chief, dana} {
					id := s.rowIn(from)
					switch {
					case slices.Contains(allowed[pair], actor):
						s.move(actor, id, to, withEverything)
						if got := s.row(id); got.State != to || got.UpdatedBy != actor {
							t.Errorf("%s by %s gave %s by %s", pair, actor, got.State, got.UpdatedBy)
						}
					case len(allowed[pair]) > 0:
						s.moveRefused(NotPermitted, actor, id, to, withEverything)
					default:
						s.moveRefused(IllegalTransition, actor, id, to, withEverything)
					}
				}
			}
			s.verify()
		})
	}
}

// The table in the code lists exactly the moves that the test above makes.
func TestTransitionsAreThoseOfTheTable(t *testing.T) {
	t.Parallel()
	var listed []string
	for _, tr := range Transitions {
		for _, from := range tr.From {
			to := tr.To
			if to == Previous {
				to = InProgress
			}
			listed = append(listed, string(from)+"→"+string(to))
		}
	}
	slices.Sort(listed)
	var want []string
	for pair := range allowed {
		want = append(want, pair)
	}
	slices.Sort(want)
	if !slices.Equal(listed, want) {
		t.Errorf("the table lists\n%s\nthe test\n%s", strings.Join(listed, "\n"), strings.Join(want, "\n"))
	}
}

// An actor is needed, must be known, and is recorded as claimed.
//
// proves: QUEUE-STATE-15 QUEUE-STATE-18 QUEUE-DATA-54 QUEUE-STATE-13
func TestActors(t *testing.T) {
	t.Parallel()
	s := begin(t)
	id := s.add(dev)
	s.moveRefused(ActorMissing, "", id, Briefed)
	s.moveRefused(ActorUnknown, "mallory", id, Briefed)
	s.moveRefused(ActorUnknown, Unassigned, id, Briefed)
	op := s.move(chief, id, Briefed)
	if e := s.file.Log[len(s.file.Log)-1]; e.Op != op || e.By != chief || s.row(id).UpdatedBy != chief {
		t.Errorf("the log says %s by %s", e.Op, e.By)
	}
	for actor, want := range map[Seat]bool{dana: true, chief: true, dev: false, coord: false, "": false} {
		if s.state.Privileged(actor) != want {
			t.Errorf("Privileged(%q) is not %v", actor, want)
		}
	}
}

// proves: QUEUE-STATE-20 QUEUE-STATE-85 QUEUE-STATE-17
func TestARefusalNamesTheClaimant(t *testing.T) {
	t.Parallel()
	s := begin(t)
	id := s.rowIn(InProgress)
	for _, to := range []State{InReview, Blocked, Briefed} {
		if sentence := s.moveRefused(NotPermitted, rev, id, to); !strings.Contains(sentence, "claimed by dev") {
			t.Errorf("→%s: %q does not say who claimed the row", to, sentence)
		}
	}
	free := s.rowIn(Briefed)
	if sentence := s.moveRefused(NotPermitted, chief, free, InProgress); strings.Contains(sentence, "claimed") {
		t.Errorf("%q speaks of a claim that nobody has", sentence)
	}
	s.move(dev, free, InProgress)
	reviewing := s.rowIn(InReview)
	if sentence := s.moveRefused(NotPermitted, rev, reviewing, InProgress); !strings.Contains(sentence, "claimed by dev") {
		t.Errorf("%q does not say who claimed the row", sentence)
	}
}

// A label moves its own rows and has no authority over others.
//
// proves: QUEUE-STATE-16 QUEUE-DATA-21
func TestALabelMovesOnlyItsOwnRows(t *testing.T) {
	t.Parallel()
	s := begin(t)
	own := s.add(coord)
	s.move(chief, own, Briefed)
	s.move(coord, own, InProgress)
	s.moveRefused(NotPermitted, coord, s.add(dev), Blocked)
	s.refused(NotPermitted, coord, &AssignArgs{Row: own, Owner: dev}, Facts{})
}

// proves: QUEUE-STATE-21 QUEUE-STATE-86 QUEUE-STATE-87 QUEUE-STATE-88 QUEUE-STATE-89 QUEUE-STATE-90 QUEUE-STATE-72
func TestPrerequisites(t *testing.T) {
	t.Parallel()
	s := begin(t)
	first, second := s.rowIn(InProgress), s.rowIn(InProgress)
	id := s.add(dev, func(a *AddArgs) {
		a.Required = true
		a.After = []After{{ID: first, When: WhenDone}, {ID: second, When: WhenSettled}}
	})
	s.move(chief, id, Briefed)
	s.moveRefused(PrerequisiteOpen, dev, id, InProgress)
	s.move(dev, first, Blocked)
	if sentence := s.moveRefused(PrerequisiteOpen, dev, id, InProgress); !strings.Contains(sentence, fmt.Sprintf("row %d to be done", first)) {
		t.Errorf("blocked does not satisfy done: %q", sentence)
	}
	s.move(dev, first, InProgress)
	s.move(dev, first, InReview)
	s.move(dev, first, WaitingOnHuman)
	s.move(dana, first, Done)
	if sentence := s.moveRefused(PrerequisiteOpen, dev, id, InProgress); !strings.Contains(sentence, fmt.Sprintf("row %d to be settled", second)) {
		t.Errorf("in-progress does not satisfy settled: %q", sentence)
	}
	s.move(dev, second, Blocked)
	s.move(dev, id, InProgress)
	s.move(dev, second, InProgress) // and is not settled any more
	s.move(dev, id, Blocked)
	s.move(dev, id, InProgress)
	s.move(dev, id, InReview)
	s.move(dev, id, InProgress)
	s.verify()
}

// proves: QUEUE-STATE-23 QUEUE-BRIEF-14 QUEUE-DATA-93
func TestAStartNeedsThePinnedBrief(t *testing.T) {
	t.Parallel()
	s := begin(t)
	id := s.rowIn(Briefed)
	for _, working := range []string{blobB, ""} {
		sentence := s.refused(BriefDiffers, dev, &MoveArgs{Row: id, To: InProgress}, Facts{Blob: working})
		if !strings.Contains(sentence, "brief differs from pinned blob; ask the lead to re-pin") {
			t.Errorf("the refusal says %q", sentence)
		}
	}
	s.do(chief, &SetArgs{Row: id, Brief: &BriefRef{Path: "docs/brief.md"}}, Facts{Blob: blobB})
	s.refused(BriefDiffers, dev, &MoveArgs{Row: id, To: InProgress}, Facts{Blob: blobA})
	s.do(dev, &MoveArgs{Row: id, To: InProgress}, Facts{Blob: blobB})
	s.verify()
}

// proves: QUEUE-STATE-31 QUEUE-STATE-32 QUEUE-STATE-33
func TestTheLeadCitesTheHumansApproval(t *testing.T) {
	t.Parallel()
	s := begin(t)
	id := s.rowIn(WaitingOnHuman)
	s.moveRefused(EvidenceInvalid, chief, id, Done)
	s.moveRefused(EvidenceInvalid, chief, id, Done, withEvidence("   "))
	s.move(chief, id, Done, withEvidence("dana said yes in comment 99"))
	if e := s.file.Log[len(s.file.Log)-1]; !strings.Contains(string(e.Args), "dana said yes in comment 99") {
		t.Errorf("the log holds %s", e.Args)
	}
	s.move(dana, s.rowIn(WaitingOnHuman), Done)
}

// proves: QUEUE-STATE-35
func TestNobodyPassesTheHumansGate(t *testing.T) {
	t.Parallel()
	s := begin(t)
	id := s.rowIn(InReview, func(a *AddArgs) { a.GateOwner = dana })
	for _, actor := range []Seat{dana, chief} {
		s.moveRefused(GateIsHumans, actor, id, Done, withEverything)
	}
	s.moveRefused(NotPermitted, dev, id, Done, withEverything)
}

// proves: QUEUE-STATE-36 QUEUE-STATE-38 QUEUE-STATE-39 QUEUE-STATE-27
func TestTheGateWithoutReviewersNeedsAComment(t *testing.T) {
	t.Parallel()
	s := begin(t)
	id := s.rowIn(InProgress)
	s.move(dev, id, InReview, withCandidate(commitA))
	for _, bad := range []string{
		"", "looks good", "round=1", "candidate=" + commitA, "round=1,candidate=" + commitA,
		"round=2,candidate=" + commitA + ",comment=5", "round=1,candidate=" + commitB + ",comment=5",
		"round=1,candidate=none,comment=5", "round=1,candidate=" + commitA + ",comment=0",
		"round=1,candidate=" + commitA + ",comment=5,comment=6", "round=1,candidate=" + commitA + ",comment=5,by=me",
		"round=one,candidate=" + commitA + ",comment=5",
	} {
		s.moveRefused(EvidenceInvalid, rev2, id, Done, withEvidence(bad))
	}
	good := "round=1,candidate=" + commitA + ",comment=5"
	s.move(rev2, id, Done, withEvidence("comment=5, candidate="+commitA+", round=1"))
	if e := s.file.Log[len(s.file.Log)-1]; !strings.Contains(string(e.Args), good) {
		t.Errorf("the log holds %s", e.Args)
	}
	none := s.rowIn(InReview)
	round := s.row(none).Review.Rounds[0]
	if round.Request != "none" || len(round.Attempts) != 0 || round.Candidate.Digest != "none" || s.row(none).Review.Issue != nil {
		t.Errorf("a round without reviewers is %+v", round)
	}
	s.moveRefused(EvidenceInvalid, rev2, none, Done, withEvidence(good))
	s.move(rev2, none, Done, withEvidence("round=1,candidate=none,comment=5"))
	s.verify()
}

// proves: QUEUE-STATE-37 QUEUE-STATE-26
func TestTheGateWithReviewersNeedsTheirApproval(t *testing.T) {
	t.Parallel()
	s := begin(t)
	id := s.rowIn(InProgress, withReviewers(rev, rev2))
	s.moveRefused(CandidateInvalid, dev, id, InReview)
	s.move(dev, id, InReview, withCandidate(commitA))
	evidence := withEvidence("round=1,candidate=" + commitA)
	s.moveRefused(ApprovalMissing, chief, id, Done, evidence)
	s.do(rev, &RecordArgs{Row: id, Verdict: Approve, Comment: 1, Candidate: commitA}, Facts{})
	s.moveRefused(ApprovalMissing, rev2, id, Done, evidence)
	s.do(rev2, &RecordArgs{Row: id, Verdict: Changes, Comment: 2, Candidate: commitA}, Facts{})
	s.moveRefused(ApprovalMissing, rev2, id, Done, evidence)

	s.move(dev, id, InProgress)
	s.do(chief, &AbandonArgs{Row: id, Attempt: s.row(id).Review.Rounds[0].Attempts[0].Op, Reason: "answered by hand"}, Facts{})
	s.move(dev, id, InReview, withCandidate(commitB))
	second := withEvidence("round=2,candidate=" + commitB)
	s.moveRefused(ApprovalMissing, rev2, id, Done, second) // approvals of round 1 do not count
	s.do(rev, &RecordArgs{Row: id, Verdict: Approve, Comment: 3, Candidate: commitB}, Facts{})
	s.do(rev2, &RecordArgs{Row: id, Verdict: Approve, Comment: 4, Candidate: commitB}, Facts{})
	s.moveRefused(EvidenceInvalid, rev2, id, Done, evidence)
	s.moveRefused(EvidenceInvalid, rev2, id, Done, withEvidence("round=2,candidate="+commitB+",comment=4"))
	s.move(rev2, id, Done, second)
	s.verify()
}

// proves: QUEUE-STATE-84 QUEUE-TESTS-15 QUEUE-STATE-82
func TestAGateOwnerWhoIsNotTheOwnerEndsAClaimedRow(t *testing.T) {
	t.Parallel()
	s := begin(t)
	id := s.rowIn(InReview)
	if row := s.row(id); row.Claim == nil || row.Claim.Seat != dev {
		t.Fatalf("the row is not claimed: %+v", row)
	}
	s.move(rev2, id, Done, withEvidence("round=1,candidate=none,comment=3"))
	if row := s.row(id); row.State != Done || row.Claim != nil {
		t.Errorf("the row ended as %+v", row)
	}
}

// proves: QUEUE-STATE-41 QUEUE-STATE-42 QUEUE-STATE-43 QUEUE-DATA-28 QUEUE-DATA-29 QUEUE-DATA-46 QUEUE-DATA-47
func TestBlockingKeepsReasonAndState(t *testing.T) {
	t.Parallel()
	s := begin(t)
	for _, from := range []State{Queued, Briefed, InProgress, InReview, WaitingOnHuman} {
		id := s.rowIn(from)
		s.moveRefused(ReasonMissing, dev, id, Blocked, withReason(""))
		s.moveRefused(ReasonMissing, dev, id, Blocked, withReason(" "))
		s.move(dev, id, Blocked)
		row := s.row(id)
		if row.PreviousState == nil || *row.PreviousState != from || row.BlockedReason == nil || *row.BlockedReason == "" {
			t.Fatalf("blocked from %s: %+v", from, row)
		}
		if sentence := s.moveRefused(IllegalTransition, dev, id, Blocked); !strings.Contains(sentence, "note") {
			t.Errorf("%q does not name note", sentence)
		}
		s.do(dev, &NoteArgs{Row: id, Reason: "still waiting"}, Facts{})
		if got := *s.row(id).BlockedReason; got != "still waiting" {
			t.Errorf("the reason is %q", got)
		}
		for _, to := range States {
			if to != from && to != Blocked {
				s.moveRefused(IllegalTransition, dana, id, to)
			}
		}
		s.move(dev, id, from)
		if row := s.row(id); row.PreviousState != nil || row.BlockedReason != nil || row.State != from {
			t.Errorf("unblocked to %s: %+v", from, row)
		}
	}
	s.verify()
}

// proves: QUEUE-STATE-47 QUEUE-STATE-49 QUEUE-STATE-50 QUEUE-STATE-83 QUEUE-TESTS-16 QUEUE-STATE-64 QUEUE-STATE-70
func TestParking(t *testing.T) {
	t.Parallel()
	s := begin(t)
	id := s.rowIn(Briefed)
	s.do(chief, &SetArgs{Row: id, Required: ptr(true)}, Facts{})
	s.moveRefused(RowRequired, dana, id, Parked)
	s.do(dana, &SetArgs{Row: id, Required: ptr(false)}, Facts{})
	s.move(dana, id, Parked)
	if s.row(id).Claim != nil {
		t.Error("a parked row has a claim")
	}
	s.refused(RowFinal, dana, &SetArgs{Row: id, Required: ptr(true)}, Facts{})
	s.refused(RowFinal, dana, &NoteArgs{Row: id, Note: ptr("x")}, Facts{})
	s.refused(RowFinal, dana, &AssignArgs{Row: id, Owner: rev}, Facts{})
	for _, actor := range []Seat{dev, rev, chief, coord} {
		s.moveRefused(NotPermitted, actor, id, Queued)
	}
	s.move(dana, id, Queued)
	if row := s.row(id); row.State != Queued || row.Claim != nil {
		t.Errorf("unparking gives %+v", row)
	}
	s.moveRefused(IllegalTransition, dev, id, InProgress)
	s.move(chief, id, Briefed)
	s.move(dev, id, InProgress)
	s.verify()
}

// One case for each row of the claim table.
//
// proves: QUEUE-TESTS-13 QUEUE-STATE-22 QUEUE-STATE-73 QUEUE-STATE-74 QUEUE-STATE-75 QUEUE-STATE-76 QUEUE-STATE-77 QUEUE-STATE-78
// proves: QUEUE-STATE-79 QUEUE-STATE-80 QUEUE-STATE-81 QUEUE-STATE-82 QUEUE-DATA-43 QUEUE-DATA-44
func TestClaimLifecycle(t *testing.T) {
	t.Parallel()
	s := begin(t)
	id := s.rowIn(Briefed)
	claim := func(what string, want *Claim) {
		t.Helper()
		row := s.row(id)
		switch {
		case (row.Claim == nil) != (want == nil), want != nil && *row.Claim != *want:
			t.Errorf("%s: the claim is %+v, want %+v", what, row.Claim, want)
		case row.Claim != nil && row.Claim.Seat != row.Owner:
			t.Errorf("%s: claimed by %s and owned by %s", what, row.Claim.Seat, row.Owner)
		}
	}
	claim("briefed", nil)
	s.do(chief, &AssignArgs{Row: id, Owner: rev}, Facts{})
	claim("assigned unclaimed", nil)
	if s.row(id).Owner != rev {
		t.Error("assign did not change the owner")
	}
	s.do(chief, &AssignArgs{Row: id, Owner: dev}, Facts{})

	started := &Claim{Seat: dev, Op: s.move(dev, id, InProgress)}
	claim("started", started)
	s.move(dev, id, Blocked)
	claim("blocked", started)
	s.move(dev, id, InProgress)
	claim("unblocked", started)
	s.move(dev, id, Briefed)
	claim("released by the claimant", nil)
	s.move(dev, id, InProgress)
	s.move(chief, id, Briefed)
	claim("released by the lead", nil)

	again := &Claim{Seat: dev, Op: s.move(dev, id, InProgress)}
	s.move(dev, id, InReview)
	claim("in review", again)
	s.move(dev, id, InProgress)
	claim("back from review", again)
	s.move(dev, id, InReview)
	s.move(dev, id, WaitingOnHuman)
	claim("waiting on the human", again)
	s.move(dana, id, InProgress, withReason("the title is wrong"))
	claim("sent back by the human", again)
	s.move(dev, id, InReview)

	review := s.row(id).Review
	taken := &Claim{Seat: rev, Op: s.do(dana, &AssignArgs{Row: id, Owner: rev}, Facts{})}
	claim("assigned while claimed", taken)
	if got := s.row(id).Review; len(got.Rounds) != 3 || got.current().Candidate != review.current().Candidate {
		t.Errorf("assign changed the review: %+v", got)
	}
	s.refused(ArgumentInvalid, chief, &AssignArgs{Row: id, Owner: Unassigned}, Facts{})
	s.move(rev2, id, Done, withEvidence("round=3,candidate=none,comment=3"))
	claim("done", nil)
	s.verify()
}

// proves: QUEUE-STATE-30
func TestTheHumanSendsWorkBackWithAReason(t *testing.T) {
	t.Parallel()
	s := begin(t)
	id := s.rowIn(WaitingOnHuman)
	s.moveRefused(ReasonMissing, dana, id, InProgress)
	s.moveRefused(NotPermitted, chief, id, InProgress, withReason("not yet"))
	s.move(dana, id, InProgress, withReason("not yet"))
	if got := s.row(id).State; got != InProgress {
		t.Errorf("the row is %s", got)
	}
}

// What belongs to one kind of move is refused with another.
//
// proves: QUEUE-DATA-26
func TestAMoveTakesOnlyItsOwnArguments(t *testing.T) {
	t.Parallel()
	s := begin(t)
	id := s.rowIn(InProgress)
	s.refused(ArgumentInvalid, dev, &MoveArgs{Row: id, To: Blocked, Reason: "x", Candidate: commitA}, Facts{})
	s.refused(ArgumentInvalid, dev, &MoveArgs{Row: id, To: Blocked, Reason: "x", Issue: ptr(7)}, Facts{})
	s.refused(ArgumentInvalid, dev, &MoveArgs{Row: id, To: Blocked, Reason: "x", Evidence: "y"}, Facts{})
	s.refused(ArgumentInvalid, dev, &MoveArgs{Row: id, To: InReview, Issue: ptr(7)}, Facts{})
	s.refused(CandidateInvalid, dev, &MoveArgs{Row: id, To: InReview}, Facts{Candidate: &Candidate{Kind: CommitCandidate, Ref: commitA, Digest: commitA}})
	s.refused(CandidateInvalid, dev, &MoveArgs{Row: id, To: InReview, Candidate: commitA}, Facts{})
	s.refused(RowUnknown, dev, &MoveArgs{Row: 99, To: Blocked, Reason: "x"}, Facts{})
	s.refused(ArgumentInvalid, dev, &MoveArgs{Row: id, To: "required"}, Facts{})
}
