package evidence

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"mosaicstack.dev/mosaic/internal/wire"
)

// Backup copies the store as it is now to a new file of mode 0600, while it
// goes on being written. It refuses store-exists when anything has that name.
// The copy is one snapshot, is checked as Open checks a store, and gets its
// name only then.
func (s *Store) Backup(ctx context.Context, dest string) error {
	select {
	case <-s.stopping:
		return refuse(wire.StorageUnavailable, s.Err())
	default:
	}
	c, err := connect(ctx, s.path, s.options.vfs, reading) // a snapshot connection stays free
	if err != nil {
		return refuse(wire.StorageUnavailable, err)
	}
	defer c.close()
	return c.backup(ctx, dest)
}

// Backup copies the store at path, open or not, as Store.Backup does. It
// changes nothing at path.
func Backup(ctx context.Context, path, dest string) (err error) {
	defer nameDisk(dest, &err)
	if err := checkFiles(path); err != nil {
		return err
	}
	if err := checkWAL(path); err != nil {
		return err
	}
	c, err := inspect(ctx, path)
	if err != nil {
		return err
	}
	defer c.close()
	return c.backup(ctx, dest)
}

// backupPages is how many pages are copied between two looks at ctx.
const backupPages = 1024

func (c *conn) backup(ctx context.Context, dest string) error {
	if err := checkPath(dest); err != nil {
		return err
	}
	if info, err := os.Stat(filepath.Dir(dest)); err != nil || !info.IsDir() {
		return refusef(wire.InvalidPath, "no directory for %s", dest)
	}
	if _, err := os.Lstat(dest); !errors.Is(err, fs.ErrNotExist) {
		return refuse(wire.StoreExists, err)
	}
	name, remove, err := scratch(dest)
	if err != nil {
		return err
	}
	defer remove()
	if err := c.copyTo(ctx, name); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return damage(err)
	}
	if _, err := examine(ctx, name, nil); err != nil {
		return err
	}
	return publish(name, dest)
}

// copyTo copies one snapshot of the database.
func (c *conn) copyTo(ctx context.Context, dest string) (err error) {
	if err := c.db.Exec("BEGIN; SELECT count(*) FROM meta"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.db.Exec("ROLLBACK")) }()
	b, err := c.db.BackupInit("main", uri(dest, ""))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if done, err := b.Step(backupPages); done || err != nil {
			return err
		}
	}
}
