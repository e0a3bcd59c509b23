package evidence

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// storeVFS is the name of the file layer of every connection that may write:
// the driver's own, with two things put right.
//
// It does not recognise a full disk: it looks for ENOSPC in an error that the
// os package has wrapped, and so reports an I/O error, after which the store
// would have to stop (TestDiskFull).
//
// It makes the WAL and its index with the mode of the umask. A reader that
// comes just when the last other connection goes makes them anew, and the next
// start would refuse them (TestSidecarsArePrivate).
const storeVFS = "mosaic-store"

func init() { vfs.Register(storeVFS, storeLayer{vfs.Find("os").(vfs.VFSFilename)}) }

type storeLayer struct{ vfs.VFSFilename }

func (l storeLayer) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	if err := makeSidecar(name.String(), flags); err != nil {
		return nil, flags, noSpace(err)
	}
	f, flags, err := l.VFSFilename.OpenFilename(name, flags)
	if err != nil {
		return nil, flags, noSpace(err)
	}
	return storeFile{f}, flags, nil
}

// makeSidecar makes the WAL before it is opened, and the index, which no open
// announces, before the database is.
func makeSidecar(name string, flags vfs.OpenFlag) error {
	switch {
	case flags&vfs.OPEN_WAL != 0 && flags&vfs.OPEN_CREATE != 0:
	case flags&vfs.OPEN_MAIN_DB != 0:
		name += shmSuffix
	default:
		return nil
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

type storeFile struct{ vfs.File }

func (f storeFile) WriteAt(p []byte, off int64) (int, error) {
	n, err := f.File.WriteAt(p, off)
	return n, noSpace(err)
}

// noSpace names a full disk or quota in SQLite's terms. An fsync is not asked
// here: one that fails leaves pages in the cache that look written, whatever
// the reason.
func noSpace(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return vfs.SystemError(err, sqlite3.FULL)
	}
	return err
}

func (f storeFile) SharedMemory() vfs.SharedMemory {
	if s, ok := f.File.(vfs.FileSharedMemory); ok {
		return s.SharedMemory()
	}
	return nil
}

// DeviceCharacteristics leaves out the atomic batches of f2fs, whose control
// operations this layer does not pass on.
func (f storeFile) DeviceCharacteristics() vfs.DeviceCharacteristic {
	return f.File.DeviceCharacteristics() &^ vfs.IOCAP_BATCH_ATOMIC
}
