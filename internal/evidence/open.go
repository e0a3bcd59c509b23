package evidence

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"mosaicstack.dev/mosaic/internal/wire"
)

// examination is what the checks at open found.
type examination struct {
	version *version
	storeID string
}

// examine makes every check of BUS-SCHEMA-03 to 10 on a store that no process
// has open, and changes no byte of any of its files.
func examine(ctx context.Context, path string, want *version) (*examination, error) {
	if err := checkFiles(path); err != nil {
		return nil, err
	}
	if err := checkHeader(path); err != nil {
		return nil, err
	}
	if err := checkWAL(path); err != nil {
		return nil, err
	}
	c, err := inspect(ctx, path)
	if err != nil {
		return nil, err
	}
	defer c.close()
	c.db.SetInterrupt(ctx)
	return c.examine(want)
}

// examine checks the open file; want nil accepts any version that Migrate
// knows.
func (c *conn) examine(want *version) (*examination, error) {
	meta, err := c.meta()
	if err != nil {
		return nil, damage(err)
	}
	name, ok := meta[metaVersion]
	if !ok {
		return nil, refusef(wire.StoreDamaged, "no schema version")
	}
	v := knownVersion(name)
	if v == nil || (want != nil && v != want) {
		return nil, refusef(wire.StoreVersion, "schema version %q", name)
	}
	if meta[metaDigest] != v.sourceDigest {
		return nil, refusef(wire.StoreDigest, "schema source %q", meta[metaDigest])
	}
	master, err := masterDigest(c)
	if err != nil {
		return nil, damage(err)
	}
	if master != v.masterDigest || meta[metaMaster] != v.masterDigest {
		return nil, refusef(wire.StoreDigest, "sqlite_master %s, recorded %q", master, meta[metaMaster])
	}
	if err := checkMeta(meta); err != nil {
		return nil, refuse(wire.StoreDamaged, err)
	}
	if err := c.quickCheck(); err != nil {
		return nil, err
	}
	if err := c.foreignKeyCheck(); err != nil {
		return nil, err
	}
	return &examination{version: v, storeID: meta[metaStoreID]}, nil
}

// checkMeta finds metadata that is missing, too much, or was changed. The
// store's id binds the time of creation, which stands in it, to the chain.
func checkMeta(meta map[string]string) error {
	id, err := uuid.Parse(meta[metaStoreID])
	if len(meta) != 5 || err != nil || id.String() != meta[metaStoreID] {
		return errors.New("the store's description is not complete")
	}
	created, err := parseTime(meta[metaCreated])
	if err != nil {
		return err
	}
	if seconds, nanos := id.Time().UnixTime(); seconds*1000+nanos/1e6 != created {
		return errors.New("the time of creation is not the one in the store's id")
	}
	return nil
}

// quickCheck also evaluates every CHECK of every row, and with them the form
// of every timestamp (BUS-SCHEMA-23).
func (c *conn) quickCheck() error {
	result, err := c.pragma("quick_check(1)")
	if err != nil {
		return damage(err)
	}
	if result != "ok" {
		return refusef(wire.StoreDamaged, "quick_check: %s", result)
	}
	return nil
}

func (c *conn) foreignKeyCheck() error {
	st, err := c.prepare("PRAGMA foreign_key_check")
	if err != nil {
		return damage(err)
	}
	defer st.Close()
	if st.step() {
		return refusef(wire.StoreDamaged, "foreign key of %s row %d", st.ColumnText(0), st.ColumnInt64(1))
	}
	st.fail(st.Err())
	return damage(st.err)
}

// damage gives a failure to read the file its code: a file that cannot be read
// as a store is damaged, a disk that fails or a lock that is held is not.
func damage(err error) error {
	if err == nil {
		return nil
	}
	if isTransient(err) || isIO(err) {
		return refuse(wire.StorageUnavailable, err)
	}
	return refuse(wire.StoreDamaged, fmt.Errorf("reading the store: %w", err))
}
