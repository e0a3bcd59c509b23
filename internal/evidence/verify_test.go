package evidence

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mosaicstack.dev/mosaic/internal/wire"
)

// verify checks the store. Every test of the store ends with it.
func (w *world) verify() {
	w.t.Helper()
	verifyClean(w.t, w.path)
}

func verifyClean(t *testing.T, path string, notes ...string) *Report {
	t.Helper()
	r, err := Verify(context.Background(), path, notes...)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Problems {
		t.Errorf("verify: %v", p)
	}
	return r
}

// Whatever is changed around the guards is found and named.
func TestVerifyFindsTampering(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		sql  string
		want []string // problems that must be among those reported
	}{
		"a word in a message": {"UPDATE messages SET body = 'Leave the build.' WHERE seq = 1",
			[]string{"events 4: the history before it is not the one that was written"}},
		"a null column": {"UPDATE messages SET to_name = 'x' WHERE seq = 1",
			[]string{"events 4: the history before it is not the one that was written"}},
		"a decision's target": {"UPDATE decisions SET target = 'next' WHERE seq = 1",
			[]string{"events 6: the history before it is not the one that was written",
				"events 8: an approval is used up that was not given, or for something else, or by another role"}},
		"an answer": {"UPDATE decision_events SET choice = 'no' WHERE seq = 1",
			[]string{"events 8: an approval is used up that was not given, or for something else, or by another role"}},
		"the last event": {"DELETE FROM session_open; DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)",
			[]string{"session_open 1: a run that has not ended is not listed as open"}},
		"two rows exchanged": {"UPDATE messages SET at = '2999-01-01T00:00:00.000Z' WHERE seq = 1",
			[]string{"events 4: the history before it is not the one that was written"}},
		"one time twice": {"UPDATE deliveries SET at = (SELECT at FROM messages WHERE seq = 1) WHERE seq = 1",
			[]string{"deliveries 1: its time"}},
		"no time": {"PRAGMA ignore_check_constraints = ON; UPDATE deliveries SET at = 'x' WHERE seq = 1",
			[]string{`deliveries 1: time "x" is not in the canonical form`, "integrity: CHECK constraint failed in deliveries"}},
		"a gap": {"UPDATE deliveries SET seq = 99 WHERE seq = (SELECT max(seq) FROM deliveries)",
			[]string{"deliveries 99: follows row"}},
		"a lost message": {"PRAGMA foreign_keys = OFF; DELETE FROM messages WHERE seq = 1",
			[]string{"deliveries 1: refers to a row of messages that is not there", "messages 2: follows row 0"}},
		"an unread message hidden": {"DELETE FROM delivery_unread",
			[]string{"delivery_unread 5: a delivered message without a receipt is not listed as unread"}},
		"a read message unread": {"INSERT INTO delivery_unread SELECT business, lane, lane_no, message, run, at FROM deliveries WHERE seq = 2",
			[]string{"delivery_unread 1: a message is listed as unread that is not"}},
		"an open decision hidden": {"DELETE FROM decision_open",
			[]string{"decision_open 2: an open decision is not listed as open"}},
		"a closed decision open": {"INSERT INTO decision_open SELECT business, route, 1, seq, id FROM decisions WHERE seq = 1",
			[]string{"decision_open 1: a decision is listed as open that is not"}},
		"a run hidden": {"DELETE FROM session_open",
			[]string{"session_open 1: a run that has not ended is not listed as open"}},
		"a second holder": {"INSERT INTO role_claims SELECT 4, business, role, run, op, by, NULL, NULL, '2999-01-01T00:00:00.000Z' FROM role_claims WHERE seq = 1",
			[]string{"role_claims 4: a role has a second holder, or is given up by a run that does not hold it"}},
		"a release by another": {"UPDATE role_claims SET run = (SELECT run FROM role_claims WHERE seq = 1) WHERE seq = 3",
			[]string{"role_claims 3: a role has a second holder, or is given up by a run that does not hold it"}},
		"an approval for another role": {"UPDATE decisions SET raised_by_role = 'rev' WHERE seq = 1",
			[]string{"events 8: an approval is used up that was not given, or for something else, or by another role"}},
		"a close without input": {"UPDATE decision_events SET input = NULL WHERE seq = 1",
			[]string{"decision_events 1: a human's close rests on no proven input"}},
		"a receipt of another run": {"UPDATE deliveries SET run = 'x' WHERE state = 'read'",
			[]string{"deliveries 3: a message is read by another run than it was delivered to, or twice"}},
		"receipts miscounted": {"UPDATE deliveries SET read_no = 7 WHERE state = 'read'",
			[]string{"deliveries 3: the read receipts of a lane are miscounted"}},
		"a lane with a gap": {"UPDATE messages SET lane_no = 9 WHERE seq = 4",
			[]string{"messages 4: a lane has a gap"}},
		"a guard less": {"CREATE TABLE x (y)", []string{"sqlite_master: tables or guards are not those of version 2"}},
		"another store": {"UPDATE meta SET value = '00000000-0000-7000-8000-000000000000' WHERE key = 'store_id'",
			[]string{"events 1: the history before it is not the one that was written"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := closedStore(t)
			tamper(t, path, x.sql)
			before := hashDir(t, filepath.Dir(path))
			r, err := Verify(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			if r.OK() {
				t.Error("the report says OK")
			}
			var all []string
			for _, p := range r.Problems {
				all = append(all, p.String())
			}
			for _, want := range x.want {
				if !strings.Contains(strings.Join(all, "\n"), want) {
					t.Errorf("no %q in\n%s", want, strings.Join(all, "\n"))
				}
			}
			if d := cmp.Diff(before, hashDir(t, filepath.Dir(path))); d != "" {
				t.Errorf("verifying changed files: %s", d)
			}
		})
	}
}

// One changed row is one rupture of the chain, not one an event after it.
func TestVerifyReportsARuptureOnce(t *testing.T) {
	t.Parallel()
	path := closedStore(t)
	tamper(t, path, "UPDATE messages SET body = 'x' WHERE seq = 1")
	r, err := Verify(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Problems) != 1 {
		t.Errorf("reported %v", r.Problems)
	}
}

// Any damage to the bytes is survived; the report is never clean when a row
// differs.
func TestVerifySurvivesDamage(t *testing.T) {
	t.Parallel()
	whole := closedStore(t)
	rows := strings.Join(everyRow(t, whole), "")
	random := rand.New(rand.NewPCG(5, 6))
	rounds := 40
	if long() {
		rounds = 1000
	}
	for range rounds {
		path := copyStore(t, whole)
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		switch random.IntN(3) {
		case 0:
			for range 1 + random.IntN(50) {
				patch(t, path, 100+random.Int64N(info.Size()-100), []byte{byte(random.Int())})
			}
		case 1:
			junk := make([]byte, 4096)
			for i := range junk {
				junk[i] = byte(random.Int())
			}
			patch(t, path, 4096*(1+random.Int64N(info.Size()/4096-1)), junk)
		case 2:
			if err := os.Truncate(path, random.Int64N(info.Size())); err != nil {
				t.Fatal(err)
			}
		}
		r, err := Verify(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if r.OK() && strings.Join(everyRow(t, path), "") != rows {
			t.Error("rows differ and the report is clean")
		}
	}
}

// Verify reads a live store as one snapshot, while it is being written, and a
// store with a WAL that nobody has open, and changes neither.
func TestVerifyLive(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dev := w.hold("dev")
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := w.pair(dev, fmt.Sprint(i)); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	for range 5 {
		verifyClean(t, w.path)
	}
	close(stop)
	<-done

	path := copyStore(t, w.path)
	before := hashDir(t, filepath.Dir(path))
	if r := verifyClean(t, path); r.Rows == 0 {
		t.Error("the rows of the WAL were not seen")
	}
	if d := cmp.Diff(before, hashDir(t, filepath.Dir(path))); d != "" {
		t.Errorf("verifying changed files: %s", d)
	}
}

func TestVerifyMissing(t *testing.T) {
	t.Parallel()
	if _, err := Verify(t.Context(), filepath.Join(t.TempDir(), "none")); !errors.Is(err, wire.Refuse(wire.StoreMissing)) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Verify(ctx, closedStore(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
