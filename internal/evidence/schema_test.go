package evidence

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

// The tables, and the columns that the package writes and hashes, are those of
// the schema.
//
// proves: BUS-SCHEMA-02 BUS-SCHEMA-30 BUS-SCHEMA-31 BUS-SCHEMA-35 BUS-SCHEMA-36 BUS-SCHEMA-38 BUS-SCHEMA-39
func TestTablesAreThoseOfTheSchema(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Close()
	c, err := inspect(t.Context(), w.path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	column := func(sql string) (all []string) {
		st, err := c.prepare(sql)
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		for st.step() {
			all = append(all, st.ColumnText(0))
		}
		return all
	}
	for _, table := range tables {
		if d := cmp.Diff(column("SELECT name FROM pragma_table_info('"+table.name+"')"), table.columns); d != "" {
			t.Errorf("%s: %s", table.name, d)
		}
	}
	got := column("SELECT type || ' ' || count(*) FROM sqlite_schema WHERE sql IS NOT NULL GROUP BY type ORDER BY type")
	if d := cmp.Diff([]string{"index 26", "table 11", "trigger 40", "view 2"}, got); d != "" {
		t.Error(d)
	}
	for _, sql := range column("SELECT sql FROM sqlite_schema WHERE type = 'table'") {
		if !strings.Contains(sql[strings.LastIndex(sql, ")"):], "STRICT") {
			t.Errorf("not STRICT: %s", sql)
		}
	}
	// Each evidence table has its three guards.
	for _, table := range tables {
		for _, guard := range []string{"_no_update", "_no_delete", "_guard"} {
			if len(column("SELECT 1 FROM sqlite_schema WHERE type = 'trigger' AND name = '"+table.name+guard+"'")) != 1 {
				t.Errorf("%s has no %s", table.name, guard)
			}
		}
	}
}
