package client_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mosaicstack.dev/mosaic/client"
	"mosaicstack.dev/mosaic/internal/wire"
)

// serve answers with handler until the test ends.
func serve(t testing.TB, s *wire.Server) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "s")
	l, err := wire.Listen(path)
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
		<-ended
	})
	return path
}

func handler(f func(r wire.Request) (any, error)) *wire.Server {
	return &wire.Server{Handler: func(_ context.Context, _ wire.Peer, r wire.Request) (any, error) { return f(r) }}
}

// script plays a broker that does what the test says with each connection.
func script(t testing.TB, play func(c *net.UnixConn, line string)) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			c, err := l.AcceptUnix()
			if err != nil {
				return
			}
			work.Go(func() {
				defer func() { _ = c.Close() }()
				_ = c.SetDeadline(time.Now().Add(20 * time.Second))
				line, err := bufio.NewReader(c).ReadString('\n')
				if err == nil {
					play(c, line)
				}
			})
		}
	})
	t.Cleanup(func() { _ = l.Close(); work.Wait() })
	return path
}

func eachKind(t *testing.T, test func(t *testing.T, options ...client.Option)) {
	t.Run("one connection a call", func(t *testing.T) { t.Parallel(); test(t) })
	t.Run("kept open", func(t *testing.T) { t.Parallel(); test(t, client.KeepOpen()) })
}

func newClient(t testing.TB, path string, options ...client.Option) *client.Client {
	c := client.New(path, client.Capability("cap"), options...)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// proves: BUS-PROTO-02 BUS-PROTO-03
func TestCallReturnsTheResultOrACode(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, options ...client.Option) {
		path := serve(t, handler(func(r wire.Request) (any, error) {
			if r.Verb != "double" {
				return nil, wire.RefuseField(wire.UnknownRole, "to")
			}
			var a struct {
				N int `json:"n"`
			}
			err := wire.Decode(r.Args, &a)
			return map[string]any{"n": 2 * a.N, "more": "ignored"}, err
		}))
		c := newClient(t, path, options...)
		var got struct {
			N int `json:"n"`
		}
		for n := range 3 {
			if err := c.Call(t.Context(), "double", map[string]int{"n": n}, &got); err != nil || got.N != 2*n {
				t.Errorf("got %d, %v", got.N, err)
			}
		}
		var raw json.RawMessage
		if err := c.Call(t.Context(), "double", json.RawMessage("{\n\"n\": 4}"), &raw); err != nil || string(raw) != `{"more":"ignored","n":8}` {
			t.Errorf("got %s, %v", raw, err)
		}
		err := c.Call(t.Context(), "other", nil, nil)
		var e *client.Error
		if !errors.As(err, &e) || *e != (client.Error{Code: wire.UnknownRole, Field: "to"}) {
			t.Errorf("got %v", err)
		}
	})
}

// proves: BUS-PROTO-29
func TestAuthentication(t *testing.T) {
	t.Parallel()
	path := serve(t, handler(func(r wire.Request) (any, error) {
		if r.Human != nil {
			return fmt.Sprintf("%d %s %s", r.Human.PID, r.Human.Nonce, r.Business), nil
		}
		return string(r.Cap), nil
	}))
	for want, auth := range map[string]client.Auth{
		"secret":    client.Capability("secret"),
		"12 n acme": client.Human(12, "n", "acme"),
	} {
		var got string
		if err := client.New(path, auth).Call(t.Context(), "v", nil, &got); err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
}

// proves: BUS-PROTO-01
func TestOneConnectionForEachRequestUnlessKeptOpen(t *testing.T) {
	t.Parallel()
	for _, kept := range []bool{false, true} {
		var mu sync.Mutex
		connections := 0
		path := script(t, func(c *net.UnixConn, line string) {
			mu.Lock()
			connections++
			mu.Unlock()
			r := bufio.NewReader(io.MultiReader(strings.NewReader(line), c))
			for {
				line, err := r.ReadString('\n')
				if err != nil {
					return
				}
				request, err := wire.ParseRequest([]byte(strings.TrimSuffix(line, "\n")))
				if err != nil {
					t.Errorf("%q: %v", line, err)
				}
				_, _ = fmt.Fprintf(c, `{"id":%d,"ok":true,"result":null}`+"\n", *request.ID)
			}
		})
		c := client.New(path, client.Capability("cap"))
		want := 3
		if kept {
			c = client.New(path, client.Capability("cap"), client.KeepOpen())
			want = 1
		}
		for range 3 {
			if err := c.Call(t.Context(), "v", nil, nil); err != nil {
				t.Error(err)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		mu.Lock()
		if connections != want {
			t.Errorf("kept open: %v: %d connections, want %d", kept, connections, want)
		}
		mu.Unlock()
	}
}

// proves: BUS-PROTO-14 BUS-PROTO-15 BUS-PROTO-07
func TestNoReplyAfterSendingIsAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	for name, play := range map[string]func(c *net.UnixConn, line string){
		"disconnect":   func(c *net.UnixConn, _ string) {},
		"half a reply": func(c *net.UnixConn, _ string) { _, _ = io.WriteString(c, `{"id":1,"ok":true,"res`) },
		"garbage":      func(c *net.UnixConn, _ string) { _, _ = io.WriteString(c, "hello\n") },
		"twice ok": func(c *net.UnixConn, _ string) {
			_, _ = io.WriteString(c, `{"id":1,"ok":true,"ok":true,"result":1}`+"\n")
		},
		"ok without result": func(c *net.UnixConn, _ string) { _, _ = io.WriteString(c, `{"id":1,"ok":true}`+"\n") },
		"ok with an error": func(c *net.UnixConn, _ string) {
			_, _ = io.WriteString(c, `{"id":1,"ok":true,"result":1,"error":"x"}`+"\n")
		},
		"no code": func(c *net.UnixConn, _ string) { _, _ = io.WriteString(c, `{"id":1,"ok":false}`+"\n") },
		"hostile code": func(c *net.UnixConn, _ string) {
			_, _ = io.WriteString(c, `{"id":1,"ok":false,"error":"\u001b[2J"}`+"\n")
		},
		"ok without an id": func(c *net.UnixConn, _ string) { _, _ = io.WriteString(c, `{"ok":true,"result":1}`+"\n") },
		"another id":       func(c *net.UnixConn, _ string) { _, _ = io.WriteString(c, `{"id":7,"ok":true,"result":1}`+"\n") },
		"wrong result":     func(c *net.UnixConn, _ string) { _, _ = io.WriteString(c, `{"id":1,"ok":true,"result":"text"}`+"\n") },
		"silence":          func(c *net.UnixConn, _ string) { _, _ = c.Read(make([]byte, 1)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachKind(t, func(t *testing.T, options ...client.Option) {
				var mu sync.Mutex
				requests := 0
				path := script(t, func(c *net.UnixConn, line string) {
					mu.Lock()
					requests++
					mu.Unlock()
					play(c, line)
				})
				c := newClient(t, path, append(options, client.Timeout(time.Second))...)
				var n int
				if err := c.Call(t.Context(), "message.send", nil, &n); client.CodeOf(err) != client.OutcomeUnknown {
					t.Errorf("got %v", err)
				}
				mu.Lock()
				defer mu.Unlock()
				if requests != 1 {
					t.Errorf("%d requests were sent", requests)
				}
			})
		})
	}
}

// proves: BUS-PROTO-05
func TestTheDefaultTimeoutIsFiveSeconds(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, options ...client.Option) {
		path := script(t, func(c *net.UnixConn, _ string) { _, _ = c.Read(make([]byte, 1)) })
		start := time.Now()
		err := newClient(t, path, options...).Call(t.Context(), "v", nil, nil)
		if took := time.Since(start); client.CodeOf(err) != client.OutcomeUnknown || took < 5*time.Second || took > 8*time.Second {
			t.Errorf("%v after %v", err, took)
		}
	})
}

func TestACancelledCall(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, options ...client.Option) {
		received, release := make(chan struct{}, 2), make(chan struct{})
		path := serve(t, handler(func(r wire.Request) (any, error) {
			if r.Verb == "wait" {
				received <- struct{}{}
				<-release
			}
			return "done", nil
		}))
		c := newClient(t, path, options...)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-received; cancel() }()
		err := c.Call(ctx, "wait", nil, nil)
		if client.CodeOf(err) != client.OutcomeUnknown || !errors.Is(err, context.Canceled) {
			t.Errorf("after sending: %v", err)
		}
		if err := c.Call(ctx, "v", nil, nil); client.CodeOf(err) != client.Unavailable {
			t.Errorf("before sending: %v", err)
		}
		close(release) // the late reply meets nobody
		var got string
		if err := c.Call(t.Context(), "v", nil, &got); err != nil || got != "done" {
			t.Errorf("afterwards: %q %v", got, err)
		}
	})
}

func TestNothingSentIsUnavailable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dead := filepath.Join(dir, "dead")
	l, err := wire.Listen(dead)
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	eachKind(t, func(t *testing.T, options ...client.Option) {
		for _, path := range []string{dead, file, filepath.Join(dir, "missing"), filepath.Join(dir, strings.Repeat("x", 200)), ""} {
			if err := newClient(t, path, options...).Call(t.Context(), "v", nil, nil); client.CodeOf(err) != client.Unavailable {
				t.Errorf("%.30q: %v", path, err)
			}
		}
	})
}

// proves: BUS-PROTO-04 BUS-PROTO-30 BUS-PROTO-31 BUS-PROTO-32
func TestTheRequestLimitIsCheckedBeforeSending(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	lines := map[string]int{}
	limits := func(verb string) int {
		if verb == "project.file.save" {
			return wire.MaxRequest + 1<<20
		}
		return 0
	}
	s := handler(func(r wire.Request) (any, error) {
		mu.Lock()
		defer mu.Unlock()
		lines[r.Verb]++
		return nil, nil
	})
	s.Limit, s.MaxLine = limits, limits("project.file.save")
	c := newClient(t, serve(t, s))
	for verb, limit := range map[string]int{"message.send": 64 << 10, "project.file.save": 64<<10 + 1<<20, "project.file": 64 << 10} {
		// What a call adds to its text; its id has one digit throughout.
		around := len(`{"id":1,"cap":"cap","verb":"","args":{"b":""}}`) + len(verb)
		fits := map[string]string{"b": strings.Repeat("x", limit-around)}
		if err := c.Call(t.Context(), verb, fits, nil); err != nil {
			t.Errorf("%s at the limit: %v", verb, err)
		}
		over := map[string]string{"b": strings.Repeat("x", limit-around+1)}
		if err := c.Call(t.Context(), verb, over, nil); client.CodeOf(err) != client.RequestTooLarge {
			t.Errorf("%s over the limit: %v", verb, err)
		}
		if lines[verb] != 1 {
			t.Errorf("%s: %d requests arrived, want the one within the limit", verb, lines[verb])
		}
	}
}

func TestArgumentsThatAreNoJSONAreNotSent(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "nobody-listens")
	c := newClient(t, path)
	for _, args := range []any{json.RawMessage(`{"a":1,"a":2}`), json.RawMessage(`{`), json.RawMessage("{}\n{}"), func() {}} {
		if err := c.Call(t.Context(), "v", args, nil); client.CodeOf(err) != client.InvalidRequest {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// proves: BUS-PROTO-08
func TestAReplyOverTheLimitIsRefused(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, options ...client.Option) {
		for name, end := range map[string]string{"complete": "\"}\n", "endless": strings.Repeat("x", 1<<20)} {
			path := script(t, func(c *net.UnixConn, _ string) {
				_, _ = io.WriteString(c, `{"id":1,"ok":true,"result":"`+strings.Repeat("x", wire.MaxReply)+end)
			})
			err := newClient(t, path, options...).Call(t.Context(), "trail", nil, nil)
			if client.CodeOf(err) != client.ResponseTooLarge {
				t.Errorf("%s: %v", name, err)
			}
		}
		envelope := len(`{"id":1,"ok":true,"result":""}` + "\n")
		path := serve(t, handler(func(wire.Request) (any, error) { return strings.Repeat("x", wire.MaxReply-envelope), nil }))
		var got string
		err := newClient(t, path, options...).Call(t.Context(), "trail", nil, &got)
		if err != nil || len(got) != wire.MaxReply-envelope {
			t.Errorf("at the limit: %d bytes, %v", len(got), err)
		}
	})
}

func TestABusyBrokerSaysSo(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, options ...client.Option) {
		s := handler(func(wire.Request) (any, error) { return "done", nil })
		s.MaxConnections = 1
		path := serve(t, s)
		holder := newClient(t, path, client.KeepOpen())
		if err := holder.Call(t.Context(), "v", nil, nil); err != nil {
			t.Fatal(err)
		}
		c := newClient(t, path, options...)
		if err := c.Call(t.Context(), "v", nil, nil); client.CodeOf(err) != wire.Busy {
			t.Errorf("got %v", err)
		}
		_ = holder.Close()
		eventually(t, func() bool { return c.Call(t.Context(), "v", nil, nil) == nil })
	})
}

func eventually(t testing.TB, done func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not come true")
		}
	}
}

func TestKeptOpenCallsShareAConnectionInAnyOrder(t *testing.T) {
	t.Parallel()
	// Every call waits for the one after it, so they end in reverse order.
	const calls = 16
	gates := make([]chan struct{}, calls+1)
	for i := range gates {
		gates[i] = make(chan struct{})
	}
	close(gates[calls])
	path := serve(t, handler(func(r wire.Request) (any, error) {
		var a struct {
			N int `json:"n"`
		}
		if err := wire.Decode(r.Args, &a); err != nil {
			return nil, err
		}
		<-gates[a.N+1]
		close(gates[a.N])
		return a.N, nil
	}))
	c := newClient(t, path, client.KeepOpen())
	var work sync.WaitGroup
	for n := range calls {
		work.Go(func() {
			var got int
			if err := c.Call(t.Context(), "v", map[string]int{"n": n}, &got); err != nil || got != n {
				t.Errorf("call %d: %d, %v", n, got, err)
			}
		})
	}
	work.Wait()
}

func TestAKeptConnectionThatEndsIsReplaced(t *testing.T) {
	t.Parallel()
	path := script(t, func(c *net.UnixConn, line string) {
		r, _ := wire.ParseRequest([]byte(strings.TrimSuffix(line, "\n")))
		if r.Verb == "answer" {
			_, _ = fmt.Fprintf(c, `{"id":%d,"ok":true,"result":null}`+"\n", *r.ID)
		}
	})
	c := newClient(t, path, client.KeepOpen())
	if err := c.Call(t.Context(), "drop", nil, nil); client.CodeOf(err) != client.OutcomeUnknown {
		t.Errorf("dropped: %v", err)
	}
	if err := c.Call(t.Context(), "answer", nil, nil); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := c.Call(t.Context(), "answer", nil, nil); client.CodeOf(err) != client.Unavailable {
		t.Errorf("after Close: %v", err)
	}
}

// proves: BUS-PROTO-13
func TestReads(t *testing.T) {
	t.Parallel()
	path := serve(t, handler(func(r wire.Request) (any, error) {
		if r.Verb == "messages" {
			return json.RawMessage(`{"messages":[{"id":"a"}],"total":3,"unread":2,"next":"a"}`), nil
		}
		return []string{r.Verb, string(r.Args)}, nil
	}))
	reads := client.Reads{Client: newClient(t, path)}
	ctx := t.Context()
	for want, read := range map[string]func() (json.RawMessage, error){
		`["inbox",""]`:                              func() (json.RawMessage, error) { return reads.Inbox(ctx) },
		`["agents",""]`:                             func() (json.RawMessage, error) { return reads.Agents(ctx) },
		`["tasks","{\"limit\":2}"]`:                 func() (json.RawMessage, error) { return reads.Tasks(ctx, map[string]int{"limit": 2}) },
		`["trail","{\"subject\":\"queue:web-7\"}"]`: func() (json.RawMessage, error) { return reads.Trail(ctx, "queue:web-7") },
		`["decisions","{\"list\":\"recent\"}"]`:     func() (json.RawMessage, error) { return reads.Decisions(ctx, "recent") },
		`["replies","{\"id\":\"0190\"}"]`:           func() (json.RawMessage, error) { return reads.Replies(ctx, "0190") },
	} {
		if got, err := read(); err != nil || string(got) != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
	m, err := reads.Messages(ctx, client.Page{Limit: 1})
	if err != nil || len(m.Messages) != 1 || m.Total != 3 || m.Unread != 2 || m.Next == nil || *m.Next != "a" {
		t.Errorf("messages: %+v, %v", m, err)
	}
}
