package org

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"mosaicstack.dev/mosaic/internal/corpus"
	"mosaicstack.dev/mosaic/internal/wire"
)

// commented is a file as a person keeps it.
const commented = `# Our team.
version: 1   # the format

human: {id: dana, name: "Dana"}   # that's me
plugins:
  harness: [exec,  codex]   # claude later

businesses:
  # The only one.
  acme:
    human: dana
    arbiters: {technical: cto}

    vars:
      bus.tester: false  # never in earnest
      color: 'blue'      # O'Brien's wish
    roles:
      chief: {definition: chief-of-staff}  # runs the day
      cto:
        definition: cto
        # He knows why.
        without:
          - review.verdict   # not yet
          - policy.change
      dev: { definition: developer , vars: {lang: go, "odd key": "}"} }

      # The last one.
      rev: {definition: reviewer,
            without: [routine],   # across lines
            command: [sh, -c, "echo }, # no comment"]}
    launch:
      by: chief
      instances:
      - cto    # first
      # then the others
      - dev
      limits: {sessions: 4}
# The end.
`

func path(dotted string) []string { return strings.Split(dotted, "/") }

// proves: BUS-OPEN-92
func TestEditKeepsCommentsAndOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		changes  []Change
		old, new string // the only part of the text that differs
	}{
		{"a number in a flow map", []Change{{Path: path("businesses/acme/launch/limits/sessions"), Value: 8}}, "{sessions: 4}", "{sessions: 8}"},
		{"a scalar with a comment", []Change{{Path: path("businesses/acme/vars/bus.tester"), Value: true}}, "bus.tester: false  # never", "bus.tester: true  # never"},
		{"a quoted scalar", []Change{{Path: path("businesses/acme/vars/color"), Value: "deep red"}}, "'blue'      # O'Brien's", "deep red      # O'Brien's"},
		{"a key after the last of a block", []Change{{Path: path("businesses/acme/vars/size"), Value: 3}}, "# O'Brien's wish\n", "# O'Brien's wish\n      size: 3\n"},
		{"a key of a flow map", []Change{{Path: path("businesses/acme/roles/dev/vars/os"), Value: "linux"}}, `"odd key": "}"}`, `"odd key": "}", os: linux}`},
		{"a key of a flow map over lines", []Change{{Path: path("businesses/acme/roles/rev/harness"), Value: "exec"}}, `# no comment"]}`, `# no comment"], harness: exec}`},
		{"a new role at the end of the block", []Change{{Path: path("businesses/acme/roles/qa"), Value: map[string]any{"definition": "tester"}}}, "no comment\"]}\n", "no comment\"]}\n      qa: {definition: tester}\n"},
		{"an item more", []Change{{Path: path("businesses/acme/launch/instances"), Value: []string{"cto", "dev", "rev"}}}, "      - dev\n", "      - dev\n      - rev\n"},
		{"an item less", []Change{{Path: path("businesses/acme/launch/instances"), Value: []string{"dev"}}}, "      - cto    # first\n", ""},
		{"other items", []Change{{Path: path("businesses/acme/launch/instances"), Value: []string{"rev", "cto"}}}, "\n      - cto    # first\n      # then the others\n      - dev\n", " [rev, cto]\n"},
		{"no item", []Change{{Path: path("businesses/acme/launch/instances"), Value: []string{}}}, "\n      - cto    # first\n      # then the others\n      - dev\n", " []\n"},
		{"a flow list", []Change{{Path: path("plugins/harness"), Value: []string{"exec", "pi"}}}, "[exec,  codex]   # claude", "[exec, pi]   # claude"},
		{"a map key by key", []Change{{Path: path("businesses/acme/vars"), Value: map[string]any{"color": "blue", "size": "big"}}}, "      bus.tester: false  # never in earnest\n      color: 'blue'      # O'Brien's wish\n", "      color: 'blue'      # O'Brien's wish\n      size: big\n"},
		{"an emptied map", []Change{{Path: path("businesses/acme/vars"), Value: map[string]any{}}}, "\n      bus.tester: false  # never in earnest\n      color: 'blue'      # O'Brien's wish\n", " {}\n"},
		{"a key that goes", []Change{{Path: path("businesses/acme/vars/bus.tester"), Remove: true}}, "      bus.tester: false  # never in earnest\n", ""},
		{"a first key of a flow map that goes", []Change{{Path: path("businesses/acme/roles/dev/vars/lang"), Remove: true}}, `{lang: go, "odd`, `{"odd`},
		{"a last key of a flow map that goes", []Change{{Path: path("businesses/acme/roles/dev/vars/odd key"), Remove: true}}, `go, "odd key": "}"}`, `go}`},
		{"a block that goes", []Change{{Path: path("businesses/acme/roles/cto/without"), Remove: true}}, "        without:\n          - review.verdict   # not yet\n          - policy.change\n", ""},
		{"a role that goes", []Change{{Path: path("businesses/acme/roles/rev"), Remove: true}}, "      rev: {definition: reviewer,\n            without: [routine],   # across lines\n            command: [sh, -c, \"echo }, # no comment\"]}\n", ""},
		{"a path that is not there", []Change{{Path: path("businesses/acme/projects/web"), Value: map[string]any{"repo": "/src"}}}, "limits: {sessions: 4}\n", "limits: {sessions: 4}\n    projects: {web: {repo: /src}}\n"},
		{"a missing key that goes", []Change{{Path: path("businesses/acme/projects/web"), Remove: true}}, "", ""},
		{"the value that is there", []Change{{Path: path("businesses/acme/vars/color"), Value: "blue"}}, "", ""},
		{"text that looks like something else", []Change{{Path: path("businesses/acme/vars/color"), Value: "no"}}, "'blue'", `"no"`},
		{"hostile text", []Change{{Path: path("businesses/acme/vars/color"), Value: "a: #b\n\u202e\"\\"}}, "'blue'", `"a: #b\u000a\u202e\"\\"`},
		{"two changes", []Change{
			{Path: path("businesses/acme/launch/limits/sessions"), Value: 2},
			{Path: path("businesses/acme/launch/account"), Value: "team"},
		}, "limits: {sessions: 4}\n", "limits: {sessions: 2}\n      account: team\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := edited([]byte(commented), c.changes)
			if err != nil {
				t.Fatal(err)
			}
			if c.old != "" && strings.Count(commented, c.old) != 1 {
				t.Fatalf("%q does not stand once in the text", c.old)
			}
			want := strings.Replace(commented, c.old, c.new, 1)
			if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(string(got), "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEditOfAFileWithoutLastLineEnd(t *testing.T) {
	t.Parallel()
	text := "version: 1\nhuman: {id: dana}\nbusinesses:\n  a:\n    human: dana\n    roles: {}"
	got, err := edited([]byte(text), []Change{{Path: path("businesses/a/vars/x"), Value: 1}})
	if want := text + "\n    vars: {x: 1}\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestEditOfBlockText(t *testing.T) {
	t.Parallel()
	text := "a:\n  x: |\n    one\n    # not a comment\n\n    two\n  # a comment\n  y: 1\n"
	got, err := edited([]byte(text), []Change{{Path: []string{"a", "x"}, Value: "short"}})
	if want := "a:\n  x: short\n  # a comment\n  y: 1\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v", got, err)
	}
}

// proves: BUS-OPEN-94 BUS-OPEN-95
func TestEditRefusesWhatIsThePersonsOwn(t *testing.T) {
	t.Parallel()
	for _, p := range []string{"version", "human", "human/name", "businesses", "businesses/acme", "businesses/acme/human", "businesses/acme/arbiters",
		"businesses/acme/arbiters/technical", "businesses/acme/roles", "businesses/acme/vars", "businesses/acme/vars/bus.tester",
		"businesses/acme/launch", "businesses/acme/launch/by", "businesses/acme/launch/sandbox", "businesses/acme/roles/dev/without",
		"businesses/acme/roles/dev/command", "businesses/acme/roles/dev/harness", "businesses/acme/roles/dev/env",
		"businesses/acme/roles/dev/credentials", "businesses/acme/roles/dev/credentials/gitea", "plugins", "plugins/harness", "", "x"} {
		if (Change{Path: path(p), Value: "x"}).allowed() {
			t.Errorf("%s may be changed", p)
		}
	}
	role := func(keys ...string) Change {
		value := map[string]any{}
		for _, key := range keys {
			value[key] = "pm"
		}
		return Change{Path: path("businesses/acme/roles/x"), Value: value}
	}
	for _, key := range []string{"credentials", "command", "harness", "env", "without"} {
		if role("definition", key).allowed() {
			t.Errorf("a role may be added with %s", key)
		}
	}
	if !role("definition", "vars").allowed() {
		t.Error("a role may not be added")
	}
	if (Change{Path: path("businesses/acme/roles/x"), Remove: true}).allowed() || (Change{Path: path("businesses/acme/roles/x"), Value: "pm"}).allowed() {
		t.Error("a role may be removed or overwritten")
	}
	for _, p := range []string{"businesses/a/launch/instances", "businesses/a/launch/limits", "businesses/a/launch/limits/sessions", "businesses/a/roles/x/definition", "businesses/a/roles/x/vars", "businesses/a/roles/x/vars/k"} {
		if !(Change{Path: path(p), Value: "x"}).allowed() {
			t.Errorf("%s may not be changed", p)
		}
	}
}

// Every text that a change can hold reads back as the same text.
func TestEditOfTheCorpus(t *testing.T) {
	t.Parallel()
	for _, c := range append(corpus.Strings(t), corpus.Paths(t)...) {
		text, err := edited([]byte(commented), []Change{{Path: path("businesses/acme/vars/color"), Value: c.Text}, {Path: path("businesses/acme/roles/dev/vars/k"), Value: []string{c.Text}}})
		if errors.Is(err, wire.Refuse(wire.OrganizationWriteFailed)) && strings.ToValidUTF8(c.Text, "") != c.Text {
			continue // what is not UTF-8 cannot be written, and is not
		}
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		if checkText(text) != nil {
			t.Errorf("%s: wrote text that is not plain", c.Name)
		}
	}
}

// Whatever is changed to whatever, the text says exactly that afterwards and
// every comment outside of the changed values is still there.
func TestEditProperties(t *testing.T) {
	t.Parallel()
	root, fault := parse(File, []byte(commented))
	if fault != nil {
		t.Fatal(fault)
	}
	comments := []string{"# Our team.", "# the format", "# that's me", "# The only one.", "# runs the day", "# The last one.", "# The end."}
	scalar := rapid.OneOf(rapid.Map(rapid.StringMatching(`[ -~]{0,12}`), toAny), rapid.Map(rapid.Int(), bounded), rapid.Map(rapid.Bool(), boolToAny))
	value := rapid.OneOf(scalar,
		rapid.Map(rapid.SliceOfN(rapid.StringMatching(`[a-z#:, ]{1,6}`), 0, 4), listToAny),
		rapid.Map(rapid.MapOfN(rapid.StringMatching(`[a-z]{1,4}`), scalar, 0, 3), mapToAny))
	paths := []string{"businesses/acme/vars/color", "businesses/acme/vars/new", "businesses/acme/vars", "businesses/acme/launch/limits",
		"businesses/acme/launch/instances", "businesses/acme/roles/dev/vars/lang", "businesses/acme/roles/dev/vars", "businesses/acme/roles/new",
		"businesses/acme/roles/cto/without", "businesses/acme/roles/rev/command", "businesses/acme/launch/account", "plugins/harness"}
	rapid.Check(t, func(t *rapid.T) {
		var changes []Change
		for range rapid.IntRange(1, 3).Draw(t, "n") {
			changes = append(changes, Change{
				Path: path(rapid.SampledFrom(paths).Draw(t, "path")), Value: value.Draw(t, "value"), Remove: rapid.Bool().Draw(t, "remove"),
			})
		}
		text, err := edited([]byte(commented), changes)
		if err != nil {
			if errors.Is(err, wire.Refuse(wire.OrganizationInvalid)) {
				return // keys below a value that is no map any more
			}
			t.Fatalf("%+v: %v", changes, err)
		}
		for _, comment := range comments {
			if !strings.Contains(string(text), comment) {
				t.Fatalf("%+v: lost %s in\n%s", changes, comment, text)
			}
		}
		again, err := edited(text, changes)
		if err != nil || string(again) != string(text) {
			if slices.ContainsFunc(changes, func(c Change) bool { return c.Remove }) || len(changes) > 1 {
				return
			}
			t.Fatalf("%+v: not the same the second time: %v", changes, err)
		}
	})
	if now, _ := parse(File, []byte(commented)); !reflect.DeepEqual(now.plain(), root.plain()) {
		t.Error("the text itself was changed")
	}
}

func toAny(s string) any            { return s }
func boolToAny(b bool) any          { return b }
func bounded(i int) any             { return i % (1 << 53) }
func listToAny(l []string) any      { return slices.Compact(slices.Sorted(slices.Values(l))) }
func mapToAny(m map[string]any) any { return maps.Clone(m) }
