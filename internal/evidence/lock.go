package evidence

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"mosaicstack.dev/mosaic/internal/proc"
	"mosaicstack.dev/mosaic/internal/wire"
)

// LockName is the name of the writer lock in the directory of the store.
const LockName = "writer.lock"

// Lock is the writer lock of a data root.
type Lock struct {
	path string
	file *os.File // holds the flock for as long as the process lives
}

// AcquireLock takes the writer lock at path, a file of mode 0600 with one JSON
// line {host,boot,pid,startTime,at} that is also held with a lock on the
// descriptor (BUS-OPEN-12). A path that exists is refused with writer-locked,
// whatever it is and whoever made it: no start removes or takes over a lock
// (BUS-BOOT-54, BUS-BOOT-55).
//
// The file gets its name when it is complete, so that no crash leaves a lock
// without an owner.
func AcquireLock(path string) (*Lock, error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil, refuse(wire.WriterLocked, err)
	}
	owner, err := proc.SelfOwner(time.Now())
	if err != nil {
		return nil, refuse(wire.StorageUnavailable, err)
	}
	line, err := json.Marshal(owner)
	if err != nil {
		return nil, refuse(wire.StorageUnavailable, err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*") // O_EXCL, mode 0600
	if err != nil {
		return nil, refuse(wire.StorageUnavailable, err)
	}
	l := &Lock{path: path, file: f}
	if err := l.take(append(line, '\n')); err != nil {
		os.Remove(f.Name())
		f.Close()
		return nil, err
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return nil, errors.Join(err, l.Release())
	}
	return l, nil
}

func (l *Lock) take(line []byte) error {
	if err := unix.Flock(int(l.file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return refuse(wire.StorageUnavailable, err)
	}
	if _, err := l.file.Write(line); err != nil {
		return refuse(wire.StorageUnavailable, err)
	}
	if err := l.file.Sync(); err != nil {
		return refuse(wire.StorageUnavailable, err)
	}
	err := unix.Renameat2(unix.AT_FDCWD, l.file.Name(), unix.AT_FDCWD, l.path, unix.RENAME_NOREPLACE)
	if errors.Is(err, fs.ErrExist) {
		return refuse(wire.WriterLocked, err)
	}
	if err != nil {
		return refuse(wire.StorageUnavailable, err)
	}
	return nil
}

// Release removes the lock if it is still the one that was taken, by device
// and inode; whatever else has its name stays.
func (l *Lock) Release() error {
	defer l.file.Close()
	if !isFile(l.path, l.file) {
		return nil
	}
	if err := os.Remove(l.path); err != nil {
		return refuse(wire.StorageUnavailable, err)
	}
	return nil
}

// isFile reports whether the path names the open file.
func isFile(path string, f *os.File) bool {
	named, err := os.Lstat(path)
	if err != nil {
		return false
	}
	open, err := f.Stat()
	return err == nil && os.SameFile(named, open)
}

// ReadLock returns the owner that the lock at path records. It refuses
// writer-not-locked when there is none and writer-locked when it names nobody.
func ReadLock(path string) (proc.Owner, error) {
	f, err := openLock(path)
	if err != nil {
		return proc.Owner{}, err
	}
	defer f.Close()
	return readOwner(f)
}

func openLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, refuse(wire.WriterUnlocked, err)
	case err != nil:
		return nil, refuse(wire.WriterLocked, err)
	}
	return f, nil
}

const maxLockBytes = 4096

func readOwner(f *os.File) (o proc.Owner, err error) {
	text, err := io.ReadAll(io.LimitReader(f, maxLockBytes))
	if err != nil {
		return o, refuse(wire.WriterLocked, err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		return proc.Owner{}, refuse(wire.WriterLocked, fmt.Errorf("the lock names no owner: %w", err))
	}
	return o, nil
}

// Unlocked says what Unlock removed.
type Unlocked struct {
	Owner   proc.Owner `json:"owner"`
	Removed []string   `json:"removed"` // paths
}

// The sockets of a broker, in its socket directory.
var socketNames = []string{"bus.sock", "human.sock"}

// Unlock removes the writer lock at path, the sockets that its owner left in
// socketDir and those at more, when that owner is provably gone: its host is
// this one, and it ran before this boot, or no process has its pid and start
// time. Otherwise it refuses writer-locked and removes nothing;
// writer-not-locked when there is no lock. Database, WAL and SHM are evidence and stay (BUS-BOOT-56).
func Unlock(path, socketDir string, more ...string) (Unlocked, error) {
	here, err := proc.ThisMachine()
	if err != nil {
		return Unlocked{}, refuse(wire.StorageUnavailable, err)
	}
	return unlock(path, sockets(socketDir, more), here, proc.System())
}

func sockets(dir string, more []string) []string {
	var all []string
	for _, name := range socketNames {
		all = append(all, filepath.Join(dir, name))
	}
	return append(all, more...)
}

func unlock(path string, sockets []string, here proc.Machine, processes proc.Table) (u Unlocked, err error) {
	f, err := openLock(path)
	if err != nil {
		return u, err
	}
	defer f.Close()
	if u.Owner, err = readOwner(f); err != nil {
		return u, err
	}
	if v := u.Owner.Judge(here, processes); v != proc.Gone {
		return u, refusef(wire.WriterLocked, "the owner is %v", v)
	}
	// The owner's own lock went with it. Whoever holds one now is another
	// Unlock, or has inherited the descriptor and may act for the owner.
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return u, refuse(wire.WriterLocked, err)
	}
	if !isFile(path, f) {
		return u, refusef(wire.WriterLocked, "the lock was replaced meanwhile")
	}
	for _, socket := range sockets {
		removed, err := removeSocket(socket)
		if err != nil {
			return u, err
		}
		u.Removed = append(u.Removed, removed...)
	}
	// Last, so that an interrupted Unlock can be repeated.
	if err := os.Remove(path); err != nil {
		return u, refuse(wire.StorageUnavailable, err)
	}
	u.Removed = append(u.Removed, path)
	return u, syncDir(filepath.Dir(path))
}

// removeSocket removes a socket; anything else of that name stays.
func removeSocket(path string) (removed []string, err error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && info.Mode().Type() != fs.ModeSocket) {
		return nil, nil
	}
	if err == nil {
		err = os.Remove(path)
	}
	if err != nil {
		return nil, refuse(wire.StorageUnavailable, err)
	}
	return []string{path}, nil
}
