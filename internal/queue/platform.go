package queue

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// localFilesystems are the file systems whose rename, link and fsync the write
// path relies on (QUEUE-WRITE-01 to 03), by the number that statfs gives.
// tmpfs forgets everything with the machine, lock and witness included.
var localFilesystems = map[int64]string{
	0xef53:     "ext4",
	0x58465342: "xfs",
	0x9123683e: "btrfs",
	0x01021994: "tmpfs",
}

// otherFilesystems have names by which mosaic.queue.allowFilesystem accepts
// them; one without a name is accepted by its number, such as 0x6969.
var otherFilesystems = map[int64]string{
	0x794c7630: "overlayfs",
	0xf2f52010: "f2fs",
	0x2fc12fc1: "zfs",
	0xca451a4e: "bcachefs",
	0x6969:     "nfs",
	0xff534d42: "cifs",
	0xfe534d42: "smb2",
	0x65735546: "fuse",
	0x01021997: "9p",
	0x858458f6: "ramfs",
	0x4d44:     "vfat",
	0x5346544e: "ntfs",
	0xf15f:     "ecryptfs",
}

// checkPlatform refuses directories on a file system that nothing is known of.
func (c *Checkout) checkPlatform() error {
	for _, dir := range []string{filepath.Dir(c.Queue), c.GitDir} {
		kind, err := c.filesystem(dir)
		if err != nil {
			return failed(FilesystemUnknown, "the file system of %s cannot be told (%s)", dir, cause(err))
		}
		if localFilesystems[kind] == "" && !c.accepts(kind) {
			return refuse(FilesystemRefused, "%s is on %s, where a rename or fsync may not hold; `git config --add mosaic.queue.allowFilesystem %s` accepts it", dir, filesystemName(kind), filesystemName(kind))
		}
	}
	return nil
}

// filesystem asks about a directory, or the nearest one above that exists.
func (c *Checkout) filesystem(dir string) (int64, error) {
	for {
		kind, err := c.files.Filesystem(StepPlatform, dir)
		if !errors.Is(err, fs.ErrNotExist) || dir == c.Root {
			return kind, err
		}
		dir = filepath.Dir(dir)
	}
}

func (c *Checkout) accepts(kind int64) bool {
	return slices.ContainsFunc(c.Setting("allowFilesystem"), func(name string) bool {
		return strings.EqualFold(name, filesystemName(kind)) || strings.EqualFold(name, filesystemNumber(kind))
	})
}

func filesystemName(kind int64) string {
	for _, known := range []map[int64]string{localFilesystems, otherFilesystems} {
		if name := known[kind]; name != "" {
			return name
		}
	}
	return filesystemNumber(kind)
}

// filesystemNumber takes 32 bits: statfs sign-extends on some machines.
func filesystemNumber(kind int64) string { return fmt.Sprintf("%#x", uint32(kind)) }
