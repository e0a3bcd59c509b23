package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mosaicstack.dev/mosaic/client"
	"mosaicstack.dev/mosaic/internal/wire"
)

func TestTheLogIsKeptToASize(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write := func(text string) {
		f, _, err := OpenLog(root)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(root, Directory, LogName)
	write("one\n")
	write("two\n")
	if text, err := os.ReadFile(path); err != nil || string(text) != "one\ntwo\n" {
		t.Errorf("%q, %v", text, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	write(strings.Repeat("x", logLimit))
	write("new\n")
	if text, err := os.ReadFile(path); err != nil || string(text) != "new\n" {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if info, err := os.Stat(path + ".1"); err != nil || info.Size() != logLimit+8 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestTheLogIsNotWrittenThroughALink(t *testing.T) {
	t.Parallel()
	root, elsewhere := t.TempDir(), t.TempDir()
	if err := os.Symlink(elsewhere, filepath.Join(root, Directory)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := OpenLog(root); client.CodeOf(err) != wire.UnsafePermissions {
		t.Errorf("a link for the directory: %v", err)
	}
	root = t.TempDir()
	if err := os.Mkdir(filepath.Join(root, Directory), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(elsewhere, "file"), filepath.Join(root, Directory, LogName)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := OpenLog(root); err == nil {
		t.Error("a link for the file")
	}
}
