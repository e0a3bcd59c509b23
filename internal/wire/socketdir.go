package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// MaxSocketPath is the longest socket path in bytes. The kernel takes 107;
// programs that cut longer ones silently differ in where.
const MaxSocketPath = 100

// longestSocket is the longest name that a socket directory holds.
const longestSocket = "human.sock"

// SocketDir returns the directory for the sockets of a data root: preferred
// when a socket path in it fits, else mosaic-<hash> under $XDG_RUNTIME_DIR,
// else mosaic-<uid>-<hash> in the temporary directory. The hash is of
// preferred, so the answer is the same every time. A directory that is not
// preferred is made with mode 0700, or refused with unsafe-permissions when it
// exists as anything but this user's own directory of that mode.
func SocketDir(preferred string) (string, error) {
	if fits(preferred) {
		return preferred, nil
	}
	places, err := movedSocketDirs(preferred)
	if err != nil {
		return "", err
	}
	return places[0], ownDir(places[0])
}

// movedSocketDirs are the places for the sockets of a directory that is too
// long for them, the preferred one first. There is at least one.
func movedSocketDirs(preferred string) (places []string, err error) {
	hash, err := socketHash(preferred)
	if err != nil {
		return nil, err
	}
	if runtime := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(runtime) {
		if dir := filepath.Join(runtime, "mosaic-"+hash); fits(dir) && isOwn(runtime) == nil {
			places = append(places, dir)
		}
	}
	if dir := filepath.Join(os.TempDir(), "mosaic-"+strconv.Itoa(os.Geteuid())+"-"+hash); fits(dir) {
		places = append(places, dir)
	}
	if len(places) == 0 {
		return nil, RefuseField(InvalidPath, "TMPDIR")
	}
	return places, nil
}

// socketHash tells the directories of data roots apart.
func socketHash(preferred string) (string, error) {
	absolute, err := filepath.Abs(preferred)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(absolute))
	return hex.EncodeToString(sum[:8]), nil
}

func fits(dir string) bool { return len(dir)+1+len(longestSocket) <= MaxSocketPath }

// ownDir makes the directory, or checks the one that is there.
func ownDir(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return isOwn(dir)
}

// isOwn refuses anything but a directory that this user alone may enter. In a
// shared temporary directory another user may have made one, or a link.
func isOwn(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !own(info) || info.Mode() != fs.ModeDir|0o700 {
		return Refuse(UnsafePermissions)
	}
	return nil
}
