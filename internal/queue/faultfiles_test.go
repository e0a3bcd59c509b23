package queue

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// call is one call of the file layer: which step it belongs to, what it does,
// and to what.
type call struct {
	Step Step
	Does string // create, write, sync, stat, close, read, link, rename, remove, mkdir, syncdir, statfs, glob
	Path string
}

func (c call) String() string {
	return fmt.Sprintf("%s %s %s", c.Step, c.Does, filepath.Base(c.Path))
}

// is matches a step and a word of what it does.
func (c call) is(s Step, does string) bool { return c.Step == s && c.Does == does }

// hooked is the real file system with a test at every call. before may block,
// change the world, or return an error, which the call then fails with and
// does nothing; after may do the same once it was done.
type hooked struct {
	Files
	mu     sync.Mutex
	before func(call) error
	after  func(call) error
	// short bounds the bytes that one write takes; 0: no bound.
	short func(call) int
	calls []call
}

func hook(before func(call) error) *hooked { return &hooked{Files: disk{}, before: before} }

// failing makes the calls of one kind fail.
func failing(s Step, does string, err error) *hooked {
	return hook(func(c call) error {
		if c.is(s, does) {
			return err
		}
		return nil
	})
}

func (h *hooked) do(c call, real func() error) error {
	h.mu.Lock()
	h.calls = append(h.calls, c)
	before, after := h.before, h.after
	h.mu.Unlock()
	if before != nil {
		if err := before(c); err != nil {
			return err
		}
	}
	if err := real(); err != nil {
		return err
	}
	if after != nil {
		return after(c)
	}
	return nil
}

func (h *hooked) Create(s Step, path string, mode fs.FileMode) (o Output, err error) {
	err = h.do(call{s, "create", path}, func() (err error) { o, err = h.Files.Create(s, path, mode); return })
	return hookedOutput{o, h, s, path}, err
}

func (h *hooked) Read(s Step, path string) (text []byte, st FileStamp, err error) {
	err = h.do(call{s, "read", path}, func() (err error) { text, st, err = h.Files.Read(s, path); return })
	return
}

func (h *hooked) Stat(s Step, path string) (st FileStamp, err error) {
	err = h.do(call{s, "stat", path}, func() (err error) { st, err = h.Files.Stat(s, path); return })
	return
}

func (h *hooked) Link(s Step, path, name string) error {
	return h.do(call{s, "link", name}, func() error { return h.Files.Link(s, path, name) })
}

func (h *hooked) Rename(s Step, path, name string) error {
	return h.do(call{s, "rename", name}, func() error { return h.Files.Rename(s, path, name) })
}

func (h *hooked) RenameNew(s Step, path, name string) error {
	return h.do(call{s, "rename", name}, func() error { return h.Files.RenameNew(s, path, name) })
}

func (h *hooked) Remove(s Step, path string) error {
	return h.do(call{s, "remove", path}, func() error { return h.Files.Remove(s, path) })
}

func (h *hooked) Mkdir(s Step, path string) error {
	return h.do(call{s, "mkdir", path}, func() error { return h.Files.Mkdir(s, path) })
}

func (h *hooked) Sync(s Step, path string) error {
	return h.do(call{s, "sync", path}, func() error { return h.Files.Sync(s, path) })
}

func (h *hooked) SyncDir(s Step, dir string) error {
	return h.do(call{s, "syncdir", dir}, func() error { return h.Files.SyncDir(s, dir) })
}

func (h *hooked) Filesystem(s Step, dir string) (kind int64, err error) {
	err = h.do(call{s, "statfs", dir}, func() (err error) { kind, err = h.Files.Filesystem(s, dir); return })
	return
}

func (h *hooked) Glob(s Step, pattern string) (names []string, err error) {
	err = h.do(call{s, "glob", pattern}, func() (err error) { names, err = h.Files.Glob(s, pattern); return })
	return
}

type hookedOutput struct {
	Output
	h    *hooked
	step Step
	path string
}

func (o hookedOutput) Write(p []byte) (n int, err error) {
	c := call{o.step, "write", o.path}
	if o.h.short != nil {
		if most := o.h.short(c); most > 0 && most < len(p) {
			p = p[:most]
		}
	}
	err = o.h.do(c, func() (err error) { n, err = o.Output.Write(p); return })
	return
}

func (o hookedOutput) Sync() error {
	return o.h.do(call{o.step, "sync", o.path}, o.Output.Sync)
}

func (o hookedOutput) Close() error {
	return o.h.do(call{o.step, "close", o.path}, o.Output.Close)
}

// trace names the calls that were made, of the given kinds.
func (h *hooked) trace(kinds ...string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []string
	for _, c := range h.calls {
		for _, kind := range kinds {
			if strings.EqualFold(c.Does, kind) {
				all = append(all, fmt.Sprintf("%s %s", c.Step, c.Does))
			}
		}
	}
	return all
}

// killAt ends this process, as kill -9 does, before the n-th call from 0.
func killAt(n int) func(call) error {
	return func(call) error {
		if n == 0 {
			syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
			select {} // the signal is on its way
		}
		n--
		return nil
	}
}
