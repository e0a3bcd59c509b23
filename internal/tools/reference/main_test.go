package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mosaicstack.dev/mosaic/internal/broker"
	"mosaicstack.dev/mosaic/internal/host"
	"mosaicstack.dev/mosaic/internal/org"
	"mosaicstack.dev/mosaic/internal/wire"
)

func TestReferenceIsFresh(t *testing.T) {
	for name, page := range pages {
		got, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "reference", name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(got), page()); diff != "" {
			t.Errorf("docs/reference/%s is stale: run make reference\n%s", name, diff)
		}
	}
}

func TestEveryEntryIsInTheReference(t *testing.T) {
	codes, verbs := codes(), verbs()
	for _, c := range wire.Codes {
		if !strings.Contains(codes, "## "+string(c.Code)+"\n") || !strings.Contains(codes, c.Remedy) {
			t.Errorf("%s is missing", c.Code)
		}
	}
	for _, v := range broker.Verbs {
		if !strings.Contains(verbs, "\n## "+v.Name+"\n") {
			t.Errorf("%s is missing", v.Name)
		}
	}
	hostVerbs := hostVerbs()
	for _, v := range host.Verbs {
		if !strings.Contains(hostVerbs, "\n## "+v.Name+"\n") {
			t.Errorf("%s is missing", v.Name)
		}
	}
	for _, a := range org.Vocabulary {
		if !strings.Contains(verbs, "| `"+a.Name+"` |") {
			t.Errorf("%s is missing", a.Name)
		}
	}
}

// Summaries and meanings stand in table cells.
func TestTablesHoldTogether(t *testing.T) {
	for line := range strings.Lines(verbs() + hostVerbs()) {
		if strings.HasPrefix(line, "|") && strings.Count(line, "|") != 4 {
			t.Errorf("not three columns: %s", line)
		}
	}
}

func TestShellArgument(t *testing.T) {
	for example, want := range map[string]string{
		"{}":                          "",
		"{ }":                         "",
		`{"to": "dev"}`:               ` '{"to":"dev"}'`,
		`{"body": "it's", "to": "d"}`: ` '{"body":"it'\''s","to":"d"}'`,
	} {
		if got := shellArgument(example); got != want {
			t.Errorf("%s: got %s, want %s", example, got, want)
		}
	}
}

func TestWriteMakesThePages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "docs", "reference")
	if err := write(dir); err != nil {
		t.Fatal(err)
	}
	for name := range pages {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
