package display

import (
	"slices"
	"strings"
	"testing"
	"time"

	"mosaicstack.dev/mosaic/internal/corpus"
)

func TestFold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", []string{""}},
		{"   ", []string{""}},
		{"twelve chars twelve chars", []string{"twelve chars twelve", "chars"}},
		{"  indented", []string{"  indented"}},
		{"a  b", []string{"a  b"}},
		{"exactly twenty chars   and", []string{"exactly twenty chars", "and"}},
		{strings.Repeat("x", 45), []string{strings.Repeat("x", 20), strings.Repeat("x", 20), "xxxxx"}},
		{"ab " + strings.Repeat("x", 25), []string{"ab", strings.Repeat("x", 20), "xxxxx"}},
		{strings.Repeat("x", 16) + "\u202eend", []string{strings.Repeat("x", 16), `\u202eend`}},
		{strings.Repeat("x", 20) + "\u0301y", []string{strings.Repeat("x", 20) + "\u0301", "y"}},
		{strings.Repeat(" ", 30) + "far", []string{"far"}},
	} {
		if got := Fold(c.text, 20); !slices.Equal(got, c.want) {
			t.Errorf("Fold(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}

func TestFoldKeepsTheTextAndTheWidth(t *testing.T) {
	t.Parallel()
	squeeze := func(s string) string { return strings.ReplaceAll(s, " ", "") }
	for _, c := range corpus.Strings(t) {
		lines := Fold(c.Text, 20)
		if squeeze(strings.Join(lines, "")) != squeeze(Line(c.Text)) {
			t.Errorf("%s: %q became %q", c.Name, c.Text, lines)
		}
		for _, line := range lines {
			if Width(line) > 20 || Line(line) != line {
				t.Errorf("%s: a line is %q", c.Name, line)
			}
		}
		first, more := FoldFirst(c.Text, 20, 2)
		if want := lines[:min(2, len(lines))]; !slices.Equal(first, want) || more != (len(lines) > 2) {
			t.Errorf("%s: the first are %q (more: %t) of %q", c.Name, first, more, lines)
		}
	}
}

// Twice the text takes about twice the time, words without an end included.
func TestFoldIsLinear(t *testing.T) {
	t.Parallel()
	cost := func(n int) time.Duration {
		text, best := strings.Repeat("x", n), time.Duration(1<<62)
		for range 5 {
			start := time.Now()
			Fold(text, 80)
			best = min(best, time.Since(start))
		}
		return best
	}
	if small, large := cost(1<<17), cost(1<<20); large > 8*4*small {
		t.Errorf("eight times the text took %v instead of %v", large, small)
	}
}
