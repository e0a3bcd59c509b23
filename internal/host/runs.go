package host

import (
	"context"
	"time"

	"mosaicstack.dev/mosaic/internal/broker"
	"mosaicstack.dev/mosaic/internal/launch"
	"mosaicstack.dev/mosaic/internal/org"
	"mosaicstack.dev/mosaic/internal/wire"
)

// RevokeGrace is how long a run whose claim was revoked has to exit by itself
// (BUS-OPEN-18).
const RevokeGrace = 30 * time.Second

func (h *host) runs(_ context.Context, who caller, _ none) (RunList, error) {
	list := RunList{Runs: []RunInfo{}}
	for _, info := range visible(h.launcher.Runs(), who) {
		list.Runs = append(list.Runs, h.runInfo(info, who))
	}
	return list, nil
}

// find returns a run that the caller may know of; unknown-run.
func (h *host) find(id wire.Run, who caller) (launch.Info, error) {
	info, err := h.launcher.Run(id)
	if err == nil && !who.human() && info.Business != who.business {
		err = wire.Refuse(wire.UnknownRun)
	}
	return info, err
}

func (h *host) run(_ context.Context, who caller, a RunArgs) (RunInfo, error) {
	info, err := h.find(a.Run, who)
	if err != nil {
		return RunInfo{}, err
	}
	return h.runInfo(info, who), nil
}

func (h *host) waitRun(ctx context.Context, who caller, a RunWaitArgs) (RunInfo, error) {
	if a.TimeoutMs < 0 || a.TimeoutMs > MaxWaitMs {
		return RunInfo{}, wire.RefuseField(wire.InvalidRequest, "timeoutMs")
	}
	if _, err := h.find(a.Run, who); err != nil {
		return RunInfo{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(a.TimeoutMs)*time.Millisecond)
	defer cancel()
	info, err := h.launcher.Wait(ctx, a.Run)
	if err != nil {
		return RunInfo{}, err
	}
	return h.runInfo(info, who), nil
}

// stopRun is for the person, and for a role that may end runs: the broker
// checks role.end and records that the role did it.
func (h *host) stopRun(ctx context.Context, who caller, a StopArgs) (RunInfo, error) {
	info, err := h.find(a.Run, who)
	if err != nil {
		return RunInfo{}, err
	}
	if !who.human() && info.State != launch.StateEnded {
		target := string(info.Instance)
		_, err := h.broker.Authorize(ctx, who.cap, broker.Action{
			Action: org.ActionRoleEnd, Target: &target, Detail: map[string]any{"run": info.Run},
		})
		if err != nil {
			return RunInfo{}, err
		}
	}
	if info, err = h.launcher.Stop(a.Run, launch.Stopped); err != nil {
		return RunInfo{}, err
	}
	h.log.Info("a run was told to stop", "run", a.Run, "instance", info.Instance, "human", who.human())
	return h.runInfo(info, who), nil
}

// claimRevoked stops a run that stays after its claim was revoked. The broker
// calls it; the launcher is not there yet only while no run is.
func (h *host) claimRevoked(_ wire.Business, run wire.Run) {
	grace := h.options.revokeGrace
	if grace == 0 {
		grace = RevokeGrace
	}
	h.launcher.StopAfter(run, grace, launch.Revoked)
}
