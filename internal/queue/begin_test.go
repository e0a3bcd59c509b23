package queue

import (
	"slices"
	"strings"
	"testing"
)

// proves: QUEUE-DATA-73 QUEUE-DATA-74 QUEUE-DATA-75 QUEUE-DATA-76 QUEUE-DATA-77 QUEUE-DATA-78 QUEUE-DATA-82 QUEUE-DATA-84 QUEUE-DATA-59
func TestGenesisTakesTheMapOver(t *testing.T) {
	t.Parallel()
	rows := []Row{
		legacyRow(2, Queued), legacyRow(3, InProgress), legacyRow(5, InReview), legacyRow(6, Blocked),
		legacyRow(7, WaitingOnHuman), legacyRow(8, Parked), legacyRow(9, Done),
	}
	rows[1].Issues, rows[1].Closes = []int{9, 4, 9}, nil
	rows[2].Owner, rows[2].GateOwner = Unassigned, rev2
	rows[3].Reviewers = []Seat{rev2, rev, rev2}
	rows[3].Required, rows[3].RequiredSince = true, ptr(Unknown)
	rows[4].CreatedAt = "2026-01-02T03:04:05.000Z"
	rows[5].After = []After{{ID: 9, When: WhenDone}}
	s := beginWith(t, &GenesisFacts{HighWater: 12, MapBlob: blobA, Rows: rows,
		Legacy: Legacy{Table: "| old | table |\n"}, Retired: []Retired{{ID: 4, Reason: "recurring"}, {ID: 11, Reason: "merged into 3"}}})
	s.verify()

	g := s.file.Log[0]
	if g.Rev != 0 || g.Verb != VerbGenesis || s.file.Revision != 0 {
		t.Errorf("genesis is %+v", g)
	}
	for _, part := range []string{`"branch":"main"`, `"canonicalRoot":"/src/web"`, `"map":"docs/plans/map.md"`} {
		if !strings.Contains(string(g.Args), part) {
			t.Errorf("the arguments lack %s: %s", part, g.Args)
		}
	}
	for _, part := range []string{`"highWater":12`, `"mapBlob":"` + blobA + `"`, `"table":"| old | table |\n"`, `{"id":11,"reason":"merged into 3"}`, `"piece":"Legacy 3"`} {
		if !strings.Contains(string(g.Result), part) {
			t.Errorf("the result lacks %s: %s", part, g.Result)
		}
	}
	claimed := map[RowID]bool{3: true, 6: true, 7: true} // 5 is nobody's
	for _, row := range s.state.Rows {
		if !slices.Equal(row.Closes, row.Issues) {
			t.Errorf("row %d closes %v of %v", row.ID, row.Closes, row.Issues)
		}
		if (row.Claim != nil) != claimed[row.ID] || row.Claim != nil && *row.Claim != (Claim{Seat: dev, Op: "genesis-op"}) {
			t.Errorf("row %d has the claim %+v", row.ID, row.Claim)
		}
		if row.Review != nil || row.UpdatedAt != g.At || row.UpdatedBy != chief {
			t.Errorf("row %d is %+v", row.ID, row)
		}
	}
	if got := s.row(3).Issues; !slices.Equal(got, []int{4, 9}) {
		t.Errorf("the issues are %v", got)
	}
	if got := s.state; got.Root != "/src/web" || got.Branch != "main" || got.Human != dana || got.Lead != chief || !slices.Equal(got.Retired, []RowID{4, 11}) {
		t.Errorf("the state is %+v", got)
	}

	// The work goes on where it was.
	s.move(dev, 3, InReview)
	s.move(dev, 6, InReview)
	if got := s.row(6).Reviewers; !slices.Equal(got, []Seat{rev, rev2}) {
		t.Errorf("the reviewers are %v", got)
	}
	s.moveRefused(EvidenceInvalid, rev2, 5, Done, withEvidence("round=1,candidate=none,comment=1")) // it has no round
	s.verify()
}

// Ids that were issued once, retired ones included, come never again.
//
// proves: QUEUE-DATA-16 QUEUE-DATA-17 QUEUE-DATA-18
func TestIdsAreNeverIssuedAgain(t *testing.T) {
	t.Parallel()
	s := beginWith(t, &GenesisFacts{HighWater: 12, MapBlob: blobA, Rows: []Row{legacyRow(3, Queued)}, Retired: []Retired{{ID: 12, Reason: "recurring"}}})
	if id := s.add(dev); id != 13 {
		t.Errorf("the first new row is %d", id)
	}
	s.move(dana, 13, Parked)
	s.moveRefused(RowUnknown, dana, 12, Parked)
	if id := s.add(dev); id != 14 {
		t.Errorf("the second new row is %d", id)
	}
	if id := begin(t).add(dev); id != 1 {
		t.Errorf("the first row of an empty queue is %d", id)
	}
	s.verify()
}

// proves: QUEUE-DATA-15 QUEUE-DATA-62
func TestGenesisRefusesWhatCannotBe(t *testing.T) {
	t.Parallel()
	try := func(what string, by Seat, change func(*GenesisArgs, *GenesisFacts), want string) {
		t.Helper()
		args := team()
		facts := &GenesisFacts{HighWater: 5, MapBlob: blobA, Rows: []Row{legacyRow(2, Queued), legacyRow(5, Blocked)}, Retired: []Retired{{ID: 3, Reason: "x"}}}
		change(args, facts)
		r, err := NewRequest("genesis-op", by, args, Facts{Genesis: facts})
		if err == nil {
			_, _, err = Empty().Apply(r, "2027-03-01T09:00:00.000Z")
		}
		if code(err) != want {
			t.Errorf("%s: got %v, want %q", what, err, want)
		}
	}
	try("nothing wrong", chief, func(*GenesisArgs, *GenesisFacts) {}, "")
	try("nothing wrong, by the human", dana, func(*GenesisArgs, *GenesisFacts) {}, "")
	try("a seat", dev, func(*GenesisArgs, *GenesisFacts) {}, NotPermitted)
	try("no actor", "", func(*GenesisArgs, *GenesisFacts) {}, ActorMissing)
	for what, change := range map[string]func(*GenesisArgs){
		"no human":             func(a *GenesisArgs) { a.Human = "" },
		"no lead":              func(a *GenesisArgs) { a.Lead = "" },
		"a human who is seat":  func(a *GenesisArgs) { a.Seats = append(a.Seats, dana) },
		"a label that is seat": func(a *GenesisArgs) { a.Labels = []Seat{dev} },
		"a seat unassigned":    func(a *GenesisArgs) { a.Seats = []Seat{Unassigned} },
		"a name with a space":  func(a *GenesisArgs) { a.Seats = []Seat{"de v"} },
		"a hostile name":       func(a *GenesisArgs) { a.Human = "dana\u202e" },
		"a relative root":      func(a *GenesisArgs) { a.CanonicalRoot = "src/web" },
		"a root with ..":       func(a *GenesisArgs) { a.CanonicalRoot = "/src/../web" },
		"no branch":            func(a *GenesisArgs) { a.Branch = "" },
		"a branch of 2 lines":  func(a *GenesisArgs) { a.Branch = "main\nx" },
		"a map outside":        func(a *GenesisArgs) { a.Map = "../map.md" },
		"an absolute map":      func(a *GenesisArgs) { a.Map = "/map.md" },
	} {
		try(what, chief, func(a *GenesisArgs, _ *GenesisFacts) { change(a) }, ArgumentInvalid)
	}
	for what, change := range map[string]func(*GenesisFacts){
		"a map outside HEAD":      func(f *GenesisFacts) { f.MapBlob = "" },
		"rows out of order":       func(f *GenesisFacts) { f.Rows[0], f.Rows[1] = f.Rows[1], f.Rows[0] },
		"a row twice":             func(f *GenesisFacts) { f.Rows[1] = f.Rows[0] },
		"a retired row":           func(f *GenesisFacts) { f.Rows[0].ID = 3 },
		"a row 0":                 func(f *GenesisFacts) { f.Rows[0].ID = 0 },
		"a row above the highest": func(f *GenesisFacts) { f.HighWater = 4 },
		"a negative highest":      func(f *GenesisFacts) { *f = GenesisFacts{MapBlob: blobA, HighWater: -1} },
		"retired out of order":    func(f *GenesisFacts) { f.Retired = []Retired{{ID: 4}, {ID: 1}} },
		"no piece":                func(f *GenesisFacts) { f.Rows[0].Piece = "" },
		"a long note":             func(f *GenesisFacts) { f.Rows[0].Note = strings.Repeat("x", 201) },
		"a gate of 2 lines":       func(f *GenesisFacts) { f.Rows[0].Gate = "a\nb" },
		"an issue 0":              func(f *GenesisFacts) { f.Rows[0].Issues = []int{0} },
		"an unknown owner":        func(f *GenesisFacts) { f.Rows[0].Owner = "mallory" },
		"an unknown gate owner":   func(f *GenesisFacts) { f.Rows[0].GateOwner = "" },
		"a reviewing owner":       func(f *GenesisFacts) { f.Rows[0].Reviewers = []Seat{dev} },
		"an unknown state":        func(f *GenesisFacts) { f.Rows[0].State = "required" },
		"a missing prerequisite":  func(f *GenesisFacts) { f.Rows[0].After = []After{{ID: 4, When: WhenDone}} },
		"itself":                  func(f *GenesisFacts) { f.Rows[0].After = []After{{ID: 2, When: WhenDone}} },
		"no when":                 func(f *GenesisFacts) { f.Rows[0].After = []After{{ID: 5}} },
		"no previous state":       func(f *GenesisFacts) { f.Rows[1].PreviousState = nil },
		"no reason":               func(f *GenesisFacts) { f.Rows[1].BlockedReason = ptr(" ") },
		"a reason":                func(f *GenesisFacts) { f.Rows[0].BlockedReason = ptr("x") },
		"blocked from done":       func(f *GenesisFacts) { f.Rows[1].PreviousState = ptr(Done) },
		"required since nothing":  func(f *GenesisFacts) { f.Rows[0].Required = true },
		"required since a date":   func(f *GenesisFacts) { f.Rows[0].Required, f.Rows[0].RequiredSince = true, ptr("2026-01-02") },
		"parked and required": func(f *GenesisFacts) {
			f.Rows[0].State, f.Rows[0].Required, f.Rows[0].RequiredSince = Parked, true, ptr(Unknown)
		},
		"created on a date":       func(f *GenesisFacts) { f.Rows[0].CreatedAt = "yesterday" },
		"a brief outside HEAD":    func(f *GenesisFacts) { f.Rows[0].Brief.Blob = "" },
		"a brief outside":         func(f *GenesisFacts) { f.Rows[0].Brief.Path = "../x.md" },
		"a brief spelt otherwise": func(f *GenesisFacts) { f.Rows[0].Brief.Path = "./docs/legacy.md" },
	} {
		try(what, chief, func(_ *GenesisArgs, f *GenesisFacts) { change(f) }, GenesisInvalid)
	}
	try("a cycle", chief, func(_ *GenesisArgs, f *GenesisFacts) {
		f.Rows[0].After, f.Rows[1].After = []After{{ID: 5, When: WhenDone}}, []After{{ID: 2, When: WhenDone}}
	}, DependencyCycle)
	r, err := NewRequest("genesis-op", chief, team(), Facts{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Empty().Apply(r, "2027-03-01T09:00:00.000Z"); code(err) != GenesisInvalid {
		t.Errorf("without a map: %v", err)
	}

	s := begin(t)
	s.refused(GenesisInvalid, chief, team(), Facts{Genesis: &GenesisFacts{MapBlob: blobA}})
	r, err = NewRequest("first-op", dev, addBy(), withBrief)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Empty().Apply(r, "2027-03-01T09:00:00.000Z"); code(err) != GenesisInvalid {
		t.Errorf("before genesis: %v", err)
	}
}

// proves: QUEUE-WRITE-75 QUEUE-WRITE-81 QUEUE-WRITE-74
func TestAcceptHistoryRecordsWhatWasLost(t *testing.T) {
	t.Parallel()
	s := begin(t)
	lost := &HistoryFacts{Witness: &LostWitness{Revision: 9, LogDigest: strings.Repeat("d", 64)}, Lost: "1 to 9", Revision: 1}
	accept := &AcceptArgs{Reason: "restored from a backup"}
	s.refused(NotPermitted, dev, accept, Facts{History: lost})
	s.refused(ArgumentInvalid, chief, accept, Facts{})
	s.refused(ArgumentInvalid, chief, accept, Facts{History: &HistoryFacts{Lost: "1 to 9", Revision: 7}})
	s.refused(ArgumentInvalid, chief, accept, Facts{History: &HistoryFacts{Lost: "1 to 9", Revision: 1, Deduplicated: true}})
	s.refused(ArgumentInvalid, chief, accept, Facts{History: &HistoryFacts{Lost: "1 to 9", Revision: 1, Witness: &LostWitness{}}})
	s.refused(ArgumentInvalid, chief, &AcceptArgs{}, Facts{History: lost})
	s.mustApply("accept-op", chief, accept, Facts{History: lost})
	e := s.file.Log[1]
	want := `{"row":null,"from":null,"to":null,"history":{"witness":{"revision":9,"logDigest":"` + strings.Repeat("d", 64) + `"},"lost":"1 to 9","deduplicated":false,"revision":1}}`
	if string(e.Result) != want || !strings.Contains(string(e.Args), "restored from a backup") {
		t.Errorf("the entry is %s %s", e.Args, e.Result)
	}
	s.verify()
}
