package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// module lays out a module that the steps run on.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module example.test/mosaic\n\ngo 1.26\n"
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// check runs steps in dir and returns the exit code and what was printed.
func check(t *testing.T, dir string, args ...string) (int, string) {
	t.Helper()
	var out strings.Builder
	exit := run(t.Context(), args, dir, &out, &out)
	return exit, out.String()
}

func lastLine(out string) string {
	lines := strings.Split(strings.TrimRight(out, "\n"), "\n")
	return lines[len(lines)-1]
}

const (
	passing = `package good

import "testing"

func TestPlain(t *testing.T) {}

func TestParent(t *testing.T) {
	t.Run("child", func(t *testing.T) {})
}

func TestLater(t *testing.T) { t.Skip("needs a moon") }
`
	failing = `package bad

import "testing"

func TestWrong(t *testing.T) { t.Error("one is not two") }
func TestRight(t *testing.T) {}
`
	broken = `package broken

import "testing"

func TestBroken(t *testing.T) { undefined() }
`
	dying = `package dying

import (
	"os"
	"testing"
)

func TestExits(t *testing.T) { os.Exit(3) }
`
	complaining = `package complaining

import (
	"os"
	"testing"
)

func TestFine(t *testing.T) {}

func TestMain(m *testing.M) {
	m.Run()
	println("something leaked")
	os.Exit(1)
}
`
)

// proves: BUS-TESTS-01
func TestPassingSuite(t *testing.T) {
	t.Parallel()
	exit, out := check(t, module(t, map[string]string{"good/good_test.go": passing}), "-only", "tests")
	if exit != 0 {
		t.Errorf("exit %d", exit)
	}
	for _, want := range []string{"pass good TestPlain (", "pass good TestParent (", "skip good TestLater: needs a moon"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if got := lastLine(out); got != "4 passed, 0 failed, 1 skipped" {
		t.Errorf("closing line %q", got)
	}
}

func TestFailuresOfEveryKindAreTold(t *testing.T) {
	t.Parallel()
	exit, out := check(t, module(t, map[string]string{
		"good/good_test.go":               passing,
		"bad/bad_test.go":                 failing,
		"broken/broken_test.go":           broken,
		"dying/dying_test.go":             dying,
		"complaining/complaining_test.go": complaining,
	}), "-only", "tests")
	if exit != 1 {
		t.Errorf("exit %d", exit)
	}
	for _, want := range []string{
		"FAIL bad TestWrong\n", "one is not two",
		"FAIL broken\n", "undefined: undefined",
		"FAIL dying", "TestExits",
		"FAIL complaining\n", "something leaked",
		"FAILED bad TestWrong\n", "pass bad TestRight (",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if got := lastLine(out); got != "6 passed, 4 failed, 1 skipped" {
		t.Errorf("closing line %q", got)
	}
	if t.Failed() {
		t.Log(out)
	}
}

// proves: BUS-TESTS-02 BUS-TESTS-14
func TestTouchingTheUsersDataIsAFailure(t *testing.T) {
	t.Parallel()
	exit, out := check(t, module(t, map[string]string{"a/a_test.go": `package a

import (
	"os"
	"testing"
)

func TestWrites(t *testing.T) {
	if err := os.Mkdir(os.Getenv("XDG_DATA_HOME")+"/mosaic", 0o700); err != nil {
		t.Fatal(err)
	}
}
`}), "-only", "tests")
	if exit != 1 || !strings.Contains(out, "a test made mosaic there") {
		t.Errorf("exit %d:\n%s", exit, out)
	}
}

func TestNoTestIsAFailure(t *testing.T) {
	t.Parallel()
	exit, out := check(t, module(t, map[string]string{"empty/empty.go": "package empty\n"}), "-only", "tests")
	if exit != 1 || !strings.Contains(out, "no test ran") {
		t.Errorf("exit %d:\n%s", exit, out)
	}
}

func TestFormat(t *testing.T) {
	t.Parallel()
	exit, out := check(t, module(t, map[string]string{"a/a.go": "package a\nvar   x int\n"}), "-only", "format")
	if exit != 1 || !strings.Contains(out, "a/a.go") || lastLine(out) != "0 passed, 1 failed, 0 skipped" {
		t.Errorf("exit %d:\n%s", exit, out)
	}
}

func TestReproducibleBuild(t *testing.T) {
	t.Parallel()
	dir := module(t, map[string]string{"cmd/mosaic/main.go": "package main\n\nfunc main() {}\n"})
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("%s%v", out, err)
	}
	if exit, out := check(t, dir, "-only", "build"); exit != 0 {
		t.Errorf("exit %d:\n%s", exit, out)
	}
}

func TestFuzzTargetsGetATurn(t *testing.T) {
	t.Parallel()
	dir := module(t, map[string]string{"a/a_test.go": `package a

import "testing"

func FuzzLength(f *testing.F) {
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) < 0 {
			t.Fatal("negative")
		}
	})
}
`})
	exit, out := check(t, dir, "-only", "fuzz", "-fuzztime", "50ms")
	if exit != 0 || !strings.Contains(out, "pass fuzz a FuzzLength") {
		t.Errorf("exit %d:\n%s", exit, out)
	}
}

func TestUnreachableDatabaseIsNoFinding(t *testing.T) {
	exitWith := func(code string) error { return exec.Command("sh", "-c", "exit "+code).Run() }
	for _, c := range []struct {
		out  string
		err  error
		want bool
	}{
		{"govulncheck: fetching vulnerabilities: Get …: no such host", exitWith("1"), true},
		{"Vulnerability #1: GO-2026-0001", exitWith("3"), false},
		{"govulncheck: loading packages", exitWith("1"), false},
		{"fetching vulnerabilities", errors.New("not found"), false},
	} {
		if got := databaseUnreachable(c.out, c.err); got != c.want {
			t.Errorf("%q, %v: %v", c.out, c.err, got)
		}
	}
}

func TestTally(t *testing.T) {
	var r tally
	r.add("sat out the race detector", passed)
	r.add("sat out the race detector", skipped)
	r.add("races", passed)
	r.add("races", failed)
	r.add("never", skipped)
	var out strings.Builder
	if exit := r.close(&out); exit != 1 || lastLine(out.String()) != "1 passed, 1 failed, 1 skipped" {
		t.Errorf("exit %d:\n%s", exit, out.String())
	}
	var none tally
	if none.close(&out) == 0 {
		t.Error("nothing checked counts as passed")
	}
}

func TestInterruptedStepsFail(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out strings.Builder
	if exit := run(ctx, []string{"-only", "format"}, ".", &out, &out); exit != 1 {
		t.Errorf("exit %d:\n%s", exit, out.String())
	}
}

func TestUnknownStep(t *testing.T) {
	exit, out := check(t, ".", "-only", "tset")
	if exit != 4 || !strings.Contains(out, `no step "tset"`) || !strings.Contains(out, "vulnerabilities") {
		t.Errorf("exit %d:\n%s", exit, out)
	}
}

func TestStepsKeepTheirOrder(t *testing.T) {
	chosen, err := choose("demo,format")
	if err != nil || len(chosen) != 2 || chosen[0].name != "format" {
		t.Errorf("%v, %v", chosen, err)
	}
	if all, err := choose(""); err != nil || len(all) != len(steps) {
		t.Errorf("%v, %v", all, err)
	}
}

func TestChildrenSeeNoManagedRun(t *testing.T) {
	t.Setenv("MOSAIC_BUS_CAP", "secret")
	t.Setenv("GIT_DIR", "/nowhere")
	r := &runner{dir: ".", long: true}
	env := r.command(t.Context(), "true").Env
	for _, v := range env {
		if strings.HasPrefix(v, "MOSAIC_BUS_CAP=") || strings.HasPrefix(v, "GIT_DIR=") {
			t.Errorf("%s is passed on", v)
		}
	}
	if !slices.Contains(env, "MOSAIC_TEST_LONG=1") {
		t.Error("the long suite does not tell the tests")
	}
}

func TestStartedByAgent(t *testing.T) {
	if !startedByAgent([]string{"HOME=/home/dana", "CLAUDECODE=1"}) || startedByAgent([]string{"HOME=/home/dana", "NOTE=CLAUDECODE"}) {
		t.Error("the marks of agents are not told apart")
	}
}
