package broker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"mosaicstack.dev/mosaic/internal/wire"
)

// listing is every file under a directory with its type, mode and content, so
// that a test can say that nothing changed.
func listing(t testing.TB, root string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content := ""
		switch info.Mode().Type() {
		case 0:
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			content = fmt.Sprintf("%x", sha256.Sum256(data))
		case fs.ModeSymlink:
			if content, err = os.Readlink(path); err != nil {
				return err
			}
		}
		files[strings.TrimPrefix(path, root)] = info.Mode().String() + " " + content
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Everything of a running broker is under bus/, open to its user alone, and
// what a broker made it takes away again.
//
// proves: BUS-BOOT-01 BUS-BOOT-16 BUS-BOOT-20 BUS-BOOT-21 BUS-BOOT-22 BUS-BOOT-23 BUS-BOOT-26
// proves: BUS-BOOT-45 BUS-OPEN-11
func TestFilesOfARunningBroker(t *testing.T) {
	t.Parallel()
	tb := prepareTestBroker(t)
	before := listing(t, tb.root)
	tb.start()
	want := map[string]fs.FileMode{
		busName: fs.ModeDir | 0o700, lockName: 0o600, storeName: 0o600,
		busSocketName: fs.ModeSocket | 0o600, humanSocketName: fs.ModeSocket | 0o600,
	}
	seen := map[string]bool{}
	err := filepath.WalkDir(tb.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == tb.root {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		seen[info.Name()] = true
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", info.Name(), info.Mode())
		}
		if mode, known := want[info.Name()]; known && info.Mode() != mode {
			t.Errorf("%s has mode %v, want %v", info.Name(), info.Mode(), mode)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range want {
		if !seen[name] {
			t.Errorf("no %s", name)
		}
	}
	if tb.reply.Path != filepath.Join(tb.root, busName) {
		t.Errorf("path %s", tb.reply.Path)
	}
	if err := tb.Close(); err != nil {
		t.Fatal(err)
	}
	after := listing(t, tb.root)
	for name := range after {
		if _, known := before[name]; !known {
			t.Errorf("%s was left behind", name)
		}
	}
}

// Each case makes one thing wrong with a data root that is otherwise good.
//
// proves: BUS-BOOT-15 BUS-BOOT-17 BUS-BOOT-18 BUS-BOOT-19 BUS-BOOT-24 BUS-BOOT-25 BUS-BOOT-50
// proves: BUS-BOOT-55 BUS-BOOT-40 BUS-OPEN-07 BUS-OPEN-14 BUS-OPEN-15 BUS-OPEN-02 BUS-BOOT-52
func TestARefusedStartChangesNothing(t *testing.T) {
	t.Parallel()
	file := func(name, content string) func(*testing.T, *testBroker) {
		return func(t *testing.T, tb *testBroker) {
			if err := os.WriteFile(filepath.Join(tb.root, busName, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	link := func(name string) func(*testing.T, *testBroker) {
		return func(t *testing.T, tb *testBroker) {
			path := filepath.Join(tb.root, name)
			target := filepath.Join(t.TempDir(), "elsewhere")
			if err := os.Rename(path, target); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			if err := os.Symlink(target, path); err != nil {
				t.Fatal(err)
			}
		}
	}
	mode := func(name string, mode fs.FileMode) func(*testing.T, *testBroker) {
		return func(t *testing.T, tb *testBroker) {
			if err := os.Chmod(filepath.Join(tb.root, name), mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	remove := func(name string) func(*testing.T, *testBroker) {
		return func(t *testing.T, tb *testBroker) {
			if err := os.RemoveAll(filepath.Join(tb.root, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	config := func(change func(*Config)) func(*testing.T, *testBroker) {
		return func(_ *testing.T, tb *testBroker) { change(&tb.config) }
	}
	business := func(change func(*Business)) func(*testing.T, *testBroker) {
		return config(func(c *Config) {
			b := c.Businesses["acme"]
			change(&b)
			c.Businesses["acme"] = b
		})
	}
	role := func(change func(*Role)) func(*testing.T, *testBroker) {
		return business(func(b *Business) {
			r := b.Roles["dev"]
			change(&r)
			b.Roles["dev"] = r
		})
	}
	fileSystem := func(magic int64, err error) func(*testing.T, *testBroker) {
		return func(_ *testing.T, tb *testBroker) {
			tb.options.fileSystem = func(*os.File) (int64, error) { return magic, err }
		}
	}
	cases := []struct {
		name  string
		spoil func(*testing.T, *testBroker)
		code  wire.Code
	}{
		{"no data root", config(func(c *Config) { c.DataRoot += "/missing" }), wire.DataRootMissing},
		{"a relative data root", config(func(c *Config) { c.DataRoot = "root" }), wire.InvalidConfig},
		{"a data root that is a file", config(func(c *Config) { c.DataRoot += "/bus/bus.sqlite" }), wire.DataRootUnsafe},
		{"a data root that is a link", link(""), wire.DataRootUnsafe},
		{"a data root that others may write", mode("", 0o722), wire.DataRootUnsafe},
		{"a data root that others may read", mode("", 0o755), wire.DataRootUnsafe},
		{"NFS", fileSystem(0x6969, nil), wire.NotLocalDisk},
		{"SMB", fileSystem(0xfe534d42, nil), wire.NotLocalDisk},
		{"CIFS", fileSystem(0xff534d42, nil), wire.NotLocalDisk},
		{"9P", fileSystem(0x01021997, nil), wire.NotLocalDisk},
		{"FUSE", fileSystem(0x65735546, nil), wire.NotLocalDisk},
		{"a file system that cannot be told", fileSystem(0, unix.EIO), wire.NotLocalDisk},
		{"bus/ that is a link", link("bus"), wire.UnsafePermissions},
		{"bus/ that is a file", func(t *testing.T, tb *testBroker) {
			remove("bus")(t, tb)
			if err := os.WriteFile(filepath.Join(tb.root, "bus"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, wire.UnsafePermissions},
		{"bus/ that others may write", mode("bus", 0o720), wire.UnsafePermissions},
		{"bus/ that others may enter", mode("bus", 0o701), wire.UnsafePermissions},
		{"no bus/", remove("bus"), wire.StoreMissing},
		{"no store", remove("bus/bus.sqlite"), wire.StoreMissing},
		{"a store that is a link", link("bus/bus.sqlite"), wire.UnsafePermissions},
		{"a store that others may read", mode("bus/bus.sqlite", 0o644), wire.UnsafePermissions},
		{"a stale lock", file(lockName, `{"pid":1}`), wire.WriterLocked},
		{"an empty lock", file(lockName, ""), wire.WriterLocked},
		{"a lock that is a link", link("bus/" + lockName), wire.WriterLocked},
		{"a stale bus socket", file(busSocketName, ""), wire.SocketExists},
		{"a stale human socket", file(humanSocketName, ""), wire.SocketExists},
		{"a bus socket that is a link", link("bus/" + busSocketName), wire.SocketExists},
		{"a human socket that is a link", link("bus/" + humanSocketName), wire.SocketExists},

		{"a business under another id", config(func(c *Config) { c.Businesses["other"] = c.Businesses["acme"] }), wire.InvalidConfig},
		{"a business with a bad id", config(func(c *Config) {
			b := c.Businesses["acme"]
			b.ID = "Acme"
			c.Businesses["Acme"] = b
		}), wire.InvalidConfig},
		{"a business without a human", business(func(b *Business) { b.Human = "" }), wire.InvalidConfig},
		{"an arbiter that is no role", business(func(b *Business) { b.Arbiters.Technical = "nobody" }), wire.InvalidConfig},
		{"a launcher that is no role", business(func(b *Business) { b.Launch.By = "nobody" }), wire.InvalidConfig},
		{"an instance that is no role", business(func(b *Business) { b.Launch.Instances = []wire.Role{"nobody"} }), wire.InvalidConfig},
		{"a launcher among the instances", business(func(b *Business) { b.Launch.Instances = []wire.Role{"chief"} }), wire.InvalidConfig},
		{"a role named human", business(func(b *Business) { b.Roles["human"] = b.Roles["dev"] }), wire.InvalidConfig},
		{"a role named tester", business(func(b *Business) { b.Roles["tester"] = b.Roles["dev"] }), wire.InvalidConfig},
		{"a role with a bad name", business(func(b *Business) { b.Roles["_bus"] = b.Roles["dev"] }), wire.InvalidConfig},
		{"a role without authority", role(func(r *Role) { r.Authority = nil }), wire.InvalidConfig},
		{"a role without definition", role(func(r *Role) { r.Definition = "" }), wire.InvalidConfig},
		{"a role that grants a hard wait", role(func(r *Role) { r.Authority = &Authority{CrossRole: []string{"spend"}} }), wire.InvalidConfig},
		{"a role that grants what nobody knows", role(func(r *Role) { r.Authority = &Authority{WithinRole: []string{"fly"}} }), wire.InvalidConfig},
		{"a reader of an unknown business", config(func(c *Config) { c.Readers = []wire.Business{"nowhere"} }), wire.InvalidConfig},
		{"a repository root that is relative", config(func(c *Config) { c.RepoRoots = []string{"src"} }), wire.InvalidConfig},
		{"a launch that cannot be bound", func(_ *testing.T, tb *testBroker) {
			bad := tb.record("acme", "rev")
			bad.StartTime++
			tb.config.Launches = []LaunchRecord{tb.record("acme", "dev"), bad}
		}, wire.LaunchMismatch},
		{"a program that is missing", func(_ *testing.T, tb *testBroker) { tb.options.Executable = "/nowhere/mosaic" }, wire.InvalidConfig},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tb := prepareTestBroker(t)
			var log bytes.Buffer
			tb.options.Log = slog.New(slog.NewTextHandler(&log, nil))
			c.spoil(t, tb)
			before := listing(t, filepath.Dir(tb.root))
			_, _, err := Start(t.Context(), tb.config, tb.options)
			refusal := refusedWith(t, "start", nil, err, c.code)
			if text := refusal.Error(); strings.Contains(text, "/") {
				t.Errorf("the refusal says %q", text)
			}
			if diff := cmp.Diff(before, listing(t, filepath.Dir(tb.root))); diff != "" {
				t.Errorf("the refused start changed files (-before +after):\n%s", diff)
			}
		})
	}
}

// Nobody's data root is opened for another user, whoever may read it.
//
// proves: BUS-BOOT-19
func TestADataRootOfAnotherUserIsRefused(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "root")
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := openDataRoot(root, os.Geteuid()+1, nil)
	refusedWith(t, "another user's data root", nil, err, wire.DataRootUnsafe)
}

// proves: BUS-BOOT-15 BUS-OPEN-15
func TestOrdinaryFileSystemsAreLocal(t *testing.T) {
	t.Parallel()
	for name, magic := range map[string]int64{
		"ext4": 0xef53, "xfs": 0x58465342, "btrfs": 0x9123683e, "tmpfs": 0x01021994, "overlay": 0x794c7630, "zfs": 0x2fc12fc1,
	} {
		if err := checkLocal(nil, func(*os.File) (int64, error) { return magic, nil }); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A second broker is refused while the first runs, and the first goes on.
//
// proves: BUS-BOOT-02 BUS-BOOT-55
func TestASecondBrokerIsRefused(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev := tb.holder("dev")
	_, _, err := Start(t.Context(), tb.config, tb.options)
	refusedWith(t, "second broker", nil, err, wire.WriterLocked)
	tb.do(dev, "role.release", nil)
}

// A broker removes no lock and no socket but its own.
//
// proves: BUS-BOOT-48
func TestCloseRemovesOnlyItsOwn(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	theirs := []string{lockName, busSocketName}
	for _, name := range theirs {
		path := filepath.Join(tb.root, busName, name)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("another's"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_ = tb.Close() // what it says about the lock is the store's business
	for _, name := range theirs {
		if data, err := os.ReadFile(filepath.Join(tb.root, busName, name)); err != nil || string(data) != "another's" {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
}

// A data root whose path is too long for a socket has its sockets elsewhere,
// and the reply says where.
//
// proves: BUS-OPEN-11
func TestALongDataRootHasItsSocketsElsewhere(t *testing.T) {
	tb := prepareTestBroker(t)
	long := filepath.Join(t.TempDir(), strings.Repeat("d", 120))
	if err := os.Rename(tb.root, long); err != nil {
		t.Fatal(err)
	}
	tb.root, tb.config.DataRoot = long, long
	short, err := os.MkdirTemp("", "m")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(short) })
	t.Setenv("XDG_RUNTIME_DIR", short)
	tb.start()
	if !strings.HasPrefix(tb.reply.Path, filepath.Join(short, "mosaic-")) {
		t.Errorf("path %s", tb.reply.Path)
	}
	for _, name := range []string{busSocketName, humanSocketName} {
		if info, err := os.Lstat(filepath.Join(tb.reply.Path, name)); err != nil || info.Mode() != fs.ModeSocket|0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if err := tb.Close(); err != nil {
		t.Fatal(err)
	}
	if left := listing(t, short); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

// Several brokers live in one process, each on its own root; and a broker may
// be closed twice.
//
// proves: BUS-BOOT-26
func TestSeveralBrokersInOneProcess(t *testing.T) {
	t.Parallel()
	one, two := newTestBroker(t), newTestBroker(t)
	dev := one.holder("dev")
	two.holder("dev")
	two.refused(session{from: busSocket, proof: dev.proof}, "role.release", nil, wire.UnknownCapability)
	if err := two.Close(); err != nil {
		t.Fatal(err)
	}
	if err := two.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-two.Done():
	default:
		t.Error("a closed broker is not done")
	}
	if err := two.Err(); err != nil {
		t.Errorf("a closed broker says %v", err)
	}
	one.do(dev, "role.release", nil)
}

// No capability works after a restart; the host hands out new ones, one for
// each launch and reader of the boot.
//
// proves: BUS-BOOT-42 BUS-BOOT-43 BUS-BOOT-44 BUS-BOOT-53 BUS-CTL-21 BUS-BOOT-31 BUS-BOOT-30
func TestCapabilitiesEndWithTheBroker(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t, func(c *Config, _ *Options) { c.Readers = []wire.Business{"acme", "globex"} })
	dev := tb.holder("dev")
	reader := tb.reader()
	tb.config.Launches = []LaunchRecord{dev.record, tb.record("acme", "rev")}
	tb.restart()
	if len(tb.reply.Launches) != 2 || tb.reply.Launches[0].Run != dev.run || tb.reply.Launches[0].Business != "acme" {
		t.Fatalf("launches %+v", tb.reply.Launches)
	}
	if len(tb.reply.Readers) != 2 || tb.reply.Readers[1].Business != "globex" {
		t.Fatalf("readers %+v", tb.reply.Readers)
	}
	for _, old := range []session{dev, reader} {
		tb.refused(old, "agents", nil, wire.UnknownCapability)
	}
	dev.proof.Cap = tb.reply.Launches[0].Cap
	tb.do(dev, "agents", nil)
	tb.do(tb.reader(), "agents", nil)
}

// A broker that has lost a socket stops by itself and says why.
func TestABrokerStopsWhenASocketIsLost(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	tb.broken <- syscall.EBADF
	<-tb.Done()
	refusedWith(t, "a lost socket", nil, tb.Err(), wire.Unavailable)
}

// On another system, where no boot id can be read, a start is refused. This
// system has one.
//
// proves: BUS-BOOT-14
func TestTheBootIsKnown(t *testing.T) {
	t.Parallel()
	b := newBroker(Options{})
	if err := b.identify(); err != nil || b.boot == "" {
		t.Errorf("boot %q, %v", b.boot, err)
	}
	b = newBroker(Options{})
	b.bootID = func() (string, error) { return "", context.Canceled }
	refusedWith(t, "no boot id", nil, b.identify(), wire.UnsupportedPlatform)
}
