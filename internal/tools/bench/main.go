// Command bench runs the benchmarks in one go and prints the speed targets of
// the design as ratios within that run.
//
// It owns the table of targets. It promises that both sides of a ratio were
// measured by the same program within the same minutes, and it never promises
// a time: machines differ, and the same machine differs from hour to hour. A
// missed target is printed as missed and does not fail the command; a
// benchmark that did not run does.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

const usage = `usage: bench [-benchtime D] [-from FILE]

Example: go run ./internal/tools/bench -from saved.txt

-from reads the output of an earlier go test -bench instead of running one.
`

// measured are the packages with benchmarks.
var measured = []string{"./internal/evidence", "./internal/wire", "./internal/broker"}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprint(stderr, usage) }
	benchtime := flags.String("benchtime", "2s", "as go test takes it")
	from := flags.String("from", "", "file with the output of go test -bench")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 {
		return 4
	}
	output, err := results(ctx, *from, *benchtime, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 1
	}
	if missing := printTable(stdout, targets, parse(output)); missing > 0 {
		fmt.Fprintf(stderr, "bench: %d of the benchmarks did not run\n", missing)
		return 1
	}
	return 0
}

// results are the lines of go test -bench. While it runs they go to progress.
func results(ctx context.Context, from, benchtime string, progress io.Writer) (string, error) {
	if from != "" {
		text, err := os.ReadFile(from)
		return string(text), err
	}
	args := append([]string{"test", "-run", "^$", "-bench", ".", "-benchtime", benchtime, "-timeout", "60m"}, measured...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stderr = progress
	var kept tee
	kept.also = progress
	cmd.Stdout = &kept
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go test -bench: %w", err)
	}
	return kept.text.String(), nil
}
