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

// listen makes host.sock. A socket that is there, also one that a crashed host
// left, refuses with socket-exists.
func (h *host) listen(preferred string) error {
	dir, err := wire.SocketDir(preferred)
	if err != nil {
		return err
	}
	h.socket, err = wire.Listen(filepath.Join(dir, SocketName))
	if err == nil {
		h.forgetSocketDir, err = wire.RecordSocketDir(preferred, dir)
	}
	if err != nil && dir != preferred {
		_ = os.Remove(dir) // left alone unless empty
	}
	return err
}

// SocketPath is where the host of a data root listens. It makes nothing.
func SocketPath(dataRoot string) (string, error) {
	dir, err := wire.FindSocketDir(filepath.Join(dataRoot, Directory))
	return filepath.Join(dir, SocketName), err
}

func (h *host) closeSocket() {
	if h.socket == nil {
		return
	}
	_ = h.socket.Close() // the server may have closed it
	if err := h.socket.Remove(); err != nil {
		h.log.Error("host.sock was not removed", "cause", err)
	}
	if h.forgetSocketDir != nil {
		if err := h.forgetSocketDir(); err != nil {
			h.log.Error("the note of host.sock's place was not removed", "cause", err)
		}
	}
	if dir := filepath.Dir(h.socket.Path()); filepath.Base(dir) != Directory {
		_ = os.Remove(dir) // where a long path moved it; left alone unless empty
	}
}

func (h *host) serve() {
	h.enter(Serving)
	h.server.Handler, h.server.Log = h.answer, h.log
	h.serving.Go(func() {
		if err := h.server.Serve(h.socket.UnixListener); !errors.Is(err, wire.ErrServerClosed) {
			h.log.Error("host.sock failed", "cause", err)
		}
	})
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
func (h *host) answer(ctx context.Context, peer wire.Peer, r wire.Request) (any, error) {
	who, err := h.prove(peer, r)
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

func (h *host) prove(peer wire.Peer, r wire.Request) (caller, error) {
	switch {
	case r.Tester != nil:
		return caller{}, wire.Refuse(wire.TesterRefused)
	case r.Human != nil:
		if err := h.broker.VerifyHuman(peer, *r.Human); err != nil {
			return caller{}, err
		}
		if _, found := h.known[r.Business]; !found {
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
