package queue

import (
	"encoding/json"
	"fmt"
	"testing"

	"mosaicstack.dev/mosaic/internal/wire"
)

// longQueue is a valid file with this many rows and log entries, of the
// operations that a team makes.
func longQueue(tb testing.TB, rows, entries int) []byte {
	tb.Helper()
	s := begin(tb)
	state, file := s.state.clone(), s.file
	book := rulebooks[0]
	at := Stamp(s.clock)
	do := func(by Seat, a Args, facts Facts) {
		r, err := NewRequest(OpID(fmt.Sprintf("%s-%s-%06d", by, a.Verb(), len(file.Log))), by, a, facts)
		if err != nil {
			tb.Fatal(err)
		}
		computed, err := state.advance(book, r, at)
		if err != nil {
			tb.Fatal(err)
		}
		recorded, err := wire.Encode(computed)
		if err != nil {
			tb.Fatal(err)
		}
		file.Log = append(file.Log, Entry{
			Rev: state.Rev, Op: r.Op, Verb: r.Verb, Args: r.Args, By: by, At: at, Semantics: 1,
			Result: recorded, ViewSha: digest([]byte(r.Op)),
		})
	}
	for i := range rows {
		a := &AddArgs{
			Piece: fmt.Sprintf("Make the import of invoices number %d faster", i), Owner: dev,
			Brief: BriefRef{Path: fmt.Sprintf("docs/plans/briefs/import-%d.md", i)}, Issues: []int{i + 1}, Reviewers: []Seat{rev},
		}
		if i > 0 {
			a.After = []After{{ID: RowID(i), When: WhenDone}}
		}
		do(chief, a, Facts{Blob: blobA})
	}
	for id := RowID(1); len(file.Log) < entries; id = id%RowID(rows) + 1 {
		switch row := state.Row(id); row.State {
		case Queued:
			do(chief, &MoveArgs{Row: id, To: Briefed}, Facts{})
		case Briefed:
			if state.unmet(row) == nil {
				do(dev, &MoveArgs{Row: id, To: InProgress}, Facts{Blob: blobA})
			} else {
				do(dev, &NoteArgs{Row: id, Note: ptr(fmt.Sprintf("not yet, at %d", len(file.Log)))}, Facts{})
			}
		case InProgress:
			do(dev, &MoveArgs{Row: id, To: InReview, Candidate: commitA}, Facts{Candidate: &Candidate{Kind: CommitCandidate, Ref: commitA, Digest: commitA}})
		case InReview:
			do(dev, &MoveArgs{Row: id, To: WaitingOnHuman}, Facts{})
		case WaitingOnHuman:
			do(dana, &MoveArgs{Row: id, To: Done}, Facts{})
		}
	}
	file.Rows, file.Revision = state.Rows, state.Rev
	return file.Bytes()
}

// The parts of reading a queue of 2,000 rows and 10,000 log entries, and what
// the standard library takes to decode the same bytes and do nothing else:
// the ratio is of the whole to that.
func BenchmarkRead(b *testing.B) {
	data := longQueue(b, 2000, 10000)
	b.Run("load", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := Load(data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode-only", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			var f File
			if err := json.Unmarshal(data, &f); err != nil {
				b.Fatal(err)
			}
		}
	})
	f, s, err := Load(data)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("serialize", func(b *testing.B) {
		for b.Loop() {
			f.Bytes()
		}
	})
	b.Run("replay", func(b *testing.B) {
		for b.Loop() {
			if _, err := Replay(f.Log); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("render", func(b *testing.B) {
		for b.Loop() {
			Body(s)
		}
	})
	b.Run("next", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Next(dev, func(*Row) (bool, error) { return false, nil }); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("apply", func(b *testing.B) {
		r, err := NewRequest("bench-op-1", dev, &NoteArgs{Row: 7, Note: ptr("x")}, Facts{})
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, _, err := s.Apply(r, s.Last); err != nil {
				b.Fatal(err)
			}
		}
	})
}
