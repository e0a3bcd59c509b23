// Package display makes text from others fit to be shown to people: agents,
// trackers and scripts write it, and a person approves by what they read.
//
// It promises that what it returns cannot move a cursor, change the direction
// of writing, or hold characters that are not seen. Such characters are shown
// in place of being obeyed, and nothing is left out:
//
//	newline, tab, carriage return             \n \t \r
//	other C0 controls, DEL                    \x1b
//	bytes that are not UTF-8                  \xff
//	C1 controls                               \u009b
//	bidirectional controls                    \u202e
//	zero-width, joiners, soft hyphen, BOM     \u200b
//	variation selectors, fillers              \ufe0f
//	tag characters, private use, unassigned   \U000e0041
//	spaces other than the plain one           \u00a0
//	line and paragraph separators             \u2028
//	a combining mark with no letter before
//	it, and the fifth and later of a run      \u0301
//	Cyrillic, Greek and other letters that
//	look like an ASCII letter, in a word
//	that also has ASCII letters               d\u0435v
//
// A plain backslash stays as it is, so text can contain what looks like one of
// these forms; it then is harmless text. That keeps Line, Block and Clip
// idempotent: what was made visible once is not changed again. Cell and HTML
// are for one medium each and are applied once, last.
//
// It does not know what is meant: a whole word in look-alike letters, or one
// written right to left, is shown as it is.
package display
