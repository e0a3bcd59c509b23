package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

type outcome int

const (
	skipped outcome = iota
	passed
	failed
)

// tally holds the outcome of every step and test by name. A test that two
// steps run counts once, as the worse of what it did, and as skipped only
// when no step ran it: bulk tests sit out the race detector.
type tally struct {
	outcomes map[string]outcome
}

func (t *tally) add(name string, o outcome) {
	if t.outcomes == nil {
		t.outcomes = map[string]outcome{}
	}
	t.outcomes[name] = max(t.outcomes[name], o)
}

// close prints what failed and the counts, and returns the exit code.
func (t *tally) close(w io.Writer) int {
	var counts [3]int
	fmt.Fprintln(w)
	for _, name := range slices.Sorted(maps.Keys(t.outcomes)) {
		o := t.outcomes[name]
		counts[o]++
		if o == failed {
			fmt.Fprintln(w, "FAILED", name)
		}
	}
	fmt.Fprintf(w, "%d passed, %d failed, %d skipped\n", counts[passed], counts[failed], counts[skipped])
	if counts[failed] > 0 || counts[passed] == 0 {
		return 1
	}
	return 0
}

func (r *runner) pass(name string) {
	fmt.Fprintln(r.out, "pass", name)
	r.tally.add(name, passed)
}

// fail prints the output of what failed below its name.
func (r *runner) fail(name, output string) {
	fmt.Fprintln(r.out, "FAIL", name)
	r.print(output)
	r.tally.add(name, failed)
}

func (r *runner) skip(name, why string) {
	fmt.Fprintf(r.out, "skip %s: %s\n", name, why)
	r.tally.add(name, skipped)
}

// print indents text, so that no line of it looks like one of ours.
func (r *runner) print(text string) {
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		fmt.Fprintf(r.out, "     %s\n", strings.TrimRight(line, "\n"))
	}
}
