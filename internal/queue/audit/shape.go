package audit

import (
	"path/filepath"
	"slices"
)

// checkFreshness judges whether the session began with this launch
// (QUEUE-GATE-17 to 23).
func (q *inquiry) checkFreshness(item *Item) {
	before, cutoff, head := q.Evidence.Before, q.Evidence.cutoff(), q.session.header
	if path := cutoff.Session.Path; filepath.Dir(path) != q.Evidence.Sessions {
		item.reject("the session file is not in the seat's sessions directory")
	} else if slices.Contains(before.Sessions, filepath.Base(path)) {
		item.reject("the session file was there before the launch")
	}
	if fresh := added(before.Launches, cutoff.Launches); len(fresh) != 1 {
		item.reject("%d launch snapshots are new, and exactly one must be", len(fresh))
	}
	if raw := string(head.ParentSession); raw != "" && raw != "null" {
		item.reject("the session was forked: its header has parentSession")
	}
	started, ok := moment(before.At)
	begun, ok2 := moment(head.Timestamp)
	switch {
	case !ok || !ok2:
		item.doubt("the start or the header has no readable time")
	case !begun.After(started):
		item.reject("the header's time %s is not after the recorded start %s", head.Timestamp, before.At)
	case !q.from.IsZero() && !begun.Before(q.from):
		item.reject("the header's time %s is not before the instruction", head.Timestamp)
	}
	for _, e := range q.session.entries[:max(q.begin, 0)] {
		if e.Type != "model_change" && e.Type != "thinking_level_change" {
			item.reject("a %s entry, %s, stands before the instruction", e.Type, e.ID)
		}
	}
}

// checkShape demands one unbranched chain. The header is no part of it
// (QUEUE-GATE-24 to 27).
func (q *inquiry) checkShape(item *Item) {
	for i, e := range q.session.entries {
		switch {
		case i == 0 && e.ParentID != nil:
			item.reject("the first entry, %s, has a parent", e.ID)
		case i > 0 && (e.ParentID == nil || *e.ParentID != q.session.entries[i-1].ID):
			item.reject("entry %s does not follow the entry before it: the file is branched", e.ID)
		default:
			continue
		}
		return
	}
}

// checkInput demands that nobody told the seat anything more (QUEUE-GATE-39).
func (q *inquiry) checkInput(item *Item) {
	if q.begin < 0 {
		item.doubt("without an instruction there is no interval")
		return
	}
	for _, e := range q.session.entries[q.begin+1 : q.end+1] {
		if e.role() == "user" {
			item.reject("a further user entry, %s at %s", e.ID, e.Timestamp)
		}
	}
}
