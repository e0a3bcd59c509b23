package host

import (
	"cmp"
	"context"
	"maps"
	"os"
	"slices"

	"mosaicstack.dev/mosaic/internal/broker"
	"mosaicstack.dev/mosaic/internal/launch"
	"mosaicstack.dev/mosaic/internal/org"
	"mosaicstack.dev/mosaic/internal/wire"
)

func (h *host) status(ctx context.Context, who caller, _ none) (Status, error) {
	h.mu.Lock()
	s := Status{Phase: h.phase, Since: h.since, Version: h.options.Version, Sockets: h.socketsFor(who)}
	organization := h.organization
	if who.human() {
		s.PID, s.DataRoot, s.LastRefusal = os.Getpid(), h.options.DataRoot, h.refusal
	}
	h.mu.Unlock()
	s.Harnesses = h.launcher.Harnesses()
	all := h.launcher.Runs()
	for _, id := range slices.Sorted(maps.Keys(h.known)) {
		if !who.human() && id != who.business {
			continue
		}
		b, err := h.businessStatus(ctx, id, organization.Businesses[id].Launch, all)
		if err != nil {
			return Status{}, err
		}
		s.Businesses = append(s.Businesses, b)
	}
	s.Runs = []RunInfo{}
	for _, info := range slices.Backward(visible(all, who)) {
		if info.State != launch.StateEnded {
			s.Runs = append(s.Runs, h.runInfo(info, who))
		}
	}
	return s, nil
}

// readyStatus is what the person would see first.
func (h *host) readyStatus(ctx context.Context) Status {
	s, err := h.status(ctx, caller{kind: broker.HumanSession}, none{})
	if err != nil {
		h.log.Warn("no status at the start", "cause", err)
	}
	return s
}

func (h *host) socketsFor(who caller) *Sockets {
	s := h.sockets
	if !who.human() {
		s.Human, s.HostHuman = "", ""
	}
	return &s
}

func (h *host) businessStatus(ctx context.Context, id wire.Business, l *org.Launch, all []launch.Info) (BusinessStatus, error) {
	revoked, err := h.broker.LaunchesRevoked(ctx, id)
	if err != nil {
		return BusinessStatus{}, err
	}
	s := BusinessStatus{ID: id, Launches: "allowed", Sandbox: h.sandboxStatus(id, l),
		Roles: slices.Sorted(maps.Keys(h.known[id].Roles))}
	if revoked {
		s.Launches = "revoked"
	}
	if l != nil {
		s.Limit = l.Limits.Sessions
	}
	for _, info := range all {
		if info.Business == id && info.State != launch.StateEnded {
			s.Sessions++
		}
	}
	return s, nil
}

func (h *host) sandboxStatus(id wire.Business, l *org.Launch) SandboxStatus {
	kind := sandbox(l)
	if h.lowered(id, kind) {
		return SandboxStatus{Kind: string(launch.Bubblewrap), Code: wire.SandboxLowered}
	}
	s := SandboxStatus{Kind: string(kind), Works: h.launcher.SandboxWorks(kind)}
	if !s.Works {
		s.Code = wire.SandboxUnavailable
	}
	return s
}

// sandbox is what a business's runs are launched in.
func sandbox(l *org.Launch) launch.Kind {
	if l == nil {
		return launch.Bubblewrap
	}
	return launch.Kind(cmp.Or(l.Sandbox, org.Bubblewrap))
}

// visible are the runs that the caller may know of.
func visible(all []launch.Info, who caller) []launch.Info {
	if who.human() {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(i launch.Info) bool { return i.Business != who.business })
}

// runInfo leaves out what only the person may see: what runs, and where.
func (h *host) runInfo(i launch.Info, who caller) RunInfo {
	r := RunInfo{
		Run: i.Run, Business: i.Business, Instance: i.Instance, Harness: i.Harness,
		Sandbox: string(i.Sandbox), State: i.State, At: i.At,
	}
	if i.State == launch.StateEnded && i.End != nil {
		r.Ended, r.Reason = i.End.At, i.End.Reason
		if exit := i.End.Exit; exit != nil {
			r.ExitCode, r.Signal = &exit.Code, exit.Signal
		}
	}
	if who.human() {
		r.PID, r.Log, r.Command, r.Dir = i.PID, h.launcher.OutputPath(i.Run), i.Command, i.Dir
	}
	return r
}
