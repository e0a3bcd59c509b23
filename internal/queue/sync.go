package queue

import (
	"context"
)

// Synced is what became durable.
type Synced struct {
	Rev       int     `json:"rev"`
	Confirmed []Entry `json:"confirmed"` // durable now, never acknowledged
	Warning   string  `json:"-"`
}

// Sync makes an unconfirmed tail durable and returns its operations, whose
// callers had no answer (QUEUE-WRITE-10, 44, 61, 62). It logs nothing, needs no
// committed genesis, and ignores the table. It also gives a queue of genesis
// alone the witness that a killed genesis did not write (QUEUE-WITNESS-12).
// op may be NoOp.
func (c *Checkout) Sync(ctx context.Context, op OpID) (s Synced, err error) {
	h, err := c.lockUnlogged(ctx, op, "sync")
	if err != nil {
		return Synced{}, err
	}
	defer func() { s.Warning, err = h.finish(err) }()
	l, err := h.load(ctx)
	if err != nil {
		return Synced{}, err
	}
	tail := l.tail()
	if l.standing == unwitnessed && len(l.file.Log) == 1 {
		tail = l.file.Log
	}
	if len(tail) > 0 {
		err = h.makeDurable(l)
	} else {
		err = l.refusal()
	}
	if err != nil {
		return Synced{}, err
	}
	return Synced{Rev: l.file.Revision, Confirmed: tail}, nil
}

// Rendered says what Render did.
type Rendered struct {
	Rev     int    `json:"rev"`
	Written bool   `json:"written"`
	Warning string `json:"-"`
}

// Render writes the table when it shows an earlier revision, nothing when it
// is current, and refuses what a person changed (QUEUE-WRITE-58, 63 to 66). It
// logs nothing. op may be NoOp.
func (c *Checkout) Render(ctx context.Context, op OpID) (r Rendered, err error) {
	h, err := c.lockUnlogged(ctx, op, "render")
	if err != nil {
		return Rendered{}, err
	}
	defer func() { r.Warning, err = h.finish(err) }()
	l, err := h.load(ctx)
	if err == nil {
		err = l.refusal()
	}
	if err != nil {
		return Rendered{}, err
	}
	v, err := c.readView(StepView)
	if err != nil {
		return Rendered{}, err
	}
	shown := v.freshness(l.file)
	switch {
	case shown.current(l.file):
		return Rendered{Rev: l.file.Revision}, nil
	case !shown.known:
		return Rendered{}, shown.refusal(l.file)
	}
	if err := h.show(v, Body(l.state)); err != nil {
		return Rendered{}, failed(WriteFailed, "the table was not written (%s)", cause(err))
	}
	return Rendered{Rev: l.file.Revision, Written: true}, nil
}

// CheckRender refuses a table that is not the render of the queue's last
// revision, and writes nothing (QUEUE-WRITE-67, 88, 89).
func (c *Checkout) CheckRender(ctx context.Context) (rev int, err error) {
	h, err := c.lockUnlogged(ctx, NoOp, "render")
	if err != nil {
		return 0, err
	}
	defer func() { err = h.after(err) }()
	l, _, err := h.sound(ctx)
	if err != nil {
		return 0, err
	}
	return l.file.Revision, nil
}

// sound is the whole of what verify, snapshot and render --check demand: a
// valid file that the witness confirms, and a table that shows it.
func (h *held) sound(ctx context.Context) (*loaded, *view, error) {
	l, err := h.load(ctx)
	if err == nil {
		err = l.refusal()
	}
	if err != nil {
		return nil, nil, err
	}
	v, err := h.currentView(l)
	return l, v, err
}

// lockUnlogged takes the lock for a verb that logs nothing.
func (c *Checkout) lockUnlogged(ctx context.Context, op OpID, verb string) (*held, error) {
	if op == "" {
		op = NoOp
	}
	if op != NoOp {
		if err := CheckOp(op); err != nil {
			return nil, err
		}
	}
	return c.lock(ctx, op, verb)
}

// finish releases the lock after a verb that logs nothing: what it could not
// remove is a warning after success, and a word more after a refusal.
func (h *held) finish(err error) (warning string, _ error) {
	if err != nil {
		return "", h.after(err)
	}
	if left := h.release(); left != nil {
		return left.Error(), nil
	}
	return "", nil
}
