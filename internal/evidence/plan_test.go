package evidence

import (
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

// No statement that the store runs walks a table: not a read, not an insert,
// not a trigger behind one.
//
// proves: BUS-SCHEMA-25
func TestNoStatementScansATable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.history()
	w.Close()
	c, err := connect(t.Context(), w.path, "", writing)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	// Without this SQLite explains the statement and not its triggers.
	if _, err := c.db.Config(sqlite3.DBCONFIG_TRIGGER_EQP, true); err != nil {
		t.Fatal(err)
	}
	statements := queries[qHolder:]
	for _, table := range tables {
		statements = append(statements, table.insert)
	}
	triggers := 0
	for _, sql := range statements {
		for _, line := range plan(t, c, sql) {
			if strings.HasPrefix(line, "-- TRIGGER") {
				triggers++
				continue
			}
			if scansTable(line) {
				t.Errorf("%s\nin %s", line, sql)
			}
		}
	}
	if triggers < 15 {
		t.Errorf("only %d triggers were explained", triggers)
	}
}

func plan(t *testing.T, c *conn, sql string) (lines []string) {
	t.Helper()
	st, err := c.prepare("EXPLAIN QUERY PLAN " + sql)
	if err != nil {
		t.Fatalf("%v: %s", err, sql)
	}
	defer st.Close()
	for st.step() {
		lines = append(lines, st.ColumnText(3))
	}
	return lines
}

// scansTable reports whether a line of a plan walks one of the tables that
// grow. session_open and decision_open hold what is open now and are read
// whole; r is the recursion of qHolders, one row a role.
func scansTable(line string) bool {
	if !strings.HasPrefix(line, "SCAN ") {
		return false
	}
	name := strings.Fields(line)[1]
	switch name {
	case "r", "s", "json_each", "o", "CONSTANT", "value":
		return false
	}
	return true
}

// The number of instructions that an insert or a read takes is the same in a
// small store and in one many times its size.
func TestCostDoesNotGrow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dev, rev := w.hold("dev"), w.hold("rev")
	day := func(n int) {
		for range n {
			w.update(func(tx *Tx) error {
				for range 20 {
					m, err := sendIn(tx, Message{FromRole: "dev", FromRun: dev, ToRole: "rev", Body: "x"})
					if err != nil {
						return err
					}
					if _, err := tx.Deliver(acme, "rev", rev, 100); err != nil {
						return err
					}
					if _, err := tx.MarkRead(acme, m.ID, rev); err != nil {
						return err
					}
				}
				d, err := tx.AppendDecision(decision("dev", dev))
				if err != nil {
					return err
				}
				_, err = tx.AppendDecisionEvent(acme, DecisionEvent{
					Decision: d.ID, Kind: Withdrawn, By: string(dev), ByRole: "dev", Via: "broker"})
				return err
			})
		}
	}
	measure := func() (steps map[string]int) {
		steps = map[string]int{}
		w.update(func(tx *Tx) error {
			for _, s := range tx.c.inserts {
				if s != nil {
					s.Status(sqlite3.STMTSTATUS_VM_STEP, true)
				}
			}
			return nil
		})
		day(1)
		w.update(func(tx *Tx) error {
			for id, s := range tx.c.inserts {
				if s != nil {
					steps[tables[id].name] = s.Status(sqlite3.STMTSTATUS_VM_STEP, true)
				}
			}
			return nil
		})
		w.view(func(s *Snapshot) error {
			read := func(name string, fn func() error) {
				for _, q := range s.c.queries {
					if q != nil {
						q.Status(sqlite3.STMTSTATUS_VM_STEP, true)
					}
				}
				if err := fn(); err != nil {
					t.Fatal(err)
				}
				for _, q := range s.c.queries {
					if q != nil {
						steps[name] += q.Status(sqlite3.STMTSTATUS_VM_STEP, true)
					}
				}
			}
			read("counts", func() error { _, err := s.LaneCounts(acme, "rev"); return err })
			read("feed", func() error { _, _, err := s.Feed(acme, "rev", "", 20); return err })
			read("undelivered", func() error { _, err := s.Undelivered(acme, "rev", 20); return err })
			read("unread", func() error { _, err := s.UnreadMessages(acme, "rev", 20); return err })
			read("unread by", func() error { _, _, err := s.UnreadBy(acme, "rev", rev); return err })
			read("stranded", func() error { _, err := s.Stranded(acme, "rev", rev, 20); return err })
			read("holder", func() error { _, err := s.Holder(acme, "rev"); return err })
			read("holders", func() error { _, err := s.Holders(acme); return err })
			read("runs", func() error { _, err := s.RunsNotEnded(); return err })
			read("open", func() error { _, err := s.OpenDecisions(acme, "human", 100); return err })
			read("open roles", func() error { _, err := s.OpenRoleDecisions(acme, 100); return err })
			read("recent", func() error { _, err := s.RecentDecisions(acme, 1); return err })
			read("launch", func() error { _, err := s.LaunchState(acme); return err })
			return nil
		})
		return steps
	}
	day(1)
	small := measure()
	day(40)
	large := measure()
	for name, n := range small {
		if large[name] > n+n/10 {
			t.Errorf("%s took %d steps in a small store and %d in a large one", name, n, large[name])
		}
	}
	if len(small) < 17 {
		t.Errorf("measured only %d: %v", len(small), small)
	}
}
