package evidence

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mosaicstack.dev/mosaic/internal/wire"
)

// A checkpoint that somebody keeps shows later whether the history before it
// is still the same.
func TestCheckpoint(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := w.Checkpoint(t.Context()); !errors.Is(err, wire.Refuse(wire.CheckpointKeyMissing)) {
		t.Errorf("without a key: %v", err)
	}
	if err := CreateCheckpointKey(t.Context(), w.path); err != nil {
		t.Fatal(err)
	}
	if err := CreateCheckpointKey(t.Context(), w.path); !errors.Is(err, wire.Refuse(wire.StoreExists)) {
		t.Errorf("a second key: %v", err)
	}
	for _, name := range []string{checkpointKeyFile, checkpointVerifyFile} {
		if info, err := os.Stat(filepath.Join(filepath.Dir(w.path), name)); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	var notes []string
	for range 3 {
		note, err := w.Checkpoint(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		notes = append(notes, note)
		w.history2()
	}
	w.reopen()
	note, err := w.Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	notes = append(notes, note)

	r := verifyClean(t, w.path, notes...)
	for i, n := range r.Notes {
		if !n.Contained || n.Signature != SignatureValid {
			t.Errorf("note %d: %+v", i, n)
		}
	}
	want := fmt.Sprintf("mosaic/%s\n%d\n", w.ID(), r.Rows)
	if !strings.HasPrefix(note, want) || !strings.Contains(note, "\n\n— mosaic/"+w.ID()+" ") {
		t.Errorf("the note is\n%s", note)
	}
	w.Close()

	// The history is rewritten and its hashes are made to fit.
	rewritten := copyStore(t, w.path)
	copyKey(t, w.path, rewritten)
	tamper(t, rewritten, "UPDATE messages SET body = 'x' WHERE seq = 1")
	refit(t, rewritten)
	r, err = Verify(t.Context(), rewritten, notes...)
	if err != nil {
		t.Fatal(err)
	}
	if r.OK() || !r.Notes[0].Contained || r.Notes[1].Contained || r.Notes[1].Text != "the history before it was rewritten" {
		t.Errorf("notes of the rewritten history: %+v", r.Notes)
	}
	for _, p := range r.Problems {
		if p.Table != "checkpoints" {
			t.Errorf("the refitted chain shows %v", p)
		}
	}

	// The end of the history is cut off: without a note nobody could tell.
	cut := copyStore(t, w.path)
	copyKey(t, w.path, cut)
	tamper(t, cut, `PRAGMA foreign_keys = OFF; DELETE FROM events WHERE seq > 2; DELETE FROM deliveries; DELETE FROM messages; DELETE FROM role_claims;
		DELETE FROM checkpoints WHERE seq > 1; DELETE FROM session_open; INSERT INTO session_open SELECT seq, run FROM events WHERE kind = 'session.launched'`)
	r, err = Verify(t.Context(), cut, notes[3])
	if err != nil {
		t.Fatal(err)
	}
	if r.Notes[0].Contained || r.Notes[0].Text != "rows after it are missing" {
		t.Errorf("the note of the cut history: %+v", r.Notes[0])
	}

	// Notes that were changed, are of another store, or are none.
	other := newWorld(t)
	for name, x := range map[string]struct {
		note, text string
		signature  Signature
	}{
		"changed": {strings.Replace(notes[1], "\n"+fmt.Sprint(size(t, notes[1]))+"\n", "\n0\n", 1), "the history before it was rewritten", SignatureInvalid},
		"no note": {"hello", "not a checkpoint", SignatureInvalid},
	} {
		r, err := Verify(t.Context(), w.path, x.note)
		if err != nil {
			t.Fatal(err)
		}
		if n := r.Notes[0]; n.Contained || n.Text != x.text || n.Signature != x.signature || r.OK() {
			t.Errorf("%s: %+v", name, n)
		}
	}
	other.Close()
	r, err = Verify(t.Context(), other.path, notes[0])
	if err != nil {
		t.Fatal(err)
	}
	if n := r.Notes[0]; n.Contained || n.Text != "it speaks about another store" || n.Signature != SignatureUnknown {
		t.Errorf("another store: %+v", n)
	}
}

// history2 appends a run, its claim and a message.
func (w *world) history2() {
	w.t.Helper()
	role := wire.Role(fmt.Sprintf("role-%d", wallClock()))
	run := w.hold(role)
	w.send(role, run, "rev", "Hello.")
}

func size(t *testing.T, note string) int64 {
	t.Helper()
	c, err := parseCheckpoint(note)
	if err != nil {
		t.Fatal(err)
	}
	return c.size
}

func copyKey(t *testing.T, from, to string) {
	t.Helper()
	for _, name := range []string{checkpointKeyFile, checkpointVerifyFile} {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(from), name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(filepath.Dir(to), name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// refit computes the chain again over a changed history and writes it into the
// events, as somebody would who knows how it is made.
func refit(t *testing.T, path string) {
	t.Helper()
	var sql strings.Builder
	func() {
		c, err := inspect(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.close()
		meta, err := c.meta()
		if err != nil {
			t.Fatal(err)
		}
		st, err := c.prepare("SELECT at FROM events ORDER BY seq")
		if err != nil {
			t.Fatal(err)
		}
		events := map[string]bool{}
		for st.step() {
			events[st.ColumnText(0)] = true
		}
		st.Close()
		rows, err := rowsSince(c, "")
		if err != nil {
			t.Fatal(err)
		}
		h := genesis(meta[metaStoreID])
		for _, r := range rows {
			if events[r.at] {
				fmt.Fprintf(&sql, "UPDATE events SET prev = x'%x' WHERE at = '%s';", h[:], r.at)
			}
			h = h.follow(&r.enc)
		}
	}()
	tamper(t, path, sql.String())
}

// proves nothing may be ambiguous in a note: it is accepted in one form only.
func TestParseCheckpoint(t *testing.T) {
	t.Parallel()
	good := checkpoint{origin: "mosaic/x", size: 7}.text()
	if c, err := parseCheckpoint(good); err != nil || c.size != 7 {
		t.Fatalf("%+v, %v", c, err)
	}
	root := base64.StdEncoding.EncodeToString(make([]byte, 32))
	for _, bad := range []string{
		"", "\n", "mosaic/x\n7\n", "mosaic/x\n07\n" + root + "\n", "mosaic/x\n+7\n" + root + "\n", "mosaic/x\n-7\n" + root + "\n",
		"mosaic/x\n7\n" + root[:40] + "\n", "mosaic/x\n7\n" + root + "\nmore\n", "mosaic/x\n7 \n" + root + "\n",
		"mosaic/x\n7\n" + strings.TrimRight(root, "=") + "\n",
	} {
		if c, err := parseCheckpoint(bad); err == nil {
			t.Errorf("%q gave %+v", bad, c)
		}
	}
}

// The encoding of a row is pinned: a change of it would break every chain.
func TestEncodingIsPinned(t *testing.T) {
	t.Parallel()
	var e encoding
	e.begin(tables[tDeliveries])
	e.integer(tables[tDeliveries].encoded[0], 1)
	e.text(tables[tDeliveries].encoded[1], "acme")
	want := "\x00\x00\x00\x0adeliveries" + "\x00\x00\x00\x03seqi\x00\x00\x00\x00\x00\x00\x00\x01" + "\x00\x00\x00\x08businesst\x00\x00\x00\x04acme"
	if got := string(e.buf[32:]); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	h := genesis("00000000-0000-7000-8000-000000000000").follow(&e)
	if got := fmt.Sprintf("%x", h[:8]); got != "5e15bef07fff4953" {
		t.Errorf("head %s", got)
	}
}
