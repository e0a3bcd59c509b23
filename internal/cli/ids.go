package cli

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"mosaicstack.dev/mosaic/internal/wire"
)

// Ids are UUIDv7: their beginnings are times and alike, so people are shown
// the last eight characters, and may type any beginning or end that names one
// record. Nothing is guessed: what fits two records is refused.

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

// pick finds the id that typed abbreviates among known. A whole id is taken as
// it is: whether it exists is for the broker to say. missing is the code when
// nothing fits.
func pick[T ~string](typed string, known []T, missing wire.Code) (T, error) {
	typed = strings.ToLower(strings.TrimSpace(typed))
	if wholeID.MatchString(typed) {
		return T(typed), nil
	}
	if len(typed) < fewestID {
		return "", explained(wire.Refuse(wire.AmbiguousID), "%q is shorter than %d characters", typed, fewestID)
	}
	var found []T
	for _, id := range known {
		if s := string(id); (strings.HasPrefix(s, typed) || strings.HasSuffix(s, typed)) && !slices.Contains(found, id) {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 0:
		return "", explained(wire.Refuse(missing), "%q", typed)
	case 1:
		return found[0], nil
	}
	return "", explained(wire.Refuse(wire.AmbiguousID), "%q fits %d records", typed, len(found))
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
