package org

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// files are the file operations that a durable write makes, one method a step,
// so that a test can make exactly that step fail.
type files interface {
	// createTemp makes a new file of mode 0600 beside path.
	createTemp(path string) (tempFile, error)
	// place gives the temporary file the name path; it fails with fs.ErrExist
	// when there is one.
	place(temp, path string) error
	// rename replaces path by the temporary file.
	rename(temp, path string) error
	// syncDir makes the names in a directory durable.
	syncDir(dir string) error
	remove(path string) error
	// openAppend opens a file of mode 0600 to write at its end.
	openAppend(path string) (tempFile, error)
}

type tempFile interface {
	io.Writer
	Name() string
	Sync() error
	Close() error
}

// osFiles is the file system.
type osFiles struct{}

func (osFiles) createTemp(path string) (tempFile, error) {
	return os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
}

func (osFiles) place(temp, path string) error {
	return unix.Renameat2(unix.AT_FDCWD, temp, unix.AT_FDCWD, path, unix.RENAME_NOREPLACE)
}

func (osFiles) rename(temp, path string) error { return os.Rename(temp, path) }
func (osFiles) remove(path string) error       { return os.Remove(path) }

func (osFiles) openAppend(path string) (tempFile, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
}

func (osFiles) syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// stage writes text to a new durable file beside path and returns its name.
func stage(f files, path string, text []byte) (temp string, err error) {
	t, err := f.createTemp(path)
	if err != nil {
		return "", err
	}
	_, err = t.Write(text)
	if err == nil {
		err = t.Sync()
	}
	if err = errors.Join(err, t.Close()); err != nil {
		return "", errors.Join(err, f.remove(t.Name()))
	}
	return t.Name(), nil
}

// create gives a staged file the name path, which must not exist, durably; or
// neither is there afterwards.
func create(f files, temp, path string) error {
	if err := f.place(temp, path); err != nil {
		return errors.Join(err, f.remove(temp))
	}
	if err := f.syncDir(filepath.Dir(path)); err != nil {
		return errors.Join(err, f.remove(path))
	}
	return nil
}

// replace puts text in the place of a file. renamed says whether the new text
// is there, which it may be with an error too: the directory was not synced.
func replace(f files, path string, text []byte) (renamed bool, err error) {
	temp, err := stage(f, path, text)
	if err != nil {
		return false, err
	}
	if err := f.rename(temp, path); err != nil {
		return false, errors.Join(err, f.remove(temp))
	}
	return true, f.syncDir(filepath.Dir(path))
}
