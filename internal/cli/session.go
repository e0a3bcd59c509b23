package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mosaicstack.dev/mosaic/client"
	"mosaicstack.dev/mosaic/internal/broker"
	"mosaicstack.dev/mosaic/internal/host"
	"mosaicstack.dev/mosaic/internal/org"
	"mosaicstack.dev/mosaic/internal/wire"
)

// session acts as one proven caller: a managed run's role, or the person. It
// sends each request once. When a reply is lost the error is outcome-unknown,
// and what follows is up to the person (BUS-PROTO-17).
type session struct {
	role bool // a role of a managed run; otherwise the person
	// business is the person's; a role's is its capability's.
	business wire.Business
	bus      *client.Client
	host     *client.Client
	did      func(look string) // is told of what was done (printer.did)
}

// hostPatience is how long the host may take for an answer that it does not
// hold on purpose: starting a run takes longer than a verb of the bus.
const hostPatience = 15 * time.Second

// session proves who is asking: the run of the environment by its capability,
// or the person by this process. Call it before stdin is read, because proving
// a person may start the command again.
//
// Which business the person acts in is asked of the host, which knows what runs
// whatever has become of the organization file since. The file is read only
// when no host answers, to say what is missing.
func (a *app) session(ctx context.Context) (*session, error) {
	if a.env.managed() {
		auth := client.Capability(a.env["MOSAIC_BUS_CAP"])
		return &session{
			role: true,
			bus:  client.New(a.env["MOSAIC_BUS_SOCKET"], auth),
			host: client.New(a.env["MOSAIC_HOST_SOCKET"], auth, patient),
			did:  a.out.did,
		}, nil
	}
	sockets, err := a.sockets()
	if err != nil {
		return nil, err
	}
	proof, err := a.prove()
	if err != nil {
		return nil, err
	}
	business := a.namedBusiness()
	if business == "" {
		if business, err = a.onlyBusiness(ctx, sockets, proof); err != nil {
			return nil, err
		}
	}
	auth := client.Human(proof.PID, proof.Nonce, string(business))
	return &session{business: business, bus: client.New(sockets.Human, auth), host: client.New(sockets.HostHuman, auth, patient), did: a.out.did}, nil
}

// patient is how long the host may take: it holds some answers on purpose.
var patient = client.Timeout(host.MaxWaitMs*time.Millisecond + hostPatience)

// sockets are where the sockets of the data root are: a long path has them
// elsewhere (DESIGN.md 4).
func (a *app) sockets() (host.Sockets, error) {
	root, err := a.root()
	if err != nil {
		return host.Sockets{}, err
	}
	bus, err := wire.FindSocketDir(broker.BusDirectory(root))
	if err != nil {
		return host.Sockets{}, err
	}
	own, err := wire.FindSocketDir(filepath.Join(root, host.Directory))
	if err != nil {
		return host.Sockets{}, err
	}
	return host.Sockets{
		Bus:       filepath.Join(bus, broker.BusSocket),
		Human:     filepath.Join(bus, broker.HumanSocket),
		Host:      filepath.Join(own, host.SocketName),
		HostHuman: filepath.Join(own, host.HumanSocketName),
	}, nil
}

// namedBusiness is the business that the command line or the environment names.
func (a *app) namedBusiness() wire.Business {
	return wire.Business(cmp.Or(a.business, a.env["MOSAIC_BUSINESS"]))
}

// anyBusiness stands for a business where status does not need to know one.
const anyBusiness = "any"

// businesses are those of the running host.
func businesses(ctx context.Context, sockets host.Sockets, proof wire.Proof) ([]host.BusinessStatus, error) {
	s := &session{host: client.New(sockets.HostHuman, client.Human(proof.PID, proof.Nonce, anyBusiness), patient)}
	status, err := hostVerb[host.Status](ctx, s, "status", none{})
	return status.Businesses, err
}

// onlyBusiness is the one business that there is.
func (a *app) onlyBusiness(ctx context.Context, sockets host.Sockets, proof wire.Proof) (wire.Business, error) {
	var names []string
	running, err := businesses(ctx, sockets, proof)
	switch {
	case errors.Is(err, wire.Refuse(wire.Unavailable)):
		root, err := a.root()
		if err != nil {
			return "", err
		}
		organization, err := org.Load(root)
		if err != nil {
			return "", err
		}
		for id := range organization.Businesses {
			names = append(names, string(id))
		}
	case err != nil:
		return "", err
	}
	for _, b := range running {
		names = append(names, string(b.ID))
	}
	slices.Sort(names)
	if len(names) != 1 {
		return "", usage("the organization has %d businesses; name one with --business: %s", len(names), strings.Join(names, ", "))
	}
	return wire.Business(names[0]), nil
}

// none is the arguments of verbs that take none.
type none = struct{}

// verb calls a verb of the bus.
func verb[R any](ctx context.Context, s *session, name string, args any) (R, error) {
	_, result, err := whole[R](ctx, s, name, args)
	return result, err
}

// unanswered tells a read that got no answer in time for what it is: nothing
// was to be changed, so nothing about it is uncertain.
func unanswered(name string, err error) error {
	if !errors.Is(err, wire.Refuse(wire.OutcomeUnknown)) || errors.Is(err, context.Canceled) || !reads(name) {
		return err
	}
	return explained(wire.Refuse(wire.TimedOut), "the host did not answer; it may hang")
}

// reads reports whether a verb of the bus or of the host changes nothing.
func reads(name string) bool {
	if v, known := broker.FindVerb(name); known {
		return !v.Writes
	}
	return name == "status" || name == "runs"
}

// whole is verb for an answer that is printed as it came with --json, and
// decoded for people.
func whole[R any](ctx context.Context, s *session, name string, args any) (raw, R, error) {
	var reply raw
	var result R
	err := checkArguments(args)
	if err == nil {
		err = unanswered(name, s.bus.Call(ctx, name, args, &reply))
	}
	v, known := broker.FindVerb(name)
	if err != nil {
		return nil, result, withLimit(err, v.Arguments)
	}
	if known && v.Writes {
		s.noteDone(name, reply)
	}
	return reply, result, decode(reply, &result)
}

// withLimit says what a refused argument may be, from the registry.
func withLimit(err error, arguments func() []broker.Argument) error {
	var refusal *wire.Error
	var said *detailed
	if !errors.As(err, &refusal) || refusal.Field == "" || errors.As(err, &said) {
		return err
	}
	for _, a := range arguments() {
		if a.Name == refusal.Field && a.Limit != "" {
			return explained(err, "%s must be %s", a.Name, a.Limit)
		}
	}
	return err
}

// noteDone remembers the command that shows what a call has changed, for when
// its answer cannot be printed.
func (s *session) noteDone(verb string, reply raw) {
	if s.did == nil {
		return
	}
	var ids struct{ ID, Decision, Run string }
	json.Unmarshal(reply, &ids) // lists and other shapes have none
	look := "mosaic inbox"
	switch {
	case strings.HasPrefix(verb, "role."):
		look = "mosaic agents"
	case verb == "launch.revoke", verb == "launch.restore":
		look = "mosaic launches"
	case verb == "message.receive":
		look = "mosaic messages"
	case verb == "launch", verb == "stop":
		look = "mosaic runs " + ids.Run
	case cmp.Or(ids.ID, ids.Decision) != "":
		look = "mosaic trail " + cmp.Or(ids.ID, ids.Decision)
	}
	s.did(look)
}

// decode reads a reply that this program's own broker or host made. What a
// newer one adds is passed over.
func decode(reply raw, v any) error {
	if json.Unmarshal(reply, v) != nil {
		return wire.Refuse(wire.ProtocolFailed)
	}
	return nil
}

// hostVerb calls a verb of the host.
func hostVerb[R any](ctx context.Context, s *session, name string, args any) (R, error) {
	if _, limited := ctx.Deadline(); !limited {
		patience := hostPatience
		if reads(name) {
			patience = client.DefaultTimeout
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	var reply raw
	var result R
	err := checkArguments(args)
	if err == nil {
		err = unanswered(name, s.host.Call(ctx, name, args, &reply))
	}
	if err != nil {
		return result, withLimit(err, func() []broker.Argument { return host.ArgumentsOf(name) })
	}
	switch name {
	case "launch", "stop":
		s.noteDone(name, reply)
	case "land":
		if l, ok := args.(host.LandArgs); ok {
			s.did("mosaic trail " + string(l.Decision))
		}
	}
	return result, decode(reply, &result)
}

// raw is a result that is passed on as it came.
type raw = json.RawMessage

// The polling of everything that waits: the bus has no way to wake a client,
// so a wait asks again, soon at first and then less often.
const (
	pollFirst = 100 * time.Millisecond
	pollMost  = time.Second
)

// poll calls ask until it says done, fails, or the time is up (false, nil). A
// wait of 0 asks once; a negative one waits as long as ctx does.
func poll(ctx context.Context, wait time.Duration, ask func() (done bool, err error)) (bool, error) {
	deadline := time.Now().Add(wait)
	for pause := pollFirst; ; pause = min(pause*2, pollMost) {
		done, err := ask()
		if done || err != nil {
			return done, err
		}
		if wait >= 0 {
			left := time.Until(deadline)
			if left <= 0 {
				return false, nil
			}
			pause = min(pause, left)
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return false, ctx.Err()
		}
	}
}

// checkRole refuses a role that the business does not have, before anything is
// typed to it. When the host cannot be asked, the bus judges the first message.
func checkRole(ctx context.Context, s *session, role wire.Role) error {
	status, err := hostVerb[host.Status](ctx, s, "status", none{})
	if err != nil || role == wire.HumanRole {
		return nil
	}
	for _, b := range status.Businesses {
		if (s.role || b.ID == s.business) && slices.Contains(b.Roles, role) {
			return nil
		}
	}
	return wire.RefuseField(wire.UnknownRole, "ROLE")
}
