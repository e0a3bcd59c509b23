package queue

import (
	"context"
	"encoding/json"
	"errors"
)

var errNotBuilt = errors.New("queue: not built yet")

// Checkout is the canonical checkout: its root, branch, paths of the five
// files, and the git directory. Open runs the canonical checks (QUEUE-CANON)
// from a working directory.
type Checkout struct {
	Root, GitDir, Branch             string
	Queue, View, Lock, Gate, Witness string // absolute paths
}

// Change is what a mutation does inside the write path: given the state, it
// returns the request to apply. It runs under the lock and must not touch the
// network.
type Change func(s *Replayed) (Request, error)

// Receipt line and JSON of an acknowledged operation.
type Acknowledgement struct {
	Op      OpID   `json:"op"`
	Rev     int    `json:"rev"`
	Row     *RowID `json:"row"`
	From    string `json:"from"`
	To      string `json:"to"`
	Already bool   `json:"already"`
	Warning string `json:"-"` // one line for stderr, or ""
}

// Write runs the twelve steps for one operation (QUEUE-WRITE-05 to 42). verb
// and args identify a retry before change is called.
func (c *Checkout) Write(ctx context.Context, op OpID, verb string, args json.RawMessage, by Seat, change Change) (Acknowledgement, error) {
	return Acknowledgement{}, errNotBuilt
}

// Reading is what an unlocked read saw.
type Reading struct {
	File   *File
	State  *Replayed
	Notice string // "rev N visible, not confirmed durable", a stale view's warning, or ""
}

// Read reads without the lock, the witness first (QUEUE-LOCK-54 to 64); only a
// locked recheck reports what is wrong.
func (c *Checkout) Read(ctx context.Context) (*Reading, error) { return nil, errNotBuilt }
