package client

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"mosaicstack.dev/mosaic/internal/wire"
)

// keeper holds the connection of a KeepOpen client.
type keeper struct {
	path string

	mu     sync.Mutex // protects what follows; held while connecting
	link   *link      // nil or over: the next call connects
	closed bool
}

var errClosed = errors.New("the client was closed")

func (k *keeper) exchange(ctx context.Context, c call) (wire.Reply, error) {
	l, done, err := k.join(ctx, c)
	if err != nil {
		return wire.Reply{}, failure(Unavailable, err)
	}
	return l.exchange(ctx, c, done)
}

// join registers the call at the connection, a new one when there is none.
func (k *keeper) join(ctx context.Context, c call) (*link, chan answer, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil, nil, errClosed
	}
	if k.link != nil {
		if done, ok := k.link.expect(c.id); ok {
			return k.link, done, nil
		}
	}
	conn, err := connect(ctx, k.path, c.deadline)
	if err != nil {
		return nil, nil, err
	}
	l := &link{conn: conn, ended: make(chan struct{}), waiting: map[int64]chan answer{}}
	k.link = l
	// Before run, so that a broker that turns the connection away tells this
	// call.
	done, _ := l.expect(c.id)
	go l.run()
	return l, done, nil
}

func (k *keeper) close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	if k.link == nil {
		return nil
	}
	err := k.link.conn.Close()
	<-k.link.ended
	if errors.Is(err, net.ErrClosed) { // the link ended by itself
		return nil
	}
	return err
}

// link is one connection that carries several calls. Its goroutine hands each
// reply to the call that waits for it and ends with the connection.
type link struct {
	conn  *net.UnixConn
	ended chan struct{}

	writing sync.Mutex // held while a request is written

	mu      sync.Mutex // protects what follows; may be taken while writing is held
	waiting map[int64]chan answer
	over    bool // nobody deals out replies any more
}

// answer is what ends a call.
type answer struct {
	reply wire.Reply
	err   error
}

// run deals out replies. One that nobody waits for belongs to a call that gave
// up, and is dropped.
func (l *link) run() {
	reader := newLineReader(l.conn)
	for {
		reply, err := readReply(reader)
		if err == nil && reply.ID == nil {
			err = refusalOfAll(reply)
		}
		if err != nil {
			l.end(err)
			return
		}
		if done := l.take(*reply.ID); done != nil {
			done <- answer{reply: reply}
		}
	}
}

// refusalOfAll is why a connection ends after a reply without an id. A broker
// that takes no more connections has read no request of this one.
func refusalOfAll(r wire.Reply) error {
	if r.Error == wire.Busy || r.Error == wire.PeerRefused {
		return wire.Refuse(r.Error)
	}
	return errors.New("a reply belongs to no request")
}

// end tells every waiting call that the link is gone.
func (l *link) end(cause error) {
	_ = l.conn.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	close(l.ended)
	cause = outcome(cause, len(l.waiting))
	for id, done := range l.waiting {
		done <- answer{err: cause}
		delete(l.waiting, id)
	}
}

// outcome is what the end of a link means for the calls under way. A reply
// over the limit can be told to its caller only when nobody else waits.
func outcome(cause error, waiting int) error {
	switch CodeOf(cause) {
	case wire.Busy, wire.PeerRefused:
		return cause
	case ResponseTooLarge:
		if waiting == 1 {
			return cause
		}
	}
	return failure(OutcomeUnknown, cause)
}

// take removes the call that waits for a reply.
func (l *link) take(id int64) chan answer {
	l.mu.Lock()
	defer l.mu.Unlock()
	done := l.waiting[id]
	delete(l.waiting, id)
	return done
}

// expect registers a call; false when the link has ended.
func (l *link) expect(id int64) (chan answer, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return nil, false
	}
	done := make(chan answer, 1) // run and end never wait for a caller
	l.waiting[id] = done
	return done, true
}

func (l *link) exchange(ctx context.Context, c call, done chan answer) (wire.Reply, error) {
	if sent, err := l.write(c); err != nil {
		return l.unsent(done, sent, err)
	}
	timer := time.NewTimer(time.Until(c.deadline))
	defer timer.Stop()
	select {
	case a := <-done:
		return a.reply, a.err
	case <-ctx.Done():
		l.take(c.id)
		return wire.Reply{}, failure(OutcomeUnknown, ctx.Err())
	case <-timer.C:
		l.take(c.id)
		return wire.Reply{}, failure(OutcomeUnknown, context.DeadlineExceeded)
	}
}

func (l *link) write(c call) (sent int, err error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	_ = l.conn.SetWriteDeadline(c.deadline)
	return l.conn.Write(c.line)
}

// unsent ends a link that could not be written to: half a line may be on its
// way. The broker may have said why before it closed, so the reading side ends
// first.
func (l *link) unsent(done chan answer, sent int, cause error) (wire.Reply, error) {
	_ = l.conn.CloseWrite()
	_ = l.conn.SetReadDeadline(time.Now().Add(time.Second))
	a := <-done // the reply, or the end of the link
	if code := CodeOf(a.err); a.err == nil || code == wire.Busy || code == wire.PeerRefused {
		return a.reply, a.err
	}
	if sent == 0 {
		return wire.Reply{}, failure(Unavailable, cause)
	}
	return wire.Reply{}, failure(OutcomeUnknown, cause)
}
