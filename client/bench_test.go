package client_test

import (
	"bufio"
	"io"
	"net"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"mosaicstack.dev/mosaic/client"
	"mosaicstack.dev/mosaic/internal/wire"
)

// A call with a handler that does nothing, beside the same bytes over a bare
// socket pair of client and server: what the protocol costs. cpu-us/op is
// processor time of both sides.

var benchArgs = map[string]string{"to": "dev", "body": "The tests of the parser pass; the lexer is next, and it is yours.", "class": "INFO"}

const benchLine = `{"id":1,"cap":"cap","verb":"message.send","args":{"body":"The tests of the parser pass; the lexer is next, and it is yours.","class":"INFO","to":"dev"}}` + "\n"

type benchSent struct {
	ID      string  `json:"id"`
	Request *string `json:"request"`
}

const benchReply = `{"id":1,"ok":true,"result":{"id":"01940000-0000-7000-8000-000000000000","request":null}}` + "\n"

func processorTime() float64 {
	var use syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &use)
	return float64(use.Utime.Nano()+use.Stime.Nano()) / 1e3
}

func measure(b *testing.B, once func() error) {
	b.Helper()
	b.ReportAllocs()
	start := processorTime()
	for b.Loop() {
		if err := once(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric((processorTime()-start)/float64(b.N), "cpu-us/op")
}

func BenchmarkCall(b *testing.B) {
	path := serve(b, handler(func(r wire.Request) (any, error) {
		var a struct {
			To    string `json:"to"`
			Body  string `json:"body"`
			Class string `json:"class"`
		}
		if err := wire.Decode(r.Args, &a); err != nil {
			return nil, err
		}
		return benchSent{ID: "01940000-0000-7000-8000-000000000000"}, nil
	}))
	for name, options := range map[string][]client.Option{"each": nil, "kept": {client.KeepOpen()}} {
		b.Run(name, func(b *testing.B) {
			c := newClient(b, path, options...)
			measure(b, func() error {
				var sent benchSent
				return c.Call(b.Context(), "message.send", benchArgs, &sent)
			})
		})
	}
}

// BenchmarkCallFrom64 is the same with 64 callers at once, each with a client
// of its own.
func BenchmarkCallFrom64(b *testing.B) {
	path := serve(b, handler(func(wire.Request) (any, error) { return benchSent{}, nil }))
	for name, options := range map[string][]client.Option{"each": nil, "kept": {client.KeepOpen()}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism((64 + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0))
			start := processorTime()
			b.RunParallel(func(pb *testing.PB) {
				c := client.New(path, client.Capability("cap"), options...)
				defer func() { _ = c.Close() }()
				for pb.Next() {
					var sent benchSent
					if err := c.Call(b.Context(), "message.send", benchArgs, &sent); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric((processorTime()-start)/float64(b.N), "cpu-us/op")
		})
	}
}

// BenchmarkBare answers each line with a fixed one.
func BenchmarkBare(b *testing.B) {
	path := filepath.Join(b.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				r := bufio.NewReader(c)
				for {
					if _, err := r.ReadSlice('\n'); err != nil {
						return
					}
					_, _ = io.WriteString(c, benchReply)
				}
			}()
		}
	}()
	connect := func() (net.Conn, error) { return net.Dial("unix", path) }
	exchange := func(c net.Conn) error {
		if _, err := io.WriteString(c, benchLine); err != nil {
			return err
		}
		_, err := c.Read(make([]byte, 2<<10))
		return err
	}
	b.Run("each", func(b *testing.B) {
		measure(b, func() error {
			c, err := connect()
			if err != nil {
				return err
			}
			defer func() { _ = c.Close() }()
			return exchange(c)
		})
	})
	b.Run("kept", func(b *testing.B) {
		c, err := connect()
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		measure(b, func() error { return exchange(c) })
	})
}
