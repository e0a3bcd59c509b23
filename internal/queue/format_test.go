package queue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mosaicstack.dev/mosaic/internal/wire"
)

// fixture is a queue that has every kind of object that a file can hold.
func fixture(t testing.TB) *story {
	t.Helper()
	s := beginWith(t, &GenesisFacts{
		HighWater: 9, MapBlob: blobB,
		Legacy: Legacy{
			Table:  "| 3 | ship it | dev |\n",
			Rows:   []LegacyText{{ID: 3, Text: "| 3 | ship it | dev |"}},
			Parked: []LegacyText{{ID: 5, Text: "- someday, see docs/later.md"}},
		},
		Retired: []Retired{{ID: 4, Reason: "recurring"}},
		Rows: []Row{
			legacyRow(3, InProgress), legacyRow(5, Parked),
		},
	})
	id := s.add(dev, withReviewers(rev, rev2), func(a *AddArgs) {
		a.Brief.Anchor = ptr("What ships")
		a.After = []After{{ID: 3, When: WhenSettled}}
		a.Required = true
	})
	s.move(chief, id, Briefed)
	s.move(dev, 3, Blocked)
	s.move(dev, id, InProgress)
	ask := s.move(dev, id, InReview, withCandidate(commitA))
	s.mustApply(ask.Outcome(), dev, &OutcomeArgs{Row: id, Attempt: ask, State: Posted, Comment: ptr(int64(40)), Status: ptr(201)}, Facts{})
	s.do(rev, &RecordArgs{Row: id, Verdict: Changes, Comment: 41, Candidate: commitA}, Facts{})
	s.move(dev, id, InProgress)
	manifest := strings.Repeat("a", 64) + "  src/invoices.go\n"
	second := s.do(dev, &MoveArgs{Row: id, To: InReview, Candidate: "review.manifest"},
		Facts{Candidate: &Candidate{Kind: ManifestCandidate, Ref: "review.manifest", Digest: digest([]byte(manifest)), Manifest: &manifest}})
	s.do(chief, &AbandonArgs{Row: id, Attempt: second, Reason: "the server is gone"}, Facts{})
	s.do(chief, &SetArgs{Row: id, Piece: ptr(`Quotes " and \ and ünï and <b>`), Brief: &BriefRef{Path: "docs/other.md"}}, Facts{Blob: blobB})
	s.do(dana, &RosterArgs{Labels: &[]Seat{coord, "ops"}}, Facts{})
	s.do(chief, &AcceptArgs{Reason: "restored from the reflog"}, Facts{History: &HistoryFacts{
		Witness: &LostWitness{Revision: 40, LogDigest: strings.Repeat("c", 64)}, Lost: "13 to 40", Revision: s.state.Rev + 1}})
	return s
}

// legacyRow is a row as a migration map gives it.
func legacyRow(id RowID, state State) Row {
	r := Row{
		ID: id, Piece: fmt.Sprintf("Legacy %d", id), Owner: dev, Issues: []int{int(id)}, State: state, GateOwner: dana,
		Brief: Brief{Path: "docs/legacy.md", Blob: blobB}, CreatedAt: Unknown,
	}
	switch state {
	case Blocked:
		r.PreviousState, r.BlockedReason = ptr(InReview), ptr("the vendor")
	case Parked:
		r.Owner = Unassigned
	}
	return r
}

// The bytes of a file with everything in it are a promise to every later
// version: testdata/queue.json was read by a person.
//
// proves: QUEUE-DATA-01 QUEUE-DATA-04 QUEUE-DATA-05 QUEUE-DATA-06 QUEUE-DATA-07 QUEUE-DATA-08 QUEUE-DATA-14 QUEUE-DATA-35 QUEUE-DATA-36
// proves: QUEUE-DATA-42 QUEUE-DATA-43 QUEUE-DATA-51 QUEUE-DATA-52 QUEUE-DATA-55
func TestGoldenFile(t *testing.T) {
	t.Parallel()
	s := fixture(t)
	s.verify()
	golden := filepath.Join("testdata", "queue.json")
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.file.Bytes(); !bytes.Equal(got, want) {
		fresh := filepath.Join(t.TempDir(), "queue.json")
		if err := os.WriteFile(fresh, got, 0o600); err != nil {
			t.Fatal(err)
		}
		t.Errorf("the file differs from %s at line %d:\n%s", golden, 1+bytes.Count(got[:common(got, want)], []byte("\n")), firstLine(got, want))
	}
	if _, err := Parse(want); err != nil {
		t.Errorf("the golden file does not parse: %v", err)
	}
}

// node is a JSON value whose objects keep the order of their members.
type node struct {
	kind    byte // '{', '[' or 'v'
	value   string
	keys    []string
	members []*node
}

func readNode(t testing.TB, data []byte) *node {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var read func() *node
	read = func() *node {
		token, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		if delim, ok := token.(json.Delim); ok {
			n := &node{kind: byte(delim)}
			for d.More() {
				if delim == '{' {
					key, err := d.Token()
					if err != nil {
						t.Fatal(err)
					}
					n.keys = append(n.keys, key.(string))
				}
				n.members = append(n.members, read())
			}
			if _, err := d.Token(); err != nil {
				t.Fatal(err)
			}
			return n
		}
		raw, err := wire.Encode(token)
		if number, ok := token.(json.Number); ok {
			raw = []byte(number)
		} else if err != nil {
			t.Fatal(err)
		}
		return &node{kind: 'v', value: string(raw)}
	}
	return read()
}

// write spells the value as the queue spells it.
func (n *node) write() []byte {
	var e encoder
	e.raw(n.compact(nil))
	return append(e.b, '\n')
}

func (n *node) compact(dst []byte) []byte {
	if n.kind == 'v' {
		return append(dst, n.value...)
	}
	dst = append(dst, n.kind)
	for i, m := range n.members {
		if i > 0 {
			dst = append(dst, ',')
		}
		if n.kind == '{' {
			key, _ := json.Marshal(n.keys[i])
			dst = append(append(dst, key...), ':')
		}
		dst = m.compact(dst)
	}
	return append(dst, n.kind+2)
}

// objects calls visit for every object, with its path.
func (n *node) objects(path string, visit func(path string, n *node)) {
	if n.kind == '{' {
		visit(path, n)
	}
	for i, m := range n.members {
		name := "[]"
		if n.kind == '{' {
			name = "." + n.keys[i]
		}
		m.objects(path+name, visit)
	}
}

// parseRefused demands that Parse refuses data as invalid, in one line.
func parseRefused(t *testing.T, what string, data []byte) string {
	t.Helper()
	f, err := Parse(data)
	var r *Refusal
	if !errors.As(err, &r) || r.Code != QueueInvalid || r.Exit != 2 || f != nil || strings.Contains(r.Sentence, "\n") {
		t.Errorf("%s: got %v, want a refusal with %s", what, err, QueueInvalid)
		return ""
	}
	return r.Sentence
}

// Every member of every object: missing, of each wrong type, given twice, and
// an unknown one beside it.
//
// proves: QUEUE-TESTS-01 QUEUE-DATA-11 QUEUE-DATA-12 QUEUE-DATA-30 QUEUE-DATA-23
func TestEveryFieldIsDemanded(t *testing.T) {
	t.Parallel()
	data := fixture(t).file.Bytes()
	root := readNode(t, data)
	if !bytes.Equal(root.write(), data) {
		t.Fatal("the test does not spell a file as the queue does")
	}
	says := func(path, sentence string) {
		t.Helper()
		if sentence != "" && !strings.Contains(sentence, "schema") && !strings.Contains(sentence, "arguments") {
			t.Errorf("%s: %q does not speak of the schema", path, sentence)
		}
	}
	seen := map[string]bool{}
	root.objects("", func(path string, n *node) {
		kind := path + strings.Join(n.keys, ",")
		if seen[kind] || strings.HasSuffix(path, ".result.genesis.rows[]") && seen[".rows[]"] {
			return // once for each shape in each place
		}
		seen[kind], seen[path] = true, true
		for i, key := range n.keys {
			at := path + "." + key
			kept := n.members[i]
			n.keys, n.members = slices.Delete(slices.Clone(n.keys), i, i+1), slices.Delete(slices.Clone(n.members), i, i+1)
			missing := root.write()
			n.keys, n.members = slices.Insert(n.keys, i, key), slices.Insert(n.members, i, kept)
			if !optional(path, key) {
				says(at+" missing", parseRefused(t, at+" missing", missing))
			}
			for _, wrong := range []string{`"text"`, "17", "1.5", "true", "{}", "[]", "null"} {
				n.members[i] = &node{kind: 'v', value: wrong}
				if typeOf(wrong) != kept.typeOf() && at+wrong != ".log[].result.history.witnessnull" {
					parseRefused(t, at+" = "+wrong, root.write())
				}
			}
			n.members[i] = kept
			wrong := "17"
			if kept.kind == 'v' && strings.Trim(kept.value, "0123456789") == "" {
				wrong = `"text"`
			}
			n.members[i] = &node{kind: 'v', value: wrong}
			if !numeric[key] {
				says(at+" = "+wrong, parseRefused(t, at, root.write()))
			}
			n.members[i] = kept

			n.keys, n.members = append(n.keys, key), append(n.members, kept)
			says(at+" twice", parseRefused(t, at+" twice", root.write()))
			n.keys, n.members = n.keys[:len(n.keys)-1], n.members[:len(n.members)-1]
		}
		n.keys, n.members = append(n.keys, "extra"), append(n.members, &node{kind: 'v', value: "null"})
		says(path+".extra", parseRefused(t, path+".extra", root.write()))
		n.keys, n.members = n.keys[:len(n.keys)-1], n.members[:len(n.members)-1]
	})
	for _, want := range []string{"", ".rows[]", ".rows[].brief", ".rows[].after[]", ".rows[].review", ".rows[].review.rounds[]",
		".rows[].review.rounds[].candidate", ".rows[].review.rounds[].attempts[]", ".rows[].review.rounds[].receipts[]", ".rows[].claim",
		".log[]", ".log[].args", ".log[].result", ".log[].result.genesis", ".log[].result.history"} {
		if !seen[want] {
			t.Errorf("no object at %q was tried", want)
		}
	}
	if !bytes.Equal(root.write(), data) {
		t.Fatal("the test did not put everything back")
	}
}

// typeOf is the first character of a JSON value, for values of the schema's
// types: an integer differs from another number.
func typeOf(value string) string {
	switch {
	case value == "1.5" || value == "true" || value == "false" || value == "null":
		return value
	case value[0] >= '0' && value[0] <= '9':
		return "integer"
	}
	return value[:1]
}

func (n *node) typeOf() string {
	if n.kind != 'v' {
		return string(n.kind)
	}
	return strings.Replace(typeOf(n.value), "false", "true", 1)
}

// optional reports whether a member may be absent by the schema alone: what
// the arguments and the result of some verb do not have.
func optional(path, key string) bool {
	return strings.Contains(path, ".args") || strings.Contains(path, ".result") && !slices.Contains([]string{"row", "from", "to"}, key)
}

// numeric members are of the type that the other wrong value has when they are
// null in the fixture.
var numeric = map[string]bool{"comment": true, "status": true, "issue": true, "row": true}

// proves: QUEUE-DATA-10 QUEUE-DATA-04 QUEUE-DATA-05 QUEUE-DATA-06
func TestAnyOtherSpellingIsRefused(t *testing.T) {
	t.Parallel()
	good := string(fixture(t).file.Bytes())
	for name, bad := range map[string]string{
		"empty":               "",
		"no newline":          strings.TrimSuffix(good, "\n"),
		"two newlines":        good + "\n",
		"CRLF":                strings.ReplaceAll(good, "\n", "\r\n"),
		"tabs":                strings.ReplaceAll(good, "  ", "\t"),
		"four spaces":         strings.ReplaceAll(good, "  ", "    "),
		"byte order mark":     "\ufeff" + good,
		"space before colon":  strings.Replace(good, `"revision":`, `"revision" :`, 1),
		"in one line":         strings.Join(strings.Fields(good), " ") + "\n",
		"escaped letter":      strings.Replace(good, `"dev"`, `"\u0064ev"`, 1),
		"escaped in an entry": strings.Replace(good, `"by": "dev"`, `"by": "\u0064ev"`, 1),
		"escaped slash":       strings.Replace(good, `docs/other.md`, `docs\/other.md`, 1),
		"unescaped character": strings.Replace(good, "Quotes", "Quotes\u0085", 1),
		"trailing data":       good + "{}",
		"not UTF-8":           strings.Replace(good, "Quotes", "Quotes\xff", 1),
		"number as float":     strings.Replace(good, `"version": 1`, `"version": 1.0`, 1),
		"half of it":          good[:len(good)/2],
		"a comment":           "// queue\n" + good,
	} {
		if bad == good {
			t.Fatalf("%s changes nothing", name)
		}
		parseRefused(t, name, []byte(bad))
	}
	root := readNode(t, []byte(good))
	root.objects("", func(path string, n *node) {
		if len(n.keys) < 2 {
			return
		}
		n.keys[0], n.keys[1] = n.keys[1], n.keys[0]
		n.members[0], n.members[1] = n.members[1], n.members[0]
		parseRefused(t, path+": another order of keys", root.write())
		n.keys[0], n.keys[1] = n.keys[1], n.keys[0]
		n.members[0], n.members[1] = n.members[1], n.members[0]
	})
}

// A file that does not agree with itself is refused, whatever was changed.
//
// proves: QUEUE-DATA-15 QUEUE-DATA-58 QUEUE-DATA-59 QUEUE-DATA-60 QUEUE-DATA-61 QUEUE-DATA-62 QUEUE-DATA-78 QUEUE-DATA-91
// proves: QUEUE-DATA-90 QUEUE-DATA-63 QUEUE-DATA-18 QUEUE-DATA-87
func TestAFileThatDisagreesWithItselfIsRefused(t *testing.T) {
	t.Parallel()
	fresh := func() *File {
		f, err := Parse(fixture(t).file.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	last := len(fresh().Log) - 1
	tries := map[string]func(*File){
		"a row's state":     func(f *File) { f.Rows[2].State = Done },
		"a row's note":      func(f *File) { f.Rows[0].Note = "by hand" },
		"a row gone":        func(f *File) { f.Rows = f.Rows[:2] },
		"a row twice":       func(f *File) { f.Rows = append(f.Rows, f.Rows[2]) },
		"a row too many":    func(f *File) { r := f.Rows[2]; r.ID = 77; f.Rows = append(f.Rows, r) },
		"rows out of order": func(f *File) { f.Rows[0], f.Rows[1] = f.Rows[1], f.Rows[0] },
		"the revision":      func(f *File) { f.Revision++ },
		"the root":          func(f *File) { f.CanonicalRoot = "/elsewhere" },
		"no log":            func(f *File) { f.Log = []Entry{} },
		"no genesis":        func(f *File) { f.Log = f.Log[1:] },
		"no last entry":     func(f *File) { f.Log = f.Log[:last] },
		"an entry left out": func(f *File) { f.Log = slices.Delete(f.Log, 3, 4) },
		"entries exchanged": func(f *File) { f.Log[1], f.Log[2] = f.Log[2], f.Log[1] },
		"a second genesis": func(f *File) {
			g := f.Log[0]
			g.Rev, g.Op = last+1, "another-genesis"
			f.Log = append(f.Log, g)
			f.Revision++
		},
		"an op twice":              func(f *File) { f.Log[4].Op = f.Log[3].Op },
		"an op in capitals":        func(f *File) { f.Log[4].Op = "TEST-OP-4" },
		"a short op":               func(f *File) { f.Log[4].Op = "op" },
		"a long op":                func(f *File) { f.Log[4].Op = OpID(strings.Repeat("x", 81)) },
		"an op that is an outcome": func(f *File) { f.Log[4].Op = "test-op-4.outcome" },
		"a rev":                    func(f *File) { f.Log[4].Rev = 5 },
		"an actor":                 func(f *File) { f.Log[2].By = dev },
		"an unknown actor":         func(f *File) { f.Log[2].By = "mallory" },
		"a verb":                   func(f *File) { f.Log[2].Verb = "delete" },
		"arguments":                func(f *File) { f.Log[2].Args = json.RawMessage(`{"row":10,"to":"blocked"}`) },
		"arguments out of order":   func(f *File) { f.Log[2].Args = json.RawMessage(`{"to":"briefed","row":10}`) },
		"arguments said twice":     func(f *File) { f.Log[2].Args = json.RawMessage(`{"reason":"","row":10,"to":"briefed"}`) },
		"a result":                 func(f *File) { f.Log[2].Result = json.RawMessage(`{"row":10,"from":"queued","to":"done"}`) },
		"a result with more": func(f *File) {
			f.Log[2].Result = json.RawMessage(`{"row":10,"from":"queued","to":"briefed","blob":"x"}`)
		},
		"a start's brief":    func(f *File) { f.Log[4].Result = bytes.Replace(f.Log[4].Result, []byte(blobA), []byte(blobB), 1) },
		"a time before":      func(f *File) { f.Log[3].At = "2026-03-01T09:00:00.000Z" },
		"a time elsewhere":   func(f *File) { f.Log[3].At = "2027-03-01T10:00:04.000+01" },
		"a day that is none": func(f *File) { f.Log[last].At = "2027-02-30T09:00:00.000Z" },
		"semantics 0":        func(f *File) { f.Log[3].Semantics = 0 },
		"a viewSha":          func(f *File) { f.Log[3].ViewSha = "none" },
	}
	for name, change := range tries {
		f := fresh()
		change(f)
		if sentence := parseRefused(t, name, f.Bytes()); !strings.HasPrefix(sentence, "the queue file is invalid: ") {
			t.Errorf("%s: %q", name, sentence)
		}
	}
}

// A file of another program says which program is needed.
func TestNewerFilesNameWhatTheyNeed(t *testing.T) {
	t.Parallel()
	good := string(fixture(t).file.Bytes())
	for bad, want := range map[string]string{
		strings.Replace(good, `"version": 1`, `"version": 2`, 1):                                 "version 2",
		strings.Replace(good, `"version": 1`, `"version": 2,`+"\n"+`  "more": {}`, 1):            "version 2",
		strings.Replace(good, `"semantics": 1`, `"semantics": 7`, 1):                             "semantics 7",
		strings.Replace(good, `"semantics": 1`, `"semantics": 7,`+"\n"+`      "reason": "x"`, 1): "semantics 7",
	} {
		_, err := Parse([]byte(bad))
		var r *Refusal
		if !errors.As(err, &r) || r.Code != QueueVersion || !strings.Contains(r.Sentence, want) || !strings.Contains(r.Sentence, "1") {
			t.Errorf("got %v, want %s with %q", err, QueueVersion, want)
		}
	}
}

// Each entry is judged by the rules of its own time.
//
// proves: QUEUE-DATA-88 QUEUE-DATA-55
func TestEachEntryKeepsItsOwnRules(t *testing.T) {
	t.Parallel()
	s := begin(t)
	id := s.add(dev)
	s.move(chief, id, Briefed)
	later := &rulebook{semantics: 2, verbs: map[string]verb{}}
	for name, v := range rulebooks[0].verbs {
		later.verbs[name] = v
	}
	later.verbs[VerbNote] = verb{func() Args { return &NoteArgs{} }, func(*operation) error {
		return refuse(NotPermitted, "there are no notes any more")
	}}
	s.do(dev, &NoteArgs{Row: id, Note: ptr("x")}, Facts{})
	log := slices.Clone(s.file.Log)
	books := []*rulebook{rulebooks[0], later}
	if _, err := replay(log, books); err != nil {
		t.Fatalf("the old entries under the old rules: %v", err)
	}
	log[1].Semantics = 2
	if _, err := replay(log, books); err != nil {
		t.Errorf("an entry that both rules accept: %v", err)
	}
	log[3].Semantics = 2
	if _, err := replay(log, books); code(err) != QueueInvalid || !strings.Contains(err.Error(), "no notes any more") {
		t.Errorf("a note under the new rules: %v", err)
	}
	if _, err := replay(log, rulebooks); code(err) != QueueVersion {
		t.Errorf("rules that this program does not know: %v", err)
	}
}

// A write whose clock is behind the log takes the log's time.
//
// proves: QUEUE-DATA-50
func TestTheClockNeverGoesBack(t *testing.T) {
	t.Parallel()
	s := begin(t)
	id := s.add(dev)
	before := s.state.Last
	s.clock = s.clock.AddDate(-1, 0, 0)
	s.move(chief, id, Briefed)
	if s.state.Last != before || s.row(id).UpdatedAt != before || s.row(id).UpdatedBy != chief {
		t.Errorf("the log's time is %s, the row's %s", s.state.Last, s.row(id).UpdatedAt)
	}
	s.verify()
}

// The digest of the log's first entries never changes as the log grows.
func TestLogDigest(t *testing.T) {
	t.Parallel()
	s := fixture(t)
	log := s.file.Log
	before := LogDigest(log[:4])
	s.do(chief, &SetArgs{Row: 10, Gate: ptr("x")}, Facts{})
	if LogDigest(s.file.Log[:4]) != before {
		t.Error("the digest of the first four entries changed")
	}
	data := s.file.Bytes()
	from := bytes.Index(data, []byte(`"log": [`)) + len(`"log": `)
	to := bytes.LastIndexByte(data, ']') + 1
	if got := LogDigest(s.file.Log); got != digest(data[from:to]) {
		t.Error("the digest is not that of the log's bytes in the file")
	}
	changed := slices.Clone(log)
	changed[2].By = dana
	if LogDigest(changed[:4]) == before {
		t.Error("another actor gives the same digest")
	}
}
