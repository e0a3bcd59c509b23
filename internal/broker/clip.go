package broker

import (
	"unicode/utf8"

	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/wire"
)

// Agents write questions, option texts and messages, and the lists that hold
// them answer whatever was written: a list that refuses as too large would let
// one role take the person's inbox away. So each list has a number of rows and
// of bytes; a decision that does not fit whole stays in the list with its texts
// cut and clipped set, and trail shows it whole.
const (
	listBytes    = 1 << 20 // of the rows of one list that are whole, as JSON
	clipQuestion = 200     // characters of a cut question
	clipOption   = 60      // and of each cut option text
)

// room is what is left of listBytes for whole rows.
type room int

// takes reports whether the row fits, and then takes its place.
func (r *room) takes(row any) (bool, error) {
	text, err := wire.Encode(row)
	if err != nil || len(text) > int(*r) {
		return false, err
	}
	*r -= room(len(text))
	return true, nil
}

// fitDecisions cuts the texts of those that do not fit whole.
func fitDecisions(rows []evidence.Decision) ([]evidence.Decision, error) {
	left := room(listBytes)
	for i := range rows {
		if err := left.fit(&rows[i], rows[i]); err != nil {
			return nil, err
		}
	}
	return list(rows), nil
}

// fitClosed is fitDecisions for closed ones; notes are short and stay whole.
func fitClosed(rows []evidence.ClosedDecision) ([]evidence.ClosedDecision, error) {
	left := room(listBytes)
	for i := range rows {
		if err := left.fit(&rows[i].Decision, rows[i]); err != nil {
			return nil, err
		}
	}
	return list(rows), nil
}

// fit cuts the texts of d unless the row that shows it fits.
func (r *room) fit(d *evidence.Decision, row any) error {
	whole, err := r.takes(row)
	if err != nil || whole {
		return err
	}
	d.Clipped = true
	d.Question = clip(d.Question, clipQuestion)
	for i := range d.Options {
		d.Options[i].Text = clip(d.Options[i].Text, clipOption)
	}
	return nil
}

// fitMessages is the rows, oldest first, that fit together; always the first.
func fitMessages(rows []evidence.Message) ([]evidence.Message, error) {
	left := room(listBytes)
	for i := range rows {
		fits, err := left.takes(rows[i])
		if err != nil {
			return nil, err
		}
		if !fits {
			return rows[:max(i, 1)], nil
		}
	}
	return list(rows), nil
}

// clip is text in at most n characters; what is cut ends in an ellipsis.
func clip(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-1]) + "…"
}
