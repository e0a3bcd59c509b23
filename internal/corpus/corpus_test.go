package corpus

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestFilesAreWellFormed(t *testing.T) {
	t.Parallel()
	for _, file := range []struct {
		name     string
		load     func(testing.TB) []Case
		least    int
		verdicts []string
	}{
		{"strings", Strings, 120, []string{""}},
		{"json", JSON, 120, []string{Accept, "duplicate", "trailing", "utf8", "surrogate", "nul", "control", "deep", "number", "syntax"}},
		{"arguments", Arguments, 30, nil},
		{"paths", Paths, 60, []string{Inside, Outside}},
		{"times", Times, 60, []string{Accept, Refuse}},
	} {
		t.Run(file.name, func(t *testing.T) {
			t.Parallel()
			cases := file.load(t)
			if len(cases) < file.least {
				t.Errorf("%d cases, want at least %d", len(cases), file.least)
			}
			names, texts, used := map[string]bool{}, map[string]string{}, map[string]bool{}
			for _, c := range cases {
				if names[c.Name] {
					t.Errorf("the name %s is there twice", c.Name)
				}
				if other, twice := texts[c.Text]; twice {
					t.Errorf("%s and %s are the same text", c.Name, other)
				}
				if file.verdicts != nil && !slices.Contains(file.verdicts, c.Verdict) {
					t.Errorf("%s: unknown verdict %q", c.Name, c.Verdict)
				}
				names[c.Name], texts[c.Text], used[c.Verdict] = true, c.Name, true
			}
			for _, v := range file.verdicts {
				if !used[v] {
					t.Errorf("no case has the verdict %q", v)
				}
			}
		})
	}
}

func TestPathVerdicts(t *testing.T) {
	t.Parallel()
	for _, c := range Paths(t) {
		inside := filepath.IsLocal(c.Text) && !strings.Contains(c.Text, "\x00")
		if inside != (c.Verdict == Inside) {
			t.Errorf("%s: %.40q is inside: %v", c.Name, c.Text, inside)
		}
	}
}

func TestTimeVerdicts(t *testing.T) {
	t.Parallel()
	const form = "2006-01-02T15:04:05.000Z"
	for _, c := range Times(t) {
		at, err := time.Parse(form, c.Text)
		if accept := err == nil && at.Format(form) == c.Text; accept != (c.Verdict == Accept) {
			t.Errorf("%s: %q is a timestamp: %v", c.Name, c.Text, accept)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := parse("# comment\n\ndeep two \"[\"*2 `]`*2 \"\\x00\"\n", true)
	if want := []Case{{"deep", "two", "[[]]\x00"}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range []string{"x", "accept x", "accept x y", `accept x "a`, `accept x "a"*0`, `accept x "a"*x`, `accept x "a" b`} {
		if got, err := parse(bad, true); err == nil {
			t.Errorf("%q: %q", bad, got)
		}
	}
}
