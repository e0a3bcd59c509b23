package org

import (
	"path/filepath"
	"slices"
	"strings"

	"mosaicstack.dev/mosaic/internal/wire"
)

// pattern is a form of names, with the words that people are told.
type pattern struct {
	name  string // what the text should be
	words string // how to write one
	expr  *wire.Pattern
}

func (p pattern) match(s string) bool { return p.expr.MatchString(s) }

// The forms of names (BUS-OPEN-02, BUS-OPEN-03).
var (
	keyForm = pattern{
		name: "key", words: "lower case letters, digits and -, at most 63, a letter or digit first",
		expr: wire.NewPattern(`\A[a-z0-9][a-z0-9-]{0,62}\z`),
	}
	moduleForm = pattern{
		name: "module name", words: "lower case letters, digits and -, at most 63, a letter first",
		expr: wire.NewPattern(`\A[a-z][a-z0-9-]{0,62}\z`),
	}
	variableForm = pattern{
		name: "name of a variable", words: "letters, digits and _, no digit first",
		expr: wire.NewPattern(`\A[A-Za-z_][A-Za-z0-9_]{0,127}\z`),
	}
	varForm = pattern{
		name: "name of a setting", words: "letters, digits, and . _ - between them",
		expr: wire.NewPattern(`\A[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?\z`),
	}
)

// ExecHarness is the harness that runs any command.
const ExecHarness = "exec"

// reservedKeys are addresses that no role instance can have.
var reservedKeys = []string{"human", "tester"}

// suggestion names the known word that is nearest to what was written, or all
// of them when none is near.
func suggestion(written string, known []string) string {
	known = slices.Sorted(slices.Values(known))
	if near, ok := wire.Nearest(written, known); ok {
		return "did you mean " + near + "?"
	}
	if len(known) == 0 || len(known) > 20 {
		return ""
	}
	return "known: " + strings.Join(known, ", ")
}

// expandHome replaces a leading ~ by the person's home directory.
func expandHome(path, home string) string {
	switch {
	case path == "~":
		return home
	case strings.HasPrefix(path, "~/"):
		return filepath.Join(home, path[2:])
	default:
		return path
	}
}
