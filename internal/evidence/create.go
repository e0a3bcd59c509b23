package evidence

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"time"

	"mosaicstack.dev/mosaic/internal/wire"
)

// Create makes a new store at path (mode 0600, in an existing directory) with
// a fresh store id, and closes it. It refuses store-exists when anything is
// there: a second history is never made by accident (BUS-SCHEMA-11). Other
// refusals are invalid-path, disk-full, read-only-disk and storage-unavailable.
//
// The store is built under another name and gets its own only when it is
// complete and durable: after a crash there is a whole store or none.
func Create(ctx context.Context, path string) error { return create(ctx, path, current()) }

func create(ctx context.Context, path string, v *version) (err error) {
	defer nameDisk(path, &err)
	if err := checkPath(path); err != nil {
		return err
	}
	for _, suffix := range []string{"", walSuffix, shmSuffix, journalSuffix} {
		if _, err := os.Lstat(path + suffix); !errors.Is(err, fs.ErrNotExist) {
			return refuse(wire.StoreExists, err)
		}
	}
	name, remove, err := scratch(path)
	if err != nil {
		return err
	}
	defer remove()
	if err := build(ctx, name, v); err != nil {
		return refuse(wire.StorageUnavailable, err)
	}
	return publish(name, path)
}

// build turns the empty file into a store of this version.
func build(ctx context.Context, path string, v *version) (err error) {
	if _, err := makeSidecars(path); err != nil {
		return err
	}
	c, err := connect(ctx, path, "", writing)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	mode, err := c.pragma("journal_mode = WAL")
	if err != nil {
		return err
	}
	if mode != "wal" {
		return errors.New("journal mode is " + mode)
	}
	if err := c.db.Exec("BEGIN IMMEDIATE;" + v.source); err != nil {
		return err
	}
	now := time.Now().UnixMilli()
	for _, kv := range [][2]string{
		{metaStoreID, new(ids).next(now)},
		{metaCreated, string(formatTime(now))},
		{metaDigest, v.sourceDigest},
		{metaMaster, v.masterDigest},
		{metaVersion, strconv.Itoa(v.number)}, // last: it closes the table
	} {
		if err := c.setMeta("INSERT INTO meta (value, key) VALUES (?, ?)", kv[1], kv[0]); err != nil {
			return err
		}
	}
	return c.db.Exec("COMMIT")
}

func (c *conn) setMeta(sql, value, key string) error {
	st, err := c.prepare(sql)
	if err != nil {
		return err
	}
	defer st.Close()
	return st.text(1, value).text(2, key).exec()
}
