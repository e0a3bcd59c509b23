package evidence

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mosaicstack.dev/mosaic/internal/wire"
)

// A full and a read-only disk have codes of their own wherever a start or an
// offline command meets them.
func TestTheDiskIsNamed(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=2m,mode=700"); err != nil {
		t.Skipf("cannot mount a small file system: %v", err)
	}
	defer syscall.Unmount(dir, syscall.MNT_DETACH)
	path, lock := filepath.Join(dir, "bus.sqlite"), filepath.Join(dir, LockName)
	if err := Create(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	filler := filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, 4<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	check := func(want wire.Code) {
		t.Helper()
		elsewhere := filepath.Join(dir, "other.sqlite")
		_, locked := AcquireLock(lock)
		store, opened := Open(t.Context(), path, Options{})
		if opened == nil {
			store.Close()
		}
		for what, err := range map[string]error{
			"lock": locked, "open": opened, "create": Create(t.Context(), elsewhere),
			"backup": Backup(t.Context(), path, elsewhere), "key": CreateCheckpointKey(t.Context(), path),
		} {
			if wire.AsError(err) == nil || wire.AsError(err).Code != want {
				t.Errorf("%s: %v, not %s", what, err, want)
			}
		}
	}
	check(wire.DiskFull)
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("none", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	check(wire.ReadOnlyDisk)
}

// A path that SQLite cannot take is refused before anything is made.
func TestPathsAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	long := filepath.Join(dir, strings.Repeat("d", 200), strings.Repeat("d", 200), strings.Repeat("d", 200), strings.Repeat("d", 200))
	if err := os.MkdirAll(long, 0o700); err != nil {
		t.Fatal(err)
	}
	fits := filepath.Join(long, strings.Repeat("f", maxPath-len(long)-1))
	if err := Create(t.Context(), fits); err != nil {
		t.Fatalf("the longest path: %v", err)
	}
	if err := Backup(t.Context(), fits, filepath.Join(dir, "copy")); err != nil {
		t.Errorf("from the longest path: %v", err)
	}
	for _, path := range []string{fits + "f", filepath.Join(dir, "a\x00b")} {
		_, verified := Verify(t.Context(), path)
		_, opened := Open(t.Context(), path, Options{})
		for what, err := range map[string]error{
			"create": Create(t.Context(), path), "open": opened, "verify": verified,
			"backup": Backup(t.Context(), fits, path),
		} {
			if !errors.Is(err, wire.Refuse(wire.InvalidPath)) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
}

// Verify opens nothing that may never answer.
func TestVerifyReadsPlainFilesOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Close()
	dir := t.TempDir()
	pipe, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(pipe, link); err != nil {
		t.Fatal(err)
	}
	wal := copyStore(t, w.path)
	os.Remove(wal + walSuffix)
	if err := syscall.Mkfifo(wal+walSuffix, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, link, dir, "/dev/zero", wal} {
		if _, err := Verify(t.Context(), path); !errors.Is(err, wire.Refuse(wire.InvalidPath)) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// The time of creation is bound to the store's id, and that to the chain.
func TestCreationIsBound(t *testing.T) {
	t.Parallel()
	for name, sql := range map[string]string{
		"deleted": "DELETE FROM meta WHERE key = 'created'",
		"changed": "UPDATE meta SET value = '2026-01-01T00:00:00.000Z' WHERE key = 'created'",
	} {
		w := newWorld(t)
		w.Close()
		path := copyStore(t, w.path)
		tamper(t, path, sql)
		if r, err := Verify(t.Context(), path); err != nil || r.OK() {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if _, err := Open(t.Context(), path, Options{}); !errors.Is(err, wire.Refuse(wire.StoreDamaged)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A lost private key is made anew, notes of the old one still verify, and a
// start refuses keys that others can read.
func TestANewKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key, public := filepath.Join(filepath.Dir(w.path), checkpointKeyFile), filepath.Join(filepath.Dir(w.path), checkpointVerifyFile)
	sign := func() string {
		t.Helper()
		if err := CreateCheckpointKey(t.Context(), w.path); err != nil {
			t.Fatal(err)
		}
		note, err := w.Checkpoint(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return note
	}
	first := sign()
	os.Remove(key)
	second := sign()
	if r := verifyClean(t, w.path, first, second); r.Unverified() || r.UnknownSigners != 0 {
		t.Errorf("with both public keys: %+v", r)
	}
	os.Remove(key)
	os.Remove(public)
	third := sign()
	if r := verifyClean(t, w.path, third); r.Unverified() || r.UnknownSigners != 2 {
		t.Errorf("with the last key alone: %+v", r)
	}
	if r, err := Verify(t.Context(), w.path, first); err != nil || !r.Unverified() {
		t.Errorf("the first note: %+v, %v", r, err)
	}
	w.Close()
	for _, path := range []string{key, public} {
		os.Chmod(path, 0o644)
		if _, err := Open(t.Context(), w.path, Options{}); !errors.Is(err, wire.Refuse(wire.UnsafePermissions)) {
			t.Errorf("%s open to others: %v", path, err)
		}
		os.Chmod(path, 0o600)
	}
}
