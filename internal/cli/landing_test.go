package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"mosaicstack.dev/mosaic/internal/host"
	"mosaicstack.dev/mosaic/internal/wire"
)

// An agent whose approval does not fit reads which one would.
func TestARefusedLandingNamesTheTargetToRaise(t *testing.T) {
	t.Parallel()
	commit := strings.Repeat("3f", 20)
	for branch, want := range map[string]string{"main": "git.merge.protected on web/main@" + commit, "": "git.merge.protected on web/BRANCH@" + commit} {
		land := host.LandArgs{Project: "web", Branch: branch, Commit: commit}
		for _, code := range []wire.Code{wire.DecisionMismatch, wire.DecisionRequired} {
			if f := describe(withTarget(wire.Refuse(code), land), true); f.code != code || !strings.Contains(f.sentence, want) {
				t.Errorf("%+v", f)
			}
		}
	}
	if f := describe(withTarget(wire.Refuse(wire.MainMoved), host.LandArgs{}), true); strings.Contains(f.sentence, "merge") {
		t.Errorf("%+v", f)
	}
}

// A person reads which commit of which project the approval is for: shortened
// where it is repeated, and whole once.
func TestALandingIsShownWithItsWholeCommit(t *testing.T) {
	t.Parallel()
	commit := strings.Repeat("3f", 20)
	target := "web/release/1.0@" + commit
	d := decision{RaisedByRole: "dev", Class: "gated", Route: wire.HumanRole, Authorization: authorization{Action: "git.merge.protected", Target: &target, ApprovalChoice: "yes"}}
	if got, want := d.Authorization.String(), "git.merge.protected on web/release/1.0@3f3f3f3f3f3f…"; got != want {
		t.Errorf("got %s", got)
	}
	var out bytes.Buffer
	newPrinter(&out, &out, environment{}).show(func(w *screen) { showDecision(w, d, time.Now()) })
	if !strings.Contains(out.String(), "\n  project web, branch release/1.0, commit "+commit+"\n") {
		t.Errorf("shown is\n%s", out.String())
	}
	for _, other := range []string{"main", target[:30]} {
		a := authorization{Action: "git.merge.protected", Target: &other}
		if got := a.String(); got != "git.merge.protected on "+other {
			t.Errorf("got %s", got)
		}
	}
	deploy := authorization{Action: "deploy", Target: &target}
	if got := deploy.String(); got != "deploy on "+target {
		t.Errorf("got %s", got)
	}
}
