package cli

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"mosaicstack.dev/mosaic/internal/wire"
)

// Ids are UUIDv7: their beginnings are times and alike, so people are shown
// the last eight characters, and may type any beginning or end that names one
// record. Nothing is guessed: what fits two records is refused. Whatever id a
// command prints can be typed back in part: the bus knows the records of every
// kind (the verb find), and the host its runs.

const (
	shortID  = 8 // characters of an id that people are shown
	fewestID = 6 // characters that a typed id must have
)

var wholeID = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// short is an id as people are shown it.
func short[T ~string](id T) string {
	s := string(id)
	if !wholeID.MatchString(s) {
		return s
	}
	return s[len(s)-shortID:]
}

// shortOf is short for an id that may be absent.
func shortOf[T ~string](id *T) string {
	if id == nil {
		return ""
	}
	return short(*id)
}

// partOf is what was typed of an id, in the form of ids, and whether it is a
// whole one. Too little to look for is a usage error.
func partOf(typed string) (part string, isWhole bool, err error) {
	part = strings.ToLower(strings.TrimSpace(typed))
	if len(part) < fewestID {
		return "", false, usage("%q is too short for an id: give at least %d characters of its beginning or end", part, fewestID)
	}
	return part, wholeID.MatchString(part), nil
}

// pick finds the id that typed abbreviates among known. A whole id is taken as
// it is: whether it exists is for the broker to say. missing is the code when
// nothing fits.
func pick[T ~string](typed string, known []T, missing wire.Code) (T, error) {
	part, isWhole, err := partOf(typed)
	if err != nil || isWhole {
		return T(part), err
	}
	var found []T
	for _, id := range known {
		if s := string(id); (strings.HasPrefix(s, part) || strings.HasSuffix(s, part)) && !slices.Contains(found, id) {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 0:
		return "", explained(wire.Refuse(missing), "%q", echo(part))
	case 1:
		return found[0], nil
	}
	return "", explained(wire.Refuse(wire.AmbiguousID), "%q fits %d records", part, len(found))
}

// Kinds of record that have an id.
const (
	kindMessage  = "message"
	kindDecision = "decision"
)

// foundRecord is a row of the verb find.
type foundRecord struct {
	Kind string `json:"kind"` // message, decision, event or run
	ID   string `json:"id"`
}

var partOfID = regexp.MustCompile(`^[0-9a-f-]+$`)

// resolve finds the id of the record of a kind, or of any for "", that typed
// names: any by its whole id or its beginning, and by its end the open
// decisions and the latest records of the business.
func resolve[T ~string](ctx context.Context, s *session, typed, kind string, missing wire.Code) (T, error) {
	part, isWhole, err := partOf(typed)
	if err != nil || isWhole {
		return T(part), err
	}
	var found []foundRecord
	if partOfID.MatchString(part) && len(part) <= 36 {
		if found, err = verb[[]foundRecord](ctx, s, "find", map[string]string{"id": part}); err != nil {
			return "", err
		}
	}
	var ids []T
	for _, f := range found {
		if kind == "" || f.Kind == kind {
			ids = append(ids, T(f.ID))
		}
	}
	if len(ids) == 0 && len(found) > 0 {
		return "", explained(wire.Refuse(missing), "%q is the id of a %s; see it with: mosaic trail %s", part, found[0].Kind, part)
	}
	return pick(part, ids, missing)
}

// ago says how long a time lies back, roughly, for people.
func ago(at wire.Timestamp, now time.Time) string {
	t, err := time.Parse(time.RFC3339, string(at))
	if err != nil {
		return string(at)
	}
	return span(now.Sub(t)) + " ago"
}

// span is a duration in one unit.
func span(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return plural(int(d/time.Second), "second")
	case d < time.Hour:
		return plural(int(d/time.Minute), "minute")
	case d < 48*time.Hour:
		return plural(int(d/time.Hour), "hour")
	}
	return plural(int(d/(24*time.Hour)), "day")
}

// plural is a count with its noun.
func plural(n int, noun string) string { return counted(n, noun, noun+"s") }

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// seconds is a duration in seconds for people.
func seconds(s float64) string { return strconv.FormatFloat(s, 'f', 1, 64) + " s" }
