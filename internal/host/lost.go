package host

import (
	"context"
	"errors"
	"time"

	"mosaicstack.dev/mosaic/internal/broker"
	"mosaicstack.dev/mosaic/internal/launch"
	"mosaicstack.dev/mosaic/internal/wire"
)

// lostPatience is how long a start waits for the processes of a lost run to
// go, and lostInterval how often it looks.
const (
	lostPatience = 15 * time.Second
	lostInterval = 20 * time.Millisecond
)

// endLostRuns ends the runs of an earlier host that died. Their monitors kill
// them when that host dies; whatever is left of them is killed here. A run
// that will not die refuses the start with run-alive, so that its role is
// never given to a second one beside it.
func (h *host) endLostRuns(ctx context.Context) error {
	lost, err := h.broker.LostRuns(ctx)
	if err != nil {
		return err
	}
	for _, run := range lost {
		if err := h.endLost(ctx, run); err != nil {
			return err
		}
		h.log.Warn("a run of an earlier host was lost", "run", run.Run, "business", run.Business, "instance", run.Role)
	}
	return nil
}

func (h *host) endLost(ctx context.Context, run broker.LostRun) error {
	launch.Sweep(run.Run)
	ctx, cancel := context.WithTimeout(ctx, lostPatience)
	defer cancel()
	for {
		err := h.broker.EndLost(ctx, run.Business, run.Run)
		if !errors.Is(err, wire.Refuse(wire.RunAlive)) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(lostInterval):
		}
	}
}
