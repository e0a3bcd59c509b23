package broker

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"mosaicstack.dev/mosaic/internal/wire"
)

// The names under the data root (BUS-OPEN-11).
const (
	busName         = "bus"
	lockName        = "writer.lock"
	storeName       = "bus.sqlite"
	busSocketName   = "bus.sock"
	humanSocketName = "human.sock"
)

// networkFileSystems are those on which neither locks nor fsync can be relied
// on: network and user-space file systems, by the kernel's magic number. Every
// other one counts as local (BUS-BOOT-15, BUS-OPEN-15).
var networkFileSystems = map[int64]string{
	0x6969:     "nfs",
	0x517b:     "smb",
	0xfe534d42: "smb2",
	0xff534d42: "cifs",
	0x01021997: "9p",
	0x65735546: "fuse",
	0x00c36400: "ceph",
	0x5346414f: "afs",
	0x6b414653: "kafs",
	0x73757245: "coda",
	0x0bd00bd0: "lustre",
	0x47504653: "gpfs",
	0x19830326: "beegfs",
	0x20030528: "orangefs",
	0x786f4256: "vboxsf",
	0xbacbacbc: "vmhgfs",
}

// CheckDataRoot refuses a data root with the code with which a start would; it
// changes nothing.
func CheckDataRoot(path string) error {
	root, err := openDataRoot(path, os.Geteuid(), nil)
	if err != nil {
		return err
	}
	return root.Close()
}

// openDataRoot opens the data root without following a link in its last place,
// and refuses one that is missing, not this user's alone, or not on a local
// disk. It creates and repairs nothing (BUS-BOOT-15 to 19, 24, 25).
func openDataRoot(path string, uid int, fileSystem func(*os.File) (int64, error)) (*os.File, error) {
	if !filepath.IsAbs(path) {
		return nil, wire.Refuse(wire.InvalidConfig)
	}
	path = filepath.Clean(path)
	if err := CheckPath(path); err != nil {
		return nil, err
	}
	root, err := openDirectory(unix.AT_FDCWD, path, path)
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil, wire.Refuse(wire.DataRootMissing)
	case err != nil:
		return nil, wire.Refuse(wire.DataRootUnsafe)
	}
	if !ownedAlone(root, uid) {
		err = wire.Refuse(wire.DataRootUnsafe)
	} else {
		err = checkLocal(root, fileSystem)
	}
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	return root, nil
}

// checkLocal refuses a file system that is not on a local disk, or whose type
// cannot be told.
func checkLocal(root *os.File, fileSystem func(*os.File) (int64, error)) error {
	if fileSystem == nil {
		fileSystem = fileSystemOf
	}
	magic, err := fileSystem(root)
	if _, remote := networkFileSystems[magic]; err != nil || remote {
		return wire.Refuse(wire.NotLocalDisk)
	}
	return nil
}

func fileSystemOf(directory *os.File) (int64, error) {
	var s unix.Statfs_t
	err := unix.Fstatfs(int(directory.Fd()), &s)
	// Type is signed on some machines; the magic numbers have 32 bits.
	return int64(uint32(s.Type)), err
}

// openBusDirectory makes bus/ under the data root with mode 0700, or refuses
// one that is there as anything else (BUS-BOOT-20). made reports which. It
// returns the directory's path.
func openBusDirectory(root *os.File, uid int) (path string, made bool, err error) {
	path = filepath.Join(root.Name(), busName)
	switch err := unix.Mkdirat(int(root.Fd()), busName, 0o700); {
	case err == nil:
		made = true
		// A strict umask may have taken rights away.
		if err := unix.Fchmodat(int(root.Fd()), busName, 0o700, 0); err != nil {
			return path, made, wire.RefuseDisk(err, wire.UnsafePermissions)
		}
	case !errors.Is(err, unix.EEXIST):
		return path, false, wire.RefuseDisk(err, wire.StorageUnavailable)
	}
	bus, err := openDirectory(int(root.Fd()), busName, path)
	if err != nil {
		return path, made, wire.Refuse(wire.UnsafePermissions)
	}
	defer bus.Close()
	if !ownedAlone(bus, uid) {
		return path, made, wire.Refuse(wire.UnsafePermissions)
	}
	return path, made, nil
}

// openDirectory opens a directory that is no link. O_PATH reads nothing and so
// works whatever the mode is: what is wrong with it is for the caller to say.
func openDirectory(at int, name, path string) (*os.File, error) {
	fd, err := unix.Openat(at, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// ownedAlone reports whether the file belongs to the user and is open to
// nobody else.
func ownedAlone(f *os.File, uid int) bool {
	var s unix.Stat_t
	err := unix.Fstat(int(f.Fd()), &s)
	return err == nil && int(s.Uid) == uid && s.Mode&0o077 == 0
}
