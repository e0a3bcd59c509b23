package broker

import (
	"context"
	"encoding/json"
	"errors"

	"mosaicstack.dev/mosaic/internal/wire"
)

// controlRequest is one op of the host. fault is set when the line was a
// request that cannot be carried out.
type controlRequest struct {
	op      string
	id, seq *int64
	args    json.RawMessage // everything but op, id and seq
	fault   *wire.Error
}

// parseControl takes a line apart. The number comes back under the name that
// it came with; both names at once refuse (BUS-OPEN-10).
//
// A line that names one of controlOps is refused under its number for what is
// wrong with the rest of it: a host forwards what runs gave it, such as a
// capability with a NUL in it, and no run may end the broker by that. Any other
// line that is no strict JSON breaks the protocol.
func parseControl(line []byte) (controlRequest, error) {
	var r controlRequest
	var members map[string]json.RawMessage
	if err := wire.Decode(line, &members); err != nil {
		members = wire.Members(line)
		r.fault = controlFault(err)
	}
	if wire.Decode(members["op"], &r.op) != nil {
		return controlRequest{}, errProtocol
	}
	if _, known := controlOps[r.op]; r.fault != nil && !known {
		return controlRequest{}, errProtocol
	}
	r.number(members)
	if r.fault != nil {
		return r, nil
	}
	for _, name := range []string{"op", "id", "seq"} {
		delete(members, name)
	}
	args, err := wire.Encode(members)
	if err != nil {
		return controlRequest{}, errProtocol
	}
	r.args = args
	return r, nil
}

// controlFault is the refusal of an op whose line the decoder refused.
func controlFault(err error) *wire.Error {
	if refusal := wire.AsError(err); refusal != nil {
		return refusal
	}
	return wire.Refuse(wire.InvalidRequest)
}

// number reads the request's number.
func (r *controlRequest) number(members map[string]json.RawMessage) {
	id, hasID := members["id"]
	seq, hasSeq := members["seq"]
	switch {
	case hasID && hasSeq:
		r.fault = wire.RefuseField(wire.InvalidRequest, "seq")
	case hasID:
		r.id = r.safeInteger("id", id)
	case hasSeq:
		r.seq = r.safeInteger("seq", seq)
	}
}

func (r *controlRequest) safeInteger(name string, text json.RawMessage) *int64 {
	var n int64
	if wire.Decode(text, &n) != nil || n > wire.MaxSafeInteger || n < -wire.MaxSafeInteger {
		r.fault = wire.RefuseField(wire.InvalidRequest, name)
		return nil
	}
	return &n
}

// result is the reply of a request that was carried out.
func (r controlRequest) result(value any) controlReply {
	return controlReply{ID: r.id, Seq: r.seq, OK: true, Result: value}
}

// refusal is the reply of one that was not.
func (r controlRequest) refusal(err error) *controlReply {
	reply := controlReply{ID: r.id, Seq: r.seq, Error: wire.StorageUnavailable}
	var refusal *wire.Error
	if errors.As(err, &refusal) {
		reply.Error, reply.Field = refusal.Code, refusal.Field
	}
	return &reply
}

// controlOp is one row of the table of ops after boot.
type controlOp func(ctx context.Context, b *Broker, args json.RawMessage) (any, error)

// controlOps are the trusted calls of the channel (BUS-CTL). boot and close
// belong to the channel's own life.
var controlOps = map[string]controlOp{
	"bindLaunch": op(func(ctx context.Context, b *Broker, a struct {
		Record LaunchRecord `json:"record"`
	}) (any, error) {
		return b.BindLaunch(ctx, a.Record)
	}),
	"identity": op(func(_ context.Context, b *Broker, a struct {
		Cap wire.Capability `json:"cap"`
	}) (any, error) {
		return b.Identity(a.Cap)
	}),
	"authorizeLaunch": op(func(ctx context.Context, b *Broker, a struct {
		Cap      wire.Capability `json:"cap"`
		Instance wire.Role       `json:"instance"`
		Decision wire.DecisionID `json:"decision,omitempty"`
	}) (any, error) {
		return struct {
			Authorized bool `json:"authorized"`
		}{true}, b.AuthorizeLaunch(ctx, a.Cap, a.Instance, a.Decision)
	}),
	"refuse": op(func(ctx context.Context, b *Broker, a struct {
		Cap     wire.Capability `json:"cap"`
		Code    wire.Code       `json:"code"`
		Subject string          `json:"subject,omitempty"`
	}) (any, error) {
		return struct{}{}, b.Refuse(ctx, a.Cap, a.Code, a.Subject)
	}),
	"endLaunch": op(func(ctx context.Context, b *Broker, a struct {
		Record LaunchEnd `json:"record"`
	}) (any, error) {
		return struct{}{}, b.EndLaunch(ctx, a.Record)
	}),
	"lostRuns": op(func(ctx context.Context, b *Broker, _ none) (any, error) {
		return b.LostRuns(ctx)
	}),
	"endLost": op(func(ctx context.Context, b *Broker, a struct {
		Business wire.Business `json:"business"`
		Run      wire.Run      `json:"run"`
	}) (any, error) {
		return struct{}{}, b.EndLost(ctx, a.Business, a.Run)
	}),
}

// op makes an op of a function with a struct of arguments.
func op[A any](do func(context.Context, *Broker, A) (any, error)) controlOp {
	return func(ctx context.Context, b *Broker, args json.RawMessage) (any, error) {
		var a A
		if err := wire.Decode(args, &a); err != nil {
			return nil, err
		}
		return do(ctx, b, a)
	}
}

// none reports whether the request has no arguments and no fault, and makes an
// argument that it has its fault.
func (r *controlRequest) none() bool {
	if r.fault == nil {
		if err := wire.Decode(r.args, new(none)); err != nil {
			r.fault = wire.Refuse(wire.InvalidRequest)
			errors.As(err, &r.fault)
		}
	}
	return r.fault == nil
}

// perform carries out one op and makes its one reply (BUS-CTL-45).
func (r controlRequest) perform(ctx context.Context, b *Broker) controlReply {
	if r.fault != nil {
		return *r.refusal(r.fault)
	}
	do, known := controlOps[r.op]
	if !known {
		return *r.refusal(wire.RefuseField(wire.InvalidRequest, "op"))
	}
	value, err := do(ctx, b, r.args)
	if err != nil {
		return *r.refusal(err)
	}
	reply := r.result(value)
	if launch, bound := value.(BoundLaunch); bound {
		reply.Result, reply.Launch = nil, &launch
	}
	return reply
}
