package queue

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func same(*Row) (bool, error) { return false, nil }

// next asks for a seat's next action, as "action id".
func (s *story) next(seat Seat) string {
	s.t.Helper()
	n, err := s.state.Next(seat, same)
	if err != nil {
		s.t.Fatal(err)
	}
	if n.Row == nil {
		return string(n.Action)
	}
	return fmt.Sprintf("%s %d", n.Action, n.Row.ID)
}

func (s *story) expectNext(seat Seat, want string) {
	s.t.Helper()
	if got := s.next(seat); got != want {
		s.t.Errorf("next for %s is %q, want %q", seat, got, want)
	}
}

// One row after another becomes the better answer.
//
// proves: QUEUE-NEXT-03 QUEUE-NEXT-05 QUEUE-NEXT-06 QUEUE-NEXT-07 QUEUE-NEXT-09 QUEUE-NEXT-10 QUEUE-NEXT-11 QUEUE-NEXT-12 QUEUE-NEXT-15
func TestTheClassesOfNext(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.expectNext(dev, "nothing")
	for _, state := range []State{Queued, Blocked, Parked, Done, WaitingOnHuman} {
		s.rowIn(state)
	}
	s.expectNext(dev, "nothing")
	own := s.rowIn(InReview, withReviewers(rev))
	s.expectNext(dev, fmt.Sprintf("wait %d", own))
	ready := s.rowIn(Briefed)
	s.expectNext(dev, fmt.Sprintf("start %d", ready))
	others := s.add(rev2, withReviewers(dev))
	s.move(chief, others, Briefed)
	s.move(rev2, others, InProgress)
	s.expectNext(dev, fmt.Sprintf("start %d", ready))
	s.move(rev2, others, InReview, withCandidate(commitA))
	s.expectNext(dev, fmt.Sprintf("review %d", others))
	s.expectNext(rev, fmt.Sprintf("review %d", own))
	started := s.rowIn(InProgress)
	s.expectNext(dev, fmt.Sprintf("resume %d", started))
	s.expectNext(dev, fmt.Sprintf("resume %d", started)) // another session of the same seat
	s.move(dev, started, Blocked)
	s.do(dev, &RecordArgs{Row: others, Verdict: Approve, Comment: 1, Candidate: commitA}, Facts{})
	s.expectNext(dev, fmt.Sprintf("start %d", ready))
	s.expectNext(coord, "nothing")
	s.expectNext(chief, "nothing")
}

// Within a class the lowest id wins, and the order of rows plays no part.
//
// proves: QUEUE-NEXT-04 QUEUE-TESTS-06
func TestNextTakesTheLowestIDOfTheFirstClass(t *testing.T) {
	t.Parallel()
	s := begin(t)
	var want []string
	for range 3 {
		a, b := s.add(rev2, withReviewers(dev)), s.rowIn(Briefed)
		s.move(chief, a, Briefed)
		s.move(rev2, a, InProgress)
		s.move(rev2, a, InReview, withCandidate(commitA))
		s.rowIn(InReview)
		want = append(want, fmt.Sprintf("review %d", a), fmt.Sprintf("start %d", b))
	}
	first, second := s.rowIn(InProgress), s.rowIn(InProgress)
	for seed := range uint64(20) {
		shuffled := *s.state
		shuffled.Rows = slices.Clone(s.state.Rows)
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(shuffled.Rows), func(i, j int) {
			shuffled.Rows[i], shuffled.Rows[j] = shuffled.Rows[j], shuffled.Rows[i]
		})
		n, err := shuffled.Next(dev, same)
		if err != nil || n.Action != Resume || n.Row.ID != first {
			t.Fatalf("seed %d: %+v, %v", seed, n, err)
		}
	}
	s.expectNext(dev, fmt.Sprintf("resume %d", first))
	s.move(dev, first, Briefed)
	s.move(chief, first, Blocked)
	s.expectNext(dev, fmt.Sprintf("resume %d", second))
	s.move(dev, second, Briefed)
	s.move(chief, second, Blocked)
	s.expectNext(dev, want[0])
}

// proves: QUEUE-NEXT-13 QUEUE-TESTS-07 QUEUE-NEXT-14
func TestNextSkipsRowsThatWait(t *testing.T) {
	t.Parallel()
	s := begin(t)
	first := s.add(rev)
	waits := s.rowIn(Briefed, func(a *AddArgs) { a.After = []After{{ID: first}} })
	ready := s.rowIn(Briefed)
	s.expectNext(dev, fmt.Sprintf("start %d", ready))
	s.moveRefused(PrerequisiteOpen, dev, waits, InProgress)
	s.move(dana, ready, Parked)
	s.expectNext(dev, "nothing")
	s.move(chief, first, Briefed)
	s.move(rev, first, InProgress)
	s.move(rev, first, InReview)
	s.move(rev, first, WaitingOnHuman)
	s.move(dana, first, Done)
	s.expectNext(dev, fmt.Sprintf("start %d", waits))
	s.move(dev, waits, InProgress)
}

// proves: QUEUE-TESTS-08
func TestAReviewerIsAskedUntilTheReceipt(t *testing.T) {
	t.Parallel()
	s := reviewing(t)
	s.ended("request-1", Posted, 201, 9)
	s.expectNext(rev, "review 1")
	s.do(rev, &RecordArgs{Row: 1, Verdict: Changes, Comment: 1, Candidate: commitA}, Facts{})
	s.expectNext(rev, "nothing")
	s.expectNext(rev2, "review 1")
	s.move(dev, 1, InProgress)
	s.expectNext(rev2, "nothing")
	s.ask1("request-2", 1, commitB)
	s.expectNext(rev, "review 1") // a new round
}

// proves: QUEUE-NEXT-08 QUEUE-NEXT-14
func TestAStartWithAnotherBriefIsMarked(t *testing.T) {
	t.Parallel()
	s := begin(t)
	id := s.rowIn(Briefed, func(a *AddArgs) { a.Note = "mind the gap" })
	s.rowIn(Briefed)
	asked := 0
	n, err := s.state.Next(dev, func(r *Row) (bool, error) {
		asked++
		return r.Brief.Blob != blobB, nil
	})
	if err != nil || n.Action != Start || n.Row.ID != id || n.Note != "brief differs from pinned blob; ask the lead to re-pin" || asked != 1 {
		t.Errorf("next is %+v, %v, after %d looks at a brief", n, err, asked)
	}
	if n, err = s.state.Next(dev, same); err != nil || n.Note != "mind the gap" {
		t.Errorf("next is %+v, %v", n, err)
	}
	broken := errors.New("disk")
	if _, err := s.state.Next(dev, func(*Row) (bool, error) { return false, broken }); !errors.Is(err, broken) {
		t.Errorf("an error of reading is %v", err)
	}
}

func TestNextForNobody(t *testing.T) {
	t.Parallel()
	s := begin(t)
	for seat, want := range map[Seat]string{"": ActorMissing, "mallory": ActorUnknown, Unassigned: ActorUnknown} {
		if _, err := s.state.Next(seat, same); code(err) != want {
			t.Errorf("next for %q: %v", seat, err)
		}
	}
}
