package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mosaicstack.dev/mosaic/internal/gitea/giteatest"
)

// A request that nobody knows the end of, given up and asked again, as its
// people see it.
// proves: QUEUE-REVIEW-13 QUEUE-REVIEW-72 QUEUE-REVIEW-85 QUEUE-OPEN-83
func TestReviewCommands(t *testing.T) {
	const token = "s3cr3t-of-dev"
	d := newDesk(t)
	d.must("set", "1", "reviewers=rev", "--op", "set-op-0001")
	d.must("start", "1", "--op", "start-op-0001", "--by", "dev")
	said := ""
	run := func(want int, args ...string) (stdout, stderr string) {
		t.Helper()
		exit, out, errs := d.run(append([]string{"queue"}, args...)...)
		said += out + errs
		if exit != want {
			t.Errorf("%q: exit %d, want %d: %s%s", args, exit, want, out, errs)
		}
		return out, errs
	}
	out, errs := run(exitFailed, "move", "1", "in-review", "--candidate", "HEAD", "--by", "dev", "--op", "review-op-1")
	if out != "" || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "MOSAIC_GITEA_CREDENTIAL_FILE is not set") {
		t.Errorf("a failed request: %q %q", out, errs)
	}
	d.credential = filepath.Join(d.home, ".secrets", "dev.gitea")
	if err := os.MkdirAll(filepath.Dir(d.credential), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.credential, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.server.Logins[token] = "dev"
	d.server.Next(giteatest.Drop)
	out, errs = run(exitUncertain, "review", "request", "1", "--by", "dev", "--op", "review-op-2")
	if !strings.HasPrefix(out, "ok review-op-2 rev ") || !strings.Contains(errs, "uncertain review-op-2: ") || !strings.Contains(errs, "/acme/web/issues/77") {
		t.Errorf("an uncertain request: %q %q", out, errs)
	}
	out, _ = run(exitDone, "review", "request", "1", "--by", "dev", "--op", "review-op-2")
	if !strings.Contains(out, "already recorded at rev") || len(d.server.Posts()) != 1 {
		t.Errorf("the retry: %q after %d POSTs", out, len(d.server.Posts()))
	}
	if out, _ = run(exitDone, "show", "1"); strings.Contains(out, "may exist twice") {
		t.Errorf("before anything was given up: %s", out)
	}
	run(exitRefused, "review", "abandon", "1", "--attempt", "review-op-2", "--reason", "it never came", "--op", "abandon-op-1")
	run(exitDone, "review", "abandon", "1", "--attempt", "review-op-2", "--reason", "it never came", "--yes", "--op", "abandon-op-1")
	if out, _ = run(exitDone, "show", "1"); !strings.Contains(out, "may exist twice") {
		t.Errorf("an abandoned attempt: %s", out)
	}
	d.server.Next(giteatest.Created)
	out, errs = run(exitDone, "review", "request", "1", "--by", "dev", "--op", "review-op-3")
	if !strings.HasPrefix(out, "ok review-op-3 rev ") || errs != "" || len(d.server.Posts()) != 2 {
		t.Errorf("a posted request: %q %q after %d POSTs", out, errs, len(d.server.Posts()))
	}
	run(exitDone, "review", "verify-commit", "1", "HEAD")
	if strings.Contains(said, token) || strings.Contains(d.repo.Read("docs/plans/queue.json"), token) {
		t.Error("the token was printed or recorded")
	}
}
