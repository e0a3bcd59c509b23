package org

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mosaicstack.dev/mosaic/internal/wire"
)

// writer is a writer of a fresh data root, with a clock that stands still.
func writer(t *testing.T, f files) (*Writer, string) {
	t.Helper()
	dir := root(t, example)
	return &Writer{root: dir, files: f, now: func() time.Time { return time.Date(2026, 12, 1, 7, 0, 0, 5e6, time.UTC) }}, dir
}

func sessions(n int) []Change {
	return []Change{{Path: path("businesses/acme/launch/limits/sessions"), Value: n}}
}

func read(t *testing.T, dir, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}

func receipts(t *testing.T, dir string) []Receipt {
	t.Helper()
	var all []Receipt
	for line := range strings.Lines(read(t, dir, ReceiptsFile)) {
		var r Receipt
		if err := json.Unmarshal([]byte(line), &r); err == nil {
			all = append(all, r)
		}
	}
	return all
}

// proves: BUS-OPEN-92 BUS-ORG-06
func TestWriteLeavesAReceipt(t *testing.T) {
	t.Parallel()
	w, dir := writer(t, osFiles{})
	first, err := w.Write(Edit{Actor: "chief-of-staff.chief", Revision: revision([]byte(example)), Changes: sessions(8)})
	if err != nil {
		t.Fatal(err)
	}
	o, err := Load(dir)
	if err != nil || o.Businesses["acme"].Launch.Limits.Sessions != 8 {
		t.Fatalf("got %v", err)
	}
	if _, err := w.Write(Edit{Actor: "dana", Revision: o.Revision, Changes: sessions(2)}); err != nil {
		t.Fatal(err)
	}
	if first.Before != revision([]byte(example)) || first.After != o.Revision {
		t.Errorf("got %+v", first)
	}
	line := `{"at":"2026-12-01T07:00:00.005Z","actor":"chief-of-staff.chief","before":"` + first.Before + `","after":"` + first.After + `","keys":["businesses.acme.launch.limits.sessions"]}` + "\n"
	if text := read(t, dir, ReceiptsFile); !strings.HasPrefix(text, line) || strings.Count(text, "\n") != 2 {
		t.Errorf("receipts:\n%s", text)
	}
	if all := receipts(t, dir); all[1].Before != all[0].After || all[1].Actor != "dana" {
		t.Errorf("got %+v", all)
	}
	if names := entries(t, dir); !slices.Equal(names, []string{ReceiptsFile, File}) {
		t.Errorf("left behind: %v", names)
	}
}

// proves: BUS-OPEN-92 BUS-OPEN-95 BUS-OPEN-96
func TestWriteRefusals(t *testing.T) {
	t.Parallel()
	now := revision([]byte(example))
	for _, c := range []struct {
		name string
		edit Edit
		code wire.Code
	}{
		{"a stale revision", Edit{Revision: strings.Repeat("0", 64), Changes: sessions(8)}, wire.OrganizationStale},
		{"no revision", Edit{Changes: sessions(8)}, wire.OrganizationStale},
		{"a value out of range", Edit{Revision: now, Changes: sessions(-1)}, wire.OrganizationInvalid},
		{"a role that is not there", Edit{Revision: now, Changes: []Change{{Path: path("businesses/acme/launch/instances"), Value: []string{"nobody"}}}}, wire.OrganizationInvalid},
		{"an unknown definition", Edit{Revision: now, Changes: []Change{{Path: path("businesses/acme/roles/x"), Value: map[string]any{"definition": "boss"}}}}, wire.OrganizationInvalid},
		{"a business that is not there", Edit{Revision: now, Changes: []Change{{Path: path("businesses/evil/launch/limits/sessions"), Value: 1}}}, wire.OrganizationInvalid},
		{"an arbiter with messaging lists", Edit{Revision: now, Changes: []Change{{Path: path("businesses/acme/roles/cto/definition"), Value: "assistant"}}}, wire.OrganizationInvalid},
		{"a key below a scalar", Edit{Revision: now, Changes: []Change{{Path: path("businesses/acme/roles/dev/vars"), Value: "x"}, {Path: path("businesses/acme/roles/dev/vars/y"), Value: 1}}}, wire.OrganizationInvalid},
		{"a role that would lose what narrows it", Edit{Revision: now, Changes: []Change{{Path: path("businesses/acme/roles/rev"), Value: map[string]any{"definition": "reviewer"}}}}, wire.OrganizationOutOfScope},
		{"the person's part", Edit{Revision: now, Changes: []Change{{Path: path("businesses/acme/launch/by"), Value: "dev"}}}, wire.OrganizationOutOfScope},
		{"one good and one bad change", Edit{Revision: now, Changes: append(sessions(8), Change{Path: path("human/id"), Value: "eve"})}, wire.OrganizationOutOfScope},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, dir := writer(t, osFiles{})
			if r, err := w.Write(c.edit); !errors.Is(err, wire.Refuse(c.code)) {
				t.Errorf("got %+v, %v; want %s", r, err, c.code)
			}
			if read(t, dir, File) != example || read(t, dir, ReceiptsFile) != "" {
				t.Error("the refusal changed something")
			}
		})
	}
	t.Run("the reason is there for the person", func(t *testing.T) {
		t.Parallel()
		w, _ := writer(t, osFiles{})
		_, err := w.Write(Edit{Revision: now, Changes: sessions(-1)})
		var p *Problem
		if !errors.As(err, &p) || p.Key != "businesses.acme.launch.limits.sessions" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("no file", func(t *testing.T) {
		t.Parallel()
		if r, err := NewWriter(t.TempDir()).Write(Edit{Changes: sessions(8)}); !errors.Is(err, wire.Refuse(wire.OrganizationNotFound)) {
			t.Errorf("got %+v, %v", r, err)
		}
	})
	t.Run("the receipts are a link", func(t *testing.T) {
		t.Parallel()
		w, dir := writer(t, osFiles{})
		if err := os.Symlink(filepath.Join(t.TempDir(), "elsewhere"), filepath.Join(dir, ReceiptsFile)); err != nil {
			t.Fatal(err)
		}
		if r, err := w.Write(Edit{Revision: now, Changes: sessions(8)}); !errors.Is(err, wire.Refuse(wire.UnsafePermissions)) {
			t.Errorf("got %+v, %v", r, err)
		}
	})
}

func TestWriteAddsARole(t *testing.T) {
	t.Parallel()
	w, dir := writer(t, osFiles{})
	edit := Edit{Actor: "dana", Revision: revision([]byte(example)), Changes: []Change{
		{Path: path("businesses/acme/roles/qa"), Value: map[string]any{"definition": "tester", "vars": map[string]any{"focus": "the queue"}}},
		{Path: path("businesses/acme/launch/instances"), Value: []string{"cto", "pm", "dev", "rev", "qa"}},
	}}
	if _, err := w.Write(edit); err != nil {
		t.Fatal(err)
	}
	o, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if qa := o.Resolve("acme")["qa"]; qa.Definition != "tester" || qa.Vars["focus"] != "the queue" || !slices.Contains(o.Businesses["acme"].Launch.Instances, "qa") {
		t.Errorf("got %+v", qa)
	}
}

func TestWriteOnTopOfABrokenFile(t *testing.T) {
	t.Parallel()
	w, dir := writer(t, osFiles{})
	broken := example + "wrong: 1\n"
	if err := os.WriteFile(filepath.Join(dir, File), []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := w.Write(Edit{Revision: revision([]byte(broken)), Changes: sessions(8)}); !errors.Is(err, wire.Refuse(wire.OrganizationInvalid)) {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestWriteOfNothingNew(t *testing.T) {
	t.Parallel()
	w, dir := writer(t, osFiles{})
	if _, err := w.Write(Edit{Revision: revision([]byte(example)), Changes: sessions(4)}); err != nil {
		t.Fatal(err)
	}
	if len(receipts(t, dir)) != 0 {
		t.Error("a receipt for no change")
	}
}

// A person saves the file in their editor while a write is under way.
func TestWriteNoticesAnEditorAtTheLastMoment(t *testing.T) {
	t.Parallel()
	f := &savingFiles{}
	w, dir := writer(t, f)
	f.save = func() { os.WriteFile(filepath.Join(dir, File), []byte(example+"# mine\n"), 0o600) }
	if r, err := w.Write(Edit{Revision: revision([]byte(example)), Changes: sessions(8)}); !errors.Is(err, wire.Refuse(wire.OrganizationStale)) {
		t.Errorf("got %+v, %v", r, err)
	}
	if read(t, dir, File) != example+"# mine\n" || len(receipts(t, dir)) != 0 {
		t.Error("the person's text is gone")
	}
	if names := entries(t, dir); !slices.Equal(names, []string{ReceiptsFile, File}) {
		t.Errorf("left behind: %v", names)
	}
}

// savingFiles lets someone save when the pending receipt has been written.
type savingFiles struct {
	osFiles
	save func()
}

func (f *savingFiles) syncDir(dir string) error {
	if f.save != nil {
		f.save()
		f.save = nil
	}
	return f.osFiles.syncDir(dir)
}

// Of many writers with one revision, one writes.
func TestWriteOfManyAtOnce(t *testing.T) {
	t.Parallel()
	_, dir := writer(t, osFiles{})
	results := make(chan error)
	for i := range 8 {
		go func() {
			_, err := NewWriter(dir).Write(Edit{Actor: "dana", Revision: revision([]byte(example)), Changes: sessions(10 + i)})
			results <- err
		}()
	}
	won := 0
	for range 8 {
		switch err := <-results; {
		case err == nil:
			won++
		case !errors.Is(err, wire.Refuse(wire.OrganizationStale)):
			t.Errorf("got %v", err)
		}
	}
	if won != 1 || len(receipts(t, dir)) != 1 {
		t.Errorf("%d won, %d receipts", won, len(receipts(t, dir)))
	}
}

// steps counts the file operations of one write.
func steps(t *testing.T) int {
	t.Helper()
	f := &faultyFiles{}
	w, _ := writer(t, f)
	if _, err := w.Write(Edit{Revision: revision([]byte(example)), Changes: sessions(8)}); err != nil {
		t.Fatal(err)
	}
	return len(f.calls)
}

// whole holds that the data root has the old or the new text, a receipt exactly
// when it is the new one, and nothing else.
func whole(t *testing.T, dir string) (written bool) {
	t.Helper()
	text := read(t, dir, File)
	written = text != example
	if written && !strings.Contains(text, "sessions: 8") {
		t.Errorf("half a file:\n%s", text)
	}
	all := receipts(t, dir)
	if len(all) != map[bool]int{true: 1}[written] {
		t.Errorf("written %v with %d receipts", written, len(all))
	}
	if names := entries(t, dir); !slices.Equal(names, []string{ReceiptsFile, File}) {
		t.Errorf("left behind: %v", names)
	}
	return written
}

// One operation fails, by a full or broken disk, and the process lives on.
func TestWriteSurvivesAFaultAtEveryStep(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"create", "write", "sync", "close", "rename", "syncdir", "remove", "open"} {
		for nth := 1; nth <= 3; nth++ {
			f := &faultyFiles{fail: map[string]int{step: nth}}
			w, dir := writer(t, f)
			_, err := w.Write(Edit{Revision: revision([]byte(example)), Changes: sessions(8)})
			text := read(t, dir, File)
			switch {
			case err == nil:
			case errors.Is(err, wire.Refuse(wire.OrganizationWriteFailed)):
				if text != example {
					t.Errorf("%s %d: reported as failed, and written", step, nth)
				}
			case !errors.Is(err, wire.Refuse(wire.OutcomeUnknown)):
				t.Errorf("%s %d: %v", step, nth, err)
			}
			if err := NewWriter(dir).Settle(); err != nil {
				t.Errorf("%s %d: settle: %v", step, nth, err)
			}
			if written := whole(t, dir); err == nil && !written {
				t.Errorf("%s %d: reported as written, and not", step, nth)
			}
		}
	}
}

// The process dies before each of its file operations in turn; the next writer
// finds out what happened and goes on.
func TestWriteSurvivesACrashAtEveryStep(t *testing.T) {
	t.Parallel()
	before, after := 0, 0
	for at := 1; at <= steps(t); at++ {
		f := &faultyFiles{dies: at}
		w, dir := writer(t, f)
		w.Write(Edit{Actor: "dana", Revision: revision([]byte(example)), Changes: sessions(8)})
		// A temporary file that nothing describes is litter, not a write.
		if err := NewWriter(dir).Settle(); err != nil {
			t.Errorf("crash at %d: settle: %v", at, err)
		}
		litter(t, dir)
		if whole(t, dir) {
			after++
		} else {
			before++
		}
		o, err := Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := NewWriter(dir).Write(Edit{Actor: "dana", Revision: o.Revision, Changes: sessions(9)}); err != nil {
			t.Errorf("crash at %d: the next write: %v", at, err)
		}
	}
	if before == 0 || after == 0 {
		t.Errorf("crashes left the old text %d times and the new one %d times; both must occur", before, after)
	}
}

// litter removes temporary files of a process that died.
func litter(t *testing.T, dir string) {
	t.Helper()
	for _, name := range entries(t, dir) {
		if strings.HasPrefix(name, ".organization.") {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A receipt that a crash cut off is closed and kept; the whole one follows it.
func TestSettleClosesACutReceipt(t *testing.T) {
	t.Parallel()
	w, dir := writer(t, osFiles{})
	if err := os.WriteFile(filepath.Join(dir, ReceiptsFile), []byte(`{"at":"20`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(Edit{Revision: revision([]byte(example)), Changes: sessions(8)}); err != nil {
		t.Fatal(err)
	}
	if text := read(t, dir, ReceiptsFile); !strings.HasPrefix(text, "{\"at\":\"20\n{\"at\"") {
		t.Errorf("got %q", text)
	}
}

func TestSettleRefusesAForgedNote(t *testing.T) {
	t.Parallel()
	for _, note := range []string{"", "{}", "garbage", `{"temp":"../victim","receipt":{}}`, `{"temp":"/etc/passwd","receipt":{}}`} {
		w, dir := writer(t, osFiles{})
		victim := filepath.Join(filepath.Dir(dir), "victim")
		if err := os.WriteFile(victim, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, pendingFile), []byte(note), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := w.Settle(); !errors.Is(err, wire.Refuse(wire.OrganizationWriteFailed)) {
			t.Errorf("%q: got %v", note, err)
		}
		if _, err := os.Stat(victim); err != nil {
			t.Errorf("%q: the victim is gone", note)
		}
	}
}
