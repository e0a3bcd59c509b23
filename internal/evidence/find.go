package evidence

import (
	"slices"
	"strings"

	"mosaicstack.dev/mosaic/internal/wire"
)

// Kinds of Found.
const (
	FoundMessage  = "message"
	FoundDecision = "decision"
	FoundEvent    = "event"
	FoundRun      = "run"
)

// Found is a record that a part of an id names.
type Found struct {
	Kind string `json:"kind"` // message, decision, event or run
	ID   string `json:"id"`
}

const (
	// FindWindow is how many of the latest rows of each table are looked at for
	// the end of an id. Ids begin with their time, so people are shown their
	// ends, and no index serves an end: a window keeps the cost the same however
	// long the record is. A beginning is found however old it is.
	FindWindow = 2000
	// maxFound is how many records of a kind are told: two are already too many.
	maxFound = 5
)

// Find returns the records of a business whose id begins or ends with part, a
// piece of an id in lower case, at most five of each kind. An end is looked for
// among the open decisions and the latest FindWindow rows of each table.
func (r *Rows) Find(b wire.Business, part string) ([]Found, error) {
	var all []Found
	for _, kind := range []struct {
		name string
		q    query
	}{
		{FoundMessage, qFindMessages}, {FoundDecision, qFindDecisions}, {FoundEvent, qFindEvents}, {FoundRun, qFindRuns},
	} {
		s := r.c.query(kind.q).text(1, string(b)).text(2, part).text(3, part+"~").integer(4, FindWindow).integer(5, maxFound)
		for s.step() {
			// A whole id is a beginning and an end.
			if f := (Found{kind.name, strings.Clone(s.ColumnText(0))}); !slices.Contains(all, f) {
				all = append(all, f)
			}
		}
		if err := s.finish(); err != nil {
			return nil, err
		}
	}
	return all, nil
}
