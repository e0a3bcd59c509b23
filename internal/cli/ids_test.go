package cli

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"mosaicstack.dev/mosaic/internal/wire"
)

func TestPickNeverGuesses(t *testing.T) {
	t.Parallel()
	const (
		a = "0197c3a0-7d1e-7c55-9f3a-2b6f5f0c9e21"
		b = "0197c3a0-7d1e-7c55-9f3a-2b6faf0c9e21"
		c = "0197c3a0-7d1f-7c55-9f3a-2b6f11111111"
	)
	known := []wire.DecisionID{a, b, c, c}
	for _, tt := range []struct {
		typed string
		want  wire.DecisionID
		code  wire.Code
	}{
		{a, a, ""},
		{"0197c3a0-7d1e-7c55-9f3a-ffffffffffff", "0197c3a0-7d1e-7c55-9f3a-ffffffffffff", ""}, // whole: for the broker to judge
		{"5f0c9e21", a, ""},
		{"5F0C9E21", a, ""},
		{" 11111111 ", c, ""},
		{"0197c3a0-7d1f", c, ""},
		{"0c9e21", "", wire.AmbiguousID},
		{"0197c3a0", "", wire.AmbiguousID},
		{"22222222", "", wire.DecisionNotFound},
		{"7c55-9f3a", "", wire.DecisionNotFound}, // the middle is neither end
	} {
		got, err := pick(tt.typed, known, wire.DecisionNotFound)
		if got != tt.want || tt.code == "" && err != nil || tt.code != "" && !errors.Is(err, wire.Refuse(tt.code)) {
			t.Errorf("pick(%q) = %q, %v; want %q, %q", tt.typed, got, err, tt.want, tt.code)
		}
	}
}

// One would fit, but five characters are a guess, and none are a variable that
// was not set. Neither is told that it fits more than one record.
func TestTooLittleOfAnIDIsAUsageError(t *testing.T) {
	t.Parallel()
	for _, typed := range []string{"", "0", " 11111 "} {
		_, err := pick(typed, []wire.Run{}, wire.UnknownRun)
		if f := describe(err, false); f.exit != exitUsage || !strings.Contains(f.sentence, "too short for an id") {
			t.Errorf("pick(%q): %+v", typed, f)
		}
	}
}

func TestShortIsTheEndThatCanBeTypedBack(t *testing.T) {
	t.Parallel()
	if got := short(wire.MessageID("0197c3a0-7d1e-7c55-9f3a-2b6f5f0c9e21")); got != "5f0c9e21" {
		t.Errorf("short = %q", got)
	}
	for _, other := range []string{"", "human-cli", "queue:1", "not an id at all, but long enough"} {
		if got := short(other); got != other {
			t.Errorf("short(%q) = %q", other, got)
		}
	}
}

func TestAgoCountsInOneUnit(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	for at, want := range map[wire.Timestamp]string{
		"2026-01-02T11:59:59.500Z": "0 seconds ago",
		"2026-01-02T11:59:59.000Z": "1 second ago",
		"2026-01-02T11:00:01.000Z": "59 minutes ago",
		"2026-01-02T09:30:00.000Z": "2 hours ago",
		"2025-12-30T12:00:00.000Z": "3 days ago",
		"2026-01-03T12:00:00.000Z": "0 seconds ago", // a clock that was set back
		"yesterday":                "yesterday",
	} {
		if got := ago(at, now); got != want {
			t.Errorf("ago(%s) = %q, want %q", at, got, want)
		}
	}
}

func TestPollEndsWhenItIsDoneOrTheTimeIsUp(t *testing.T) {
	t.Parallel()
	asked := 0
	if done, err := poll(context.Background(), 0, func() (bool, error) { asked++; return false, nil }); done || err != nil || asked != 1 {
		t.Errorf("without a wait: %v, %v after %d questions", done, err, asked)
	}
	asked = 0
	if done, err := poll(context.Background(), time.Minute, func() (bool, error) { asked++; return asked == 3, nil }); !done || err != nil {
		t.Errorf("a wait that is answered: %v, %v", done, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if _, err := poll(ctx, -1, func() (bool, error) { cancel(); return false, nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("a wait without end that is interrupted: %v", err)
	}
	failure := wire.Refuse(wire.NotHolder)
	if _, err := poll(context.Background(), time.Minute, func() (bool, error) { return false, failure }); !errors.Is(err, failure) {
		t.Errorf("a question that fails: %v", err)
	}
}
