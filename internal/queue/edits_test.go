package queue

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// addBy asks for a row with only what a seat may give.
func addBy(change ...func(*AddArgs)) *AddArgs {
	a := &AddArgs{Piece: "Sort the invoices", Brief: BriefRef{Path: "docs/brief.md"}, Issues: []int{9, 7, 9}, Note: "small"}
	for _, c := range change {
		c(a)
	}
	return a
}

var withBrief = Facts{Blob: blobA}

// proves: QUEUE-TESTS-14 QUEUE-STATE-01 QUEUE-STATE-02 QUEUE-STATE-03 QUEUE-STATE-04 QUEUE-STATE-05 QUEUE-STATE-07 QUEUE-STATE-08
// proves: QUEUE-STATE-09 QUEUE-STATE-10 QUEUE-STATE-11 QUEUE-STATE-12 QUEUE-DATA-49 QUEUE-DATA-50 QUEUE-DATA-14
func TestASeatAddsItsOwnRow(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.do(dev, addBy(), withBrief)
	e := s.file.Log[1]
	got := string(rowBytes(ptr(s.row(1))))
	want := `{
  "id": 1,
  "piece": "Sort the invoices",
  "owner": "dev",
  "issues": [
    7,
    9
  ],
  "closes": [
    7,
    9
  ],
  "state": "queued",
  "previousState": null,
  "required": false,
  "requiredSince": null,
  "gate": "",
  "gateOwner": "dana",
  "brief": {
    "path": "docs/brief.md",
    "anchor": null,
    "blob": "` + blobA + `"
  },
  "after": [],
  "reviewers": [],
  "review": null,
  "claim": null,
  "note": "small",
  "blockedReason": null,
  "createdAt": "` + e.At + `",
  "updatedAt": "` + e.At + `",
  "updatedBy": "dev"
}`
	if got != want {
		t.Errorf("the row is\n%s\nwant\n%s", got, want)
	}

	for name, more := range map[string]func(*AddArgs){
		"owner":         func(a *AddArgs) { a.Owner = rev },
		"owner himself": func(a *AddArgs) { a.Owner = dev },
		"gate":          func(a *AddArgs) { a.Gate = "green build" },
		"gateOwner":     func(a *AddArgs) { a.GateOwner = rev },
		"after":         func(a *AddArgs) { a.After = []After{{ID: 1}} },
		"reviewers":     func(a *AddArgs) { a.Reviewers = []Seat{rev} },
		"required":      func(a *AddArgs) { a.Required = true },
	} {
		if sentence := s.refused(NotPermitted, dev, addBy(more), withBrief); !strings.Contains(sentence, "the lead or the human") {
			t.Errorf("%s: %q does not say whose it is", name, sentence)
		}
	}
	s.refused(NotPermitted, coord, addBy(), withBrief)
	s.refused(BriefInvalid, dev, addBy(), Facts{})
	s.refused(ArgumentInvalid, dev, addBy(func(a *AddArgs) { a.Brief.Path = "" }), withBrief)
	if n := len(s.state.Rows); n != 1 {
		t.Errorf("refusals made rows: %d", n)
	}
	s.verify()
}

// proves: QUEUE-STATE-06 QUEUE-DATA-30 QUEUE-DATA-32 QUEUE-DATA-33 QUEUE-DATA-34 QUEUE-DATA-37 QUEUE-TESTS-14 QUEUE-DATA-41
func TestAPrivilegedActorSetsEverythingOnAdd(t *testing.T) {
	t.Parallel()
	s := begin(t)
	for _, actor := range []Seat{chief, dana} {
		s.do(actor, addBy(), withBrief)
		if row := s.row(s.state.HighWater); row.Owner != actor || row.GateOwner != dana || row.Required || row.RequiredSince != nil {
			t.Errorf("%s's own row is %+v", actor, row)
		}
		s.do(actor, addBy(func(a *AddArgs) {
			a.Owner, a.Gate, a.GateOwner, a.Required = rev, "green build", rev2, true
			a.After = []After{{ID: 1, When: WhenSettled}}
			a.Reviewers = []Seat{rev2, dev, rev2}
		}), withBrief)
		row := s.row(s.state.HighWater)
		if row.Owner != rev || row.Gate != "green build" || row.GateOwner != rev2 || !slices.Equal(row.Reviewers, []Seat{dev, rev2}) ||
			!row.Required || *row.RequiredSince != row.CreatedAt || !slices.Equal(row.After, []After{{ID: 1, When: WhenSettled}}) {
			t.Errorf("%s's row for rev is %+v", actor, row)
		}
	}
	s.do(chief, addBy(func(a *AddArgs) { a.After = []After{{ID: 2}} }), withBrief)
	if got := s.row(s.state.HighWater).After[0].When; got != WhenDone {
		t.Errorf("without a when it is %q", got)
	}
	s.do(chief, addBy(func(a *AddArgs) { a.Owner = Unassigned }), withBrief)
	s.do(chief, addBy(func(a *AddArgs) { a.Owner = coord }), withBrief)
	s.do(chief, addBy(func(a *AddArgs) { a.Owner = dana }), withBrief)
	s.verify()
}

// proves: QUEUE-DATA-21 QUEUE-DATA-22 QUEUE-DATA-41
func TestNamesThatNobodyConfiguredAreRefused(t *testing.T) {
	t.Parallel()
	s := begin(t)
	id := s.add(dev)
	for _, name := range []Seat{"mallory", "Dev", "", " dev"} {
		if name != "" {
			s.refused(NameUnknown, chief, addBy(func(a *AddArgs) { a.Owner = name }), withBrief)
			s.refused(NameUnknown, chief, addBy(func(a *AddArgs) { a.GateOwner = name }), withBrief)
		}
		s.refused(NameUnknown, chief, addBy(func(a *AddArgs) { a.Reviewers = []Seat{name} }), withBrief)
		s.refused(NameUnknown, chief, &AssignArgs{Row: id, Owner: name}, Facts{})
		s.refused(NameUnknown, chief, &SetArgs{Row: id, GateOwner: &name}, Facts{})
		s.refused(NameUnknown, chief, &SetArgs{Row: id, Reviewers: &[]Seat{name}}, Facts{})
	}
	s.refused(NameUnknown, chief, &SetArgs{Row: id, GateOwner: ptr(Unassigned)}, Facts{})
	s.refused(NameUnknown, chief, &SetArgs{Row: id, Reviewers: &[]Seat{coord}}, Facts{})
	// The owner reviews nothing of his own.
	s.refused(ReviewerIsTheOwner, chief, &SetArgs{Row: id, Reviewers: &[]Seat{dev}}, Facts{})
	s.refused(ReviewerIsTheOwner, chief, addBy(func(a *AddArgs) { a.Owner, a.Reviewers = rev, []Seat{rev} }), withBrief)
	s.do(chief, &SetArgs{Row: id, Reviewers: &[]Seat{rev, dana}}, Facts{})
	s.refused(ReviewerIsTheOwner, chief, &AssignArgs{Row: id, Owner: rev}, Facts{})
	s.verify()
}

// proves: QUEUE-DATA-36 QUEUE-DATA-38 QUEUE-DATA-39 QUEUE-DATA-40
func TestPrerequisitesThatCannotBe(t *testing.T) {
	t.Parallel()
	s := begin(t)
	a, b, c := s.add(dev), s.add(dev), s.add(dev)
	after := func(ids ...RowID) *[]After {
		var list []After
		for _, id := range ids {
			list = append(list, After{ID: id})
		}
		return &list
	}
	s.refused(PrerequisiteWrong, chief, addBy(func(x *AddArgs) { x.After = *after(99) }), withBrief)
	s.refused(PrerequisiteWrong, chief, addBy(func(x *AddArgs) { x.After = *after(c + 1) }), withBrief) // the new row itself
	s.refused(PrerequisiteWrong, chief, &SetArgs{Row: a, After: after(99)}, Facts{})
	s.refused(PrerequisiteWrong, chief, &SetArgs{Row: a, After: after(a)}, Facts{})
	s.refused(PrerequisiteWrong, chief, &SetArgs{Row: a, After: &[]After{{ID: b, When: WhenDone}, {ID: b, When: WhenSettled}}}, Facts{})
	s.refused(PrerequisiteWrong, chief, &SetArgs{Row: a, After: &[]After{{ID: b, When: "soon"}}}, Facts{})
	s.refused(ArgumentInvalid, chief, &SetArgs{Row: a, After: after(0)}, Facts{})
	s.do(chief, &SetArgs{Row: b, After: after(a)}, Facts{})
	s.refused(DependencyCycle, chief, &SetArgs{Row: a, After: after(b)}, Facts{})
	s.do(chief, &SetArgs{Row: c, After: after(b, a)}, Facts{})
	s.refused(DependencyCycle, chief, &SetArgs{Row: a, After: after(c)}, Facts{})
	if got := s.row(c).After; !slices.Equal(got, []After{{ID: a, When: WhenDone}, {ID: b, When: WhenDone}}) {
		t.Errorf("after is %v", got)
	}
	s.do(chief, &SetArgs{Row: b, After: after()}, Facts{})
	s.do(chief, &SetArgs{Row: a, After: after(b)}, Facts{})
	s.verify()
}

// proves: QUEUE-STATE-60 QUEUE-STATE-62 QUEUE-DATA-23 QUEUE-DATA-24
func TestIssuesAndCloses(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.do(dev, addBy(), withBrief)
	set := func(issues, closes []int, reason string) *SetArgs {
		a := &SetArgs{Row: 1, Reason: reason}
		if issues != nil {
			a.Issues = &issues
		}
		if closes != nil {
			a.Closes = &closes
		}
		return a
	}
	want := func(issues, closes []int) {
		t.Helper()
		if row := s.row(1); !slices.Equal(row.Issues, issues) || !slices.Equal(row.Closes, closes) {
			t.Errorf("issues %v, closes %v", row.Issues, row.Closes)
		}
	}
	s.refused(NotPermitted, dev, set([]int{1}, nil, ""), Facts{})
	s.refused(NotPermitted, dev, set(nil, []int{7}, "because"), Facts{})
	s.refused(ReasonMissing, chief, set(nil, []int{7}, ""), Facts{})
	s.refused(ArgumentInvalid, chief, set(nil, []int{8}, "because"), Facts{})
	s.refused(ArgumentInvalid, chief, set([]int{0}, nil, ""), Facts{})
	s.do(chief, set(nil, []int{7}, "9 needs more"), Facts{})
	want([]int{7, 9}, []int{7})
	if e := s.file.Log[2]; !strings.Contains(string(e.Args), "9 needs more") {
		t.Errorf("the reason is not in the log: %s", e.Args)
	}
	s.do(chief, set([]int{12, 9, 7}, nil, ""), Facts{}) // a new issue joins both
	want([]int{7, 9, 12}, []int{7, 12})
	s.do(chief, set(nil, []int{7, 9, 12}, "all of it"), Facts{}) // widened again
	want([]int{7, 9, 12}, []int{7, 9, 12})
	s.do(chief, set([]int{9}, nil, ""), Facts{}) // a removed one leaves both
	want([]int{9}, []int{9})
	s.do(chief, set([]int{}, nil, ""), Facts{})
	want([]int{}, []int{})
	s.verify()
}

// proves: QUEUE-STATE-63 QUEUE-STATE-65 QUEUE-STATE-66 QUEUE-STATE-58 QUEUE-DATA-31 QUEUE-STATE-71
func TestRequired(t *testing.T) {
	t.Parallel()
	s := begin(t)
	other, id := s.add(dev), s.rowIn(Briefed)
	require, free := &SetArgs{Row: id, Required: ptr(true)}, &SetArgs{Row: id, Required: ptr(false)}
	s.refused(NotPermitted, dev, require, Facts{})
	s.do(chief, &SetArgs{Row: id, After: &[]After{{ID: other}}}, Facts{}) // while it is not required
	s.do(chief, require, Facts{})
	since := s.row(id).RequiredSince
	if since == nil || *since != s.file.Log[s.state.Rev].At {
		t.Fatalf("required since %v", since)
	}
	s.do(chief, &SetArgs{Row: id, Required: ptr(true), Gate: ptr("x")}, Facts{})
	if again := s.row(id).RequiredSince; *again != *since {
		t.Errorf("setting it again moved the time from %s to %s", *since, *again)
	}
	s.refused(NotPermitted, chief, &SetArgs{Row: id, After: &[]After{}}, Facts{})
	s.refused(NotPermitted, chief, free, Facts{})
	s.do(dana, &SetArgs{Row: id, After: &[]After{}}, Facts{})
	s.move(dev, id, InProgress)
	s.move(dev, id, InReview)
	s.do(dana, free, Facts{})
	if row := s.row(id); row.Required || row.RequiredSince != nil {
		t.Errorf("cleared: %+v", row)
	}
	s.verify()
}

// proves: QUEUE-STATE-67 QUEUE-STATE-68 QUEUE-DATA-48
func TestNotes(t *testing.T) {
	t.Parallel()
	s := begin(t)
	id := s.rowIn(InProgress, withReviewers(rev))
	note := func(text string) *NoteArgs { return &NoteArgs{Row: id, Note: &text} }
	for _, actor := range []Seat{dev, rev, chief, dana} {
		s.do(actor, note("by "+string(actor)), Facts{})
		if got := s.row(id).Note; got != "by "+string(actor) {
			t.Errorf("the note is %q", got)
		}
	}
	s.refused(NotPermitted, rev2, note("x"), Facts{})
	s.refused(NotPermitted, coord, note("x"), Facts{})
	for _, bad := range []string{"two\nlines", "a\ttab", "\x1b[2J", strings.Repeat("é", 201), "a\u2028b", "\xff"} {
		s.refused(ArgumentInvalid, dev, note(bad), Facts{})
	}
	s.do(dev, note(strings.Repeat("é", 200)), Facts{})
	s.do(dev, note(""), Facts{})
	s.refused(ArgumentInvalid, dev, &NoteArgs{Row: id, Reason: "not blocked"}, Facts{})
	s.refused(ArgumentInvalid, dev, &NoteArgs{Row: id}, Facts{})
	s.refused(ArgumentInvalid, dev, &NoteArgs{Row: id, Note: ptr("x"), Reason: "y"}, Facts{})
	s.move(dev, id, Blocked)
	s.refused(NotPermitted, rev, &NoteArgs{Row: id, Reason: "a reviewer's"}, Facts{})
	for _, state := range []State{Done, Parked} {
		s.refused(RowFinal, dev, &NoteArgs{Row: s.rowIn(state), Note: ptr("x")}, Facts{})
	}
	s.verify()
}

// Every edit on a done row and on a parked one is refused, whoever asks.
//
// proves: QUEUE-STATE-69 QUEUE-STATE-70 QUEUE-STATE-68
func TestNothingChangesAFinishedRow(t *testing.T) {
	t.Parallel()
	s := begin(t)
	for _, state := range []State{Done, Parked} {
		id := s.rowIn(state)
		for _, a := range []Args{
			&AssignArgs{Row: id, Owner: rev}, &NoteArgs{Row: id, Note: ptr("x")}, &NoteArgs{Row: id, Reason: "x"},
			&SetArgs{Row: id, Piece: ptr("x")}, &SetArgs{Row: id, Gate: ptr("x")}, &SetArgs{Row: id, GateOwner: ptr(rev)},
			&SetArgs{Row: id, After: &[]After{}}, &SetArgs{Row: id, Reviewers: &[]Seat{}}, &SetArgs{Row: id, Issues: &[]int{1}},
			&SetArgs{Row: id, Closes: &[]int{}, Reason: "x"}, &SetArgs{Row: id, Required: ptr(true)}, &SetArgs{Row: id, Required: ptr(false)},
			&SetArgs{Row: id, Brief: &BriefRef{Path: "b.md"}}, &RequestArgs{Row: id},
			&ResolveArgs{Row: id, Attempt: "some-attempt", Comment: 1}, &AbandonArgs{Row: id, Attempt: "some-attempt", Reason: "x"},
			&RecordArgs{Row: id, Verdict: Approve, Comment: 1, Candidate: commitA},
		} {
			for _, actor := range []Seat{dana, chief, dev} {
				s.refused(RowFinal, actor, a, withBrief)
			}
		}
	}
}

// One operation edits several fields or none.
//
// proves: QUEUE-STATE-57 QUEUE-STATE-59 QUEUE-STATE-61 QUEUE-STATE-55 QUEUE-STATE-56 QUEUE-BRIEF-15
func TestSetIsAllOrNothing(t *testing.T) {
	t.Parallel()
	s := begin(t)
	id := s.rowIn(InProgress)
	all := &SetArgs{
		Row: id, Piece: ptr("A better name"), Gate: ptr("green build"), GateOwner: ptr(chief), Reviewers: &[]Seat{rev2, rev},
		Issues: &[]int{8, 7}, Closes: &[]int{8}, Reason: "7 is for later", Required: ptr(true), After: &[]After{},
		Brief: &BriefRef{Path: "./docs//new.md", Anchor: ptr(" What ships ")},
	}
	s.refused(NotPermitted, dev, all, Facts{Blob: blobB})
	s.refused(BriefInvalid, chief, all, Facts{})
	bad := *all
	bad.Reviewers = &[]Seat{rev, "mallory"}
	s.refused(NameUnknown, chief, &bad, Facts{Blob: blobB})
	s.refused(ArgumentInvalid, chief, &SetArgs{Row: id}, Facts{})
	s.refused(ArgumentInvalid, chief, &SetArgs{Row: id, Reason: "why"}, Facts{})

	op := s.do(chief, all, Facts{Blob: blobB})
	row := s.row(id)
	if row.Piece != "A better name" || row.Gate != "green build" || row.GateOwner != chief || !slices.Equal(row.Reviewers, []Seat{rev, rev2}) ||
		!slices.Equal(row.Issues, []int{7, 8}) || !slices.Equal(row.Closes, []int{8}) || !row.Required ||
		row.Brief.String() != "docs/new.md#What ships" || row.Brief.Blob != blobB || row.Claim == nil {
		t.Errorf("the row is %+v", row)
	}
	if e := s.file.Log[s.state.Rev]; e.Op != op || !strings.Contains(string(e.Result), `"blob":"`+blobB+`","oldBlob":"`+blobA+`"`) {
		t.Errorf("the log does not hold both versions of the brief: %s", e.Result)
	}
	for _, seat := range []Seat{dev, rev, coord} {
		s.refused(NotPermitted, seat, &AssignArgs{Row: id, Owner: seat}, Facts{})
		s.refused(NotPermitted, seat, &SetArgs{Row: id, Reviewers: &[]Seat{}}, Facts{})
		s.refused(NotPermitted, seat, &SetArgs{Row: id, GateOwner: &seat}, Facts{})
		s.refused(NotPermitted, seat, &SetArgs{Row: id, Brief: all.Brief}, Facts{Blob: blobB})
		s.refused(NotPermitted, seat, &SetArgs{Row: id, Issues: &[]int{1}}, Facts{})
	}
	s.verify()
}

// proves: QUEUE-DATA-20
func TestAPieceIsOneLine(t *testing.T) {
	t.Parallel()
	s := begin(t)
	for _, bad := range []string{"", "  ", "two\nlines", "cr\rlf", "bell\a", "next\u0085line", strings.Repeat("x", 201), "a\u2029b", "\xc3("} {
		s.refused(ArgumentInvalid, dev, addBy(func(a *AddArgs) { a.Piece = bad }), withBrief)
	}
	s.do(dev, addBy(func(a *AddArgs) { a.Piece = strings.Repeat("ü", 200) }), withBrief)
	s.verify()
}

// The roster is the human's, and decides from its entry on.
//
// proves: QUEUE-DATA-89
func TestTheRosterDecidesFromItsEntryOn(t *testing.T) {
	t.Parallel()
	s := begin(t)
	id := s.add(dev)
	seats := func(list ...Seat) *RosterArgs { return &RosterArgs{Seats: &list} }
	s.refused(NotPermitted, chief, seats(dev, "new"), Facts{})
	s.refused(ActorUnknown, "new", addBy(), withBrief)
	s.do(dana, seats("new", rev, chief), Facts{})
	s.do("new", addBy(), withBrief)
	s.refused(ActorUnknown, dev, &NoteArgs{Row: id, Note: ptr("gone")}, Facts{})
	s.do(dana, &RosterArgs{Lead: ptr(Seat("new"))}, Facts{})
	s.moveRefused(NotPermitted, chief, id, Briefed)
	s.move("new", id, Briefed)
	s.do(dana, &RosterArgs{Labels: &[]Seat{"ops"}}, Facts{})
	s.refused(ActorUnknown, coord, addBy(), withBrief)
	for _, bad := range []*RosterArgs{
		seats(dana), seats("ops"), seats(Unassigned), seats("a b"), seats(""), {Labels: &[]Seat{"new"}}, {Lead: ptr(Seat(""))}, {Lead: ptr(Seat("ops"))}, {},
	} {
		s.refused(ArgumentInvalid, dana, bad, Facts{})
	}
	s.verify() // entries of dev and of chief as lead replay under the roster of their time
}

// The permission table with an allowed actor, a refused one and none.
//
// proves: QUEUE-TESTS-05
func TestPermissionTable(t *testing.T) {
	t.Parallel()
	none := Facts{}
	row := func(id RowID) func(*story) RowID { return func(*story) RowID { return id } }
	in := func(state State, change ...func(*AddArgs)) func(*story) RowID {
		return func(s *story) RowID { return s.rowIn(state, change...) }
	}
	reviewing := func(s *story) RowID {
		id := s.rowIn(InProgress, withReviewers(rev))
		s.mustApply("the-request", dev, &MoveArgs{Row: id, To: InReview, Candidate: commitA}, Facts{Candidate: &Candidate{Kind: CommitCandidate, Ref: commitA, Digest: commitA}})
		return id
	}
	failed := func(s *story) RowID {
		id := reviewing(s)
		s.mustApply("the-request.outcome", dev, &OutcomeArgs{Row: id, Attempt: "the-request", State: Failed, Status: ptr(403)}, none)
		return id
	}
	required := in(Queued, func(a *AddArgs) { a.Required = true })
	for _, c := range []struct {
		p       *Permission
		who     []Seat // the rest of the team is refused
		prepare func(*story) RowID
		args    func(RowID) Args
		facts   Facts
	}{
		{&mayAdd, []Seat{dev, rev, rev2, chief, dana}, row(0), func(RowID) Args { return addBy() }, withBrief},
		{&mayAddMore, []Seat{chief, dana}, row(0), func(RowID) Args { return addBy(func(a *AddArgs) { a.Owner = rev }) }, withBrief},
		{&mayAssign, []Seat{chief, dana}, in(InProgress), func(id RowID) Args { return &AssignArgs{Row: id, Owner: rev} }, none},
		{&maySet, []Seat{chief, dana}, in(Queued), func(id RowID) Args { return &SetArgs{Row: id, Piece: ptr("x")} }, none},
		{&maySetAfter, []Seat{chief, dana}, in(Queued), func(id RowID) Args { return &SetArgs{Row: id, After: &[]After{}} }, none},
		{&maySetRequiredAfter, []Seat{dana}, required, func(id RowID) Args { return &SetArgs{Row: id, After: &[]After{}} }, none},
		{&mayNarrow, []Seat{chief, dana}, in(Queued), func(id RowID) Args { return &SetArgs{Row: id, Closes: &[]int{}, Reason: "x"} }, none},
		{&mayRequire, []Seat{chief, dana}, in(Queued), func(id RowID) Args { return &SetArgs{Row: id, Required: ptr(true)} }, none},
		{&mayNotRequire, []Seat{dana}, required, func(id RowID) Args { return &SetArgs{Row: id, Required: ptr(false)} }, none},
		{&mayNote, []Seat{dev, rev, chief, dana}, in(Queued, withReviewers(rev)), func(id RowID) Args { return &NoteArgs{Row: id, Note: ptr("x")} }, none},
		{&mayExplain, []Seat{dev, chief, dana}, in(Blocked, withReviewers(rev)), func(id RowID) Args { return &NoteArgs{Row: id, Reason: "x"} }, none},
		{&mayRequest, []Seat{dev, chief, dana}, failed, func(id RowID) Args { return &RequestArgs{Row: id} }, none},
		{&mayRecord, []Seat{rev}, reviewing, func(id RowID) Args { return &RecordArgs{Row: id, Verdict: Approve, Comment: 1, Candidate: commitA} }, none},
		{&mayResolve, []Seat{dev, chief, dana}, reviewing, func(id RowID) Args { return &ResolveArgs{Row: id, Attempt: "the-request", Comment: 4} }, none},
		{&mayAbandon, []Seat{chief, dana}, reviewing, func(id RowID) Args { return &AbandonArgs{Row: id, Attempt: "the-request", Reason: "x"} }, none},
		{&mayRoster, []Seat{dana}, row(0), func(RowID) Args { return &RosterArgs{Lead: ptr(rev)} }, none},
		{&mayBegin, []Seat{chief, dana}, row(0), func(RowID) Args { return &AcceptArgs{Reason: "restored"} }, none},
	} {
		t.Run(c.p.What, func(t *testing.T) {
			for _, actor := range []Seat{dev, rev, rev2, coord, chief, dana} {
				s := begin(t)
				id := c.prepare(s)
				facts := c.facts
				if c.p == &mayBegin {
					facts.History = &HistoryFacts{Lost: "1 to 4", Revision: s.state.Rev + 1}
				}
				if slices.Contains(c.who, actor) {
					s.do(actor, c.args(id), facts)
					s.verify()
				} else {
					s.refused(NotPermitted, actor, c.args(id), facts)
				}
				s.refused(ActorMissing, "", c.args(id), facts)
			}
		})
	}
	s := begin(t)
	for actor, want := range map[Seat]string{dana: "", chief: "", dev: NotPermitted, coord: NotPermitted, "": ActorMissing, "mallory": ActorUnknown} {
		if err := s.state.AllowCommit(actor); code(err) != want {
			t.Errorf("commit by %q: %v", actor, err)
		}
	}
	if len(Permissions) != 18 {
		t.Errorf("the table has %d rows; this test knows 18", len(Permissions))
	}
}

// code is a refusal's code, "" for no error.
func code(err error) string {
	switch err := err.(type) {
	case nil:
		return ""
	case *Refusal:
		return err.Code
	default:
		return fmt.Sprintf("%T: %v", err, err)
	}
}
