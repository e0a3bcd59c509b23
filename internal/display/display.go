package display

import (
	"html"
	"strings"
)

// Line returns s in one line. Line(Line(s)) is Line(s).
func Line(s string) string { return visible(s, false) }

// Block returns s with its newlines kept; everything else is shown as in Line.
// Block(Block(s)) is Block(s). Nothing marks the lines as quoted, so a caller
// that shows a block among its own lines has to.
func Block(s string) string { return visible(s, true) }

func visible(s string, newlines bool) string {
	if isPlain(s, newlines) {
		return s
	}
	var out strings.Builder
	out.Grow(len(s) + len(s)/4)
	for w := newWalk(s, newlines); w.next(); {
		out.WriteString(w.token)
	}
	return out.String()
}

// isPlain is the fast path for most text: printable ASCII is shown as it is.
func isPlain(s string, newlines bool) bool {
	for i := range len(s) {
		if c := s[i]; (c < ' ' || c > '~') && (c != '\n' || !newlines) {
			return false
		}
	}
	return true
}

// Ellipsis marks the cut of Clip.
const Ellipsis = "…"

// Clip returns Line(s) in at most width terminal columns. What is longer ends
// in an ellipsis; neither a character with its marks nor the visible form of
// one is cut in two. Clip(Clip(s, w), w) is Clip(s, w); without a column there
// is nothing to show.
func Clip(s string, width int) string {
	if width <= 0 {
		return ""
	}
	var out strings.Builder
	columns, fits := 0, 0 // fits: bytes of out that leave room for the ellipsis
	for w := newWalk(s, false); w.next(); {
		columns += w.columns
		if columns > width {
			return out.String()[:fits] + Ellipsis
		}
		out.WriteString(w.token)
		if columns < width {
			fits = out.Len()
		}
	}
	return out.String()
}

// Width returns the terminal columns of Line(s): two for wide East Asian
// characters and emoji, none for combining marks.
func Width(s string) int {
	columns := 0
	for w := newWalk(s, false); w.next(); {
		columns += w.columns
	}
	return columns
}

// Cell returns Line(s) for a cell of a Markdown table. No | remains, escaped
// or not, so no parser splits the cell, whatever it makes of a backslash; and
// what Markdown or HTML would act on is shown instead.
func Cell(s string) string { return cell.Replace(Line(s)) }

var cell = strings.NewReplacer(
	`|`, `&#124;`, `\`, `&#92;`, `&`, `&amp;`, `<`, `&lt;`, `>`, `&gt;`,
	"`", "\\`", `*`, `\*`, `[`, `\[`, `]`, `\]`, `~`, `\~`,
)

// HTML returns Block(s) for the text of an HTML element or for a quoted
// attribute.
func HTML(s string) string { return html.EscapeString(Block(s)) }
