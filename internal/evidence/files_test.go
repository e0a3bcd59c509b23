package evidence

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

// hashDir describes every file of a directory: name, mode and content.
func hashDir(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := []byte{}
		if info.Mode().IsRegular() {
			if text, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		sum := sha256.Sum256(text)
		files[d.Name()] = fmt.Sprintf("%v %d %s", info.Mode(), len(text), hex.EncodeToString(sum[:8]))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// rawExec runs SQL on a connection of its own, as somebody with another tool
// would, but with the settings of the store's connections.
func rawExec(t *testing.T, path, sql string) error {
	t.Helper()
	c, err := connect(t.Context(), path, "", writing)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	return c.db.Exec(sql)
}

// tamper changes a closed store as somebody with the file in hands would: the
// triggers are taken away, the change is made, the triggers are put back.
func tamper(t *testing.T, path, sql string) {
	t.Helper()
	db, err := sqlite3.OpenFlags("file:"+path, sqlite3.OPEN_READWRITE|sqlite3.OPEN_URI)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	st, _, err := db.Prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
	if err != nil {
		t.Fatal(err)
	}
	var drop, restore strings.Builder
	for st.Step() {
		fmt.Fprintf(&drop, "DROP TRIGGER %s;", st.ColumnText(0))
		fmt.Fprintf(&restore, "%s;", st.ColumnText(1))
	}
	st.Close()
	for _, s := range []string{drop.String(), sql, restore.String()} {
		if err := db.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
}

// mentions reports whether err ends with a guard's code.
func mentions(err error, code string) bool {
	return err != nil && regexp.MustCompile(`\b`+code+`$`).MatchString(err.Error())
}
