package audit

import (
	"path/filepath"
	"slices"
	"strconv"

	"mosaicstack.dev/mosaic/internal/queue"
)

// checkContext compares every source at the start and at the cutoff, and looks
// for text about the row (QUEUE-GATE-28 to 38).
func (q *inquiry) checkContext(item *Item) {
	cutoff := q.Evidence.cutoff()
	if cutoff == nil {
		item.doubt("no cutoff is pinned")
		return
	}
	first := slices.Clone(q.Evidence.Before.Sources)
	for _, s := range q.Evidence.Pins[0].Sources {
		if s.Kind == LaunchSnapshot && len(q.Evidence.Pins) > 1 {
			first = append(first, s)
		}
	}
	for _, s := range cutoff.Sources {
		i := slices.IndexFunc(first, func(f Source) bool { return f.Kind == s.Kind && f.Path == s.Path })
		switch {
		case i < 0:
			item.doubt("%s has a digest at the cutoff only, %s: pin it also when it appears", name(s), s.SHA256)
		case first[i].SHA256 != s.SHA256:
			item.reject("%s changed between the start and the cutoff", name(s))
		default:
			item.note("%s %s", name(s), s.SHA256)
		}
		if s.Kind != BriefFile {
			q.checkSource(item, s)
		}
	}
	for _, kind := range []Kind{LaunchSnapshot, SeatFile, UserFile, Skill} {
		if !slices.ContainsFunc(cutoff.Sources, func(s Source) bool { return s.Kind == kind }) {
			item.note("no source of kind %s was recorded", kind)
		}
	}
}

// checkSource looks for the row in a source that the pin vouches for.
func (q *inquiry) checkSource(item *Item, s Source) {
	if now, err := measure(s.Kind, s.Path); err != nil || now.SHA256 != s.SHA256 {
		item.doubt("%s is not there any more as it was pinned, so its text cannot be looked at", name(s))
		return
	}
	matches, err := s.search(q.terms())
	if err != nil {
		item.doubt("%s cannot be read", name(s))
	}
	for _, m := range matches {
		item.reject("%s%s line %d names the row by %q", name(s), below("", m.file), m.line, m.term)
	}
}

// name is a source in a report. The person's own file is not named further.
func name(s Source) string {
	if s.Kind == UserFile {
		return "the user file"
	}
	return string(s.Kind) + " " + filepath.Base(s.Path)
}

// terms are what would tell a seat about its row (QUEUE-OPEN-96).
func (q *inquiry) terms() []string {
	if q.row == nil {
		return nil
	}
	terms := []string{q.row.Piece, q.row.Brief.Path}
	for _, n := range q.row.Issues {
		terms = append(terms, strconv.Itoa(n))
	}
	for i := range q.File.Log {
		if concerns(&q.File.Log[i], q.row.ID) {
			terms = append(terms, string(q.File.Log[i].Op))
		}
	}
	return terms
}

// concerns reports whether an entry is about the row.
func concerns(e *queue.Entry, id queue.RowID) bool {
	effect, err := e.Effect()
	return err == nil && effect.Row != nil && *effect.Row == id
}
