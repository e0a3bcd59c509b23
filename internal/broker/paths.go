package broker

import (
	"os"
	"path/filepath"
	"strings"

	"mosaicstack.dev/mosaic/internal/wire"
)

// MaxDataRoot is the longest path of a data root in bytes: SQLite takes no
// store whose path is much longer.
const MaxDataRoot = 900

// CheckPath refuses a path that no data root can have, with invalid-path,
// before anything is looked at or made.
func CheckPath(dataRoot string) error {
	if len(dataRoot) > MaxDataRoot || strings.IndexByte(dataRoot, 0) >= 0 {
		return wire.Refuse(wire.InvalidPath)
	}
	return nil
}

// StorePath is where the store of a data root is; the offline commands open it.
func StorePath(dataRoot string) string { return filepath.Join(dataRoot, busName, storeName) }

// LockPath is where the writer lock of a data root is.
func LockPath(dataRoot string) string { return filepath.Join(dataRoot, busName, lockName) }

// BusDirectory is the broker's directory of a data root. Its sockets are in
// wire.SocketDir of it.
func BusDirectory(dataRoot string) string { return filepath.Join(dataRoot, busName) }

// The names of the sockets (BUS-OPEN-11).
const (
	BusSocket   = busSocketName
	HumanSocket = humanSocketName
)

// LocalDisk says whether a directory is on a local disk (BUS-BOOT-15), and
// what is known of its file system when it is not.
func LocalDisk(directory string) (fileSystem string, local bool) {
	f, err := os.Open(directory)
	if err != nil {
		return "a file system that cannot be read", false
	}
	defer f.Close()
	magic, err := fileSystemOf(f)
	if err != nil {
		return "a file system that cannot be told", false
	}
	if name, remote := networkFileSystems[magic]; remote {
		return name, false
	}
	return "a local disk", true
}
