package evidence

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ncruces/go-sqlite3"

	"mosaicstack.dev/mosaic/internal/wire"
)

// copyStore copies a store's files to a directory of their own.
func copyStore(t *testing.T, from string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "bus.sqlite")
	for _, suffix := range []string{"", walSuffix, shmSuffix} {
		text, err := os.ReadFile(from + suffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path+suffix, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// crashedStore is a store as a crash leaves it, with rows in its WAL.
func crashedStore(t *testing.T) (path string) {
	t.Helper()
	w := newWorld(t)
	w.history()
	return copyStore(t, w.path)
}

func closedStore(t *testing.T) (path string) {
	t.Helper()
	w := newWorld(t)
	w.history()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return copyStore(t, w.path)
}

// patch overwrites bytes of a file.
func patch(t *testing.T, path string, off int64, bytes []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(bytes, off); err != nil {
		t.Fatal(err)
	}
}

// Every refusal at open: its code, and no byte of any file changed.
//
// proves: BUS-SCHEMA-03 BUS-SCHEMA-04 BUS-SCHEMA-05 BUS-SCHEMA-06 BUS-SCHEMA-07 BUS-SCHEMA-08 BUS-SCHEMA-09
// proves: BUS-SCHEMA-10 BUS-SCHEMA-14 BUS-SCHEMA-23 BUS-BOOT-24 BUS-BOOT-25 BUS-BOOT-57
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	tampered := func(sql string) func(*testing.T) string {
		return func(t *testing.T) string {
			path := closedStore(t)
			tamper(t, path, sql)
			return path
		}
	}
	type refusalCase struct {
		name string
		make func(*testing.T) string
		want wire.Code
	}
	cases := []refusalCase{
		{"missing", func(t *testing.T) string { return filepath.Join(t.TempDir(), "bus.sqlite") }, wire.StoreMissing},
		{"a directory", func(t *testing.T) string { return t.TempDir() }, wire.UnsafePermissions},
		{"a symlink", func(t *testing.T) string {
			link := filepath.Join(t.TempDir(), "bus.sqlite")
			if err := os.Symlink(closedStore(t), link); err != nil {
				t.Fatal(err)
			}
			return link
		}, wire.UnsafePermissions},
		{"a dangling symlink", func(t *testing.T) string {
			link := filepath.Join(t.TempDir(), "bus.sqlite")
			if err := os.Symlink("nowhere", link); err != nil {
				t.Fatal(err)
			}
			return link
		}, wire.UnsafePermissions},
		{"a rollback journal", func(t *testing.T) string {
			path := closedStore(t)
			if err := os.WriteFile(path+journalSuffix, []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}, wire.StoreDamaged},
		{"an empty file", func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "bus.sqlite")
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}, wire.StoreDamaged},
		{"another file", func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "bus.sqlite")
			if err := os.WriteFile(path, []byte(strings.Repeat("not a database ", 100)), 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}, wire.StoreDamaged},
		{"another database", func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "bus.sqlite")
			db, err := sqlite3.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Exec("PRAGMA journal_mode = WAL; CREATE TABLE x (y)"); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(db.Close(), os.Chmod(path, 0o600)); err != nil {
				t.Fatal(err)
			}
			return path
		}, wire.StoreDamaged},
		{"no WAL mode", func(t *testing.T) string {
			path := closedStore(t)
			patch(t, path, 18, []byte{1, 1})
			return path
		}, wire.StoreDamaged},
		{"no metadata", tampered("DELETE FROM meta"), wire.StoreDamaged},
		{"no version", tampered("DELETE FROM meta WHERE key = 'schema_version'"), wire.StoreDamaged},
		{"no store id", tampered("DELETE FROM meta WHERE key = 'store_id'"), wire.StoreDamaged},
		{"no creation time", tampered("DELETE FROM meta WHERE key = 'created'"), wire.StoreDamaged},
		{"more metadata", tampered("INSERT INTO meta VALUES ('x', 'y')"), wire.StoreDamaged},
		{"another source", tampered("UPDATE meta SET value = 'x' WHERE key = 'schema_digest'"), wire.StoreDigest},
		{"another master", tampered("UPDATE meta SET value = 'x' WHERE key = 'master_digest'"), wire.StoreDigest},
		{"another table", tampered("CREATE TABLE x (y)"), wire.StoreDigest},
		{"a guard less", func(t *testing.T) string {
			path := closedStore(t)
			if err := rawExec(t, path, "DROP TRIGGER events_no_update"); err != nil {
				t.Fatal(err)
			}
			return path
		}, wire.StoreDigest},
		{"a row less", tampered("PRAGMA foreign_keys = OFF; DELETE FROM messages WHERE seq = 1"), wire.StoreDamaged},
		{"a value that no CHECK allows", tampered("PRAGMA ignore_check_constraints = ON; UPDATE events SET kind = 'x' WHERE seq = 1"), wire.StoreDamaged},
		{"a corrupted page", func(t *testing.T) string {
			path := closedStore(t)
			for page := int64(3); page < 40; page++ {
				patch(t, path, page*4096, []byte{0xff, 0xff, 0xff, 0xff})
			}
			return path
		}, wire.StoreDamaged},
		{"a page less", func(t *testing.T) string {
			path := closedStore(t)
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(path, info.Size()-4096); err != nil {
				t.Fatal(err)
			}
			return path
		}, wire.StoreDamaged},
		{"a truncated WAL", func(t *testing.T) string {
			path := crashedStore(t)
			info, err := os.Stat(path + walSuffix)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(path+walSuffix, info.Size()-5000); err != nil {
				t.Fatal(err)
			}
			return path
		}, wire.StoreDamaged},
		{"an empty WAL", func(t *testing.T) string {
			path := crashedStore(t)
			if err := os.Truncate(path+walSuffix, 0); err != nil {
				t.Fatal(err)
			}
			return path
		}, wire.StoreDamaged},
		{"a lost WAL", func(t *testing.T) string {
			path := crashedStore(t)
			if err := os.Remove(path + walSuffix); err != nil {
				t.Fatal(err)
			}
			return path
		}, wire.StoreDamaged},
		{"a bit in the WAL", func(t *testing.T) string {
			path := crashedStore(t)
			patch(t, path+walSuffix, 32+24+100, []byte{0x55})
			return path
		}, wire.StoreDamaged},
	}
	for _, version := range []string{"0", "1", "3", "99", "3b", "3c", "3d", "3e", "3f", "3g", "3h", "3i", "", "02"} {
		cases = append(cases, refusalCase{"version " + version,
			tampered(fmt.Sprintf("UPDATE meta SET value = '%s' WHERE key = 'schema_version'", version)), wire.StoreVersion})
	}
	for _, mode := range []os.FileMode{0o644, 0o660, 0o400, 0o700, 0o000, 0o600 | os.ModeSetuid, 0o606} {
		for _, suffix := range []string{"", walSuffix, shmSuffix} {
			cases = append(cases, refusalCase{fmt.Sprintf("mode %v%s", mode, suffix), func(t *testing.T) string {
				path := crashedStore(t)
				if err := os.Chmod(path+suffix, mode); err != nil {
					t.Fatal(err)
				}
				return path
			}, wire.UnsafePermissions})
		}
	}
	for _, table := range tables {
		if table.name != "checkpoints" {
			cases = append(cases, refusalCase{"a time of " + table.name,
				tampered("PRAGMA ignore_check_constraints = ON; UPDATE " + table.name + " SET at = '2026-01-01T00:00:00Z' WHERE seq = 1"),
				wire.StoreDamaged})
		}
	}
	for _, x := range cases {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			path := x.make(t)
			before := hashDir(t, filepath.Dir(path))
			s, err := Open(t.Context(), path, Options{})
			if err == nil {
				s.Close()
			}
			if !errors.Is(err, wire.Refuse(x.want)) {
				t.Errorf("got %v, want %s", err, x.want)
			}
			if d := cmp.Diff(before, hashDir(t, filepath.Dir(path))); d != "" {
				t.Errorf("the refusal changed files: %s", d)
			}
		})
	}
}

// Another user's file is refused, where the test can make one.
//
// proves: BUS-BOOT-25
func TestOpenRefusesAnotherUsersFile(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	path := closedStore(t)
	if err := os.Chown(path, 12345, -1); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), path, Options{}); !errors.Is(err, wire.Refuse(wire.UnsafePermissions)) {
		t.Errorf("got %v", err)
	}
}

// What a crash leaves opens, with every row, and a WAL that was cut in the
// middle of a frame that nobody was told of is no damage.
func TestOpenAfterCrash(t *testing.T) {
	t.Parallel()
	path := crashedStore(t)
	f, err := os.OpenFile(path+walSuffix, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	f.Close()
	w := openWorld(t, path)
	w.view(func(s *Snapshot) error {
		c, err := s.LaneCounts(acme, "rev")
		if err == nil && c.Total != 2 {
			t.Errorf("counts %+v", c)
		}
		return err
	})
}

// The checks of an opened store look at the CHECK constraints too; with
// SQLite's read-only mode they would not.
//
// proves: BUS-SCHEMA-23
func TestQuickCheckEvaluatesChecks(t *testing.T) {
	t.Parallel()
	path := closedStore(t)
	tamper(t, path, "PRAGMA ignore_check_constraints = ON; UPDATE messages SET at = 'yesterday' WHERE seq = 1")
	c, err := inspect(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if err := c.quickCheck(); !errors.Is(err, wire.Refuse(wire.StoreDamaged)) {
		t.Errorf("got %v", err)
	}
}

// proves: BUS-SCHEMA-11 BUS-BOOT-21 BUS-BOOT-57
func TestCreate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "bus.sqlite")
	if err := Create(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	before := hashDir(t, dir)
	if len(before) != 1 || !strings.HasPrefix(before["bus.sqlite"], "-rw-------") {
		t.Errorf("made %v", before)
	}
	if err := Create(t.Context(), path); !errors.Is(err, wire.Refuse(wire.StoreExists)) {
		t.Errorf("again: %v", err)
	}
	if d := cmp.Diff(before, hashDir(t, dir)); d != "" {
		t.Errorf("the second Create changed files: %s", d)
	}
	for name, make := range map[string]func(string) error{
		"empty file": func(p string) error { return os.WriteFile(p, nil, 0o600) },
		"symlink":    func(p string) error { return os.Symlink("nowhere", p) },
		"directory":  func(p string) error { return os.Mkdir(p, 0o700) },
		"lost WAL":   func(p string) error { return os.WriteFile(p+walSuffix, []byte("x"), 0o600) },
	} {
		p := filepath.Join(t.TempDir(), "bus.sqlite")
		if err := make(p); err != nil {
			t.Fatal(err)
		}
		if err := Create(t.Context(), p); !errors.Is(err, wire.Refuse(wire.StoreExists)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	a, b := filepath.Join(t.TempDir(), "bus.sqlite"), filepath.Join(t.TempDir(), "missing", "bus.sqlite")
	if err := Create(t.Context(), b); !errors.Is(err, wire.Refuse(wire.StorageUnavailable)) {
		t.Errorf("no directory: %v", err)
	}
	if err := Create(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	one, two := openWorld(t, path), openWorld(t, a)
	if one.ID() == two.ID() {
		t.Error("two stores have one id")
	}
}

// The files of an open store are private whatever the umask, and every
// connection has the settings that the guarantees rest on.
//
// proves: BUS-SCHEMA-15 BUS-BOOT-21
func TestOpenStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.history()
	for name, file := range hashDir(t, filepath.Dir(w.path)) {
		if !strings.HasPrefix(file, "-rw------- ") {
			t.Errorf("%s: %s", name, file)
		}
	}
	settings := func(c *conn) {
		for name, want := range map[string]string{
			"foreign_keys": "1", "recursive_triggers": "1", "trusted_schema": "0", "journal_mode": "wal",
		} {
			if got, err := c.pragma(name); err != nil || got != want {
				t.Errorf("%s is %q, %v", name, got, err)
			}
		}
		if on, err := c.db.Config(sqlite3.DBCONFIG_DEFENSIVE); err != nil || !on {
			t.Errorf("defensive mode is %v, %v", on, err)
		}
	}
	w.update(func(tx *Tx) error {
		settings(tx.c)
		if got, err := tx.c.pragma("synchronous"); err != nil || got != "2" {
			t.Errorf("synchronous is %q, %v", got, err)
		}
		return nil
	})
	w.view(func(s *Snapshot) error {
		settings(s.c)
		if err := s.c.db.Exec("DELETE FROM events"); err == nil {
			t.Error("a snapshot can write")
		}
		return nil
	})
}

// Whoever opens the store, its WAL and index are private, whatever the umask:
// the next start would refuse them otherwise.
func TestSidecarsArePrivate(t *testing.T) {
	t.Parallel()
	for _, a := range []access{writing, sharing} {
		path := closedStore(t)
		c, err := connect(t.Context(), path, "", a)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.meta(); err != nil {
			t.Fatal(err)
		}
		files := hashDir(t, filepath.Dir(path))
		if len(files) != 3 {
			t.Errorf("made %v", files)
		}
		for name, file := range files {
			if !strings.HasPrefix(file, "-rw------- ") {
				t.Errorf("%s: %s", name, file)
			}
		}
		if err := c.close(); err != nil {
			t.Fatal(err)
		}
		openWorld(t, path)
	}
}
