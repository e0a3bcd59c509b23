package broker

import (
	"context"
	"encoding/json"
	"errors"

	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/wire"
)

// socket is one of the two sockets. Each serves one kind of proof only, so
// that a managed run, which is given bus.sock alone, has nowhere to try
// another one.
type socket uint8

const (
	busSocket   socket = iota // bus.sock: capabilities
	humanSocket               // human.sock: process proofs of humans and testers
)

// verbsByName is the registry by name.
var verbsByName = func() map[string]*Verb {
	m := make(map[string]*Verb, len(Verbs))
	for i := range Verbs {
		m[Verbs[i].Name] = &Verbs[i]
	}
	return m
}()

// FindVerb returns the row of a verb.
func FindVerb(name string) (Verb, bool) {
	if v := verbsByName[name]; v != nil {
		return *v, true
	}
	return Verb{}, false
}

// requestLimit is the verb's limit in bytes; 0 means the general one
// (BUS-PROTO-33).
func requestLimit(verb string) int {
	if v := verbsByName[verb]; v != nil {
		return v.MaxRequest
	}
	return 0
}

// longestRequest is the largest limit that a verb has.
var longestRequest = func() int {
	longest := wire.MaxRequest
	for _, v := range Verbs {
		longest = max(longest, v.MaxRequest)
	}
	return longest
}()

// answer is the one path that every request of a socket takes: prove the
// session, find the verb, check kind and arguments, prepare, and run the
// handler in one transaction or on one snapshot. The result is a
// wire.Encoded; the error is a *wire.Error and never holds other text. Form,
// size and that there is exactly one proof were checked when the line was read.
func (b *Broker) answer(ctx context.Context, from socket, peer wire.Peer, r wire.Request) (any, error) {
	session, refusal := b.prove(from, peer, &r)
	if refusal != nil {
		b.log.Info("request without a session refused", "code", refusal.Code, "pid", peer.PID)
		return nil, refusal
	}
	call := Call{Broker: b, Session: session}
	result, err := b.perform(ctx, &call, peer, &r)
	if err != nil {
		return nil, b.public(err)
	}
	return result, nil
}

// refuseLine records a line that was refused before it was a request, when it
// proves a session all the same: a run that sends what no verb takes is as much
// worth knowing as one that asks for what it may not have (BUS-PROTO-27).
func (b *Broker) refuseLine(ctx context.Context, from socket, peer wire.Peer, r wire.Request, refusal *wire.Error) error {
	session, unproven := b.prove(from, peer, &r)
	if unproven != nil {
		b.log.Info("line without a session refused", "code", refusal.Code, "pid", peer.PID)
		return refusal
	}
	name := ""
	if verb := verbsByName[r.Verb]; verb != nil {
		name = verb.Name
	}
	return b.public(b.refuse(ctx, session, name, nil, refusal))
}

// public reduces an error to what may leave the process.
func (b *Broker) public(err error) *wire.Error {
	var refusal *wire.Error
	if errors.As(err, &refusal) {
		return refusal
	}
	b.log.Error("request failed", "error", err)
	return wire.Refuse(wire.StorageUnavailable)
}

// prove finds out who asks, by the one proof that this socket serves
// (BUS-PROTO-29). Nothing that it refuses leaves
// evidence: there is no session to record it against (BUS-OPEN-25).
func (b *Broker) prove(from socket, peer wire.Peer, r *wire.Request) (Session, *wire.Error) {
	switch {
	case r.Cap != "" && from != busSocket:
		return Session{}, wire.RefuseField(wire.InvalidRequest, "cap")
	case r.Human != nil && from != humanSocket:
		return Session{}, wire.RefuseField(wire.InvalidRequest, "human")
	case r.Tester != nil && from != humanSocket:
		return Session{}, wire.RefuseField(wire.InvalidRequest, "tester")
	case r.Human != nil:
		return b.proveHuman(peer, *r.Human, r.Business)
	case r.Tester != nil:
		// Testers come with the tester's proof; until then every business has
		// them off, whatever its vars say.
		return Session{}, wire.Refuse(wire.TesterOff)
	}
	session, found := b.sessions.session(r.Cap)
	if !found {
		return Session{}, wire.Refuse(wire.UnknownCapability)
	}
	return session, nil
}

// perform finds the verb and runs it for a proven session. Every refusal that
// it returns has left its evidence, or has become storage-unavailable
// (BUS-PROTO-27, 28).
func (b *Broker) perform(ctx context.Context, c *Call, peer wire.Peer, r *wire.Request) (wire.Encoded, error) {
	verb := verbsByName[r.Verb]
	if verb == nil {
		// The name is the caller's text and stays out of the evidence.
		return nil, b.refuse(ctx, c.Session, "", nil, wire.Refuse(wire.UnknownVerb))
	}
	return b.run(ctx, c, verb, peer, r)
}

func (b *Broker) run(ctx context.Context, c *Call, verb *Verb, peer wire.Peer, r *wire.Request) (wire.Encoded, error) {
	args, err := verb.arguments(c.Session, r.Args)
	if err != nil {
		return nil, b.refuse(ctx, c.Session, verb.Name, nil, err)
	}
	if verb.prepare != nil {
		if err := b.prepare(ctx, c, verb, args, peer, r.Human); err != nil {
			return nil, b.refuse(ctx, c.Session, verb.Name, args, err)
		}
	}
	if verb.Writes {
		return b.update(ctx, c, verb, args)
	}
	result, err := b.view(ctx, c, verb, args)
	if err != nil {
		return nil, b.refuse(ctx, c.Session, verb.Name, args, err)
	}
	return result, nil
}

// arguments checks everything that needs no store: the session's kind before
// anything else, and then the form of the arguments. Absent ones are {}.
func (v *Verb) arguments(s Session, given json.RawMessage) (any, error) {
	if v.Sessions&s.Kind == 0 {
		return nil, wire.Refuse(wrongSession(s.Kind, v.Sessions))
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

// prepare runs the verb's step outside of any transaction, for a run that
// holds its claim: nobody else makes the broker wait. A proof that the request
// depends on must still be good afterwards (BUS-PROTO-35).
func (b *Broker) prepare(ctx context.Context, c *Call, v *Verb, args any, peer wire.Peer, proof *wire.Proof) error {
	err := b.store.View(ctx, func(s *evidence.Snapshot) error { return checkClaim(&s.Rows, c.Session, v) })
	if err != nil {
		return err
	}
	if c.Prepared, err = v.prepare(ctx, b, c.Session, args); err != nil {
		return err
	}
	if proof == nil {
		return nil
	}
	if _, refusal := b.proveHuman(peer, *proof, c.Session.Business.ID); refusal != nil {
		return refusal
	}
	return nil
}

// update runs a writing verb in one transaction. The reply is made inside it:
// what cannot be told to the caller has not happened.
func (b *Broker) update(ctx context.Context, c *Call, v *Verb, args any) (wire.Encoded, error) {
	var result wire.Encoded
	err := b.store.Update(ctx, func(tx *evidence.Tx) (err error) {
		c.Rows, c.Tx, c.committed = &tx.Rows, tx, nil
		result, err = v.run(c, args)
		return err
	}, func(tx *evidence.Tx, refusal error) error {
		return appendRefusal(tx, c.Session, v.Name, args, refusal)
	})
	if err != nil {
		return nil, err
	}
	for _, do := range c.committed {
		do()
	}
	return result, nil
}

// view runs a reading verb on a snapshot.
func (b *Broker) view(ctx context.Context, c *Call, v *Verb, args any) (wire.Encoded, error) {
	var result wire.Encoded
	err := b.store.View(ctx, func(s *evidence.Snapshot) (err error) {
		c.Rows = &s.Rows
		result, err = v.run(c, args)
		return err
	})
	return result, err
}

func (v *Verb) run(c *Call, args any) (wire.Encoded, error) {
	if err := checkClaim(c.Rows, c.Session, v); err != nil {
		return nil, err
	}
	value, err := v.handle(c, args)
	if err != nil {
		return nil, err
	}
	result, err := wire.Encode(value)
	if err != nil {
		return nil, err
	}
	// The envelope around a result is at most a hundred bytes.
	if len(result) > wire.MaxReply-128 {
		return nil, wire.Refuse(wire.ResponseTooLarge)
	}
	return result, nil
}

// checkClaim refuses a role session whose run does not hold its role now
// (BUS-OPEN-26, BUS-CLAIM-14).
func checkClaim(rows *evidence.Rows, s Session, v *Verb) error {
	if s.Kind != RoleSession || v.Unclaimed {
		return nil
	}
	return s.holds(rows)
}

// holds refuses not-holder unless the session's run holds its role.
func (s Session) holds(rows *evidence.Rows) error {
	claim, err := rows.Holder(s.Business.ID, s.Role)
	if err != nil {
		return err
	}
	if claim == nil || claim.Run != s.Run {
		return wire.Refuse(wire.NotHolder)
	}
	return nil
}
