package broker

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mosaicstack.dev/mosaic/internal/proc/proctest"
	"mosaicstack.dev/mosaic/internal/wire"
)

// end is the end of the session's run.
func (s session) end(reason string, exit *int) LaunchEnd {
	return LaunchEnd{Business: s.business, Run: s.run, Reason: reason, ExitCode: exit}
}

func (tb *testBroker) ends() [][]string {
	tb.t.Helper()
	return tb.query(`SELECT run, role, body FROM events WHERE kind = 'session.ended' ORDER BY seq`)
}

// proves: BUS-CTL-55 BUS-CTL-56 BUS-CTL-57 BUS-CTL-58 BUS-CTL-59 BUS-CTL-60 BUS-CTL-61 BUS-OPEN-17
func TestTheEndOfARun(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev, idle, rev := tb.holder("dev"), tb.launch("dev"), tb.holder("rev")
	code := 3
	for _, reason := range []string{"", "Exited", "has exited", strings.Repeat("x", 64)} {
		err := tb.EndLaunch(t.Context(), dev.end(reason, nil))
		refusedWith(t, "reason "+reason, nil, err, wire.InvalidRequest)
	}
	foreign := dev.end("exited", nil)
	foreign.Business = "globex"
	refusedWith(t, "another business", nil, tb.EndLaunch(t.Context(), foreign), wire.UnknownRun)
	unknown := dev.end("exited", nil)
	unknown.Run = newRun()
	refusedWith(t, "unknown run", nil, tb.EndLaunch(t.Context(), unknown), wire.UnknownRun)

	if err := tb.EndLaunch(t.Context(), dev.end("failed", &code)); err != nil {
		t.Fatal(err)
	}
	if err := tb.EndLaunch(t.Context(), idle.end("stopped", nil)); err != nil {
		t.Fatal(err)
	}
	refusedWith(t, "second end", nil, tb.EndLaunch(t.Context(), dev.end("failed", &code)), wire.RunEnded)
	want := [][]string{
		{string(dev.run), "dev", `{"reason":"failed","exitCode":3,"released":true}`},
		{string(idle.run), "dev", `{"reason":"stopped","exitCode":null,"released":false}`},
	}
	if diff := cmp.Diff(want, tb.ends()); diff != "" {
		t.Errorf("ends (-want +got):\n%s", diff)
	}
	tb.refused(dev, "agents", nil, wire.UnknownCapability)
	tb.refused(idle, "role.claim", nil, wire.UnknownCapability)
	last := [][]string{{"claim", string(dev.run), string(dev.run)}, {"release", string(dev.run), "bus"}}
	if diff := cmp.Diff(last, tb.claims("dev")); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
	tb.holder("dev")
	tb.do(rev, "agents", nil)

	tb.restart()
	refusedWith(t, "a run of an earlier broker", nil, tb.EndLaunch(t.Context(), rev.end("exited", nil)), wire.UnknownRun)
	rev = tb.rebind(rev)
	if err := tb.EndLaunch(t.Context(), rev.end("host-stopped", nil)); err != nil {
		t.Error(err)
	}
}

// After a crash of the host its runs are lost: they are listed, and end once
// their process is gone for sure.
func TestLostRuns(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev, rev, pm := tb.holder("dev"), tb.launch("rev"), tb.holder("pm")
	if runs, err := tb.LostRuns(t.Context()); err != nil || len(runs) != 0 {
		t.Fatalf("lost %v, %v", runs, err)
	}
	refusedWith(t, "a bound run", nil, tb.EndLost(t.Context(), "acme", dev.run), wire.UnknownRun)
	tb.restart()
	pm = tb.rebind(pm)

	runs, err := tb.LostRuns(t.Context())
	if err != nil || len(runs) != 2 {
		t.Fatalf("lost %v, %v", runs, err)
	}
	for i, s := range []session{dev, rev} {
		if diff := cmp.Diff(s.record, runs[i].LaunchRecord); diff != "" || runs[i].At == "" {
			t.Errorf("lost run (-want +got):\n%s at %q", diff, runs[i].At)
		}
	}
	lose := func(s session) error { return tb.EndLost(t.Context(), "acme", s.run) }
	refusedWith(t, "a process that lives", nil, lose(dev), wire.RunAlive)
	tb.table.Fail(dev.record.PID, proctest.Stat, fs.ErrPermission)
	refusedWith(t, "a process that cannot be seen", nil, lose(dev), wire.RunAlive)
	tb.table.Fail(dev.record.PID, proctest.Stat, nil)
	refusedWith(t, "another business", nil, tb.EndLost(t.Context(), "globex", dev.run), wire.UnknownRun)
	refusedWith(t, "a bound run", nil, lose(pm), wire.UnknownRun)

	tb.table.Remove(dev.record.PID)
	if err := lose(dev); err != nil {
		t.Fatal(err)
	}
	refusedWith(t, "twice", nil, lose(dev), wire.UnknownRun)
	// The pid of the other is used again, by another process.
	tb.table.Set(rev.record.PID, proctest.Process{Start: rev.record.StartTime + 1, UID: os.Geteuid()})
	if err := lose(rev); err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{string(dev.run), "dev", `{"reason":"lost","exitCode":null,"released":true}`},
		{string(rev.run), "rev", `{"reason":"lost","exitCode":null,"released":false}`},
	}
	if diff := cmp.Diff(want, tb.ends()); diff != "" {
		t.Errorf("ends (-want +got):\n%s", diff)
	}
	if runs, err := tb.LostRuns(t.Context()); err != nil || len(runs) != 0 {
		t.Errorf("lost %v, %v", runs, err)
	}
}

// A run of another boot of the machine is gone, whatever has its pid now; and
// one whose role the configuration no longer has can still be ended.
func TestALostRunOfAnotherBoot(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev := tb.holder("dev")
	delete(tb.config.Businesses["acme"].Roles, "dev")
	acme := tb.config.Businesses["acme"]
	acme.Launch = nil
	tb.config.Businesses["acme"] = acme
	tb.restart()
	refusedWith(t, "in this boot", nil, tb.EndLost(t.Context(), "acme", dev.run), wire.RunAlive)
	tb.Broker.boot = "another-boot"
	if err := tb.EndLost(t.Context(), "acme", dev.run); err != nil {
		t.Fatal(err)
	}
}

// proves: BUS-CTL-50 BUS-CTL-52 BUS-CTL-53 BUS-CTL-54 BUS-OPEN-16
func TestTheHostRecordsItsOwnRefusals(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	chief := tb.launch("chief") // the host refuses runs without a claim too
	for _, code := range []wire.Code{
		"instance-not-listed", "instance-running", "capacity", "launch-revoked", "spawn-failed", "sandbox-unavailable",
	} {
		if err := tb.Refuse(t.Context(), chief.proof.Cap, code, ""); err != nil {
			t.Errorf("%s: %v", code, err)
		}
	}
	got := tb.refusals(chief.run)
	if len(got) != 6 || got[2] != (refusalEvent{Code: wire.Capacity}) {
		t.Errorf("refusals %+v", got)
	}
	for subject, want := range map[string]string{
		"queue:fix-login": "queue:fix-login", "vikunja:3/41": "vikunja:3/41",
		"vikunja:03/41": "", "free text": "", string(newRun()): "",
	} {
		if err := tb.Refuse(t.Context(), chief.proof.Cap, wire.SpawnFailed, subject); err != nil {
			t.Error(err)
		}
		events := tb.refusals(chief.run)
		if last := events[len(events)-1]; last.Subject != want || last.Verb != "" {
			t.Errorf("subject %q is recorded as %+v", subject, last)
		}
	}
	bodies := tb.query(`SELECT DISTINCT body FROM events WHERE kind = 'action.refused' AND body LIKE '%spawn%'`)
	if diff := cmp.Diff([][]string{{`{"verb":null,"code":"spawn-failed"}`}}, bodies); diff != "" {
		t.Errorf("bodies (-want +got):\n%s", diff)
	}
	before := len(tb.refusals(chief.run))
	for _, code := range []wire.Code{"", "not-holder", "anything", "spawn failed: /bin/sh"} {
		refusedWith(t, string(code), nil, tb.Refuse(t.Context(), chief.proof.Cap, code, ""), wire.InvalidRequest)
	}
	refusedWith(t, "nobody", nil, tb.Refuse(t.Context(), "x", wire.Capacity, ""), wire.UnknownCapability)
	refusedWith(t, "a reader", nil, tb.Refuse(t.Context(), tb.reader().proof.Cap, wire.Capacity, ""), wire.UnknownCapability)
	if after := len(tb.refusals(chief.run)); after != before {
		t.Errorf("%d refusals of the host's own mistakes are recorded", after-before)
	}
}
