package evidence

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"mosaicstack.dev/mosaic/internal/wire"
)

// The files of a store: the database, and beside it what SQLite keeps while it
// is open or after a crash.
const (
	walSuffix     = "-wal"
	shmSuffix     = "-shm"
	journalSuffix = "-journal"
)

// maxPath is the longest path of a store in bytes. SQLite takes 1,023 and
// panics beyond in this build, and a store's scratch files have longer names.
const maxPath = 960

// checkPath refuses a path that is too long for SQLite, or holds a NUL.
func checkPath(path string) error {
	if len(path) > maxPath || strings.IndexByte(path, 0) >= 0 {
		return refusef(wire.InvalidPath, "a path of %d bytes", len(path))
	}
	return nil
}

// checkPlain refuses a store whose files are there and are no plain files: a
// pipe would never answer, and reading some devices does things. Nothing is
// opened.
func checkPlain(path string) error {
	for _, suffix := range []string{"", walSuffix, shmSuffix, journalSuffix} {
		info, err := os.Lstat(path + suffix)
		if err == nil && !info.Mode().IsRegular() {
			return refusef(wire.InvalidPath, "%s is no regular file: %v", filepath.Base(path+suffix), info.Mode())
		}
	}
	return nil
}

// checkFiles refuses a store whose files are missing, are not plain files of
// this user, or can be used by others (BUS-BOOT-24, BUS-BOOT-25). Modes are
// never repaired: who could read the file yesterday is for the owner to judge.
func checkFiles(path string) error {
	if err := checkPath(path); err != nil {
		return err
	}
	switch err := checkFile(path, 0o600); {
	case errors.Is(err, fs.ErrNotExist):
		return refuse(wire.StoreMissing, err)
	case err != nil:
		return err
	}
	for _, suffix := range []string{walSuffix, shmSuffix} {
		if err := checkFile(path+suffix, 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	// A store is in WAL mode from its first byte. A rollback journal belongs to
	// another database, and opening would play it back.
	if _, err := os.Lstat(path + journalSuffix); !errors.Is(err, fs.ErrNotExist) {
		return refuse(wire.StoreDamaged, errors.New("a rollback journal lies beside the store"))
	}
	return nil
}

func checkFile(path string, mode fs.FileMode) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return err
	case err != nil:
		return refuse(wire.StorageUnavailable, err)
	case !info.Mode().IsRegular():
		return refusef(wire.UnsafePermissions, "%s is no regular file: %v", filepath.Base(path), info.Mode())
	case info.Mode().Perm() != mode || info.Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != 0:
		return refusef(wire.UnsafePermissions, "%s has mode %v, not %v", filepath.Base(path), info.Mode(), mode)
	}
	if uid := info.Sys().(*syscall.Stat_t).Uid; int(uid) != os.Geteuid() {
		return refusef(wire.UnsafePermissions, "%s belongs to user %d", filepath.Base(path), uid)
	}
	return nil
}

// checkHeader refuses a file that is no SQLite database in WAL mode.
func checkHeader(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return refuse(wire.StorageUnavailable, err)
	}
	defer f.Close()
	var h [100]byte
	if _, err := f.ReadAt(h[:], 0); err != nil {
		return refusef(wire.StoreDamaged, "no database header: %w", err)
	}
	if string(h[:16]) != "SQLite format 3\x00" {
		return refusef(wire.StoreDamaged, "no database header")
	}
	if h[18] != 2 || h[19] != 2 {
		return refusef(wire.StoreDamaged, "not in WAL mode")
	}
	return nil
}

// SQLite's lock bytes: every connection to a database in WAL mode holds a
// shared lock on this range for as long as it is open.
const (
	lockStart = 0x40000000 + 2
	lockBytes = 510
)

// inUse reports whether any process has the store open.
func inUse(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	lock := unix.Flock_t{Type: unix.F_WRLCK, Start: lockStart, Len: lockBytes}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &lock); err != nil {
		return false, err
	}
	return lock.Type != unix.F_UNLCK, nil
}

// makeSidecars makes the files that SQLite would otherwise make with the mode
// of the umask, and returns a function that takes them away again.
func makeSidecars(path string) (undo func(), err error) {
	var made []string
	undo = func() {
		for _, name := range made {
			os.Remove(name)
		}
	}
	for _, suffix := range []string{walSuffix, shmSuffix} {
		f, err := os.OpenFile(path+suffix, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue // of a crash; checked before
		}
		if err == nil {
			made = append(made, path+suffix)
			err = f.Close()
		}
		if err != nil {
			undo()
			return nil, err
		}
	}
	return undo, nil
}

// publish gives a finished file its name, durably, and refuses store-exists
// when anything has that name.
func publish(from, to string) error {
	f, err := os.Open(from)
	if err != nil {
		return refuse(wire.StorageUnavailable, err)
	}
	err = errors.Join(f.Sync(), f.Close())
	if err != nil {
		return refuse(wire.StorageUnavailable, err)
	}
	err = unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, fs.ErrExist) {
		return refuse(wire.StoreExists, err)
	}
	if err != nil {
		return refuse(wire.StorageUnavailable, err)
	}
	return syncDir(filepath.Dir(to))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return refuse(wire.StorageUnavailable, err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return refuse(wire.StorageUnavailable, err)
	}
	return nil
}

// scratchMark stands in the name of a file that is not published yet.
const scratchMark = ".new-"

// scratch makes an empty private file beside path, to be published under its
// name, and returns a function that removes what is left of it.
func scratch(path string) (name string, remove func(), err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+scratchMark+"*") // mode 0600
	if err != nil {
		return "", nil, refuse(wire.StorageUnavailable, err)
	}
	name = f.Name()
	remove = func() {
		for _, suffix := range []string{"", walSuffix, shmSuffix, journalSuffix} {
			os.Remove(name + suffix)
		}
	}
	if err := f.Close(); err != nil {
		remove()
		return "", nil, refuse(wire.StorageUnavailable, err)
	}
	return name, remove, nil
}
