package evidence

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"

	"mosaicstack.dev/mosaic/internal/wire"
)

// inspect opens the file for reading in the way that leaves all of its files
// as they are. Beside a process that has the store open it reads as any reader
// does, for then the WAL index is there already; otherwise through a file layer
// that cannot write.
func inspect(ctx context.Context, path string) (*conn, error) {
	live, err := inUse(path)
	if err != nil {
		return nil, refuse(wire.StorageUnavailable, err)
	}
	how, layer := inspecting, inspectVFS
	if live {
		how, layer = sharing, ""
	}
	c, err := connect(ctx, path, layer, how)
	if err != nil {
		return nil, damage(err)
	}
	return c, nil
}

// inspectVFS is the name of the file layer that cannot write. SQLite has a
// read-only mode of its own, but there it does not even parse the CHECK
// constraints, so that quick_check passes over rows that break them
// (TestQuickCheckEvaluatesChecks). This layer claims to be writable, is asked
// for the one connection there is, and so needs no locks; a WAL that is not
// there is an empty one.
const inspectVFS = "mosaic-inspect"

func init() { vfs.Register(inspectVFS, readOnlyLayer{vfs.Find("os")}) }

type readOnlyLayer struct{ vfs.VFS }

func (l readOnlyLayer) Open(name string, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	if name == "" {
		return nil, flags, sqlite3.CANTOPEN // temporary files are kept in memory
	}
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) && flags&vfs.OPEN_WAL != 0 {
		return readOnlyFile{}, flags, nil
	}
	if err != nil {
		return nil, flags, err
	}
	return readOnlyFile{f}, flags, nil
}

func (readOnlyLayer) Delete(string, bool) error { return sqlite3.READONLY }

// readOnlyFile is a file that cannot be written; nil stands for an empty one.
type readOnlyFile struct{ file *os.File }

func (f readOnlyFile) Close() error {
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}

func (f readOnlyFile) ReadAt(p []byte, off int64) (int, error) {
	if f.file == nil {
		return 0, io.EOF
	}
	return f.file.ReadAt(p, off)
}

func (f readOnlyFile) Size() (int64, error) {
	if f.file == nil {
		return 0, nil
	}
	info, err := f.file.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (readOnlyFile) WriteAt([]byte, int64) (int, error) { return 0, sqlite3.READONLY }
func (readOnlyFile) Truncate(int64) error               { return sqlite3.READONLY }
func (readOnlyFile) Sync(vfs.SyncFlag) error            { return nil }
func (readOnlyFile) Lock(vfs.LockLevel) error           { return nil }
func (readOnlyFile) Unlock(vfs.LockLevel) error         { return nil }
func (readOnlyFile) CheckReservedLock() (bool, error)   { return false, nil }
func (readOnlyFile) SectorSize() int                    { return 4096 }
func (readOnlyFile) DeviceCharacteristics() vfs.DeviceCharacteristic {
	return vfs.IOCAP_SUBPAGE_READ | vfs.IOCAP_POWERSAFE_OVERWRITE
}
