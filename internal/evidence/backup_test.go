package evidence

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mosaicstack.dev/mosaic/internal/wire"
)

// A backup that is taken under load is one moment of the store, and a store.
//
// proves: BUS-SCHEMA-60
func TestBackupOnline(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *Options) { o.checkpointPages = 50 })
	dev := w.hold("dev")
	stop, done := make(chan struct{}), make(chan struct{})
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
	dir := t.TempDir()
	for i := range 5 {
		id, err := w.pair(dev, fmt.Sprint("marker", i))
		if err != nil {
			t.Fatal(err)
		}
		dest := filepath.Join(dir, fmt.Sprint(i), "bus.sqlite")
		if err := os.Mkdir(filepath.Dir(dest), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := w.Backup(t.Context(), dest); err != nil {
			t.Fatal(err)
		}
		if files := hashDir(t, filepath.Dir(dest)); len(files) != 1 || !strings.HasPrefix(files["bus.sqlite"], "-rw------- ") {
			t.Errorf("made %v", files)
		}
		checkPairs(t, dest, []wire.MessageID{id})
	}
	close(stop)
	<-done
}

// A restored backup is the store that it was taken from, and goes on.
func TestBackupRestore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.history()
	dest := filepath.Join(t.TempDir(), "bus.sqlite")
	if err := w.Backup(t.Context(), dest); err != nil {
		t.Fatal(err)
	}
	restored := openWorld(t, dest)
	if restored.ID() != w.ID() {
		t.Error("the id differs")
	}
	restored.hold("pm")
	w.Close()
	if d := cmp.Diff(everyRow(t, w.path), everyRow(t, copyStore(t, dest))[:len(everyRow(t, w.path))]); d != "" {
		t.Error(d)
	}
}

func TestBackupOffline(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"closed": closedStore(t), "crashed": crashedStore(t)} {
		before := hashDir(t, filepath.Dir(path))
		dest := filepath.Join(t.TempDir(), "copy")
		if err := Backup(t.Context(), path, dest); err != nil {
			t.Fatal(name, err)
		}
		if d := cmp.Diff(before, hashDir(t, filepath.Dir(path))); d != "" {
			t.Errorf("%s: the backup changed the store: %s", name, d)
		}
		if d := cmp.Diff(everyRow(t, path), everyRow(t, dest)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		verifyClean(t, dest)
	}
}

func TestBackupRefuses(t *testing.T) {
	t.Parallel()
	path := closedStore(t)
	dir := t.TempDir()
	there := filepath.Join(dir, "there")
	if err := os.WriteFile(there, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("nowhere", link); err != nil {
		t.Fatal(err)
	}
	damaged := closedStore(t)
	tamper(t, damaged, "PRAGMA foreign_keys = OFF; DELETE FROM messages WHERE seq = 1")
	before := hashDir(t, dir)
	for name, x := range map[string]struct {
		from, to string
		want     wire.Code
	}{
		"a file that is there": {path, there, wire.StoreExists},
		"a symlink":            {path, link, wire.StoreExists},
		"no store":             {filepath.Join(dir, "none"), filepath.Join(dir, "copy"), wire.StoreMissing},
		"a damaged store":      {damaged, filepath.Join(dir, "copy"), wire.StoreDamaged},
		"no directory":         {path, filepath.Join(dir, "none", "copy"), wire.InvalidPath},
	} {
		if err := Backup(t.Context(), x.from, x.to); !errors.Is(err, wire.Refuse(x.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Backup(ctx, path, filepath.Join(dir, "copy")); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if d := cmp.Diff(before, hashDir(t, dir)); d != "" {
		t.Errorf("left behind: %s", d)
	}
	w := newWorld(t)
	w.Close()
	if err := w.Backup(t.Context(), filepath.Join(dir, "copy")); !errors.Is(err, wire.Refuse(wire.StorageUnavailable)) {
		t.Errorf("closed: %v", err)
	}
}
