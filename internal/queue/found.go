package queue

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"

	"mosaicstack.dev/mosaic/internal/wire"
)

// Found publishes a queue's first revision, its genesis entry alone, through
// the write path (QUEUE-DATA-66 to 70, 81, QUEUE-OPEN-26, 75). args are
// canonical GenesisArgs. look is called under the lock with the text between
// the markers of the view file, nil when there is no such file, and returns
// what genesis records of the map. A retry of the operation is answered like
// every other one.
func (c *Checkout) Found(ctx context.Context, op OpID, args json.RawMessage, by Seat, look func(table []byte) (*GenesisFacts, error)) (Acknowledgement, error) {
	if err := CheckOp(op); err != nil {
		return Acknowledgement{}, err
	}
	return c.underLock(ctx, op, VerbGenesis, func(h *held) (Acknowledgement, error) {
		_, err := c.files.Stat(StepRead, c.Queue)
		if !errors.Is(err, fs.ErrNotExist) {
			return h.refound(ctx, args)
		}
		v, err := h.foundable(ctx, args)
		if err != nil {
			return Acknowledgement{}, err
		}
		var table []byte
		if !v.absent {
			table = v.body()
		}
		facts, err := look(table)
		if err != nil {
			return Acknowledgement{}, err
		}
		return h.found(v, Request{Op: op, Verb: VerbGenesis, By: by, Args: args, Facts: Facts{Genesis: facts}})
	})
}

// refound answers a retry of genesis, and refuses everything else.
func (h *held) refound(ctx context.Context, args json.RawMessage) (Acknowledgement, error) {
	exists := refuse(QueueExists, "the queue file %s exists already; nothing has changed", h.c.relative(h.c.Queue))
	l, err := h.load(ctx)
	if err != nil {
		return Acknowledgement{}, exists
	}
	recorded, err := l.file.Recorded(h.op, VerbGenesis, args)
	if err != nil {
		return Acknowledgement{}, err
	}
	if recorded == nil {
		return Acknowledgement{}, exists
	}
	if err := h.settle(l, recorded); err != nil {
		return Acknowledgement{}, err
	}
	return h.repeat(l.file, recorded)
}

// foundable checks that no queue was here before, and returns the view file.
func (h *held) foundable(ctx context.Context, raw json.RawMessage) (*view, error) {
	var args GenesisArgs
	if err := wire.Decode(raw, &args); err != nil {
		return nil, refuse(ArgumentInvalid, "the arguments of genesis: %v", err)
	}
	if err := h.c.checkCanonical(ctx, &Replayed{Root: args.CanonicalRoot, Branch: args.Branch}); err != nil {
		return nil, err
	}
	found, err := h.c.committed(ctx)
	if err != nil {
		return nil, err
	}
	if found {
		return nil, refuse(QueueExists, "HEAD has a queue file %s; bring it back with git instead of beginning another history", h.c.relative(h.c.Queue))
	}
	if _, err := h.c.files.Stat(StepWitness, h.c.Witness); !errors.Is(err, fs.ErrNotExist) {
		return nil, refuse(WitnessPresent, "a witness exists, so there was a queue here; find its file before another history begins")
	}
	v, err := h.c.readView(StepView)
	if err == nil && !v.absent && v.fault != "" {
		err = refuse(ViewUnknown, "%s needs the lines %s and %s, once and in this order: %s", h.c.relative(h.c.View), BeginMarker, EndMarker, v.fault)
	}
	return v, err
}

func (h *held) found(v *view, r Request) (Acknowledgement, error) {
	state, entry, err := Empty().Apply(r, Stamp(h.c.machine.now()))
	if err != nil {
		return Acknowledgement{}, err
	}
	first, err := newRevision(NewFile(state, entry), state)
	if err != nil {
		return Acknowledgement{}, err
	}
	for _, dir := range []string{filepath.Dir(h.c.Queue), filepath.Dir(h.c.View)} {
		if err := h.makeDir(dir); err != nil {
			return Acknowledgement{}, failed(WriteFailed, "the directory %s cannot be made (%s); nothing has changed", dir, cause(err))
		}
	}
	if err := h.publish(nil, first); err != nil {
		return Acknowledgement{}, err
	}
	if err := h.show(v, first.body); err != nil {
		return Acknowledgement{}, notShown(h.op, first.file.Revision, err)
	}
	return acknowledge(first.entry())
}

// makeDir makes a directory of the work tree durable, with what is missing
// above it.
func (h *held) makeDir(dir string) error {
	_, err := h.c.files.Stat(StepStage, dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	above := filepath.Dir(dir)
	if err := h.makeDir(above); err != nil {
		return err
	}
	if err := h.c.files.Mkdir(StepStage, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return h.c.files.SyncDir(StepStage, above)
}
