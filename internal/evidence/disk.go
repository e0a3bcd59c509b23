package evidence

import (
	"errors"
	"path/filepath"

	"github.com/ncruces/go-sqlite3"
	"golang.org/x/sys/unix"

	"mosaicstack.dev/mosaic/internal/wire"
)

// nameDisk gives a failure at path, of a start or of an offline command, the
// code of the disk that explains it: disk-full or read-only-disk in place of
// storage-unavailable. A request that a running broker could not make durable
// keeps storage-unavailable, which says that it may be repeated.
func nameDisk(path string, err *error) {
	if !errors.Is(*err, wire.Refuse(wire.StorageUnavailable)) {
		return
	}
	if code := diskCode(path, *err); code != "" {
		*err = refuse(code, *err)
	}
}

// noRoom is the space in bytes below which a store cannot be opened: its WAL
// index alone has 32 KiB.
const noRoom = 64 << 10

// diskCode asks the error and then, because SQLite reports most failures of a
// file as an I/O error, the file system.
func diskCode(path string, err error) wire.Code {
	switch code := wire.DiskCode(err); {
	case code != "":
		return code
	case errors.Is(err, sqlite3.FULL):
		return wire.DiskFull
	}
	var disk unix.Statfs_t
	if unix.Statfs(filepath.Dir(path), &disk) != nil {
		return ""
	}
	switch {
	case disk.Flags&unix.ST_RDONLY != 0:
		return wire.ReadOnlyDisk
	case disk.Bavail*uint64(disk.Bsize) < noRoom:
		return wire.DiskFull
	}
	return ""
}
