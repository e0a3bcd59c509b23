package evidence

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mosaicstack.dev/mosaic/internal/wire"
)

var update = flag.Bool("update", false, "write the fixture of version 1 again")

const fixtureV1 = "testdata/v1.sqlite"

// TestFixtureOfVersion1 keeps a store of version 1 with rows in every table,
// written by this package.
func TestFixtureOfVersion1(t *testing.T) {
	if *update {
		writeFixture(t)
	}
	path := copyFixture(t)
	found, err := examine(t.Context(), path, &versions[0])
	if err != nil {
		t.Fatal(err)
	}
	if found.version.number != 1 {
		t.Errorf("version %d", found.version.number)
	}
	if r := verifyClean(t, path); r.Rows < 20 {
		t.Errorf("only %d rows", r.Rows)
	}
}

func writeFixture(t *testing.T) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bus.sqlite")
	if err := create(t.Context(), path, &versions[0]); err != nil {
		t.Fatal(err)
	}
	s, err := open(t.Context(), path, Options{}, &versions[0])
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, path: path, Store: s}
	w.history()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	bytes, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(fixtureV1, bytes, 0o644); err != nil {
		t.Fatal(err)
	}
}

func copyFixture(t *testing.T) string {
	t.Helper()
	bytes, err := os.ReadFile(fixtureV1)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "bus.sqlite")
	if err := os.WriteFile(path, bytes, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// everyRow returns the encoding of every row of the chained tables.
func everyRow(t *testing.T, path string) (rows []string) {
	t.Helper()
	c, err := inspect(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	all, err := rowsSince(c, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		rows = append(rows, r.at+string(r.enc.buf))
	}
	return rows
}

func masterRows(t *testing.T, path string) (rows []string) {
	t.Helper()
	c, err := inspect(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	st, err := c.prepare("SELECT type || ' ' || name || ': ' || coalesce(sql, '') FROM sqlite_schema ORDER BY 1")
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for st.step() {
		rows = append(rows, st.ColumnText(0))
	}
	return rows
}

// A migrated store is the store that Create makes, with the rows that it had.
//
// proves: BUS-SCHEMA-43 BUS-SCHEMA-48 BUS-SCHEMA-49 BUS-SCHEMA-50 BUS-SCHEMA-52 BUS-SCHEMA-53 BUS-SCHEMA-58 BUS-SCHEMA-60
func TestMigrateFixture(t *testing.T) {
	t.Parallel()
	path := copyFixture(t)
	rows := everyRow(t, path)
	done, err := Migrate(t.Context(), path, MigrateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := Migrated{From: 1, To: 2, Steps: []string{"1-to-2"}, Backup: path + ".v1.backup"}
	if d := cmp.Diff(want, done); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(rows, everyRow(t, path)); d != "" {
		t.Errorf("rows changed: %s", d)
	}
	fresh := filepath.Join(t.TempDir(), "bus.sqlite")
	if err := Create(t.Context(), fresh); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(masterRows(t, fresh), masterRows(t, path)); d != "" {
		t.Errorf("a migrated store differs from a fresh one: %s", d)
	}
	if found, err := examine(t.Context(), done.Backup, &versions[0]); err != nil || found.version.number != 1 {
		t.Errorf("the backup: %v, %v", found, err)
	}
	w := openWorld(t, path)
	if err := rawExec(t, w.path, "UPDATE meta SET value = '1' WHERE key = 'schema_version'"); !mentions(err, "meta-immutable") {
		t.Errorf("the guard of meta is gone: %v", err)
	}
	w.hold("writer")
}

// A current store is checked and left as it is, byte for byte.
//
// proves: BUS-SCHEMA-56
func TestMigrateCurrent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.history()
	w.Close()
	before := hashDir(t, filepath.Dir(w.path))
	done, err := Migrate(t.Context(), w.path, MigrateOptions{})
	if err != nil || len(done.Steps) != 0 || done.Backup != "" {
		t.Errorf("migrated %+v, %v", done, err)
	}
	if d := cmp.Diff(before, hashDir(t, filepath.Dir(w.path))); d != "" {
		t.Error(d)
	}
}

// proves: BUS-SCHEMA-14 BUS-SCHEMA-45 BUS-SCHEMA-46 BUS-SCHEMA-47 BUS-SCHEMA-57 BUS-SCHEMA-61
func TestMigrateRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change string
		want   wire.Code
	}{
		"later version":   {"UPDATE meta SET value = '3' WHERE key = 'schema_version'", wire.StoreVersion},
		"foreign version": {"UPDATE meta SET value = '3i' WHERE key = 'schema_version'", wire.StoreVersion},
		"no version":      {"DELETE FROM meta WHERE key = 'schema_version'", wire.StoreDamaged},
		"other digest":    {"UPDATE meta SET value = 'x' WHERE key = 'schema_digest'", wire.StoreDigest},
		"another trigger": {"CREATE TRIGGER t BEFORE INSERT ON meta BEGIN SELECT 1; END", wire.StoreDigest},
		"bad time":        {"PRAGMA ignore_check_constraints = ON; UPDATE messages SET at = '2026-01-01 00:00:00' WHERE seq = 1", wire.StoreDamaged},
		"lost row":        {"PRAGMA foreign_keys = OFF; DELETE FROM messages WHERE seq = 1", wire.StoreDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := copyFixture(t)
			tamper(t, path, c.change)
			before := hashDir(t, filepath.Dir(path))
			_, err := Migrate(t.Context(), path, MigrateOptions{})
			if !errors.Is(err, wire.Refuse(c.want)) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if d := cmp.Diff(before, hashDir(t, filepath.Dir(path))); d != "" {
				t.Error(d)
			}
		})
	}
	t.Run("missing", func(t *testing.T) {
		t.Parallel()
		_, err := Migrate(t.Context(), filepath.Join(t.TempDir(), "bus.sqlite"), MigrateOptions{})
		if !errors.Is(err, wire.Refuse(wire.StoreMissing)) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("locked", func(t *testing.T) {
		t.Parallel()
		path := copyFixture(t)
		lock, err := AcquireLock(filepath.Join(filepath.Dir(path), LockName))
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Release()
		if _, err := Migrate(t.Context(), path, MigrateOptions{}); !errors.Is(err, wire.Refuse(wire.WriterLocked)) {
			t.Errorf("got %v", err)
		}
	})
}

// Version 1 does not open: only Migrate touches it.
//
// proves: BUS-SCHEMA-12 BUS-SCHEMA-13
func TestOpenNeverMigrates(t *testing.T) {
	t.Parallel()
	path := copyFixture(t)
	before := hashDir(t, filepath.Dir(path))
	if _, err := Open(t.Context(), path, Options{}); !errors.Is(err, wire.Refuse(wire.StoreVersion)) {
		t.Errorf("got %v", err)
	}
	if d := cmp.Diff(before, hashDir(t, filepath.Dir(path))); d != "" {
		t.Error(d)
	}
}
