package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"mosaicstack.dev/mosaic/internal/queue"
)

// Case is everything that Check judges.
type Case struct {
	Evidence *Evidence
	File     *queue.File // the queue as it is now
	Brief    []byte      // the pinned brief's text
	Verdict  string      // the human's observation, or ""
}

// inquiry is a check under way.
type inquiry struct {
	Case
	row     *queue.Row // at the pinned revision
	session *session
	begin   int // the instruction's place in the session, -1
	end     int // the place of the work's result, or the last entry
	from    time.Time
	until   time.Time
}

// Check judges the evidence. It reads the session file and the context sources
// and writes nothing.
func Check(c Case) *Report {
	q := &inquiry{Case: c, begin: -1}
	pins := newItem("interval and pins")
	context := newItem("context")
	input := newItem("input")
	trace := newItem("execution trace")
	q.checkBefore(&pins)
	if q.open(&pins) {
		q.checkFreshness(&pins)
		q.checkShape(&pins)
		q.checkInput(&input)
		q.checkTrace(&trace)
	} else {
		input.doubt("there is no session to look at")
		trace.doubt("there is no session to look at")
	}
	q.checkContext(&context)
	verdict := Item{Name: "verdict", Status: Human, Notes: []string{"the human's own sentence is missing; this audit does not stand in for it"}}
	if c.Verdict != "" {
		verdict.Notes = []string{c.Verdict}
	}
	return &Report{Items: []Item{pins, context, input, trace, verdict}, Bounds: bounds}
}

func newItem(name string) Item { return Item{Name: name, Status: Pass, Notes: []string{}} }

// checkBefore judges the record made before the launch against the log.
func (q *inquiry) checkBefore(item *Item) {
	before := q.Evidence.Before
	if !launchedFresh(before.Command) {
		item.reject("the launch's command line has no --fresh")
	}
	if before.Revision < 0 || before.Revision >= len(q.File.Log) {
		item.reject("the log has no revision %d", before.Revision)
		return
	}
	state, err := queue.Replay(q.File.Log[:before.Revision+1])
	if err != nil {
		item.reject("the log does not replay to revision %d", before.Revision)
		return
	}
	row, err := onlyRow(state, q.Evidence.Seat)
	switch {
	case err != nil:
		item.reject("at revision %d: %v", before.Revision, err)
	case row.ID != q.Evidence.Row || row.Brief.Blob != before.Blob:
		item.reject("at revision %d the seat's row is %d with the brief %s, and other ones are pinned", before.Revision, row.ID, row.Brief.Blob)
	default:
		q.row = row
		item.note("revision %d, row %d, brief %s at %s", before.Revision, row.ID, row.Brief.Path, row.Brief.Blob)
	}
}

func launchedFresh(line string) bool {
	for _, word := range strings.Fields(line) {
		if word == "--fresh" {
			return true
		}
	}
	return false
}

// open reads the pinned bytes of the session file and finds the interval.
func (q *inquiry) open(item *Item) bool {
	cutoff := q.Evidence.cutoff()
	if cutoff == nil || cutoff.Session == nil {
		item.doubt("no cutoff is pinned")
		return false
	}
	pinned := cutoff.Session
	text, err := readSession(pinned.Path, pinned.Size)
	if err != nil {
		item.doubt("the session file cannot be read; pinned were %d bytes with %s", pinned.Size, pinned.SHA256)
		return false
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != pinned.SHA256 {
		item.reject("the session file is not the pinned one")
		return false
	}
	if q.session, err = parseSession(text); err != nil {
		item.doubt("the session file: %v", err)
		return false
	}
	if q.session.header.ID != pinned.ID {
		item.reject("the session's id is %s, and %s is pinned", q.session.header.ID, pinned.ID)
	}
	item.note("session %s, %d bytes, %s", pinned.ID, pinned.Size, pinned.SHA256)
	q.findInterval(item, cutoff.Work.Call)
	return true
}

// findInterval finds the instruction, and the result of the work
// (QUEUE-GATE-05 to 07).
func (q *inquiry) findInterval(item *Item, call string) {
	q.end = len(q.session.entries) - 1
	for i, e := range q.session.entries {
		switch {
		case q.begin < 0 && e.role() == "user":
			q.begin = i
		case q.begin >= 0 && e.role() == "toolResult" && e.Message.ToolCallID == call:
			q.end = i
		default:
			continue
		}
		if q.end == i {
			break
		}
	}
	if q.begin < 0 {
		item.reject("the session has no instruction")
		return
	}
	instruction := q.session.entries[q.begin]
	if got := strings.TrimSpace(instruction.Message.text()); got != Instruction {
		item.reject("the first user entry is not %q", Instruction)
	}
	from, ok := moment(instruction.Timestamp)
	until, ok2 := moment(q.session.entries[q.end].Timestamp)
	if !ok || !ok2 {
		item.doubt("an entry at the interval's ends has no readable time")
		return
	}
	q.from, q.until = from, until
	item.note("interval %s to %s", instruction.Timestamp, q.session.entries[q.end].Timestamp)
}
