package corpus

import (
	"embed"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

//go:embed *.txt
var files embed.FS

// Case is one line of a data file.
type Case struct {
	Verdict string // "" in strings.txt
	Name    string
	Text    string
}

// Strings returns the hostile strings. They are arbitrary bytes.
func Strings(t testing.TB) []Case { return load(t, "strings.txt", false) }

// JSON returns JSON documents. The verdict is Accept, or why a strict decoder
// refuses the document whatever its target: duplicate, trailing, utf8,
// surrogate, nul, control, deep, number or syntax.
func JSON(t testing.TB) []Case { return load(t, "json.txt", true) }

// Arguments returns arguments of message.send. The verdict is Accept, or the
// argument that invalid-request names, or "-" when it names none.
func Arguments(t testing.TB) []Case { return load(t, "arguments.txt", true) }

// Paths returns paths. The verdict is Inside or Outside: whether the path's
// text alone keeps it inside the directory it is joined to. A path that is
// inside may still meet a symbolic link, be .git, or forge a line.
func Paths(t testing.TB) []Case { return load(t, "paths.txt", true) }

// Times returns times. The verdict is Accept for the bus's own form and for
// everything else Refuse.
func Times(t testing.TB) []Case { return load(t, "times.txt", true) }

// Verdicts that the files share.
const (
	Accept  = "accept"
	Refuse  = "refuse"
	Inside  = "inside"
	Outside = "outside"
)

func load(t testing.TB, file string, judged bool) []Case {
	t.Helper()
	data, err := files.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	cases, err := parse(string(data), judged)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return cases
}

// parse reads a data file.
func parse(data string, judged bool) ([]Case, error) {
	var cases []Case
	for i, line := range strings.Split(data, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		c, err := parseLine(line, judged)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		cases = append(cases, c)
	}
	return cases, nil
}

func parseLine(line string, judged bool) (c Case, err error) {
	if judged {
		c.Verdict, line = word(line)
	}
	c.Name, line = word(line)
	if c.Name == "" || line == "" || judged && c.Verdict == "" {
		return Case{}, fmt.Errorf("a line is [verdict] name text")
	}
	c.Text, err = text(line)
	return c, err
}

func word(line string) (first, rest string) {
	first, rest, _ = strings.Cut(line, " ")
	return first, strings.TrimLeft(rest, " ")
}

// text evaluates literals with their repetitions.
func text(expression string) (string, error) {
	var out strings.Builder
	for expression != "" {
		literal, err := strconv.QuotedPrefix(expression)
		if err != nil {
			return "", fmt.Errorf("no string literal at %.20q", expression)
		}
		value, err := strconv.Unquote(literal)
		if err != nil {
			return "", err
		}
		expression = expression[len(literal):]
		n := 1
		if strings.HasPrefix(expression, "*") {
			var count string
			count, expression = word(expression[1:])
			if n, err = strconv.Atoi(count); err != nil || n < 1 || n > 1_000_000 {
				return "", fmt.Errorf("bad repetition %.20q", count)
			}
		}
		out.WriteString(strings.Repeat(value, n))
		expression = strings.TrimLeft(expression, " ")
	}
	return out.String(), nil
}
