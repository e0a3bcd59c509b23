package wire

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Tests of SocketDir set environment variables and so do not run in parallel.

// long is a directory whose sockets' paths are n bytes too long.
func long(n int) string {
	return "/" + strings.Repeat("d", MaxSocketPath-len("/"+"/"+longestSocket)+n)
}

// shortTemp is a directory of a short path for one test.
func shortTemp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "w")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// proves: BUS-OPEN-11
func TestSocketDirKeepsAPathThatFits(t *testing.T) {
	runtime := shortTemp(t)
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	for _, dir := range []string{"/tmp/x", long(0), "relative"} {
		if got, err := SocketDir(dir); err != nil || got != dir {
			t.Errorf("%d bytes: %q, %v", len(dir), got, err)
		}
	}
	if made, err := os.ReadDir(runtime); err != nil || len(made) > 0 {
		t.Errorf("made %v, %v", made, err)
	}
}

func TestSocketDirMovesAPathThatIsTooLong(t *testing.T) {
	runtime, temp := shortTemp(t), shortTemp(t)
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	t.Setenv("TMPDIR", temp)
	got, err := SocketDir(long(1))
	if err != nil || filepath.Dir(got) != runtime || !strings.HasPrefix(filepath.Base(got), "mosaic-") {
		t.Fatalf("%q, %v", got, err)
	}
	if info, err := os.Lstat(got); err != nil || info.Mode() != fs.ModeDir|0o700 {
		t.Errorf("%v, %v", info, err)
	}
	if again, err := SocketDir(long(1)); err != nil || again != got {
		t.Errorf("another time: %q, %v", again, err)
	}
	if other, err := SocketDir(long(2)); err != nil || other == got {
		t.Errorf("another data root: %q, %v", other, err)
	}
	s, err := Listen(filepath.Join(got, longestSocket))
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
}

func TestSocketDirWithoutARuntimeDirectory(t *testing.T) {
	temp := shortTemp(t)
	t.Setenv("TMPDIR", temp)
	open := shortTemp(t)
	if err := os.Chmod(open, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, runtime := range map[string]string{
		"unset": "", "relative": "run", "missing": filepath.Join(temp, "missing"), "too long": long(0), "open to others": open,
	} {
		t.Setenv("XDG_RUNTIME_DIR", runtime)
		got, err := SocketDir(long(1))
		if err != nil || filepath.Dir(got) != temp {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	t.Setenv("TMPDIR", long(0))
	if got, err := SocketDir(long(1)); err == nil {
		t.Errorf("no directory is short enough, and still %q", got)
	}
}

// In a shared temporary directory somebody else may have been there first.
func TestSocketDirRefusesADirectoryThatIsNotItsOwn(t *testing.T) {
	temp := shortTemp(t)
	t.Setenv("XDG_RUNTIME_DIR", "")
	t.Setenv("TMPDIR", temp)
	dir, err := SocketDir(long(1))
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := shortTemp(t)
	for name, prepare := range map[string]func() error{
		"link":         func() error { return os.Symlink(elsewhere, dir) },
		"file":         func() error { return os.WriteFile(dir, nil, 0o700) },
		"open to all":  func() error { return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o777)) },
		"open to read": func() error { return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o750)) },
		"sticky":       func() error { return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o700|fs.ModeSticky)) },
		"another user": func() error {
			if os.Geteuid() != 0 {
				return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o707)) // only root can give a directory away
			}
			return errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, 65534, 65534))
		},
	} {
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		if err := prepare(); err != nil {
			t.Fatal(err)
		}
		if got, err := SocketDir(long(1)); !errors.Is(err, Refuse(UnsafePermissions)) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
