package wire

import (
	"errors"
	"syscall"
)

// DiskCode returns the code of a failure that the disk alone explains: it has
// no room, or cannot be written; "" for any other.
func DiskCode(err error) Code {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return DiskFull
	case errors.Is(err, syscall.EROFS):
		return ReadOnlyDisk
	}
	return ""
}

// RefuseDisk refuses with the code of the disk's failure, or with otherwise
// when err is none.
func RefuseDisk(err error, otherwise Code) *Error {
	if code := DiskCode(err); code != "" {
		return Refuse(code)
	}
	return Refuse(otherwise)
}
