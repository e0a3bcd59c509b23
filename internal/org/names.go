package org

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// pattern is a form of names, with the words that people are told.
type pattern struct {
	name  string // what the text should be
	words string // how to write one
	expr  *regexp.Regexp
}

func (p pattern) match(s string) bool { return p.expr.MatchString(s) }

// The forms of names (BUS-OPEN-02, BUS-OPEN-03).
var (
	keyForm = pattern{
		name: "key", words: "lower case letters, digits and -, at most 63, a letter or digit first",
		expr: regexp.MustCompile(`\A[a-z0-9][a-z0-9-]{0,62}\z`),
	}
	moduleForm = pattern{
		name: "module name", words: "lower case letters, digits and -, at most 63, a letter first",
		expr: regexp.MustCompile(`\A[a-z][a-z0-9-]{0,62}\z`),
	}
	variableForm = pattern{
		name: "name of a variable", words: "letters, digits and _, no digit first",
		expr: regexp.MustCompile(`\A[A-Za-z_][A-Za-z0-9_]{0,127}\z`),
	}
	varForm = pattern{
		name: "name of a setting", words: "letters, digits, and . _ - between them",
		expr: regexp.MustCompile(`\A[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?\z`),
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
	best, distance := "", 3
	if len(written) <= 4 {
		distance = 2
	}
	for _, k := range known {
		if d := editDistance(strings.ToLower(written), strings.ToLower(k), distance); d < distance {
			best, distance = k, d
		}
	}
	if best != "" {
		return "did you mean " + best + "?"
	}
	if len(known) == 0 || len(known) > 20 {
		return ""
	}
	return "known: " + strings.Join(known, ", ")
}

// editDistance counts the letters to add, drop, change or swap with their
// neighbour, up to limit.
func editDistance(a, b string, limit int) int {
	x, y := []rune(a), []rune(b)
	if len(x)-len(y) >= limit || len(y)-len(x) >= limit {
		return limit
	}
	before, last := make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row := make([]int, len(y)+1)
		row[0] = i
		for j := 1; j <= len(y); j++ {
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+differ(x[i-1], y[j-1]))
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(y)]
}

func differ(a, b rune) int {
	if a == b {
		return 0
	}
	return 1
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
