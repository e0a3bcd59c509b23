package broker

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/proc"
	"mosaicstack.dev/mosaic/internal/wire"
)

// Options are what the trusted host supplies in process. The zero value serves
// every well-formed harness name, no specs, and the real process table.
type Options struct {
	// HarnessOn says whether the organization file switches a harness on for
	// a business now; asked at each binding (BUS-CTL-33, 34). nil: all are.
	HarnessOn func(b wire.Business, harness string) bool
	// ClaimRevoked is told of a run whose claim was revoked, once that is
	// durable, so that the launcher can stop a run that stays (BUS-OPEN-18).
	// It is called on a request's goroutine and must not wait. nil: nobody is.
	ClaimRevoked func(b wire.Business, run wire.Run)
	// Specs reads committed specs for cited raises; nil refuses citations
	// with project-not-found.
	Specs SpecReader
	// Processes is the process table; nil means the real one.
	Processes proc.Table
	// Executable is the path of the program whose processes can prove a human
	// (device and inode are compared); "" means the broker's own (BUS-OPEN-101).
	Executable string
	// Log receives what operators need; never a capability, nonce or body.
	// nil discards it.
	Log *slog.Logger
	// Store adjusts the store; the zero value is what production uses.
	Store evidence.Options

	// fileSystem is the type of the file system under an open directory; nil
	// asks the kernel.
	fileSystem func(directory *os.File) (int64, error)
}

// Spec is the committed spec of a project as of now.
type Spec struct {
	Commit    string // the last commit that changed the file, full id
	Confirmed bool   // its author name is the business's human
}

// SpecReader reads a project's committed spec. It may wait for git and is
// never called inside a transaction (BUS-PROTO-36). Errors are *wire.Error
// with the project reader's codes (BUS-OPEN-121).
type SpecReader interface {
	Spec(ctx context.Context, b wire.Business, project string) (Spec, error)
}

// Broker is a running broker, embedded in the trusted host's process. The
// methods here and in control.go, bind.go, end.go and human.go are trusted
// calls, never socket verbs.
type Broker struct {
	// Fixed by Start.
	options    Options
	log        *slog.Logger
	processes  proc.Table
	bootID     func() (string, error)
	boot       string    // of the machine
	uid        int       // of this process
	executable proc.File // of the program that proves a human
	businesses map[wire.Business]*Business
	store      *evidence.Store
	sessions   *registry
	undo       undoing // gives back what Start took, in reverse

	// lifecycle lets one run be bound or ended at a time. It is taken before
	// a transaction and before the registry's own lock.
	lifecycle sync.Mutex

	servers  [2]wire.Server // of bus.sock and human.sock
	serving  sync.WaitGroup // their Serve calls
	watching sync.WaitGroup // watch
	broken   chan error     // a listener that failed for good
	stopping chan struct{}  // closed when stop has begun
	once     sync.Once      // stop
	done     chan struct{}  // closed when everything is given back
	err      error          // why it stopped by itself; set before done is closed
	closeErr error          // what could not be given back; likewise
}

// Start boots a broker: checks the data root, takes the writer lock, opens the
// store, binds the launches, listens on bus.sock and human.sock. Errors are
// *wire.Error with the start codes of BUS-OPEN-14; nothing is changed then.
func Start(ctx context.Context, c Config, o Options) (*Broker, BootReply, error) {
	b := newBroker(o)
	reply, err := b.start(ctx, c)
	if err != nil {
		_ = b.undo.all()
		return nil, BootReply{}, b.public(err)
	}
	return b, reply, nil
}

func newBroker(o Options) *Broker {
	b := &Broker{
		options: o, log: o.Log, processes: o.Processes, bootID: proc.BootID, uid: os.Geteuid(),
		businesses: map[wire.Business]*Business{}, sessions: newRegistry(),
		broken: make(chan error, 2), stopping: make(chan struct{}), done: make(chan struct{}),
	}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	if b.processes == nil {
		b.processes = proc.System()
	}
	return b
}

// start takes one thing after the other and notes how to give each back.
func (b *Broker) start(ctx context.Context, c Config) (BootReply, error) {
	if err := b.identify(); err != nil {
		return BootReply{}, err
	}
	root, err := openDataRoot(c.DataRoot, b.uid, b.options.fileSystem)
	if err != nil {
		return BootReply{}, err
	}
	b.undo.add(root.Close)
	bus, made, err := openBusDirectory(root, b.uid)
	if made {
		b.undo.onRefusal(func() error { return os.Remove(bus) })
	}
	if err != nil {
		return BootReply{}, err
	}
	if err := b.openStore(ctx, bus); err != nil {
		return BootReply{}, err
	}
	if err := b.configure(c); err != nil {
		return BootReply{}, err
	}
	// Listening comes before binding, which writes evidence: a socket that is
	// in the way must have changed nothing. Nobody is answered before serve.
	path, sockets, err := b.listen(bus)
	if err != nil {
		return BootReply{}, err
	}
	launches, err := b.bind(ctx, c.Launches)
	if err != nil {
		return BootReply{}, err
	}
	readers := b.bindReaders(c.Readers)
	b.undo.started()
	b.serve(sockets)
	return BootReply{Path: path, Launches: launches, Readers: readers}, nil
}

// identify finds out what this process and this boot of the machine are.
func (b *Broker) identify() (err error) {
	if b.boot, err = b.bootID(); err != nil {
		return wire.Refuse(wire.UnsupportedPlatform)
	}
	b.executable, err = executable(b.options.Executable)
	if err != nil {
		return wire.Refuse(wire.InvalidConfig)
	}
	return nil
}

// openStore takes the writer lock and opens the store under it.
func (b *Broker) openStore(ctx context.Context, bus string) error {
	lock, err := evidence.AcquireLock(filepath.Join(bus, lockName))
	if err != nil {
		return err
	}
	b.undo.add(lock.Release)
	if b.store, err = evidence.Open(ctx, filepath.Join(bus, storeName), b.options.Store); err != nil {
		return err
	}
	b.undo.add(b.store.Close)
	return nil
}

// configure takes over the validated businesses.
func (b *Broker) configure(c Config) error {
	if err := c.validate(); err != nil {
		return err
	}
	for id, business := range c.Businesses {
		b.businesses[id] = &business
	}
	return nil
}

func (b *Broker) bindReaders(readers []wire.Business) []ReaderCap {
	caps := make([]ReaderCap, len(readers))
	for i, id := range readers {
		caps[i] = ReaderCap{Business: id, Cap: b.sessions.addReader(b.businesses[id])}
	}
	return caps
}

// listen makes both sockets, in the directory whose path is short enough.
func (b *Broker) listen(bus string) (string, [2]*wire.Socket, error) {
	var sockets [2]*wire.Socket
	dir, err := wire.SocketDir(bus)
	if err != nil {
		return "", sockets, err
	}
	if dir != bus {
		b.undo.add(func() error { return removeIfEmpty(dir) })
		forget, err := wire.RecordSocketDir(bus, dir)
		if err != nil {
			return "", sockets, err
		}
		b.undo.add(forget)
	}
	for i, name := range [...]string{busSocket: busSocketName, humanSocket: humanSocketName} {
		if sockets[i], err = wire.Listen(filepath.Join(dir, name)); err != nil {
			return "", sockets, err
		}
		b.undo.add(func() error {
			_ = sockets[i].Close() // closed by the server already, unless it never served
			return sockets[i].Remove()
		})
	}
	return dir, sockets, nil
}

// removeIfEmpty removes a directory unless something else is in it.
func removeIfEmpty(dir string) error {
	if err := os.Remove(dir); err != nil && !errors.Is(err, unix.ENOTEMPTY) {
		return err
	}
	return nil
}

// serve answers both sockets until stop, and watches over the store. Each
// socket has limits of its own: however many runs crowd one, the person still
// gets through at the other.
func (b *Broker) serve(sockets [2]*wire.Socket) {
	for i := range b.servers {
		b.servers[i].Log = b.log
		b.servers[i].Limit = requestLimit
		b.servers[i].MaxLine = longestRequest
		b.servers[i].Handler = func(ctx context.Context, peer wire.Peer, r wire.Request) (any, error) {
			return b.answer(ctx, socket(i), peer, r)
		}
		b.servers[i].Refused = func(ctx context.Context, peer wire.Peer, r wire.Request, refusal *wire.Error) error {
			return b.refuseLine(ctx, socket(i), peer, r, refusal)
		}
		b.serving.Go(func() {
			if err := b.servers[i].Serve(sockets[i].UnixListener); !errors.Is(err, wire.ErrServerClosed) {
				b.broken <- err
			}
		})
	}
	b.watching.Go(b.watch)
}

// watch stops the broker when it cannot go on.
func (b *Broker) watch() {
	select {
	case <-b.store.Failed():
		b.log.Error("the store failed", "error", b.store.Err())
		b.stop(wire.Refuse(wire.StoreFailed))
	case err := <-b.broken:
		b.log.Error("a socket failed", "error", err)
		b.stop(wire.Refuse(wire.Unavailable))
	case <-b.stopping:
	}
}

// closeTimeout is how long requests under way may take to finish at the end.
const closeTimeout = 10 * time.Second

// stop ends the broker once, for the reason given or on request.
func (b *Broker) stop(reason error) {
	b.once.Do(func() {
		close(b.stopping)
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		for i := range b.servers {
			if err := b.servers[i].Shutdown(ctx); err != nil {
				b.log.Warn("requests were cut off at the end", "error", err)
			}
		}
		b.serving.Wait()
		b.err = reason
		if err := b.undo.all(); err != nil {
			b.log.Error("not everything could be closed", "error", err)
			b.closeErr = wire.Refuse(wire.StorageUnavailable)
		}
		close(b.done)
	})
}

// Done is closed when the broker has stopped, by Close or because it could not
// go on; Err then returns nil or the *wire.Error to exit 2 with.
func (b *Broker) Done() <-chan struct{} { return b.done }

// Err says why a stopped broker stopped: nil after Close and before the end,
// store-failed, or unavailable when a socket was lost.
func (b *Broker) Err() error {
	select {
	case <-b.done:
		return b.err
	default:
		return nil
	}
}

// Close stops listening, lets requests under way finish, closes the store and
// removes the writer lock and sockets that this broker owns (BUS-BOOT-45, 48).
// It may be called more than once. storage-unavailable when something could
// not be given back.
func (b *Broker) Close() error {
	b.stop(nil)
	<-b.done
	b.watching.Wait()
	return b.closeErr
}

// undoing gives back in reverse order what was taken one after the other.
type undoing struct {
	steps []undoStep
}

type undoStep struct {
	do        func() error
	onRefusal bool // done only when the start was refused
}

func (u *undoing) add(do func() error)       { u.steps = append(u.steps, undoStep{do: do}) }
func (u *undoing) onRefusal(do func() error) { u.steps = append(u.steps, undoStep{do, true}) }

// started forgets the steps that only a refused start needs.
func (u *undoing) started() {
	u.steps = slices.DeleteFunc(u.steps, func(s undoStep) bool { return s.onRefusal })
}

// all does every step, also after one that fails.
func (u *undoing) all() error {
	var failed error
	for _, step := range slices.Backward(u.steps) {
		failed = errors.Join(failed, step.do())
	}
	u.steps = nil
	return failed
}

// executable names the program whose processes can prove a human.
func executable(path string) (proc.File, error) {
	if path == "" {
		return proc.System().Executable(os.Getpid())
	}
	var s unix.Stat_t
	if err := unix.Stat(path, &s); err != nil {
		return proc.File{}, err
	}
	return proc.File{Device: s.Dev, Inode: s.Ino}, nil
}
