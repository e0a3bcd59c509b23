package cli

import (
	"strings"
	"testing"
)

// At two in the morning nobody knows a run by its id.
func TestAnAnswerIsToldByItsRole(t *testing.T) {
	t.Parallel()
	const run = "01a23096-3a3c-7d33-aa6a-0e634fc24476"
	cto, dana := decisionEvent{By: run, ByRole: "cto"}, decisionEvent{By: "Dana", ByRole: "human"}
	if got := cto.who(); !strings.HasPrefix(got, "cto") || strings.Contains(got, run) {
		t.Errorf("an arbiter is told as %q", got)
	}
	if got := dana.who(); got != "Dana" {
		t.Errorf("the person is told as %q", got)
	}
}
