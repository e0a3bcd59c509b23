package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mosaicstack.dev/mosaic/internal/git/gittest"
	"mosaicstack.dev/mosaic/internal/gitea/giteatest"
)

// desk is a repository with a founded queue, as commands see it. Its tests run
// one after another: commands work in the process's directory.
type desk struct {
	t       *testing.T
	repo    *gittest.Repository
	server  *giteatest.Server
	home    string
	outside string

	credential string // of whoever runs the commands; "" for none
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, repo: gittest.New(t, "sha1"), server: giteatest.New(t), home: t.TempDir(), outside: t.TempDir()}
	d.repo.Write("docs/plans/brief.md", "# Search\n\n## What ships\n\n- an index of the titles\n")
	d.repo.Write("docs/plans/map.md", "# Map\n\n```json\n{\"rows\":[],\"parked\":[],\"retired\":[]}\n```\n")
	d.repo.Git("add", "docs")
	d.repo.Git("commit", "--quiet", "-m", "before the queue")
	d.repo.Git("config", "user.name", "chief")
	d.repo.Git("config", "user.email", "chief@example.org")
	d.repo.Git("config", "mosaic.queue.giteaUrl", d.server.URL)
	d.repo.Git("config", "mosaic.queue.giteaRepository", giteatest.Owner+"/"+giteatest.Name)
	t.Chdir(d.repo.Dir)
	root, err := filepath.EvalSymlinks(d.repo.Dir)
	if err != nil {
		t.Fatal(err)
	}
	d.must("genesis", "--op", "genesis-op-1", "--root", root, "--branch", "main", "--map", "docs/plans/map.md", "--human", "dana", "--lead", "chief", "--seats", "chief,dev,rev")
	d.must("install-hook")
	d.must("commit", "--genesis", "-m", "the queue begins")
	d.must("add", "--piece", "faster search", "--brief", "docs/plans/brief.md", "--owner", "dev", "--issues", "77", "--op", "add-op-0001")
	d.must("move", "1", "briefed", "--op", "brief-op-0001")
	return d
}

// run runs a command as chief and returns its exit code and output.
func (d *desk) run(args ...string) (exit int, stdout, stderr string) {
	d.t.Helper()
	var out, errs strings.Builder
	env := []string{"HOME=" + d.home, "PATH=" + os.Getenv("PATH"), "MOSAIC_AGENT_NAME=chief", "MOSAIC_GITEA_CREDENTIAL_FILE=" + d.credential}
	exit = Run(d.t.Context(), args, strings.NewReader(""), &out, &errs, env)
	return exit, out.String(), errs.String()
}

// must runs a verb of the queue that succeeds.
func (d *desk) must(args ...string) string {
	d.t.Helper()
	exit, out, errs := d.run(append([]string{"queue"}, args...)...)
	if exit != exitDone {
		d.t.Fatalf("queue %q: exit %d: %s%s", args, exit, out, errs)
	}
	return out
}

// proves: QUEUE-LEDGER-01 QUEUE-LEDGER-02 QUEUE-LEDGER-03 QUEUE-LEDGER-04 QUEUE-LEDGER-19 QUEUE-LEDGER-27 QUEUE-OPEN-85 QUEUE-OPEN-86 QUEUE-OPEN-92
func TestLedgerCommand(t *testing.T) {
	d := newDesk(t)
	exit, out, errs := d.run("ledger")
	if exit != exitDone || !strings.Contains(out, "queue: 0 violations\n") || strings.Index(out, "week of") < strings.Index(out, "queue: 0") || errs != "" {
		t.Errorf("a clean run: exit %d, %s%s", exit, out, errs)
	}
	if n := len(d.server.Gets()); n != 3 {
		t.Errorf("%d calls", n)
	}
	d.must("start", "1", "--op", "start-op-0001", "--by", "dev")
	exit, out, _ = d.run("ledger", "--json")
	var doc struct {
		Queue struct {
			Result     string `json:"result"`
			Violations []struct {
				Check string `json:"check"`
				Row   int    `json:"row"`
			} `json:"violations"`
		} `json:"queue"`
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil || exit != exitRefused || doc.Queue.Result != "fail" || len(doc.Queue.Violations) != 1 || doc.Queue.Violations[0].Check != "registration" {
		t.Errorf("exit %d, %v: %s", exit, err, out)
	}
	previous := filepath.Join(d.outside, "first.json")
	if err := os.WriteFile(previous, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	exit, out, _ = d.run("ledger", "--unsupported-runtime", "dev", "--previous", previous)
	if exit != exitDone || !strings.Contains(out, "remediated since an earlier run of today:") || !strings.Contains(out, "exempt on this run: dev") {
		t.Errorf("exit %d: %s", exit, out)
	}
	calls := len(d.server.Gets())
	exit, out, _ = d.run("ledger", "--unsupported-runtime", "dev", "--no-issues")
	if exit != exitUncertain || !strings.Contains(out, "queue issue checks: not run\n") || len(d.server.Gets()) != calls {
		t.Errorf("exit %d: %s", exit, out)
	}
	for _, args := range [][]string{{"--unsupported-runtime", "nobody"}, {"--since", "yesterday"}, {"--since", "2999-01-01"}, {"--previous", previous + ".not"}, {"--previous", "docs/plans/map.md"}} {
		if exit, out, errs := d.run(append([]string{"ledger"}, args...)...); exit != exitUsage || out != "" || strings.Count(errs, "\n") != 1 {
			t.Errorf("%q: exit %d: %s%s", args, exit, out, errs)
		}
	}
	d.repo.Git("config", "mosaic.queue.giteaUrl", "http://127.0.0.1:1")
	if exit, out, _ := d.run("ledger"); exit != exitFailed || out != "" {
		t.Errorf("without a server: exit %d: %s", exit, out)
	}
	d.repo.Write("docs/plans/queue.json", "{}\n")
	if exit, out, errs := d.run("ledger", "--no-issues"); exit != exitRefused || out != "" || !strings.Contains(errs, "queue-invalid") {
		t.Errorf("an invalid queue: exit %d: %s%s", exit, out, errs)
	}
}

// proves: QUEUE-GATE-01 QUEUE-GATE-02 QUEUE-OPEN-94
func TestQueueAuditCommands(t *testing.T) {
	d := newDesk(t)
	file := filepath.Join(d.outside, "gate.json")
	out := d.must("audit", "prepare", file, "--seat", "dev", "--command", "mosaic launch dev --fresh")
	if !strings.Contains(out, "row 1 of dev at revision 2") {
		t.Error(out)
	}
	d.must("audit", "pin", file)
	exit, out, _ := d.run("queue", "audit", "check", file)
	if exit != exitUncertain || !strings.Contains(out, "no cutoff is pinned") || !strings.Contains(out, "result: inconclusive") {
		t.Errorf("exit %d: %s", exit, out)
	}
	d.repo.Write(".pi/state/dev/launches/one/env", "x\n")
	d.repo.Write(".pi/state/dev/sessions/one.jsonl", `{"type":"session","id":"s1","timestamp":"2020-01-01T00:00:00Z","cwd":"/"}`+"\n")
	d.must("audit", "pin", file, "--work", "c1", "--ships", "an index of the titles")
	exit, out, _ = d.run("queue", "audit", "check", file, "--json")
	var report struct {
		Items []struct {
			Item   string `json:"item"`
			Status string `json:"status"`
		} `json:"items"`
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || exit != exitRefused || len(report.Items) != 5 || report.Items[0].Status != "reject" || report.Items[4].Status != "human" {
		t.Errorf("exit %d, %v: %s", exit, err, out)
	}
	for _, args := range [][]string{
		{"prepare", file, "--seat", "dev", "--command", "x"}, {"prepare", filepath.Join(d.repo.Dir, "gate.json"), "--seat", "dev", "--command", "x"},
		{"prepare", filepath.Join(d.outside, "2.json"), "--seat", "rev", "--command", "x"}, {"check", "docs/plans/map.md"}, {"pin", file},
	} {
		exit, out, errs := d.run(append([]string{"queue", "audit"}, args...)...)
		if exit != exitRefused || out != "" || strings.Count(errs, "\n") != 1 {
			t.Errorf("%q: exit %d: %s%s", args, exit, out, errs)
		}
	}
	if exit, _, _ := d.run("queue", "audit", "prepare", file); exit != exitUsage {
		t.Errorf("without a seat: exit %d", exit)
	}
}
