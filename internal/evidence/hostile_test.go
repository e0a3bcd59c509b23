package evidence

import (
	"fmt"
	"strings"
	"testing"

	"mosaicstack.dev/mosaic/internal/corpus"
)

// What others wrote comes back byte for byte, or is refused before anything is
// stored; the record stays whole either way (the world verifies it at the end).
//
// proves: BUS-SCHEMA-16
func TestHostileText(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.hold("dev")
	w.hold("rev")
	for _, c := range corpus.Strings(t) {
		body := c.Text
		m := Message{Business: acme, FromRole: "dev", FromRun: run, ToRole: "rev", Class: "INFO", Body: body}
		err := w.Update(t.Context(), func(tx *Tx) (err error) {
			m, err = tx.AppendMessage(m)
			return err
		}, nil)
		if body == "" || len(body) > 32<<10 || strings.ContainsRune(body, 0) {
			if err == nil {
				t.Errorf("%q was stored", body)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", body, err)
			continue
		}
		w.view(func(s *Snapshot) error {
			back, err := s.Message(acme, m.ID)
			if err == nil && back.Body != body {
				t.Errorf("%q came back as %q", body, back.Body)
			}
			return err
		})
	}
}

// A row whose time is not in the broker's form is refused whoever writes it,
// also past the typed methods.
//
// proves: BUS-SCHEMA-20 BUS-SCHEMA-22
func TestHostileTimes(t *testing.T) {
	t.Parallel()
	g := newGuardWorld(t)
	for _, c := range corpus.Times(t) {
		if c.Verdict == corpus.Accept {
			continue
		}
		at := fmt.Sprintf("CAST(X'%x' AS TEXT)", c.Text)
		if err := rawExec(t, g.path, g.insert("events", map[string]string{"at": at})); err == nil {
			t.Errorf("%s: a row at %q was stored", c.Name, c.Text)
		}
	}
}
