package queue

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"mosaicstack.dev/mosaic/internal/wire"
)

// document is the file as it is decoded. Rows stay as they are: a valid file's
// rows are what the replay gives, byte for byte.
type document struct {
	Version       int             `json:"version"`
	CanonicalRoot string          `json:"canonicalRoot"`
	Revision      int             `json:"revision"`
	Rows          json.RawMessage `json:"rows"`
	Log           []Entry         `json:"log"`
}

// Parse reads a queue file. It refuses what does not parse strictly, match the
// schema, re-serialize byte for byte (QUEUE-DATA-10) or replay to its rows.
// Refusals are *Refusal with QueueInvalid or QueueVersion.
func Parse(data []byte) (*File, error) {
	f, _, err := Load(data)
	return f, err
}

// Load is Parse, with the state that the log replays to.
func Load(data []byte) (*File, *Replayed, error) {
	var d document
	if err := wire.Decode(data, &d); err != nil {
		return nil, nil, firstError(checkVersion(data), invalid("it does not match the schema: %v", err))
	}
	if d.Version != Version {
		return nil, nil, wrongVersion(d.Version)
	}
	for i := range d.Log {
		e := &d.Log[i]
		e.Args, e.Result = compact(e.Args), compact(e.Result)
	}
	if len(d.Log) == 0 {
		return nil, nil, invalid("its log is empty")
	}
	if last := d.Log[len(d.Log)-1].Rev; d.Revision != last {
		return nil, nil, invalid("its revision is %d and its last log entry's %d", d.Revision, last)
	}
	s, err := Replay(d.Log)
	if err != nil {
		return nil, nil, err
	}
	if d.CanonicalRoot != s.Root {
		return nil, nil, invalid("its canonicalRoot is not the one of its genesis entry")
	}
	f := &File{Version: d.Version, CanonicalRoot: d.CanonicalRoot, Revision: d.Revision, Rows: s.Rows, Log: d.Log}
	if !bytes.Equal(f.Bytes(), data) {
		return nil, nil, f.difference(d, data)
	}
	return f, s, nil
}

func invalid(format string, args ...any) *Refusal {
	r := refuse(QueueInvalid, format, args...)
	r.Sentence = "the queue file is invalid: " + r.Sentence
	return r
}

// checkVersion tells a file of another version, or an entry of newer rules,
// from one that is damaged: a newer binary's file may hold what this one does
// not know (QUEUE-OPEN-06, QUEUE-OPEN-07).
func checkVersion(data []byte) error {
	var d struct {
		Version *int `json:"version,omitempty"`
		Log     []struct {
			Semantics *int `json:"semantics,omitempty"`
		} `json:"log,omitempty"`
	}
	if wire.DecodePart(data, &d) != nil {
		return nil
	}
	if d.Version != nil && *d.Version != Version {
		return wrongVersion(*d.Version)
	}
	for _, e := range d.Log {
		if e.Semantics != nil && *e.Semantics > Semantics {
			return newerRules(*e.Semantics)
		}
	}
	return nil
}

func wrongVersion(found int) *Refusal {
	return refuse(QueueVersion, "the queue file has version %d; this program understands version %d", found, Version)
}

func newerRules(needed int) *Refusal {
	return refuse(QueueVersion, "the queue file was written under semantics %d; this program knows them up to %d: update mosaic", needed, Semantics)
}

// difference says how a file that replays differs from what it should be:
// in its rows (QUEUE-DATA-91) or in its spelling alone (QUEUE-DATA-10).
func (f *File) difference(d document, data []byte) error {
	var rows []Row
	if err := wire.Decode(d.Rows, &rows); err != nil {
		return invalid("its rows do not match the schema: %v", err)
	}
	for i := range max(len(rows), len(f.Rows)) {
		switch {
		case i >= len(rows):
			return invalid("row %d is missing: the log replays to %d rows and the file has %d", f.Rows[i].ID, len(f.Rows), len(rows))
		case i >= len(f.Rows):
			return invalid("row %d is in no log entry", rows[i].ID)
		}
		if got, want := rowBytes(&rows[i]), rowBytes(&f.Rows[i]); !bytes.Equal(got, want) {
			return invalid("row %d differs from what the log replays to, at %s", f.Rows[i].ID, firstLine(got, want))
		}
	}
	return invalid("its bytes differ from its own serialization, at line %d", 1+bytes.Count(data[:common(f.Bytes(), data)], []byte("\n")))
}

func rowBytes(r *Row) []byte {
	var e encoder
	e.row(r)
	return e.b
}

// firstLine returns the first line of got that is not want's.
func firstLine(got, want []byte) string {
	n := common(got, want)
	from := 1 + bytes.LastIndexByte(got[:n], '\n')
	line, _, _ := bytes.Cut(got[from:], []byte("\n"))
	return clip(string(bytes.TrimSpace(line)))
}

// common is the length of the longest common prefix.
func common(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// LogDigest is the SHA-256, in hex, of the entries as the file serializes
// them (QUEUE-WITNESS-03).
func LogDigest(log []Entry) string {
	e := encoder{b: make([]byte, 0, usualSize*(len(log)+1)), depth: 1}
	e.entries(log)
	return digest(e.b)
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// NewFile is the file of a genesis entry alone. Its entry's ViewSha is set.
func NewFile(s *Replayed, genesis Entry) *File {
	return (&File{Version: Version, CanonicalRoot: s.Root}).With(s, genesis)
}

// With returns the file after one more operation, as Apply returned it; the
// new entry's ViewSha is set. f is unchanged.
func (f *File) With(s *Replayed, e Entry) *File {
	next := *f
	e.ViewSha = digest(Body(s))
	next.Rows, next.Revision = s.Rows, e.Rev
	next.Log = append(f.Log[:len(f.Log):len(f.Log)], e)
	return &next
}

// Recorded looks an operation id up in the log (QUEUE-OP-05 to 10): nil when
// it is new, its entry when it was recorded with this verb and these canonical
// arguments, a refusal when it was recorded with others.
func (f *File) Recorded(op OpID, verb string, args json.RawMessage) (*Entry, error) {
	for i := range f.Log {
		e := &f.Log[i]
		switch {
		case e.Op != op:
		case e.Verb != verb:
			return nil, refuse(OpReused, "operation %s is recorded at rev %d as %s, not %s", op, e.Rev, e.Verb, verb)
		case !bytes.Equal(e.Args, args):
			return nil, refuse(OpReused, "operation %s is recorded at rev %d with other arguments", op, e.Rev)
		default:
			return e, nil
		}
	}
	return nil, nil
}
