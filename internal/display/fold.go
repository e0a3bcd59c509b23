package display

import "strings"

// Fold returns Line(s) broken at blanks into lines of at most width columns; a
// longer word is broken where it must, but never within a character with its
// marks or within the visible form of one. The blanks at a break are dropped.
// It looks at each character once, however long the words are.
func Fold(s string, width int) []string { return fold(s, width, -1) }

// FoldFirst is the first n lines of Fold, and whether there are more. It costs
// what it returns.
func FoldFirst(s string, width, n int) (lines []string, more bool) {
	lines = fold(s, width, n+1)
	if len(lines) > n {
		return lines[:n], true
	}
	return lines, false
}

// fold stops after most lines; a negative most means all.
func fold(s string, width, most int) (lines []string) {
	var line strings.Builder // the line under way
	var word strings.Builder // what follows its last blank, not yet in line
	columns, wordColumns := 0, 0
	blanks := 0 // between line and word
	flush := func() {
		lines = append(lines, line.String())
		line.Reset()
		columns, blanks = 0, 0
	}
	join := func() {
		line.WriteString(strings.Repeat(" ", blanks))
		line.WriteString(word.String())
		columns += blanks + wordColumns
		word.Reset()
		wordColumns, blanks = 0, 0
	}
	for w := newWalk(s, false); w.next() && (most < 0 || len(lines) < most); {
		if w.token == " " {
			if word.Len() > 0 {
				join()
			}
			blanks++
			continue
		}
		if columns+blanks+wordColumns+w.columns > width {
			switch {
			case columns > 0: // the word goes to a line of its own
				flush()
			case word.Len() > 0: // it has one, and is longer
				join()
				flush()
			default: // blanks fill the line
				blanks = 0
			}
			if wordColumns+w.columns > width {
				join()
				flush()
			}
		}
		word.WriteString(w.token)
		wordColumns += w.columns
	}
	if most >= 0 && len(lines) >= most {
		return lines
	}
	if word.Len() > 0 {
		join()
	}
	if line.Len() > 0 || len(lines) == 0 {
		flush()
	}
	return lines
}
