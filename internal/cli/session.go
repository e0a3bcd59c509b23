package cli

import (
	"context"
	"encoding/json"
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
	bus  *client.Client
	host *client.Client
}

// hostPatience is how long the host may take for an answer that it does not
// hold on purpose: starting a run takes longer than a verb of the bus.
const hostPatience = 15 * time.Second

// session proves who is asking: the run of the environment by its capability,
// or the person by this process. Call it before stdin is read, because proving
// a person may start the command again.
func (a *app) session() (*session, error) {
	patient := client.Timeout(host.MaxWaitMs*time.Millisecond + hostPatience)
	if a.env.managed() {
		auth := client.Capability(a.env["MOSAIC_BUS_CAP"])
		return &session{
			role: true,
			bus:  client.New(a.env["MOSAIC_BUS_SOCKET"], auth),
			host: client.New(a.env["MOSAIC_HOST_SOCKET"], auth, patient),
		}, nil
	}
	business, err := a.chooseBusiness()
	if err != nil {
		return nil, err
	}
	sockets, err := a.sockets()
	if err != nil {
		return nil, err
	}
	proof, err := a.prove()
	if err != nil {
		return nil, err
	}
	auth := client.Human(proof.PID, proof.Nonce, string(business))
	return &session{bus: client.New(sockets.Human, auth), host: client.New(sockets.HostHuman, auth, patient)}, nil
}

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

// chooseBusiness is the business that the person acts in.
func (a *app) chooseBusiness() (wire.Business, error) {
	for _, named := range []string{a.business, a.env["MOSAIC_BUSINESS"]} {
		if named != "" {
			return wire.Business(named), nil
		}
	}
	root, err := a.root()
	if err != nil {
		return "", err
	}
	organization, err := org.Load(root)
	if err != nil {
		return "", err
	}
	var names []string
	for id := range organization.Businesses {
		names = append(names, string(id))
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

// whole is verb for an answer that is printed as it came with --json, and
// decoded for people.
func whole[R any](ctx context.Context, s *session, name string, args any) (raw, R, error) {
	var reply raw
	var result R
	err := s.bus.Call(ctx, name, args, &reply)
	if err == nil {
		err = decode(reply, &result)
	}
	return reply, result, err
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
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, hostPatience)
		defer cancel()
	}
	var reply raw
	var result R
	err := s.host.Call(ctx, name, args, &reply)
	if err == nil {
		err = decode(reply, &result)
	}
	return result, err
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
