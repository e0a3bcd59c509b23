package audit

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"mosaicstack.dev/mosaic/internal/queue"
	"mosaicstack.dev/mosaic/internal/wire"
)

// call is a tool call of the interval with its result.
type call struct {
	at     int // place in the session
	id     string
	tool   string
	args   json.RawMessage
	result *message // nil: there is none in the interval
	ended  int      // place of the result
	when   string   // time of the result
}

func (c call) ok() bool {
	return c.result != nil && c.result.IsError != nil && !*c.result.IsError
}

// lost reports whether the call may have succeeded, but its output is missing
// or cut.
func (c call) lost() bool {
	return c.result == nil || c.ok() && (c.result.text() == "" || c.result.truncated())
}

// calls lists the tool calls of the interval in their order.
func (q *inquiry) calls() []call {
	var list []call
	index := map[string]int{}
	for i := q.begin + 1; q.begin >= 0 && i <= q.end; i++ {
		e := q.session.entries[i]
		switch e.role() {
		case "assistant":
			for _, it := range e.Message.items() {
				if it.Type == "toolCall" {
					index[it.ID] = len(list)
					list = append(list, call{at: i, id: it.ID, tool: it.Name, args: it.Arguments})
				}
			}
		case "toolResult":
			if at, known := index[e.Message.ToolCallID]; known && list[at].result == nil {
				list[at].result, list[at].ended, list[at].when = e.Message, i, e.Timestamp
			}
		}
	}
	return list
}

// checkTrace follows the four links in their order; ordinary reads between
// them do not matter (QUEUE-GATE-40 to 56).
func (q *inquiry) checkTrace(item *Item) {
	if q.row == nil || q.begin < 0 {
		item.doubt("without the pinned row and the instruction there is no chain to follow")
		return
	}
	calls := q.calls()
	after := q.begin
	for _, link := range []struct {
		name string
		find func(*Item, []call) (int, bool)
	}{
		{"next", q.findNext},
		{"brief read", q.findRead},
		{"start", q.findStart},
		{"work", q.findWork},
	} {
		var later []call
		for _, c := range calls {
			if c.at > after {
				later = append(later, c)
			}
		}
		ended, found := link.find(item, later)
		if !found {
			if item.Status == Pass {
				item.reject("%s: the interval has no such call", link.name)
			}
			return
		}
		after = ended
	}
}

// inRoot reports whether a command ran in the canonical root.
func (q *inquiry) inRoot(c command) bool {
	dir := q.session.header.Dir
	if c.dir != "" {
		dir = below(dir, c.dir)
	}
	if dir == q.Evidence.Root {
		return true
	}
	real, err := filepath.EvalSymlinks(dir)
	return err == nil && real == q.Evidence.Root
}

// findNext finds the call of next that named the row (QUEUE-GATE-42, 43).
func (q *inquiry) findNext(item *Item, calls []call) (int, bool) {
	for _, c := range calls {
		cmd, ok := actualCommand(c.args)
		if !ok {
			continue
		}
		args, isNext := cmd.queueVerb("next")
		if !isNext || !q.inRoot(cmd) {
			continue
		}
		if names, _, ok := flags(args); !ok || len(names) > 1 || len(names) == 1 && names[0] != string(q.Evidence.Seat) {
			continue
		}
		switch {
		case c.lost():
			item.doubt("next: the output of call %s is lost or truncated", c.id)
		case c.ok() && namesRow(c.result.text(), q.row):
			item.note("next: call %s named row %d", c.id, q.row.ID)
			return c.ended, true
		}
	}
	return 0, false
}

// namesRow reports whether an answer of next names the row and its brief.
func namesRow(text string, row *queue.Row) bool {
	var answer struct {
		Action string `json:"action"`
		Row    *struct {
			ID    queue.RowID `json:"id"`
			Brief struct {
				Path string `json:"path"`
			} `json:"brief"`
		} `json:"row"`
	}
	if wire.DecodePart([]byte(strings.TrimSpace(text)), &answer) == nil {
		return answer.Action == "start" && answer.Row != nil && answer.Row.ID == row.ID && answer.Row.Brief.Path == row.Brief.Path
	}
	return strings.HasPrefix(text, fmt.Sprintf("start %d ", row.ID)) && hasWord(text, row.Brief.Path)
}

// findRead finds the read of the brief (QUEUE-GATE-44).
func (q *inquiry) findRead(item *Item, calls []call) (int, bool) {
	brief := filepath.Join(q.Evidence.Root, q.row.Brief.Path)
	for _, c := range calls {
		if !readsFile(c.tool, c.args, q.session.header.Dir, brief) {
			continue
		}
		switch {
		case c.result == nil || c.ok() && c.result.text() == "":
			item.doubt("brief read: the output of call %s is lost", c.id)
		case c.ok():
			item.note("brief read: call %s", c.id)
			return c.ended, true
		}
	}
	return 0, false
}

// findStart finds the start transition and its entry in the log
// (QUEUE-GATE-45 to 51).
func (q *inquiry) findStart(item *Item, calls []call) (int, bool) {
	for _, c := range calls {
		op, actor, ok := q.startOf(c)
		if !ok {
			continue
		}
		switch {
		case c.lost():
			item.doubt("start: the output of call %s is lost or truncated; it asked for %s", c.id, op)
		case !c.ok():
			item.note("start: call %s failed", c.id)
		default:
			if q.sameAsLog(item, c, op, actor) {
				item.note("start: call %s, operation %s", c.id, op)
				return c.ended, true
			}
			return 0, false
		}
	}
	return 0, false
}

// startOf reads the operation and the actor of a start command.
func (q *inquiry) startOf(c call) (op queue.OpID, actor queue.Seat, ok bool) {
	cmd, ok := actualCommand(c.args)
	if !ok {
		return "", "", false
	}
	args, isMove := cmd.queueVerb("move")
	if short, isStart := cmd.queueVerb("start"); isStart { // the same move (QUEUE-OPEN-34)
		args, isMove = append(short, string(queue.InProgress)), true
	}
	if !isMove || !q.inRoot(cmd) {
		return "", "", false
	}
	where, values, ok := flags(args, "op", "by")
	if !ok || len(where) != 2 || where[0] != strconv.Itoa(int(q.row.ID)) || where[1] != string(queue.InProgress) {
		return "", "", false
	}
	actor = q.Evidence.Seat // an actor that the command does not name
	if name, named := cmd.env["MOSAIC_AGENT_NAME"]; named {
		actor = queue.Seat(name)
	}
	if name, named := values["by"]; named {
		actor = queue.Seat(name)
	}
	return queue.OpID(values["op"]), actor, values["op"] != ""
}

// sameAsLog compares a start with the entry that made the transition.
func (q *inquiry) sameAsLog(item *Item, c call, op queue.OpID, actor queue.Seat) bool {
	var first *queue.Entry
	for i := q.Evidence.Before.Revision + 1; i < len(q.File.Log) && first == nil; i++ {
		if concerns(&q.File.Log[i], q.row.ID) {
			first = &q.File.Log[i]
		}
	}
	if first == nil {
		item.reject("start: nothing after revision %d of the log touches row %d", q.Evidence.Before.Revision, q.row.ID)
		return false
	}
	effect, _ := first.Effect()
	at, readable := moment(first.At)
	switch {
	case first.Op != op || first.Verb != queue.VerbMove || effect.To != string(queue.InProgress):
		item.reject("start: the first operation on row %d after revision %d is %s, not the start %s", q.row.ID, q.Evidence.Before.Revision, first.Op, op)
	case first.By != actor || actor != q.Evidence.Seat:
		item.reject("start: %s is recorded by %s and the command acts as %s", op, first.By, actor)
	case !readable || at.Before(q.from) || at.After(q.until):
		item.reject("start: %s was recorded at %s, outside of the interval", op, first.At)
	case !receipt(c.result.text(), first):
		item.reject("start: call %s has no receipt of its own for %s", c.id, op)
	default:
		return true
	}
	return false
}

// receipt reports whether an output is the first receipt of an entry: a
// repeated one shows a look-up, not the origin.
func receipt(text string, e *queue.Entry) bool {
	effect, err := e.Effect()
	if err != nil || effect.Row == nil {
		return false
	}
	var doc queue.Acknowledgement
	if wire.DecodePart([]byte(strings.TrimSpace(text)), &doc) == nil {
		return doc.Op == e.Op && doc.Rev == e.Rev && doc.Row != nil && *doc.Row == *effect.Row && doc.To == effect.To && !doc.Already
	}
	want := fmt.Sprintf("ok %s rev %d row %d %s→%s", e.Op, e.Rev, *effect.Row, effect.From, effect.To)
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimSpace(line) == want {
			return true
		}
	}
	return false
}

// findWork judges the named action (QUEUE-GATE-52, 53). Whether it serves the
// line of the brief is for the human.
func (q *inquiry) findWork(item *Item, calls []call) (int, bool) {
	work := q.Evidence.cutoff().Work
	for _, c := range calls {
		if c.id != work.Call {
			continue
		}
		switch {
		case c.result == nil:
			item.reject("work: call %s has no result", c.id)
		case !c.ok():
			item.reject("work: call %s failed", c.id)
		case onlyReads(c.tool, c.args):
			item.reject("work: call %s only reads", c.id)
		case !ships(string(q.Brief), work.Ships):
			item.reject("work: the brief's What ships has no line %q", work.Ships)
		default:
			item.note("work: call %s (%s) for %q; the human judges the match", c.id, c.tool, work.Ships)
			return c.ended, true
		}
		return 0, false
	}
	item.reject("work: no call %s after the start", work.Call)
	return 0, false
}

// ships reports whether the brief's section "What ships" has the line.
func ships(brief, line string) bool {
	section := 0 // the heading's level while inside
	for text := range strings.Lines(brief) {
		text = strings.TrimSpace(text)
		title := strings.TrimLeft(text, "#")
		if level := len(text) - len(title); level > 0 && strings.HasPrefix(title, " ") {
			switch {
			case strings.EqualFold(strings.TrimSpace(title), "What ships"):
				section = level
			case level <= section:
				section = 0
			}
			continue
		}
		if section > 0 && line != "" && strings.Trim(text, "-* ") == strings.Trim(line, "-* ") {
			return true
		}
	}
	return false
}
