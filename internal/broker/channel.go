package broker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"mosaicstack.dev/mosaic/internal/wire"
)

const (
	// maxControlLine is the longest line of the control channel (BUS-OPEN-09).
	maxControlLine = 1 << 20
	// maxControlOps are worked on at a time; the channel is not read further
	// until one of them is answered.
	maxControlOps = 64
	// writeTimeout is how long a host may leave a reply unread once the
	// channel's buffer is full.
	writeTimeout = 10 * time.Second
)

// What ServeControl returns.
const (
	exitClosed = 0 // closed as asked, or because the context ended
	exitFailed = 2 // the start, the protocol, the channel or the store failed
)

// errProtocol is the end of a host that does not speak the protocol: the
// channel cannot be trusted any further (BUS-BOOT-51).
var errProtocol = wire.Refuse(wire.ProtocolFailed)

// ServeControl runs a broker for a host at the other end of conn (DESIGN.md 6):
// newline-delimited JSON, boot first and once, then ops in any number until
// close, which it answers when the broker has closed. It returns the exit code
// of the process: 0 after close and when ctx ends (as by SIGTERM), 2 when the
// start is refused, the protocol is broken, the channel is lost or the store
// fails. conn is closed then. It writes static codes only, to conn only.
func ServeControl(ctx context.Context, conn net.Conn, o Options) int {
	c := &channel{conn: conn, lines: bufio.NewReaderSize(conn, maxControlLine+1)}
	defer conn.Close()
	defer context.AfterFunc(ctx, c.interrupt)()
	exit, last := c.serve(ctx, o)
	if last != nil {
		c.send(*last)
	}
	return exit
}

// channel is the control channel of one broker.
type channel struct {
	conn  net.Conn
	lines *bufio.Reader
	mu    sync.Mutex // serializes replies
	ops   sync.WaitGroup
}

// controlReply is one line to the host. ID and Seq repeat what the request had.
type controlReply struct {
	ID     *int64       `json:"id,omitempty"`
	Seq    *int64       `json:"seq,omitempty"`
	OK     bool         `json:"ok"`
	Result any          `json:"result,omitempty"`
	Launch *BoundLaunch `json:"launch,omitempty"` // of bindLaunch, in place of a result
	Error  wire.Code    `json:"error,omitempty"`
	Field  string       `json:"field,omitempty"`
}

// bootAnswer is the reply to a boot that succeeded (BUS-BOOT-42).
type bootAnswer struct {
	ID  *int64 `json:"id,omitempty"`
	Seq *int64 `json:"seq,omitempty"`
	OK  bool   `json:"ok"`
	BootReply
}

// interrupt makes the read under way, and every later one, return.
func (c *channel) interrupt() { _ = c.conn.SetReadDeadline(time.Unix(1, 0)) }

// serve returns the exit code and the last line to send, after everything is
// closed.
func (c *channel) serve(ctx context.Context, o Options) (exit int, last *controlReply) {
	boot, err := c.next()
	if err != nil {
		return c.ended(ctx, err)
	}
	b, reply, err := startFor(ctx, boot, o)
	if err != nil && ctx.Err() != nil {
		return exitClosed, nil
	}
	if err != nil {
		return exitFailed, boot.refusal(err)
	}
	stopped := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-b.Done():
			c.interrupt()
		case <-stopped:
		}
	})
	c.send(bootAnswer{ID: boot.id, Seq: boot.seq, OK: true, BootReply: reply})
	exit, last = c.run(ctx, b)
	close(stopped)
	watching.Wait()
	return exit, last
}

// startFor starts the broker that a boot message asks for.
func startFor(ctx context.Context, boot controlRequest, o Options) (*Broker, BootReply, error) {
	if boot.fault != nil {
		return nil, BootReply{}, boot.fault
	}
	var args struct {
		Config json.RawMessage `json:"config"`
	}
	if boot.op != "boot" || wire.Decode(boot.args, &args) != nil {
		return nil, BootReply{}, errProtocol
	}
	var config Config
	if wire.Decode(args.Config, &config) != nil {
		return nil, BootReply{}, wire.Refuse(wire.InvalidConfig)
	}
	return Start(ctx, config, o)
}

// run serves ops until there is a reason to end, and closes the broker.
func (c *channel) run(ctx context.Context, b *Broker) (int, *controlReply) {
	slots := make(chan struct{}, maxControlOps)
	for {
		request, err := c.next()
		switch {
		case err == nil && request.op == "boot":
			err = errProtocol
		case err == nil && request.op == "close" && request.none():
			return c.closeAs(b, request)
		}
		if err != nil {
			c.ops.Wait()
			closing := b.Close()
			if err := b.Err(); err != nil {
				return exitFailed, controlRequest{}.refusal(err)
			}
			if closing != nil {
				return exitFailed, controlRequest{}.refusal(closing)
			}
			return c.ended(ctx, err)
		}
		slots <- struct{}{}
		c.ops.Go(func() {
			// What the host asked before a signal is finished.
			c.send(request.perform(context.WithoutCancel(ctx), b))
			<-slots
		})
	}
}

// closeAs ends the broker as the host asked, after the ops under way.
func (c *channel) closeAs(b *Broker, request controlRequest) (int, *controlReply) {
	c.ops.Wait()
	if err := b.Close(); err != nil {
		return exitFailed, request.refusal(err)
	}
	done := request.result(struct{}{})
	return exitClosed, &done
}

// ended tells the ends of a channel apart: asked for from inside, a host that
// broke the protocol and is told so, and a channel that is lost (BUS-BOOT-49).
func (c *channel) ended(ctx context.Context, err error) (int, *controlReply) {
	switch {
	case ctx.Err() != nil:
		return exitClosed, nil
	case errors.Is(err, errProtocol):
		return exitFailed, controlRequest{}.refusal(err)
	}
	return exitFailed, nil
}

// next reads one request. errProtocol for a line that is no request at all.
func (c *channel) next() (controlRequest, error) {
	line, err := c.lines.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return controlRequest{}, errProtocol
	case errors.Is(err, io.EOF) && len(line) > 0:
		return controlRequest{}, io.ErrUnexpectedEOF
	case err != nil:
		return controlRequest{}, err
	}
	return parseControl(line)
}

// send writes one line. A host that does not take it is lost: the next read
// returns, and the broker ends as for a closed channel.
func (c *channel) send(reply any) {
	line, err := wire.Encode(reply)
	if err != nil {
		line = []byte(`{"ok":false,"error":"` + string(wire.ProtocolFailed) + `"}`)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	if _, err := c.conn.Write(append(line, '\n')); err != nil {
		c.interrupt()
	}
}
