package client

import (
	"bytes"
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"mosaicstack.dev/mosaic/internal/wire"
)

// once makes one call over a connection of its own.
func once(ctx context.Context, c call) (wire.Reply, error) {
	conn, err := connect(ctx, c.path, c.deadline)
	if err != nil {
		return wire.Reply{}, failure(Unavailable, err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(c.deadline)
	if ctx.Done() != nil {
		defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	}
	sent, writeErr := conn.Write(c.line)
	// A broker that turns a connection away says why and closes it, which may
	// be what made the write fail.
	reply, err := readReply(newLineReader(conn))
	switch {
	case CodeOf(err) == ResponseTooLarge:
		return wire.Reply{}, err
	case err == nil && answers(reply, c.id):
		return reply, nil
	case err == nil:
		err = errors.New("the reply belongs to another request")
	}
	if writeErr != nil {
		err = writeErr
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if sent == 0 && writeErr != nil {
		return wire.Reply{}, failure(Unavailable, err)
	}
	return wire.Reply{}, failure(OutcomeUnknown, err)
}

// answers reports whether a reply is that of request id. A refusal before the
// request was read carries no id.
func answers(r wire.Reply, id int64) bool {
	if r.ID == nil {
		return !r.OK
	}
	return *r.ID == id
}

// connect opens a connection. A full queue of the listening socket is waited
// for: nothing is sent by that, and the kernel would make a blocking connect
// wait as well.
func connect(ctx context.Context, path string, deadline time.Time) (*net.UnixConn, error) {
	address := &net.UnixAddr{Name: path, Net: "unix"}
	for wait := time.Millisecond; ; wait = min(2*wait, 16*time.Millisecond) {
		conn, err := net.DialUnix("unix", nil, address)
		if !errors.Is(err, syscall.EAGAIN) {
			return conn, err
		}
		if !time.Now().Add(wait).Before(deadline) {
			return nil, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		}
	}
}

// lineReader reads lines of at most MaxReply bytes with their newline.
type lineReader struct {
	conn   net.Conn
	buffer []byte
	from   int // start of the line under way
}

const firstReply = 2 << 10

func newLineReader(conn net.Conn) *lineReader {
	return &lineReader{conn: conn, buffer: make([]byte, 0, firstReply)}
}

// next returns the next line without its newline, in memory that stays.
func (r *lineReader) next() ([]byte, error) {
	for scanned := r.from; ; {
		if i := bytes.IndexByte(r.buffer[scanned:], '\n'); i >= 0 {
			line := r.buffer[r.from : scanned+i : scanned+i]
			r.from = scanned + i + 1
			if len(line)+1 > wire.MaxReply {
				return nil, wire.Refuse(ResponseTooLarge)
			}
			return line, nil
		}
		if len(r.buffer)-r.from >= wire.MaxReply {
			return nil, wire.Refuse(ResponseTooLarge)
		}
		scanned = len(r.buffer)
		if scanned == cap(r.buffer) {
			scanned -= r.from
			r.move()
		}
		n, err := r.conn.Read(r.buffer[len(r.buffer):cap(r.buffer)])
		r.buffer = r.buffer[:len(r.buffer)+n]
		if err != nil {
			return nil, err
		}
	}
}

// move takes the line under way to a larger buffer; the old one belongs to the
// lines that were handed out.
func (r *lineReader) move() {
	rest := r.buffer[r.from:]
	r.buffer = append(make([]byte, 0, max(firstReply, 2*len(rest))), rest...)
	r.from = 0
}

func readReply(r *lineReader) (wire.Reply, error) {
	line, err := r.next()
	if err != nil {
		return wire.Reply{}, err
	}
	return wire.ParseReply(line)
}
