package evidence

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/ncruces/go-sqlite3"

	"mosaicstack.dev/mosaic/internal/wire"
)

// request is one Update on its way through the writer.
type request struct {
	do        func(*Tx) error
	onRefusal func(*Tx, error) error
	begun     atomic.Bool // by the writer, or given up by the caller
	err       error
	panicked  any
	done      chan struct{} // closed when err is final
}

// writer owns the writing connection. Its goroutine is the only one that
// writes to the store.
type writer struct {
	store *Store
	c     *conn
	state state
	tx    Tx
	ids   ids
	batch []*request
	pages int // in the WAL after the last commit
}

// checkpointPages is the size of the WAL, in pages, from which a checkpoint
// follows a commit.
const checkpointPages = 1000

func newWriter(ctx context.Context, s *Store) (_ *writer, err error) {
	undo, err := makeSidecars(s.path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			undo()
		}
	}()
	c, err := connect(ctx, s.path, s.options.vfs, writing)
	if err != nil {
		return nil, err
	}
	w := &writer{store: s, c: c, batch: make([]*request, 0, s.options.MaxBatch)}
	w.state.clock = s.options.clock
	w.tx = Tx{Rows: Rows{c}, state: &w.state, ids: &w.ids}
	c.db.WALHook(func(_ *sqlite3.Conn, _ string, pages int) error {
		w.pages = pages
		return nil
	})
	if err := w.state.load(c, s.found); err != nil {
		c.close()
		return nil, err
	}
	return w, nil
}

// run serves the queue until it is closed.
func (w *writer) run() {
	for r := range w.store.queue {
		w.fill(r)
		if w.store.Err() != nil {
			w.answer(refuse(wire.StorageUnavailable, w.store.Err()))
			continue
		}
		w.commitBatch()
		w.checkpoint()
	}
	w.stop()
}

// fill takes what is queued into the batch, up to its limit.
func (w *writer) fill(r *request) {
	w.batch = w.batch[:0]
	for {
		if r.begun.CompareAndSwap(false, true) {
			w.batch = append(w.batch, r)
		}
		if len(w.batch) == cap(w.batch) {
			return
		}
		var open bool
		select {
		case r, open = <-w.store.queue:
			if !open {
				return
			}
		default:
			return
		}
	}
}

func (w *writer) pass(p CrashPoint) {
	if w.store.options.crash != nil {
		w.store.options.crash(p)
	}
}

// commitBatch runs the batch in one transaction and answers it.
func (w *writer) commitBatch() {
	if len(w.batch) == 0 {
		return
	}
	err := w.transact()
	if err == nil {
		w.pass(CommittedNotAnswered)
		w.answer(nil)
		w.pass(Answered)
		return
	}
	w.recover(err)
	w.answer(refuse(wire.StorageUnavailable, err))
}

// answer gives every request of the batch its result; err, when not nil,
// overrides them all.
func (w *writer) answer(err error) {
	for i, r := range w.batch {
		if err != nil {
			r.err = err
		}
		close(r.done)
		w.batch[i] = nil
	}
	w.batch = w.batch[:0]
}

// transact runs the requests and commits. An error means that nothing of the
// batch was acknowledged and that the transaction must be cleaned up.
func (w *writer) transact() error {
	w.c.broken = nil
	if err := w.c.query(qBegin).exec(); err != nil {
		return err
	}
	rows := w.state.rows
	for _, r := range w.batch {
		if err := w.serve(r); err != nil {
			return err
		}
	}
	if w.state.rows == rows {
		// Nothing to make durable: a commit would sync for rolled-back pages.
		return w.c.query(qRollback).exec()
	}
	w.pass(BeforeCommit)
	return w.c.query(qCommit).exec()
}

// serve runs one request in its savepoint. The error is one of the whole
// transaction; what the request itself returned is in r.err.
func (w *writer) serve(r *request) error {
	saved := w.state
	if err := w.c.query(qSavepoint).exec(); err != nil {
		return err
	}
	w.tx.given = w.tx.given[:0]
	r.err = w.call(r, func() error { return r.do(&w.tx) })
	if r.err != nil && w.c.broken == nil {
		if err := w.rollback(saved); err != nil {
			return err
		}
		if r.onRefusal != nil && r.panicked == nil {
			w.tx.given = w.tx.given[:0]
			if err := w.call(r, func() error { return r.onRefusal(&w.tx, r.err) }); err != nil {
				r.err = refuse(wire.StorageUnavailable, fmt.Errorf("recording a refusal: %w", err))
				if w.c.broken == nil {
					if err := w.rollback(saved); err != nil {
						return err
					}
				}
			}
		}
	}
	if w.c.broken != nil {
		return w.c.broken
	}
	return w.c.query(qRelease).exec()
}

// rollback takes back what the request wrote, in the file and in the state.
func (w *writer) rollback(saved state) error {
	w.state = saved
	return w.c.query(qRollbackTo).exec()
}

// call runs a caller's function. A panic in it is a failure of that request,
// raised again in the caller's goroutine; the batch goes on.
func (w *writer) call(r *request, fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			r.panicked = fmt.Sprintf("%v\n\n%s", p, debug.Stack())
			err = errors.New("evidence: the request panicked")
		}
	}()
	return fn()
}

// recover cleans up after a transaction that failed. When nothing can have
// been written the state is read from the file again and the store goes on;
// otherwise the store fails, and the next open finds out what is true.
func (w *writer) recover(cause error) {
	if !isTransient(cause) {
		w.store.fail(cause)
		return
	}
	if !w.c.db.GetAutocommit() {
		if err := w.c.db.Exec("ROLLBACK"); err != nil {
			w.store.fail(err)
			return
		}
	}
	if err := w.state.load(w.c, w.store.found); err != nil {
		w.store.fail(err)
	}
}

// checkpoint moves the WAL into the file when it has grown. It runs after the
// batch was answered, and never inside a commit, so that its failure is never
// taken for one of the commit.
func (w *writer) checkpoint() {
	if w.pages < w.store.options.checkpointPages || w.store.Err() != nil {
		return
	}
	if _, _, err := w.c.db.WALCheckpoint("main", sqlite3.CHECKPOINT_PASSIVE); err != nil && !isTransient(err) {
		w.store.fail(err)
	}
}

// stop closes the connections. After a failure the WAL is left as it is, for
// what the file holds is unknown.
func (w *writer) stop() {
	if w.store.Err() != nil {
		w.c.db.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true)
	}
	close(w.store.stopping)
	for range cap(w.store.readers) {
		if c := <-w.store.readers; c != nil {
			c.close()
		}
	}
	w.store.closeErr = w.c.close()
	close(w.store.stopped)
}
