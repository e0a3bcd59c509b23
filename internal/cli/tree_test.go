package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mosaicstack.dev/mosaic/internal/display"
)

// ran is what one command line printed and how it ended.
type ran struct {
	stdout, stderr string
	code           int
}

// runWith runs a command line in this process, which is enough for whatever
// needs no proof of a person.
func runWith(t *testing.T, env []string, args ...string) ran {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := Run(context.Background(), args, strings.NewReader(""), &stdout, &stderr, append(env, "HOME="+t.TempDir()))
	return ran{stdout.String(), stderr.String(), code}
}

// commands are all commands of the tree, hidden ones too.
func commands(t *testing.T) []*cobra.Command {
	a := &app{env: environment{}}
	a.out = newPrinter(&bytes.Buffer{}, &bytes.Buffer{}, a.env)
	var all []*cobra.Command
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		all = append(all, c)
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(a.tree())
	if len(all) < 35 {
		t.Fatalf("the tree has %d commands only", len(all))
	}
	return all
}

func TestEveryCommandIsExplainedByAnExample(t *testing.T) {
	t.Parallel()
	for _, c := range commands(t) {
		if c.Name() == "run-stage" {
			continue // nobody can type it
		}
		t.Run(c.CommandPath(), func(t *testing.T) {
			if c.Short == "" || strings.HasSuffix(c.Short, ".") || len(c.Short) > 75 {
				t.Errorf("the summary is missing, too long, or ends in a full stop: %q", c.Short)
			}
			if c.Example == "" {
				t.Fatal("no example")
			}
			for _, line := range strings.Split(c.Example, "\n") {
				checkExample(t, line)
			}
		})
	}
}

// checkExample parses an example as a shell and then the command would.
func checkExample(t *testing.T, line string) {
	t.Helper()
	for _, part := range strings.Split(line, " | ") {
		words := shellWords(t, part)
		if len(words) == 0 || words[0] != "mosaic" {
			continue
		}
		for i, w := range words {
			if w == ">" {
				words = words[:i]
				break
			}
		}
		root := commands(t)[0]
		found, rest, err := root.Find(words[1:])
		if err != nil {
			t.Errorf("%s: %v", line, err)
			return
		}
		if err := found.ParseFlags(rest); err != nil {
			t.Errorf("%s: %v", line, err)
			return
		}
		if err := found.ValidateArgs(found.Flags().Args()); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		if found.HasSubCommands() && found.HasParent() {
			t.Errorf("%s: names no command", line)
		}
	}
}

// shellWords splits a line at blanks outside of quotes.
func shellWords(t *testing.T, line string) []string {
	t.Helper()
	var words []string
	var word strings.Builder
	quote, inWord := rune(0), false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			quote, inWord = r, true
		case r == ' ':
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 {
		t.Errorf("an open quote in %q", line)
	}
	if inWord {
		words = append(words, word.String())
	}
	return words
}

func TestHelpBeginsWithAnExampleAndFitsATerminal(t *testing.T) {
	t.Parallel()
	for _, c := range commands(t) {
		if c.Name() == "run-stage" {
			continue
		}
		got := runWith(t, nil, append(strings.Fields(c.CommandPath())[1:], "--help")...)
		if got.code != 0 || got.stderr != "" || !strings.HasPrefix(got.stdout, "Examples\n  $ ") {
			t.Errorf("%s --help: code %d, stderr %q, begins %.40q", c.CommandPath(), got.code, got.stderr, got.stdout)
		}
		for _, line := range strings.Split(got.stdout, "\n") {
			if !strings.HasPrefix(line, "  $ ") && display.Width(line) > 80 {
				t.Errorf("%s --help: wider than 80 columns: %q", c.CommandPath(), line)
			}
		}
	}
}

func TestNoTwoCommandsAnswerToOneWord(t *testing.T) {
	t.Parallel()
	for _, c := range commands(t) {
		taken := map[string]string{}
		for _, sub := range c.Commands() {
			for _, word := range append([]string{sub.Name()}, sub.Aliases...) {
				if taken[word] != "" {
					t.Errorf("%s: %q is %s and %s", c.CommandPath(), word, taken[word], sub.Name())
				}
				taken[word] = sub.Name()
			}
		}
		for guess, meant := range guesses {
			if !c.HasParent() && taken[guess] != "" {
				t.Errorf("%q is a command or alias, so it is no guess for %q", guess, meant)
			}
		}
	}
}

func TestGuessesNameWhatExists(t *testing.T) {
	t.Parallel()
	root := commands(t)[0]
	for guess, meant := range guesses {
		if found, rest, err := root.Find(strings.Fields(meant)); err != nil || len(rest) > 0 || !found.HasParent() {
			t.Errorf("%q leads to %q, which is no command", guess, meant)
		}
	}
	flags := map[string]bool{}
	for _, c := range commands(t) {
		visit := func(f *pflag.Flag) { flags[f.Name] = true }
		c.Flags().VisitAll(visit)
		c.PersistentFlags().VisitAll(visit)
	}
	for guess, meant := range flagGuesses {
		if !flags[meant] {
			t.Errorf("--%s leads to --%s, which no command has", guess, meant)
		}
	}
}

func TestMistypedIsAnsweredWithTheNearest(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"inbx":                      "did you mean: mosaic inbox",
		"decied":                    "did you mean: mosaic decide",
		"approve":                   "did you mean: mosaic decide",
		"unlock":                    "did you mean: mosaic bus unlock",
		"doct":                      "did you mean: mosaic doctor",
		"xyzzy":                     "see: mosaic --help",
		"bus verfy":                 "did you mean: mosaic bus verify",
		"bus xyzzy":                 "see: mosaic bus --help",
		"decide x y --nte z":        "did you mean: --note",
		"decide x y --comment z":    "did you mean: --note",
		"send dev x --type INFO":    "did you mean: --class",
		"status --xyzzy":            "see: mosaic status --help",
		"help inbx":                 "did you mean: mosaic inbox",
		"decide":                    "ID is missing: mosaic decide ID [OPTION]",
		"seen a b":                  `"b" is one argument too many`,
		"receive --wait soon":       "--wait",
		"launch dev sleep 3":        "put -- before the command: mosaic launch dev -- sleep",
		"decisions all":             "neither roles nor recent",
		"launches stop":             "neither revoke nor restore",
		"completion tcsh":           "none of bash, zsh and fish",
		"run-stage-x":               "see: mosaic --help",
		"raise a --question q":      "--recommend is missing",
		"land --project web":        "--commit is missing",
		"bus serve":                 "--control-fd is missing",
		"init":                      "--human is missing",
		"decide 5f0c9e21":           "OPTION is missing, and there is no terminal",
		"demo":                      "mosaic demo --yes",
		"explain --help=x":          "--help",
		"raise a --option nonsense": "write it as KEY=TEXT",
	} {
		got := runWith(t, nil, strings.Fields(line)...)
		if got.code != exitUsage || got.stdout != "" {
			t.Errorf("mosaic %s: code %d, stdout %q", line, got.code, got.stdout)
		}
		if !strings.HasPrefix(got.stderr, "mosaic: usage: ") || strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, want) {
			t.Errorf("mosaic %s: %q does not say %q in one line", line, got.stderr, want)
		}
	}
}

func TestUsageIsJSONWithJSON(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--json", "inbx"}, {"inbx", "--json"}, {"decide", "--json"}, {"decide", "--nte", "--json"}, {"--json=true", "bus", "verfy"}, {"talk", "dev", "--json"},
	} {
		got := runWith(t, nil, args...)
		var report struct{ Error, Sentence string }
		if err := json.Unmarshal([]byte(got.stdout), &report); err != nil || report.Error != "usage" || report.Sentence == "" {
			t.Errorf("%q: stdout %q (%v)", args, got.stdout, err)
		}
		if got.code != exitUsage || !strings.HasPrefix(got.stderr, "mosaic: usage: ") || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%q: code %d, stderr %q", args, got.code, got.stderr)
		}
	}
}

func TestAManagedRunIsNotGivenTheHost(t *testing.T) {
	t.Parallel()
	env := []string{"MOSAIC_BUS_CAP=x", "MOSAIC_BUS_SOCKET=/nowhere"}
	for _, line := range []string{"init --yes", "up", "up --detach", "bus verify", "bus backup x", "bus migrate", "bus unlock", "bus checkpoint", "bus serve --control-fd 3"} {
		got := runWith(t, env, strings.Fields(line)...)
		if got.code != exitRefused || !strings.HasPrefix(got.stderr, "mosaic: human-required: ") {
			t.Errorf("mosaic %s: code %d, %q", line, got.code, got.stderr)
		}
	}
}
