package evidence

import (
	"testing"
)

// A day at work: everything that the typed methods write can be read back, also
// after the store is opened again.
//
// proves: BUS-SCHEMA-15 BUS-READ-05 BUS-READ-06
func TestADayAtWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dev, rev := w.hold("dev"), w.hold("rev")
	asked := w.ask("dev", "Fix the build.")
	if got := w.receive("dev", dev); len(got) != 1 || got[0].ID != asked.ID || *got[0].Request != *asked.Request {
		t.Fatalf("received %+v", got)
	}
	w.read(asked.ID, dev)
	m := w.sendMessage(Message{FromRole: "dev", FromRun: dev, ToRole: "rev", Body: "Look at this.", InReplyTo: &asked.ID})
	if m.RoutedTo == nil || *m.RoutedTo != rev {
		t.Fatalf("routed to %v", m.RoutedTo)
	}
	d := w.raise(decision("dev", dev))
	w.decide(d.ID, "yes")
	w.event(spending(d, dev))

	for range 2 {
		w.view(func(s *Snapshot) error {
			rows, err := s.Trail(acme, string(asked.ID))
			if err != nil {
				return err
			}
			for _, r := range rows {
				t.Logf("%s %s %d", r.At, r.Table, r.Seq)
			}
			if len(rows) != 12 {
				t.Errorf("the trail of the question has %d rows", len(rows))
			}
			rows, err = s.Trail(acme, string(d.ID))
			for _, r := range rows {
				t.Logf("%s %s %d", r.At, r.Table, r.Seq)
			}
			if len(rows) != 7 {
				t.Errorf("the trail of the decision has %d rows", len(rows))
			}
			return err
		})
		w.reopen()
	}
}
