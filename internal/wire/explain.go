package wire

import "slices"

// Explain returns what Codes says of a code; false when there is no such code.
func Explain(c Code) (CodeInfo, bool) {
	i, ok := slices.BinarySearchFunc(Codes, c, func(info CodeInfo, c Code) int {
		switch {
		case info.Code < c:
			return -1
		case info.Code > c:
			return 1
		}
		return 0
	})
	if !ok {
		return CodeInfo{}, false
	}
	return Codes[i], true
}

// NearestCode returns the code that word was probably meant to be.
func NearestCode(word string) (Code, bool) {
	known := make([]string, len(Codes))
	for i, info := range Codes {
		known[i] = string(info.Code)
	}
	near, ok := Nearest(word, known)
	return Code(near), ok
}

// Nearest returns the known word that needs the fewest edits to become word,
// the first of several; false when none is near enough to be worth a question:
// more than a third of its letters would have to change. An edit inserts,
// drops or replaces a character, or swaps two neighbours.
func Nearest(word string, known []string) (string, bool) {
	if len(word) > maxSuggestInput {
		return "", false
	}
	best, edits := "", 0
	for _, k := range known {
		n := distance([]rune(word), []rune(k))
		if n <= max(1, len(k)/3) && (best == "" || n < edits) {
			best, edits = k, n
		}
	}
	return best, best != ""
}

// maxSuggestInput bounds the work that a mistyped word can cause.
const maxSuggestInput = 64

// distance is the optimal string alignment distance of a and b.
func distance(a, b []rune) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := 0
			if a[i-1] != b[j-1] {
				change = 1
			}
			n := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				n = min(n, rows[i-2][j-2]+1)
			}
			rows[i][j] = n
		}
	}
	return rows[len(a)][len(b)]
}
