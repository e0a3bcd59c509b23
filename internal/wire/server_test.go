package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
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
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-ended; !errors.Is(err, ErrServerClosed) {
			t.Errorf("serve: %v", err)
		}
	})
	return path
}

func echo(_ context.Context, _ Peer, r Request) (any, error) { return r.Args, nil }

// session is one connection of a test, with a deadline for the whole of it.
type session struct {
	*net.UnixConn
	in *bufio.Reader
}

func dial(t testing.TB, path string) *session {
	t.Helper()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	return &session{c.(*net.UnixConn), bufio.NewReader(c)}
}

func (s *session) send(t testing.TB, text string) {
	t.Helper()
	if _, err := io.WriteString(s, text); err != nil {
		t.Errorf("write: %v", err)
	}
}

// expect demands the next line.
func (s *session) expect(t testing.TB, want string) {
	t.Helper()
	if line, err := s.in.ReadString('\n'); err != nil || line != want+"\n" {
		t.Errorf("got %q, %v, want %q", line, err, want)
	}
}

// expectEnd demands that nothing more comes.
func (s *session) expectEnd(t testing.TB) {
	t.Helper()
	if rest, err := io.ReadAll(s.in); len(rest) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %q, %v, want the end", rest, err)
	}
}

func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never came true that %s", what)
		}
	}
}

// proves: BUS-PROTO-03 BUS-PROTO-21 BUS-PROTO-29
func TestARequestIsOneLineAndSoIsItsReply(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, &Server{Handler: func(_ context.Context, _ Peer, r Request) (any, error) {
		if r.Verb == "refuse" {
			return nil, RefuseField(UnknownRole, "to")
		}
		return r.Args, nil
	}}))
	for _, line := range []struct{ request, reply string }{
		{`{"id":1,"cap":"c","verb":"v","args":{"a": "x\ny"}}`, `{"id":1,"ok":true,"result":{"a":"x\ny"}}`},
		{`{"verb":"v","cap":"c","args":{}}`, `{"ok":true,"result":{}}`},
		{`{"cap":"c","verb":"v"}`, `{"ok":true,"result":null}`},
		{` {"id" : -9007199254740991 , "cap":"c","verb":"refuse"}` + "\r", `{"id":-9007199254740991,"ok":false,"error":"unknown-role","field":"to"}`},
		{`{"id":9007199254740991,"human":{"pid":1,"nonce":"n"},"business":"acme","verb":"v"}`, `{"id":9007199254740991,"ok":true,"result":null}`},
		{`{"id":1,"tester":{"pid":1,"nonce":"n"},"business":"acme","verb":"v"}`, `{"id":1,"ok":true,"result":null}`},

		// An id that is no safe integer cannot come back.
		{`{"id":9007199254740992,"cap":"c","verb":"v"}`, `{"ok":false,"error":"invalid-request","field":"id"}`},
		{`{"id":1.5,"cap":"c","verb":"v"}`, `{"ok":false,"error":"invalid-request","field":"id"}`},
		{`{"id":1.0,"cap":"c","verb":"v"}`, `{"ok":false,"error":"invalid-request","field":"id"}`},
		{`{"id":1e3,"cap":"c","verb":"v"}`, `{"ok":false,"error":"invalid-request","field":"id"}`},
		{`{"id":"1","cap":"c","verb":"v"}`, `{"ok":false,"error":"invalid-request","field":"id"}`},
		{`{"id":null,"cap":"c","verb":"v"}`, `{"ok":false,"error":"invalid-request","field":"id"}`},
		{`{"id":1,"id":2,"cap":"c","verb":"v"}`, `{"ok":false,"error":"invalid-request","field":"id"}`},

		// Exactly one proof; the business goes with a process proof alone.
		{`{"id":1,"verb":"v"}`, `{"id":1,"ok":false,"error":"invalid-request","field":"cap"}`},
		{`{"id":1,"cap":"","verb":"v"}`, `{"id":1,"ok":false,"error":"invalid-request","field":"cap"}`},
		{`{"id":1,"cap":"c","human":{"pid":1,"nonce":"n"},"business":"acme","verb":"v"}`, `{"id":1,"ok":false,"error":"invalid-request","field":"human"}`},
		{`{"id":1,"cap":"c","tester":{"pid":1,"nonce":"n"},"business":"acme","verb":"v"}`, `{"id":1,"ok":false,"error":"invalid-request","field":"tester"}`},
		{`{"id":1,"human":{"pid":1,"nonce":"n"},"tester":{"pid":1,"nonce":"n"},"business":"acme","verb":"v"}`, `{"id":1,"ok":false,"error":"invalid-request","field":"tester"}`},
		{`{"id":1,"human":{"pid":1,"nonce":"n"},"verb":"v"}`, `{"id":1,"ok":false,"error":"invalid-request","field":"business"}`},
		{`{"id":1,"cap":"c","business":"acme","verb":"v"}`, `{"id":1,"ok":false,"error":"invalid-request","field":"business"}`},
		{`{"id":1,"human":{"pid":1},"business":"acme","verb":"v"}`, `{"id":1,"ok":false,"error":"invalid-request","field":"human"}`},

		// Malformed lines, with the id where the line is one JSON object.
		{`{"id":1,"cap":"c","verb":"v","sql":"x"}`, `{"id":1,"ok":false,"error":"invalid-request","field":"sql"}`},
		{`{"sql":"x","id":1,"cap":"c","verb":"v"}`, `{"id":1,"ok":false,"error":"invalid-request","field":"sql"}`},
		{`{"id":1,"cap":"c","Verb":"v"}`, `{"id":1,"ok":false,"error":"invalid-request","field":"Verb"}`},
		{`{"id":1,"cap":"c"}`, `{"id":1,"ok":false,"error":"invalid-request","field":"verb"}`},
		{`{"id":1,"cap":"c","verb":7}`, `{"id":1,"ok":false,"error":"invalid-request","field":"verb"}`},
		{`{"id":1,"cap":"c","verb":"v","args":{"x":{"a":1,"a":1}}}`, `{"id":1,"ok":false,"error":"invalid-request","field":"x"}`},
		{`{"id":1,"cap":"c","verb":"v","args":{"x":"\ud800"}}`, `{"id":1,"ok":false,"error":"invalid-request","field":"x"}`},
		{`{"id":1,"cap":"c","verb":"v"} {}`, `{"ok":false,"error":"invalid-request"}`},
		{`{"id":1,"cap":"c","verb":"v"`, `{"ok":false,"error":"invalid-request"}`},
		{"{\"id\":1,\"cap\":\"\xff\",\"verb\":\"v\"}", `{"id":1,"ok":false,"error":"invalid-request"}`},
		{``, `{"ok":false,"error":"invalid-request"}`},
		{`[]`, `{"ok":false,"error":"invalid-request"}`},
		{`null`, `{"ok":false,"error":"invalid-request"}`},
	} {
		c.send(t, line.request+"\n")
		c.expect(t, line.reply)
	}
}

func TestLinesMayComeInAnyPieces(t *testing.T) {
	t.Parallel()
	const request, reply = `{"id":1,"cap":"c","verb":"v","args":{"a":1}}` + "\n", `{"id":1,"ok":true,"result":{"a":1}}`
	path := serve(t, &Server{Handler: echo})
	for name, pieces := range map[string][]string{
		"two at once":       {request + request},
		"half and the rest": {request[:9], request[9:] + request[:20], request[20:]},
		"byte by byte":      strings.Split(request+request, ""),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dial(t, path)
			for _, piece := range pieces {
				c.send(t, piece)
			}
			c.expect(t, reply)
			c.expect(t, reply)
			// Half a line at the end is no request.
			c.send(t, request[:20])
			_ = c.CloseWrite()
			c.expectEnd(t)
		})
	}
}

// proves: BUS-PROTO-04 BUS-PROTO-31 BUS-PROTO-33
func TestTheServerChecksTheVerbsRequestLimit(t *testing.T) {
	t.Parallel()
	const large = 256 << 10
	path := serve(t, &Server{MaxLine: large, Limit: func(verb string) int {
		if verb == "large" {
			return large
		}
		return 0
	}, Handler: func(context.Context, Peer, Request) (any, error) { return "done", nil }})
	line := func(verb string, size int) string {
		const form = `{"id":1,"cap":"c","verb":"%s","args":{"x":"%s"}}`
		return fmt.Sprintf(form, verb, strings.Repeat("x", size-len(form)+4-len(verb))) + "\n"
	}
	const done, refused = `{"id":1,"ok":true,"result":"done"}`, `{"id":1,"ok":false,"error":"request-too-large"}`
	c := dial(t, path)
	for _, request := range []struct {
		verb  string
		size  int
		reply string
	}{
		{"small", MaxRequest, done}, {"small", MaxRequest + 1, refused}, {"small", large, refused},
		{"large", MaxRequest + 1, done}, {"large", large, done}, {"small", 100, done},
	} {
		c.send(t, line(request.verb, request.size))
		c.expect(t, request.reply)
	}
	// Over the largest limit nothing is known of the line, and the rest of it
	// is not read.
	go func() { _, _ = io.WriteString(c, line("large", large+1)+line("small", 100)) }()
	c.expect(t, `{"ok":false,"error":"request-too-large"}`)
	c.expectEnd(t)
}

func TestALineWithoutEndIsNotReadWithoutEnd(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, &Server{Handler: echo}))
	chunk, sent := bytes.Repeat([]byte("x"), 32<<10), 0
	for {
		n, err := c.Write(chunk)
		if sent += n; err != nil {
			break
		}
		if sent > 16<<20 {
			t.Fatal("the server takes it all")
		}
	}
	c.expect(t, `{"ok":false,"error":"request-too-large"}`)
	c.expectEnd(t)
}

func TestALineMustBeCompleteInTime(t *testing.T) {
	t.Parallel()
	const request = `{"cap":"c","verb":"v"}` + "\n"
	path := serve(t, &Server{Handler: echo, LineTimeout: 300 * time.Millisecond})
	t.Run("nothing", func(t *testing.T) {
		t.Parallel()
		dial(t, path).expectEnd(t)
	})
	t.Run("half a line", func(t *testing.T) {
		t.Parallel()
		c := dial(t, path)
		c.send(t, request[:10])
		c.expectEnd(t)
	})
	t.Run("drop by drop", func(t *testing.T) {
		t.Parallel()
		c := dial(t, path)
		for range 1000 {
			if _, err := c.Write([]byte(" ")); err != nil {
				return
			}
			time.Sleep(20 * time.Millisecond) // a slow client, not a wait for something
		}
		t.Error("the server waits for ever")
	})
	t.Run("half a second line", func(t *testing.T) {
		t.Parallel()
		c := dial(t, path)
		c.send(t, request+request[:10])
		c.expect(t, `{"ok":true,"result":null}`)
		c.expectEnd(t)
	})
	t.Run("idle between lines", func(t *testing.T) {
		t.Parallel()
		c := dial(t, path)
		for range 3 {
			c.send(t, request)
			c.expect(t, `{"ok":true,"result":null}`)
			time.Sleep(500 * time.Millisecond) // longer than the timeout
		}
	})
}

func TestTheFirstLineHasFiveSeconds(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, &Server{Handler: echo}))
	start := time.Now()
	c.expectEnd(t)
	if took := time.Since(start); took < 4*time.Second || took > 15*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestPipelinedRequestsAreBoundedAndAnsweredInAnyOrder(t *testing.T) {
	t.Parallel()
	const inFlight, requests = 4, 12
	var mu sync.Mutex
	running, most := 0, 0
	release := make(chan struct{})
	c := dial(t, serve(t, &Server{MaxInFlight: inFlight, Handler: func(_ context.Context, _ Peer, r Request) (any, error) {
		mu.Lock()
		running++
		most = max(most, running)
		mu.Unlock()
		if r.Verb == "wait" {
			<-release
		}
		mu.Lock()
		running--
		mu.Unlock()
		return nil, nil
	}}))
	c.send(t, `{"id":0,"cap":"c","verb":"wait"}`+"\n")
	for id := 1; id < requests; id++ {
		c.send(t, fmt.Sprintf(`{"id":%d,"cap":"c","verb":"go"}`+"\n", id))
	}
	seen := map[int64]bool{}
	for len(seen) < requests {
		line, err := c.in.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		r, err := ParseReply(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil || seen[*r.ID] {
			t.Fatalf("%q: %v", line, err)
		}
		if seen[*r.ID] = true; len(seen) == requests-1 {
			if seen[0] {
				t.Error("the request that waits was answered")
			}
			close(release)
		}
	}
	if most > inFlight {
		t.Errorf("%d requests were under way at once", most)
	}
}

func TestAClientThatNeverReadsIsCutOffAlone(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	handled := 0
	path := serve(t, &Server{WriteTimeout: 300 * time.Millisecond, MaxInFlight: 4,
		Handler: func(_ context.Context, _ Peer, r Request) (any, error) {
			mu.Lock()
			handled++
			mu.Unlock()
			if r.Verb == "large" {
				return strings.Repeat("x", 1<<20), nil
			}
			return nil, nil
		}})
	deaf, other := dial(t, path), dial(t, path)
	cut := make(chan int)
	go func() {
		for n := 0; ; n++ {
			if _, err := io.WriteString(deaf, `{"cap":"c","verb":"large"}`+"\n"); err != nil {
				cut <- n
				return
			}
		}
	}()
	for ended := false; !ended; {
		select {
		case <-cut:
			ended = true
		default:
		}
		start := time.Now()
		other.send(t, `{"cap":"c","verb":"small"}`+"\n")
		other.expect(t, `{"ok":true,"result":null}`)
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("another client waited %v", took)
		}
		mu.Lock()
		handled--
		mu.Unlock()
	}
	mu.Lock()
	defer mu.Unlock()
	if handled > 10 { // what the socket's buffer took, those under way, and those that waited for their place
		t.Errorf("%d replies were made for a client that reads none", handled)
	}
}

func TestOneConnectionTooManyIsTold(t *testing.T) {
	t.Parallel()
	const request, reply = `{"cap":"c","verb":"v"}` + "\n", `{"ok":true,"result":null}`
	path := serve(t, &Server{Handler: echo, MaxConnections: 2})
	first, second := dial(t, path), dial(t, path)
	for _, c := range []*session{first, second} {
		c.send(t, request)
		c.expect(t, reply)
	}
	third := dial(t, path)
	third.expect(t, `{"ok":false,"error":"busy"}`)
	third.expectEnd(t)
	_ = first.Close()
	eventually(t, "a place is free again", func() bool {
		c := dial(t, path)
		_, _ = io.WriteString(c, request)
		line, _ := c.in.ReadString('\n')
		return line == reply+"\n"
	})
	second.send(t, request)
	second.expect(t, reply)
}

// A capability that leaves its connections open keeps nobody else out, and has
// all of them while nobody else wants one.
//
// proves: BUS-OPEN-28
func TestNoCapabilityKeepsOthersOut(t *testing.T) {
	t.Parallel()
	request := func(cap string) string { return `{"id":1,"cap":"` + cap + `","verb":"v"}` + "\n" }
	const reply, busy = `{"id":1,"ok":true,"result":null}`, `{"ok":false,"error":"busy"}`
	path := serve(t, &Server{Handler: echo, MaxConnections: 4, FairShare: 2})
	var held []*session
	for range 4 {
		c := dial(t, path)
		c.send(t, request("greedy"))
		c.expect(t, reply)
		held = append(held, c)
	}
	fifth := dial(t, path)
	fifth.send(t, request("greedy"))
	fifth.expect(t, busy)
	fifth.expectEnd(t)
	silent := dial(t, path)
	silent.expect(t, busy)
	silent.expectEnd(t)
	for range 2 { // down to its share, and no further
		other := dial(t, path)
		other.send(t, request("modest"))
		other.expect(t, reply)
		other.send(t, request("modest"))
		other.expect(t, reply)
	}
	third := dial(t, path)
	third.send(t, request("another"))
	third.expect(t, busy)
	open := 0
	for _, c := range held {
		_, _ = io.WriteString(c, request("greedy"))
		if line, _ := c.in.ReadString('\n'); line == reply+"\n" {
			open++
		}
	}
	if open != 2 {
		t.Errorf("%d of the greedy connections are open, want its share of 2", open)
	}
}

// Whoever has no capability is told so and keeps no connection.
func TestAnUnknownCapabilityEndsItsConnection(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, &Server{Handler: func(context.Context, Peer, Request) (any, error) {
		return nil, Refuse(UnknownCapability)
	}}))
	c.send(t, `{"cap":"c","verb":"v"}`+"\n")
	c.expect(t, `{"ok":false,"error":"unknown-capability"}`)
	c.expectEnd(t)
}

// logged collects what a server logs.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// proves: BUS-PROTO-02 BUS-PROTO-09
func TestOnlyDeclaredFailuresAreTold(t *testing.T) {
	t.Parallel()
	var log logged
	c := dial(t, serve(t, &Server{Log: slog.New(slog.NewTextHandler(&log, nil)),
		Handler: func(_ context.Context, _ Peer, r Request) (any, error) {
			switch r.Verb {
			case "refuse":
				return nil, fmt.Errorf("secret: %w", RefuseField(NotHolder, "to"))
			case "malformed":
				return nil, Decode([]byte(`{"x":"secret"}`), &struct{}{})
			case "fail":
				return nil, errors.New("secret /home/dana SELECT 1")
			case "panic":
				panic("secret panic")
			case "unencodable":
				return map[string]any{"f": func() {}}, nil
			case "large":
				return strings.Repeat("x", MaxReply), nil
			case "broken":
				return json.RawMessage(`{"a":`), nil
			}
			return nil, nil
		}}))
	for _, line := range []struct{ verb, reply string }{
		{"refuse", `"error":"not-holder","field":"to"}`},
		{"malformed", `"error":"invalid-request","field":"x"}`},
		{"fail", `"error":"outcome-unknown"}`},
		{"panic", `"error":"outcome-unknown"}`},
		{"unencodable", `"error":"outcome-unknown"}`},
		{"broken", `"error":"outcome-unknown"}`},
		{"large", `"error":"response-too-large"}`},
	} {
		c.send(t, `{"id":7,"cap":"c","verb":"`+line.verb+`"}`+"\n")
		c.expect(t, `{"id":7,"ok":false,`+line.reply)
	}
	for _, want := range []string{"secret /home/dana", "secret panic", "server_test.go"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q is not in the log: %s", want, log.String())
		}
	}
}

func TestShutdownLetsRequestsUnderWayFinish(t *testing.T) {
	t.Parallel()
	received, release := make(chan struct{}), make(chan struct{})
	s := &Server{Handler: func(context.Context, Peer, Request) (any, error) {
		close(received)
		<-release
		return "done", nil
	}}
	path := serve(t, s)
	busy, idle := dial(t, path), dial(t, path)
	busy.send(t, `{"cap":"c","verb":"v"}`+"\n")
	<-received
	ended := make(chan error)
	go func() { ended <- s.Shutdown(t.Context()) }()
	idle.expectEnd(t)
	eventually(t, "nobody can connect", func() bool { _, err := net.Dial("unix", path); return err != nil })
	select {
	case err := <-ended:
		t.Errorf("shutdown ended before the request: %v", err)
	default:
	}
	close(release)
	busy.expect(t, `{"ok":true,"result":"done"}`)
	busy.expectEnd(t)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("shutdown removed the path, which may be a successor's: %v", err)
	}
}

func TestShutdownDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	received := make(chan struct{})
	s := &Server{Handler: func(ctx context.Context, _ Peer, _ Request) (any, error) {
		close(received)
		<-ctx.Done()
		return nil, ctx.Err()
	}, Log: slog.New(slog.DiscardHandler)}
	c := dial(t, serve(t, s))
	c.send(t, `{"cap":"c","verb":"v"}`+"\n")
	<-received
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if _, err := c.in.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection is still open: %v", err)
	}
}

func TestShutdownBeforeServe(t *testing.T) {
	t.Parallel()
	s := &Server{Handler: echo}
	for range 2 {
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
	l, err := Listen(filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(l.UnixListener); !errors.Is(err, ErrServerClosed) {
		t.Errorf("got %v", err)
	}
	if _, err := net.Dial("unix", l.Path()); err == nil {
		t.Error("the listener is still open")
	}
}

func TestSeveralListenersShareTheLimits(t *testing.T) {
	t.Parallel()
	s := &Server{Handler: echo, MaxConnections: 1}
	first := serve(t, s)
	l, err := Listen(filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l.UnixListener) }()
	c := dial(t, first)
	c.send(t, `{"cap":"c","verb":"v"}`+"\n")
	c.expect(t, `{"ok":true,"result":null}`)
	dial(t, l.Path()).expect(t, `{"ok":false,"error":"busy"}`)
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, ErrServerClosed) {
		t.Error(err)
	}
}

// Not parallel: it counts what the whole program allocates.
func TestManyShortLinesCostTheirBytes(t *testing.T) {
	const size = 1 << 20
	l, err := Listen(filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	c := dial(t, l.Path())
	accepted, err := l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = accepted.Close() }()
	go func() { _, _ = c.Write(bytes.Repeat([]byte("\n"), size)); _ = c.CloseWrite() }()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	reader, lines := newConn(&Server{}, accepted, Peer{}), 0
	for {
		if _, ok := reader.readLine(); !ok {
			break
		}
		lines++
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; lines != size || used > 16*size {
		t.Errorf("%d lines of one byte took %d MiB", lines, used>>20)
	}
}
