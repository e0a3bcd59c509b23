package queue

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// OutcomeSuffix ends the id under which a review request's outcome is logged;
// callers may not use it (QUEUE-OP-03, QUEUE-OP-04).
const OutcomeSuffix = ".outcome"

const (
	minOp       = 8
	maxOp       = 80
	maxCallerOp = maxOp - len(OutcomeSuffix)
)

// Outcome is the id of the operation that records how a request ended
// (QUEUE-REVIEW-67).
func (o OpID) Outcome() OpID { return o + OutcomeSuffix }

// CheckOp refuses an operation id that a caller may not use: it does not match
// ^[a-z0-9][a-z0-9._-]{7,71}$, or it ends in .outcome (QUEUE-OP-02,
// QUEUE-OP-04).
func CheckOp(op OpID) error {
	switch {
	case len(op) > maxCallerOp || !isOp(op):
		return refuse(OpMalformed, "operation id %q is not %d to %d of a-z, 0-9, '.', '_' and '-', a letter or digit first", clip(string(op)), minOp, maxCallerOp)
	case strings.HasSuffix(string(op), OutcomeSuffix):
		return refuse(OpMalformed, "operation id %q ends in %s, which only outcomes of review requests do", op, OutcomeSuffix)
	}
	return nil
}

// isOp reports whether an id may stand in the log (QUEUE-DATA-61).
func isOp(op OpID) bool {
	if len(op) < minOp || len(op) > maxOp {
		return false
	}
	for i := range len(op) {
		switch c := op[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
		case i > 0 && (c == '.' || c == '_' || c == '-'):
		default:
			return false
		}
	}
	return true
}

// isName reports whether a text can name a seat, the human or a label: letters,
// digits, '.', '_' and '-', a letter or digit first, at most 63.
func isName(name Seat) bool {
	if name == "" || len(name) > 63 || name == Unassigned {
		return false
	}
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case i > 0 && (c == '.' || c == '_' || c == '-'):
		default:
			return false
		}
	}
	return true
}

// Limits of texts, in characters.
const (
	maxLine   = 200 // piece and note (QUEUE-OPEN-19)
	maxReason = 1000
	maxAnchor = 300
)

// checkLine demands one line of at most limit characters without control
// characters. Everything else that could mislead is shown, not obeyed, where
// the text is shown.
func checkLine(field, text string, limit int) error {
	switch {
	case !utf8.ValidString(text):
		return refuse(ArgumentInvalid, "%s is not valid UTF-8", field)
	case strings.ContainsFunc(text, endsLine):
		return refuse(ArgumentInvalid, "%s must be one line without control characters", field)
	case utf8.RuneCountInString(text) > limit:
		return refuse(ArgumentInvalid, "%s is longer than %d characters", field, limit)
	}
	return nil
}

// checkText is checkLine for a text that may not be empty.
func checkText(field, text string, limit int) error {
	if strings.TrimSpace(text) == "" {
		return refuse(ArgumentInvalid, "%s is empty", field)
	}
	return checkLine(field, text, limit)
}

func endsLine(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }

// clip shortens a text that is only quoted to be recognised.
func clip(s string) string {
	const most = 100
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// TimeLayout is the form of every time in the file, in UTC (QUEUE-OPEN-14).
const TimeLayout = "2006-01-02T15:04:05.000Z"

// Unknown stands for a time that nobody recorded.
const Unknown = "unknown"

// Stamp returns a time in the file's form.
func Stamp(t time.Time) string { return t.UTC().Format(TimeLayout) }

// isTime reports whether text is a time in the file's form.
func isTime(text string) bool {
	if len(text) != len(TimeLayout) || text[19] != '.' || text[23] != 'Z' {
		return false // time.Parse would take a comma too
	}
	_, err := time.Parse(TimeLayout, text)
	return err == nil
}

// isObjectID reports whether text is a full object id of either hash.
func isObjectID(text string) bool { return (len(text) == 40 || len(text) == 64) && isHex(text) }

func isDigest(text string) bool { return len(text) == 64 && isHex(text) }

func isHex(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// ParseState reads a state as people write it: waiting-on-<the human's name>
// is waiting-on-human (QUEUE-DATA-27).
func ParseState(word string, human Seat) (State, error) {
	if word == "waiting-on-"+string(human) && human != "" {
		return WaitingOnHuman, nil
	}
	if !State(word).known() {
		return "", refuse(ArgumentInvalid, "%q is no state; the states are %s", clip(word), states())
	}
	return State(word), nil
}

// ShowState returns a state as text output prints it.
func ShowState(state State, human Seat) string {
	if state == WaitingOnHuman {
		return "waiting-on-" + string(human)
	}
	return string(state)
}

// States lists the states in the order of a row's life (QUEUE-DATA-25).
var States = []State{Queued, Briefed, InProgress, InReview, WaitingOnHuman, Blocked, Parked, Done}

func (s State) known() bool { return slices.Contains(States, s) }

// terminal reports whether nothing but unparking leaves the state.
func (s State) terminal() bool { return s == Done || s == Parked }

func states() string {
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(States)), ", "), "[]")
}
