package wire

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"syscall"
	"time"
)

// Handler answers one request. The result is anything that Encode takes. An
// error that is or wraps an *Error is answered with its code and field; any
// other is logged and answered with outcome-unknown, the one code that is
// true whatever the handler did before it failed. The context ends when a
// Shutdown runs out of time, not when the client leaves: what a client began
// is finished.
type Handler func(ctx context.Context, peer Peer, r Request) (result any, err error)

// Server serves the request lines of one socket (DESIGN.md 5). Set its fields
// before the first Serve; the zero value of each but Handler has a meaning.
//
// Each connection is one goroutine while it is idle, and one more for each
// request under way. Nothing that a client does or leaves undone makes another
// client wait.
type Server struct {
	Handler Handler
	// Refused is told of a line that is refused before it reaches the Handler:
	// not a valid request, or over its verb's limit. r holds what can be told
	// of it (see ParseRequest); it returns what to answer, the refusal or an
	// error in its place. nil answers the refusal.
	Refused func(ctx context.Context, peer Peer, r Request, refusal *Error) error
	// Limit is a verb's request limit in bytes without the newline; nil or 0
	// mean MaxRequest (BUS-PROTO-30, 31). MaxLine is the largest of them.
	Limit   func(verb string) int
	MaxLine int
	// MaxConnections may be open; one more gets busy (BUS-OPEN-28).
	// 0 means MaxConnections of the protocol.
	MaxConnections int
	// FairShare of them are a capability's own, by its first request. When all
	// are taken, one that has less takes the place of an idle connection of one
	// that has more; so no run keeps the others out. Connections that have not
	// shown a capability count as one. 0 means 128.
	FairShare int
	// MaxInFlight requests of one connection are handled at a time; the next
	// is read when one of them is answered. 0 means 32.
	MaxInFlight int
	// LineTimeout is how long the first line, and any line once begun, may
	// take to be complete. 0 means five seconds.
	LineTimeout time.Duration
	// WriteTimeout is how long a client may leave a reply unread. 0 means
	// five seconds.
	WriteTimeout time.Duration
	// Log receives failures of handlers; nil means slog.Default().
	Log *slog.Logger

	uid int // the user that may connect, plus one; 0 means this process's

	mu        sync.Mutex
	closed    bool
	stopping  chan struct{}
	listeners map[*net.UnixListener]struct{}
	conns     map[*conn]struct{}
	owned     map[owner]int  // open connections by capability
	waiting   chan struct{}  // one for each connection that waits for a place
	done      sync.WaitGroup // Serve calls and connections
	ctx       context.Context
	cancel    context.CancelFunc
}

// ErrServerClosed is what Serve returns after Shutdown.
var ErrServerClosed = errors.New("wire: server closed")

// start makes what the zero value lacks; the caller holds mu.
func (s *Server) start() {
	if s.stopping != nil {
		return
	}
	s.stopping = make(chan struct{})
	s.listeners = map[*net.UnixListener]struct{}{}
	s.conns = map[*conn]struct{}{}
	s.owned = map[owner]int{}
	s.waiting = make(chan struct{}, maxWaiting)
	s.ctx, s.cancel = context.WithCancel(context.Background())
}

// Serve accepts connections until Shutdown, when it returns ErrServerClosed,
// or until the listener fails for good. It survives a lack of descriptors. It
// may run for several listeners at once, which then share the limits.
func (s *Server) Serve(l *net.UnixListener) error {
	l.SetUnlinkOnClose(false) // the path may be a successor's by then
	if !s.track(l) {
		_ = l.Close()
		return ErrServerClosed
	}
	defer s.done.Done()
	wait := time.Duration(0)
	for {
		c, err := l.AcceptUnix()
		switch {
		case err == nil:
			wait = 0
			s.admit(c)
		case s.isStopping():
			return ErrServerClosed
		case isShortage(err):
			wait = min(max(2*wait, 5*time.Millisecond), 250*time.Millisecond)
			s.log().Warn("socket cannot accept", "error", err, "again", wait)
			s.pause(wait)
		default:
			return err
		}
	}
}

func (s *Server) track(l *net.UnixListener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.start()
	if s.closed {
		return false
	}
	s.listeners[l] = struct{}{}
	s.done.Add(1)
	return true
}

// isShortage tells a lack of resources, which passes, from a broken listener.
func isShortage(err error) bool {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

func (s *Server) pause(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.stopping:
	}
}

func (s *Server) isStopping() bool {
	select {
	case <-s.stopping:
		return true
	default:
		return false
	}
}

// admit serves a connection, or refuses it in one line.
func (s *Server) admit(c *net.UnixConn) {
	peer, err := PeerOf(c)
	switch {
	case err != nil:
		s.log().Error("socket peer cannot be told", "error", err)
		_ = c.Close()
	case peer.UID != s.user():
		s.log().Warn("socket peer is another user", "uid", peer.UID, "pid", peer.PID)
		s.turnAway(c, PeerRefused)
	default:
		served := newConn(s, c, peer)
		if !s.enter(served, false) {
			s.queueUp(served)
			return
		}
		go served.run()
	}
}

// queueUp gives a connection that found no place the chance to show whose it
// is, which takes its first line; it is not served before it has a place.
func (s *Server) queueUp(c *conn) {
	select {
	case s.waiting <- struct{}{}:
	default:
		s.turnAway(c.socket, Busy)
		return
	}
	go func() {
		placed := c.peekCapability() && s.makeRoom(c)
		<-s.waiting
		if !placed {
			s.turnAway(c.socket, Busy)
			return
		}
		c.run()
	}()
}

// makeRoom ends an idle connection of the one that has most, for one whose
// capability has less than its share.
func (s *Server) makeRoom(c *conn) bool {
	share := orDefault(s.FairShare, defaultShare)
	s.mu.Lock()
	if s.closed || s.owned[c.claims] >= share {
		s.mu.Unlock()
		return false
	}
	var most *conn
	for other := range s.conns {
		if len(other.slots) == 0 && s.owned[other.owner] > share && (most == nil || s.owned[other.owner] > s.owned[most.owner]) {
			most = other
		}
	}
	if most != nil {
		s.drop(most)
	}
	s.mu.Unlock()
	if most != nil {
		most.stopReading()
	}
	return s.enter(c, most != nil)
}

// drop takes the connection out of the count; the caller holds mu.
func (s *Server) drop(c *conn) {
	if _, in := s.conns[c]; !in {
		return
	}
	delete(s.conns, c)
	if s.owned[c.owner]--; s.owned[c.owner] == 0 {
		delete(s.owned, c.owner)
	}
}

func (s *Server) user() int {
	if s.uid != 0 {
		return s.uid - 1
	}
	return os.Geteuid()
}

// turnAway never waits: the buffer of a new connection has room for a line.
func (s *Server) turnAway(c *net.UnixConn, code Code) {
	line, _ := appendReply(nil, nil, nil, Refuse(code))
	_ = c.SetWriteDeadline(time.Now().Add(time.Second))
	_, _ = c.Write(line)
	_ = c.Close()
}

// enter gives the connection a place, if one is free or was made free for it.
func (s *Server) enter(c *conn, reserved bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || !reserved && len(s.conns) >= orDefault(s.MaxConnections, MaxConnections) {
		return false
	}
	s.conns[c] = struct{}{}
	s.owned[c.owner]++
	s.done.Add(1)
	return true
}

func (s *Server) leave(c *conn) {
	s.mu.Lock()
	s.drop(c)
	s.mu.Unlock()
	s.done.Done()
}

// Shutdown stops accepting and reading, lets the requests under way be
// answered, and returns when all is closed. When ctx ends first it cancels the
// handlers' context, cuts every connection and returns ctx.Err() without
// waiting for handlers that do not look at their context. It may be called
// before Serve and more than once.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stop()
	idle := make(chan struct{})
	go func() {
		s.done.Wait()
		close(idle)
	}()
	defer s.cancel()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		s.cancel()
		s.each((*conn).cut)
		return ctx.Err()
	}
}

func (s *Server) stop() {
	s.mu.Lock()
	s.start()
	if !s.closed {
		s.closed = true
		close(s.stopping)
	}
	for l := range s.listeners {
		_ = l.Close()
	}
	s.mu.Unlock()
	s.each((*conn).stopReading)
}

func (s *Server) each(f func(*conn)) {
	s.mu.Lock()
	conns := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		conns = append(conns, c)
	}
	s.mu.Unlock()
	for _, c := range conns {
		f(c)
	}
}

// own gives the connection to the capability of its first request.
func (s *Server) own(c *conn, cap Capability) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, in := s.conns[c]; !in || cap == "" || c.owner != (owner{}) {
		return
	}
	s.drop(c)
	c.owner = ownerOf(cap)
	s.conns[c] = struct{}{}
	s.owned[c.owner]++
}

// answer runs the handler for one line and returns the reply line. A connection
// whose capability nobody gave out is read no further.
func (s *Server) answer(c *conn, line []byte) []byte {
	peer := c.peer
	r, err := ParseRequest(line)
	if err == nil && c.first.CompareAndSwap(false, true) {
		s.own(c, r.Cap)
	}
	if len(line) > s.limit(r.Verb) {
		err = Refuse(RequestTooLarge)
	}
	if err != nil {
		return s.reply(r, nil, s.refused(peer, r, AsError(err)))
	}
	result, err := s.call(peer, r)
	if errors.Is(err, Refuse(UnknownCapability)) {
		c.stopReading()
	}
	return s.reply(r, result, err)
}

func (s *Server) refused(peer Peer, r Request, refusal *Error) error {
	if s.Refused == nil {
		return refusal
	}
	return s.Refused(s.ctx, peer, r, refusal)
}

func (s *Server) limit(verb string) int {
	if s.Limit == nil {
		return MaxRequest
	}
	return orDefault(s.Limit(verb), MaxRequest)
}

func (s *Server) maxLine() int { return max(s.MaxLine, MaxRequest) }

// call runs the handler and turns its panic into an error.
func (s *Server) call(peer Peer, r Request) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log().Error("handler panicked", "verb", r.Verb, "panic", p, "stack", string(debug.Stack()))
			err = Refuse(OutcomeUnknown)
		}
	}()
	return s.Handler(s.ctx, peer, r)
}

func (s *Server) reply(r Request, result any, err error) []byte {
	if err == nil {
		var line []byte
		if line, err = appendReply(make([]byte, 0, usualSize), r.ID, result, nil); err == nil && len(line) > MaxReply {
			err = Refuse(ResponseTooLarge)
		} else if err == nil {
			return line
		}
	}
	var refusal *Error
	if !errors.As(err, &refusal) {
		s.log().Error("handler failed", "verb", r.Verb, "error", err)
		refusal = Refuse(OutcomeUnknown)
	}
	line, _ := appendReply(nil, r.ID, nil, refusal)
	return line
}

func (s *Server) log() *slog.Logger {
	if s.Log != nil {
		return s.Log
	}
	return slog.Default()
}

func orDefault[T int | time.Duration](v, d T) T {
	if v == 0 {
		return d
	}
	return v
}
