package org

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"mosaicstack.dev/mosaic/internal/wire"
)

func writeRole(t *testing.T, dir, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, RolesDir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, RolesDir, file), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestLoadReadsTheDataRoot(t *testing.T) {
	t.Parallel()
	dir := root(t, change(t, "definition: reviewer", "definition: auditor"))
	writeRole(t, dir, "auditor.yaml", bare)
	writeRole(t, dir, "developer.yaml", strings.Replace(bare, "charter: c", "charter: mine", 1)+"credentials: [gitea]\n")
	for _, other := range []string{".auditor.yaml.swp", "auditor.yaml~", "README.md", ".hidden.yaml"} {
		writeRole(t, dir, other, "{{{")
	}
	o, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if dev := o.Definitions["developer"]; dev.BuiltIn || dev.Charter != "mine" {
		t.Errorf("a file in roles/ should win: %+v", dev)
	}
	if o.Resolve("acme")["rev"].Definition != "auditor" || !o.Definitions["pm"].BuiltIn {
		t.Error("a definition of one's own")
	}
}

func TestLoadRefusesUnsafeFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, dir string) error
		code  wire.Code
	}{
		{"no file", func(t *testing.T, dir string) error { return os.Remove(filepath.Join(dir, File)) }, wire.OrganizationNotFound},
		{"no data root", func(t *testing.T, dir string) error { return os.RemoveAll(dir) }, wire.OrganizationNotFound},
		{"a link", func(t *testing.T, dir string) error {
			return errors.Join(os.Rename(filepath.Join(dir, File), filepath.Join(dir, "real")), os.Symlink("real", filepath.Join(dir, File)))
		}, wire.UnsafePermissions},
		{"a directory", func(t *testing.T, dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, File)), os.Mkdir(filepath.Join(dir, File), 0o700))
		}, wire.UnsafePermissions},
		{"a pipe", func(t *testing.T, dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, File)), syscall.Mkfifo(filepath.Join(dir, File), 0o600))
		}, wire.UnsafePermissions},
		{"others can write it", func(t *testing.T, dir string) error { return os.Chmod(filepath.Join(dir, File), 0o620) }, wire.UnsafePermissions},
		{"everybody can write it", func(t *testing.T, dir string) error { return os.Chmod(filepath.Join(dir, File), 0o602) }, wire.UnsafePermissions},
		{"roles is a link", func(t *testing.T, dir string) error { return os.Symlink(t.TempDir(), filepath.Join(dir, RolesDir)) }, wire.UnsafePermissions},
		{"roles is a file", func(t *testing.T, dir string) error { return os.WriteFile(filepath.Join(dir, RolesDir), nil, 0o600) }, wire.UnsafePermissions},
		{"others can add roles", func(t *testing.T, dir string) error {
			writeRole(t, dir, "x.yaml", bare)
			return os.Chmod(filepath.Join(dir, RolesDir), 0o777)
		}, wire.UnsafePermissions},
		{"a role is a link", func(t *testing.T, dir string) error {
			writeRole(t, dir, "x.yaml", bare)
			return os.Symlink("x.yaml", filepath.Join(dir, RolesDir, "y.yaml"))
		}, wire.UnsafePermissions},
		{"another ending", func(t *testing.T, dir string) error { writeRole(t, dir, "x.yml", bare); return nil }, wire.InvalidConfig},
		{"no name", func(t *testing.T, dir string) error { writeRole(t, dir, "X y.yaml", bare); return nil }, wire.InvalidConfig},
		{"the human as role", func(t *testing.T, dir string) error { writeRole(t, dir, "human.yaml", bare); return nil }, wire.InvalidConfig},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := root(t, example)
			if err := c.spoil(t, dir); err != nil {
				t.Fatal(err)
			}
			if o, err := Load(dir); !errors.Is(err, wire.Refuse(c.code)) {
				t.Errorf("got %v, %v; want %s", o, err, c.code)
			}
		})
	}
	t.Run("another user's", func(t *testing.T) {
		t.Parallel()
		dir := root(t, example)
		if err := os.Chown(filepath.Join(dir, File), 65534, 65534); err != nil {
			t.Skip("only root can give a file away")
		}
		if o, err := Load(dir); !errors.Is(err, wire.Refuse(wire.UnsafePermissions)) {
			t.Errorf("got %v, %v", o, err)
		}
	})
}

func TestInitWritesTheDefaultTeam(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := Init(dir, "Dana O'Neill", "acme"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, File))
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	o, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if o.Human != (Human{ID: "dana-o-neill", Name: "Dana O'Neill"}) {
		t.Errorf("human %+v", o.Human)
	}
	b := o.Businesses["acme"]
	want := map[wire.Role]string{"chief": "chief-of-staff", "cto": "cto", "pm": "pm", "dev": "developer", "rev": "reviewer", "desk": "assistant"}
	for key, definition := range want {
		if b.Roles[key].Definition != definition {
			t.Errorf("%s is a %s", key, b.Roles[key].Definition)
		}
	}
	if len(b.Roles) != len(want) || b.Arbiters != (Arbiters{Technical: "cto", Delivery: "pm"}) || b.Launch.By != "chief" || b.Launch.Sandbox != Bubblewrap {
		t.Errorf("got %+v", b)
	}
	if names := entries(t, dir); !slices.Equal(names, []string{File}) {
		t.Errorf("left behind: %v", names)
	}
}

func entries(t *testing.T, dir string) []string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	return names
}

func TestInitNeverOverwrites(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(path string) error{
		"a file":          func(path string) error { return os.WriteFile(path, []byte("mine"), 0o600) },
		"an empty file":   func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"a directory":     func(path string) error { return os.Mkdir(path, 0o700) },
		"a dangling link": func(path string) error { return os.Symlink("nowhere", path) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := make(filepath.Join(dir, File)); err != nil {
				t.Fatal(err)
			}
			before, _ := os.Lstat(filepath.Join(dir, File))
			if err := Init(dir, "Dana", "acme"); !errors.Is(err, wire.Refuse(wire.OrganizationExists)) {
				t.Errorf("got %v", err)
			}
			after, err := os.Lstat(filepath.Join(dir, File))
			if err != nil || after.Mode() != before.Mode() || after.Size() != before.Size() || len(entries(t, dir)) != 1 {
				t.Errorf("something changed: %v", err)
			}
		})
	}
}

func TestInitOfManyAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	results := make(chan error)
	for range 8 {
		go func() { results <- Init(dir, "Dana", "acme") }()
	}
	won := 0
	for range 8 {
		switch err := <-results; {
		case err == nil:
			won++
		case !errors.Is(err, wire.Refuse(wire.OrganizationExists)):
			t.Errorf("got %v", err)
		}
	}
	if _, err := Load(dir); won != 1 || err != nil {
		t.Errorf("%d won, %v", won, err)
	}
}

func TestInitRefusesBadNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ human, business string }{{"", "acme"}, {"  ", "acme"}, {"Дана", "acme"}, {"Dana", ""}, {"Dana", "Acme"}, {"Dana", "a: b"}, {"Dana\xff", "acme"}, {"Dana", strings.Repeat("a", 64)}} {
		dir := t.TempDir()
		if err := Init(dir, c.human, c.business); !errors.Is(err, wire.Refuse(wire.InvalidConfig)) {
			t.Errorf("%q, %q: got %v", c.human, c.business, err)
		}
		if names := entries(t, dir); len(names) != 0 {
			t.Errorf("%q, %q: left %v", c.human, c.business, names)
		}
	}
}

func TestHumanID(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Dana": "dana", "Dana O'Neill": "dana-o-neill", "  D. ": "d", "7 of 9": "7-of-9", "Дана": "", "é": "", "José": "jos",
		strings.Repeat("ab ", 40): strings.Repeat("ab-", 20) + "ab-"[:2],
	} {
		got := HumanID(name)
		if want != got {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
		if got != "" && !keyForm.match(got) {
			t.Errorf("%q: %q is no key", name, got)
		}
	}
}

// The disk fails at each step of Init; no half file stays.
func TestCreateFailsWhole(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"create", "write", "sync", "close", "place", "syncdir"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			f := &faultyFiles{fail: map[string]int{step: 1}}
			path := filepath.Join(dir, File)
			temp, err := stage(f, path, []byte("text"))
			if err == nil {
				err = create(f, temp, path)
			}
			if !errors.Is(err, errDisk) {
				t.Errorf("got %v", err)
			}
			if names := entries(t, dir); len(names) != 0 {
				t.Errorf("left behind: %v", names)
			}
		})
	}
}

var errDisk = &fs.PathError{Op: "write", Path: "disk", Err: syscall.ENOSPC}

// faultyFiles is the file system with the nth call of a named step failing.
// Once it is dead every later step fails too, as after a kill.
type faultyFiles struct {
	osFiles
	fail  map[string]int // step -> which call of it fails, from 1
	calls []string
	dies  int // the call, of all, at which the process dies; 0 for never
}

func (f *faultyFiles) step(name string) error {
	f.calls = append(f.calls, name)
	if f.dies > 0 && len(f.calls) >= f.dies {
		return errDisk
	}
	count := 0
	for _, call := range f.calls {
		if call == name {
			count++
		}
	}
	if f.fail[name] == count {
		return errDisk
	}
	return nil
}

func (f *faultyFiles) createTemp(path string) (tempFile, error) {
	if err := f.step("create"); err != nil {
		return nil, err
	}
	t, err := f.osFiles.createTemp(path)
	return &faultyFile{t, f}, err
}

func (f *faultyFiles) openAppend(path string) (tempFile, error) {
	if err := f.step("open"); err != nil {
		return nil, err
	}
	t, err := f.osFiles.openAppend(path)
	return &faultyFile{t, f}, err
}

func (f *faultyFiles) place(temp, path string) error {
	return orDo(f.step("place"), func() error { return f.osFiles.place(temp, path) })
}

func (f *faultyFiles) rename(temp, path string) error {
	return orDo(f.step("rename"), func() error { return f.osFiles.rename(temp, path) })
}

func (f *faultyFiles) syncDir(dir string) error {
	return orDo(f.step("syncdir"), func() error { return f.osFiles.syncDir(dir) })
}

func (f *faultyFiles) remove(path string) error {
	return orDo(f.step("remove"), func() error { return f.osFiles.remove(path) })
}

func orDo(err error, do func() error) error {
	if err != nil {
		return err
	}
	return do()
}

type faultyFile struct {
	tempFile
	f *faultyFiles
}

// Write fails like a full disk does: after a part of the text.
func (t *faultyFile) Write(p []byte) (int, error) {
	if err := t.f.step("write"); err != nil {
		n, _ := t.tempFile.Write(p[:len(p)/2])
		return n, err
	}
	return t.tempFile.Write(p)
}

func (t *faultyFile) Sync() error { return orDo(t.f.step("sync"), t.tempFile.Sync) }

func (t *faultyFile) Close() error { return errors.Join(t.f.step("close"), t.tempFile.Close()) }
