package host

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"

	"mosaicstack.dev/mosaic/internal/wire"
)

// LogName is the log of a detached host, in Directory.
const LogName = "host.log"

// logLimit is the size in bytes from which the next start begins a new log and
// keeps the old one as host.log.1.
const logLimit = 8 << 20

// ownDirectory makes a directory of this user's own, or checks the one that is
// there; it repairs no modes. unsafe-permissions.
func ownDirectory(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) != os.Geteuid() || info.Mode() != fs.ModeDir|0o700 {
		return wire.Refuse(wire.UnsafePermissions)
	}
	return nil
}

// OpenLog opens the log of a detached host for adding to it.
func OpenLog(dataRoot string) (*os.File, error) {
	dir := filepath.Join(dataRoot, Directory)
	if err := ownDirectory(dir); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, LogName)
	if info, err := os.Lstat(path); err == nil && info.Size() > logLimit {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, err
		}
	}
	return os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND|syscall.O_NOFOLLOW, 0o600)
}

// NewLog returns a logger that writes one JSON object a line.
func NewLog(to *os.File) *slog.Logger { return slog.New(slog.NewJSONHandler(to, nil)) }
