package queue

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxFileBytes bounds what is read of a file. A queue of ten thousand
// operations has about ten megabytes.
const maxFileBytes = 256 << 20

// FileStamp says which file a path named and when it was changed last.
type FileStamp struct {
	Device, Inode uint64
	Size          int64
	Changed       int64 // mtime, nanoseconds
	Mode          fs.FileMode
}

// same reports whether both are one file with the same content as far as stat
// can tell (QUEUE-WRITE-06).
func (s FileStamp) same(o FileStamp) bool {
	return s.Device == o.Device && s.Inode == o.Inode && s.Size == o.Size && s.Changed == o.Changed
}

// identity is the device and inode alone.
func (s FileStamp) identity() [2]uint64 { return [2]uint64{s.Device, s.Inode} }

// Files is the file system as the queue uses it. Errors wrap fs.ErrNotExist and
// fs.ErrExist where they apply. Nothing is durable before Sync of the file and
// SyncDir of its directory have both returned nil; after an error of either,
// nobody can say what a power cut leaves.
type Files interface {
	// Create makes a new file for writing; a name that exists, symbolic links
	// included, is refused with fs.ErrExist. The mode is exact.
	Create(s Step, path string, mode fs.FileMode) (Output, error)
	// Read returns a regular file and its stamp, which are of one file even
	// when the path is renamed over meanwhile. A symbolic link is refused.
	Read(s Step, path string) ([]byte, FileStamp, error)
	// Stat does not follow symbolic links.
	Stat(s Step, path string) (FileStamp, error)
	// Link gives a file a second name, which must not exist.
	Link(s Step, path, name string) error
	// Rename replaces what has the name.
	Rename(s Step, path, name string) error
	// RenameNew refuses a name that exists with fs.ErrExist.
	RenameNew(s Step, path, name string) error
	Remove(s Step, path string) error
	Mkdir(s Step, dir string) error
	// Sync makes the content of a file durable.
	Sync(s Step, path string) error
	// SyncDir makes the names in a directory durable.
	SyncDir(s Step, dir string) error
	// Filesystem returns the type of the file system that a directory is on,
	// as statfs numbers it.
	Filesystem(s Step, dir string) (int64, error)
	// Glob returns the names that match a pattern of the path/filepath kind.
	Glob(s Step, pattern string) ([]string, error)
}

// Output is a file that is being written. Write may write less than it was given
// without an error.
type Output interface {
	Write(p []byte) (int, error)
	Sync() error
	Stat() (FileStamp, error)
	Close() error
}

// disk is the real file system.
type disk struct{}

var _ Files = disk{}

func (disk) Create(_ Step, path string, mode fs.FileMode) (Output, error) {
	fd, err := unix.Open(path, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, uint32(mode.Perm()))
	if err != nil {
		return nil, &fs.PathError{Op: "create", Path: path, Err: err}
	}
	f := diskFile(fd)
	if err := unix.Fchmod(fd, uint32(mode.Perm())); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(path))
	}
	return f, nil
}

// diskFile is a descriptor. os.File would loop over short writes by itself;
// here the one loop is writeAll, which tests drive.
type diskFile int

func (f diskFile) Write(p []byte) (int, error) {
	for {
		n, err := unix.Write(int(f), p)
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

func (f diskFile) Sync() error  { return ignoringEINTR(func() error { return unix.Fsync(int(f)) }) }
func (f diskFile) Close() error { return unix.Close(int(f)) }

func (f diskFile) Stat() (FileStamp, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f), &st); err != nil {
		return FileStamp{}, err
	}
	return FileStamp{
		Device: st.Dev, Inode: st.Ino, Size: st.Size,
		Changed: st.Mtim.Nano(), Mode: fs.FileMode(st.Mode & 0o777),
	}, nil
}

func ignoringEINTR(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

func (disk) Read(_ Step, path string) ([]byte, FileStamp, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, FileStamp{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, FileStamp{}, err
	}
	if !info.Mode().IsRegular() {
		return nil, FileStamp{}, fmt.Errorf("queue: %s is no regular file", path)
	}
	if info.Size() > maxFileBytes {
		return nil, FileStamp{}, fmt.Errorf("queue: %s is too long", path)
	}
	text := make([]byte, info.Size()+1)
	n, err := io.ReadFull(f, text)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, FileStamp{}, err
	}
	if int64(n) > info.Size() {
		return nil, FileStamp{}, fmt.Errorf("queue: %s grew while it was read", path)
	}
	return text[:n], stampOf(info), nil
}

func stampOf(info fs.FileInfo) FileStamp {
	s := FileStamp{Size: info.Size(), Changed: info.ModTime().UnixNano(), Mode: info.Mode().Perm()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.Device, s.Inode = st.Dev, st.Ino
	}
	return s
}

func (disk) Stat(_ Step, path string) (FileStamp, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return FileStamp{}, err
	}
	return stampOf(info), nil
}

func (disk) Link(_ Step, path, name string) error   { return os.Link(path, name) }
func (disk) Rename(_ Step, path, name string) error { return os.Rename(path, name) }
func (disk) Remove(_ Step, path string) error       { return os.Remove(path) }

func (disk) Mkdir(_ Step, dir string) error { return os.Mkdir(dir, 0o755) }

func (disk) RenameNew(_ Step, path, name string) error {
	err := ignoringEINTR(func() error {
		return unix.Renameat2(unix.AT_FDCWD, path, unix.AT_FDCWD, name, unix.RENAME_NOREPLACE)
	})
	if err != nil {
		return &os.LinkError{Op: "rename", Old: path, New: name, Err: err}
	}
	return nil
}

func (disk) Sync(_ Step, path string) error   { return syncPath(path) }
func (disk) SyncDir(_ Step, dir string) error { return syncPath(dir) }

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func (disk) Filesystem(_ Step, dir string) (int64, error) {
	var st unix.Statfs_t
	if err := ignoringEINTR(func() error { return unix.Statfs(dir, &st) }); err != nil {
		return 0, &fs.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return int64(uint32(st.Type)), nil // 32 bits, sign-extended on some machines
}

func (disk) Glob(_ Step, pattern string) ([]string, error) { return filepath.Glob(pattern) }

var errShort = errors.New("queue: short write")

// writeAll writes everything, however little each write takes, makes it
// durable and closes the file.
func writeAll(f Output, text []byte) error {
	err := writeLoop(f, text)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

func writeLoop(f Output, text []byte) error {
	for total := 0; total < len(text); {
		n, err := f.Write(text[total:])
		if err != nil {
			return err
		}
		if n <= 0 || n > len(text)-total {
			return errShort
		}
		total += n
	}
	st, err := f.Stat()
	if err == nil && st.Size != int64(len(text)) {
		err = errShort
	}
	return err
}

// stage writes a new file beside its target, durable but for its name. On
// failure nothing is left of it.
func stage(files Files, s Step, path string, text []byte, mode fs.FileMode) error {
	f, err := files.Create(s, path, mode)
	if err != nil {
		return err
	}
	if err := writeAll(f, text); err != nil {
		return errors.Join(err, files.Remove(s, path))
	}
	return nil
}

// replace puts text in the place of path: staged, renamed, and its directory
// made durable. temp is a name in the same directory that only the holder of
// the lock uses; what a killed one left there goes first (QUEUE-OPEN-66).
func replace(files Files, s Step, path, temp string, text []byte, mode fs.FileMode) error {
	if err := discard(files, s, temp); err != nil {
		return err
	}
	if err := stage(files, s, temp, text, mode); err != nil {
		return err
	}
	if err := files.Rename(s, temp, path); err != nil {
		return errors.Join(err, files.Remove(s, temp))
	}
	return files.SyncDir(s, filepath.Dir(path))
}

// discard removes a leftover; that there is none is no fault.
func discard(files Files, s Step, path string) error {
	if err := files.Remove(s, path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// tempName is where the holder of the lock stages a file for an operation
// (QUEUE-WRITE-20).
func tempName(path string, op OpID) string { return path + "." + string(op) + ".tmp" }

// errno returns the name of the system's error, such as ENOSPC, or "unknown".
func errno(err error) string {
	var n syscall.Errno
	if errors.As(err, &n) {
		if name := unix.ErrnoName(n); name != "" {
			return name
		}
	}
	return "unknown"
}
