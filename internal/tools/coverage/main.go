// Command coverage reports which numbered requirements a test claims to prove,
// and which none does.
//
// It owns the reading of docs/requirements and of the marks in the tests: a
// line `// proves: BUS-MSG-07 BUS-MSG-08` in a _test.go file, or
// `# proves: …` in a script under a testdata folder. It promises to count only
// requirements that exist and are not waived, and refuses a mark that names
// none: a mistyped id would look like a proof. Whether a test really proves
// what it names is for its reader to judge.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const usage = `usage: coverage [-project DIR] [-area PREFIX]... [-list] [-min PERCENT]

Example: go run ./internal/tools/coverage -area BUS-MSG -list

Exit 1 when a mark names no requirement or the share is below -min, 2 when the
requirements cannot be read.
`

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

type prefixes []string

func (p *prefixes) String() string     { return strings.Join(*p, ",") }
func (p *prefixes) Set(s string) error { *p = append(*p, s); return nil }

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("coverage", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprint(stderr, usage) }
	project := flags.String("project", ".", "root of the repository")
	list := flags.Bool("list", false, "also print what nothing proves")
	least := flags.Float64("min", 0, "lowest share in percent")
	var areas prefixes
	flags.Var(&areas, "area", "only areas that begin so")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 {
		return 2
	}

	wanted, err := readRequirements(filepath.Join(*project, "docs", "requirements"))
	if err != nil {
		fmt.Fprintln(stderr, "coverage:", err)
		return 2
	}
	marks, err := readMarks(*project)
	if err != nil {
		fmt.Fprintln(stderr, "coverage:", err)
		return 2
	}
	r := count(wanted.within(areas), marks)
	r.print(stdout, *list)
	unknown := wanted.unknown(marks)
	for _, u := range unknown {
		fmt.Fprintln(stderr, "coverage:", u)
	}
	if len(unknown) > 0 || r.percent() < *least {
		return 1
	}
	return 0
}
