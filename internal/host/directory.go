package host

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"mosaicstack.dev/mosaic/internal/wire"
)

// LogName is the log of a detached host, in Directory.
const LogName = "host.log"

// logLimit is the size in bytes from which the next start begins a new log and
// keeps the old one as host.log.1.
const logLimit = 8 << 20

// ownDirectory makes a directory of this user's own, or checks the one that is
// there; it repairs no modes. made says which. unsafe-permissions, disk-full,
// read-only-disk.
func ownDirectory(path string) (made bool, err error) {
	err = os.Mkdir(path, 0o700)
	made = err == nil
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return false, wire.RefuseDisk(err, wire.UnsafePermissions)
	}
	info, err := os.Lstat(path)
	if err != nil {
		return made, wire.RefuseDisk(err, wire.UnsafePermissions)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) != os.Geteuid() || info.Mode() != fs.ModeDir|0o700 {
		return made, wire.Refuse(wire.UnsafePermissions)
	}
	return made, nil
}

// OpenLog opens the log of a detached host for adding to it. unmake takes away
// again what it made, for a start that is refused. The refusals are those of
// ownDirectory.
func OpenLog(dataRoot string) (log *os.File, unmake func(), err error) {
	dir := filepath.Join(dataRoot, Directory)
	var made []string
	unmake = func() {
		for _, path := range slices.Backward(made) {
			_ = os.Remove(path) // a directory only while it is empty
		}
	}
	madeDir, err := ownDirectory(dir)
	if madeDir {
		made = append(made, dir)
	}
	if err == nil {
		path := filepath.Join(dir, LogName)
		if _, missing := os.Lstat(path); missing != nil {
			made = append(made, path)
		}
		log, err = openLog(path)
	}
	if err != nil {
		unmake()
		return nil, nil, err
	}
	return log, unmake, nil
}

func openLog(path string) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && info.Size() > logLimit {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, wire.RefuseDisk(err, wire.UnsafePermissions)
		}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, wire.RefuseDisk(err, wire.UnsafePermissions)
	}
	return f, nil
}

// NewLog returns a logger that writes one JSON object a line.
func NewLog(to *os.File) *slog.Logger { return slog.New(slog.NewJSONHandler(to, nil)) }
