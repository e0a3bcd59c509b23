package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"mosaicstack.dev/mosaic/internal/wire"
)

// root is the data root as it was when the host started. Its directories stay
// open: what the organization says is read in this very directory, wherever its
// name leads by then, and no other directory can take its device and inode.
type root struct {
	kept []*os.File // the data root, host and host/runs, named by their paths
}

// openRoot keeps the data root. data-root-missing, or data-root-unsafe for a
// link or no directory.
func openRoot(path string) (*root, error) {
	r := &root{}
	if err := r.keep(path); err != nil {
		if errors.Is(err, unix.ENOENT) {
			return nil, wire.Refuse(wire.DataRootMissing)
		}
		return nil, wire.Refuse(wire.DataRootUnsafe)
	}
	return r, nil
}

// keep opens one more directory, which is no link.
func (r *root) keep(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	r.kept = append(r.kept, os.NewFile(uintptr(fd), path))
	return nil
}

// directory is a path of the kept data root for this process alone.
func (r *root) directory() string { return fmt.Sprintf("/proc/self/fd/%d", r.kept[0].Fd()) }

// check refuses data-root-unsafe when a path leads to another directory than
// the kept one: somebody has moved it, or what it lies in.
func (r *root) check() error {
	for _, dir := range r.kept {
		ours, err := dir.Stat()
		if err != nil {
			return wire.Refuse(wire.DataRootUnsafe)
		}
		theirs, err := os.Lstat(filepath.Clean(dir.Name()))
		if err != nil || !os.SameFile(ours, theirs) {
			return wire.Refuse(wire.DataRootUnsafe)
		}
	}
	return nil
}

func (r *root) close() {
	for _, dir := range r.kept {
		_ = dir.Close()
	}
}
