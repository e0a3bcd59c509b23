package broker

import (
	"context"
	"errors"
	"io/fs"

	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/wire"
)

// reasonLost is the reason of a run whose end nobody saw.
const reasonLost = "lost"

// LaunchEnd is the end of a run (BUS-CTL-55). Reason is an identifier that the
// launcher picks: exited, failed, stopped, idle, revoked, lost, host-stopped.
type LaunchEnd struct {
	Business wire.Business `json:"business"`
	Run      wire.Run      `json:"run"`
	Reason   string        `json:"reason"`
	ExitCode *int          `json:"exitCode,omitempty"`
}

// endedBody is the body of session.ended (BUS-CTL-56).
type endedBody struct {
	Reason   string `json:"reason"`
	ExitCode *int   `json:"exitCode"`
	Released bool   `json:"released"` // the run held its role until now
}

// EndLaunch records the end of a bound run, releases its claim and drops its
// capabilities. run-ended for a second end, unknown-run for a run that this
// broker has not bound, invalid-request for a reason that is no identifier.
func (b *Broker) EndLaunch(ctx context.Context, e LaunchEnd) error {
	if !moduleName.MatchString(e.Reason) {
		return wire.RefuseField(wire.InvalidRequest, "reason")
	}
	b.lifecycle.Lock()
	defer b.lifecycle.Unlock()
	record, ended, bound := b.sessions.run(e.Business, e.Run)
	switch {
	case !bound:
		return wire.Refuse(wire.UnknownRun)
	case ended:
		return wire.Refuse(wire.RunEnded)
	}
	s := Session{Business: b.businesses[e.Business], Role: record.Role, Run: record.Run}
	if err := b.writeEnd(ctx, s, endedBody{Reason: e.Reason, ExitCode: e.ExitCode}); err != nil {
		return b.public(err)
	}
	b.sessions.end(e.Run)
	return nil
}

// writeEnd releases the claim that the run may still hold and records its end,
// in one transaction.
func (b *Broker) writeEnd(ctx context.Context, s Session, body endedBody) error {
	return b.store.Update(ctx, func(tx *evidence.Tx) error {
		end, err := tx.Ended(s.Run)
		if err != nil {
			return err
		}
		if end != nil {
			return wire.Refuse(wire.RunEnded)
		}
		if body.Released, err = s.releaseHeld(tx); err != nil {
			return err
		}
		_, err = s.append(tx, evidence.SessionEnded, nil, body)
		return err
	}, nil)
}

// releaseHeld releases the role when the run holds it, on the broker's behalf.
func (s Session) releaseHeld(tx *evidence.Tx) (bool, error) {
	claim, err := tx.Holder(s.Business.ID, s.Role)
	if err != nil || claim == nil || claim.Run != s.Run {
		return false, err
	}
	_, err = tx.AppendClaim(evidence.Claim{
		Business: s.Business.ID, Role: s.Role, Run: s.Run, Op: evidence.OpRelease, By: string(wire.BusRun),
	})
	return err == nil, err
}

// LostRun is a run of the store that has not ended and that this broker has
// not bound, as its session.launched event recorded it.
type LostRun struct {
	LaunchRecord
	At wire.Timestamp `json:"at"`
}

// lost is a lost run with the boot of the machine that it ran in.
type lost struct {
	LostRun
	boot string
}

// LostRuns lists them, oldest first. After a crash of the host these are the
// runs whose end nobody saw.
func (b *Broker) LostRuns(ctx context.Context) ([]LostRun, error) {
	b.lifecycle.Lock()
	defer b.lifecycle.Unlock()
	all, err := b.lostRuns(ctx)
	if err != nil {
		return nil, b.public(err)
	}
	runs := make([]LostRun, len(all))
	for i, each := range all {
		runs[i] = each.LostRun
	}
	return runs, nil
}

func (b *Broker) lostRuns(ctx context.Context) ([]lost, error) {
	var runs []lost
	err := b.store.View(ctx, func(s *evidence.Snapshot) error {
		events, err := s.RunsNotEnded()
		if err != nil {
			return err
		}
		for i := range events {
			e := &events[i]
			if _, _, bound := b.sessions.run(e.Business, *e.Run); bound {
				continue
			}
			body, err := decodeLaunched(e)
			if err != nil {
				return err
			}
			runs = append(runs, lost{boot: body.Boot, LostRun: LostRun{At: e.At, LaunchRecord: LaunchRecord{
				Business: e.Business, Role: *e.Role, Run: *e.Run,
				Harness: body.Harness, Address: body.Address, PID: body.PID, StartTime: body.StartTime,
			}}})
		}
		return nil
	})
	return runs, err
}

// EndLost records the end of a lost run with reason lost and releases its
// claim. It refuses run-alive while the recorded process (pid and start time,
// in this boot) still exists, and unknown-run for a run that is not lost.
func (b *Broker) EndLost(ctx context.Context, business wire.Business, run wire.Run) error {
	b.lifecycle.Lock()
	defer b.lifecycle.Unlock()
	runs, err := b.lostRuns(ctx)
	if err != nil {
		return b.public(err)
	}
	for _, each := range runs {
		if each.Business != business || each.Run != run {
			continue
		}
		if b.alive(each) {
			return wire.Refuse(wire.RunAlive)
		}
		// The business or role may be gone from the configuration by now.
		s := Session{Business: &Business{ID: business}, Role: each.Role, Run: run}
		if err := b.writeEnd(ctx, s, endedBody{Reason: reasonLost}); err != nil {
			return b.public(err)
		}
		return nil
	}
	return wire.Refuse(wire.UnknownRun)
}

// alive reports whether the process that was launched may still exist. What
// cannot be read counts as alive: nothing is taken from a run by mistake.
func (b *Broker) alive(each lost) bool {
	if each.boot != b.boot {
		return false
	}
	stat, err := b.processes.Stat(each.PID)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	return err != nil || stat.Start == each.StartTime && !stat.Ended()
}
