package org

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"mosaicstack.dev/mosaic/internal/wire"
)

func builtIns(t *testing.T) map[string]Definition {
	t.Helper()
	o, err := decode(example, nil)
	if err != nil {
		t.Fatal(err)
	}
	return o.Definitions
}

// proves: BUS-OPEN-31
func TestElevenDefinitionsAreBuiltIn(t *testing.T) {
	t.Parallel()
	want := []string{"assistant", "chief-of-staff", "cto", "designer", "developer", "operator", "pm", "researcher", "reviewer", "tester", "writer"}
	if got := BuiltIns(); !slices.Equal(got, want) {
		t.Fatalf("got %v", got)
	}
	for name, def := range builtIns(t) {
		if !def.BuiltIn || def.Name != name || def.Harness != "" || def.Command != nil {
			t.Errorf("%s: %+v", name, def)
		}
		if words := len(strings.Fields(def.Charter)); words < 60 || words > 160 {
			t.Errorf("the charter of %s has %d words", name, words)
		}
	}
}

// proves: BUS-SPEC-25 BUS-SPEC-26
func TestEveryBuiltInWritesRecordsByItself(t *testing.T) {
	t.Parallel()
	for name, def := range builtIns(t) {
		for _, action := range []string{"record.write", "message.send", "routine"} {
			if !slices.Contains(def.Authority.WithinRole, action) {
				t.Errorf("%s may not %s", name, action)
			}
		}
	}
	o, err := decode(example, map[string]string{"developer": "charter: c\nauthority: {withinRole: [], crossRole: []}\ncredentials: [gitea]\n"})
	if err != nil {
		t.Fatal(err)
	}
	if got := o.Resolve("acme")["dev"].Authority; len(got.WithinRole) != 0 || len(got.CrossRole) != 0 {
		t.Errorf("a definition that grants nothing got %+v", got)
	}
}

// proves: BUS-ORG-03
func TestOnlyTheChiefOfStaffChangesTheOrganization(t *testing.T) {
	t.Parallel()
	for _, action := range []string{"organization.change", "instance.name", "role.end", "role.launch"} {
		for name, def := range builtIns(t) {
			has := slices.Contains(def.Authority.WithinRole, action) || slices.Contains(def.Authority.CrossRole, action)
			if has != (name == ChiefOfStaff) {
				t.Errorf("%s in %s: %v", action, name, has)
			}
		}
	}
}

// A merge into a protected branch goes to the human unless a person says
// otherwise in a file of their own.
func TestNoBuiltInMergesOrWaitsHard(t *testing.T) {
	t.Parallel()
	for name, def := range builtIns(t) {
		for _, action := range slices.Concat(def.Authority.WithinRole, def.Authority.CrossRole) {
			if HardWait(action) || action == "git.merge.protected" {
				t.Errorf("%s grants %s", name, action)
			}
		}
	}
}

// proves: BUS-MSG-58 BUS-DEC-45
func TestOnlyTheAssistantHasMessagingLists(t *testing.T) {
	t.Parallel()
	for name, def := range builtIns(t) {
		if def.Messaging.Declared() != (name == Assistant) {
			t.Errorf("%s: %+v", name, def.Messaging)
		}
	}
	if got := builtIns(t)[Assistant].Messaging; !slices.Equal(got.ReceiveFrom, []string{"human", "chief-of-staff"}) || !slices.Equal(got.SendTo, []string{"human", "chief-of-staff"}) {
		t.Errorf("assistant: %+v", got)
	}
}

// proves: BUS-AUTH-16
func TestTheProtectedDefinitionIsTheAssistant(t *testing.T) {
	t.Parallel()
	for _, name := range append(BuiltIns(), "", "Assistant") {
		if Protected(name) != (name == "assistant") {
			t.Errorf("Protected(%q) = %v", name, Protected(name))
		}
	}
}

const bare = "charter: c\nauthority: {withinRole: [], crossRole: []}\n"

// proves: BUS-AUTH-03 BUS-AUTH-06 BUS-BOOT-39 BUS-BOOT-40 BUS-OPEN-31 BUS-OPEN-32
func TestDefinitionFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"no authority", "charter: c\n", `roles/x.yaml:1:1: the key authority is missing; add authority:`},
		{"no cross-role list", "charter: c\nauthority: {withinRole: []}\n", `roles/x.yaml:2:12: authority: the key crossRole is missing; add crossRole:`},
		{"no within-role list", "charter: c\nauthority: {crossRole: []}\n", `roles/x.yaml:2:12: authority: the key withinRole is missing; add withinRole:`},
		{"authority is nothing", "charter: c\nauthority:\n", `roles/x.yaml:2:12: authority: nothing stands here, a map of keys belongs here`},
		{"an unknown action", "charter: c\nauthority: {withinRole: [mesage.send], crossRole: []}\n", `roles/x.yaml:2:26: authority.withinRole[0]: "mesage.send" is no action; did you mean message.send?`},
		{"an action in both", "charter: c\nauthority: {withinRole: [routine], crossRole: [routine]}\n", `roles/x.yaml:2:48: authority.crossRole: "routine" stands in withinRole too; keep it in one of them`},
		{"an action twice", "charter: c\nauthority: {withinRole: [routine, routine], crossRole: []}\n", `roles/x.yaml:2:35: authority.withinRole[1]: "routine" stands here twice; name it once`},
		{"no charter", "authority: {withinRole: [], crossRole: []}\n", `roles/x.yaml:1:1: the key charter is missing; add charter:`},
		{"an empty charter", "charter: ' '\nauthority: {withinRole: [], crossRole: []}\n", `roles/x.yaml:1:10: charter: the charter is empty; say what the role is for`},
		{"two paragraphs", "charter: |\n  a\n\n  b\nauthority: {withinRole: [], crossRole: []}\n", `roles/x.yaml:1:10: charter: the charter has an empty line; keep it to one paragraph`},
		{"an unknown correspondent", bare + "messaging: {sendTo: [developr]}\n", `roles/x.yaml:3:22: messaging.sendTo[0]: "developr" is no role definition; did you mean developer?`},
		{"an unknown service", bare + "credentials: [github]\n", `roles/x.yaml:3:15: credentials[0]: "github" is no service; known: gitea, vikunja`},
		{"a command of another harness", bare + "harness: codex\ncommand: [sh]\n", `roles/x.yaml:4:10: command: only the exec harness has a command, not "codex"; write harness: exec, or leave command out`},
		{"an unknown key", bare + "authorty: 1\n", `roles/x.yaml:3:1: authorty: unknown key; did you mean authority?`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := decode(example, map[string]string{"x": c.text})
			if !errors.Is(err, wire.Refuse(wire.InvalidConfig)) || !slices.Contains(strings.Split(err.Error(), "\n"), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

// proves: BUS-AUTH-03 BUS-AUTH-06 BUS-AUTH-09 BUS-AUTH-10 BUS-AUTH-11 BUS-AUTH-12
func TestADefinitionMayGrantRoutedActionsOnly(t *testing.T) {
	t.Parallel()
	for _, action := range Vocabulary {
		for _, list := range []string{"{withinRole: [%], crossRole: []}", "{withinRole: [], crossRole: [%]}"} {
			file := "charter: c\nauthority: " + strings.Replace(list, "%", action.Name, 1) + "\n"
			_, err := decode(example, map[string]string{"x": file})
			if granted := err == nil; granted != action.Routed {
				t.Errorf("%s in %s: %v", action.Name, list, err)
			}
		}
	}
}

// proves: BUS-DEC-45
func TestAnArbiterHasNoMessagingLists(t *testing.T) {
	t.Parallel()
	for _, lists := range []string{"{sendTo: [human]}", "{receiveFrom: [human]}", "{sendTo: []}", "{receiveFrom: []}", "{sendTo: [human], receiveFrom: [human]}"} {
		_, err := decode(example, map[string]string{"cto": bare + "messaging: " + lists + "\n"})
		want := `organization.yaml:7:27: businesses.acme.arbiters.technical: cto cannot be an arbiter: its definition cto declares messaging lists; name an instance whose definition declares no messaging lists`
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v", lists, err)
		}
	}
	if _, err := decode(example, map[string]string{"cto": bare + "messaging: {}\n"}); err != nil {
		t.Errorf("no list at all: %v", err)
	}
	if _, err := decode(example, map[string]string{"reviewer": bare + "messaging: {sendTo: []}\n"}); err != nil {
		t.Errorf("lists of a role that is no arbiter: %v", err)
	}
}

// proves: BUS-AUTH-17 BUS-OPEN-33 BUS-BOOT-34 BUS-BOOT-35 BUS-BOOT-36
func TestResolveNarrowsAndNeverAdds(t *testing.T) {
	t.Parallel()
	text := change(t, "{definition: developer, ", "{definition: developer, without: [git.push.working, task.close, deploy, review.verdict], ")
	o, err := decode(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	def, dev := o.Definitions["developer"], o.Resolve("acme")["dev"]
	for _, action := range actionNames() {
		taken := slices.Contains([]string{"git.push.working", "task.close", "deploy", "review.verdict"}, action)
		if got, want := slices.Contains(dev.Authority.WithinRole, action), slices.Contains(def.Authority.WithinRole, action) && !taken; got != want {
			t.Errorf("within-role %s: %v", action, got)
		}
		if got, want := slices.Contains(dev.Authority.CrossRole, action), slices.Contains(def.Authority.CrossRole, action) && !taken; got != want {
			t.Errorf("cross-role %s: %v", action, got)
		}
	}
	if dev.Credentials["gitea"].RotateBy != "2027-03-01" || dev.Charter != def.Charter || dev.Harness != "claude-code" {
		t.Errorf("got %+v", dev)
	}
	if o.Resolve("nobody") != nil {
		t.Error("an unknown business resolves to something")
	}
}

func TestResolveOfHarnessAndCommand(t *testing.T) {
	t.Parallel()
	roles := map[string]string{
		"runner": bare + "harness: exec\ncommand: [run, all]\n",
		"coder":  bare + "harness: codex\n",
	}
	text := change(t, "      rev: {", `      a: {definition: runner}
      b: {definition: runner, harness: codex}
      c: {definition: runner, command: [mine]}
      d: {definition: coder}
      e: {definition: coder, command: [mine]}
      f: {definition: developer}
      rev: {`)
	o, err := decode(text, roles)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[wire.Role]string{"a": "exec run all", "b": "codex", "c": "exec mine", "d": "codex", "e": "exec mine", "f": ""} {
		r := o.Resolve("acme")[key]
		if got := strings.TrimSpace(r.Harness + " " + strings.Join(r.Command, " ")); got != want {
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
	}
}
