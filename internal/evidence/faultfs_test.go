package evidence

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ncruces/go-sqlite3/vfs"
)

// operation is something that SQLite asks of a file: db or wal, and read,
// write, sync or delete.
type operation struct{ file, name string }

// fault makes one operation fail: the first of its kind after skip others.
type fault struct {
	operation
	skip    int
	err     error // as the os package would return it
	applied bool  // the operation was done all the same
	short   bool  // half of a write was done
}

// faultFS is a file layer for tests. Under the store's own layer it makes one
// operation fail, tells which were done, and remembers of each file what a
// power cut would leave.
type faultFS struct {
	vfs.VFSFilename
	name   string
	mu     sync.Mutex
	armed  *fault
	passed func(operation) // called after an operation was done
	images map[string]*image
}

var faultNames atomic.Int64

func newFaultFS(t *testing.T) *faultFS {
	f := registerFaultFS()
	t.Cleanup(func() { vfs.Unregister(f.name) })
	return f
}

func registerFaultFS() *faultFS {
	f := &faultFS{
		VFSFilename: vfs.Find("os").(vfs.VFSFilename), images: map[string]*image{},
		name: fmt.Sprintf("fault-%d", faultNames.Add(1)),
	}
	vfs.Register(f.name, storeLayer{f})
	return f
}

// use sets the layer in a store's options.
func (f *faultFS) use(o *Options) { o.vfs = f.name }

// arm sets the fault; the fault that was armed must have happened.
func (f *faultFS) arm(x fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed = &x
}

func (f *faultFS) happened() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.armed == nil
}

// meet returns the fault for this operation, if it is its turn.
func (f *faultFS) meet(op operation) *fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.armed == nil || f.armed.operation != op {
		return nil
	}
	if f.armed.skip > 0 {
		f.armed.skip--
		return nil
	}
	x := f.armed
	f.armed = nil
	x.err = &fs.PathError{Op: op.name, Path: op.file, Err: x.err}
	return x
}

func (f *faultFS) done(op operation) {
	if f.passed != nil {
		f.passed(op)
	}
}

func (f *faultFS) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	file, flags, err := f.VFSFilename.OpenFilename(name, flags)
	if err != nil {
		return nil, flags, err
	}
	kind := "db"
	if flags&vfs.OPEN_WAL != 0 {
		kind = "wal"
	}
	return &faultFile{File: file, fs: f, kind: kind, image: f.imageOf(name.String())}, flags, nil
}

func (f *faultFS) Delete(name string, syncDir bool) error {
	f.mu.Lock()
	delete(f.images, name)
	f.mu.Unlock()
	return f.VFSFilename.Delete(name, syncDir)
}

type faultFile struct {
	vfs.File
	fs    *faultFS
	kind  string
	image *image
}

func (f *faultFile) SharedMemory() vfs.SharedMemory {
	return f.File.(vfs.FileSharedMemory).SharedMemory()
}

func (f *faultFile) ReadAt(p []byte, off int64) (int, error) {
	if x := f.fs.meet(operation{f.kind, "read"}); x != nil {
		return 0, x.err
	}
	return f.File.ReadAt(p, off)
}

func (f *faultFile) WriteAt(p []byte, off int64) (n int, err error) {
	op := operation{f.kind, "write"}
	x := f.fs.meet(op)
	switch {
	case x == nil || x.applied:
		n, err = f.write(p, off)
	case x.short:
		n, err = f.write(p[:len(p)/2], off)
	}
	if x != nil {
		return n, x.err
	}
	f.fs.done(op)
	return n, err
}

func (f *faultFile) write(p []byte, off int64) (int, error) {
	f.image.write(p, off)
	return f.File.WriteAt(p, off)
}

func (f *faultFile) Truncate(size int64) error {
	f.image.truncate(size)
	return f.File.Truncate(size)
}

func (f *faultFile) Sync(flags vfs.SyncFlag) (err error) {
	op := operation{f.kind, "sync"}
	x := f.fs.meet(op)
	if x == nil || x.applied {
		err = f.File.Sync(flags)
		f.image.sync()
	}
	if x != nil {
		return x.err
	}
	f.fs.done(op)
	return err
}

// image is a file as the disk has it: what was synced, and what was changed
// since and may be there or not after a power cut.
type image struct {
	mu      sync.Mutex
	synced  []byte
	pending []func([]byte) []byte
}

func (f *faultFS) imageOf(path string) *image {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.images[path] == nil {
		content, _ := os.ReadFile(path)
		f.images[path] = &image{synced: content}
	}
	return f.images[path]
}

func (i *image) change(fn func([]byte) []byte) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.pending = append(i.pending, fn)
}

func (i *image) write(p []byte, off int64) {
	p = slices.Clone(p)
	i.change(func(b []byte) []byte {
		if end := int(off) + len(p); end > len(b) {
			b = append(b, make([]byte, end-len(b))...)
		}
		copy(b[off:], p)
		return b
	})
}

func (i *image) truncate(size int64) {
	i.change(func(b []byte) []byte { return append(b, make([]byte, max(0, int(size)-len(b)))...)[:size] })
}

func (i *image) sync() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.synced = i.after(func() bool { return true })
	i.pending = nil
}

// after returns the content with those pending changes that kept says.
func (i *image) after(kept func() bool) []byte {
	b := slices.Clone(i.synced)
	for _, fn := range i.pending {
		if kept() {
			b = fn(b)
		}
	}
	return b
}

// cut writes what a power cut would leave of the store into a new directory:
// everything that was synced, and of the rest what kept says. The WAL index
// is gone: it lives in memory.
func (f *faultFS) cut(t *testing.T, kept func() bool) (path string) {
	t.Helper()
	dir := t.TempDir()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(f.images)) {
		i := f.images[name]
		i.mu.Lock()
		content := i.after(kept)
		i.mu.Unlock()
		to := filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(to, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, walSuffix) {
			path = to
		}
	}
	return path
}
