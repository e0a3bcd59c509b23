package display

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// walk goes through a text by tokens: a character as it is, or the visible
// form of one. Forms that the text already holds are tokens too.
type walk struct {
	rest     string
	newlines bool
	marks    int  // combining marks since the last character that carries them
	bare     bool // nothing before can carry a mark
	word     int  // bytes of the word under way that are left
	mixed    bool // that word has ASCII letters

	token   string
	columns int
}

// maxMarks is more than living scripts stack and less than reaches other lines.
const maxMarks = 4

func newWalk(s string, newlines bool) *walk {
	return &walk{rest: s, newlines: newlines, bare: true}
}

// next moves to the next token; false at the end.
func (w *walk) next() bool {
	if w.rest == "" {
		return false
	}
	if n := form(w.rest); n > 0 {
		w.take(n, w.rest[:n], n)
		w.bare, w.word = true, 0
		return true
	}
	r, n := utf8.DecodeRuneInString(w.rest)
	if w.word <= 0 {
		w.beginWord(r)
	}
	switch {
	case r == utf8.RuneError && n == 1:
		w.show(n, fmt.Sprintf(`\x%02x`, w.rest[0]))
	case r == '\n' && w.newlines:
		w.take(n, "\n", 0)
		w.bare = true
	case !isVisible(r), unicode.Is(unicode.M, r) && !w.carries(), w.mixed && w.word > 0 && isLookAlike(r):
		w.show(n, escape(r))
	default:
		w.take(n, w.rest[:n], columns(r))
		if !unicode.Is(unicode.M, r) {
			w.bare, w.marks = false, 0
		}
	}
	return true
}

func (w *walk) take(n int, token string, columns int) {
	w.rest, w.word = w.rest[n:], w.word-n
	w.token, w.columns = token, columns
}

// show takes the next n bytes as a visible form.
func (w *walk) show(n int, form string) {
	w.take(n, form, len(form))
	w.bare = true
}

// carries reports whether one more mark may stand on the character before.
func (w *walk) carries() bool {
	w.marks++
	return !w.bare && w.marks <= maxMarks
}

// beginWord looks ahead over the letters and marks that start with r.
func (w *walk) beginWord(r rune) {
	w.word, w.mixed = 0, false
	if !unicode.IsLetter(r) {
		return
	}
	for i, r := range w.rest {
		if !unicode.IsLetter(r) && !unicode.Is(unicode.M, r) {
			break
		}
		w.word = i + utf8.RuneLen(r)
		w.mixed = w.mixed || r < utf8.RuneSelf
	}
}

// form returns the length of the visible form that s starts with, or 0.
func form(s string) int {
	if len(s) < 2 || s[0] != '\\' {
		return 0
	}
	digits := 0
	switch s[1] {
	case 'n', 't', 'r':
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	default:
		return 0
	}
	if len(s) < 2+digits {
		return 0
	}
	for _, c := range []byte(s[2 : 2+digits]) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return 0
		}
	}
	return 2 + digits
}

func escape(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\t':
		return `\t`
	case r == '\r':
		return `\r`
	case r < utf8.RuneSelf:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}
