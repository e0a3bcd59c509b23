package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mosaicstack.dev/mosaic/internal/gitea"
	"mosaicstack.dev/mosaic/internal/gitea/giteatest"
	"mosaicstack.dev/mosaic/internal/proc"
	"mosaicstack.dev/mosaic/internal/queue"
	"mosaicstack.dev/mosaic/internal/wire"
)

const root = "/src/web"

// book is a queue for the ledger, and everything else that a run looks at.
type book struct {
	t     *testing.T
	log   []queue.Entry
	state *queue.Replayed
	clock time.Time
	dir   string // of registrations
	in    Input
}

var genesis = time.Date(2027, 3, 1, 9, 0, 0, 0, time.UTC) // a Monday

// newBook begins a queue with legacy rows.
func newBook(t *testing.T, rows ...queue.Row) *book {
	t.Helper()
	b := &book{t: t, state: queue.Empty(), clock: genesis, dir: t.TempDir()}
	facts := &queue.GenesisFacts{MapBlob: strings.Repeat("a", 40), Rows: rows}
	for _, r := range rows {
		facts.HighWater = max(facts.HighWater, r.ID)
	}
	b.do("chief", &queue.GenesisArgs{
		CanonicalRoot: root, Branch: "main", Map: "docs/map.md",
		Human: "dana", Lead: "chief", Seats: []queue.Seat{"chief", "dev", "rev"}, Labels: []queue.Seat{"coordinator"},
	}, queue.Facts{Genesis: facts})
	b.in = Input{Registrations: b.dir, Processes: table{}, Since: genesis}
	return b
}

func (b *book) do(by queue.Seat, a queue.Args, facts queue.Facts) {
	b.t.Helper()
	r, err := queue.NewRequest(queue.OpID(fmt.Sprintf("ledger-op-%d", len(b.log))), by, a, facts)
	if err != nil {
		b.t.Fatal(err)
	}
	state, entry, err := b.state.Apply(r, queue.Stamp(b.clock))
	if err != nil {
		b.t.Fatal(err)
	}
	entry.ViewSha = strings.Repeat("0", 64)
	b.state, b.log = state, append(b.log, entry)
}

// add makes a row of an owner that names issues.
func (b *book) add(owner queue.Seat, required bool, issues ...int) queue.RowID {
	b.t.Helper()
	b.do("chief", &queue.AddArgs{
		Piece: "a piece", Owner: owner, Issues: issues, Required: required, GateOwner: "chief", Brief: queue.BriefRef{Path: "docs/brief.md"},
	}, queue.Facts{Blob: strings.Repeat("a", 40)})
	return b.state.HighWater
}

func (b *book) move(by queue.Seat, id queue.RowID, to queue.State, change ...func(*queue.MoveArgs)) {
	b.t.Helper()
	args := &queue.MoveArgs{Row: id, To: to}
	for _, c := range change {
		c(args)
	}
	facts := queue.Facts{}
	if to == queue.InProgress {
		facts.Blob = strings.Repeat("a", 40)
	}
	b.do(by, args, facts)
}

func (b *book) start(owner queue.Seat, id queue.RowID) {
	b.t.Helper()
	b.move("chief", id, queue.Briefed)
	b.move(owner, id, queue.InProgress)
}

// finish brings a row of a seat to done.
func (b *book) finish(owner queue.Seat, id queue.RowID) {
	b.t.Helper()
	b.start(owner, id)
	b.move(owner, id, queue.InReview)
	b.move("chief", id, queue.Done, func(a *queue.MoveArgs) { a.Evidence = "round=1,candidate=none,comment=5" })
}

// register writes a registration file.
func (b *book) register(name string, fields map[string]any) {
	b.t.Helper()
	text, err := json.Marshal(fields)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.dir, name+".json"), text, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

func registered(seat string, pid any) map[string]any {
	return map[string]any{"root": root, "layout": "repo", "seat": seat, "pid": pid, "startedAt": "2027-03-01T08:00:00Z"}
}

// run makes one report on a day after genesis.
func (b *book) run(days int) *Report {
	b.t.Helper()
	r, err := b.try(days)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func (b *book) try(days int) (*Report, error) {
	in := b.in
	in.File = &queue.File{Revision: len(b.log) - 1, Rows: b.state.Rows, Log: b.log}
	in.State = b.state
	in.Now = genesis.Add(time.Duration(days) * day).Add(time.Minute)
	return Run(context.Background(), in)
}

// table has the processes 100 (alive), 101 (a zombie) and 102 (not ours).
type table struct{ proc.Table }

func (table) Stat(pid int) (proc.Stat, error) {
	switch pid {
	case 100:
		return proc.Stat{State: 'S'}, nil
	case 101:
		return proc.Stat{State: 'Z'}, nil
	case 102:
		return proc.Stat{}, fmt.Errorf("stat: %w", fs.ErrPermission)
	case 103:
		return proc.Stat{}, errors.New("unreadable")
	}
	return proc.Stat{}, fmt.Errorf("stat: %w", fs.ErrNotExist)
}

// tracker answers from lists and counts its calls.
type tracker struct {
	updated, open []gitea.Issue
	full          bool // the open page
	metricsFull   bool
	single        map[int]gitea.Issue
	calls         []string
	err           error
}

func (k *tracker) UpdatedIssues(context.Context, time.Time) ([]gitea.Issue, bool, error) {
	k.calls = append(k.calls, "updated")
	return k.updated, k.metricsFull, k.err
}

func (k *tracker) OpenIssues(context.Context) ([]gitea.Issue, bool, error) {
	k.calls = append(k.calls, "open")
	return k.open, k.full, nil
}

func (k *tracker) Issue(_ context.Context, n int) (gitea.Issue, error) {
	k.calls = append(k.calls, fmt.Sprint(n))
	if one, ok := k.single[n]; ok {
		one.Number = n
		return one, nil
	}
	return gitea.Issue{}, gitea.StatusError(404)
}

// ids are the identities of findings.
func ids(list []Finding) []string {
	var out []string
	for _, f := range list {
		issue := "-"
		if f.Issue != nil {
			issue = fmt.Sprint(*f.Issue)
		}
		out = append(out, fmt.Sprintf("%s/%d/%s", f.Check, f.Row, issue))
	}
	return out
}

func want(t *testing.T, what string, got []Finding, ids_ ...string) {
	t.Helper()
	if d := cmp.Diff(ids_, ids(got)); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func closed(n int) gitea.Issue { return gitea.Issue{Number: n, Closed: true} }
func open(n int) gitea.Issue   { return gitea.Issue{Number: n} }

// proves: QUEUE-TESTS-104 QUEUE-LEDGER-07 QUEUE-LEDGER-09 QUEUE-LEDGER-11 QUEUE-LEDGER-12 QUEUE-LEDGER-46 QUEUE-OPEN-87
func TestClosure(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	one := b.add("dev", false, 7)     // closes 7 alone, done
	two := b.add("dev", false, 8)     // 8 is closed by two rows, one is done
	three := b.add("rev", false, 8)   //
	four := b.add("dev", false, 9)    // done, 9 is closed
	five := b.add("dev", false, 10)   // 10 is closed too early
	six := b.add("dev", false, 7, 11) // names 11, does not close it
	narrow := []int{7}
	b.do("chief", &queue.SetArgs{Row: six, Closes: &narrow, Reason: "11 goes on"}, queue.Facts{})
	for _, id := range []queue.RowID{one, two, four, six} {
		b.finish("dev", id)
	}
	k := &tracker{open: []gitea.Issue{open(7), open(8), open(11)}, updated: []gitea.Issue{closed(9), closed(10)}}
	b.in.Issues = k
	s := b.run(1).Queue
	want(t, "violations", s.Violations, fmt.Sprintf("issue-open/%d/7", six))
	want(t, "dispositions", s.Dispositions,
		fmt.Sprintf("issue-open/%d/8", two), fmt.Sprintf("issue-open/%d/10", five), fmt.Sprintf("issue-open/%d/11", six))
	want(t, "undecided", s.Undecided)
	if s.Result != Fail || len(k.calls) != 2 {
		t.Errorf("%s after %v", s.Result, k.calls)
	}
	// Once 8's other row is done as well, it is expected closed.
	b.finish("rev", three)
	k.open = []gitea.Issue{open(8), open(11)}
	k.updated = append(k.updated, closed(7))
	s = b.run(1).Queue
	want(t, "violations", s.Violations, fmt.Sprintf("issue-open/%d/8", three))
	k.open = []gitea.Issue{open(11)}
	k.updated = append(k.updated, closed(8))
	if s = b.run(1).Queue; s.Result != ReducedPass {
		t.Errorf("with everything closed: %+v", s)
	}
}

// proves: QUEUE-LEDGER-13 QUEUE-LEDGER-14 QUEUE-LEDGER-16 QUEUE-LEDGER-18 QUEUE-LEDGER-21 QUEUE-LEDGER-22 QUEUE-LEDGER-23 QUEUE-LEDGER-24
// proves: QUEUE-LEDGER-25 QUEUE-LEDGER-26
func TestEvidenceOfClosure(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		k         tracker
		undecided bool
		violated  bool
		calls     int
	}{
		"absent":                     {tracker{}, true, false, 3},
		"in the metric page":         {tracker{updated: []gitea.Issue{closed(7)}}, false, false, 2},
		"looked up":                  {tracker{single: map[int]gitea.Issue{7: closed(7)}}, false, false, 3},
		"looked up, open":            {tracker{single: map[int]gitea.Issue{7: open(7)}}, false, true, 3},
		"a pull request":             {tracker{single: map[int]gitea.Issue{7: {Closed: true, PullRequest: true}}}, true, false, 3},
		"a pull request in the page": {tracker{updated: []gitea.Issue{{Number: 7, Closed: true, PullRequest: true}}}, true, false, 3},
		"reopened":                   {tracker{updated: []gitea.Issue{closed(7)}, open: []gitea.Issue{open(7)}}, false, true, 2},
	} {
		b := newBook(t)
		id := b.add("dev", false, 7)
		b.finish("dev", id)
		k := test.k
		b.in.Issues = &k
		r := b.run(1)
		if got := len(r.Queue.Undecided) > 0; got != test.undecided {
			t.Errorf("%s: undecided %v", name, r.Queue.Undecided)
		}
		if got := len(r.Queue.Violations) > 0; got != test.violated {
			t.Errorf("%s: violations %v", name, r.Queue.Violations)
		}
		if r.Calls != test.calls || len(k.calls) != test.calls {
			t.Errorf("%s: %d calls counted, %v made", name, r.Calls, k.calls)
		}
	}
}

// proves: QUEUE-TESTS-105 QUEUE-LEDGER-15 QUEUE-LEDGER-47 QUEUE-LEDGER-48
func TestAFullPageIsIncomplete(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.in.Issues = &tracker{full: true}
	s := b.run(1).Queue
	if s.IssueChecks != IssuesIncomplete || s.Result != Incomplete || len(s.Violations) != 0 {
		t.Errorf("%+v", s)
	}
	b.in.Issues = &tracker{metricsFull: true}
	if r := b.run(1); r.Queue.Result != ReducedPass || !r.LowerBound {
		t.Errorf("a full page of the table alone: %+v", r)
	}
}

// proves: QUEUE-TESTS-106 QUEUE-LEDGER-17 QUEUE-LEDGER-18
func TestTheBudget(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	var issues []int
	for n := 101; n <= 111; n++ {
		issues = append(issues, n)
	}
	id := b.add("dev", false, issues...)
	b.finish("dev", id)
	k := &tracker{single: map[int]gitea.Issue{}}
	for _, n := range issues {
		k.single[n] = closed(n)
	}
	b.in.Issues = k
	r := b.run(1)
	if r.Calls != 12 || len(k.calls) != 12 {
		t.Errorf("%d calls counted, %d made", r.Calls, len(k.calls))
	}
	want(t, "undecided", r.Queue.Undecided, fmt.Sprintf("issue-open/%d/111", id))
	if !strings.Contains(r.Queue.Undecided[0].Detail, "unknown (budget)") || r.Queue.Result != Incomplete || r.Queue.IssueChecks != IssuesIncomplete {
		t.Errorf("%+v", r.Queue)
	}
}

// proves: QUEUE-TESTS-107 QUEUE-LEDGER-19 QUEUE-LEDGER-20
func TestWithoutIssues(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	id := b.add("dev", false, 7)
	b.finish("dev", id)
	r := b.run(1)
	want(t, "undecided", r.Queue.Undecided, fmt.Sprintf("issue-open/%d/7", id))
	if r.Calls != 0 || r.Queue.Result != Incomplete || !slices.Contains(r.Lines(), "queue issue checks: not run") {
		t.Errorf("%d calls, %s, %q", r.Calls, r.Queue.Result, r.Lines())
	}
}

// proves: QUEUE-LEDGER-04 QUEUE-LEDGER-14
func TestAFailedListFailsTheRun(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.in.Issues = &tracker{err: gitea.ErrTransport}
	if _, err := b.try(1); !errors.Is(err, gitea.ErrTransport) {
		t.Errorf("got %v", err)
	}
	b.in.Issues = nil
	b.log = b.log[:0:0]
	b.log = append(b.log, queue.Entry{Rev: 5})
	if _, err := b.try(1); err == nil {
		t.Error("a log that does not replay is reported on")
	}
}

// proves: QUEUE-TESTS-104 QUEUE-TESTS-108 QUEUE-LEDGER-08 QUEUE-LEDGER-27 QUEUE-LEDGER-28 QUEUE-LEDGER-29 QUEUE-LEDGER-31 QUEUE-LEDGER-32 QUEUE-LEDGER-33
// proves: QUEUE-LEDGER-34 QUEUE-LEDGER-35 QUEUE-LEDGER-36 QUEUE-LEDGER-37 QUEUE-LEDGER-45 QUEUE-LEDGER-49 QUEUE-OPEN-88 QUEUE-OPEN-89
func TestLiveness(t *testing.T) {
	t.Parallel()
	elsewhere, control, bad := registered("dev", 100), registered("dev", 100), registered("dev", 100)
	elsewhere["root"], control["layout"], bad["startedAt"] = "/src/other", "control", "yesterday"
	unpinned := registered("dev", 1)
	delete(unpinned, "pid")
	for name, test := range map[string]struct {
		files  map[string]map[string]any
		exempt []queue.Seat
		class  string
		result string
	}{
		"nothing":               {nil, nil, Missing, Fail},
		"another root":          {map[string]map[string]any{"dev": elsewhere}, nil, Missing, Fail},
		"another layout":        {map[string]map[string]any{"dev": control}, nil, Missing, Fail},
		"another seat's":        {map[string]map[string]any{"dev": registered("rev", 100)}, nil, Missing, Fail},
		"exempt":                {nil, []queue.Seat{"dev"}, Exempt, ReducedPass},
		"bad time":              {map[string]map[string]any{"dev": bad}, nil, Invalid, Fail},
		"no form":               {map[string]map[string]any{"dev": {"x": 1}}, nil, Invalid, Fail},
		"by what it says":       {map[string]map[string]any{"file": {"seat": "dev"}}, nil, Invalid, Fail},
		"twice":                 {map[string]map[string]any{"a": registered("dev", 100), "b": registered("dev", 100)}, nil, Invalid, Fail},
		"null":                  {map[string]map[string]any{"dev": registered("dev", nil)}, nil, PIDUnknown, Incomplete},
		"no pid":                {map[string]map[string]any{"dev": unpinned}, nil, PIDUnknown, Incomplete},
		"malformed":             {map[string]map[string]any{"dev": registered("dev", "100")}, nil, PIDUnknown, Incomplete},
		"zero":                  {map[string]map[string]any{"dev": registered("dev", 0)}, nil, PIDUnknown, Incomplete},
		"unreadable":            {map[string]map[string]any{"dev": registered("dev", 103)}, nil, PIDUnknown, Incomplete},
		"gone":                  {map[string]map[string]any{"dev": registered("dev", 99)}, nil, PIDGone, Fail},
		"zombie":                {map[string]map[string]any{"dev": registered("dev", 101)}, nil, PIDGone, Fail},
		"present":               {map[string]map[string]any{"any-name": registered("dev", 100)}, nil, PIDPresent, ReducedPass},
		"present, not readable": {map[string]map[string]any{"dev": registered("dev", 102)}, nil, PIDPresent, ReducedPass},
	} {
		b := newBook(t)
		b.in.Issues = &tracker{}
		id := b.add("dev", false)
		b.start("dev", id)
		b.in.Exempt = test.exempt
		for file, fields := range test.files {
			b.register(file, fields)
		}
		r := b.run(1)
		owners := r.Queue.Liveness.Owners
		if len(owners) != 1 || owners[0].Class != test.class || r.Queue.Result != test.result {
			t.Errorf("%s: %+v, %s; want %s, %s", name, owners, r.Queue.Result, test.class, test.result)
		}
		text := strings.Join(r.Lines(), "\n")
		for _, class := range []string{PIDPresent + " (unverified)", Exempt, PIDUnknown, Missing, Invalid, PIDGone} {
			n := "0 "
			if strings.TrimSuffix(class, " (unverified)") == test.class {
				n = "1 "
			}
			if !strings.Contains(r.Queue.Liveness.Coverage(), n+class) {
				t.Errorf("%s: the coverage is %q", name, r.Queue.Liveness.Coverage())
			}
		}
		if strings.Contains(text, " live ") || strings.Contains(text, "is verified") || test.class == PIDPresent && !strings.Contains(text, "pid present (identity not verified)") {
			t.Errorf("%s: the report claims too much: %s", name, text)
		}
		if test.exempt != nil && !strings.Contains(text, "exempt on this run: dev") {
			t.Errorf("%s: the exemption is not printed: %s", name, text)
		}
	}
	// A scan that fails is no scan without findings.
	b := newBook(t)
	b.start("dev", b.add("dev", false))
	b.in.Registrations = filepath.Join(b.dir, "file")
	os.WriteFile(b.in.Registrations, nil, 0o600)
	if s := b.run(1).Queue; s.Liveness.Owners[0].Class != Invalid {
		t.Errorf("a directory that is none: %+v", s.Liveness)
	}
	// Owners that are no seat.
	b = newBook(t)
	b.in.Issues = &tracker{}
	b.start("coordinator", b.add("coordinator", false))
	if s := b.run(1).Queue; s.Liveness.Owners[0].Class != Exempt || s.Liveness.Owners[0].Why != "not a seat" || s.Result != ReducedPass {
		t.Errorf("a label: %+v", s)
	}
}

// proves: QUEUE-LEDGER-30
func TestDuplicateRegistrations(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	control := registered("dev", 100)
	control["layout"] = "control"
	b.register("a", registered("dev", 100))
	b.register("b", control)
	b.start("dev", b.add("dev", false))
	r := b.run(1)
	if d := r.Queue.Liveness.Duplicates; len(d) != 1 || d[0].Seat != "dev" || !slices.Equal(d[0].Layouts, []string{"control", "repo"}) {
		t.Errorf("%+v", d)
	}
	if r.Queue.Liveness.Owners[0].Class != PIDPresent {
		t.Errorf("%+v", r.Queue.Liveness.Owners)
	}
}

// legacy is a required row that genesis brings along.
func legacy(state queue.State) queue.Row {
	since := queue.Unknown
	return queue.Row{
		ID: 3, Piece: "legacy", Owner: "dev", Issues: []int{}, State: state, Required: true, RequiredSince: &since,
		GateOwner: "dana", Brief: queue.Brief{Path: "docs/b.md", Blob: strings.Repeat("a", 40)}, After: []queue.After{}, Reviewers: []queue.Seat{}, CreatedAt: queue.Unknown,
	}
}

// proves: QUEUE-TESTS-104 QUEUE-TESTS-110 QUEUE-LEDGER-10 QUEUE-LEDGER-38 QUEUE-LEDGER-39 QUEUE-LEDGER-40 QUEUE-LEDGER-41 QUEUE-LEDGER-42 QUEUE-LEDGER-46
// proves: QUEUE-LEDGER-50 QUEUE-OPEN-91
func TestAge(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.in.Issues = &tracker{}
	id := b.add("dev", true)
	if s := b.run(13).Queue; s.Result != ReducedPass {
		t.Errorf("after 13 days: %+v", s)
	}
	b.clock = genesis.Add(12 * day)
	note := "still there"
	b.do("dev", &queue.NoteArgs{Row: id, Note: &note}, queue.Facts{})
	s := b.run(15).Queue
	want(t, "violations", s.Violations, fmt.Sprintf("required-age/%d/-", id))
	if s.Result != Fail || !strings.Contains(s.Violations[0].Detail, "15 days") {
		t.Errorf("after 15 days: %+v", s)
	}
	b.clock = genesis.Add(15 * day)
	b.finish("dev", id)
	if s := b.run(15).Queue; s.Result != ReducedPass {
		t.Errorf("a done row is aged: %+v", s)
	}

	b = newBook(t, legacy(queue.Queued))
	b.in.Issues = &tracker{}
	s = b.run(13).Queue
	want(t, "undecided", s.Undecided, "required-age/3/-")
	if s.Result != Incomplete {
		t.Errorf("legacy, 13 days: %s", s.Result)
	}
	s = b.run(15).Queue
	want(t, "violations", s.Violations, "required-age/3/-")
	if s.Result != Fail || !strings.Contains(s.Violations[0].Detail, "age ≥ 15 days (legacy lower bound)") {
		t.Errorf("legacy, 15 days: %+v", s)
	}
	exact := b.in
	exact.File, exact.State, exact.Now = &queue.File{Rows: b.state.Rows, Log: b.log}, b.state, genesis.Add(MaxAge)
	r, err := Run(context.Background(), exact)
	if err != nil || len(r.Queue.Violations) != 0 || len(r.Queue.Undecided) != 1 {
		t.Errorf("exactly 14 days: %+v, %v", r, err)
	}
}

// proves: QUEUE-TESTS-109 QUEUE-TESTS-111 QUEUE-LEDGER-01 QUEUE-LEDGER-02 QUEUE-LEDGER-03 QUEUE-LEDGER-43 QUEUE-LEDGER-44 QUEUE-LEDGER-47 QUEUE-LEDGER-51 QUEUE-LEDGER-56
func TestResultsAndText(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.in.Issues = &tracker{}
	r := b.run(1)
	lines := r.Lines()
	violations, table := slices.Index(lines, "queue: 0 violations"), slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "week of") })
	if violations < 0 || table < violations || !slices.Contains(lines, "result: reduced pass") {
		t.Errorf("a clean run prints %q", lines)
	}
	if !strings.HasPrefix(lines[0], "ledger at 2027-03-02T09:01:00.000Z UTC") || r.At != "2027-03-02T09:01:00.000Z" {
		t.Errorf("the run is not dated: %q", lines[0])
	}
	id := b.add("dev", false)
	b.start("dev", id)
	r = b.run(1)
	if lines = r.Lines(); !slices.Contains(lines, "queue: 1 violation") || !slices.Contains(lines, "result: fail") {
		t.Errorf("a violation prints %q", lines)
	}
	text, err := json.Marshal(r)
	var again Report
	if err := wire.Decode(text, &again); err != nil {
		t.Errorf("the report cannot be read again: %v: %s", err, text)
	}
	var doc struct {
		Queue struct {
			Violations []map[string]any `json:"violations"`
		} `json:"queue"`
	}
	if err != nil || json.Unmarshal(text, &doc) != nil || len(doc.Queue.Violations) != 1 || doc.Queue.Violations[0]["check"] != "registration" {
		t.Errorf("as JSON: %s", text)
	}
	for _, s := range []Section{{}, {Violations: []Finding{{}}}, {Undecided: []Finding{{}}}, {IssueChecks: IssuesComplete}, {IssueChecks: IssuesIncomplete}, {Outstanding: []Finding{{}}}} {
		if got := s.result(); got != Fail && got != Incomplete && got != ReducedPass {
			t.Errorf("%+v gives %q", s, got)
		}
	}
}

// proves: QUEUE-LEDGER-44 QUEUE-LEDGER-52 QUEUE-LEDGER-53 QUEUE-LEDGER-54 QUEUE-LEDGER-55 QUEUE-OPEN-92
func TestRemediation(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	id := b.add("dev", false, 7)
	b.finish("dev", id)
	work := b.add("rev", false)
	b.start("rev", work)
	k := &tracker{open: []gitea.Issue{open(7)}}
	b.in.Issues = k
	first := b.run(1)
	want(t, "first", first.Queue.Violations, fmt.Sprintf("issue-open/%d/7", id), fmt.Sprintf("registration/%d/-", work))

	// A note clears nothing.
	note := "rev is there, believe me"
	b.do("rev", &queue.NoteArgs{Row: work, Note: &note}, queue.Facts{})
	b.in.Previous = first
	s := b.run(1).Queue
	if len(s.Violations) != 2 || len(s.Remediated) != 0 {
		t.Errorf("after a note: %+v", s)
	}
	// A run that cannot decide clears nothing either.
	b.register("rev", registered("rev", 100))
	b.in.Issues = nil
	s = b.run(1).Queue
	want(t, "remediated", s.Remediated, fmt.Sprintf("registration/%d/-", work))
	want(t, "outstanding", s.Outstanding, fmt.Sprintf("issue-open/%d/7", id))
	if s.Result != Fail {
		t.Errorf("with a violation outstanding: %s", s.Result)
	}
	// What is outstanding stays so until a run decides it.
	b.in.Previous = &Report{At: first.At, Queue: s}
	b.in.Issues = &tracker{updated: []gitea.Issue{closed(7)}}
	s = b.run(1).Queue
	want(t, "remediated", s.Remediated, fmt.Sprintf("issue-open/%d/7", id))
	if s.Result != ReducedPass {
		t.Errorf("after both: %+v", s)
	}
	// Another day's run is no second run.
	b.in.Previous = first
	if s = b.run(2).Queue; len(s.Remediated) != 0 || len(s.Outstanding) != 0 {
		t.Errorf("the next day: %+v", s)
	}
}

// proves: QUEUE-LEDGER-05 QUEUE-LEDGER-06 QUEUE-OPEN-85 QUEUE-OPEN-90
func TestChangesAndWeeks(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	plain := b.add("dev", false)
	b.clock = genesis.Add(2 * day)
	required := b.add("dev", true)
	b.start("dev", plain)
	b.clock = genesis.Add(8 * day)
	parked := b.add("rev", false)
	b.do("dana", &queue.MoveArgs{Row: parked, To: queue.Parked}, queue.Facts{})
	b.do("dana", &queue.MoveArgs{Row: parked, To: queue.Queued}, queue.Facts{})
	cleared := false
	b.do("dana", &queue.SetArgs{Row: required, Required: &cleared}, queue.Facts{})
	b.in.Issues = &tracker{updated: []gitea.Issue{
		{Number: 1, CreatedAt: genesis.Add(3 * day)}, {Number: 2, CreatedAt: genesis.Add(-20 * day), Closed: true, ClosedAt: genesis.Add(9 * day)},
		{Number: 3, CreatedAt: genesis.Add(9 * day), PullRequest: true},
	}}
	b.in.Since = genesis.Add(day)
	r := b.run(10)
	var got []string
	for _, c := range r.Queue.Changes {
		got = append(got, fmt.Sprintf("%d %s %s→%s %s", c.Row, c.Verb, c.From, c.To, c.By))
	}
	if d := cmp.Diff([]string{
		fmt.Sprintf("%d add new→queued chief", required),
		fmt.Sprintf("%d move queued→parked dana", parked), fmt.Sprintf("%d move parked→queued dana", parked),
		fmt.Sprintf("%d set queued→queued dana", required),
	}, got); d != "" {
		t.Errorf("changes (-want +got):\n%s", d)
	}
	one, zero := 1, 0
	if d := cmp.Diff([]Week{
		{Monday: "2027-03-01", Opened: &one, Closed: &zero, Added: 1, Started: 1},
		{Monday: "2027-03-08", Opened: &zero, Closed: &one, Added: 1},
	}, r.Weeks); d != "" {
		t.Errorf("weeks (-want +got):\n%s", d)
	}
	b.in.Since = time.Time{}
	if r := b.run(10); r.Since != queue.Stamp(genesis.Add(3*day).Add(time.Minute)) {
		t.Errorf("the range begins at %s", r.Since)
	}
}

// The real client is counted at a real server.
// proves: QUEUE-LEDGER-18
func TestCallsAtAServer(t *testing.T) {
	t.Parallel()
	server := giteatest.New(t)
	var issues []int
	for n := 1; n <= 15; n++ {
		issues = append(issues, n)
		server.Issues = append(server.Issues, giteatest.Issue{Number: n, Closed: true, Created: "2026-01-01T00:00:00Z", ClosedAt: "2026-01-02T00:00:00Z", PullRequest: true})
	}
	client, err := gitea.New(gitea.Repository{Server: server.URL, Owner: giteatest.Owner, Name: giteatest.Name}, gitea.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := newBook(t)
	b.finish("dev", b.add("dev", false, issues...))
	b.in.Issues = client
	r := b.run(1)
	if n := len(server.Gets()); n != 12 || r.Calls != 12 {
		t.Errorf("%d calls at the server, %d in the report", n, r.Calls)
	}
	if len(r.Queue.Undecided) != 15 {
		t.Errorf("pull requests prove something: %+v", r.Queue)
	}
}
