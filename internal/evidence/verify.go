package evidence

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"slices"

	"github.com/ncruces/go-sqlite3"

	"mosaicstack.dev/mosaic/internal/wire"
)

// Report is what Verify found.
type Report struct {
	Version  int       `json:"version"` // 0 when it is unknown
	StoreID  string    `json:"store"`
	Rows     int64     `json:"rows"` // in the chain
	Head     string    `json:"head"` // of the chain, hex
	Problems []Problem `json:"problems"`
	// UnknownSigners is the number of checkpoints in the history that are signed
	// with a key that is not beside the store.
	UnknownSigners int64        `json:"unknownSigners"`
	Notes          []NoteResult `json:"notes"`
}

// OK reports whether the store is whole and contains every note.
func (r *Report) OK() bool {
	for _, n := range r.Notes {
		if !n.Contained || n.Signature == SignatureInvalid {
			return false
		}
	}
	return len(r.Problems) == 0
}

// Unverified reports whether a note is signed by nobody knows whom.
func (r *Report) Unverified() bool {
	return slices.ContainsFunc(r.Notes, func(n NoteResult) bool { return n.Signature == SignatureUnknown })
}

// Problem is one thing that is wrong.
type Problem struct {
	Table string `json:"table"` // "" when it concerns the file as a whole
	Seq   int64  `json:"seq"`   // of the row, 0 when it concerns no single one
	Text  string `json:"text"`
}

func (p Problem) String() string {
	switch {
	case p.Table == "":
		return p.Text
	case p.Seq == 0:
		return p.Table + ": " + p.Text
	}
	return fmt.Sprintf("%s %d: %s", p.Table, p.Seq, p.Text)
}

// NoteResult says whether the history still contains a checkpoint.
type NoteResult struct {
	Size      int64     `json:"size"`
	Contained bool      `json:"contained"`
	Signature Signature `json:"signature"`
	Text      string    `json:"text"` // why not, "" when contained
}

// maxProblems bounds a report: a file that is damaged throughout is not worth
// a line a row.
const maxProblems = 10_000

// Verify reads the whole store at path, open or not, live or a backup, and
// reports every problem that it finds: the checks of Open, the chain over all
// tables, the strict order of times, the projections, and the rules that one
// row cannot show. It says of each note whether the history still contains it.
// It changes nothing and survives any damage; an error means that it could not
// look (store-missing, invalid-path, storage-unavailable, or that of ctx).
//
// The chain proves what stands before a row that is still there. A history
// whose end was cut off verifies; only a note that somebody kept shows it.
func Verify(ctx context.Context, path string, notes ...string) (*Report, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, refuse(wire.StoreMissing, err)
	}
	if err := checkPlain(path); err != nil {
		return nil, err
	}
	v := &verifier{ctx: ctx, path: path, report: &Report{}}
	v.addNotes(notes)
	v.stage("file", v.file)
	if v.c != nil {
		defer v.c.close()
		for _, s := range []struct {
			name string
			run  func() error
		}{
			{"schema", v.schema}, {"integrity", v.integrity}, {"foreign keys", v.foreignKeys},
			{"chain", v.chain}, {"projections and rules", v.rules},
		} {
			v.stage(s.name, s.run)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	v.finishNotes()
	return v.report, nil
}

type verifier struct {
	ctx    context.Context
	path   string
	c      *conn
	report *Report
	notes  []checkpoint // parallel to report.Notes; zero where it could not be read
}

func (v *verifier) problem(table string, seq int64, format string, args ...any) {
	if len(v.report.Problems) < maxProblems {
		v.report.Problems = append(v.report.Problems, Problem{table, seq, fmt.Sprintf(format, args...)})
	}
}

// stage runs one part of the verification. A part that cannot go on is a
// problem of its own and leaves the others to run.
func (v *verifier) stage(name string, run func() error) {
	defer func() {
		if p := recover(); p != nil {
			v.problem("", 0, "%s: the file made the reader fail: %v\n%s", name, p, debug.Stack())
		}
	}()
	if err := run(); err != nil && v.ctx.Err() == nil {
		v.problem("", 0, "%s: %v", name, err)
	}
}

func (v *verifier) file() error {
	if err := checkFiles(v.path); err != nil {
		v.problem("", 0, "%v", err)
	}
	if err := checkHeader(v.path); err != nil {
		return err
	}
	if err := checkWAL(v.path); err != nil {
		v.problem("", 0, "%v", err)
	}
	c, err := inspect(v.ctx, v.path)
	if err != nil {
		return err
	}
	v.c = c
	c.db.SetInterrupt(v.ctx)
	return c.query(qBeginRead).exec() // one snapshot for everything
}

func (v *verifier) schema() error {
	meta, err := v.c.meta()
	if err != nil {
		return err
	}
	v.report.StoreID = meta[metaStoreID]
	known := knownVersion(meta[metaVersion])
	if known == nil {
		return fmt.Errorf("schema version %q", meta[metaVersion])
	}
	v.report.Version = known.number
	if err := checkMeta(meta); err != nil {
		v.problem("meta", 0, "%v", err)
	}
	if meta[metaDigest] != known.sourceDigest {
		v.problem("meta", 0, "the digest of the schema source is not that of version %d", known.number)
	}
	master, err := masterDigest(v.c)
	if err != nil {
		return err
	}
	if master != known.masterDigest {
		v.problem("sqlite_master", 0, "tables or guards are not those of version %d", known.number)
	}
	if meta[metaMaster] != known.masterDigest {
		v.problem("meta", 0, "the digest of sqlite_master is not that of version %d", known.number)
	}
	return nil
}

// integrity also compares every index with its table, which quick_check does
// not.
func (v *verifier) integrity() error {
	st, err := v.c.prepare(fmt.Sprintf("PRAGMA integrity_check(%d)", maxProblems))
	if err != nil {
		return err
	}
	defer st.Close()
	for st.step() {
		if text := st.ColumnText(0); text != "ok" {
			v.problem("", 0, "integrity: %s", text)
		}
	}
	st.fail(st.Err())
	return st.err
}

func (v *verifier) foreignKeys() error {
	st, err := v.c.prepare("PRAGMA foreign_key_check")
	if err != nil {
		return err
	}
	defer st.Close()
	for st.step() {
		v.problem(st.ColumnText(0), st.ColumnInt64(1), "refers to a row of %s that is not there", st.ColumnText(2))
	}
	st.fail(st.Err())
	return st.err
}

// walker reads one table in the order of seq.
type walker struct {
	id  tableID
	st  *stmt
	seq int64
	at  string
}

// advance moves to the next row; false at the end. It reports what is wrong
// with the row alone.
func (v *verifier) advance(w *walker) bool {
	t := tables[w.id]
	if !w.st.step() {
		w.st.fail(w.st.Err())
		if w.st.err != nil && v.ctx.Err() == nil {
			v.problem(t.name, w.seq+1, "cannot be read: %v", w.st.err)
		}
		return false
	}
	seq := w.st.ColumnInt64(0)
	if seq != w.seq+1 {
		v.problem(t.name, seq, "follows row %d", w.seq)
	}
	w.seq = seq
	w.at = w.st.ColumnText(len(t.columns) - 1)
	if _, err := parseTime(w.at); err != nil {
		v.problem(t.name, seq, "%v", err)
	}
	return true
}

// chain walks all tables together in the order of time.
func (v *verifier) chain() error {
	var walkers []*walker
	for id, t := range tables {
		if v.report.Version != 0 && t.since > v.report.Version {
			continue
		}
		st, err := v.c.prepare("SELECT " + t.selectList("") + " FROM " + t.name + " ORDER BY seq")
		if err != nil {
			v.problem(t.name, 0, "cannot be read: %v", err)
			continue
		}
		defer st.Close()
		w := &walker{id: tableID(id), st: st}
		if v.advance(w) {
			walkers = append(walkers, w)
		}
	}
	h := genesis(v.report.StoreID)
	last := ""
	var enc encoding
	v.passNotes(h)
	for len(walkers) > 0 {
		i := earliest(walkers)
		w := walkers[i]
		t := tables[w.id]
		if w.at <= last {
			v.problem(t.name, w.seq, "its time %s is not after that of the row before, %s", w.at, last)
		}
		last = w.at
		switch w.id {
		case tEvents:
			h = v.compareHead(h, w.st.ColumnRawBlob(len(t.columns)-2), w.seq)
		case tCheckpoints:
			v.compareCheckpoint(h, w)
		}
		if t.chained {
			encodeRow(&enc, t, w.st)
			h = h.follow(&enc)
			v.report.Rows++
			v.passNotes(h)
		}
		if !v.advance(w) {
			walkers = append(walkers[:i], walkers[i+1:]...)
		}
	}
	v.report.Head = hex.EncodeToString(h[:])
	return nil
}

func earliest(walkers []*walker) int {
	first := 0
	for i, w := range walkers {
		if w.at < walkers[first].at {
			first = i
		}
	}
	return first
}

// compareHead compares the head with the one that an event carries, and goes
// on from the latter, so that one change is reported once and not with every
// event after it.
func (v *verifier) compareHead(h head, prev []byte, seq int64) head {
	if len(prev) == len(h) && head(prev) == h {
		return h
	}
	v.problem("events", seq, "the history before it is not the one that was written")
	copy(h[:], prev)
	return h
}

func (v *verifier) compareCheckpoint(h head, w *walker) {
	size, root, signed := w.st.ColumnInt64(1), w.st.ColumnRawBlob(2), w.st.ColumnText(3)
	if size != v.report.Rows || len(root) != len(h) || head(root) != h {
		v.problem("checkpoints", w.seq, "the history before it is not the one that was signed")
	}
	c, err := parseCheckpoint(signed)
	if err != nil || c.origin != origin(v.report.StoreID) || c.size != size || string(c.head[:]) != string(root) {
		v.problem("checkpoints", w.seq, "the note is not one of this row")
	}
	switch checkSignature(v.path, signed) {
	case SignatureInvalid:
		v.problem("checkpoints", w.seq, "the note is not what was signed")
	case SignatureUnknown:
		v.report.UnknownSigners++
	}
}

func (v *verifier) addNotes(notes []string) {
	for _, signed := range notes {
		c, err := parseCheckpoint(signed)
		result := NoteResult{Size: c.size, Signature: checkSignature(v.path, signed)}
		if err != nil {
			result.Text = err.Error()
		}
		v.notes = append(v.notes, c)
		v.report.Notes = append(v.report.Notes, result)
	}
}

// passNotes marks the notes that speak about the history as far as it was
// walked.
func (v *verifier) passNotes(h head) {
	for i, c := range v.notes {
		if c.origin == origin(v.report.StoreID) && c.size == v.report.Rows && c.head == h {
			v.report.Notes[i].Contained = true
		}
	}
}

func (v *verifier) finishNotes() {
	for i, c := range v.notes {
		n := &v.report.Notes[i]
		switch {
		case n.Contained || n.Text != "":
		case c.origin != origin(v.report.StoreID):
			n.Text = "it speaks about another store"
		case c.size > v.report.Rows:
			n.Text = "rows after it are missing"
		default:
			n.Text = "the history before it was rewritten"
		}
	}
}

// rule finds rows that break a rule over several rows. Its SQL returns their
// seq.
type rule struct {
	table, text, sql string
}

func (v *verifier) rules() error {
	for _, r := range rules {
		st, err := v.c.prepare(r.sql)
		if err != nil {
			v.problem(r.table, 0, "%s: cannot be checked: %v", r.text, err)
			continue
		}
		for st.step() {
			if st.ColumnType(0) != sqlite3.NULL {
				v.problem(r.table, st.ColumnInt64(0), "%s", r.text)
			}
		}
		if st.fail(st.Err()); st.err != nil {
			v.problem(r.table, 0, "%s: cannot be checked: %v", r.text, st.err)
		}
		st.Close()
	}
	return nil
}
