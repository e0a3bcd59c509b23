package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
)

func checkTests(ctx context.Context, r *runner) {
	r.goTest(ctx, "tests", "-timeout", r.timeout(), "./...")
}

func checkRace(ctx context.Context, r *runner) {
	if why := r.noRaceDetector(ctx); why != "" {
		r.skip("race", why)
		return
	}
	r.goTest(ctx, "race", "-race", "-timeout", r.timeout(), "./...")
}

func (r *runner) timeout() string {
	if r.long {
		return "60m"
	}
	return "15m"
}

// noRaceDetector says why this machine cannot run it, or "".
func (r *runner) noRaceDetector(ctx context.Context) string {
	out, err := r.command(ctx, "go", "env", "CC").Output()
	if err != nil {
		return "go env failed"
	}
	compiler, _, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if _, err := exec.LookPath(compiler); err != nil {
		return "the race detector needs a C compiler, and there is no " + compiler
	}
	return ""
}

// goTest runs go test and counts what its tests did.
func (r *runner) goTest(ctx context.Context, step string, args ...string) {
	cmd := r.command(ctx, "go", append([]string{"test", "-json"}, args...)...)
	if step == "race" {
		cmd.Env = append(cmd.Env, "CGO_ENABLED=1")
	}
	trap, err := os.MkdirTemp("", "mosaic-check-")
	if err != nil {
		r.fail(step, err.Error()+"\n")
		return
	}
	defer os.RemoveAll(trap)
	cmd.Env = append(cmd.Env, "XDG_DATA_HOME="+trap)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		r.fail(step, err.Error()+"\n")
		return
	}
	if err := cmd.Start(); err != nil {
		r.fail(step, err.Error()+"\n")
		return
	}
	suite := newSuite(r)
	suite.read(stdout)
	err = cmd.Wait()
	r.untouched(step, trap)
	switch {
	case err != nil && len(suite.failures) == 0:
		r.fail(step, complaints.String()+err.Error()+"\n")
	case err != nil:
		r.print(complaints.String())
	case suite.tests == 0:
		r.fail(step, "no test ran\n")
	}
}

// untouched fails when a test left something in the data directory of the user
// that it runs as: tests work in directories of their own.
func (r *runner) untouched(step, dir string) {
	entries, err := os.ReadDir(dir)
	switch {
	case err != nil:
		r.fail(step+" leave the user's data directory alone", err.Error()+"\n")
	case len(entries) > 0:
		r.fail(step+" leave the user's data directory alone", fmt.Sprintf("a test made %s there\n", entries[0].Name()))
	default:
		r.pass(step + " leave the user's data directory alone")
	}
}

// event is a line of go test -json (cmd/test2json).
type event struct {
	Action     string
	Package    string
	ImportPath string // of a build, which has no Package
	Test       string
	Output     string
	Elapsed    float64
}

// suite follows the packages of one go test.
type suite struct {
	r        *runner
	running  map[string]map[string]bool // package -> tests that have not ended
	lines    map[string]map[string][]string
	failures map[string]int // package -> tests that failed
	builds   strings.Builder
	tests    int
}

func newSuite(r *runner) *suite {
	return &suite{r: r, running: map[string]map[string]bool{}, lines: map[string]map[string][]string{}, failures: map[string]int{}}
}

func (s *suite) read(stdout io.Reader) {
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadString('\n')
		var e event
		if line != "" && json.Unmarshal([]byte(line), &e) == nil {
			s.take(e)
		}
		if err != nil {
			return
		}
	}
}

func (s *suite) take(e event) {
	switch e.Action {
	case "build-output":
		s.builds.WriteString(e.Output)
	case "output":
		if s.lines[e.Package] == nil {
			s.lines[e.Package] = map[string][]string{}
		}
		s.lines[e.Package][e.Test] = append(s.lines[e.Package][e.Test], e.Output)
	case "run":
		if s.running[e.Package] == nil {
			s.running[e.Package] = map[string]bool{}
		}
		s.running[e.Package][e.Test] = true
	case "pass", "fail", "skip":
		if e.Test == "" {
			s.endPackage(e)
		} else {
			s.endTest(e)
		}
	}
}

func (s *suite) endTest(e event) {
	s.tests++
	delete(s.running[e.Package], e.Test)
	name := short(e.Package) + " " + e.Test
	output := s.lines[e.Package][e.Test]
	delete(s.lines[e.Package], e.Test)
	switch {
	case e.Action == "fail":
		s.failures[e.Package]++
		s.r.fail(name, strings.Join(output, ""))
	case e.Action == "skip":
		s.r.skip(name, reason(output))
	case strings.Contains(e.Test, "/"): // counted, not worth a line
		s.r.tally.add(name, passed)
	default:
		fmt.Fprintf(s.r.out, "pass %s (%.2fs)\n", name, e.Elapsed)
		s.r.tally.add(name, passed)
	}
}

// endPackage tells of a failure that no test of the package accounts for: it
// did not build, a test never ended, or the process died.
func (s *suite) endPackage(e event) {
	defer delete(s.lines, e.Package)
	if e.Action != "fail" {
		return
	}
	unfinished := slices.Sorted(maps.Keys(s.running[e.Package]))
	if s.failures[e.Package] > 0 && len(unfinished) == 0 {
		return
	}
	s.failures[e.Package]++
	output := s.builds.String() + strings.Join(s.lines[e.Package][""], "")
	s.builds.Reset()
	for _, test := range unfinished {
		output += "did not end: " + test + "\n" + strings.Join(s.lines[e.Package][test], "")
	}
	s.r.fail(short(e.Package), output)
}

// reason is what a test said when it skipped itself.
func reason(output []string) string {
	for _, line := range slices.Backward(output) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "---") && !strings.HasPrefix(line, "===") {
			if _, why, ok := strings.Cut(line, ".go:"); ok {
				if _, why, ok := strings.Cut(why, ": "); ok {
					return why
				}
			}
			return line
		}
	}
	return "no reason given"
}

// short is a package's path in the module.
func short(pkg string) string {
	if _, rest, ok := strings.Cut(pkg, "/mosaic/"); ok {
		return rest
	}
	return pkg
}
