package queue

import (
	"bytes"
	"context"
	"strconv"

	"mosaicstack.dev/mosaic/internal/git"
)

// Record writes one operation and looks up what it needs to know of HEAD and
// of the working tree. A retry looks nothing up. Genesis, accept-history and
// what asks for a review have functions of their own.
func (c *Checkout) Record(ctx context.Context, op OpID, by Seat, args Args) (Acknowledgement, error) {
	raw, err := Canonical(args)
	if err != nil {
		return Acknowledgement{}, err
	}
	warning := ""
	done, err := c.Write(ctx, op, args.Verb(), raw, by, func(s *Replayed) (r Request, err error) {
		r.Facts, warning, err = c.lookUp(ctx, s, args)
		return r, err
	})
	if err == nil && warning != "" && !done.Already {
		done.warn(warning)
	}
	return done, err
}

// lookUp returns the facts of an operation, and a warning that does not stop
// it.
func (c *Checkout) lookUp(ctx context.Context, s *Replayed, args Args) (facts Facts, warning string, err error) {
	switch a := args.(type) {
	case *AddArgs:
		facts.Blob, err = c.pin(ctx, a.Brief)
	case *SetArgs:
		if a.Brief != nil {
			facts.Blob, err = c.pin(ctx, *a.Brief)
		}
	case *MoveArgs:
		row := s.Row(a.Row)
		switch {
		case row == nil:
		case a.To == InProgress:
			facts.Blob, err = WorkingBlob(c.Root, row.Brief)
			if err != nil {
				err = failed(ReadFailed, "the working brief %s cannot be read (%s)", row.Brief.Path, cause(err))
			}
		case a.To == Briefed && row.State == Queued:
			warning, err = c.drifted(ctx, row)
		}
	}
	return facts, warning, err
}

func (c *Checkout) pin(ctx context.Context, brief BriefRef) (string, error) {
	repo, err := git.Open(ctx, c.Root)
	if err != nil {
		return "", gitFailure(err)
	}
	return PinBrief(ctx, repo, c.Root, brief)
}

// drifted warns when HEAD has another brief than the row pinned; accepting the
// row is still its lead's decision (QUEUE-OPEN-30).
func (c *Checkout) drifted(ctx context.Context, row *Row) (string, error) {
	repo, err := git.Open(ctx, c.Root)
	if err != nil {
		return "", gitFailure(err)
	}
	blob, err := HeadBlob(ctx, repo, row.Brief.Path)
	if err != nil {
		return "", gitFailure(err)
	}
	if blob == row.Brief.Blob {
		return "", nil
	}
	return "HEAD's " + row.Brief.Path + " is not the version that row pinned; re-pin it before the start", nil
}

// Drift compares the briefs of the rows that are neither done nor parked with
// HEAD (QUEUE-CLI-22).
func (c *Checkout) Drift(ctx context.Context, s *Replayed) ([]Drift, error) {
	repo, err := git.Open(ctx, c.Root)
	if err != nil {
		return nil, gitFailure(err)
	}
	drift, err := BriefDrift(ctx, repo, s)
	if err != nil {
		return nil, gitFailure(err)
	}
	return drift, nil
}

// Next says what a seat does next. Only the brief of a row to start is read.
func (c *Checkout) Next(s *Replayed, seat Seat) (Next, error) {
	return s.Next(seat, func(row *Row) (bool, error) {
		blob, err := WorkingBlob(c.Root, row.Brief)
		if err != nil {
			return false, failed(ReadFailed, "the working brief %s cannot be read (%s)", row.Brief.Path, cause(err))
		}
		return blob != row.Brief.Blob, nil
	})
}

// Find returns the entry of an operation; nil when the log has none.
func (f *File) Find(op OpID) *Entry {
	for i := range f.Log {
		if f.Log[i].Op == op {
			return &f.Log[i]
		}
	}
	return nil
}

// Of returns the entries that changed a row, genesis aside. A result is
// canonical and begins with its row, so none has to be decoded.
func (f *File) Of(id RowID) []Entry {
	mark := []byte(`{"row":` + strconv.Itoa(int(id)) + `,`)
	found := []Entry{}
	for _, e := range f.Log {
		if bytes.HasPrefix(e.Result, mark) {
			found = append(found, e)
		}
	}
	return found
}

// ReceiptOf is the receipt of a recorded operation.
func ReceiptOf(e *Entry) (Acknowledgement, error) { return acknowledge(e) }
