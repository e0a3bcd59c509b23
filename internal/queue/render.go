package queue

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mosaicstack.dev/mosaic/internal/display"
)

// Body renders the table for a state: the bytes between the markers of the
// view file, whose SHA-256 is the entry's ViewSha (QUEUE-OPEN-24, 25). Its
// first line is the revision, so every revision has a body of its own. Rows
// are in order of id, those that are done or parked last. No text of a row
// can end a line, split a cell or end the comment.
func Body(s *Replayed) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "<!-- mosaic-queue rev %d -->\n\n", s.Rev)
	b.WriteString("| ID | Piece | Owner | State | Required | After | Reviewers | Issues | Gate | Brief | Note |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, last := range []bool{false, true} {
		for i := range s.Rows {
			if row := &s.Rows[i]; row.State.terminal() == last {
				row.render(&b, s.Human)
			}
		}
	}
	b.WriteByte('\n')
	return b.Bytes()
}

func (r *Row) render(b *bytes.Buffer, human Seat) {
	for _, text := range []string{
		strconv.Itoa(int(r.ID)), r.Piece, string(r.Owner), r.showState(human), r.showRequired(),
		r.showAfter(), join(r.Reviewers, ", "), r.showIssues(), r.showGate(), r.Brief.String(), r.Note,
	} {
		b.WriteString("| ")
		if text != "" {
			b.WriteString(display.Cell(text))
			b.WriteByte(' ')
		}
	}
	b.WriteString("|\n")
}

func (r *Row) showState(human Seat) string {
	if r.BlockedReason != nil {
		return fmt.Sprintf("%s: %s", r.State, *r.BlockedReason)
	}
	return ShowState(r.State, human)
}

func (r *Row) showRequired() string {
	if r.RequiredSince == nil {
		return ""
	}
	since, _, _ := strings.Cut(*r.RequiredSince, "T")
	return "since " + since
}

func (r *Row) showAfter() string {
	var parts []string
	for _, a := range r.After {
		text := strconv.Itoa(int(a.ID))
		if a.When != WhenDone {
			text += " " + string(a.When)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// showIssues marks what the row works on without closing it.
func (r *Row) showIssues() string {
	var parts []string
	for _, n := range r.Issues {
		text := "#" + strconv.Itoa(n)
		if !slices.Contains(r.Closes, n) {
			text += " (stays open)"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

func (r *Row) showGate() string {
	if r.Gate == "" {
		return string(r.GateOwner)
	}
	return string(r.GateOwner) + ": " + r.Gate
}

// String is the brief as a caller names it: PATH[#HEADING].
func (b Brief) String() string {
	if b.Anchor == nil {
		return b.Path
	}
	return b.Path + "#" + *b.Anchor
}

func join(seats []Seat, separator string) string {
	var b strings.Builder
	for i, s := range seats {
		if i > 0 {
			b.WriteString(separator)
		}
		b.WriteString(string(s))
	}
	return b.String()
}
