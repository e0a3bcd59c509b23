// Command check runs everything that must hold before a change lands: format,
// module files, go vet, staticcheck, a reproducible build, every test without
// and with the race detector, a short turn of every fuzz target, known
// vulnerabilities, the requirement marks, and the demo.
//
// It owns the order of the steps and the count at the end. It promises that
// the exit code is 0 only when nothing failed and at least one test ran, that
// the last line is `N passed, N failed, N skipped`, and that what this machine
// cannot do is named as skipped, never left out in silence. It installs
// nothing: `make setup` does.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

const usage = `usage: check [-only STEP,STEP…] [-long] [-fuzztime D]

Example: go run ./internal/tools/check -only vet,tests

Steps: `

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], ".", os.Stdout, os.Stderr))
}

// step is one thing to check. It prints what a reader of a failure needs.
type step struct {
	name string
	run  func(context.Context, *runner)
}

var steps = []step{
	{"format", checkFormat},
	{"modules", checkModules},
	{"vet", checkVet},
	{"staticcheck", checkStatic},
	{"build", checkReproducible},
	{"tests", checkTests},
	{"race", checkRace},
	{"fuzz", checkFuzz},
	{"vulnerabilities", checkVulnerabilities},
	{"requirements", checkRequirements},
	{"demo", checkDemo},
}

// runner is what the steps share.
type runner struct {
	dir      string // root of the repository
	out      io.Writer
	long     bool
	fuzztime time.Duration
	tally    tally
}

func run(ctx context.Context, args []string, dir string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("check", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprintln(stderr, usage+strings.Join(names(), ", ")) }
	only := flags.String("only", "", "comma-separated steps; all without it")
	long := flags.Bool("long", false, "the long suite: more kills, more rounds, ten times the fuzzing")
	fuzztime := flags.Duration("fuzztime", 3*time.Second, "time for each fuzz target")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 {
		return 4
	}
	chosen, err := choose(*only)
	if err != nil {
		fmt.Fprintln(stderr, "check:", err)
		return 4
	}
	r := &runner{dir: dir, out: stdout, long: *long, fuzztime: *fuzztime}
	if r.long {
		r.fuzztime *= 10
	}
	for _, s := range chosen {
		if ctx.Err() != nil {
			r.fail(s.name, "interrupted\n")
			continue
		}
		fmt.Fprintf(r.out, "\n== %s\n", s.name)
		began := time.Now()
		s.run(ctx, r)
		fmt.Fprintf(r.out, "   %s took %.1fs\n", s.name, time.Since(began).Seconds())
	}
	return r.tally.close(r.out)
}

func names() []string {
	all := make([]string, len(steps))
	for i, s := range steps {
		all[i] = s.name
	}
	return all
}

// choose returns the named steps in their usual order.
func choose(only string) ([]step, error) {
	if only == "" {
		return steps, nil
	}
	wanted := strings.Split(only, ",")
	for _, w := range wanted {
		if !slices.Contains(names(), w) {
			return nil, fmt.Errorf("no step %q; there are: %s", w, strings.Join(names(), ", "))
		}
	}
	var chosen []step
	for _, s := range steps {
		if slices.Contains(wanted, s.name) {
			chosen = append(chosen, s)
		}
	}
	return chosen, nil
}
