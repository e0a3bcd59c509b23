package mosaic_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mosaicstack.dev/mosaic/internal/evidence"
)

// document returns a document's text with every run of white space as one
// space, so that a sentence is found wherever its lines break.
func document(t *testing.T, name string) string {
	t.Helper()
	return strings.Join(strings.Fields(raw(t, name)), " ")
}

func raw(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// says demands sentences of a document: a promise to its reader that is easily
// lost in a rewrite.
func says(t *testing.T, name string, sentences ...string) {
	t.Helper()
	text := document(t, name)
	for _, s := range sentences {
		if !strings.Contains(text, s) {
			t.Errorf("%s no longer says: %s", name, s)
		}
	}
}

// proves: BUS-BOOT-11
func TestSecurityStatesTheTrustLimit(t *testing.T) {
	says(t, "docs/security.md",
		"The broker and the agents run as the same operating-system user.",
		"File modes, capabilities, process ancestry checks and Git hooks do not stop a hostile process of that user",
	)
}

// proves: BUS-BOOT-12
func TestSecurityKeepsProcAndPeerCredentialsApart(t *testing.T) {
	says(t, "docs/security.md",
		"It is not authentication by `SO_PEERCRED`, and the two are not to be confused",
		"what it reads under `/proc` about executable, environment and ancestry is what the process and its parents made it, and the kernel vouches for none of it.",
	)
	for _, name := range documents(t) {
		for sentence := range strings.SplitSeq(document(t, name), ". ") {
			if strings.Contains(sentence, "/proc") && strings.Contains(sentence, "authenticat") && !strings.Contains(sentence, " not ") {
				t.Errorf("%s presents /proc as authentication: %s", name, sentence)
			}
		}
	}
}

// proves: BUS-BOOT-13
func TestSecuritySaysWhoMustFollowTheProtocol(t *testing.T) {
	says(t, "docs/security.md",
		"Every part of Mosaic that is trusted must follow the protocol: the trusted host",
		"Every well-behaved client sends its own capability, once, to `bus.sock`, and to nothing else.",
	)
}

// proves: BUS-HUMAN-22 BUS-HUMAN-23
func TestSecurityNamesWhatIsOutsideTheHumanProof(t *testing.T) {
	says(t, "docs/security.md",
		"Outside the proof, and known:",
		"**Reparenting.** A process whose parent has exited belongs to pid 1.",
		"**Imitation.** A process of the same user can read the nonce and the pid of a person's command and imitate both.",
		"A program that an agent starts with `setsid -f env -i …` has no ancestors and no markers left, and can pass the proof.",
	)
}

// proves: BUS-AUTH-46 BUS-AUTH-47
func TestSecurityTellsApprovalsFromReceipts(t *testing.T) {
	says(t, "docs/security.md",
		"A spent approval is no receipt of an operation somewhere else.",
		"the approval is used and cannot authorize another try.",
		"An adapter that acts on an external service therefore keeps an operation identity of its own",
	)
}

// proves: BUS-BOOT-56
func TestOperationsTellWhatToDoAfterACrash(t *testing.T) {
	text := document(t, "docs/operations.md")
	at := -1
	for _, step := range []string{
		"## After a crash",
		"**Establish that the old broker is gone.**",
		"**Keep the evidence.** Copy `bus.sqlite`, `bus.sqlite-wal` and `bus.sqlite-shm` together",
		"**Remove only the stale lock and socket.**",
		"**Start again** with `mosaic up`.",
	} {
		next := strings.Index(text, step)
		if next <= at {
			t.Errorf("docs/operations.md does not say in its place: %s", step)
		}
		at = next
	}
}

// proves: BUS-BOOT-57
func TestNoDocumentDeletesTheDatabase(t *testing.T) {
	says(t, "docs/operations.md", "Never delete, move away or recreate the database to get past a refusal at open")
	deletes := regexp.MustCompile(`(?m)^\s*(rm|mv|unlink|truncate|shred)\b.*(bus\.sqlite|/bus\b)`)
	for _, name := range documents(t) {
		if found := deletes.FindString(raw(t, name)); found != "" {
			t.Errorf("%s: %s", name, found)
		}
	}
}

// proves: BUS-SCHEMA-44
func TestOperationsTellWhenToMigrate(t *testing.T) {
	says(t, "docs/operations.md",
		"Migrate in a window that the people concerned have approved, with the bus stopped, and after a consistent backup:")
}

// proves: BUS-PROTO-16
func TestClientDocumentationSaysWhatUncertainMeans(t *testing.T) {
	var comment string
	for _, file := range packageAt(t, "client").files {
		if file.Doc != nil {
			comment += strings.Join(strings.Fields(file.Doc.Text()), " ")
		}
	}
	if !regexp.MustCompile(`outcome-unknown:.* The mutation may have been committed and may not have been\.`).MatchString(comment) {
		t.Errorf("the comment of package client does not say that after outcome-unknown the mutation may have been committed:\n%s", comment)
	}
}

// The rows of the crash table are the crash points of the store, in the order
// in which a write passes them.
func TestArchitectureNamesEveryCrashPoint(t *testing.T) {
	var rows []evidence.CrashPoint
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|").FindAllStringSubmatch(raw(t, "docs/architecture.md"), -1) {
		rows = append(rows, evidence.CrashPoint(m[1]))
	}
	if !slices.Equal(rows, evidence.CrashPoints) {
		t.Errorf("docs/architecture.md has %v, the store %v", rows, evidence.CrashPoints)
	}
}

// The table of storeys names the packages that there are.
func TestArchitectureNamesEveryPackage(t *testing.T) {
	text := raw(t, "docs/architecture.md")
	for _, p := range packages(t) {
		if forTests(p.dir) || strings.HasPrefix(p.dir, "internal/tools/") || strings.HasPrefix(p.dir, "examples/") {
			continue
		}
		if !strings.Contains(text, "`"+p.dir+"`") {
			t.Errorf("docs/architecture.md does not name %s", p.dir)
		}
	}
	for _, m := range regexp.MustCompile("`(internal/[a-z]+|client|cmd/[a-z]+)`").FindAllStringSubmatch(text, -1) {
		if _, err := os.Stat(m[1]); err != nil {
			t.Errorf("docs/architecture.md names %s, which is not there", m[1])
		}
	}
}

// documents lists what is written for readers of the project, without the
// requirements, which are kept as they were handed over.
func documents(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/reference/*.md", "examples/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, found...)
	}
	if len(list) < 8 {
		t.Fatalf("found only %v", list)
	}
	return list
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

func TestLinksLeadSomewhere(t *testing.T) {
	for _, name := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(raw(t, name), -1) {
			file, fragment, _ := strings.Cut(m[1], "#")
			if strings.Contains(file, "://") {
				t.Errorf("%s links to %s: the documents stand alone", name, m[1])
				continue
			}
			target := name
			if file != "" {
				target = filepath.Join(filepath.Dir(name), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", name, m[1], err)
				continue
			}
			if fragment != "" && !slices.Contains(anchors(raw(t, target)), fragment) {
				t.Errorf("%s links to %s, which has no such heading", name, m[1])
			}
		}
	}
}

// anchors are the fragments that Markdown renderers give the headings of text.
func anchors(text string) []string {
	var found []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(text, -1) {
		name := strings.ToLower(strings.ReplaceAll(m[1], " ", "-"))
		found = append(found, regexp.MustCompile(`[^\p{L}\p{N}_-]`).ReplaceAllString(name, ""))
	}
	return found
}
