//go:build !linux

package proc

import (
	"errors"
	"fmt"
)

// Errors that only Linux gives; see system_linux.go.
var (
	ErrNoMemory     = errors.New("proc: process has no readable memory")
	ErrNoExecutable = errors.New("proc: process has no executable")
)

var errPlatform = fmt.Errorf("proc: unsupported platform: %w", errors.ErrUnsupported)

// System returns a table that refuses every question: only Linux is supported
// (BUS-BOOT-14). Its errors wrap errors.ErrUnsupported.
func System() Table { return unsupported{} }

type unsupported struct{}

func (unsupported) Stat(int) (Stat, error)        { return Stat{}, errPlatform }
func (unsupported) UID(int) (int, error)          { return 0, errPlatform }
func (unsupported) Cmdline(int) ([]string, error) { return nil, errPlatform }
func (unsupported) Environ(int) ([]string, error) { return nil, errPlatform }
func (unsupported) Executable(int) (File, error)  { return File{}, errPlatform }

// BootID refuses.
func BootID() (string, error) { return "", errPlatform }
