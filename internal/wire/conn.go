package wire

import (
	"bytes"
	"net"
	"sync"
	"time"
)

const (
	defaultInFlight = 32
	defaultTimeout  = 5 * time.Second
	firstBuffer     = 4 << 10
)

// conn is one connection: its goroutine reads lines and starts a goroutine for
// each; replies leave in the order in which they become ready.
type conn struct {
	server *Server
	socket *net.UnixConn
	peer   Peer
	slots  chan struct{} // one for each request whose reply is not yet written
	work   sync.WaitGroup

	// The reading side, owned by run.
	buffer  []byte // what was read and is not yet a line
	scanned int    // bytes at the front of buffer without a newline
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
		c.work.Add(1)
		go func() {
			defer c.work.Done()
			c.send(c.server.answer(c.peer, line))
		}()
	}
	c.work.Wait()
	_ = c.socket.Close()
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
		case end > c.server.maxLine():
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

// take returns the line that ends at end. What follows it moves to a buffer of
// its own, since the line now belongs to its handler.
func (c *conn) take(end int) []byte {
	line, rest := c.buffer[:end:end], c.buffer[end+1:]
	c.buffer, c.scanned = nil, 0
	if len(rest) > 0 {
		c.buffer = append(make([]byte, 0, max(firstBuffer, 2*len(rest))), rest...)
		c.endLine()
		return line
	}
	c.endLine()
	return line
}

// fill reads more bytes. A line that has begun must be complete in time; a
// connection may stay idle between lines.
func (c *conn) fill() bool {
	if len(c.buffer) > 0 {
		c.beginLine()
	}
	if cap(c.buffer) == len(c.buffer) {
		c.buffer = append(make([]byte, 0, max(firstBuffer, 2*cap(c.buffer))), c.buffer...)
	}
	n, err := c.socket.Read(c.buffer[len(c.buffer):cap(c.buffer)])
	c.buffer = c.buffer[:len(c.buffer)+n]
	return err == nil
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
