package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"golang.org/x/term"

	"mosaicstack.dev/mosaic/internal/display"
	"mosaicstack.dev/mosaic/internal/wire"
)

// The rules of everything that is printed:
//
//   - stdout carries the answer, stderr the failure and the progress.
//   - With --json stdout gets exactly one JSON document: the answer, or
//     {"error":code,"field":name,"sentence":text,"remedy":text} when the command
//     fails before it has one. stderr gets the line of the failure all the same.
//   - With --get stdout gets one field of the answer and nothing else, also when
//     the command fails. A field that the answer does not have is a failure.
//   - What was done stays done when its answer cannot be printed: the code is
//     then not-shown and the exit code 3, with the command that shows it.
//   - Strings that are printed for people pass through display, which makes
//     control and direction-changing characters visible. screen.line does that
//     to every argument: only a format in this package is trusted.
//   - Text of others never passes for ours: it stands behind the quote mark "| "
//     of screen.body, with which no line of ours begins, or as one word, in
//     quotes unless it is plain (word), or at the end of a table's line.
//   - Colour is used on a terminal only, never with NO_COLOR or TERM=dumb, and
//     never carries meaning that the words do not.
//   - Lines fit 80 columns or the terminal; what is cut ends in "…".
//   - Progress is shown on a terminal only. The demo alone also tells a pipe
//     what it is doing, because watching is what it is for.

// printer is the only thing in this package that writes to the streams.
type printer struct {
	stdout, stderr io.Writer
	json           bool
	get            string // --get: the path of the one field to print
	managed        bool   // a managed run: no remedy that is meant for operators
	errorsOnStderr bool   // --json errors go to stderr alone (human-shim)
	answered       bool   // stdout has its document
	done           string // what was done already, as the command that shows it
	failed         error  // a failure that cobra gives no way to return
	colour         bool   // stdout is a terminal that takes colour
	watched        bool   // stderr is a terminal
	width          int
}

func newPrinter(stdout, stderr io.Writer, env environment) *printer {
	p := &printer{stdout: stdout, stderr: stderr, managed: env.managed(), width: 80}
	_, noColour := env["NO_COLOR"]
	p.colour = isTerminal(stdout) && !noColour && env["TERM"] != "dumb"
	p.watched = isTerminal(stderr)
	if f, ok := stdout.(*os.File); ok && isTerminal(stdout) {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w >= 40 {
			p.width = w
		}
	}
	return p
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// answer prints the one answer of a command: v as JSON with --json, and
// otherwise what show draws.
func (p *printer) answer(v any, show func(*screen)) error {
	p.answered = true
	switch {
	case p.get != "":
		return p.shown(p.field(v))
	case p.json:
		return p.shown(p.document(p.stdout, v))
	}
	return p.show(show)
}

// did notes that something was done, and the command that shows it.
func (p *printer) did(look string) { p.done = look }

// shown is the outcome of printing an answer: what was done stays done, and
// what was only read has failed, whatever is wrong with stdout.
func (p *printer) shown(err error) error {
	var refusal *wire.Error
	switch {
	case err == nil:
		return nil
	case p.done == "" && errors.As(err, &refusal):
		return err
	case p.done == "":
		return explained(wire.Refuse(wire.Failed), "%s", err)
	}
	return explained(wire.Refuse(wire.NotShown), "%s; look at it with: %s", err, p.done)
}

// document writes v as one JSON document on a line of its own; an empty list
// is [] and never null. Characters that a terminal would obey are escaped, as
// JSON allows, so that a document can be looked at as safely as parsed.
func (p *printer) document(w io.Writer, v any) error {
	doc, err := wire.Encode(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(escapeControls(doc), '\n'))
	return err
}

// progress says on a terminal what a waiting command waits for.
func (p *printer) progress(format string, args ...any) {
	if p.watched && !p.json {
		p.stderrLine(format, args...)
	}
}

// tell says on stderr what a command is doing, also in a pipe.
func (p *printer) tell(format string, args ...any) { p.stderrLine(format, args...) }

// warn says on stderr what did not stop a command but should be known.
func (p *printer) warn(format string, args ...any) { p.stderrLine("mosaic: warning: "+format, args...) }

func (p *printer) stderrLine(format string, args ...any) {
	s := &screen{}
	s.line(format, args...)
	p.stderr.Write(s.text.Bytes()) // a closed stderr is no reason to stop
}

// finish prints the failure of a command, if any, and returns the exit code.
func (p *printer) finish(err error) int {
	if err == nil {
		return exitDone
	}
	f := describe(err, p.managed)
	if f.silent {
		return f.exit
	}
	if p.errorsOnStderr {
		p.document(p.stderr, f.report()) // the exit code says it too
		return f.exit
	}
	if p.json && p.get == "" && !p.answered {
		p.document(p.stdout, f.report()) // the line below says it too
	}
	p.stderrLine("mosaic: %s: %s", string(f.code), f.line())
	return f.exit
}

// screen is what a command draws for people. It is written in one piece.
type screen struct {
	text   bytes.Buffer
	colour bool
	width  int
}

// styled is text that is already safe to print: screen itself made it.
type styled string

// safe prepares the arguments of a line: whatever is not a number, a boolean
// or already styled is turned into a string that cannot steer a terminal or
// end the line.
func safe(args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case int, int64, uint64, bool, styled:
			out[i] = a
		default:
			out[i] = visible(fmt.Sprint(a))
		}
	}
	return out
}

// line prints one line. Every argument is made safe; the format is trusted.
func (s *screen) line(format string, args ...any) {
	fmt.Fprintf(&s.text, format, safe(args)...)
	s.text.WriteByte('\n')
}

// gap prints an empty line unless nothing was printed yet.
func (s *screen) gap() {
	if s.text.Len() > 0 {
		s.text.WriteByte('\n')
	}
}

func (s *screen) style(code, format string, args ...any) styled {
	text := fmt.Sprintf(format, safe(args)...)
	if !s.colour {
		return styled(text)
	}
	return styled("\x1b[" + code + "m" + text + "\x1b[0m")
}

func (s *screen) bold(format string, args ...any) styled   { return s.style("1", format, args...) }
func (s *screen) dim(format string, args ...any) styled    { return s.style("2", format, args...) }
func (s *screen) yellow(format string, args ...any) styled { return s.style("33", format, args...) }

// fields prints names and values in two columns; pairs with an empty value
// are left out.
func (s *screen) fields(indent string, pairs ...[2]string) {
	wide := 0
	for _, p := range pairs {
		if p[1] != "" {
			wide = max(wide, len(p[0]))
		}
	}
	for _, p := range pairs {
		if p[1] != "" {
			s.line(indent+"%s  %s", styled(fmt.Sprintf("%-*s", wide, p[0])), p[1])
		}
	}
}

// quoteMark begins every line of text that others wrote, and none of ours.
const quoteMark = "| "

// body prints text that others wrote, of several lines, each behind indent and
// the quote mark and folded at words, so that no line of it can pass for ours.
func (s *screen) body(indent, text string) { s.prose(indent+quoteMark, strings.TrimRight(text, "\n")) }

// prose prints text of several lines, each behind indent and folded at words.
func (s *screen) prose(indent, text string) {
	for _, line := range strings.Split(text, "\n") {
		for _, part := range fold(line, s.columns()-len(indent)) {
			s.text.WriteString(indent + part + "\n")
		}
	}
}

// excerpt prints the first lines of a text as body does, and reports whether
// there are more. Its cost is that of what it prints.
func (s *screen) excerpt(indent, text string, most int) (more bool) {
	indent += quoteMark
	rest, width := strings.TrimRight(text, "\n"), max(s.columns()-len(indent), leastFold)
	for {
		line, after, next := strings.Cut(rest, "\n")
		parts, cut := display.FoldFirst(line, width, most)
		for _, part := range parts {
			s.text.WriteString(indent + part + "\n")
		}
		most -= len(parts)
		if !next || cut || most == 0 {
			return next || cut
		}
		rest = after
	}
}

// plainWord is a word that can pass for nothing but itself.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:/@+-]*$`)

// The most columns of a word. A quoted one must not reach the end of a
// terminal's line, where its blanks could lay out a line of its own.
const (
	plainColumns  = 100
	quotedColumns = 40
)

// word is a word that others chose, for the middle of a line of ours: as it is
// when it is plain, and in quotes otherwise, which it cannot end. What is cut
// ends in "…".
func word[T ~string](text T) string {
	if plainWord.MatchString(string(text)) {
		return cut(string(text), plainColumns)
	}
	return `"` + strings.ReplaceAll(cut(string(text), quotedColumns), `"`, `\"`) + `"`
}

func (s *screen) columns() int {
	if s.width == 0 {
		return 80
	}
	return s.width
}

// table prints rows under a header, columns as wide as their widest cell. The
// last column takes what is left of the width and is cut there.
func (s *screen) table(header []string, rows [][]string) {
	wide := make([]int, len(header))
	for i, h := range header {
		wide[i] = len(h)
	}
	for _, row := range rows {
		for i, cell := range row {
			row[i] = visible(cell)
			wide[i] = max(wide[i], display.Width(row[i]))
		}
	}
	last, used := len(header)-1, 0
	for i := range last {
		wide[i] = min(wide[i], s.columns()/2)
		used += wide[i] + 2
	}
	wide[last] = max(s.columns()-used, 10)
	print := func(row []string) string {
		var b strings.Builder
		for i, cell := range row {
			cell = cut(cell, wide[i])
			b.WriteString(cell)
			if i < last {
				b.WriteString(strings.Repeat(" ", wide[i]-display.Width(cell)+2))
			}
		}
		return strings.TrimRight(b.String(), " ")
	}
	s.line("%s", s.bold("%s", styled(print(header))))
	for _, row := range rows {
		s.line("%s", styled(print(row)))
	}
}

// visible is a string that cannot steer a terminal or end a line.
func visible(s string) string { return display.Line(s) }

// cut shortens text to n columns, and shows the cut.
func cut(text string, n int) string { return display.Clip(text, n) }

// fold breaks text at blanks into visible lines of at most n columns; a longer
// word is broken where it must.
func fold(text string, n int) []string { return display.Fold(text, max(n, leastFold)) }

// leastFold is the narrowest that text is folded to.
const leastFold = 20

// steers reports a character that a terminal may obey, or that changes how its
// neighbours are read.
func steers(r rune) bool { return r > '~' && visible(string(r)) != string(r) }

// escapeControls replaces the characters in a JSON document that a terminal
// obeys by their JSON escapes: whatever changes the
// direction of text or hides in it. (The encoder has escaped the controls.)
func escapeControls(doc []byte) []byte {
	if !bytes.ContainsFunc(doc, steers) {
		return doc
	}
	var b bytes.Buffer
	for _, r := range string(doc) {
		if !steers(r) {
			b.WriteRune(r)
		} else if r > 0xffff {
			hi, lo := 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		} else {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.Bytes()
}

// show draws something for people at once, while a command goes on.
func (p *printer) show(draw func(*screen)) error {
	s := &screen{colour: p.colour, width: p.width}
	draw(s)
	_, err := p.stdout.Write(s.text.Bytes())
	return p.shown(err)
}

// prompt writes a question without ending the line.
func (p *printer) prompt(question string) { io.WriteString(p.stderr, visible(question)) }

// quote writes a word as a shell reads it back.
func quote(word string) string {
	if word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
