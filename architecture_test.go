package mosaic_test

import (
	"go/ast"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mosaicstack.dev/mosaic/internal/broker"
	"mosaicstack.dev/mosaic/internal/wire"
)

// layers are the storeys of the house, from the top. A package imports from
// storeys below its own, never from above; from its own only what neighbours
// lists.
var layers = []struct {
	name     string
	packages []string
}{
	{"program", []string{"cmd/mosaic"}},
	{"checks", []string{"internal/tools/bench", "internal/tools/check", "internal/tools/coverage", "internal/tools/reference"}},
	{"surfaces", []string{"internal/cli", "internal/console", "internal/mcpserver"}},
	{"host", []string{"internal/host", "internal/ledger"}},
	{"engines", []string{"internal/broker", "internal/flow", "internal/gitgate", "internal/launch", "internal/queue"}},
	{"stores", []string{"client", "internal/core", "internal/evidence", "internal/gitea", "internal/module", "internal/org", "internal/records"}},
	{"ground", []string{"examples/team", "internal/display", "internal/git", "internal/proc", "internal/wire"}},
}

// neighbours may import each other inside a storey, in this direction.
var neighbours = []struct{ from, to, because string }{}

// layerOf returns the storey of a folder, 0 at the top, or -1. A package for
// tests (proctest) stands with the package that it is for.
func layerOf(dir string) int {
	for i, l := range layers {
		for _, p := range l.packages {
			if dir == p || strings.HasPrefix(dir, p+"/") {
				return i
			}
		}
	}
	return -1
}

func TestDependenciesPointDown(t *testing.T) {
	for _, p := range packages(t) {
		own := layerOf(p.dir)
		if own < 0 && !forTests(p.dir) {
			t.Errorf("%s stands in no storey of this test: say in layers where it belongs", p.dir)
			continue
		}
		if own < 0 {
			continue
		}
		for imported, file := range p.imports() {
			dir, ok := inModule(imported)
			if !ok || dir == p.dir || strings.HasPrefix(dir, p.dir+"/") || strings.HasPrefix(p.dir, dir+"/") {
				continue
			}
			below := layerOf(dir)
			if below < own || below == own && !areNeighbours(p.dir, dir) {
				t.Errorf("%s imports %s, which is not below it (%s): turn the dependency round or pass an interface down", file, dir, layers[own].name)
			}
		}
	}
}

func areNeighbours(from, to string) bool {
	return slices.ContainsFunc(neighbours, func(n struct{ from, to, because string }) bool { return n.from == from && n.to == to })
}

// never are imports that would break a promise of the design. They count
// through every package of the module that the named one is built of.
var never = []struct {
	in      string
	pattern string // of the import path
	because string
}{
	{"internal/broker", `^os/exec$`, "The broker launches no harness and runs no program (BUS-BOOT-05); the launcher does."},
	{"internal/broker", `^net/(http|smtp|rpc)`, "The broker calls no service: no tracker, no git server, no model provider (BUS-BOOT-06)."},
	{"internal/broker", `/internal/(launch|host|cli|git|gitgate|records)$`, "The broker decides; it starts nothing and acts on no repository (BUS-BOOT-05)."},
	{"client", `sqlite|database/sql|/internal/evidence$`, "The client is shared by every human surface and contains no database access (BUS-PROTO-11)."},
	{"internal/display", `^(os|net)(/|$)`, "What makes text safe to show has no effects, so that every surface can use it."},
	{"internal/wire", `/internal/`, "The vocabulary is the ground: it knows no verbs, no roles and no storage."},
	{"internal/evidence", `/internal/(broker|org)$`, "The store holds rows; what they mean is decided above it."},
	{"internal/evidence", `^(net/(http|rpc|smtp)|os/exec)`, "The store talks to its file and to nobody else."},
}

// proves: BUS-BOOT-04 BUS-BOOT-05 BUS-BOOT-06 BUS-PROTO-11
func TestForbiddenImports(t *testing.T) {
	for _, rule := range never {
		t.Run(path.Base(rule.in)+" "+rule.pattern, func(t *testing.T) {
			pattern := regexp.MustCompile(rule.pattern)
			for dir := range reach(t, rule.in) {
				for imported, file := range packageAt(t, dir).imports() {
					if pattern.MatchString(imported) && imported != module+"/"+rule.in {
						t.Errorf("%s, part of %s, imports %s. %s", file, rule.in, imported, rule.because)
					}
				}
			}
		})
	}
}

// proves: BUS-BOOT-04
func TestBrokerKnowsTheVocabularyAndNoOrganizationFile(t *testing.T) {
	for _, file := range packageAt(t, "internal/broker").files {
		ast.Inspect(file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "org" && !vocabulary.MatchString(sel.Sel.Name) {
				t.Errorf("%s: the broker uses org.%s; of that package it may know the names of actions, and the host hands it resolved businesses", positions.Position(sel.Pos()), sel.Sel.Name)
			}
			return true
		})
	}
	for imported, file := range packageAt(t, "internal/broker").imports() {
		if strings.Contains(imported, "yaml") {
			t.Errorf("%s reads a configuration format", file)
		}
	}
}

// vocabulary is what the broker may use of package org.
var vocabulary = regexp.MustCompile(`^(Action\w+|KnownAction|HardWait|Vocabulary)$`)

// keepers may import what nobody else may.
var keepers = []struct {
	pattern string // of the import path
	by      []string
	because string
}{
	{`sqlite|^database/sql$`, []string{"internal/evidence"}, "Only the store opens bus.sqlite (BUS-BOOT-02)."},
	{`spf13/cobra`, []string{"internal/cli"}, "Commands are declared in one place."},
	{`yaml`, []string{"internal/org"}, "One package reads and writes the organization file."},
	{`^os/exec$`, []string{"internal/cli", "internal/git", "internal/launch", "internal/tools"}, "Programs are started by the launcher, git by its own package, and the person's tools by the command line."},
	{`^unsafe$|^plugin$`, nil, "Nothing here needs it."},
}

// proves: BUS-BOOT-02
func TestKeepers(t *testing.T) {
	for _, rule := range keepers {
		pattern := regexp.MustCompile(rule.pattern)
		for _, p := range packages(t) {
			if slices.ContainsFunc(rule.by, func(dir string) bool { return p.dir == dir || strings.HasPrefix(p.dir, dir+"/") }) {
				continue
			}
			for imported, file := range p.imports() {
				if pattern.MatchString(imported) && !strings.HasPrefix(imported, module) {
					t.Errorf("%s imports %s. %s", file, imported, rule.because)
				}
			}
		}
	}
}

// opensStore are the only callers of what opens or makes a store, and why.
var opensStore = map[string]string{
	"internal/broker": "the broker, which holds the writer lock",
	"internal/cli":    "mosaic init and the offline commands mosaic bus verify, backup and migrate",
}

// proves: BUS-BOOT-02 BUS-BOOT-03 BUS-PROTO-12
func TestOnlyBrokerAndOfflineCommandsOpenTheStore(t *testing.T) {
	for _, p := range packages(t) {
		if p.dir == "internal/evidence" || strings.HasPrefix(p.dir, "internal/evidence/") {
			continue
		}
		if file, imported := p.imports()[module+"/internal/evidence"]; imported && opensStore[p.dir] == "" && opensAnything(p) {
			t.Errorf("%s opens the store; others go through the socket or the host", file)
		}
		p.texts(func(at token.Position, text string) {
			if databaseFile.MatchString(text) && opensStore[p.dir] == "" {
				t.Errorf("%s names the database file; others go through the socket or the host", at)
			}
		})
	}
	// On the human's side only the files of the offline commands know the store.
	cli := packageAt(t, "internal/cli")
	for file := range cli.files {
		one := map[string]*ast.File{file: cli.files[file]}
		if importsOf(one)[module+"/internal/evidence"] != "" && !offlineCommand.MatchString(path.Base(file)) {
			t.Errorf("%s uses the store; the human's surfaces use the socket (BUS-PROTO-12)", file)
		}
	}
}

// offlineCommand names the files of the bus's own offline and backup commands.
var offlineCommand = regexp.MustCompile(`^(bus|init)[a-z_]*\.go$`)

// databaseFile matches a path, not a sentence about it.
var databaseFile = regexp.MustCompile(`^\S*bus\.sqlite\S*$`)

func opensAnything(p *source) bool {
	opens := false
	calls(p.files, func(_ token.Position, pkg, name string) {
		opens = opens || pkg == "evidence" && (name == "Open" || name == "Create" || name == "Migrate" || name == "Backup")
	})
	return opens
}

// sql matches a literal that is a statement or a piece of one.
var sql = regexp.MustCompile(`(?is)^\s*(SELECT\s.+\sFROM\s|INSERT\s+(OR\s+\w+\s+)?INTO\s|UPDATE\s+\w+\s+SET\s|DELETE\s+FROM\s|(CREATE|DROP|ALTER)\s+(TABLE|VIEW|INDEX|TRIGGER)\s|PRAGMA\s+\w+|ATTACH\s|BEGIN\s+(IMMEDIATE|DEFERRED|EXCLUSIVE)|SAVEPOINT\s|VACUUM\b)`)

// proves: BUS-BOOT-02
func TestSQLStaysInEvidence(t *testing.T) {
	found := 0
	for _, p := range packages(t) {
		inside := p.dir == "internal/evidence" || strings.HasPrefix(p.dir, "internal/evidence/")
		p.texts(func(at token.Position, text string) {
			if !sql.MatchString(text) {
				return
			}
			found++
			if !inside {
				t.Errorf("%s: SQL outside evidence: %.60q", at, text)
			}
		})
	}
	if found == 0 {
		t.Error("found no SQL at all: the pattern no longer finds what it looks for")
	}
}

// proves: BUS-BOOT-06
func TestBrokerDialsNobody(t *testing.T) {
	for dir := range reach(t, "internal/broker") {
		calls(packageAt(t, dir).files, func(at token.Position, pkg, name string) {
			if pkg == "net" && strings.HasPrefix(name, "Dial") || pkg == "os" && name == "StartProcess" || pkg == "syscall" && (name == "ForkExec" || name == "Exec" || name == "StartProcess") {
				t.Errorf("%s: the broker is built of code that calls %s.%s", at, pkg, name)
			}
		})
	}
}

// proves: BUS-BOOT-07
func TestBrokerCoreHasNoTaskVerb(t *testing.T) {
	for _, v := range broker.Verbs {
		if strings.HasPrefix(v.Name, "task.") {
			t.Errorf("%s: task verbs come with the tracker part", v.Name)
		}
	}
}

// harnesses are the built-in ones; the broker must work for any other.
var harnesses = []string{"exec", "claude-code", "claude", "codex", "pi"}

// The marks by which a process below an agent is told (BUS-HUMAN-14) are data
// of the human proof; no other code of the broker knows a harness by name.
//
// proves: BUS-CTL-32
func TestBrokerNamesNoHarness(t *testing.T) {
	packageAt(t, "internal/broker").texts(func(at token.Position, text string) {
		if path.Base(at.Filename) != "human.go" && slices.Contains(harnesses, strings.ToLower(text)) {
			t.Errorf("%s: the broker names the harness %q", at, text)
		}
	})
}

// reserved may be refused to a session on a socket before any verb is looked at.
var reserved = []wire.Code{
	wire.InvalidRequest, wire.RequestTooLarge, wire.ResponseTooLarge, wire.UnknownVerb, wire.UnknownCapability,
	wire.NotHolder, wire.HumanRequired, wire.AgentRequired, wire.ReadOnly, wire.TesterRefused, wire.TesterRequired,
	wire.TesterOff, wire.StorageUnavailable, wire.OutcomeUnknown, wire.Unavailable, wire.Busy,
}

// What an agent can be answered has a remedy that an agent may follow.
func TestNoVerbAnswersAnOperatorsCode(t *testing.T) {
	answers := map[wire.Code]string{}
	for _, code := range reserved {
		answers[code] = "any verb"
	}
	for _, v := range broker.Verbs {
		for _, code := range v.Codes {
			answers[code] = v.Name
		}
	}
	for _, code := range slices.Sorted(maps.Keys(answers)) {
		info, ok := wire.Explain(code)
		if !ok {
			t.Errorf("%s answers %s, which no table describes", answers[code], code)
		}
		if info.Operator {
			t.Errorf("%s answers %s, whose remedy is for the operator alone", answers[code], code)
		}
	}
}

// drawers are names that say nothing of what is inside.
var drawers = []string{"util", "utils", "common", "helper", "helpers", "manager", "misc", "base", "shared", "lib", "types"}

func TestNoDrawers(t *testing.T) {
	for _, p := range packages(t) {
		for part := range strings.SplitSeq(p.dir+"/"+p.name, "/") {
			if slices.Contains(drawers, part) {
				t.Errorf("%s: name the package after what it does", p.dir)
			}
		}
	}
}

// forTests reports whether a package is for tests only.
func forTests(dir string) bool {
	return strings.HasSuffix(dir, "test") || dir == "internal/corpus"
}

func TestTestPackagesStayOutOfTheProgram(t *testing.T) {
	for _, p := range packages(t) {
		if forTests(p.dir) {
			continue
		}
		for imported, file := range p.imports() {
			if dir, ok := inModule(imported); ok && forTests(dir) || imported == "testing" {
				t.Errorf("%s imports %s, which is for tests", file, imported)
			}
		}
	}
}

// substance are the words with which a comment says more than what a package is.
var substance = regexp.MustCompile(`(?i)\b(promises?|refuses?|never|nothing|only|must|fails?)\b`)

func TestEveryPackageSaysWhatItOwnsPromisesAndRefuses(t *testing.T) {
	for _, p := range packages(t) {
		var comment string
		for _, file := range slices.Sorted(maps.Keys(p.files)) {
			if doc := p.files[file].Doc; doc != nil {
				if comment != "" {
					t.Errorf("%s has two package comments", p.dir)
				}
				comment = doc.Text()
			}
		}
		subject := "Package " + p.name + " "
		if p.name == "main" {
			subject = "Command " + path.Base(p.dir) + " "
		}
		switch {
		case comment == "":
			t.Errorf("%s has no package comment: say what it owns, promises and refuses, and what happens on failure", p.dir)
		case !strings.HasPrefix(comment, subject):
			t.Errorf("the comment of %s begins %.40q, not %q", p.dir, comment, subject)
		case !forTests(p.dir) && (len(comment) < 150 || !substance.MatchString(comment)):
			t.Errorf("the comment of %s says too little: what it owns, promises and refuses, and what happens on failure", p.dir)
		}
	}
}
