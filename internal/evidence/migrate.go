package evidence

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"mosaicstack.dev/mosaic/internal/wire"
)

// MigrateOptions adjust a migration. The zero value makes a backup first.
type MigrateOptions struct {
	// Backup is the path of the backup that is made before the first step;
	// "" means the store's path with ".v<version>.backup" behind it.
	Backup string
	// NoBackup leaves the backup out.
	NoBackup bool

	// For this package's tests only.
	vfs   string
	crash func(step string, p CrashPoint)
}

// Migrated says what Migrate did.
type Migrated struct {
	From   int      `json:"from"`
	To     int      `json:"to"`
	Steps  []string `json:"steps"`  // names, in order; empty for a current store
	Backup string   `json:"backup"` // "" when none was made
}

// Migrate brings the store at path to the current version, offline: it takes
// the writer lock beside the store and refuses writer-locked while a broker
// has it (BUS-SCHEMA-43 to 61). The source is checked as Open would check a
// store of that version, then backed up, then taken through one transaction a
// step. A step that fails leaves the store at the version before it and those
// before it done; running again goes on from there. A current store is checked
// and left as it is. store-missing, store-version (for a later or a foreign
// version), store-digest and store-damaged refuse and change nothing.
func Migrate(ctx context.Context, path string, o MigrateOptions) (done Migrated, err error) {
	defer nameDisk(path, &err)
	if err := checkFiles(path); err != nil {
		return done, err
	}
	lock, err := AcquireLock(filepath.Join(filepath.Dir(path), LockName))
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()

	found, err := examine(ctx, path, nil)
	if err != nil {
		return done, err
	}
	done.From, done.To = found.version.number, found.version.number
	pending := versions[found.version.number:] // version n is entry n-1
	if len(pending) == 0 {
		return done, nil
	}
	if !o.NoBackup {
		if o.Backup == "" {
			o.Backup = fmt.Sprintf("%s.v%d.backup", path, done.From)
		}
		if err := Backup(ctx, path, o.Backup); err != nil {
			return done, err
		}
		done.Backup = o.Backup
	}
	err = migrate(ctx, path, o, pending, &done)
	return done, err
}

func migrate(ctx context.Context, path string, o MigrateOptions, pending []version, done *Migrated) (err error) {
	if _, err := makeSidecars(path); err != nil {
		return refuse(wire.StorageUnavailable, err)
	}
	c, err := connect(ctx, path, o.vfs, writing)
	if err != nil {
		return refuse(wire.StorageUnavailable, err)
	}
	defer func() { err = errors.Join(err, c.close()) }()
	for i := range pending {
		if err := ctx.Err(); err != nil {
			return err
		}
		v := &pending[i]
		pass := func(p CrashPoint) {
			if o.crash != nil {
				o.crash(v.stepName(), p)
			}
		}
		if err := c.migrateTo(v, pass); err != nil {
			return err
		}
		done.To = v.number
		done.Steps = append(done.Steps, v.stepName())
	}
	return nil
}

// stepName names the step that makes this version.
func (v *version) stepName() string { return fmt.Sprintf("%d-to-%d", v.number-1, v.number) }

// migrateTo runs one step in one transaction: its DDL, the metadata behind a
// guard that is lifted and put back, and the check of what came out.
func (c *conn) migrateTo(v *version, pass func(CrashPoint)) (err error) {
	if err := c.db.Exec("BEGIN IMMEDIATE"); err != nil {
		return unavailable(err)
	}
	defer func() {
		if err != nil && !c.db.GetAutocommit() {
			c.db.Exec("ROLLBACK")
		}
	}()
	if err := c.db.Exec(v.step); err != nil {
		return unavailable(err)
	}
	if err := c.changeMeta(v); err != nil {
		return err
	}
	master, err := masterDigest(c)
	if err != nil {
		return unavailable(err)
	}
	if master != v.masterDigest {
		return refusef(wire.StoreDigest, "step %s made sqlite_master %s", v.stepName(), master)
	}
	pass(BeforeCommit)
	if err := c.db.Exec("COMMIT"); err != nil {
		return unavailable(err)
	}
	pass(CommittedNotAnswered)
	return nil
}

// metaGuard is the trigger that a step lifts; it is put back as it was.
const metaGuard = "meta_no_update"

func (c *conn) changeMeta(v *version) error {
	guard, err := c.triggerSQL(metaGuard)
	if err != nil {
		return err
	}
	if err := c.db.Exec("DROP TRIGGER " + metaGuard); err != nil {
		return unavailable(err)
	}
	for _, kv := range [][2]string{
		{metaVersion, strconv.Itoa(v.number)},
		{metaDigest, v.sourceDigest},
		{metaMaster, v.masterDigest},
	} {
		if err := c.setMeta("UPDATE meta SET value = ? WHERE key = ?", kv[1], kv[0]); err != nil {
			return err
		}
	}
	return unavailable(c.db.Exec(guard))
}

func (c *conn) triggerSQL(name string) (string, error) {
	st, err := c.prepare("SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND name = ?")
	if err != nil {
		return "", unavailable(err)
	}
	defer st.Close()
	var sql string
	if st.text(1, name).step() {
		sql = st.ColumnText(0)
	}
	st.fail(st.Err())
	if st.err == nil && !strings.HasPrefix(sql, "CREATE TRIGGER") {
		st.fail(fmt.Errorf("no trigger %s", name))
	}
	return sql, unavailable(st.err)
}
