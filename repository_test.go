package mosaic_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// tracked lists the files that belong to the repository; it skips outside a
// clone, as in a source archive.
func tracked(t *testing.T) []string {
	t.Helper()
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	out, err := cmd.Output()
	if err != nil {
		t.Skip("this is not a clone: ", err)
	}
	var list []string
	for name := range bytes.SplitSeq(out, []byte{0}) {
		if _, err := os.Stat(string(name)); len(name) > 0 && err == nil {
			list = append(list, string(name))
		}
	}
	return list
}

var target = regexp.MustCompile(`(?m)^([a-z-]+):`)

func makeTargets(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, m := range target.FindAllStringSubmatch(raw(t, "Makefile"), -1) {
		list = append(list, m[1])
	}
	return list
}

func TestDocumentedMakeTargetsExist(t *testing.T) {
	targets := makeTargets(t)
	for _, name := range documents(t) {
		for _, m := range regexp.MustCompile(`(?m)(?:^|\x60|\$ )make ([a-z-]+)`).FindAllStringSubmatch(raw(t, name), -1) {
			if !slices.Contains(targets, m[1]) {
				t.Errorf("%s: there is no make %s", name, m[1])
			}
		}
	}
	for _, wanted := range []string{"demo", "test", "test-long", "bench", "lint", "fuzz", "build", "clean"} {
		if !slices.Contains(targets, wanted) {
			t.Errorf("there is no make %s", wanted)
		}
	}
	phony := strings.Fields(regexp.MustCompile(`(?m)^\.PHONY:(.*)$`).FindStringSubmatch(raw(t, "Makefile"))[1])
	slices.Sort(phony)
	slices.Sort(targets)
	if !slices.Equal(phony, targets) {
		t.Errorf(".PHONY has %v, the targets are %v", phony, targets)
	}
}

// The checks of the server run the command that the README tells a person to
// run, and fail when it fails.
//
// proves: BUS-TESTS-01
func TestChecksRunTheDocumentedCommand(t *testing.T) {
	if !regexp.MustCompile(`(?m)^make test\b`).MatchString(raw(t, "README.md")) {
		t.Error("the README has no line that begins with make test")
	}
	script := raw(t, ".ci/run")
	if !strings.HasSuffix(script, "\nmake test\n") || !strings.Contains(script, "set -euo pipefail") {
		t.Error(".ci/run does not end with make test, or hides its failure")
	}
	if info, err := os.Stat(".ci/run"); err != nil || info.Mode()&0o100 == 0 {
		t.Errorf(".ci/run cannot be run: %v", err)
	}
	if strings.Contains(raw(t, "Makefile"), "\n\t-") || strings.Contains(raw(t, "Makefile"), "|| true") {
		t.Error("a target of the Makefile ignores a failure")
	}
}

func TestLicense(t *testing.T) {
	says(t, "LICENSE", "MIT License", "The Mosaic authors", "THE SOFTWARE IS PROVIDED \"AS IS\"")
}

// Requirements are numbered without gaps, so that a lost line is noticed, and
// what is waived exists.
func TestRequirementsAreComplete(t *testing.T) {
	last := map[string]int{}
	defined := map[string]bool{}
	files, err := filepath.Glob("docs/requirements/*-requirements.md")
	if err != nil || len(files) != 3 {
		t.Fatalf("requirements of bus, queue and flow: %v, %v", files, err)
	}
	for _, name := range files {
		for _, m := range regexp.MustCompile(`(?m)^- \*\*([A-Z]+-[A-Z0-9]+)-(\d+)\*\* (.*)$`).FindAllStringSubmatch(raw(t, name), -1) {
			n, err := strconv.Atoi(m[2])
			if err != nil || n != last[m[1]]+1 {
				t.Errorf("%s: %s-%s follows number %d", name, m[1], m[2], last[m[1]])
			}
			last[m[1]] = n
			defined[m[1]+"-"+m[2]] = true
		}
	}
	for line := range strings.Lines(raw(t, "docs/requirements/waived.txt")) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") && !defined[line] {
			t.Errorf("%s is waived and does not exist", line)
		}
	}
}

// No file names the machine that it was written on: the folder of the clone,
// the home directory, or the proxy that modules come from.
func TestNoFileNamesThisMachine(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Skip("no home directory: ", err)
	}
	var marks []string
	for _, dir := range []string{here, filepath.Dir(here), home} {
		if dir != "/" {
			marks = append(marks, dir+"/")
		}
	}
	out, err := exec.Command("go", "env", "GOPROXY").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`://([^/,|\s]+)`).FindAllStringSubmatch(string(out), -1) {
		if m[1] != "proxy.golang.org" {
			marks = append(marks, m[1])
		}
	}
	for _, name := range tracked(t) {
		text := raw(t, name)
		for _, mark := range marks {
			if at := strings.Index(text, mark); at >= 0 && !partOfPath(text[:at]) {
				t.Errorf("%s names this machine: %s", name, mark)
			}
		}
	}
}

// partOfPath reports whether what follows is the middle of a longer path.
func partOfPath(before string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	return before != "" && (unicode.IsLetter(last) || unicode.IsDigit(last) || strings.ContainsRune("_-.~}", last))
}

// secrets are the forms of real credentials. Tests use files that they make.
var secrets = regexp.MustCompile(`\b(ghp|gho|ghs|github_pat|glpat|xox[abp]|sk-ant|sk-proj)[-_][A-Za-z0-9_-]{16,}|\bAKIA[0-9A-Z]{16}\b|-----BEGIN [A-Z ]*PRIVATE KEY-----`)

// proves: BUS-TESTS-03
func TestNoRealCredential(t *testing.T) {
	for _, name := range tracked(t) {
		if found := secrets.FindString(raw(t, name)); found != "" {
			t.Errorf("%s holds what looks like a credential: %.12s…", name, found)
		}
	}
}
