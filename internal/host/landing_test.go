package host

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"mosaicstack.dev/mosaic/internal/git/gittest"
	"mosaicstack.dev/mosaic/internal/launch"
	"mosaicstack.dev/mosaic/internal/wire"
)

// newTestHostWith starts a host whose project is a repository with one commit
// on main.
func newTestHostWith(t *testing.T, repo *gittest.Repository) *testHost {
	t.Helper()
	repo.Commit("dana", "app.txt", "broken\n")
	h := prepareHost(t, t.TempDir(), launch.None)
	h.project = repo.Dir
	h.organize(strings.ReplaceAll(organization, "SANDBOX", "none"))
	h.start()
	return h
}

// raised raises the decision to merge into main and returns its id.
func (a agent) raised(more map[string]any) wire.DecisionID {
	a.h.t.Helper()
	args := map[string]any{
		"action": "git.merge.protected", "target": "web/main", "question": "Merge the fix?", "blocking": false,
		"options":        []map[string]string{{"key": "yes", "text": "Merge it"}, {"key": "no", "text": "Leave it"}},
		"recommendation": "yes",
	}
	for key, value := range more {
		args[key] = value
	}
	var decision struct {
		ID wire.DecisionID `json:"id"`
	}
	if err := a.call(a.h.status.Sockets.Bus, "decision.raise", args, &decision); err != nil {
		a.h.t.Fatal(err)
	}
	return decision.ID
}

// approvedFor raises a decision for an action on a target, which the person
// approves.
func (a agent) approvedFor(action, target string) wire.DecisionID {
	a.h.t.Helper()
	id := a.raised(map[string]any{"action": action, "target": target})
	a.h.human("decision.resolve", map[string]string{"id": string(id), "choice": "yes"})
	return id
}

// A landing from the refusal to the moved branch.
// proves: BUS-CTL-51
func TestALandingSpendsItsApprovalOnce(t *testing.T) {
	t.Parallel()
	gittest.EachFormat(t, func(t *testing.T, format string) {
		repo := gittest.New(t, format)
		h := newTestHostWith(t, repo)
		before := repo.Head()
		fix := repo.Branch("fix", "main", "app.txt", "works\n")
		more := repo.Branch("more", "fix", "app.txt", "works better\n")
		dev := h.agent("dev")
		land := LandArgs{Project: "web", Branch: "main", Commit: fix, TaskRef: "queue:7"}
		dev.refused("land", land, wire.Refuse(wire.DecisionRequired))
		land.Decision = dev.raised(map[string]any{"target": "web/main@" + fix})
		dev.refused("land", land, wire.Refuse(wire.DecisionOpen))
		h.human("decision.resolve", map[string]string{"id": string(land.Decision), "choice": "yes"})

		var landed Landed
		if err := dev.host("land", land, &landed); err != nil {
			t.Fatalf("%v\n%s", err, h.log)
		}
		want := Landed{Project: "web", Branch: "main", Commit: fix, Previous: before, Event: landed.Event}
		if landed != want || landed.Event == "" {
			t.Errorf("got %+v", landed)
		}
		if repo.Head() != fix || repo.Read("app.txt") != "works\n" {
			t.Errorf("main is at %s and holds %q", repo.Head(), repo.Read("app.txt"))
		}
		allowed := h.query(`SELECT body FROM events WHERE kind = 'action.allowed' AND id = ?`, string(landed.Event))
		for _, fact := range []string{fix, before, `"web"`, `"main"`, `"web/main@` + fix} {
			if len(allowed) != 1 || !strings.Contains(allowed[0], fact) {
				t.Errorf("the evidence %q does not name %s", allowed, fact)
			}
		}
		dev.refused("land", land, wire.Refuse(wire.AlreadyLanded))
		land.Commit = more
		dev.refused("land", land, wire.Refuse(wire.DecisionMismatch))
		if repo.Head() != fix {
			t.Errorf("main is at %s", repo.Head())
		}
		repo.Git("reset", "--hard", before)
		land.Commit = fix
		dev.refused("land", land, wire.Refuse(wire.DecisionConsumed))
		refusals := []string{"authorize decision-required", "authorize decision-open", " already-landed", "authorize decision-mismatch", "authorize decision-consumed"}
		if got := h.refusals(dev.run); !slices.Equal(got, refusals) {
			t.Errorf("the refusals are %q", got)
		}
		if n := h.query(`SELECT count(*) FROM events WHERE kind = 'action.refused' AND subject = 'queue:7'`); n[0] != "5" {
			t.Errorf("%s of them are on the task's trail", n[0])
		}
	})
}

func TestOfManyLandingsAtOnceOneHappens(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t, "sha1")
	h := newTestHostWith(t, repo)
	first := repo.Branch("first", "main", "app.txt", "first\n")
	second := repo.Branch("second", "main", "app.txt", "second\n")
	dev := h.agent("dev")
	approvals := map[string]wire.DecisionID{}
	for _, commit := range []string{first, second} {
		approvals[commit] = dev.approvedFor("git.merge.protected", "web/main@"+commit)
	}
	results := make([]error, 12)
	var all sync.WaitGroup
	for i := range results {
		all.Go(func() {
			commit := []string{first, second}[i%2]
			results[i] = dev.host("land", LandArgs{Project: "web", Commit: commit, Decision: approvals[commit]}, nil)
		})
	}
	all.Wait()
	landed := 0
	for _, err := range results {
		if err == nil {
			landed++
		} else if !errors.Is(err, wire.Refuse(wire.AlreadyLanded)) && !errors.Is(err, wire.Refuse(wire.MainMoved)) {
			t.Errorf("refused with %v", err)
		}
	}
	if head := repo.Head(); landed != 1 || (head != first && head != second) {
		t.Errorf("%d landed, main is at %s", landed, head)
	}
}

// Somebody holds git's lock on the branch at the one moment that counts: the
// approval is spent, nothing has landed, and nothing lands with it later.
func TestAnApprovalThatWasSpentForNothingLandsNothing(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t, "sha1")
	h := newTestHostWith(t, repo)
	before := repo.Head()
	fix := repo.Branch("fix", "main", "app.txt", "works\n")
	dev := h.agent("dev")
	land := LandArgs{Project: "web", Commit: fix, Decision: dev.approvedFor("git.merge.protected", "web/main@"+fix), TaskRef: "queue:7"}
	lock := filepath.Join(repo.Dir, ".git", "refs", "heads", "main.lock")
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dev.refused("land", land, wire.Refuse(wire.MainBusy))
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	dev.refused("land", land, wire.Refuse(wire.DecisionConsumed))
	if repo.Head() != before {
		t.Errorf("main is at %s", repo.Head())
	}
	if got := h.refusals(dev.run); !slices.Equal(got, []string{" main-busy", "authorize decision-consumed"}) {
		t.Errorf("the refusals are %q", got)
	}
	land.Decision = dev.approvedFor("git.merge.protected", "web/main@"+fix)
	if err := dev.host("land", land, nil); err != nil || repo.Head() != fix {
		t.Errorf("with another approval: %v, main is at %s", err, repo.Head())
	}
}

func TestALandingThatCannotBeLeavesTheApproval(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t, "sha1")
	h := newTestHostWith(t, repo)
	fix := repo.Branch("fix", "main", "app.txt", "works\n")
	dev := h.agent("dev")
	later := repo.Branch("later", "fix", "app.txt", "works otherwise\n")
	twin := filepath.Join(t.TempDir(), "api")
	repo.Git("clone", "--quiet", "--bare", repo.Dir, twin)
	h.organize(strings.NewReplacer("SANDBOX", "none", "{web: {repo: PROJECT}}", "{web: {repo: PROJECT}, api: {repo: "+twin+"}}").Replace(organization))
	good := LandArgs{Project: "web", Commit: fix, Decision: dev.approvedFor("git.merge.protected", "web/main@"+fix)}
	cases := []struct {
		name   string
		change func(*LandArgs)
		want   *wire.Error
	}{
		{"another project", func(a *LandArgs) { a.Project = "app" }, wire.RefuseField(wire.ProjectNotFound, "project")},
		{"another branch", func(a *LandArgs) { a.Branch = "no-such-branch" }, wire.Refuse(wire.BranchNotFound)},
		{"no commit", func(a *LandArgs) { a.Commit = strings.Repeat("0", 39) + "1" }, wire.Refuse(wire.CommitNotFound)},
		{"a name for a commit", func(a *LandArgs) { a.Commit = "fix" }, wire.Refuse(wire.CommitNotFound)},
		{"a branch that the approval does not name", func(a *LandArgs) { a.Branch = "stable" }, wire.Refuse(wire.DecisionMismatch)},
		{"a commit made after the approval", func(a *LandArgs) { a.Commit = later }, wire.Refuse(wire.DecisionMismatch)},
		{"the same commit in another project", func(a *LandArgs) { a.Project = "api" }, wire.Refuse(wire.DecisionMismatch)},
		{"an approval of the branch alone", func(a *LandArgs) { a.Decision = dev.approvedFor("git.merge.protected", "main") }, wire.Refuse(wire.DecisionMismatch)},
		{"an approval of a shortened commit", func(a *LandArgs) {
			a.Decision = dev.approvedFor("git.merge.protected", "web/main@"+fix[:12])
		}, wire.Refuse(wire.DecisionMismatch)},
	}
	repo.Git("branch", "stable", "main")
	for _, c := range cases {
		a := good
		c.change(&a)
		dev.refused("land", a, c.want)
	}
	h.refused("land", good, wire.Refuse(wire.AgentRequired))
	if err := dev.host("land", good, nil); err != nil {
		t.Errorf("after all that: %v", err)
	}
}

// The broker reads committed specs through the host.
func TestARaiseCitesTheProjectsSpec(t *testing.T) {
	t.Parallel()
	h := prepareHost(t, t.TempDir(), launch.None)
	repo := gittest.New(t, "sha1")
	commit := repo.Commit("dana", "spec/north-star.md", "Ship it.\n")
	h.organize(strings.NewReplacer("SANDBOX", "none", "{repo: PROJECT}", "{repo: PROJECT, records: "+repo.Dir+"}").Replace(organization))
	h.start()
	dev := h.agent("dev")
	dev.raised(map[string]any{"project": "web", "spec_path": "spec/north-star.md", "spec_commit": commit})
	if got := h.refusals(dev.run); len(got) != 0 {
		t.Errorf("the refusals are %q", got)
	}
}
