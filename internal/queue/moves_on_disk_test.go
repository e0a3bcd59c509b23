package queue

import (
	"context"
	"testing"
)

// moveOn asks a checkout for a move, with the working brief as pinned.
func moveOn(c *Checkout, op OpID, by Seat, id RowID, to State) (Acknowledgement, error) {
	a, facts := moveTo(id, to, withReason("because"))
	raw, err := Canonical(a)
	if err != nil {
		return Acknowledgement{}, err
	}
	return c.Write(context.Background(), op, a.Verb(), raw, by, looked(facts))
}

// Every pair of states that the table does not have, by the human.
//
// proves: QUEUE-TESTS-04 QUEUE-STATE-53
func TestRefusedPairsLeaveTheFilesAlone(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, "sha1")
	s := beginAt(t, w.root)
	ids := map[State]RowID{}
	for _, state := range States {
		ids[state] = s.rowIn(state)
	}
	w.put(s.file, s.state)
	before := w.all()
	pairs := 0
	for _, from := range States {
		for _, to := range States {
			if len(allowed[string(from)+"→"+string(to)]) > 0 {
				continue
			}
			pairs++
			_, err := moveOn(w.open(nil), "refused-op", dana, ids[from], to)
			wantRefusal(t, err, IllegalTransition)
			wantExit(t, err, 2)
		}
	}
	w.unchanged(before)
	if pairs+len(allowed) != len(States)*len(States) {
		t.Errorf("%d pairs were refused and %d are allowed", pairs, len(allowed))
	}
}

// A move that was possible when its caller looked is judged by what the file
// says once the lock is held.
//
// proves: QUEUE-STATE-54 QUEUE-DATA-02 QUEUE-DATA-45
func TestAMoveIsJudgedUnderTheLock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mine, others := w.openAs(nil, quick()), w.openAs(nil, quick())
	if _, err := moveOn(others, "brief-op-1", chief, 1, Briefed); err != nil {
		t.Fatal(err)
	}
	seen, err := mine.Read(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if n, err := seen.State.Next(dev, same); err != nil || n.Action != Start {
		t.Fatalf("next is %+v, %v", n, err)
	}
	if _, err := moveOn(others, "park-op-1", dana, 1, Parked); err != nil {
		t.Fatal(err)
	}
	_, err = moveOn(mine, "start-op-1", dev, 1, InProgress)
	wantRefusal(t, err, IllegalTransition, "parked")
	if _, err := moveOn(others, "unpark-op-1", dana, 1, Queued); err != nil {
		t.Fatal(err)
	}
	if _, err := moveOn(others, "brief-op-2", chief, 1, Briefed); err != nil {
		t.Fatal(err)
	}
	if _, err := moveOn(mine, "start-op-1", dev, 1, InProgress); err != nil {
		t.Fatal(err)
	}
	// The claim is a seat and an operation, and the log is the only record.
	if claim := w.file().Rows[0].Claim; claim == nil || *claim != (Claim{Seat: dev, Op: "start-op-1"}) {
		t.Errorf("the claim is %+v", claim)
	}
	w.clean()
}
