package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// project lays out a small repository.
func project(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
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

// proves writes a mark, so that this file holds none itself.
func proves(comment, ids string) string { return comment + " proves" + ": " + ids + "\n" }

const someRequirements = `
- **BUS-MSG-01** A message arrives.
- **BUS-MSG-02** It arrives once.
- **BUS-OPEN-01** A proposal.
- **BUS-CLAIM-01** One holder.
`

func TestCoverage(t *testing.T) {
	for _, c := range []struct {
		name   string
		files  map[string]string
		args   []string
		exit   int
		out    []string // each must be printed, on either stream
		absent string
	}{
		{
			name: "named, waived and proposed",
			files: map[string]string{
				"docs/requirements/bus-requirements.md": someRequirements,
				"docs/requirements/waived.txt":          "# why\nBUS-CLAIM-01\n",
				"a/a_test.go":                           "package a\n\n" + proves("//", "BUS-MSG-01 BUS-OPEN-01"),
			},
			args:   []string{"-list"},
			out:    []string{"BUS-MSG               1 / 2     50 %", "BUS-MSG-02 It arrives once.", "1 of 2 (50.0 %)"},
			absent: "CLAIM",
		},
		{
			name: "scripts count in testdata only",
			files: map[string]string{
				"docs/requirements/bus-requirements.md": someRequirements,
				"a/testdata/send.txtar":                 proves("#", "BUS-MSG-01 BUS-MSG-02"),
				"notes.txt":                             proves("#", "BUS-CLAIM-01"),
				"a/code.go":                             "package a\n\n" + proves("//", "BUS-CLAIM-01"),
			},
			args: []string{"-min", "70"},
			exit: 1,
			out:  []string{"2 of 3 (66.7 %)"},
		},
		{
			name: "an area alone",
			files: map[string]string{
				"docs/requirements/bus-requirements.md": someRequirements,
				"a/a_test.go":                           proves("//", "BUS-CLAIM-01"),
			},
			args:   []string{"-area", "BUS-CLAIM", "-min", "100"},
			out:    []string{"1 of 1 (100.0 %)"},
			absent: "BUS-MSG",
		},
		{
			name: "a mistyped id",
			files: map[string]string{
				"docs/requirements/bus-requirements.md": someRequirements,
				"a/a_test.go":                           proves("//", "BUS-MSG-01 BUS-MSG-99"),
			},
			exit: 1,
			out:  []string{"BUS-MSG-99 in a/a_test.go names no requirement"},
		},
		{
			name: "a waived id",
			files: map[string]string{
				"docs/requirements/bus-requirements.md": someRequirements,
				"docs/requirements/waived.txt":          "BUS-MSG-02\n",
				"a/a_test.go":                           proves("//", "BUS-MSG-02"),
			},
			exit: 1,
			out:  []string{"BUS-MSG-02 in a/a_test.go is waived"},
		},
		{
			name:  "a requirement twice",
			files: map[string]string{"docs/requirements/bus-requirements.md": someRequirements + "- **BUS-MSG-01** Again.\n"},
			exit:  2,
			out:   []string{"BUS-MSG-01 is defined twice"},
		},
		{name: "no requirements", files: map[string]string{"a.txt": ""}, exit: 2, out: []string{"no requirements in"}},
		{name: "no such flag", args: []string{"-all"}, exit: 2, out: []string{"usage: coverage"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			args := append([]string{"-project", project(t, c.files)}, c.args...)
			if exit := run(args, &out, &out); exit != c.exit {
				t.Errorf("exit %d, want %d", exit, c.exit)
			}
			for _, want := range c.out {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is missing", want)
				}
			}
			if c.absent != "" && strings.Contains(out.String(), c.absent) {
				t.Errorf("%q is there", c.absent)
			}
			if t.Failed() {
				t.Log(out.String())
			}
		})
	}
}
