package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"mosaicstack.dev/mosaic/internal/wire"
)

// Error is a static code and, for a malformed argument, the argument's name.
type Error = wire.Error

// Code is a static error code, such as "not-holder".
type Code = wire.Code

// Codes that come from the client itself; all others are the broker's.
const (
	Unavailable      = wire.Unavailable
	OutcomeUnknown   = wire.OutcomeUnknown
	InvalidRequest   = wire.InvalidRequest
	RequestTooLarge  = wire.RequestTooLarge
	ResponseTooLarge = wire.ResponseTooLarge
)

// CodeOf returns the code in an error of this package, or "".
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// failure is an error with the code and, for logs, the cause.
func failure(code Code, cause error) error {
	if cause == nil {
		return wire.Refuse(code)
	}
	return fmt.Errorf("%w: %w", wire.Refuse(code), cause)
}

// Auth is what a request proves of its sender.
type Auth struct{ request wire.Request }

// Capability authenticates a run, or a reader, by its capability. The business
// is the capability's.
func Capability(capability string) Auth {
	return Auth{wire.Request{Cap: wire.Capability(capability)}}
}

// Human authenticates the person of a business by the process that asks: pid
// is the caller's own, and nonce stands in its environment. The socket is
// human.sock.
func Human(pid int, nonce, business string) Auth {
	proof := wire.Proof{PID: pid, Nonce: nonce}
	return Auth{wire.Request{Human: &proof, Business: wire.Business(business)}}
}

// Client calls verbs at one socket with one authentication. It may be used by
// several goroutines at once.
type Client struct {
	path    string
	auth    Auth
	timeout time.Duration
	lastID  atomic.Int64
	kept    *keeper // nil without KeepOpen
}

// Option changes a client from its defaults.
type Option func(*Client)

// KeepOpen makes the client hold one connection open for all its calls, which
// then share it at the same time. When the connection ends, the calls under way
// have an unknown outcome and the next call opens another. Close ends it.
func KeepOpen() Option {
	return func(c *Client) { c.kept = &keeper{path: c.path} }
}

// Timeout sets how long a call may take; the default is five seconds.
func Timeout(d time.Duration) Option { return func(c *Client) { c.timeout = d } }

// DefaultTimeout is how long a call may take (BUS-PROTO-05).
const DefaultTimeout = 5 * time.Second

// New returns a client of the broker at the socket path. It connects when it
// is called first.
func New(path string, auth Auth, options ...Option) *Client {
	c := &Client{path: path, auth: auth, timeout: DefaultTimeout}
	for _, option := range options {
		option(c)
	}
	return c
}

// Close ends a kept-open connection; calls under way have an unknown outcome
// and later ones are unavailable. Without KeepOpen there is nothing to close.
func (c *Client) Close() error {
	if c.kept == nil {
		return nil
	}
	return c.kept.close()
}

// Call sends one request and stores the result in result: a pointer to a
// struct, map, slice, json.RawMessage or any, or nil to drop it. Keys of the
// result that the target does not name are left out. args is a struct or map,
// a json.RawMessage with one object, or nil for none.
//
// Every error holds an *Error; the package comment says what each code means
// for the caller. A reply whose result does not fit the target is
// outcome-unknown too: it was carried out and cannot be told.
func (c *Client) Call(ctx context.Context, verb string, args, result any) error {
	deadline := time.Now().Add(c.timeout)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	id := c.lastID.Add(1)
	line, err := c.requestLine(id, verb, args)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return failure(Unavailable, err)
	}
	exchange := once
	if c.kept != nil {
		exchange = c.kept.exchange
	}
	reply, err := exchange(ctx, call{path: c.path, id: id, line: line, deadline: deadline})
	if err != nil {
		return err
	}
	return store(reply, result)
}

// call is one request on its way.
type call struct {
	path     string
	id       int64
	line     []byte // with its newline
	deadline time.Time
}

func (c *Client) requestLine(id int64, verb string, args any) ([]byte, error) {
	r := c.auth.request
	r.ID, r.Verb = &id, verb
	line, err := wire.AppendRequest(make([]byte, 0, 512), r, args)
	if err != nil {
		return nil, failure(InvalidRequest, err)
	}
	if len(line)-1 > requestLimit(verb) {
		return nil, wire.Refuse(RequestTooLarge)
	}
	return line, nil
}

// requestLimit is a verb's limit in bytes (BUS-PROTO-30, 31).
func requestLimit(verb string) int {
	if verb == "project.file.save" {
		return wire.MaxRequest + 1<<20
	}
	return wire.MaxRequest
}

// store puts the reply's result where the caller wants it.
func store(reply wire.Reply, result any) error {
	if !reply.OK {
		return &Error{Code: reply.Error, Field: reply.Field}
	}
	switch target := result.(type) {
	case nil:
		return nil
	case *json.RawMessage:
		*target = reply.Result
		return nil
	}
	if err := wire.DecodePart(reply.Result, result); err != nil {
		// The decoder's own code would say that the request was refused.
		return fmt.Errorf("%w: the result does not fit %T: %v", wire.Refuse(OutcomeUnknown), result, err)
	}
	return nil
}
