package host

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"mosaicstack.dev/mosaic/internal/broker"
	"mosaicstack.dev/mosaic/internal/wire"
)

// entrance is one of the host's two sockets. Each has limits of its own: however
// many runs crowd host.sock, the person still gets through at the other, and
// can stop them.
type entrance struct {
	socket *wire.Socket
	server wire.Server
}

const (
	forRuns   = iota // host.sock: capabilities; it is in every sandbox
	forPerson        // human.sock: process proofs; it is in none
)

var entranceNames = [...]string{forRuns: SocketName, forPerson: HumanSocketName}

// listen makes the sockets. One that is there, also one that a crashed host
// left, refuses with socket-exists, and then none stays.
func (h *host) listen(preferred string) error {
	dir, err := wire.SocketDir(preferred)
	if err != nil {
		return err
	}
	for i, name := range entranceNames {
		if h.entrances[i].socket, err = wire.Listen(filepath.Join(dir, name)); err != nil {
			break
		}
	}
	if err == nil {
		h.forgetSocketDir, err = wire.RecordSocketDir(preferred, dir)
	}
	if err != nil {
		h.closeSockets()
		if dir != preferred {
			_ = os.Remove(dir) // left alone unless empty
		}
	}
	return err
}

func (h *host) closeSockets() {
	for i := range h.entrances {
		socket := h.entrances[i].socket
		if socket == nil {
			continue
		}
		_ = socket.Close() // the server may have closed it
		if err := socket.Remove(); err != nil {
			h.log.Error("a socket was not removed", "socket", entranceNames[i], "cause", err)
		}
	}
	if h.forgetSocketDir != nil {
		if err := h.forgetSocketDir(); err != nil {
			h.log.Error("the note of the sockets' place was not removed", "cause", err)
		}
	}
	first := h.entrances[forRuns].socket
	if first == nil {
		return
	}
	if dir := filepath.Dir(first.Path()); filepath.Base(dir) != Directory {
		_ = os.Remove(dir) // where a long path moved it; left alone unless empty
	}
}

func (h *host) serve() {
	h.enter(Serving)
	for i := range h.entrances {
		e := &h.entrances[i]
		e.server.Log = h.log
		e.server.Handler = func(ctx context.Context, peer wire.Peer, r wire.Request) (any, error) {
			return h.answer(ctx, i, peer, r)
		}
		h.serving.Go(func() {
			if err := e.server.Serve(e.socket.UnixListener); !errors.Is(err, wire.ErrServerClosed) {
				h.log.Error("a socket failed", "socket", entranceNames[i], "cause", err)
			}
		})
	}
}

// shutDown lets the requests under way be answered.
func (h *host) shutDown(ctx context.Context) {
	for i := range h.entrances {
		if err := h.entrances[i].server.Shutdown(ctx); err != nil {
			h.log.Warn("requests were cut off at the end", "cause", err)
		}
	}
}

// caller is who asks, proven on this very request.
type caller struct {
	kind     broker.Kind // RoleSession or HumanSession
	business wire.Business
	// Of a role: its run and what it was proven with.
	role wire.Role
	run  wire.Run
	cap  wire.Capability
}

func (c caller) human() bool { return c.kind == broker.HumanSession }

// answer is the one path that every request takes: prove, find the verb, check
// the kind of session and the arguments, act.
func (h *host) answer(ctx context.Context, at int, peer wire.Peer, r wire.Request) (any, error) {
	who, err := h.prove(at, peer, r)
	if err != nil {
		return nil, err
	}
	verb, found := verbsByName[r.Verb]
	if !found {
		return nil, wire.Refuse(wire.UnknownVerb)
	}
	args, err := verb.arguments(who, r.Args)
	if err != nil {
		return nil, err
	}
	result, err := verb.handle(ctx, h, who, args)
	if err != nil {
		return nil, err
	}
	return result, nil
}

func (h *host) prove(at int, peer wire.Peer, r wire.Request) (caller, error) {
	switch {
	case r.Cap != "" && at != forRuns:
		return caller{}, wire.RefuseField(wire.InvalidRequest, "cap")
	case r.Human != nil && at != forPerson:
		return caller{}, wire.RefuseField(wire.InvalidRequest, "human")
	case r.Tester != nil:
		return caller{}, wire.Refuse(wire.TesterRefused)
	case r.Human != nil:
		if err := h.broker.VerifyHuman(peer, *r.Human); err != nil {
			return caller{}, err
		}
		// Status tells the person which businesses there are, so it asks for
		// none: commands learn from it which one they act in.
		if _, found := h.known[r.Business]; !found && r.Verb != "status" {
			return caller{}, wire.Refuse(wire.HumanRequired)
		}
		return caller{kind: broker.HumanSession, business: r.Business}, nil
	}
	identity, err := h.broker.Identity(r.Cap)
	if err != nil {
		return caller{}, err
	}
	return caller{
		kind: broker.RoleSession, business: identity.Business,
		role: identity.Role, run: identity.Run, cap: r.Cap,
	}, nil
}

// arguments checks the kind of session before it looks at the arguments.
func (v *Verb) arguments(who caller, given json.RawMessage) (any, error) {
	if v.Sessions&who.kind == 0 {
		if who.human() {
			return nil, wire.Refuse(wire.AgentRequired)
		}
		return nil, wire.Refuse(wire.HumanRequired)
	}
	if len(given) == 0 {
		given = json.RawMessage("{}")
	}
	args := v.newArgs()
	if err := wire.Decode(given, args); err != nil {
		return nil, err
	}
	return args, nil
}
