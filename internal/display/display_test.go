package display

import (
	"html"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"mosaicstack.dev/mosaic/internal/corpus"
)

func TestLine(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":             "",
		"plain ~ text": "plain ~ text",
		"Grüße, 你好 🚀 مرحبا שלום": "Grüße, 你好 🚀 مرحبا שלום",
		"a\nb\tc\rd":                      `a\nb\tc\rd`,
		"\x1b[31mred\x1b[0m":              `\x1b[31mred\x1b[0m`,
		"\x00\x07\x7f":                    `\x00\x07\x7f`,
		"a\u0085b\u009b31m":               `a\u0085b\u009b31m`,
		"a\xffb\xc3":                      `a\xffb\xc3`,
		"invoice\u202egpj.exe":            `invoice\u202egpj.exe`,
		"\u2066a\u2069\u200e\u061c":       `\u2066a\u2069\u200e\u061c`,
		"de\u200bv\u2060\ufeff\u00ad":     `de\u200bv\u2060\ufeff\u00ad`,
		"ok\U000e0072\U000e006d":          `ok\U000e0072\U000e006d`,
		"a\ufe0fb\U000e0100":              `a\ufe0fb\U000e0100`,
		"a\u00a0b\u3000c\u2009d":          `a\u00a0b\u3000c\u2009d`,
		"a\u2028b\u2029c":                 `a\u2028b\u2029c`,
		"\u3164\u115f\u2800\u17b4":        `\u3164\u115f\u2800\u17b4`,
		"\ue000\uffff\U0010fffd":          `\ue000\uffff\U0010fffd`,
		"cafe\u0301":                      "cafe\u0301",
		"\u0301cafe":                      `\u0301cafe`,
		"\u200b\u0301":                    `\u200b\u0301`,
		"Z" + strings.Repeat("\u0301", 6): "Z" + strings.Repeat("\u0301", 4) + `\u0301\u0301`,
		"d\u0435v":                        `d\u0435v`,
		"привет, мир":                     "привет, мир",
		"Ελλάδα":                          "Ελλάδα",
		"\u212aey \uff44ev":               `\u212aey \uff44ev`,
		`C:\new\x1b`:                      `C:\new\x1b`,
		"a\ufffdb":                        "a\ufffdb",
	} {
		if got := Line(in); got != want {
			t.Errorf("Line(%+q) = %+q, want %+q", in, got, want)
		}
	}
}

func TestBlockKeepsNewlinesAlone(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a\nb\n\nc\n":  "a\nb\n\nc\n",
		"a\r\nb":       "a\\r\nb",
		"a\tb":         `a\tb`,
		"a\n\u0301b":   "a\n\\u0301b",
		"a\u2028b\x0b": `a\u2028b\x0b`,
	} {
		if got := Block(in); got != want {
			t.Errorf("Block(%+q) = %+q, want %+q", in, got, want)
		}
	}
}

func TestClip(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{"hello", 5, "hello"}, {"hello", 4, "hel…"}, {"hello", 1, "…"}, {"h", 1, "h"}, {"", 1, ""}, {"hello", 0, ""}, {"hello", -1, ""},
		{"你好吗", 6, "你好吗"}, {"你好吗", 5, "你好…"}, {"你好吗", 4, "你…"}, {"你好", 1, "…"},
		{"cafe\u0301s", 5, "cafe\u0301s"}, {"cafe\u0301s", 4, "caf…"}, {"cafe\u0301ss", 5, "cafe\u0301…"},
		{"a\u202eb", 8, `a\u202eb`}, {"a\u202ebc", 8, `a\u202e…`}, {"a\u202ebc", 7, "a…"},
		{`a\u202ebc`, 7, "a…"}, {"ab\ncd", 5, `ab\n…`},
		{"\xff\xff", 4, "…"}, {"\xff\xff", 5, `\xff…`},
	} {
		if got := Clip(c.in, c.width); got != c.want {
			t.Errorf("Clip(%+q, %d) = %q, want %q", c.in, c.width, got, c.want)
		}
	}
}

func TestCell(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`a|b`:     `a&#124;b`,
		`a\|b`:    `a&#92;&#124;b`,
		`a\\|b`:   `a&#92;&#92;&#124;b`,
		"a\nb":    `a&#92;nb`,
		`&#124;`:  `&amp;#124;`,
		"`a` <b>": "\\`a\\` &lt;b&gt;",
		`[x](y)`:  `\[x\](y)`,
		`~~no~~`:  `\~\~no\~\~`,
		`a_b`:     `a_b`,
	} {
		if got := Cell(in); got != want {
			t.Errorf("Cell(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestHTML(t *testing.T) {
	t.Parallel()
	if got, want := HTML("<b a='\"'>&\n\u202e"), "&lt;b a=&#39;&#34;&#39;&gt;&amp;\n\\u202e"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// reporter is what *testing.T and *rapid.T share.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
}

// check holds what the package promises of any text.
func check(t reporter, s string, width int) {
	t.Helper()
	line, block, clip, cell := Line(s), Block(s), Clip(s, width), Cell(s)
	for name, out := range map[string]string{"Line": line, "Clip": clip, "Cell": cell, "HTML": HTML(s), "Block": block} {
		if !utf8.ValidString(out) {
			t.Errorf("%s(%+q) is not UTF-8", name, s)
		}
		for _, r := range out {
			if r == '\n' && (name == "Block" || name == "HTML") {
				continue
			}
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Bidi_Control, r) ||
				unicode.IsSpace(r) && r != ' ' || unicode.Is(unicode.Variation_Selector, r) || unicode.Is(unicode.Co, r) {
				t.Errorf("%s(%+q) holds %U", name, s, r)
			}
		}
	}
	if Line(line) != line || Block(block) != block || Clip(clip, width) != clip {
		t.Errorf("%+q: not idempotent", s)
	}
	if Line(block) != strings.ReplaceAll(block, "\n", `\n`) {
		t.Errorf("%+q: Line and Block differ by more than newlines", s)
	}
	checkClip(t, s, clip, width)
	if strings.ContainsAny(cell, "|\n") {
		t.Errorf("Cell(%+q) = %q", s, cell)
	}
	if html.UnescapeString(HTML(s)) != block || strings.ContainsAny(HTML(s), "<>\"'") {
		t.Errorf("HTML(%+q) = %q", s, HTML(s))
	}
}

func checkClip(t reporter, s, clip string, width int) {
	t.Helper()
	line := Line(s)
	kept, cut := strings.CutSuffix(clip, Ellipsis)
	switch {
	case Width(clip) > max(width, 0):
		t.Errorf("Clip(%+q, %d) has %d columns", s, width, Width(clip))
	case width > 0 && Width(s) <= width && clip != line:
		t.Errorf("Clip(%+q, %d) = %q although it fits", s, width, clip)
	case width > 0 && Width(s) > width && (!cut || !strings.HasPrefix(line, kept)):
		t.Errorf("Clip(%+q, %d) = %q is no visible cut", s, width, clip)
	}
}

func TestTheCorpus(t *testing.T) {
	t.Parallel()
	all := corpus.Strings(t)
	all = append(all, corpus.Paths(t)...)
	all = append(all, corpus.Times(t)...)
	for _, c := range all {
		for _, width := range []int{0, 1, 2, 7, 40, 80} {
			check(t, c.Text, width)
		}
	}
}

func TestAnyText(t *testing.T) {
	t.Parallel()
	// Pieces that interact: what becomes a form, what a form may touch, what
	// joins a word.
	piece := rapid.OneOf(
		rapid.String(),
		rapid.SampledFrom([]string{"\\", "\\x", "\\u", "\\u20", "\\U000e", "\\n", "2", "e", "v", "\u0435", "о", "\u0301", "\u202e", "\u200b", "\xff", "\xe2\x82", "\n", "|", "你", "\U000e0041", "\ufe0f"}),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
	)
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOf(piece).Draw(t, "pieces"), "")
		check(t, s, rapid.IntRange(-1, 30).Draw(t, "width"))
	})
}

func FuzzDisplay(f *testing.F) {
	for _, c := range corpus.Strings(f) {
		f.Add(c.Text, 20)
	}
	f.Fuzz(func(t *testing.T, s string, width int) { check(t, s, width) })
}

func TestLookAlikesAreLettersBeyondASCII(t *testing.T) {
	t.Parallel()
	for r := range lookAlikes {
		if r < utf8.RuneSelf || !unicode.IsLetter(r) {
			t.Errorf("%U %c", r, r)
		}
	}
}
