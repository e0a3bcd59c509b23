package broker

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"testing"
)

// The guide for programs that embed the broker lists the ops of the control
// channel, and close, which is the channel's own.
func TestEmbeddingGuideListsEveryOp(t *testing.T) {
	guide, err := os.ReadFile("../../docs/embedding.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllSubmatch(guide, -1) {
		listed = append(listed, string(m[1]))
	}
	slices.Sort(listed)
	want := slices.Sorted(maps.Keys(controlOps))
	want = append(want, "close")
	slices.Sort(want)
	if !slices.Equal(listed, want) {
		t.Errorf("the guide lists %v, the table has %v", listed, want)
	}
}
