package evidence

import (
	"context"
	"sync"
	"sync/atomic"

	"mosaicstack.dev/mosaic/internal/wire"
)

// Options adjust a store. The zero value is what production uses.
type Options struct {
	// Readers is the number of snapshot connections; 0 means 2. They are
	// opened when first needed.
	Readers int
	// MaxBatch is the number of requests in one commit; 0 means 64.
	MaxBatch int

	// For this package's tests only.
	vfs             string           // name of a registered file layer, "" for storeVFS
	crash           func(CrashPoint) // called when the writer passes a point
	clock           func() int64     // wall clock, Unix milliseconds
	checkpointPages int              // 0 means checkpointPages
}

// Store is an open evidence store. All methods are safe for concurrent use.
type Store struct {
	path    string
	found   *examination
	options Options

	queue   chan *request
	closing sync.RWMutex // held for reading while a request enters the queue
	closed  bool         // under closing

	readers chan *conn // a nil stands for a connection that was not opened yet

	failed   chan struct{}
	failOnce sync.Once
	failure  atomic.Pointer[error]

	stopping  chan struct{} // closed when no request comes any more
	stopped   chan struct{} // closed when the files are
	closeOnce sync.Once
	closeErr  error
}

// Open opens an existing store after every check of BUS-SCHEMA-03 to 10. It
// refuses store-missing, store-version, store-digest, store-damaged,
// unsafe-permissions (also for a checkpoint key), invalid-path, disk-full,
// read-only-disk or storage-unavailable, and then has changed nothing.
// The caller holds the writer lock.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	return open(ctx, path, o, current())
}

func open(ctx context.Context, path string, o Options, v *version) (_ *Store, err error) {
	defer nameDisk(path, &err)
	if o.Readers == 0 {
		o.Readers = 2
	}
	if o.MaxBatch == 0 {
		o.MaxBatch = 64
	}
	if o.checkpointPages == 0 {
		o.checkpointPages = checkpointPages
	}
	if o.clock == nil {
		o.clock = wallClock
	}
	if err := checkKeys(path); err != nil {
		return nil, err
	}
	found, err := examine(ctx, path, v)
	if err != nil {
		return nil, err
	}
	s := &Store{
		path: path, found: found, options: o,
		queue:    make(chan *request, 4*o.MaxBatch),
		readers:  make(chan *conn, o.Readers),
		failed:   make(chan struct{}),
		stopping: make(chan struct{}),
		stopped:  make(chan struct{}),
	}
	w, err := newWriter(ctx, s)
	if err != nil {
		return nil, refuse(wire.StorageUnavailable, err)
	}
	for range o.Readers {
		s.readers <- nil
	}
	go w.run()
	return s, nil
}

// ID returns the id of the store, made when it was created.
func (s *Store) ID() string { return s.found.storeID }

// Update runs do in the next group commit, in a savepoint of its own, and
// returns after the commit is durable. When do returns an error its savepoint
// is rolled back; if onRefusal is not nil it then runs in the same transaction
// with that error, and what it writes is committed. Update returns do's error,
// or storage-unavailable when the evidence could not be made durable (also
// when onRefusal fails: BUS-PROTO-28). do runs on the writer goroutine and
// must not block or call Update.
//
// A ctx that ends before the request has begun withdraws it and Update returns
// ctx.Err(); afterwards Update waits for the outcome.
func (s *Store) Update(ctx context.Context, do func(*Tx) error, onRefusal func(*Tx, error) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r := &request{do: do, onRefusal: onRefusal, done: make(chan struct{})}
	if err := s.enqueue(ctx, r); err != nil {
		return err
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		if r.begun.CompareAndSwap(false, true) {
			return ctx.Err()
		}
		<-r.done
	}
	if r.panicked != nil {
		panic(r.panicked)
	}
	return r.err
}

func (s *Store) enqueue(ctx context.Context, r *request) error {
	s.closing.RLock()
	defer s.closing.RUnlock()
	if s.closed {
		return refuse(wire.StorageUnavailable, s.Err())
	}
	select {
	case s.queue <- r:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// View runs fn on a snapshot that holds everything acknowledged before the
// call and does not change while fn runs.
func (s *Store) View(ctx context.Context, fn func(*Snapshot) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c, err := s.reader(ctx)
	if err != nil {
		return err
	}
	defer func() { s.readers <- c }()
	c.broken = nil
	c.db.SetInterrupt(ctx)
	defer c.db.SetInterrupt(context.Background())
	if err := c.query(qBeginRead).exec(); err != nil {
		return err
	}
	defer func() {
		c.db.SetInterrupt(context.Background())
		c.query(qRollback).exec()
	}()
	err = fn(&Snapshot{Rows{c}})
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// reader takes a snapshot connection, opening it when it is its first use.
func (s *Store) reader(ctx context.Context) (*conn, error) {
	select {
	case <-s.failed:
		return nil, refuse(wire.StorageUnavailable, s.Err())
	case <-s.stopping:
		return nil, refuse(wire.StorageUnavailable, s.Err())
	default:
	}
	select {
	case c := <-s.readers:
		if c != nil {
			return c, nil
		}
		c, err := connect(ctx, s.path, s.options.vfs, reading)
		if err != nil {
			s.readers <- nil
			return nil, refuse(wire.StorageUnavailable, err)
		}
		return c, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.stopping:
		return nil, refuse(wire.StorageUnavailable, s.Err())
	}
}

// Failed is closed when the store has closed itself because the state of its
// file is unknown; Err then says why (for the log, never for a reply).
func (s *Store) Failed() <-chan struct{} { return s.failed }

// Err returns why the store failed, or nil.
func (s *Store) Err() error {
	if e := s.failure.Load(); e != nil {
		return *e
	}
	return nil
}

// fail records why the file's state is unknown. The writer then answers
// everything with storage-unavailable and touches the file no more.
func (s *Store) fail(err error) {
	s.failOnce.Do(func() {
		s.failure.Store(&err)
		close(s.failed)
	})
}

// Close waits for the requests under way, checkpoints the WAL and closes.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		s.closing.Lock()
		s.closed = true
		s.closing.Unlock()
		close(s.queue)
		<-s.stopped
	})
	return s.closeErr
}

// Rows reads. Tx and Snapshot both offer it: a Tx sees its own writes.
type Rows struct{ c *conn }

// Snapshot is a consistent read-only view.
type Snapshot struct{ Rows }
