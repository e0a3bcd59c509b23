package wire

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// SocketRecord is the file in a directory that is too long for its own sockets
// which says where they are: one line, an absolute path. Without it whoever
// has another XDG_RUNTIME_DIR than the listener, as over ssh or from cron,
// would look for them in the wrong place.
const SocketRecord = "sockets.dir"

const maxSocketRecord = 4096

// RecordSocketDir notes in preferred that its sockets are in dir, when that is
// elsewhere, and returns what takes the note back.
func RecordSocketDir(preferred, dir string) (remove func() error, err error) {
	if dir == preferred {
		return func() error { return nil }, nil
	}
	f, err := os.CreateTemp(preferred, "."+SocketRecord+".*") // mode 0600
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString(dir + "\n")
	path := filepath.Join(preferred, SocketRecord)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return nil, err
	}
	return func() error {
		if recordedSocketDir(preferred) != dir {
			return nil // a successor's
		}
		return os.Remove(path)
	}, nil
}

// recordedSocketDir is what the note in preferred says, or "". It believes a
// plain file of this user that names a directory which belongs to preferred.
func recordedSocketDir(preferred string) string {
	f, err := os.OpenFile(filepath.Join(preferred, SocketRecord), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Mode() != 0o600 || !own(info) {
		return ""
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSocketRecord))
	dir := strings.TrimSuffix(string(text), "\n")
	hash, errHash := socketHash(preferred)
	if err != nil || errHash != nil || !filepath.IsAbs(dir) || !fits(dir) || !strings.HasSuffix(dir, "-"+hash) {
		return ""
	}
	return dir
}

// FindSocketDir returns the directory in which the sockets of a data root are
// to be found, and makes nothing: where they were recorded, else where
// SocketDir would put them.
func FindSocketDir(preferred string) (string, error) {
	if fits(preferred) {
		return preferred, nil
	}
	if dir := recordedSocketDir(preferred); dir != "" && isOwn(dir) == nil {
		return dir, nil
	}
	places, err := movedSocketDirs(preferred)
	if err != nil {
		return "", err
	}
	return places[0], nil
}

// SocketPlaces returns every directory in which sockets of a data root can be,
// existing or not: preferred when they fit, else the recorded one and those of
// this environment.
func SocketPlaces(preferred string) ([]string, error) {
	if fits(preferred) {
		return []string{preferred}, nil
	}
	places, err := movedSocketDirs(preferred)
	if err != nil {
		return nil, err
	}
	if dir := recordedSocketDir(preferred); dir != "" && !slices.Contains(places, dir) {
		places = append(places, dir)
	}
	return places, nil
}

// own reports whether a file belongs to this user.
func own(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// Obstacle says what stands at the path of a socket.
type Obstacle int

const (
	Nothing   Obstacle = iota // the path is free
	Listening                 // a process answers there
	LeftOver                  // a socket of this user at which nobody listens
	Foreign                   // no socket, another user's, or one that cannot be told
)

// AtSocket looks at the path of a socket. Only a connection that the kernel
// refuses proves that nobody listens.
func AtSocket(path string) Obstacle {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return Nothing
	case err != nil || info.Mode().Type() != fs.ModeSocket || !own(info):
		return Foreign
	}
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		return Foreign
	}
	defer syscall.Close(fd)
	switch err := syscall.Connect(fd, &syscall.SockaddrUnix{Name: path}); {
	case err == nil, errors.Is(err, syscall.EAGAIN): // its queue is full
		return Listening
	case errors.Is(err, syscall.ECONNREFUSED):
		return LeftOver
	case errors.Is(err, fs.ErrNotExist):
		return Nothing
	}
	return Foreign
}
