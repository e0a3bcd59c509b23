package queue

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mosaicstack.dev/mosaic/internal/corpus"
	"mosaicstack.dev/mosaic/internal/git"
	"mosaicstack.dev/mosaic/internal/git/gittest"
)

// legacyView is a table as teams keep one: several names in a cell, a history
// in another, a recurring row, parked ideas.
const legacyView = `# The queue

Words of the team.

` + BeginMarker + `
| # | Piece | Owner | State | Issues | Gate |
|---|:-----|---|---|---|---|
| 3 | Log in \| sign up | dev; rev reviews | in progress. Began 3 March, second try after the key was lost | #12, #13 | dana tries it |
| 5 | Weekly report | pm | recurring | | |
| **8** | Import | dev | blocked: waits for the key | #15 | |
| 9 | Export | dev | done | #16 | |

Parked:
- Dark mode, see docs/ideas.md
- A second idea
  over two lines
` + EndMarker + `

Below the markers.
`

const legacyMap = "# Map\n\n" + "```text\n" + `{"rows": []}` + "\n```\n\n```json\n" + `{
  "highWater": 40,
  "rows": [
    {"id": 9, "legacy": "| 9 | Export | dev | done | #16 | |", "piece": "Export", "owner": "dev", "state": "done", "issues": [16], "brief": "docs/ideas.md"},
    {"id": 3, "legacy": "| 3 | Log in \\| sign up | dev; rev reviews | in progress. Began 3 March, second try after the key was lost | #12, #13 | dana tries it |",
     "piece": "Log in | sign up", "owner": "dev", "reviewers": ["rev2", "rev"], "state": "in-progress", "issues": [13, 12], "gate": "dana tries it",
     "note": "second try", "brief": "docs/ideas.md#Log in", "required": true,
     "requiredSince": {"at": "2026-02-03T05:05:06+01:00", "evidence": "commit 1a2b3c4"},
     "createdAt": {"at": "2026-01-01T00:00:00Z", "evidence": "issue 12"}},
    {"id": 8, "legacy": "| **8** | Import | dev | blocked: waits for the key | #15 | |", "piece": "Import", "owner": "dev", "state": "blocked", "previousState": "in-review",
     "blockedReason": "waits for the key", "issues": [15], "gateOwner": "chief", "after": [{"id": 3}, {"id": 9, "when": "settled"}], "brief": "docs/ideas.md"}
  ],
  "parked": [
    {"id": 21, "legacy": "- Dark mode, see docs/ideas.md", "piece": "Dark mode", "brief": "docs/ideas.md"},
    {"id": 20, "legacy": "- A second idea\n  over two lines", "piece": "A second idea", "brief": "docs/ideas.md#Stubs"}
  ],
  "retired": [{"id": 5, "reason": "a weekly routine"}, {"id": 1, "reason": "of the past"}]
}` + "\n```\n"

// migrated is a project that has the legacy table and the map in HEAD.
func migrated(t testing.TB, view, text string) *project {
	t.Helper()
	p := newProject(t, "sha1")
	p.write(DefaultView, view)
	p.write(mapPath, text)
	p.write("docs/ideas.md", "# Ideas\n\n## Log in\n\n## Stubs\n")
	p.repo.Git("add", ".")
	p.repo.Git("commit", "-q", "-m", "legacy")
	return p
}

func (p *project) genesis() (Acknowledgement, error) {
	args := p.genesisArgs()
	args.Seats = []Seat{dev, rev, rev2, chief}
	return p.open(nil).Begin(context.Background(), "genesis-op", chief, args)
}

// proves: QUEUE-MIGRATE-01 QUEUE-MIGRATE-02 QUEUE-MIGRATE-03 QUEUE-MIGRATE-04 QUEUE-MIGRATE-05 QUEUE-MIGRATE-06
// proves: QUEUE-MIGRATE-07 QUEUE-MIGRATE-08 QUEUE-MIGRATE-09 QUEUE-MIGRATE-10 QUEUE-MIGRATE-11 QUEUE-MIGRATE-12
// proves: QUEUE-MIGRATE-13 QUEUE-MIGRATE-14 QUEUE-MIGRATE-15 QUEUE-MIGRATE-16 QUEUE-MIGRATE-18 QUEUE-MIGRATE-19
// proves: QUEUE-DATA-73 QUEUE-DATA-74 QUEUE-DATA-75 QUEUE-DATA-76 QUEUE-DATA-77 QUEUE-DATA-82 QUEUE-DATA-83 QUEUE-DATA-84
// proves: QUEUE-OPEN-01 QUEUE-OPEN-04 QUEUE-OPEN-21 QUEUE-OPEN-27 QUEUE-TESTS-11
func TestATableBecomesAQueue(t *testing.T) {
	t.Parallel()
	p := migrated(t, legacyView, legacyMap)
	if _, err := p.genesis(); err != nil {
		t.Fatal(err)
	}
	f := p.file()
	facts, err := f.Log[0].genesis()
	must(t, err)
	_, body, _ := strings.Cut(legacyView, BeginMarker+"\n")
	body, _, _ = strings.Cut(body, EndMarker)
	if facts.Legacy.Table != body {
		t.Errorf("the table is kept as %q", facts.Legacy.Table)
	}
	if facts.MapBlob != p.repo.Git("rev-parse", "HEAD:"+mapPath) || facts.HighWater != 40 {
		t.Errorf("map %s, greatest id %d", facts.MapBlob, facts.HighWater)
	}
	if got := facts.Legacy.Rows[1]; got.ID != 3 || !strings.Contains(body, got.Text) || len(facts.Legacy.Rows) != 3 || len(facts.Legacy.Parked) != 2 {
		t.Errorf("legacy texts %+v", facts.Legacy)
	}
	if want := []Retired{{1, "of the past"}, {5, "a weekly routine"}}; !slices.Equal(facts.Retired, want) {
		t.Errorf("retired %+v", facts.Retired)
	}
	entry := f.Log[0]
	ideas := p.repo.Git("rev-parse", "HEAD:docs/ideas.md")
	var got []string
	for _, r := range f.Rows {
		text, err := json.Marshal(r)
		must(t, err)
		got = append(got, string(text))
	}
	at := `"updatedAt":"` + entry.At + `","updatedBy":"chief"}`
	want := []string{
		`{"id":3,"piece":"Log in | sign up","owner":"dev","issues":[12,13],"closes":[12,13],"state":"in-progress","previousState":null,"required":true,"requiredSince":"2026-02-03T04:05:06.000Z","gate":"dana tries it","gateOwner":"dana","brief":{"path":"docs/ideas.md","anchor":"Log in","blob":"` + ideas + `"},"after":[],"reviewers":["rev","rev2"],"review":null,"claim":{"seat":"dev","op":"genesis-op"},"note":"second try","blockedReason":null,"createdAt":"2026-01-01T00:00:00.000Z",` + at,
		`{"id":8,"piece":"Import","owner":"dev","issues":[15],"closes":[15],"state":"blocked","previousState":"in-review","required":false,"requiredSince":null,"gate":"","gateOwner":"chief","brief":{"path":"docs/ideas.md","anchor":null,"blob":"` + ideas + `"},"after":[{"id":3,"when":"done"},{"id":9,"when":"settled"}],"reviewers":[],"review":null,"claim":{"seat":"dev","op":"genesis-op"},"note":"","blockedReason":"waits for the key","createdAt":"unknown",` + at,
		`{"id":9,"piece":"Export","owner":"dev","issues":[16],"closes":[16],"state":"done","previousState":null,"required":false,"requiredSince":null,"gate":"","gateOwner":"dana","brief":{"path":"docs/ideas.md","anchor":null,"blob":"` + ideas + `"},"after":[],"reviewers":[],"review":null,"claim":null,"note":"","blockedReason":null,"createdAt":"unknown",` + at,
		`{"id":20,"piece":"A second idea","owner":"unassigned","issues":[],"closes":[],"state":"parked","previousState":null,"required":false,"requiredSince":null,"gate":"","gateOwner":"dana","brief":{"path":"docs/ideas.md","anchor":"Stubs","blob":"` + ideas + `"},"after":[],"reviewers":[],"review":null,"claim":null,"note":"","blockedReason":null,"createdAt":"unknown",` + at,
		`{"id":21,"piece":"Dark mode","owner":"unassigned","issues":[],"closes":[],"state":"parked","previousState":null,"required":false,"requiredSince":null,"gate":"","gateOwner":"dana","brief":{"path":"docs/ideas.md","anchor":null,"blob":"` + ideas + `"},"after":[],"reviewers":[],"review":null,"claim":null,"note":"","blockedReason":null,"createdAt":"unknown",` + at,
	}
	if !slices.Equal(got, want) {
		t.Errorf("rows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	s, err := Replay(f.Log)
	must(t, err)
	if s.Root != p.root || s.Branch != "main" || s.Human != dana || s.Lead != chief || !slices.Equal(s.Seats, []Seat{chief, dev, rev, rev2}) || !slices.Equal(s.Labels, []Seat{coord}) {
		t.Errorf("recorded %+v", s)
	}
	if golden := strings.Replace(legacyView, body, string(Body(s)), 1); p.read(DefaultView) != golden {
		t.Errorf("the view is\n%s", p.read(DefaultView))
	}
	if !strings.Contains(p.read(DefaultView), "| 3 | Log in &#124; sign up | dev | in-progress |") {
		t.Errorf("the table is\n%s", p.read(DefaultView))
	}
}

// proves: QUEUE-MIGRATE-02 QUEUE-MIGRATE-17 QUEUE-DATA-71 QUEUE-DATA-83 QUEUE-OPEN-22 QUEUE-OPEN-27
func TestAMapThatIsNotRight(t *testing.T) {
	t.Parallel()
	p := migrated(t, legacyView, legacyMap)
	swap := func(old, new string) string {
		if !strings.Contains(legacyMap, old) {
			t.Fatalf("the map has no %q", old)
		}
		return strings.Replace(legacyMap, old, new, 1)
	}
	pin := func(b BriefRef) (string, error) {
		return PinBrief(context.Background(), emptyHead{}, p.root, b)
	}
	known := func(BriefRef) (string, error) { return blobA, nil }
	view := []byte(legacyView)
	from, to, _ := findBody(view)
	facts := func(text string, pin pinBrief) error {
		m, err := parseMap([]byte(text))
		if err != nil {
			return err
		}
		_, err = m.facts(string(view[from:to]), legacyView, dana, pin)
		return err
	}
	must(t, facts(legacyMap, known))
	for name, c := range map[string]struct{ text, says string }{
		"no block":             {"# Map\n", "0 fenced json blocks"},
		"two blocks":           {legacyMap + "\n```json\n{}\n```\n", "2 fenced json blocks"},
		"not UTF-8":            {legacyMap + "\xff", "UTF-8"},
		"no JSON":              {swap(`"rows": [`+"\n", `"rows": [,`), "json block"},
		"an unknown field":     {swap(`"retired"`, `"retried"`), "json block"},
		"a row left out":       {swap(`, {"id": 1, "reason": "of the past"}`, ``) + "", ""},
		"a row not mapped":     {swap(`{"id": 5, "reason": "a weekly routine"}, `, ``), "neither mapped nor retired: | 5 |"},
		"a row mapped twice":   {swap(`"retired": [`, `"retired": [{"id": 9, "reason": "twice"}, `), "mapped twice"},
		"an id twice":          {swap(`"id": 20`, `"id": 21`), "id 21 is given twice"},
		"another id":           {swap(`"id": 9, "legacy"`, `"id": 10, "legacy"`), "has the id 9"},
		"a text made up":       {swap("- Dark mode, see docs/ideas.md", "- Dark mode"), "stands in no row"},
		"no text":              {swap("- Dark mode, see docs/ideas.md", " "), "no legacy text"},
		"a state made up":      {swap(`"state": "done"`, `"state": "required"`), "no state"},
		"a time of today":      {swap(`"2026-01-01T00:00:00Z"`, `"1 January"`), "no time"},
		"a time without proof": {swap(`"evidence": "issue 12"`, `"evidence": ""`), "evidence"},
		"since without need":   {swap(`"required": true,`, ``), "requiredSince"},
		"no brief":             {swap(`"brief": "docs/ideas.md#Stubs"`, `"brief": ""`), "brief"},
		"a lower mark":         {swap(`"highWater": 40`, `"highWater": 20`), "highWater"},
	} {
		err := facts(c.text, known)
		if c.says == "" {
			must(t, err)
			continue
		}
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		wantRefusal(t, err, MapInvalid, c.says)
	}
	wantRefusal(t, facts(legacyMap, pin), MapInvalid, "docs/ideas.md is not in HEAD")
	wantRefusal(t, facts(swap("#Stubs", "#Nowhere"), func(b BriefRef) (string, error) { return "", refuse(BriefInvalid, "no such heading") }), MapInvalid, "no such heading")
}

// emptyHead is a repository without a commit.
type emptyHead struct{ Committed }

func (emptyHead) HeadCommit(context.Context) (id git.ObjectID, ok bool, err error) {
	return "", false, nil
}

// proves: QUEUE-OPEN-28 QUEUE-OPEN-26
func TestAQueueFromNothing(t *testing.T) {
	t.Parallel()
	p := newProject(t, "sha1")
	p.repo.Git("rm", "-q", DefaultView)
	p.write(mapPath, "# Map\n\n~~~ JSON\n~~~\n")
	p.repo.Git("add", ".")
	p.repo.Git("commit", "-q", "-m", "map")
	if _, err := p.genesis(); err != nil {
		t.Fatal(err)
	}
	if f := p.file(); len(f.Rows) != 0 {
		t.Errorf("rows %+v", f.Rows)
	}
	if text := p.read(DefaultView); !strings.HasPrefix(text, "# Queue\n\n"+BeginMarker+"\n") || !strings.HasSuffix(text, EndMarker+"\n") {
		t.Errorf("the view is %q", text)
	}
}

// proves: QUEUE-TESTS-24 QUEUE-DATA-64 QUEUE-DATA-65 QUEUE-DATA-66 QUEUE-DATA-67 QUEUE-DATA-68 QUEUE-DATA-69
// proves: QUEUE-DATA-70 QUEUE-DATA-71 QUEUE-DATA-79 QUEUE-DATA-80 QUEUE-OPEN-58
func TestEachRefusalOfGenesis(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		code   string
		change func(p *project, args *GenesisArgs) (by Seat)
	}{
		"an existing file": {QueueExists, func(p *project, _ *GenesisArgs) Seat {
			p.write(DefaultQueue, "{}")
			return chief
		}},
		"a file in HEAD": {QueueExists, func(p *project, _ *GenesisArgs) Seat {
			p.stage(DefaultQueue, "{}")
			p.repo.Git("commit", "-q", "-m", "queue")
			p.remove(DefaultQueue)
			return chief
		}},
		"a witness": {WitnessPresent, func(p *project, _ *GenesisArgs) Seat {
			p.write(DefaultWitness, "{}")
			return chief
		}},
		"another root": {NotCanonical, func(p *project, args *GenesisArgs) Seat {
			args.CanonicalRoot = filepath.Dir(p.root)
			return chief
		}},
		"a root through a link": {NotCanonical, func(p *project, args *GenesisArgs) Seat {
			args.CanonicalRoot = filepath.Join(p.root, "..", "web") + "x"
			return chief
		}},
		"another branch": {WrongBranch, func(_ *project, args *GenesisArgs) Seat {
			args.Branch = "other"
			return chief
		}},
		"a detached HEAD": {WrongBranch, func(p *project, _ *GenesisArgs) Seat {
			p.repo.Git("checkout", "-q", "--detach")
			return chief
		}},
		"an uncommitted map": {MapInvalid, func(p *project, args *GenesisArgs) Seat {
			args.Map = "map2.md"
			p.stage("map2.md", oneRowMap)
			return chief
		}},
		"a map that is no file": {MapInvalid, func(_ *project, args *GenesisArgs) Seat {
			args.Map = "docs/plans"
			return chief
		}},
		"a seat":          {NotPermitted, func(*project, *GenesisArgs) Seat { return dev }},
		"a stranger":      {NotPermitted, func(*project, *GenesisArgs) Seat { return "stranger" }},
		"nobody":          {ActorMissing, func(*project, *GenesisArgs) Seat { return "" }},
		"markers missing": {ViewUnknown, func(p *project, _ *GenesisArgs) Seat { p.write(DefaultView, "# Queue\n"); return chief }},
		"markers twice":   {ViewUnknown, func(p *project, _ *GenesisArgs) Seat { p.write(DefaultView, legacyView+legacyView); return chief }},
		"a malformed op":  {OpMalformed, func(*project, *GenesisArgs) Seat { return "op" }},
		"a table with NUL": {MapInvalid, func(p *project, _ *GenesisArgs) Seat {
			p.write(DefaultView, strings.Replace(legacyView, "Import", "Imp\x00rt", 1))
			return chief
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, "sha1")
			args := p.genesisArgs()
			by := c.change(p, args)
			op := OpID("genesis-op")
			if by == "op" {
				by, op = chief, "Genesis"
			}
			before := p.all()
			_, err := p.openAs(nil, quick()).Begin(context.Background(), op, by, args)
			wantRefusal(t, err, c.code)
			wantExit(t, err, 2)
			p.unchanged(before)
		})
	}
	t.Run("a linked work tree", func(t *testing.T) {
		t.Parallel()
		p := newProject(t, "sha1")
		tree := filepath.Join(t.TempDir(), "tree")
		p.repo.Git("worktree", "add", "-q", "-b", "other", tree)
		_, err := Open(context.Background(), tree)
		wantRefusal(t, err, NotCanonical, "linked")
	})
}

// proves: QUEUE-OP-06 QUEUE-DATA-81
func TestARetriedGenesis(t *testing.T) {
	t.Parallel()
	p := newProject(t, "sha1")
	first, err := p.genesis()
	must(t, err)
	before := p.all()
	again, err := p.genesis()
	if err != nil || !again.Already || again.Rev != first.Rev {
		t.Errorf("again: %+v, %v", again, err)
	}
	p.unchanged(before)
	args := p.genesisArgs()
	args.Seats = []Seat{dev}
	_, err = p.open(nil).Begin(context.Background(), "genesis-op", chief, args)
	wantRefusal(t, err, OpReused)
}

// proves: QUEUE-MIGRATE-01 QUEUE-MIGRATE-15
func TestADraftedMapIsAccepted(t *testing.T) {
	t.Parallel()
	p := migrated(t, legacyView, legacyMap)
	p.write(mapPath, string(DraftMap([]byte(legacyView), mapPath, dana)))
	p.repo.Git("add", mapPath)
	p.repo.Git("commit", "-q", "-m", "draft")
	args := p.genesisArgs()
	args.Seats = []Seat{dev, rev, rev2, "pm"}
	if _, err := p.open(nil).Begin(context.Background(), "genesis-op", chief, args); err != nil {
		t.Fatal(err)
	}
	want := map[RowID]State{3: InProgress, 5: Queued, 8: Blocked, 9: Done, 1: Parked, 2: Parked}
	for _, r := range p.file().Rows {
		if r.State != want[r.ID] {
			t.Errorf("row %d is %s", r.ID, r.State)
		}
		delete(want, r.ID)
	}
	if len(want) > 0 {
		t.Errorf("rows are missing: %v", want)
	}
	if r := p.file().Rows; !slices.Equal(r[2].Reviewers, []Seat{rev}) || r[2].Owner != dev || r[2].Gate != "dana tries it" || r[2].Brief.Path != mapPath {
		t.Errorf("row 3 is %+v", r[2])
	}
}

// What a table's cells hold breaks neither the draft nor what is read of it.
func TestADraftOfHostileText(t *testing.T) {
	t.Parallel()
	for _, c := range corpus.Strings(t) {
		view := BeginMarker + "\n| ID | Piece | Owner |\n|---|---|---|\n| 4 | " + c.Text + " | " + c.Text + " |\n- " + c.Text + "\n" + EndMarker + "\n"
		text := DraftMap([]byte(view), mapPath, dana)
		m, err := parseMap(text)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		if len(m.Rows) == 0 {
			t.Errorf("%s: no row", c.Name)
		}
		for _, r := range m.Rows[:min(len(m.Rows), 3)] {
			if n := countHeadings(text, heading(r.ID)); strings.HasPrefix(r.Brief, mapPath+"#") && n != 1 {
				t.Errorf("%s: %d headings for row %d", c.Name, n, r.ID)
			}
		}
	}
}

// proves: QUEUE-COMMIT-01 QUEUE-COMMIT-02 QUEUE-COMMIT-03 QUEUE-COMMIT-04 QUEUE-COMMIT-05 QUEUE-OPEN-99
func TestTheGuard(t *testing.T) {
	t.Parallel()
	for _, format := range gittest.Formats {
		for name, paths := range map[string][2]string{
			"the usual paths": {DefaultQueue, DefaultView},
			"awkward paths":   {"q 'u' \"e\"/$(touch x) [a]*.json", ":(top)ü\\.md"},
		} {
			t.Run(format+" "+name, func(t *testing.T) {
				t.Parallel()
				r := gittest.New(t, format)
				queue, view := paths[0], paths[1]
				r.Write(".git/hooks/pre-commit", string(Guard(queue, view)))
				must(t, chmodX(filepath.Join(r.Dir, ".git/hooks/pre-commit")))
				r.Env = append(r.Env, "GIT_LITERAL_PATHSPECS=1")
				r.Write(queue, "1")
				r.Git("add", "--", queue)
				r.Git("commit", "-q", "-m", "the first of all") // there is no HEAD to differ from
				r.Git("rm", "-q", "--cached", "--", queue)
				refused := func(what string) {
					t.Helper()
					out, err := r.Try("commit", "-m", what)
					if err == nil || !strings.Contains(out, guardRefusal) || !strings.Contains(out, ResetCommand(queue, view)) {
						t.Errorf("%s: %v: %s", what, err, out)
					}
				}
				refused("a deletion")
				r.Git("commit", "-q", "--no-verify", "-m", "without")
				r.Git("add", "--", queue)
				refused("a first version")
				r.Git("commit", "-q", "--no-verify", "-m", "with")
				r.Write(queue, "2")
				r.Git("add", "--", queue)
				refused("a change")
				r.Git("reset", "-q", "--", queue)
				r.Write(view, "x")
				r.Git("add", "--", view)
				refused("the view")
				r.Git("reset", "-q", "--", view)
				r.Write("sub dir/a\n\"b\".txt", "x")
				r.Git("add", "--", "sub dir")
				r.At(filepath.Join(r.Dir, "sub dir")).Git("commit", "-q", "-m", "from below")
				tree := filepath.Join(t.TempDir(), "tree")
				r.Git("worktree", "add", "-q", "-b", "other", tree)
				linked := r.At(tree)
				linked.Write(queue, "3")
				linked.Git("add", "--", queue)
				if out, err := linked.Try("commit", "-m", "in a linked work tree"); err == nil || !strings.Contains(out, guardRefusal) {
					t.Errorf("in a linked work tree: %v: %s", err, out)
				}
				// A tree that git cannot read is no reason to let a commit through.
				tree = r.Git("rev-parse", "HEAD^{tree}")
				object := filepath.Join(r.Dir, ".git/objects", tree[:2], tree[2:])
				must(t, os.Rename(object, object+".gone"))
				if out, err := r.Try("hook", "run", "pre-commit"); err == nil || !strings.Contains(out, guardRefusal) {
					t.Errorf("with a damaged HEAD: %v: %s", err, out)
				}
				must(t, os.Rename(object+".gone", object))
				if _, err := r.Try("cat-file", "-e", "HEAD:x"); err == nil {
					t.Error("a path ran as a command")
				}
			})
		}
	}
}

// proves: QUEUE-COMMIT-12
func TestAGuardOfAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	p := newProject(t, "sha1")
	c := p.open(nil)
	if _, err := c.InstallHook(context.Background(), chief); err != nil {
		t.Fatal(err)
	}
	must(t, c.checkHookFile())
	must(t, os.Lchown(c.hook(), 65534, 65534))
	wantRefusal(t, c.checkHookFile(), GuardInactive, "another user")
}

// proves: QUEUE-COMMIT-06 QUEUE-COMMIT-07 QUEUE-COMMIT-08 QUEUE-COMMIT-09 QUEUE-COMMIT-10
// proves: QUEUE-OPEN-48 QUEUE-OPEN-98
func TestInstallHook(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newProject(t, "sha1")
	c := p.open(nil)
	_, err := c.InstallHook(ctx, "")
	wantRefusal(t, err, ActorMissing)
	done, err := c.InstallHook(ctx, "anyone") // before genesis nobody is known
	must(t, err)
	if done.Hook != p.path(".git/hooks/pre-commit") || done.Already || done.Replaced || p.read(".git/hooks/pre-commit") != string(Guard(DefaultQueue, DefaultView)) {
		t.Errorf("installed %+v", done)
	}
	must(t, c.checkHookFile())
	if done, err = c.InstallHook(ctx, chief); err != nil || !done.Already {
		t.Errorf("again: %+v, %v", done, err)
	}
	if _, err := p.genesis(); err != nil {
		t.Fatal(err)
	}
	for _, by := range []Seat{dev, coord, "stranger"} {
		if _, err := c.InstallHook(ctx, by); err == nil {
			t.Errorf("%s may install it", by)
		}
	}
	// A guard for other paths is the guard's own earlier text.
	p.write(".git/hooks/pre-commit", string(Guard("it's/queue.json", "QUEUE.md")))
	wantRefusal(t, c.checkHookFile(), GuardInactive, "other paths")
	if done, err = c.InstallHook(ctx, dana); err != nil || !done.Replaced {
		t.Errorf("over its own: %+v, %v", done, err)
	}
	must(t, c.checkHookFile())
	p.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 0\n")
	_, err = c.InstallHook(ctx, chief)
	wantRefusal(t, err, HookForeign)
	if p.read(".git/hooks/pre-commit") != "#!/bin/sh\nexit 0\n" {
		t.Error("another hook was replaced")
	}
	p.remove(".git/hooks/pre-commit")
	p.repo.Git("config", "core.hooksPath", "elsewhere")
	_, err = c.InstallHook(ctx, chief)
	wantRefusal(t, err, GuardInactive, "local")
}

// proves: QUEUE-NEXT-18 QUEUE-NEXT-19 QUEUE-BRIEF-18 QUEUE-OPEN-31 QUEUE-OPEN-102
func TestWhatSeatsAreTold(t *testing.T) {
	t.Parallel()
	text := Instructions()
	if n := strings.Count(text, "\n"); n > 40 || !strings.HasPrefix(text, "<!-- BEGIN MOSAIC v1 ") || !strings.HasSuffix(text, "<!-- END MOSAIC -->\n") {
		t.Errorf("%d lines: %s", n, text)
	}
	at := 0
	for _, word := range []string{"`mosaic queue next`", "`resume`", "`review`", "`start`", "`wait`", "`nothing`"} {
		i := strings.Index(text[at:], word)
		if i < 0 {
			t.Fatalf("%s is missing, or out of order", word)
		}
		at += i
	}
	for _, word := range []string{"--no-verify", "checkout", "stash", "restore", "reset", "Merge, rebase, cherry-pick, revert and `am`", "core.hooksPath", "GIT_CONFIG_", ".git/hooks/pre-commit"} {
		if !strings.Contains(text, word) {
			t.Errorf("nothing about %s", word)
		}
	}
	for _, section := range []string{"Why", "What ships", "Boundaries", "Gate", "Evidence"} {
		if countHeadings([]byte(BriefTemplate), section) != 1 {
			t.Errorf("the template has no section %s", section)
		}
	}
}

func chmodX(path string) error { return os.Chmod(path, 0o755) }
