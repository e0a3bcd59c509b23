package evidence

import (
	"testing"

	"github.com/ncruces/go-sqlite3"

	"mosaicstack.dev/mosaic/internal/wire"
)

// Every kind of record is found by the beginning and by the end of its id, an
// open decision however old it is, and nothing by a piece from the middle or
// from another business.
func TestFindKnowsEveryKindByBothEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.hold("dev")
	var m Message
	var d Decision
	var launched *Event
	w.update(func(tx *Tx) (err error) {
		if m, err = sendIn(tx, Message{FromRole: "dev", FromRun: run, ToRole: "rev", Body: "x"}); err != nil {
			return err
		}
		if d, err = tx.AppendDecision(decision("dev", run)); err != nil {
			return err
		}
		launched, err = tx.Launched(run)
		return err
	})
	find := func(b wire.Business, part string) (all []Found) {
		w.view(func(s *Snapshot) (err error) {
			all, err = s.Find(b, part)
			return err
		})
		return all
	}
	has := func(part string, f Found) bool {
		for _, found := range find(acme, part) {
			if found == f {
				return true
			}
		}
		return false
	}
	for _, f := range []Found{
		{FoundMessage, string(m.ID)}, {FoundDecision, string(d.ID)}, {FoundEvent, string(launched.ID)}, {FoundRun, string(run)},
	} {
		for _, part := range []string{f.ID[:13], f.ID[28:], f.ID} {
			if !has(part, f) {
				t.Errorf("%s: no %s among %v", part, f.Kind, find(acme, part))
			}
		}
		if has(f.ID[14:27], f) {
			t.Errorf("%s is found by its middle", f.Kind)
		}
		if got := find("globex", f.ID); len(got) != 0 {
			t.Errorf("another business finds %v", got)
		}
	}

	// More messages and decisions than the window: the ends of the old ones are
	// no longer found, their beginnings are, and the open decision by both.
	more := func(n int) {
		w.update(func(tx *Tx) error {
			for range n {
				if _, err := sendIn(tx, Message{FromRole: "dev", FromRun: run, ToRole: "rev", Body: "x"}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	steps := func() (n int) {
		w.view(func(s *Snapshot) error {
			for range 2 { // the first prepares the statements and is not counted
				n = 0
				if _, err := s.Find(acme, "zzzzzzzz"); err != nil {
					return err
				}
				for _, q := range []query{qFindMessages, qFindDecisions, qFindEvents, qFindRuns} {
					n += s.c.queries[q].Status(sqlite3.STMTSTATUS_VM_STEP, true)
				}
			}
			return nil
		})
		return n
	}
	more(FindWindow)
	small := steps()
	more(FindWindow)
	if large := steps(); large > small+small/10 {
		t.Errorf("%d steps with a full window and %d with twice as much", small, large)
	}
	if f := (Found{FoundMessage, string(m.ID)}); has(f.ID[28:], f) || !has(f.ID[:23], f) {
		t.Error("an old message is found by its end, or not by its beginning")
	}
	if f := (Found{FoundDecision, string(d.ID)}); !has(f.ID[28:], f) {
		t.Error("an open decision is not found")
	}
	if got := find(acme, "0"); len(got) > 4*maxFound {
		t.Errorf("%d records are told", len(got))
	}
}
