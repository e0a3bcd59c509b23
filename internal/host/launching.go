package host

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mosaicstack.dev/mosaic/internal/broker"
	"mosaicstack.dev/mosaic/internal/launch"
	"mosaicstack.dev/mosaic/internal/org"
	"mosaicstack.dev/mosaic/internal/wire"
)

// launch starts a run. A role's authority is asked before anything else is
// looked at, so that nobody without it learns what runs; then come the checks
// that are the host's own (BUS-LAUNCH-10), and only when none is left an
// approval is spent, in which the authority is asked again (BUS-AUTH-40,
// BUS-AUTH-52). What the host refuses a role is recorded (BUS-CTL-51).
func (h *host) launch(ctx context.Context, who caller, a LaunchArgs) (Launched, error) {
	if err := h.mayLaunch(ctx, who, a); err != nil {
		return Launched{}, h.noted(err, "launch", who, a.Instance)
	}
	q, err := h.launchRequest(who, a)
	if err != nil {
		return Launched{}, h.noted(h.recorded(ctx, who, err, ""), "launch", who, a.Instance)
	}
	var refused error // by the broker, which has recorded it
	if !who.human() {
		q.Authorize = func(ctx context.Context) error {
			refused = h.broker.AuthorizeLaunch(ctx, who.cap, a.Instance, a.Decision)
			return refused
		}
	}
	info, err := h.launcher.Launch(ctx, q)
	switch {
	case refused != nil:
		return Launched{}, h.noted(refused, "launch", who, a.Instance)
	case err != nil:
		return Launched{}, h.noted(h.recorded(ctx, who, err, ""), "launch", who, a.Instance)
	}
	h.log.Info("a run was launched", "run", info.Run, "business", info.Business, "instance", info.Instance, "human", who.human())
	result := Launched{Run: info.Run, Instance: info.Instance}
	if who.human() {
		result.PID, result.Log = info.PID, h.launcher.OutputPath(info.Run)
	}
	return result, nil
}

func (h *host) mayLaunch(ctx context.Context, who caller, a LaunchArgs) error {
	if !who.human() {
		if field := personsOwn(a); field != "" {
			return wire.RefuseField(wire.HumanRequired, field)
		}
		return h.broker.MayLaunch(ctx, who.cap, a.Instance, a.Decision)
	}
	if a.Decision != "" {
		return wire.RefuseField(wire.AgentRequired, "decision")
	}
	revoked, err := h.broker.LaunchesRevoked(ctx, who.business)
	if err == nil && revoked {
		err = wire.Refuse(wire.LaunchRevoked)
	}
	return err
}

// personsOwn names an argument that only the person may give: what runs, how
// and where is the organization's to say for a role's launch.
func personsOwn(a LaunchArgs) string {
	switch {
	case a.Harness != "":
		return "harness"
	case a.Command != nil:
		return "command"
	case a.Dir != "":
		return "dir"
	}
	return ""
}

// launchRequest is the launch that is asked for, as far as the organization and
// the broker's roles can tell that it can be.
func (h *host) launchRequest(who caller, a LaunchArgs) (launch.Request, error) {
	if err := h.root.check(); err != nil {
		return launch.Request{}, err
	}
	o := h.configured()
	b, found := o.Businesses[who.business]
	instance, known := o.Resolve(who.business)[a.Instance]
	role, bound := h.known[who.business].Roles[a.Instance]
	if !found || !known || !bound {
		return launch.Request{}, wire.RefuseField(wire.UnknownRole, "instance")
	}
	// Without a launch block the approval that a role needs names the
	// instance, and is the list (BUS-OPEN-01).
	if !who.human() && b.Launch != nil && !slices.Contains(b.Launch.Instances, a.Instance) {
		return launch.Request{}, wire.Refuse(wire.InstanceNotListed)
	}
	if role.Threaded() {
		return launch.Request{}, wire.RefuseField(wire.ThreadRequired, "thread")
	}
	q, err := request(b, instance, a)
	if err == nil && !o.HarnessOn(q.Harness) {
		err = wire.RefuseField(wire.InvalidHarness, "harness")
	}
	if err == nil && h.lowered(b.ID, q.Sandbox) {
		err = wire.Refuse(wire.SandboxLowered)
	}
	return q, err
}

// lowered says whether a business that had a sandbox since the host started is
// to run without.
func (h *host) lowered(business wire.Business, kind launch.Kind) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return kind == launch.None && h.sandboxed[business]
}

// request is what runs: what the person gave, else what the organization says.
func request(b org.Business, r org.Resolved, a LaunchArgs) (launch.Request, error) {
	for _, word := range a.Command {
		if strings.Contains(word, "\x00") {
			return launch.Request{}, wire.RefuseField(wire.InvalidRequest, "command")
		}
	}
	q := launch.Request{
		Business: b.ID, Instance: r.Key, Definition: r.Definition, Charter: r.Charter,
		Harness: cmp.Or(a.Harness, r.Harness, org.ExecHarness), Command: r.Command,
		Env: r.Env, Sandbox: sandbox(b.Launch),
	}
	if a.Command != nil {
		q.Command = a.Command
		q.Harness = cmp.Or(a.Harness, org.ExecHarness)
	}
	if b.Launch != nil {
		q.Sessions = b.Launch.Limits.Sessions
	}
	var err error
	q.Dir, err = workDirectory(b, a.Dir)
	return q, err
}

// workDirectory is where a run starts: where the person says, else in the
// business's project when it has exactly one, else at home.
func workDirectory(b org.Business, given string) (string, error) {
	switch {
	case given != "" && (!filepath.IsAbs(given) || strings.Contains(given, "\x00")):
		return "", wire.RefuseField(wire.InvalidRequest, "dir")
	case given != "":
		return filepath.Clean(given), nil
	}
	if len(b.Projects) == 1 {
		for project := range maps.Values(b.Projects) {
			return project.Repo, nil
		}
	}
	return os.UserHomeDir()
}

// recorded makes a refusal of the host's own to a role part of the evidence
// and returns it, or storage-unavailable when that cannot be done
// (BUS-PROTO-27). A run that ended meanwhile has nobody to be refused.
func (h *host) recorded(ctx context.Context, who caller, err error, subject wire.TaskRef) error {
	var refusal *wire.Error
	if who.human() || !errors.As(err, &refusal) || !slices.Contains(broker.HostRefusals, refusal.Code) {
		return err
	}
	failed := h.broker.Refuse(context.WithoutCancel(ctx), who.cap, refusal.Code, string(subject))
	if failed == nil || errors.Is(failed, wire.Refuse(wire.UnknownCapability)) {
		return err
	}
	h.log.Error("a refusal was not recorded", "code", refusal.Code, "cause", failed)
	return failed
}

// noted keeps a refusal for status and returns it.
func (h *host) noted(err error, verb string, who caller, instance wire.Role) error {
	var refusal *wire.Error
	if errors.As(err, &refusal) {
		h.mu.Lock()
		h.refusal = &Refusal{At: now(), Verb: verb, Code: refusal.Code, Business: who.business, Instance: instance}
		h.mu.Unlock()
	}
	return err
}
