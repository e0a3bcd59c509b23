package evidence

import (
	"context"
	"errors"
)

var errNotBuilt = errors.New("evidence: not built yet")

// Options adjust a store. The zero value is what production uses.
type Options struct {
	// Readers is the number of snapshot connections; 0 means 2. They are
	// opened when first needed.
	Readers int
	// MaxBatch is the number of requests in one commit; 0 means 64.
	MaxBatch int
}

// Store is an open evidence store. All methods are safe for concurrent use.
type Store struct{}

// Create makes a new store at path (mode 0600, in an existing directory) with
// a fresh store id, and closes it. It refuses store-exists when anything is
// there: a second history is never made by accident.
func Create(ctx context.Context, path string) error { return errNotBuilt }

// Open opens an existing store after every check of BUS-SCHEMA-03 to 10. It
// refuses store-missing, store-version, store-digest, store-damaged,
// unsafe-permissions or storage-unavailable, and then has changed nothing.
// The caller holds the writer lock.
func Open(ctx context.Context, path string, o Options) (*Store, error) { return nil, errNotBuilt }

// Update runs do in the next group commit, in a savepoint of its own, and
// returns after the commit is durable. When do returns an error its savepoint
// is rolled back; if onRefusal is not nil it then runs in the same transaction
// with that error, and what it writes is committed. Update returns do's error,
// or storage-unavailable when the evidence could not be made durable (also
// when onRefusal fails: BUS-PROTO-28). do runs on the writer goroutine and
// must not block or call Update.
func (s *Store) Update(ctx context.Context, do func(*Tx) error, onRefusal func(*Tx, error) error) error {
	return errNotBuilt
}

// View runs fn on a snapshot that holds everything acknowledged before the
// call and does not change while fn runs.
func (s *Store) View(ctx context.Context, fn func(*Snapshot) error) error { return errNotBuilt }

// Failed is closed when the store has closed itself because the state of its
// file is unknown; Err then says why (for the log, never for a reply).
func (s *Store) Failed() <-chan struct{} { return nil }

// Close waits for the requests under way, checkpoints the WAL and closes.
func (s *Store) Close() error { return errNotBuilt }

// Rows reads. Tx and Snapshot both offer it: a Tx sees its own writes.
type Rows struct{}

// Tx is the writing side of one request inside a group commit.
type Tx struct{ Rows }

// Snapshot is a consistent read-only view.
type Snapshot struct{ Rows }
