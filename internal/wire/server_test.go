package wire

import (
	"bufio"
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"
)

// serve runs s on a socket of its own until the test ends.
func serve(t testing.TB, s *Server) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "s")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l.UnixListener) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-ended; err != ErrServerClosed {
			t.Errorf("serve: %v", err)
		}
	})
	return path
}

func echo(_ context.Context, _ Peer, r Request) (any, error) { return r.Args, nil }

func dial(t testing.TB, path string) *net.UnixConn {
	t.Helper()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	return c.(*net.UnixConn)
}

func TestServerAnswersTwoLinesAtOnce(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, &Server{Handler: echo}))
	if _, err := c.Write([]byte(`{"id":1,"cap":"c","verb":"v","args":{"a": 1}}` + "\n" + `{"id":1,"cap":"c","verb":"v","args":{"a": 1}}` + "\n")); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(c)
	for range 2 {
		line, err := r.ReadString('\n')
		if err != nil || line != `{"id":1,"ok":true,"result":{"a":1}}`+"\n" {
			t.Errorf("%q %v", line, err)
		}
	}
}
