package gitea

import (
	"io"
	"os"
	"strings"
	"syscall"
)

const maxToken = 4 << 10

// readToken reads the token file in place: a regular file of this user that
// nobody else may read. The checks are made on the open file, so that they
// hold for the bytes that are read.
func readToken(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", ErrCredential
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", ErrCredential
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() || int(owner.Uid) != os.Geteuid() || info.Mode().Perm() != 0o600 {
		return "", ErrCredential
	}
	text, err := io.ReadAll(io.LimitReader(f, maxToken+1))
	if err != nil || len(text) > maxToken {
		return "", ErrCredential
	}
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", ErrCredential
	}
	return token, nil
}
