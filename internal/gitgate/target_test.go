package gitgate_test

import (
	"strings"
	"testing"

	"mosaicstack.dev/mosaic/internal/git"
	"mosaicstack.dev/mosaic/internal/gitgate"
)

func TestATargetIsReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	for _, id := range []string{strings.Repeat("a1", 20), strings.Repeat("b2", 32)} {
		for _, branch := range []string{"main", "release/1.0", "a@b", "x@" + id} {
			target := gitgate.Target{Project: "web", Branch: branch, Commit: git.ObjectID(id)}
			if got, ok := gitgate.ParseTarget(target.String()); !ok || got != target {
				t.Errorf("%s is read as %+v, %v", target, got, ok)
			}
		}
	}
	id := strings.Repeat("a1", 20)
	for _, text := range []string{"", "main", "web/main", "web/main@" + id[:12], "web/@" + id, "/main@" + id, "web@" + id, "web/main@" + strings.ToUpper(id), "web/main@" + id + " "} {
		if got, ok := gitgate.ParseTarget(text); ok {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}
