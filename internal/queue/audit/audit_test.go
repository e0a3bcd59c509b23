package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mosaicstack.dev/mosaic/internal/queue"
)

const brief = "# Faster search\n\n## Why\n\n- it is slow\n\n## What ships\n\n- an index of the titles\n\n### Details\n\n- kept in memory\n\n## Boundaries\n\n- no new service\n"

const startOp queue.OpID = "2027-03-01-dev-start-4"

// scene is a demonstration: a queue, a seat's directories, its session file,
// and the evidence about it. A test changes one thing and looks at the report.
type scene struct {
	t        *testing.T
	root     string
	outside  string // where the evidence and the person's own file are
	log      []queue.Entry
	state    *queue.Replayed
	clock    time.Time
	now      float64 // minute of the last message
	header   map[string]any
	entries  []map[string]any
	before   int // how many of the entries stand before the instruction
	command  string
	work     Work
	linked   bool   // parents are set by position
	session  string // name of the session file
	evidence string
}

var began = time.Date(2027, 3, 1, 9, 0, 0, 0, time.UTC)

// clock reads of the demonstration, in minutes.
const (
	prepared = 10
	headed   = 11
	told     = 12
	started  = 14
)

func at(minute float64) string {
	return began.Add(time.Duration(minute * float64(time.Minute))).Format("2006-01-02T15:04:05.000Z")
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{t: t, root: t.TempDir(), outside: t.TempDir(), state: queue.Empty(), clock: began, command: "mosaic launch dev --fresh", linked: true, session: "new.jsonl"}
	s.root, _ = filepath.EvalSymlinks(s.root)
	s.write("docs/brief.md", brief)
	s.write("agents/dev/SOUL.md", "You are dev. Work carefully; 3 reviews a day.\n")
	s.write(".pi/state/dev/sessions/old.jsonl", "{}\n")
	s.write(".pi/state/dev/launches/old/env", "x\n")
	os.WriteFile(filepath.Join(s.outside, "USER.md"), []byte("Dana likes short answers and tea.\n"), 0o600)
	s.do("genesis-op", "chief", &queue.GenesisArgs{CanonicalRoot: s.root, Branch: "main", Map: "docs/map.md", Human: "dana", Lead: "chief", Seats: []queue.Seat{"chief", "dev", "rev"}},
		queue.Facts{Genesis: &queue.GenesisFacts{MapBlob: strings.Repeat("a", 40), HighWater: 3}})
	s.do("add-op-4", "chief", &queue.AddArgs{Piece: "faster search of titles", Owner: "dev", Issues: []int{77}, Brief: queue.BriefRef{Path: "docs/brief.md"}}, queue.Facts{Blob: strings.Repeat("b", 40)})
	s.do("brief-op-4", "chief", &queue.MoveArgs{Row: 4, To: queue.Briefed}, queue.Facts{})
	s.evidence = filepath.Join(s.outside, "evidence.json")
	s.header = map[string]any{"type": "session", "id": "sess-1", "timestamp": at(headed), "cwd": s.root}
	s.setting("model_change")
	s.setting("thinking_level_change")
	s.before = len(s.entries)
	s.user(told, Instruction)
	s.call("c-next", "bash", map[string]any{"command": "mosaic queue next"})
	s.result("c-next", 12.2, false, "start 4 faster search of titles\nbrief docs/brief.md\n")
	s.call("c-ls", "bash", map[string]any{"command": "ls -l docs | head"})
	s.result("c-ls", 12.3, false, "brief.md")
	s.call("c-read", "read", map[string]any{"path": "docs/brief.md"})
	s.result("c-read", 13, false, brief)
	s.call("c-start", "bash", map[string]any{"command": "mosaic queue move 4 in-progress --op " + string(startOp)})
	s.result("c-start", started+0.1, false, "ok "+string(startOp)+" rev 3 row 4 briefed→in-progress\n")
	s.call("c-work", "write", map[string]any{"path": "src/index.go", "content": "package index\n"})
	s.result("c-work", 15, false, "written")
	s.work = Work{Call: "c-work", Ships: "an index of the titles"}
	return s
}

func (s *scene) write(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) do(op queue.OpID, by queue.Seat, a queue.Args, facts queue.Facts) {
	s.t.Helper()
	r, err := queue.NewRequest(op, by, a, facts)
	if err != nil {
		s.t.Fatal(err)
	}
	state, entry, err := s.state.Apply(r, queue.Stamp(s.clock))
	if err != nil {
		s.t.Fatal(err)
	}
	entry.ViewSha = strings.Repeat("0", 64)
	s.state, s.log = state, append(s.log, entry)
}

// start makes the transition in the queue.
func (s *scene) start(op queue.OpID, by queue.Seat) {
	s.clock = began.Add(started * time.Minute)
	s.do(op, by, &queue.MoveArgs{Row: 4, To: queue.InProgress}, queue.Facts{Blob: strings.Repeat("b", 40)})
}

func (s *scene) add(e map[string]any) map[string]any {
	e["id"] = fmt.Sprintf("e%d", len(s.entries)+1)
	s.entries = append(s.entries, e)
	return e
}

func (s *scene) setting(kind string) { s.add(map[string]any{"type": kind, "timestamp": at(headed)}) }

func (s *scene) message(minute float64, message map[string]any) map[string]any {
	s.now = minute
	return s.add(map[string]any{"type": "message", "timestamp": at(minute), "message": message})
}

func (s *scene) user(minute float64, text string) {
	s.message(minute, map[string]any{"role": "user", "content": []any{map[string]any{"type": "text", "text": text}}})
}

func (s *scene) call(id, tool string, arguments map[string]any) {
	s.message(s.now, map[string]any{"role": "assistant", "content": []any{
		map[string]any{"type": "text", "text": "I go on."},
		map[string]any{"type": "toolCall", "id": id, "name": tool, "arguments": arguments},
	}})
}

func (s *scene) result(id string, minute float64, isError bool, text string) {
	s.message(minute, map[string]any{"role": "toolResult", "toolCallId": id, "isError": isError, "content": []any{map[string]any{"type": "text", "text": text}}})
}

// at finds the entry that holds a tool call or its result.
func (s *scene) entry(role, id string) map[string]any {
	s.t.Helper()
	for _, e := range s.entries {
		m, _ := e["message"].(map[string]any)
		if m == nil || m["role"] != role {
			continue
		}
		if m["toolCallId"] == id {
			return e
		}
		if list, ok := m["content"].([]any); ok && role == "assistant" && list[1].(map[string]any)["id"] == id {
			return e
		}
	}
	s.t.Fatalf("there is no %s %s", role, id)
	return nil
}

// runs changes what a tool call ran.
func (s *scene) runs(id, command string) {
	m := s.entry("assistant", id)["message"].(map[string]any)
	m["content"].([]any)[1].(map[string]any)["arguments"] = map[string]any{"command": command}
}

// says changes what a tool call answered.
func (s *scene) says(id string, isError bool, text string) {
	m := s.entry("toolResult", id)["message"].(map[string]any)
	m["isError"], m["content"] = isError, []any{map[string]any{"type": "text", "text": text}}
}

// drop removes an entry.
func (s *scene) drop(e map[string]any) {
	s.entries = slices.DeleteFunc(s.entries, func(x map[string]any) bool { return x["id"] == e["id"] })
}

// insert puts an entry behind the first n.
func (s *scene) insert(n int, e map[string]any) {
	e["id"] = "inserted"
	s.entries = slices.Insert(s.entries, n, e)
}

// text is the session file.
func (s *scene) text() string {
	s.t.Helper()
	lines := []map[string]any{s.header}
	var parent any
	for _, e := range s.entries {
		if s.linked {
			e["parentId"] = parent
		}
		parent = e["id"]
		lines = append(lines, e)
	}
	var b strings.Builder
	for _, line := range lines {
		text, err := json.Marshal(line)
		if err != nil {
			s.t.Fatal(err)
		}
		b.Write(text)
		b.WriteByte('\n')
	}
	return b.String()
}

func (s *scene) prepare() error {
	plan := Plan{
		Root: s.root, Seat: "dev", Command: s.command,
		Sessions: filepath.Join(s.root, ".pi/state/dev/sessions"), Launches: filepath.Join(s.root, ".pi/state/dev/launches"),
		Sources: []Source{
			{Kind: SeatFile, Path: filepath.Join(s.root, "agents/dev/SOUL.md")},
			{Kind: UserFile, Path: filepath.Join(s.outside, "USER.md")},
		},
	}
	file := &queue.File{Revision: len(s.log) - 1, Log: s.log}
	_, err := Prepare(s.evidence, plan, file, s.state, began.Add(prepared*time.Minute))
	return err
}

// play runs a demonstration from its preparation to the check. between runs
// after the launch, when the first pin is taken.
func (s *scene) play(between ...func()) *Report {
	s.t.Helper()
	if err := s.prepare(); err != nil {
		s.t.Fatal(err)
	}
	s.write(".pi/state/dev/launches/now/env", "MOSAIC_AGENT_NAME=dev\n")
	if _, err := PinNow(s.evidence, Point{}, began.Add(headed*time.Minute)); err != nil {
		s.t.Fatal(err)
	}
	if len(s.log) == 3 {
		s.start(startOp, "dev")
	}
	for _, do := range between {
		do()
	}
	session := filepath.Join(".pi/state/dev/sessions", s.session)
	s.write(session, s.text())
	if _, err := PinNow(s.evidence, Point{Session: filepath.Join(s.root, session), Work: &s.work}, began.Add(16*time.Minute)); err != nil {
		s.t.Fatal(err)
	}
	return s.check()
}

func (s *scene) check() *Report {
	s.t.Helper()
	e, err := Load(s.evidence)
	if err != nil {
		s.t.Fatal(err)
	}
	return Check(Case{Evidence: e, File: &queue.File{Revision: len(s.log) - 1, Log: s.log}, Brief: []byte(brief)})
}

// want demands the status of one item, with a phrase among its notes, and that
// every other item passes.
func want(t *testing.T, r *Report, item string, status Status, phrase string) {
	t.Helper()
	for _, i := range r.Items {
		switch {
		case i.Name == "verdict":
		case i.Name != item && i.Status != Pass:
			t.Errorf("%s: %s %q", i.Name, i.Status, i.Notes)
		case i.Name == item && (i.Status != status || !strings.Contains(strings.Join(i.Notes, "\n"), phrase)):
			t.Errorf("%s is %s %q, want %s with %q", item, i.Status, i.Notes, status, phrase)
		}
	}
	if r.Result() != status {
		t.Errorf("the result is %s, want %s", r.Result(), status)
	}
}

const (
	pins  = "interval and pins"
	ctxt  = "context"
	input = "input"
	trace = "execution trace"
)

// proves: QUEUE-TESTS-112 QUEUE-TESTS-114 QUEUE-GATE-01 QUEUE-GATE-03 QUEUE-GATE-08 QUEUE-GATE-09 QUEUE-GATE-10 QUEUE-GATE-11 QUEUE-GATE-15 QUEUE-GATE-16
// proves: QUEUE-GATE-22 QUEUE-GATE-38 QUEUE-GATE-40 QUEUE-GATE-41 QUEUE-GATE-59 QUEUE-OPEN-93 QUEUE-OPEN-94
func TestAFreshSeatPasses(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.play()
	want(t, r, "", Pass, "")
	text := strings.Join(r.Lines(), "\n")
	for _, phrase := range []string{pins + ": pass", ctxt + ": pass", input + ": pass", trace + ": pass", "verdict: human", "does not stand in for it", "result: pass", "operation " + string(startOp)} {
		if !strings.Contains(text, phrase) {
			t.Errorf("the report does not say %q:\n%s", phrase, text)
		}
	}
}

// The same demonstration in the other spellings that a seat may use.
func TestOtherSpellingsPass(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*scene){
		"json": func(s *scene) {
			s.runs("c-next", "mosaic queue next dev --json")
			s.says("c-next", false, `{"action":"start","row":{"id":4,"brief":{"path":"docs/brief.md"}},"note":""}`)
			s.runs("c-start", "mosaic queue move 4 in-progress --op="+string(startOp)+" --json")
			s.says("c-start", false, `{"op":"`+string(startOp)+`","rev":3,"row":4,"from":"briefed","to":"in-progress","already":false}`)
		},
		"cd and environment": func(s *scene) {
			s.header["cwd"] = "/"
			s.runs("c-next", "cd "+s.root+" && MOSAIC_AGENT_NAME=dev mosaic queue next")
			s.runs("c-read", "cat '"+s.root+"/docs/brief.md'")
			s.runs("c-start", "cd \""+s.root+"\" && mosaic queue move 4 in-progress --by dev --op "+string(startOp))
		},
		"the short form":    func(s *scene) { s.runs("c-start", "mosaic queue start 4 --op "+string(startOp)) },
		"a command as work": func(s *scene) { s.runs("c-work", "go generate ./... && git add -A") },
		"a plain string":    func(s *scene) { s.entries[s.before]["message"].(map[string]any)["content"] = Instruction },
		"words around the receipt": func(s *scene) {
			s.says("c-start", false, "warning: a note\nok "+string(startOp)+" rev 3 row 4 briefed→in-progress\n\nexit 0")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			change(s)
			want(t, s.play(), "", Pass, "")
		})
	}
}

// proves: QUEUE-TESTS-116 QUEUE-TESTS-117 QUEUE-TESTS-118 QUEUE-TESTS-119 QUEUE-TESTS-120 QUEUE-TESTS-121 QUEUE-TESTS-122 QUEUE-TESTS-123 QUEUE-TESTS-124
// proves: QUEUE-TESTS-115 QUEUE-TESTS-125 QUEUE-TESTS-126 QUEUE-TESTS-127 QUEUE-TESTS-128 QUEUE-TESTS-129
// proves: QUEUE-GATE-13 QUEUE-GATE-17 QUEUE-GATE-18 QUEUE-GATE-19 QUEUE-GATE-20 QUEUE-GATE-21 QUEUE-GATE-23 QUEUE-GATE-24 QUEUE-GATE-25 QUEUE-GATE-26
// proves: QUEUE-GATE-34 QUEUE-GATE-36 QUEUE-GATE-39 QUEUE-GATE-42 QUEUE-GATE-43 QUEUE-GATE-44 QUEUE-GATE-45 QUEUE-GATE-46 QUEUE-GATE-47 QUEUE-GATE-48
// proves: QUEUE-GATE-49 QUEUE-GATE-50 QUEUE-GATE-51 QUEUE-GATE-52 QUEUE-GATE-53 QUEUE-OPEN-95 QUEUE-OPEN-96 QUEUE-OPEN-97
func TestNegativeControls(t *testing.T) {
	t.Parallel()
	receiptText := "ok " + string(startOp) + " rev 3 row 4 briefed→in-progress"
	for name, test := range map[string]struct {
		item   string
		phrase string
		change func(*scene)
	}{
		"no --fresh":        {pins, "--fresh", func(s *scene) { s.command = "mosaic launch dev --freshly" }},
		"another order":     {pins, "first user entry", func(s *scene) { s.entries[s.before]["message"].(map[string]any)["content"] = "do row 4" }},
		"forked":            {pins, "parentSession", func(s *scene) { s.header["parentSession"] = "sess-0" }},
		"listed before":     {pins, "there before", func(s *scene) { s.session = "old.jsonl" }},
		"header too early":  {pins, "not after", func(s *scene) { s.header["timestamp"] = at(prepared) }},
		"header too late":   {pins, "not before", func(s *scene) { s.header["timestamp"] = at(told) }},
		"compaction before": {pins, "compaction", func(s *scene) { s.insert(s.before, map[string]any{"type": "compaction", "timestamp": at(headed)}) }},
		"summary before":    {pins, "branch_summary", func(s *scene) { s.insert(s.before, map[string]any{"type": "branch_summary", "timestamp": at(headed)}) }},
		"answer before": {pins, "message", func(s *scene) {
			s.insert(s.before, map[string]any{"type": "message", "timestamp": at(headed), "message": map[string]any{"role": "assistant", "content": []any{map[string]any{"type": "text", "text": "hello"}, map[string]any{"type": "text", "text": "again"}}}})
		}},
		"first parent": {pins, "has a parent", func(s *scene) {
			s.text()
			s.linked = false
			s.entries[0]["parentId"] = "sess-1"
		}},
		"branched": {pins, "branched", func(s *scene) {
			s.text()
			s.linked = false
			s.entries[6]["parentId"] = s.entries[3]["id"]
		}},
		"start on an abandoned branch": {pins, "branched", func(s *scene) {
			s.text()
			s.linked = false
			for i, e := range s.entries {
				if e["id"] == s.entry("assistant", "c-work")["id"] {
					e["parentId"] = s.entries[i-3]["id"]
				}
			}
		}},
		"a hint": {input, "further user entry", func(s *scene) {
			s.insert(7, map[string]any{"type": "message", "timestamp": at(13), "message": map[string]any{"role": "user", "content": "look at 4"}})
		}},
		"a relayed hint": {input, "further user entry", func(s *scene) {
			s.insert(9, map[string]any{"type": "message", "timestamp": at(13), "message": map[string]any{"role": "user", "content": []any{map[string]any{"type": "image"}}}})
		}},
		"next not run":      {trace, "next", func(s *scene) { s.runs("c-next", "echo mosaic queue next") }},
		"next elsewhere":    {trace, "next", func(s *scene) { s.runs("c-next", "cd /tmp && mosaic queue next") }},
		"another seat's":    {trace, "next", func(s *scene) { s.runs("c-next", "mosaic queue next rev") }},
		"next failed":       {trace, "next", func(s *scene) { s.says("c-next", true, "start 4 x docs/brief.md") }},
		"another row":       {trace, "next", func(s *scene) { s.says("c-next", false, "start 44 faster search\nbrief docs/brief.md") }},
		"brief never read":  {trace, "brief read", func(s *scene) { s.runs("c-read", "cat docs/other.md") }},
		"brief read failed": {trace, "brief read", func(s *scene) { s.says("c-read", true, "no such file") }},
		"brief read late": {trace, "brief read", func(s *scene) {
			call, result := s.entry("assistant", "c-read"), s.entry("toolResult", "c-read")
			s.drop(call)
			s.drop(result)
			s.entries = append(slices.Clone(s.entries[:len(s.entries)-2]), append([]map[string]any{call, result}, s.entries[len(s.entries)-2:]...)...)
			s.runs("c-start", "mosaic queue move 4 in-progress --op "+string(startOp))
			s.entries = append([]map[string]any{}, s.entries...)
			// read after the work has begun
			work := s.entries[len(s.entries)-2:]
			s.entries = append(append(slices.Clone(s.entries[:len(s.entries)-4]), work...), call, result)
			s.work.Call = "c-work"
		}},
		"echoed": {trace, "start", func(s *scene) { s.runs("c-start", "echo mosaic queue move 4 in-progress --op "+string(startOp)) }},
		"quoted": {trace, "start", func(s *scene) { s.runs("c-start", "sh -c 'mosaic queue move 4 in-progress --op "+string(startOp)+"'") }},
		"piped":  {trace, "start", func(s *scene) { s.runs("c-start", "true | mosaic queue move 4 in-progress --op "+string(startOp)) }},
		"dry run": {trace, "start", func(s *scene) {
			s.runs("c-start", "mosaic queue move 4 in-progress --dry-run yes --op "+string(startOp))
		}},
		"help":             {trace, "start", func(s *scene) { s.runs("c-start", "mosaic queue move 4 in-progress --help --op "+string(startOp)) }},
		"start elsewhere":  {trace, "start", func(s *scene) { s.runs("c-start", "cd /tmp && mosaic queue move 4 in-progress --op "+string(startOp)) }},
		"another state":    {trace, "start", func(s *scene) { s.runs("c-start", "mosaic queue move 4 in-review --op "+string(startOp)) }},
		"start failed":     {trace, "start", func(s *scene) { s.says("c-start", true, receiptText) }},
		"already recorded": {trace, "receipt", func(s *scene) { s.says("c-start", false, receiptText+" already recorded at rev 3") }},
		"already, as JSON": {trace, "receipt", func(s *scene) {
			s.says("c-start", false, `{"op":"`+string(startOp)+`","rev":3,"row":4,"from":"briefed","to":"in-progress","already":true}`)
		}},
		"no receipt":    {trace, "receipt", func(s *scene) { s.says("c-start", false, "done") }},
		"another rev":   {trace, "receipt", func(s *scene) { s.says("c-start", false, "ok "+string(startOp)+" rev 9 row 4 briefed→in-progress") }},
		"another actor": {trace, "acts as", func(s *scene) { s.runs("c-start", "mosaic queue move 4 in-progress --by rev --op "+string(startOp)) }},
		"actor by environment": {trace, "acts as", func(s *scene) {
			s.runs("c-start", "MOSAIC_AGENT_NAME=rev mosaic queue move 4 in-progress --op "+string(startOp))
		}},
		"work proposed": {trace, "work", func(s *scene) { s.drop(s.entry("toolResult", "c-work")) }},
		"work failed":   {trace, "failed", func(s *scene) { s.says("c-work", true, "no space left") }},
		"work only reads": {trace, "only reads", func(s *scene) {
			s.runs("c-work", "git log -3")
		}},
		"another call as work": {trace, "brief read", func(s *scene) { s.work.Call = "c-ls" }},
		"nothing that ships":   {trace, "What ships", func(s *scene) { s.work.Ships = "no new service" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			test.change(s)
			r := s.play()
			for _, i := range r.Items {
				if i.Name == test.item && (i.Status != Reject || !strings.Contains(strings.Join(i.Notes, "\n"), test.phrase)) {
					t.Errorf("%s is %s %q, want a rejection with %q", i.Name, i.Status, i.Notes, test.phrase)
				}
			}
			if r.Result() != Reject {
				t.Errorf("the result is %s", r.Result())
			}
		})
	}
}

// What a helper did in the queue is not the seat's.
// proves: QUEUE-TESTS-117 QUEUE-TESTS-128 QUEUE-GATE-47 QUEUE-GATE-48 QUEUE-GATE-49
func TestAHelperMovesTheRow(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*scene){
		"under another id": func(s *scene) { s.start("helper-op-1", "dev") },
		"before the seat": func(s *scene) {
			note := "go"
			s.do("helper-op-1", "chief", &queue.NoteArgs{Row: 4, Note: &note}, queue.Facts{})
			s.start(startOp, "dev")
		},
		"after the cutoff": func(s *scene) {
			s.clock = began.Add(20 * time.Minute)
			s.do(startOp, "dev", &queue.MoveArgs{Row: 4, To: queue.InProgress}, queue.Facts{Blob: strings.Repeat("b", 40)})
		},
		"before it was told": func(s *scene) {
			s.clock = began.Add(11 * time.Minute)
			s.do(startOp, "dev", &queue.MoveArgs{Row: 4, To: queue.InProgress}, queue.Facts{Blob: strings.Repeat("b", 40)})
		},
	} {
		s := newScene(t)
		if err := s.prepare(); err != nil {
			t.Fatal(err)
		}
		change(s)
		os.Remove(s.evidence)
		log, state := s.log, s.state
		s.log = slices.Clone(log[:3])
		s.state, _ = queue.Replay(s.log)
		if err := s.prepare(); err != nil {
			t.Fatal(err)
		}
		os.Remove(s.evidence)
		r := s.play(func() { s.log, s.state = log, state })
		want(t, r, trace, Reject, "start")
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

// proves: QUEUE-GATE-28 QUEUE-GATE-29 QUEUE-GATE-30 QUEUE-GATE-31 QUEUE-GATE-32 QUEUE-GATE-33 QUEUE-GATE-34 QUEUE-GATE-35 QUEUE-GATE-36 QUEUE-GATE-37
func TestContext(t *testing.T) {
	t.Parallel()
	user := func(s *scene) string { return filepath.Join(s.outside, "USER.md") }
	for name, test := range map[string]struct {
		before, between func(*scene)
		phrase          string
	}{
		"seat file changed":   {nil, func(s *scene) { s.write("agents/dev/SOUL.md", "other\n") }, "SOUL.md changed"},
		"seat file gone":      {nil, func(s *scene) { os.Remove(filepath.Join(s.root, "agents/dev/SOUL.md")) }, "SOUL.md changed"},
		"user file changed":   {nil, func(s *scene) { os.WriteFile(user(s), []byte("secret wish\n"), 0o600) }, "the user file changed"},
		"brief changed":       {nil, func(s *scene) { s.write("docs/brief.md", brief+"\nmore\n") }, "brief.md changed"},
		"launch changed":      {nil, func(s *scene) { s.write(".pi/state/dev/launches/now/more", "x\n") }, "launch now changed"},
		"seat file's piece":   {func(s *scene) { s.write("agents/dev/SOUL.md", "a\nDo faster search of titles now\n") }, nil, "line 2"},
		"seat file's issue":   {func(s *scene) { s.write("agents/dev/SOUL.md", "see #77.\n") }, nil, `"77"`},
		"seat file's brief":   {func(s *scene) { s.write("agents/dev/SOUL.md", "read docs/brief.md\n") }, nil, "docs/brief.md"},
		"launch's op":         {nil, nil, ""},
		"user file's content": {func(s *scene) { os.WriteFile(user(s), []byte("Dana's secret wish: faster search of titles\n"), 0o600) }, nil, "the user file line 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			if test.before != nil {
				test.before(s)
			}
			r := s.play(func() {
				if test.between != nil {
					test.between(s)
				}
			})
			text := strings.Join(r.Lines(), "\n")
			if test.phrase == "" {
				want(t, r, ctxt, Pass, "")
			} else {
				want(t, r, ctxt, Reject, test.phrase)
			}
			if strings.Contains(text, "wish") || strings.Contains(text, "tea") {
				t.Errorf("the user file's content is in the report: %s", text)
			}
			if !strings.Contains(text, "made and reverted inside the interval") || !strings.Contains(text, "outside of the session is not excluded") {
				t.Errorf("the report does not state its bounds: %s", text)
			}
			if evidence, _ := os.ReadFile(s.evidence); strings.Contains(string(evidence), "wish") || strings.Contains(string(evidence), "tea") {
				t.Error("the user file's content is in the evidence")
			}
		})
	}
	for text, found := range map[string]bool{"77": true, "#77": true, "(77)": true, "177": false, "77a": false, "7_77": false, "a77": false, "": false} {
		if hasWord(text, "77") != found {
			t.Errorf("%q: %v", text, !found)
		}
	}
}

// proves: QUEUE-GATE-54 QUEUE-GATE-55 QUEUE-GATE-56
func TestLostOutputIsInconclusive(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*scene){
		"next lost":       func(s *scene) { s.drop(s.entry("toolResult", "c-next")) },
		"next empty":      func(s *scene) { s.says("c-next", false, "") },
		"next truncated":  func(s *scene) { s.says("c-next", false, "start 4 [output truncated]") },
		"read lost":       func(s *scene) { s.drop(s.entry("toolResult", "c-read")) },
		"start lost":      func(s *scene) { s.drop(s.entry("toolResult", "c-start")) },
		"start truncated": func(s *scene) { s.says("c-start", false, "ok 2027-03 [truncated]") },
	} {
		s := newScene(t)
		change(s)
		r := s.play()
		want(t, r, trace, Inconclusive, "lost")
		if text := strings.Join(r.Lines(), "\n"); strings.HasPrefix(name, "start") && !strings.Contains(text, string(startOp)) {
			t.Errorf("%s: what can be recovered is not in the report: %s", name, text)
		}
	}
}

// proves: QUEUE-GATE-05 QUEUE-GATE-06 QUEUE-GATE-07 QUEUE-GATE-27
func TestTheInterval(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.user(16, "well done")
	s.call("c-late", "bash", map[string]any{"command": "mosaic queue note 4 done"})
	r := s.play()
	want(t, r, "", Pass, "")
	// The file may grow after its pin; another file is another one.
	path := filepath.Join(s.root, ".pi/state/dev/sessions/new.jsonl")
	text, _ := os.ReadFile(path)
	os.WriteFile(path, append(text, "{\"type\":\"message\""...), 0o644)
	want(t, s.check(), "", Pass, "")
	os.WriteFile(path, []byte(strings.Replace(string(text), "sess-1", "sess-2", 1)), 0o644)
	if r := s.check(); r.Result() != Reject {
		t.Errorf("another file: %s", r.Result())
	}
	os.Remove(path)
	if r := s.check(); r.Result() != Inconclusive {
		t.Errorf("a file that is gone: %s", r.Result())
	}
}

// proves: QUEUE-GATE-04 QUEUE-GATE-12 QUEUE-GATE-14
func TestPrepare(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	if err := s.prepare(); err != nil {
		t.Fatal(err)
	}
	e, err := Load(s.evidence)
	if err != nil || e.Before.At != at(prepared) || e.Before.Revision != 2 || e.Row != 4 || !slices.Equal(e.Before.Sessions, []string{"old.jsonl"}) ||
		!slices.Equal(e.Before.Launches, []string{"old"}) || e.Before.Blob != strings.Repeat("b", 40) || e.Before.Command != s.command {
		t.Errorf("%+v, %v", e, err)
	}
	if err := s.prepare(); !errors.Is(err, ErrExists) {
		t.Errorf("an evidence file is written over: %v", err)
	}
	if r := s.check(); r.Result() != Inconclusive {
		t.Errorf("without a cutoff: %s", r.Result())
	}
	s.evidence = filepath.Join(s.root, "docs/evidence.json")
	if err := s.prepare(); !errors.Is(err, ErrInside) {
		t.Errorf("evidence inside of the repository: %v", err)
	}
	s.evidence = filepath.Join(s.outside, "second.json")
	s.do("add-op-5", "chief", &queue.AddArgs{Piece: "more", Owner: "dev", Brief: queue.BriefRef{Path: "docs/brief.md"}}, queue.Facts{Blob: strings.Repeat("b", 40)})
	s.do("brief-op-5", "chief", &queue.MoveArgs{Row: 5, To: queue.Briefed}, queue.Facts{})
	if err := s.prepare(); err == nil || !strings.Contains(err.Error(), "two briefed rows") {
		t.Errorf("two rows: %v", err)
	}
	s.start(startOp, "dev")
	if err := s.prepare(); err == nil || !strings.Contains(err.Error(), "in-progress") {
		t.Errorf("work under way: %v", err)
	}
}

// Nothing but the evidence file is written.
// proves: QUEUE-GATE-02 QUEUE-GATE-57 QUEUE-GATE-58
func TestTheAuditWritesNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.play()
	snapshot := func() string {
		var b strings.Builder
		filepath.WalkDir(s.root, func(path string, d os.DirEntry, err error) error {
			if info, e := d.Info(); e == nil && !d.IsDir() {
				text, _ := os.ReadFile(path)
				fmt.Fprintf(&b, "%s %v %s\n", path, info.ModTime(), text)
			}
			return err
		})
		return b.String()
	}
	before := snapshot()
	e, err := Load(s.evidence)
	if err != nil {
		t.Fatal(err)
	}
	r := Check(Case{Evidence: e, File: &queue.File{Log: s.log}, Brief: []byte(brief), Verdict: "dev found and did row 4 by itself"})
	if snapshot() != before {
		t.Error("the repository was changed")
	}
	if last := r.Items[4]; last.Status != Human || last.Notes[0] != "dev found and did row 4 by itself" {
		t.Errorf("the verdict is %+v", last)
	}
	if _, err := PinNow(s.evidence, Point{}, began); err == nil {
		t.Error("a pin after the cutoff")
	}
}

// A recorded session that some harness wrote: no demonstration, but its shape
// is that of a fresh one.
// proves: QUEUE-TESTS-113
func TestRecordedSessionsAreLinear(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no recorded sessions")
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		log, err := parseSession(text)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		q := &inquiry{session: log, begin: -1}
		q.Evidence = &Evidence{Before: Before{At: "2026-11-03T08:00:00.000Z"}, Pins: []Pin{{Work: &Work{}, Session: &Session{}, Launches: []string{"one"}}}}
		q.Evidence.Sessions = "."
		item := &Item{Status: Pass}
		for i, e := range log.entries {
			if e.role() == "user" && q.begin < 0 {
				q.begin = i
			}
		}
		q.checkShape(item)
		q.checkFreshness(item)
		if item.Status != Pass {
			t.Errorf("%s: %q", path, item.Notes)
		}
	}
}

func TestActualCommands(t *testing.T) {
	t.Parallel()
	for line, words := range map[string]string{
		"mosaic queue next":             "mosaic queue next",
		"  mosaic queue  next  ":        "mosaic queue next",
		"cd /src && mosaic queue next":  "mosaic queue next",
		"A=1 B='x y' mosaic queue next": "mosaic queue next",
		`mosaic queue note 4 "a b"`:     "mosaic queue note 4 a b",
		"'A=1' mosaic":                  "A=1 mosaic",
		"mosaic queue next; true":       "",
		"mosaic queue next && true":     "",
		"true && mosaic queue next":     "",
		"cd /a && cd /b && mosaic":      "",
		"mosaic queue next > out":       "",
		"mosaic queue next $(id)":       "",
		"mosaic queue next `id`":        "",
		"mosaic queue next &":           "",
		"mosaic \\\nqueue":              "",
		"mosaic 'unclosed":              "",
		`mosaic "a $b"`:                 "",
		"# mosaic queue next":           "",
		"":                              "",
		"A=1":                           "",
	} {
		raw, _ := json.Marshal(map[string]string{"command": line})
		c, ok := actualCommand(raw)
		if got := strings.Join(c.words, " "); ok != (words != "") || ok && got != words {
			t.Errorf("%q reads as %q, %v", line, got, ok)
		}
	}
	if _, ok := actualCommand([]byte(`{"path":"x"}`)); ok {
		t.Error("a call without a command has one")
	}
}
