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
// without an owner. Other refusals are disk-full, read-only-disk and
// storage-unavailable.
func AcquireLock(path string) (_ *Lock, err error) {
	defer nameDisk(path, &err)
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
	Owner   *proc.Owner `json:"owner"`   // of the lock; null when there was none
	Removed []string    `json:"removed"` // paths
	// InTheWay are paths of sockets where something else is that no command
	// removes, and that the next start will refuse.
	InTheWay []string `json:"inTheWay,omitempty"`
}

// Unlock removes the writer lock at path when its owner is provably gone: its
// host is this one, and it ran before this boot, or no process has its pid and
// start time. With the lock, or when there is none, it removes those of the
// sockets at which provably nobody listens: sockets of this user that refuse a
// connection.
//
// It refuses and removes nothing: writer-locked while the owner may live, and
// when somebody listens at one of the sockets; socket-exists, a
// *SocketInTheWay with the path, when nothing can be removed and something else
// has the name of a socket; writer-not-locked when there is neither lock nor
// socket. Database, WAL and SHM are evidence
// and stay (BUS-BOOT-56).
func Unlock(path string, sockets []string) (_ Unlocked, err error) {
	defer nameDisk(path, &err)
	here, err := proc.ThisMachine()
	if err != nil {
		return Unlocked{}, refuse(wire.StorageUnavailable, err)
	}
	return unlock(path, sockets, here, proc.System())
}

// SocketInTheWay is a file at the path of a socket that Unlock cannot remove.
type SocketInTheWay struct{ Path string }

// Error names the path.
func (e *SocketInTheWay) Error() string { return "evidence: in the way: " + e.Path }

// Unwrap gives the code.
func (e *SocketInTheWay) Unwrap() error { return wire.Refuse(wire.SocketExists) }

func unlock(path string, sockets []string, here proc.Machine, processes proc.Table) (u Unlocked, err error) {
	f, err := openLock(path)
	switch {
	case errors.Is(err, wire.Refuse(wire.WriterUnlocked)):
	case err != nil:
		return u, err
	default:
		defer f.Close()
		if u.Owner, err = goneOwner(path, f, here, processes); err != nil {
			return u, err
		}
	}
	dead, inTheWay, err := lookAt(sockets)
	u.InTheWay = inTheWay
	switch {
	case err != nil:
		return u, err
	case f != nil:
	case len(dead) > 0:
		// A broker that is starting has bound its socket and does not listen
		// yet. It has the lock then, or waits for this one.
		own, err := AcquireLock(path)
		if err != nil {
			return u, err
		}
		defer own.Release()
		if dead, u.InTheWay, err = lookAt(sockets); err != nil {
			return u, err
		}
	case len(inTheWay) > 0:
		return u, &SocketInTheWay{inTheWay[0]}
	default:
		return u, refusef(wire.WriterUnlocked, "no lock and no socket")
	}
	for _, socket := range dead {
		if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return u, refuse(wire.StorageUnavailable, err)
		}
		u.Removed = append(u.Removed, socket)
	}
	if f == nil {
		return u, nil
	}
	// Last, so that an interrupted Unlock can be repeated.
	if err := os.Remove(path); err != nil {
		return u, refuse(wire.StorageUnavailable, err)
	}
	u.Removed = append(u.Removed, path)
	return u, syncDir(filepath.Dir(path))
}

// goneOwner returns the owner that the open lock at path records, when it is
// provably gone.
func goneOwner(path string, f *os.File, here proc.Machine, processes proc.Table) (*proc.Owner, error) {
	owner, err := readOwner(f)
	if err != nil {
		return nil, err
	}
	if v := owner.Judge(here, processes); v != proc.Gone {
		return nil, refusef(wire.WriterLocked, "the owner is %v", v)
	}
	// The owner's own lock went with it. Whoever holds one now is another
	// Unlock, or has inherited the descriptor and may act for the owner.
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, refuse(wire.WriterLocked, err)
	}
	if !isFile(path, f) {
		return nil, refusef(wire.WriterLocked, "the lock was replaced meanwhile")
	}
	return &owner, nil
}

// lookAt tells the sockets apart that can be removed and what else has the
// name of one.
func lookAt(sockets []string) (dead, inTheWay []string, err error) {
	for _, socket := range sockets {
		switch wire.AtSocket(socket) {
		case wire.LeftOver:
			dead = append(dead, socket)
		case wire.Listening:
			return nil, nil, refusef(wire.WriterLocked, "%s answers", socket)
		case wire.Foreign:
			inTheWay = append(inTheWay, socket)
		}
	}
	return dead, inTheWay, nil
}
