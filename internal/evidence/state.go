package evidence

import (
	"fmt"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// state is what the writer knows about the end of the history: everything that
// the next row depends on. It is derived from the file, copied before each
// request and put back when the request is rolled back.
type state struct {
	seq   [numTables]int64 // of the last row of each table
	ms    int64            // time of the last row of any table
	head  head             // of the chain
	rows  int64            // written since the state was loaded
	clock func() int64     // wall clock, Unix milliseconds
}

func (s *state) now() int64 { return s.clock() }

// size is the number of rows in the chain.
func (s *state) size() (n int64) {
	for id, t := range tables {
		if t.chained {
			n += s.seq[id] // without gaps, so the last seq is the count
		}
	}
	return n
}

func wallClock() int64 { return time.Now().UnixMilli() }

// load derives the state from the last rows of the tables. Its cost is that of
// the rows since the last event, which carries the head before itself.
func (s *state) load(c *conn, found *examination) error {
	*s = state{clock: s.clock}
	for id, t := range tables {
		if t.since > found.version.number {
			continue
		}
		st, err := c.prepare("SELECT seq, at FROM " + t.name + " ORDER BY seq DESC LIMIT 1")
		if err != nil {
			return err
		}
		if st.step() {
			s.seq[id] = st.ColumnInt64(0)
			ms, err := parseTime(st.ColumnText(1))
			if err != nil {
				st.fail(err)
			}
			s.ms = max(s.ms, ms)
		}
		st.fail(st.Err())
		st.Close()
		if st.err != nil {
			return st.err
		}
	}
	return s.loadHead(c, found.storeID)
}

func (s *state) loadHead(c *conn, storeID string) error {
	s.head = genesis(storeID)
	since := "" // before every time
	st, err := c.prepare("SELECT prev, at FROM events ORDER BY seq DESC LIMIT 1")
	if err != nil {
		return err
	}
	if st.step() {
		if copy(s.head[:], st.ColumnRawBlob(0)) != len(s.head) {
			st.fail(fmt.Errorf("prev of the last event"))
		}
		since = st.ColumnText(1)
	}
	st.fail(st.Err())
	st.Close()
	if st.err != nil {
		return st.err
	}
	tail, err := rowsSince(c, since)
	if err != nil {
		return err
	}
	for _, r := range tail {
		s.head = s.head.follow(&r.enc)
	}
	return nil
}

// tailRow is a row of the chain as loadHead and Verify see it.
type tailRow struct {
	at  string
	enc encoding
}

// rowsSince returns the chained rows from a time on, in the order of time.
func rowsSince(c *conn, since string) ([]tailRow, error) {
	var tail []tailRow
	for _, t := range tables {
		if !t.chained {
			continue
		}
		st, err := c.prepare("SELECT " + t.selectList("") + " FROM " + t.name + " ORDER BY seq DESC")
		if err != nil {
			return nil, err
		}
		for st.step() {
			r := tailRow{at: st.ColumnText(len(t.columns) - 1)}
			if r.at < since {
				break
			}
			encodeRow(&r.enc, t, st)
			tail = append(tail, r)
		}
		st.fail(st.Err())
		st.Close()
		if st.err != nil {
			return nil, st.err
		}
	}
	slices.SortFunc(tail, func(a, b tailRow) int {
		if a.at < b.at {
			return -1
		}
		return 1
	})
	return tail, nil
}

// encodeRow encodes a stored row as rowWriter did when it was written.
func encodeRow(e *encoding, t *table, st *stmt) {
	e.begin(t)
	for i, name := range t.encoded {
		if t.columns[i] == "prev" && t == tables[tEvents] {
			continue
		}
		switch st.ColumnType(i) {
		case sqlite3.NULL:
		case sqlite3.INTEGER:
			e.integer(name, st.ColumnInt64(i))
		case sqlite3.BLOB:
			e.blob(name, st.ColumnRawBlob(i))
		default:
			e.text(name, string(st.ColumnRawText(i)))
		}
	}
}
