package queue

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// Reading is what a read without the lock saw.
type Reading struct {
	File   *File
	State  *Replayed
	Notice string // "rev N visible, not confirmed durable", a stale table's warning, or ""
}

// Read reads the queue without the lock, the witness first and then the file
// (QUEUE-LOCK-54 to 64). Writers publish in the other order, so a normal write
// never makes the file look older than the witness. Whatever else looks wrong
// is looked at again under the lock, once, before it is reported: an
// accept-history may be under way.
func (c *Checkout) Read(ctx context.Context) (*Reading, error) {
	witness, err := c.readWitness(StepPeekWitness)
	if err != nil {
		return nil, err
	}
	text, stamp, err := c.files.Read(StepPeekQueue, c.Queue)
	if errors.Is(err, fs.ErrNotExist) && witness == nil {
		return nil, c.missing()
	}
	if err != nil {
		return c.recheck(ctx)
	}
	l := &loaded{text: text, stamp: stamp, witness: witness}
	if l.file, l.state, err = Load(text); err != nil {
		return c.recheck(ctx)
	}
	if err := c.checkCanonical(ctx, l.state); err != nil {
		return nil, err
	}
	switch l.standing = witness.stands(l.file, text); l.standing {
	case confirmed:
		return &Reading{File: l.file, State: l.state, Notice: c.viewNotice(l)}, nil
	case ahead:
		return &Reading{File: l.file, State: l.state, Notice: l.visible()}, nil
	default:
		return c.recheck(ctx)
	}
}

func (l *loaded) visible() string {
	return fmt.Sprintf("rev %d visible, not confirmed durable", l.file.Revision)
}

// recheck repeats steps 1 and 2 under the lock, where what is wrong is wrong.
func (c *Checkout) recheck(ctx context.Context) (r *Reading, err error) {
	h, err := c.lock(ctx, NoOp, "read")
	if err != nil {
		return nil, err
	}
	defer func() { err = h.after(err) }()
	l, err := h.load(ctx)
	if err != nil {
		return nil, err
	}
	r = &Reading{File: l.file, State: l.state}
	switch l.standing {
	case confirmed:
		r.Notice = c.viewNotice(l)
		return r, nil
	case ahead:
		// Nobody is writing, so this is something to fix (QUEUE-OPEN-68).
		r.Notice = l.visible() + "; run `mosaic queue sync`"
		return r, nil
	default:
		return nil, l.refusal()
	}
}

// viewNotice warns of a table that is not current (QUEUE-WRITE-56), but not
// while a writer is between the file and the table.
func (c *Checkout) viewNotice(l *loaded) string {
	v, err := c.readView(StepPeekView)
	if err != nil {
		return "the table cannot be read"
	}
	warning := v.freshness(l.file).warning(l.file)
	if warning == "" || c.beingWritten(l) {
		return ""
	}
	return warning
}

// beingWritten reports whether somebody writes, or has written since l was
// read.
func (c *Checkout) beingWritten(l *loaded) bool {
	if _, err := c.files.Stat(StepPeekView, c.Lock); err == nil {
		return true
	}
	now, err := c.files.Stat(StepPeekView, c.Queue)
	return err != nil || !now.same(l.stamp)
}

func (c *Checkout) missing() error {
	return refuse(QueueMissing, "there is no queue file %s; `mosaic queue genesis` begins a queue", c.relative(c.Queue))
}
