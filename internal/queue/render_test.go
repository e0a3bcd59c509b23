package queue

import (
	"bytes"
	"strings"
	"testing"
	"unicode"

	"mosaicstack.dev/mosaic/internal/corpus"
)

// proves: QUEUE-WRITE-83 QUEUE-WRITE-87 QUEUE-TESTS-09 QUEUE-DATA-56
func TestBody(t *testing.T) {
	t.Parallel()
	s := fixture(t)
	s.add(rev, func(a *AddArgs) { a.Gate, a.Note, a.Issues = "green | build", "a <b>note</b>", []int{3, 9} })
	s.do(chief, &SetArgs{Row: 11, Closes: &[]int{9}, Reason: "3 stays"}, Facts{})
	want := `<!-- mosaic-queue rev 15 -->

| ID | Piece | Owner | State | Required | After | Reviewers | Issues | Gate | Brief | Note |
|---|---|---|---|---|---|---|---|---|---|---|
| 3 | Legacy 3 | dev | blocked: waiting for the vendor | | | | #3 | dana | docs/legacy.md | |
| 10 | Quotes " and &#92; and ünï and &lt;b&gt; | dev | in-review | since 2027-03-01 | 3 settled | rev, rev2 | #7 | dana | docs/other.md | |
| 11 | a piece of work | rev | queued | | | | #3 (stays open), #9 | dana: green &#124; build | docs/brief.md | a &lt;b&gt;note&lt;/b&gt; |
| 5 | Legacy 5 | unassigned | parked | | | | #5 | dana | docs/legacy.md | |

`
	got := Body(s.state)
	if string(got) != want {
		t.Errorf("the table is\n%s\nwant\n%s", got, want)
	}
	if !bytes.Equal(Body(s.state), got) {
		t.Error("rendered twice it differs")
	}
	f, state, err := Load(s.file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if again := Body(state); !bytes.Equal(again, got) || f.Log[15].ViewSha != digest(got) {
		t.Error("after a replay it differs, or the log has another digest")
	}
	seen := map[string]bool{}
	for _, e := range f.Log {
		if seen[e.ViewSha] {
			t.Errorf("rev %d has the body of an earlier one", e.Rev)
		}
		seen[e.ViewSha] = true
	}
}

// Text of the corpus is refused, or harmless in the table: no line ends, no
// cell is split, no comment or tag begins, nothing unseen remains.
//
// proves: QUEUE-WRITE-85 QUEUE-DATA-20 QUEUE-DATA-48
func TestHostileTextInTheTable(t *testing.T) {
	t.Parallel()
	s := begin(t)
	id := s.add(dev)
	refused, shown := 0, 0
	for _, c := range corpus.Strings(t) {
		edits := map[string]Args{
			"piece":  &SetArgs{Row: id, Piece: &c.Text},
			"gate":   &SetArgs{Row: id, Gate: &c.Text},
			"note":   &NoteArgs{Row: id, Note: &c.Text},
			"anchor": &SetArgs{Row: id, Brief: &BriefRef{Path: "b.md", Anchor: &c.Text}},
			"reason": &MoveArgs{Row: id, To: Blocked, Reason: c.Text},
		}
		for field, a := range edits {
			r, err := NewRequest(s.nextOp(), chief, a, withBrief)
			if err == nil {
				var next *Replayed
				if next, _, err = s.state.Apply(r, Stamp(s.clock)); err == nil {
					shown++
					wantTable(t, c.Name+" as "+field, Body(next), 1)
				}
			}
			if err != nil {
				refused++
				if r, ok := err.(*Refusal); !ok || strings.ContainsFunc(r.Sentence, func(c rune) bool { return unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c) }) {
					t.Errorf("%s as %s: %q", c.Name, field, err)
				}
			}
		}
	}
	if refused < 10 || shown < 10 {
		t.Errorf("%d texts were refused and %d shown", refused, shown)
	}
}

// wantTable demands a table of so many rows, each of eleven cells.
func wantTable(t *testing.T, what string, body []byte, rows int) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(string(body), "\n\n"), "\n")
	if len(lines) != rows+4 {
		t.Errorf("%s: %d lines\n%s", what, len(lines), body)
		return
	}
	for _, line := range lines[2:] {
		if strings.Count(line, "|") != 12 || !strings.HasPrefix(line, "|") || !strings.HasSuffix(line, "|") {
			t.Errorf("%s: a row of other cells: %q", what, line)
		}
		for _, r := range line {
			if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u200b' || r == '<' || r == unicode.ReplacementChar && !strings.Contains(what, "replacement") {
				t.Errorf("%s: %U remains in %q", what, r, line)
			}
		}
	}
}

// An empty queue is an empty table.
func TestBodyOfAnEmptyQueue(t *testing.T) {
	t.Parallel()
	s := begin(t)
	wantTable(t, "empty", Body(s.state), 0)
}
