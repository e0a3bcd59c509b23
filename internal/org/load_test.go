package org

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mosaicstack.dev/mosaic/internal/corpus"
	"mosaicstack.dev/mosaic/internal/wire"
)

const example = `version: 1
human: {id: dana, name: Dana}
plugins: {harness: [exec, claude-code, codex, pi]}
businesses:
  acme:
    human: dana
    arbiters: {technical: cto, delivery: pm}
    projects: {web: {repo: ~/src/web, records: ~/src/web-records}}
    vars: {bus.tester: false}
    roles:
      chief: {definition: chief-of-staff}
      cto: {definition: cto}
      pm: {definition: pm}
      dev:   {definition: developer, harness: claude-code, credentials: {gitea: {file: ~/.secrets/dev.gitea, rotateBy: 2027-03-01}}}
      rev: {definition: reviewer, without: [review.verdict], command: [~/agents/rev.sh, --once]}
    launch: {by: chief, instances: [cto, pm, dev, rev], limits: {sessions: 4}, sandbox: bubblewrap}
`

// decode loads an organization file with these definition files.
func decode(text string, roles map[string]string) (*Organization, error) {
	s := sources{organization: []byte(text), roles: map[string][]byte{}}
	for name, file := range roles {
		s.roles[name] = []byte(file)
	}
	return s.decode("/home/dana")
}

// root makes a data root with an organization file.
func root(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, File), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// proves: BUS-OPEN-01 BUS-OPEN-116
func TestLoadOfTheExample(t *testing.T) {
	t.Parallel()
	o, err := decode(example, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := Business{
		ID: "acme", Human: "dana", Arbiters: Arbiters{Technical: "cto", Delivery: "pm"},
		Projects: map[string]Project{"web": {Repo: "/home/dana/src/web", Records: "/home/dana/src/web-records"}},
		Vars:     map[string]any{"bus.tester": false},
		Roles: map[wire.Role]Instance{
			"chief": {Definition: "chief-of-staff"}, "cto": {Definition: "cto"}, "pm": {Definition: "pm"},
			"dev": {Definition: "developer", Harness: "claude-code", Credentials: map[string]Credential{
				"gitea": {File: "/home/dana/.secrets/dev.gitea", RotateBy: "2027-03-01"},
			}},
			"rev": {Definition: "reviewer", Without: []string{"review.verdict"}, Command: []string{"/home/dana/agents/rev.sh", "--once"}},
		},
		Launch: &Launch{By: "chief", Instances: []wire.Role{"cto", "pm", "dev", "rev"}, Limits: Limits{Sessions: 4}, Sandbox: Bubblewrap},
	}
	if diff := cmp.Diff(want, o.Businesses["acme"]); diff != "" {
		t.Error(diff)
	}
	if o.Human != (Human{ID: "dana", Name: "Dana"}) || !o.HarnessOn("codex") || o.HarnessOn("vi") {
		t.Errorf("human %+v, plugins %+v", o.Human, o.Plugins)
	}
	if o.Revision != revision([]byte(example)) || len(o.Revision) != 64 {
		t.Errorf("revision %q", o.Revision)
	}
}

func TestLoadOfTheLeast(t *testing.T) {
	t.Parallel()
	o, err := decode("version: 1\nhuman: {id: dana}\nbusinesses: {a: {human: dana, roles: {}}}\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	if b := o.Businesses["a"]; b.Launch != nil || b.Arbiters != (Arbiters{}) || o.Human.Name != "dana" {
		t.Errorf("got %+v, human %+v", b, o.Human)
	}
}

// change replaces the only occurrence of a text in the example.
func change(t *testing.T, old, new string) string {
	t.Helper()
	if strings.Count(example, old) != 1 {
		t.Fatalf("%q stands %d times in the example", old, strings.Count(example, old))
	}
	return strings.Replace(example, old, new, 1)
}

// Every fault is told with its line, its column and its key, and with what to
// write instead. The messages are written out: people read them.
// proves: BUS-BOOT-41 BUS-OPEN-01 BUS-OPEN-02 BUS-OPEN-03 BUS-OPEN-116 BUS-OPEN-33
func TestLoadTellsEachFault(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, old, new, want string }{
		{"a misspelt key", "arbiters:", "arbitres:", `organization.yaml:7:5: businesses.acme.arbitres: unknown key; did you mean arbiters?`},
		{"a key of another place", "limits: {sessions: 4}", "limits: {runs: 4}", `organization.yaml:16:66: businesses.acme.launch.limits.runs: unknown key; known: sessions`},
		{"another case", "human: dana\n", "Human: dana\n", `organization.yaml:6:5: businesses.acme.Human: unknown key; did you mean human?`},
		{"a key twice", "vars: {bus.tester: false}", "human: dana", `organization.yaml:9:5: the key "human" stands here and in line 6; keep one of them`},
		{"a wrong type", "sessions: 4", "sessions: four", `organization.yaml:16:76: businesses.acme.launch.limits.sessions: text stands here, a whole number belongs here`},
		{"a number for text", "{id: dana, name: Dana}", "{id: 7}", `organization.yaml:2:13: human.id: a whole number stands here, text belongs here; put it in quotes`},
		{"nothing", "human: dana\n", "human:\n", `organization.yaml:6:11: businesses.acme.human: nothing stands here, text belongs here`},
		{"a list for a map", "{technical: cto, delivery: pm}", "[cto, pm]", `organization.yaml:7:15: businesses.acme.arbiters: a list stands here, a map of keys belongs here`},
		{"a missing key", "{definition: reviewer, without", "{without", `organization.yaml:15:12: businesses.acme.roles.rev: the key definition is missing; add definition:`},
		{"another version", "version: 1", "version: 2", `organization.yaml:1:10: version: this program does not know version 2; write version: 1`},
		{"no positive limit", "sessions: 4", "sessions: 0", `organization.yaml:16:76: businesses.acme.launch.limits.sessions: 0 is out of range; write a number from 1 to 1000, or leave it out for no limit`},
		{"an unknown sandbox", "sandbox: bubblewrap", "sandbox: bublewrap", `organization.yaml:16:89: businesses.acme.launch.sandbox: "bublewrap" is no sandbox; did you mean bubblewrap?`},
		{"an unknown definition", "definition: developer", "definition: develper", `organization.yaml:14:27: businesses.acme.roles.dev.definition: "develper" is no role definition; did you mean developer?`},
		{"an unknown role", "by: chief", "by: cheif", `organization.yaml:16:18: businesses.acme.launch.by: "cheif" is no role of this business; did you mean chief?`},
		{"an unknown instance", "instances: [cto, pm, dev, rev]", "instances: [cto, qa]", `organization.yaml:16:42: businesses.acme.launch.instances[1]: "qa" is no role of this business; known: chief, cto, dev, pm, rev`},
		{"the launcher launches itself", "instances: [cto", "instances: [chief", `organization.yaml:16:37: businesses.acme.launch.instances[0]: "chief" is launch.by; remove it: a person launches the launcher`},
		{"an instance twice", "instances: [cto, pm", "instances: [cto, cto", `organization.yaml:16:42: businesses.acme.launch.instances[1]: "cto" stands here twice; name it once`},
		{"an unknown arbiter", "delivery: pm", "delivery: po", `organization.yaml:7:42: businesses.acme.arbiters.delivery: "po" is no role of this business; did you mean pm?`},
		{"another human", "human: dana\n", "human: eve\n", `organization.yaml:6:12: businesses.acme.human: "eve" is not the human of this file; write dana`},
		{"an address as role", "      rev: {", "      human: {", `organization.yaml:15:7: businesses.acme.roles.human: human is an address of its own and no role instance; choose another key`},
		{"the other address", "      rev: {", "      tester: {", `organization.yaml:15:7: businesses.acme.roles.tester: tester is an address of its own and no role instance; choose another key`},
		{"a bad role key", "      rev: {", "      Rev: {", `organization.yaml:15:7: businesses.acme.roles.Rev: "Rev" is no key; use lower case letters, digits and -, at most 63, a letter or digit first`},
		{"a bad business id", "  acme:", "  a_c:", `organization.yaml:5:3: businesses.a_c: "a_c" is no key; use lower case letters, digits and -, at most 63, a letter or digit first`},
		{"a bad harness name", "codex, pi]", "codex, 2pi]", `organization.yaml:3:47: plugins.harness[3]: "2pi" is no module name; use lower case letters, digits and -, at most 63, a letter first`},
		{"a harness that is off", "harness: claude-code,", "harness: claudecode,", `organization.yaml:14:47: businesses.acme.roles.dev.harness: the harness "claudecode" is not switched on in plugins.harness; did you mean claude-code?`},
		{"a command of another harness", "harness: claude-code,", "harness: claude-code, command: [sh],", `organization.yaml:14:69: businesses.acme.roles.dev.command: only the exec harness has a command, not "claude-code"; write harness: exec, or leave command out`},
		{"a command without program", "command: [~/agents/rev.sh, --once]", "command: []", `organization.yaml:15:71: businesses.acme.roles.rev.command: no program; name the program first, such as [sh, -c, ./work.sh]`},
		{"an action that is added", "without: [review.verdict]", "with: [deploy]", `organization.yaml:15:35: businesses.acme.roles.rev.with: unknown key; known: command, credentials, definition, env, harness, vars, without`},
		{"an unknown action", "without: [review.verdict]", "without: [review.verdit]", `organization.yaml:15:45: businesses.acme.roles.rev.without[0]: "review.verdit" is no action; did you mean review.verdict?`},
		{"a relative path", "repo: ~/src/web,", "repo: src/web,", `organization.yaml:8:28: businesses.acme.projects.web.repo: "src/web" is no absolute path; start it with / or ~/`},
		{"another user's home", "repo: ~/src/web,", "repo: ~eve/web,", `organization.yaml:8:28: businesses.acme.projects.web.repo: "~eve/web" is no absolute path; start it with / or ~/`},
		{"one repository twice", "records: ~/src/web-records", "records: /home/dana/src/../src/web/", `organization.yaml:8:48: businesses.acme.projects.web.records: "/home/dana/src/web" is businesses.acme.projects.web.repo already; give each its own repository`},
		{"file and env", "file: ~/.secrets/dev.gitea,", "file: /x, env: X,", `organization.yaml:14:81: businesses.acme.roles.dev.credentials.gitea: exactly one of file and env belongs here; say where the token is: file: PATH or env: NAME`},
		{"neither file nor env", "file: ~/.secrets/dev.gitea,", "", `organization.yaml:14:81: businesses.acme.roles.dev.credentials.gitea: exactly one of file and env belongs here; say where the token is: file: PATH or env: NAME`},
		{"the other service's date", "rotateBy: 2027-03-01", "expires: 2027-03-01", `organization.yaml:14:110: businesses.acme.roles.dev.credentials.gitea.expires: unknown key; known: env, file, rotateBy`},
		{"no date", "rotateBy: 2027-03-01", "rotateBy: 2027-3-1", `organization.yaml:14:120: businesses.acme.roles.dev.credentials.gitea.rotateBy: "2027-3-1" is no date; write it as 2027-03-01`},
		{"a day that is not", "rotateBy: 2027-03-01", "rotateBy: 2027-02-29", `organization.yaml:14:120: businesses.acme.roles.dev.credentials.gitea.rotateBy: "2027-02-29" is no date; write it as 2027-03-01`},
		{"a credential for nobody", "definition: developer", "definition: assistant", `organization.yaml:14:74: businesses.acme.roles.dev.credentials.gitea: the definition assistant has no credential for gitea; remove it, or list it under credentials in roles/assistant.yaml`},
		{"a setting that is a list", "bus.tester: false", "bus.tester: [x]", `organization.yaml:9:24: businesses.acme.vars."bus.tester": a list stands here; write text, a number, true or false`},
		{"an anchor", "human: dana\n", "human: &h dana\n", `organization.yaml:6:12: an anchor (&); write it out in plain keys, values and lists`},
		{"an alias", "human: dana\n", "human: *h\n", `organization.yaml:6:12: an alias (*); write it out in plain keys, values and lists`},
		{"a tag", "human: dana\n", "human: !!str dana\n", `organization.yaml:6:12: a tag (!); write it out in plain keys, values and lists`},
		{"a merge key", "    human: dana\n", "    <<: {human: dana}\n", `organization.yaml:6:5: a merge key (<<); write it out in plain keys, values and lists`},
		{"a second document", "businesses:\n", "---\nbusinesses:\n", `organization.yaml:4:1: a second document (---); write it out in plain keys, values and lists`},
		{"a directive", "version: 1\n", "%YAML 1.2\n---\nversion: 1\n", `organization.yaml:1:1: a directive (%); write it out in plain keys, values and lists`},
		{"a tab", "    human: dana\n", "\thuman: dana\n", `organization.yaml:6:1: a tab in the indentation; indent with spaces`},
		{"a carriage return", "version: 1\n", "version: 1\r\n", `organization.yaml:1:11: a carriage return; save the file with Unix line ends`},
		{"a byte order mark", "version: 1\n", "\ufeffversion: 1\n", `organization.yaml:1:1: a byte order mark; save the file as UTF-8 without one`},
		{"no UTF-8", "name: Dana", "name: D\xffna", `organization.yaml:2:26: the text is not UTF-8; save the file as UTF-8`},
		{"a NUL", "name: Dana", "name: D\x00na", `organization.yaml:2:26: the control character U+0000; remove it`},
		{"an escape", "name: Dana", "name: D\x1b[31m", `organization.yaml:2:26: the control character U+001B; remove it`},
		{"a NUL in quotes", "name: Dana", `name: "D\0na"`, `organization.yaml:2:25: human.name: the text has a line break or a NUL; keep it on one line`},
		{"text over two lines", "name: Dana", `name: "Da\nna"`, `organization.yaml:2:25: human.name: the text has a line break or a NUL; keep it on one line`},
		{"a hostile key", "arbiters:", "\"ar\\e[31m\\u202ex\":", `organization.yaml:7:5: businesses.acme."ar\x1b[31m\u202ex": unknown key; known: arbiters, human, launch, projects, roles, vars`},
		{"a bracket that stays open", "sessions: 4}", "sessions: 4", ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := decode(change(t, c.old, c.new), nil)
			if !errors.Is(err, wire.Refuse(wire.InvalidConfig)) {
				t.Fatalf("got %v", err)
			}
			if c.want != "" && !slices.Contains(strings.Split(err.Error(), "\n"), c.want) {
				t.Errorf("got  %s\nwant %s", err, c.want)
			}
		})
	}
}

func TestProblemHasItsFacts(t *testing.T) {
	t.Parallel()
	_, err := decode(change(t, "arbiters:", "arbitres:"), nil)
	var first *Problem
	if !errors.As(err, &first) {
		t.Fatalf("got %v", err)
	}
	want := Problem{File: "organization.yaml", Line: 7, Column: 5, Key: "businesses.acme.arbitres", What: "unknown key", Remedy: "did you mean arbiters?"}
	if *first != want {
		t.Errorf("got %+v", *first)
	}
}

// A file with a fault in every line is told a bounded number of times.
func TestLoadBoundsItsReport(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString(example)
	for i := range 500 {
		fmt.Fprintf(&text, "wrong%d: 1\n", i)
	}
	_, err := decode(text.String(), nil)
	var all Problems
	if !errors.As(err, &all) || len(all) != maxProblems {
		t.Errorf("got %d problems", len(all))
	}
}

// Some of these take a YAML parser minutes or expand to gigabytes.
func TestLoadRefusesBombsAtOnce(t *testing.T) {
	t.Parallel()
	bombs := map[string]string{
		"billion laughs": "a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b]\n",
		"brackets":       strings.Repeat("[", 100_000),
		"braces":         strings.Repeat("{a: ", 60_000),
		"dashes":         strings.Repeat("- ", 100_000),
		"dashes in turn": strings.Repeat("-\n", 100_000),
		"keys in keys":   strings.Repeat("a: ", 80_000),
		"quotes":         strings.Repeat(`"a" `, 60_000),
		"single quotes":  strings.Repeat(`'a' `, 60_000),
		"questions":      strings.Repeat("? ", 100_000),
		"tags":           strings.Repeat("!a ", 80_000),
		"staircase":      staircase(500),
		"commas":         "a: [" + strings.Repeat(",", 100_000) + "]",
		"colons":         strings.Repeat(":", 200_000),
		"many keys":      manyKeys(9_000),
		"one long line":  "a: " + strings.Repeat("x", maxFile-10),
		"too large":      strings.Repeat("#\n", maxFile),
		"many comments":  "a: 1\n" + strings.Repeat("# c\n", 60_000),
		"many documents": strings.Repeat("--- a\n", 40_000),
		"literal":        "a: |\n" + strings.Repeat("  x\n", 60_000),
		"deep sequence":  strings.Repeat("[a, ", 50_000),
	}
	for name, text := range bombs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			if _, err := decode(text, nil); !errors.Is(err, wire.Refuse(wire.InvalidConfig)) {
				t.Errorf("got %v", err)
			}
			// Seconds even on a busy machine; without the guard it is minutes.
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func staircase(steps int) string {
	var b strings.Builder
	for i := range steps {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "k%d: v\n", i)
	}
	return b.String()
}

// Hostile text is refused or kept as it is; it never breaks a message.
func TestLoadOfTheCorpus(t *testing.T) {
	t.Parallel()
	places := []struct{ text, value string }{
		{"name: Dana", "Dana"}, {"human: dana\n", "dana"}, {"repo: ~/src/web,", "~/src/web"}, {"      rev: {", "rev"},
	}
	for i, c := range append(corpus.Strings(t), corpus.Paths(t)...) {
		place := places[i%len(places)]
		for _, value := range []string{c.Text, yamlText(c.Text)} {
			o, err := decode(change(t, place.text, strings.Replace(place.text, place.value, value, 1)), nil)
			if err != nil {
				checkMessage(t, err)
			} else if len(o.Businesses) != 1 {
				t.Errorf("%s: %d businesses", c.Name, len(o.Businesses))
			}
		}
	}
}

// checkMessage holds that a message is lines of printable text.
func checkMessage(t *testing.T, err error) {
	t.Helper()
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimSuffix(line, "\n")
		if i := strings.IndexFunc(line, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\u202e' }); i >= 0 {
			t.Errorf("message with %q: %q", line[i], line)
		}
		if !strings.HasPrefix(line, File) {
			t.Errorf("a message in two lines: %q", err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(example)
	f.Add(template)
	f.Add("a: [b, {c: 'd'}]\n# e\n")
	f.Fuzz(func(t *testing.T, text string) {
		start := time.Now()
		if _, err := decode(text, nil); err != nil && !errors.Is(err, wire.Refuse(wire.InvalidConfig)) {
			t.Fatal(err)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Fatalf("%d bytes took %v", len(text), took)
		}
	})
}
