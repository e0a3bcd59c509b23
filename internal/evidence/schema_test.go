package evidence

import (
	"path/filepath"
	"testing"
)

// The pinned digests are those of the sources in the tree and of what the
// sources make.
//
// proves: BUS-SCHEMA-01 BUS-SCHEMA-58
func TestDigestsArePinned(t *testing.T) {
	t.Parallel()
	for _, v := range versions {
		if got := sourceDigest(v.source); got != v.sourceDigest {
			t.Errorf("version %d: source digest %s, pinned %s", v.number, got, v.sourceDigest)
		}
		path := filepath.Join(t.TempDir(), "bus.sqlite")
		if err := create(t.Context(), path, &v); err != nil {
			t.Fatal(err)
		}
		c, err := inspect(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.close()
		got, err := masterDigest(c)
		if err != nil {
			t.Fatal(err)
		}
		if got != v.masterDigest {
			t.Errorf("version %d: sqlite_master digest %s, pinned %s", v.number, got, v.masterDigest)
		}
	}
}
