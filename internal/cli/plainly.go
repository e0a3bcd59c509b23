package cli

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// plainly says in words what an error of the system is about: the path, when
// there is one, and what is the matter with it.
func plainly(err error) string {
	var (
		path    *fs.PathError
		link    *os.LinkError
		program *exec.Error
		exit    *exec.ExitError
		number  syscall.Errno
	)
	subject := ""
	switch {
	case errors.As(err, &path):
		subject = path.Path + " "
	case errors.As(err, &link):
		subject = link.New + " "
	case errors.As(err, &program):
		subject = program.Name + " "
	}
	switch {
	case errors.As(err, &number):
		return subject + trouble(number)
	case errors.Is(err, exec.ErrNotFound):
		return subject + "is not installed"
	case errors.As(err, &exit):
		return subject + "the program failed"
	}
	return strings.ReplaceAll(err.Error(), "\n", "; ")
}

func trouble(number syscall.Errno) string {
	if words, known := troubles[number]; known {
		return words
	}
	return "cannot be used (" + unix.ErrnoName(number) + ")"
}

var troubles = map[syscall.Errno]string{
	syscall.ENOENT:       "does not exist",
	syscall.EACCES:       "may not be used by this account",
	syscall.EPERM:        "may not be used by this account",
	syscall.EEXIST:       "exists already",
	syscall.ENOTDIR:      "is below something that is no directory",
	syscall.EISDIR:       "is a directory",
	syscall.ELOOP:        "is a symbolic link that is not followed here",
	syscall.ENAMETOOLONG: "is longer than a path can be",
	syscall.ENOSPC:       "is on a disk that is full",
	syscall.EDQUOT:       "is on a disk whose quota is used up",
	syscall.EROFS:        "is on a read-only file system",
	syscall.EIO:          "is on a disk that fails",
}
