package wire_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"mosaicstack.dev/mosaic/internal/wire"
)

// declared reads the constants of type Code from the source, so that none can
// be left out of the table by forgetting it here as well.
func declared(t *testing.T) map[wire.Code]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes := map[wire.Code]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if typ, ok := spec.Type.(*ast.Ident); !ok || typ.Name != "Code" {
			t.Errorf("constant %s has no type Code", spec.Names[0].Name)
			return true
		}
		text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		name := spec.Names[0].Name
		if other, twice := codes[wire.Code(text)]; twice {
			t.Errorf("%s and %s are both %q", other, name, text)
		}
		codes[wire.Code(text)] = name
		return true
	})
	if len(codes) < 50 {
		t.Fatalf("found only %d codes in codes.go", len(codes))
	}
	return codes
}

func TestEveryCodeIsDescribedOnce(t *testing.T) {
	constants := declared(t)
	described := map[wire.Code]bool{}
	for _, info := range wire.Codes {
		if constants[info.Code] == "" {
			t.Errorf("%s is described and not declared", info.Code)
		}
		if described[info.Code] {
			t.Errorf("%s is described twice", info.Code)
		}
		described[info.Code] = true
	}
	for code, name := range constants {
		if !described[code] {
			t.Errorf("%s (%s) has no description", name, code)
		}
	}
	if !slices.IsSortedFunc(wire.Codes, func(a, b wire.CodeInfo) int { return strings.Compare(string(a.Code), string(b.Code)) }) {
		t.Error("Codes is not ordered by code, which Explain's search relies on")
	}
}

var kebab = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

func TestDescriptionsTellWhatToDo(t *testing.T) {
	for _, info := range wire.Codes {
		t.Run(string(info.Code), func(t *testing.T) {
			if !kebab.MatchString(string(info.Code)) {
				t.Error("the code is not in kebab-case")
			}
			for part, text := range map[string]string{"sentence": info.Sentence, "cause": info.Cause, "remedy": info.Remedy} {
				if len(text) < 15 || strings.ContainsAny(text, "\n\r\t") || strings.TrimSpace(text) != text {
					t.Errorf("the %s is empty, too short or not one clean line: %q", part, text)
				}
			}
			if strings.HasSuffix(info.Sentence, ".") || unicode.IsUpper(rune(info.Sentence[0])) {
				t.Errorf("the sentence follows a colon: it begins small and has no full stop: %q", info.Sentence)
			}
			if !strings.HasSuffix(info.Cause, ".") || !strings.HasSuffix(info.Remedy, ".") {
				t.Error("cause and remedy are whole sentences")
			}
			if strings.Count(info.Remedy, "`")%2 != 0 {
				t.Errorf("a command in the remedy is not closed: %q", info.Remedy)
			}
		})
	}
}

// destructive words, by their stems: an agent that reads one in a remedy does it.
var destructive = regexp.MustCompile(`(?i)\b(init|forc|reset|delet|unlock|rm\b|kill|remov|destroy|eras|wip[ei]|purg|prun|drop|overwrit|truncat|clean\b|revok|migrat|chmod|chown|sudo|mv\b|dd\b|recreat|rewrit|re-?creat|discard|abandon|--yes|stop\s+RUN|mosaic stop|mosaic up|mosaic bus (serve|migrate|unlock|backup))`)

func TestNoAgentIsToldToDestroy(t *testing.T) {
	for _, info := range wire.Codes {
		if found := destructive.FindString(info.Remedy); found != "" && !info.Operator && !forThePerson(info.Remedy, found) {
			t.Errorf("%s: the remedy says %q and can reach an agent", info.Code, found)
		}
	}
}

// forThePerson allows one command that an agent can only read about: the
// remedy of unavailable says that the person starts the host.
func forThePerson(remedy, found string) bool {
	return found == "mosaic up" && strings.Contains(remedy, "the person starts it with `mosaic up`")
}

func TestDestructiveWordsAreFound(t *testing.T) {
	for _, remedy := range []string{
		"Run `git reset --hard`.", "Run `rm -rf bus`.", "Run `mosaic init`.", "Force it.", "Delete the lock.",
		"Run `mosaic bus unlock`.", "Kill the run.", "Removing it helps.", "Wipe it.", "Use `mosaic stop RUN`.",
	} {
		if !destructive.MatchString(remedy) {
			t.Errorf("%q counts as harmless", remedy)
		}
	}
	for _, remedy := range []string{"See the form of the firm's term.", "Wait a moment, confirm, and repeat it."} {
		if found := destructive.FindString(remedy); found != "" {
			t.Errorf("%q counts as destructive (%q)", remedy, found)
		}
	}
}

func TestExplain(t *testing.T) {
	for _, info := range wire.Codes {
		if got, ok := wire.Explain(info.Code); !ok || got != info {
			t.Errorf("Explain(%q) = %v, %v", info.Code, got, ok)
		}
	}
	for _, code := range []wire.Code{"", "no-such-code", "Not-Holder", "zzz"} {
		if got, ok := wire.Explain(code); ok {
			t.Errorf("Explain(%q) = %v", code, got)
		}
	}
}

func TestNearestCode(t *testing.T) {
	for _, c := range []struct {
		word string
		want wire.Code // "" when nothing is near
	}{
		{"not-holder", wire.NotHolder},
		{"not-hodler", wire.NotHolder},
		{"nothelder", wire.NotHolder},
		{"unknown_role", wire.UnknownRole},
		{"decision-consume", wire.DecisionConsumed},
		{"writer-lock", wire.WriterLocked},
		{"", ""},
		{"help", ""},
		{strings.Repeat("x", 1<<20), ""},
		{"é\x00\x1b[31m", ""},
	} {
		if got, ok := wire.NearestCode(c.word); got != c.want || ok != (c.want != "") {
			t.Errorf("NearestCode(%.40q) = %q, %v; want %q", c.word, got, ok, c.want)
		}
	}
}

func TestNearestTakesTheFirstOfSeveral(t *testing.T) {
	if got, _ := wire.Nearest("cat", []string{"bat", "hat"}); got != "bat" {
		t.Errorf("got %q", got)
	}
	if got, ok := wire.Nearest("cat", nil); ok {
		t.Errorf("got %q of nothing", got)
	}
}
