package broker

import (
	"context"
	"encoding/json"
	"path/filepath"

	"github.com/google/uuid"

	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/wire"
)

// threadDefinition is the definition whose instances work in threads, one
// run a thread (BUS-CLAIM-25).
const threadDefinition = "assistant"

var (
	// moduleName is the form of a plug-in module's name (BUS-OPEN-03). Which
	// harnesses there are is not the broker's business (BUS-CTL-32).
	moduleName = wire.NewPattern(`^[a-z][a-z0-9-]{0,62}$`)
	// opaque is the form of an address and an account (BUS-OPEN-05).
	opaque = wire.NewPattern(`^[ -~]{1,256}$`)
)

// launchedBody is the body of session.launched: the identity that a rebind
// must repeat. It has no account and no transcript (BUS-CTL-09, 37). Boot
// makes pid and start time meaningful after the machine was restarted.
type launchedBody struct {
	Harness   string `json:"harness"`
	Address   string `json:"address,omitempty"`
	PID       int    `json:"pid"`
	StartTime uint64 `json:"startTime"`
	Boot      string `json:"boot"`
}

// binding is a launch record on its way through bind, with what had to be
// found out before the transaction: neither /proc nor the organization file is
// read on the writer's goroutine.
type binding struct {
	record   LaunchRecord
	business *Business
	harness  error // why a new run may not use the harness, or nil
	process  error // why the record does not name a living process, or nil
}

// BindLaunch registers a run that the host launched and returns its capability
// (BUS-CTL-22 to 36). A run that the store knows must have the identity that
// it was launched with: launch-mismatch otherwise, and run-ended after its end.
func (b *Broker) BindLaunch(ctx context.Context, r LaunchRecord) (BoundLaunch, error) {
	bound, err := b.bind(ctx, []LaunchRecord{r})
	if err != nil {
		return BoundLaunch{}, b.public(err)
	}
	return bound[0], nil
}

// bind binds all the records or none of them.
func (b *Broker) bind(ctx context.Context, records []LaunchRecord) ([]BoundLaunch, error) {
	b.lifecycle.Lock()
	defer b.lifecycle.Unlock()
	bindings := make([]binding, len(records))
	for i, r := range records {
		var err error
		if bindings[i], err = b.checkRecord(r); err != nil {
			return nil, err
		}
	}
	if len(bindings) == 0 {
		return nil, nil
	}
	err := b.store.Update(ctx, func(tx *evidence.Tx) error {
		for _, each := range bindings {
			if err := each.write(tx, b.boot); err != nil {
				return err
			}
		}
		return nil
	}, nil)
	if err != nil {
		return nil, err
	}
	bound := make([]BoundLaunch, len(bindings))
	for i, each := range bindings {
		cap := b.sessions.addRun(each.business, each.record)
		bound[i] = BoundLaunch{Business: each.business.ID, Run: each.record.Run, Cap: cap}
	}
	return bound, nil
}

// checkRecord checks the form of a record, its role and its thread, and finds
// out what the transaction needs to know (BUS-OPEN-06).
func (b *Broker) checkRecord(r LaunchRecord) (binding, error) {
	if field := malformed(r); field != "" {
		return binding{}, wire.RefuseField(wire.InvalidRequest, field)
	}
	business, found := b.businesses[r.Business]
	if !found {
		return binding{}, wire.RefuseField(wire.InvalidRequest, "business")
	}
	role, found := business.Roles[r.Role]
	if !found {
		return binding{}, wire.RefuseField(wire.UnknownRole, "role")
	}
	if err := checkThread(role, r.Thread); err != nil {
		return binding{}, err
	}
	if !moduleName.MatchString(r.Harness) {
		return binding{}, wire.RefuseField(wire.InvalidHarness, "harness")
	}
	each := binding{record: r, business: business, process: b.checkProcess(r)}
	if b.options.HarnessOn != nil && !b.options.HarnessOn(r.Business, r.Harness) {
		each.harness = wire.RefuseField(wire.InvalidHarness, "harness")
	}
	return each, nil
}

// malformed names the first field of a record that has not its form, or "".
func malformed(r LaunchRecord) string {
	switch {
	case !isRun(string(r.Run)):
		return "run"
	case r.PID <= 0:
		return "pid"
	case r.StartTime == 0:
		return "startTime"
	case r.Address != "" && !opaque.MatchString(r.Address):
		return "address"
	case r.Account != "" && !opaque.MatchString(r.Account):
		return "account"
	case r.Transcript != "" && !filepath.IsAbs(r.Transcript):
		return "transcript"
	}
	return ""
}

// isRun reports whether the text is a UUIDv7 in its one canonical form.
func isRun(text string) bool {
	id, err := uuid.Parse(text)
	return err == nil && id.Version() == 7 && id.String() == text
}

// Threaded says whether the role's runs each belong to a thread.
func (r Role) Threaded() bool { return r.Definition == threadDefinition }

// checkThread holds the rules of BUS-CTL-38 to 41. No business has threads
// yet, so that every thread that a record could name is unknown.
func checkThread(role Role, thread wire.ThreadID) error {
	switch threaded := role.Threaded(); {
	case threaded && thread == "":
		return wire.RefuseField(wire.ThreadRequired, "thread")
	case threaded:
		return wire.RefuseField(wire.ThreadNotFound, "thread")
	case thread != "":
		return wire.RefuseField(wire.ThreadNotAllowed, "thread")
	}
	return nil
}

// checkProcess refuses a record whose process is gone, of another user or of
// another start time: it is not the one that the host started.
func (b *Broker) checkProcess(r LaunchRecord) error {
	stat, err := b.processes.Stat(r.PID)
	if err != nil || stat.Start != r.StartTime || stat.Ended() {
		return wire.Refuse(wire.LaunchMismatch)
	}
	uid, err := b.processes.UID(r.PID)
	if err != nil || uid != b.uid {
		return wire.Refuse(wire.LaunchMismatch)
	}
	return nil
}

// write appends session.launched for a new run, or checks that a known one is
// what it was. The end of a run is told before anything else about it.
func (each binding) write(tx *evidence.Tx, boot string) error {
	r := each.record
	body := launchedBody{Harness: r.Harness, Address: r.Address, PID: r.PID, StartTime: r.StartTime, Boot: boot}
	end, err := tx.Ended(r.Run)
	if err != nil {
		return err
	}
	if end != nil {
		return wire.Refuse(wire.RunEnded)
	}
	known, err := tx.Launched(r.Run)
	if err != nil {
		return err
	}
	if known == nil {
		return each.writeNew(tx, body)
	}
	recorded, err := decodeLaunched(known)
	if err != nil {
		return err
	}
	if known.Business != r.Business || *known.Role != r.Role || recorded != body {
		return wire.Refuse(wire.LaunchMismatch)
	}
	return each.process
}

func (each binding) writeNew(tx *evidence.Tx, body launchedBody) error {
	if each.harness != nil {
		return each.harness
	}
	if each.process != nil {
		return each.process
	}
	s := Session{Business: each.business, Role: each.record.Role, Run: each.record.Run}
	_, err := s.append(tx, evidence.SessionLaunched, nil, body)
	return err
}

// decodeLaunched reads back the body of a session.launched event.
func decodeLaunched(e *evidence.Event) (launchedBody, error) {
	var body launchedBody
	err := json.Unmarshal(e.Body, &body)
	return body, err
}
