package wire

import (
	"bytes"
	"crypto/sha256"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	defaultInFlight = 32
	defaultShare    = 128
	defaultTimeout  = 5 * time.Second
	firstBuffer     = 4 << 10
	// maxWaiting connections may wait for a place at a time, each for as long
	// as patience at the most.
	maxWaiting = 64
	patience   = 250 * time.Millisecond
)

// owner stands for a capability: its hash, zero for none.
type owner [sha256.Size]byte

func ownerOf(cap Capability) owner { return sha256.Sum256([]byte(cap)) }

// conn is one connection: its goroutine reads lines and starts a goroutine for
// each; replies leave in the order in which they become ready.
type conn struct {
	server *Server
	socket *net.UnixConn
	peer   Peer
	owner  owner         // whose share it counts for; under the server's mu
	claims owner         // whose it said it is while it waited for a place
	first  atomic.Bool   // its first request was seen
	slots  chan struct{} // one for each request whose reply is not yet written
	work   sync.WaitGroup

	// The reading side, owned by run.
	buffer  []byte // what was read
	from    int    // start of the line under way in buffer
	scanned int    // from there to here is no newline
	timed   bool   // a read deadline is set

	// The writing side.
	mu      sync.Mutex // protects what follows; never held during a system call
	out     [][]byte   // reply lines that wait for the writer
	writing bool       // a goroutine is the writer now
	broken  bool       // the client cannot be written to any more
}

func newConn(s *Server, socket *net.UnixConn, peer Peer) *conn {
	slots := make(chan struct{}, orDefault(s.MaxInFlight, defaultInFlight))
	return &conn{server: s, socket: socket, peer: peer, slots: slots}
}

// run serves the connection to its end, and the requests under way to theirs.
func (c *conn) run() {
	defer c.server.leave(c)
	c.beginLine()
	for !c.server.isStopping() {
		line, ok := c.readLine()
		if !ok {
			break
		}
		c.slots <- struct{}{}
		if c.isBroken() { // nothing is begun for a client that was cut off
			break
		}
		c.work.Add(1)
		go func() {
			defer c.work.Done()
			c.send(c.server.answer(c, line))
		}()
	}
	c.work.Wait()
	_ = c.socket.Close()
}

// peekCapability reads the first line and leaves it in the buffer. It is false
// when the line does not come soon, is too long, or shows no capability.
func (c *conn) peekCapability() bool {
	_ = c.socket.SetReadDeadline(time.Now().Add(patience))
	c.timed = true
	for {
		if end := bytes.IndexByte(c.buffer, '\n'); end >= 0 {
			_ = c.socket.SetReadDeadline(time.Time{})
			c.timed = false
			// The buffer is read again as a request, so the line is copied.
			r, err := ParseRequest(bytes.Clone(c.buffer[:end]))
			c.claims = ownerOf(r.Cap)
			return err == nil && r.Cap != ""
		}
		if len(c.buffer) > MaxRequest || !c.fill() {
			return false
		}
	}
}

// readLine returns the next line, in memory of its own. It is false at the end
// of the input, after a line that took too long, and after a line over every
// limit, which is refused without reading its rest.
func (c *conn) readLine() ([]byte, bool) {
	for {
		i := bytes.IndexByte(c.buffer[c.scanned:], '\n')
		end := c.scanned + i
		if i < 0 {
			end = len(c.buffer)
		}
		switch {
		case end-c.from > c.server.maxLine():
			c.refuseLine()
			return nil, false
		case i >= 0:
			return c.take(end), true
		}
		c.scanned = end
		if !c.fill() {
			return nil, false
		}
	}
}

func (c *conn) refuseLine() {
	c.slots <- struct{}{}
	line, _ := appendReply(nil, nil, nil, Refuse(RequestTooLarge))
	c.send(line)
}

// take returns the line that ends at end. The last line in the buffer takes the
// buffer with it; others are copied, so that many short lines at once cost no
// more than their bytes.
func (c *conn) take(end int) []byte {
	c.endLine()
	line := c.buffer[c.from:end:end]
	if end+1 == len(c.buffer) {
		c.buffer, c.from, c.scanned = nil, 0, 0
		return line
	}
	c.from, c.scanned = end+1, end+1
	return bytes.Clone(line)
}

// fill reads more bytes. A line that has begun must be complete in time; a
// connection may stay idle between lines.
func (c *conn) fill() bool {
	if len(c.buffer) > c.from {
		c.beginLine()
	}
	if cap(c.buffer) == len(c.buffer) {
		c.makeRoom()
	}
	n, err := c.socket.Read(c.buffer[len(c.buffer):cap(c.buffer)])
	c.buffer = c.buffer[:len(c.buffer)+n]
	return err == nil
}

// makeRoom moves the line under way to a larger buffer.
func (c *conn) makeRoom() {
	line := c.buffer[c.from:]
	c.buffer = append(make([]byte, 0, max(firstBuffer, 2*len(line))), line...)
	c.scanned -= c.from
	c.from = 0
}

// beginLine sets the line's deadline unless it is set.
func (c *conn) beginLine() {
	if !c.timed {
		c.timed = true
		_ = c.socket.SetReadDeadline(time.Now().Add(orDefault(c.server.LineTimeout, defaultTimeout)))
	}
}

func (c *conn) endLine() {
	if c.timed {
		c.timed = false
		_ = c.socket.SetReadDeadline(time.Time{})
	}
}

// send queues a reply line. The first goroutine that finds no writer writes for
// all that come meanwhile, so a slow client holds one goroutine and its own
// replies, no more than it has slots.
func (c *conn) send(line []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out = append(c.out, line)
	if c.writing {
		return
	}
	c.writing = true
	for len(c.out) > 0 {
		batch := c.out
		answered := len(batch)
		c.out = nil
		if !c.broken {
			c.mu.Unlock()
			err := c.write(batch)
			c.mu.Lock()
			c.broken = err != nil
		}
		for range answered {
			<-c.slots
		}
	}
	c.writing = false
}

func (c *conn) isBroken() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.broken
}

// write gives the client a limited time to take the lines, then cuts it off.
func (c *conn) write(batch [][]byte) error {
	_ = c.socket.SetWriteDeadline(time.Now().Add(orDefault(c.server.WriteTimeout, defaultTimeout)))
	var err error
	if len(batch) == 1 {
		_, err = c.socket.Write(batch[0])
	} else {
		buffers := net.Buffers(batch)
		_, err = buffers.WriteTo(c.socket)
	}
	if err != nil {
		_ = c.socket.Close()
	}
	return err
}

// stopReading makes the next read find the end of the input.
func (c *conn) stopReading() { _ = c.socket.CloseRead() }

// cut ends the connection at once.
func (c *conn) cut() { _ = c.socket.Close() }
