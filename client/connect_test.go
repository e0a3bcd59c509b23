package client_test

import (
	"bufio"
	"errors"
	"io"
	"iter"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"mosaicstack.dev/mosaic/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fullQueue listens with a queue that has no place left until drain is called,
// which hangs up whoever fills it.
func fullQueue(t *testing.T) (path string, l net.Listener, drain func()) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "s")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), path)
	defer func() { _ = file.Close() }()
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrUnix{Name: path}), unix.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	if l, err = net.FileListener(file); err != nil { // does not listen anew, so the queue stays short
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	var fillers []net.Conn
	drain = func() {
		for _, c := range fillers {
			_ = c.Close()
		}
	}
	t.Cleanup(drain)
	for {
		c, err := net.Dial("unix", path)
		if errors.Is(err, syscall.EAGAIN) {
			return path, l, drain
		}
		if err != nil {
			t.Fatal(err)
		}
		fillers = append(fillers, c)
	}
}

// A broker that is slow to accept is not an absent one.
func TestAFullQueueIsWaitedFor(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, options ...client.Option) {
		path, l, drain := fullQueue(t)
		ended := make(chan error, 1)
		c := newClient(t, path, options...)
		go func() { ended <- c.Call(t.Context(), "v", nil, nil) }()
		var work sync.WaitGroup
		work.Go(func() {
			for conn := range accepted(l) {
				work.Go(func() { // those that only fill the queue never send a line
					defer func() { _ = conn.Close() }()
					if _, err := bufio.NewReader(conn).ReadString('\n'); err == nil {
						_, _ = io.WriteString(conn, `{"id":1,"ok":true,"result":null}`+"\n")
					}
				})
			}
		})
		if err := <-ended; err != nil {
			t.Error(err)
		}
		_ = l.Close()
		drain()
		work.Wait()
	})
}

// accepted yields connections, each with a deadline, until the listener closes.
func accepted(l net.Listener) iter.Seq[net.Conn] {
	return func(yield func(net.Conn) bool) {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
			if !yield(conn) {
				return
			}
		}
	}
}

func TestAQueueThatStaysFullIsUnavailable(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, options ...client.Option) {
		path, _, _ := fullQueue(t)
		c := newClient(t, path, append(options, client.Timeout(300*time.Millisecond))...)
		if err := c.Call(t.Context(), "v", nil, nil); client.CodeOf(err) != client.Unavailable {
			t.Errorf("got %v", err)
		}
	})
}
