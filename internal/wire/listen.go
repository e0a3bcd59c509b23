package wire

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Socket is a listening Unix socket and the file that names it.
type Socket struct {
	*net.UnixListener
	path string
	file os.FileInfo
}

// Listen makes a listening socket at path, open to this user alone from its
// first moment, whatever the umask. A path that exists, be it a dead socket or
// a dangling link, is refused with socket-exists and left as it is.
func Listen(path string) (*Socket, error) {
	if len(path) > MaxSocketPath || path == "" || path[0] == '@' || strings.IndexByte(path, 0) >= 0 {
		// An @ would make a socket without a file or a mode, and a NUL another
		// path.
		return nil, fmt.Errorf("wire: listen: a socket path has 1 to %d bytes, no NUL and no @ in front", MaxSocketPath)
	}
	config := net.ListenConfig{Control: ownerOnly}
	l, err := config.Listen(context.Background(), "unix", path)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, Refuse(SocketExists)
	}
	if err != nil {
		return nil, fmt.Errorf("wire: listen: %w", err)
	}
	s := &Socket{UnixListener: l.(*net.UnixListener), path: path}
	s.SetUnlinkOnClose(false)
	if err := s.check(); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// ownerOnly sets the mode that bind gives the file: Linux takes it from the
// socket, less the umask. A chmod after bind would come too late.
func ownerOnly(_, _ string, c syscall.RawConn) error {
	var failed error
	err := c.Control(func(fd uintptr) { failed = unix.Fchmod(int(fd), 0o600) })
	return errors.Join(err, failed)
}

// check notes the file, and adds what a strict umask took away.
func (s *Socket) check() error {
	file, err := os.Lstat(s.path)
	if err == nil && file.Mode().Type() == fs.ModeSocket && file.Mode().Perm() != 0o600 {
		if err = os.Chmod(s.path, 0o600); err == nil {
			file, err = os.Lstat(s.path)
		}
	}
	if err != nil {
		return fmt.Errorf("wire: listen: %w", err)
	}
	if file.Mode() != fs.ModeSocket|0o600 {
		return Refuse(UnsafePermissions)
	}
	s.file = file
	return nil
}

// Path is where the socket was made.
func (s *Socket) Path() string { return s.path }

// Remove removes the socket's file if the path still names it, by device and
// inode; a successor's is left alone. Between the look and the removal a
// process of the same user could still put another file there.
func (s *Socket) Remove() error {
	now, err := os.Lstat(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !os.SameFile(now, s.file):
		return nil
	}
	return os.Remove(s.path)
}
