package wire

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// childListen listens under every umask that matters and prints the modes.
func childListen(dir string) error {
	for _, umask := range []int{0, 0o022, 0o077, 0o177, 0o777} {
		syscall.Umask(umask)
		s, err := Listen(filepath.Join(dir, fmt.Sprintf("%03o", umask)))
		if err != nil {
			return err
		}
		fmt.Printf("%03o %v\n", umask, s.file.Mode())
		if err := s.Close(); err != nil {
			return err
		}
	}
	return nil
}

func TestASocketIsItsOwnersWhateverTheUmask(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	want := ""
	for _, umask := range []string{"000", "022", "077", "177", "777"} {
		want += umask + " Srw-------\n"
	}
	if got := runChild(t, child(t, "listen", dir)); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	for _, name := range []string{"000", "777"} {
		if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || info.Mode() != fs.ModeSocket|0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

// The mode must be there when the name appears: a chmod that follows leaves a
// moment in which others can connect.
func TestASocketIsNeverOpenToOthers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	config := net.ListenConfig{Control: ownerOnly}
	l, err := config.Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if info, err := os.Lstat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("right after bind: %v, %v", info.Mode(), err)
	}
}

func TestAnExistingPathIsLeftAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, prepare := range map[string]func(path string) error{
		"file":          func(path string) error { return os.WriteFile(path, []byte("x"), 0o644) },
		"directory":     func(path string) error { return os.Mkdir(path, 0o755) },
		"link":          func(path string) error { return os.Symlink("file", path) },
		"dangling link": func(path string) error { return os.Symlink("nothing", path) },
		"fifo":          func(path string) error { return syscall.Mkfifo(path, 0o644) },
		"dead socket": func(path string) error {
			s, err := Listen(path)
			if err != nil {
				return err
			}
			return s.Close()
		},
		"live socket": func(path string) error {
			s, err := Listen(path)
			if err == nil {
				t.Cleanup(func() { _ = s.Close() })
			}
			return err
		},
	} {
		path := filepath.Join(dir, name)
		if err := prepare(path); err != nil {
			t.Fatal(err)
		}
		before, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := Listen(path); !errors.Is(err, Refuse(SocketExists)) {
			t.Errorf("%s: %v, %v", name, s, err)
		}
		after, err := os.Lstat(path)
		if err != nil || !os.SameFile(before, after) || before.Mode() != after.Mode() || !before.ModTime().Equal(after.ModTime()) {
			t.Errorf("%s: changed to %v, %v", name, after, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "nothing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a socket was made through the dangling link: %v", err)
	}
}

func TestListenRefusesWhatCannotBeASocketPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, path := range []string{
		filepath.Join(dir, strings.Repeat("x", MaxSocketPath)), filepath.Join(dir, "missing", "s"), dir + "/a\x00b", "", "@abstract",
	} {
		if s, err := Listen(path); err == nil {
			t.Errorf("%q: listens at %q", path, s.Path())
			_ = s.Close()
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestRemoveSparesASuccessor(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	listen := func() *Socket {
		s, err := Listen(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	old := listen()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	// A file system may give the inode of a removed file to the next one; the
	// old listener still holds its own.
	successor := listen()
	for range 2 {
		if err := old.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		if err := old.Remove(); err != nil {
			t.Error(err)
		}
	}
	c, err := net.DialTimeout("unix", path, 5*time.Second)
	if err != nil {
		t.Fatalf("the successor is gone: %v", err)
	}
	_ = c.Close()
	for range 2 {
		if err := successor.Remove(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket's own path is still there: %v", err)
	}
}
