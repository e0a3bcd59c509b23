package evidence

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/ncruces/go-sqlite3"

	"mosaicstack.dev/mosaic/internal/wire"
)

// conn is one connection with its prepared statements. It belongs to one
// goroutine at a time.
type conn struct {
	db      *sqlite3.Conn
	queries [numQueries]*stmt
	inserts [numTables]*stmt
	// broken is the first failure since it was cleared that was no constraint:
	// the transaction around it cannot be trusted.
	broken error
}

// access is how a connection opens the file.
type access int

const (
	writing    access = iota // the one writer
	reading                  // a snapshot connection beside the writer
	sharing                  // a look at a file that another process has open
	inspecting               // a look at a file that nobody has open, through inspectVFS
)

// uri names the file for SQLite. Every byte that means something in a URI is
// escaped, so that no path can set a parameter.
func uri(path, vfs string) string {
	if vfs == "" {
		vfs = storeVFS
	}
	q := url.Values{"vfs": {vfs}}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: q.Encode()}).String()
}

// busyTimeout bounds the wait for a lock that only a foreign program can hold.
const busyTimeout = 2 * time.Second

// connect opens a connection and sets it up; everything that matters is read
// back, because a misspelt or unsupported PRAGMA is silently ignored.
func connect(ctx context.Context, path, vfs string, a access) (*conn, error) {
	flags := sqlite3.OPEN_URI | sqlite3.OPEN_NOFOLLOW
	if a == reading {
		flags |= sqlite3.OPEN_READONLY
	} else {
		flags |= sqlite3.OPEN_READWRITE // never OPEN_CREATE: a missing file is refused
	}
	db, err := sqlite3.OpenFlags(uri(path, vfs), flags)
	if err != nil {
		return nil, err
	}
	c := &conn{db: db}
	if err := c.configure(a); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

type setting struct {
	pragma, set, want string
}

func (a access) settings() []setting {
	s := []setting{
		{"foreign_keys", "ON", "1"},
		{"recursive_triggers", "ON", "1"}, // without it INSERT OR REPLACE passes the DELETE guards
		{"trusted_schema", "OFF", "0"},
		{"cell_size_check", "ON", "1"},
		{"temp_store", "MEMORY", "2"},
	}
	switch a {
	case writing:
		s = append(s, setting{"synchronous", "FULL", "2"}, setting{"cache_size", "-8192", "-8192"})
	case inspecting:
		// In exclusive mode the WAL index is built in memory.
		s = append(s, setting{"locking_mode", "EXCLUSIVE", "exclusive"}, setting{"query_only", "ON", "1"})
	default:
		s = append(s, setting{"query_only", "ON", "1"})
	}
	return s
}

func (c *conn) configure(a access) error {
	if err := c.db.BusyTimeout(busyTimeout); err != nil {
		return err
	}
	if err := c.db.WALAutoCheckpoint(0); err != nil { // the writer checkpoints between batches
		return err
	}
	options := []struct {
		op sqlite3.DBConfig
		on bool
	}{
		{sqlite3.DBCONFIG_DEFENSIVE, true},
		{sqlite3.DBCONFIG_TRUSTED_SCHEMA, false},
		{sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, a != writing},
		{sqlite3.DBCONFIG_DQS_DML, false},
		{sqlite3.DBCONFIG_DQS_DDL, false},
	}
	for _, o := range options {
		if got, err := c.db.Config(o.op, o.on); err != nil || got != o.on {
			return fmt.Errorf("option %d is %v: %w", o.op, got, err)
		}
	}
	for _, s := range a.settings() {
		if err := c.db.Exec("PRAGMA " + s.pragma + " = " + s.set); err != nil {
			return err
		}
		got, err := c.pragma(s.pragma)
		if err != nil {
			return err
		}
		if got != s.want {
			return fmt.Errorf("pragma %s is %q, not %q", s.pragma, got, s.want)
		}
	}
	return nil
}

// pragma returns the first column of the first row of a PRAGMA.
func (c *conn) pragma(name string) (string, error) {
	st, _, err := c.db.Prepare("PRAGMA " + name)
	if err != nil {
		return "", err
	}
	defer st.Close()
	var v string
	if st.Step() {
		v = st.ColumnText(0)
	}
	return v, st.Err()
}

func (c *conn) close() error {
	for _, s := range c.queries {
		if s != nil {
			s.Close()
		}
	}
	for _, s := range c.inserts {
		if s != nil {
			s.Close()
		}
	}
	return c.db.Close()
}

// stmt is a prepared statement that collects the errors of its bindings.
type stmt struct {
	*sqlite3.Stmt
	c   *conn
	err error
}

func (c *conn) prepare(sql string) (*stmt, error) {
	st, tail, err := c.db.PrepareFlags(sql, sqlite3.PREPARE_PERSISTENT)
	if err == nil && (st == nil || tail != "") {
		err = errors.New("not one statement")
	}
	if err != nil {
		return nil, err
	}
	return &stmt{Stmt: st, c: c}, nil
}

// query returns the cached statement of a query, with its bindings to be set.
func (c *conn) query(q query) *stmt {
	return c.cached(&c.queries[q], queries[q])
}

func (c *conn) insert(t tableID) *stmt {
	return c.cached(&c.inserts[t], tables[t].insert)
}

// cached returns one of the package's own statements. They compile against the
// pinned schema; failing to means that the file or the memory is gone, and the
// statement that is returned does nothing but report it.
func (c *conn) cached(slot **stmt, sql string) *stmt {
	if *slot == nil {
		s, err := c.prepare(sql)
		if err != nil {
			c.note(err)
			return &stmt{c: c, err: err}
		}
		*slot = s
	}
	(*slot).err = nil
	return *slot
}

// note remembers a failure that a constraint does not explain.
func (c *conn) note(err error) {
	if err != nil && c.broken == nil && !isConstraint(err) {
		c.broken = err
	}
}

func (s *stmt) fail(err error) {
	if err != nil && s.err == nil {
		s.err = err
	}
}

func (s *stmt) text(i int, v string) *stmt {
	if s.Stmt != nil {
		s.fail(s.BindText(i, v))
	}
	return s
}

func (s *stmt) integer(i int, v int64) *stmt {
	if s.Stmt != nil {
		s.fail(s.BindInt64(i, v))
	}
	return s
}

// step advances; false at the end and on failure, which finish tells apart.
func (s *stmt) step() bool { return s.err == nil && s.Stmt != nil && s.Step() }

// finish ends a run of the statement and returns what went wrong in it.
func (s *stmt) finish() error {
	if s.Stmt != nil {
		s.fail(s.Err())
		s.Reset()
	}
	s.c.note(s.err)
	return unavailable(s.err)
}

// exec runs a statement that returns no rows.
func (s *stmt) exec() error {
	if s.err == nil {
		s.err = s.Exec()
	}
	s.c.note(s.err)
	if s.err == nil {
		return nil
	}
	if isConstraint(s.err) {
		return guardError(s.err)
	}
	return unavailable(s.err)
}

// unavailable gives a failure of the store its code.
func unavailable(err error) error {
	if err == nil {
		return nil
	}
	return refuse(wire.StorageUnavailable, err)
}

// first returns the first row, or nil when there is none.
func first[T any](s *stmt, scan func(*stmt) T) (*T, error) {
	var found *T
	if s.step() {
		v := scan(s)
		found = &v
	}
	if err := s.finish(); err != nil {
		return nil, err
	}
	return found, nil
}

// list returns every row.
func list[T any](s *stmt, scan func(*stmt) T) ([]T, error) {
	var all []T
	for s.step() {
		all = append(all, scan(s))
	}
	if err := s.finish(); err != nil {
		return nil, err
	}
	return all, nil
}

// number returns the integer of a one-row answer, 0 for null.
func number(s *stmt) (int64, error) {
	var n int64
	if s.step() {
		n = s.ColumnInt64(0)
	}
	return n, s.finish()
}
