package cli

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"mosaicstack.dev/mosaic/internal/wire"
)

// A host that hangs leaves a sent mutation uncertain, and never a read.
func TestAReadWithoutAnAnswerIsNotUncertain(t *testing.T) {
	t.Parallel()
	lost := wire.Refuse(wire.OutcomeUnknown)
	for name, want := range map[string]wire.Code{
		"inbox": wire.TimedOut, "status": wire.TimedOut, "runs": wire.TimedOut,
		"message.send": wire.OutcomeUnknown, "message.receive": wire.OutcomeUnknown, "launch": wire.OutcomeUnknown,
	} {
		if err := unanswered(name, lost); !errors.Is(err, wire.Refuse(want)) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if err := unanswered("inbox", fmt.Errorf("%w: %w", lost, context.Canceled)); !errors.Is(err, context.Canceled) {
		t.Errorf("Ctrl-C became %v", err)
	}
}
