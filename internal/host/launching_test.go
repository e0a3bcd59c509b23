package host

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mosaicstack.dev/mosaic/client"
	"mosaicstack.dev/mosaic/internal/broker"
	"mosaicstack.dev/mosaic/internal/launch"
	"mosaicstack.dev/mosaic/internal/wire"
)

// refusals lists "verb code" of a run's action.refused events.
func (h *testHost) refusals(run wire.Run) []string {
	h.t.Helper()
	return h.query(`SELECT coalesce(body ->> 'verb', '') || ' ' || (body ->> 'code') FROM events WHERE kind = 'action.refused' AND run = ? ORDER BY seq`, string(run))
}

// proves: BUS-LAUNCH-10 BUS-LAUNCH-11 BUS-CTL-51 BUS-OPEN-01 BUS-OPEN-16
func TestARolesLaunches(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, kind launch.Kind) {
		h := newTestHost(t, kind)
		chief := h.agent("chief")
		var launched Launched
		if err := chief.host("launch", LaunchArgs{Instance: "dev"}, &launched); err != nil {
			t.Fatal(err)
		}
		if launched.PID != 0 || launched.Log != "" {
			t.Errorf("the role is told where: %+v", launched)
		}
		info := do[RunInfo](h, "run", RunArgs{launched.Run})
		if info.Dir != h.project || !slices.Equal(info.Command[:2], []string{"sh", "-c"}) {
			t.Errorf("it runs %q in %s", info.Command, info.Dir)
		}
		chief.refused("launch", LaunchArgs{Instance: "dev"}, wire.Refuse(wire.InstanceRunning))
		chief.refused("launch", LaunchArgs{Instance: "op"}, wire.Refuse(wire.InstanceNotListed))
		chief.refused("launch", LaunchArgs{Instance: "nobody"}, wire.RefuseField(wire.UnknownRole, "target"))
		chief.refused("launch", LaunchArgs{Instance: "rev"}, wire.Refuse(wire.CommandMissing))
		chief.refused("launch", LaunchArgs{Instance: "rev", Command: []string{"true"}}, wire.RefuseField(wire.HumanRequired, "command"))
		chief.refused("launch", LaunchArgs{Instance: "rev", Harness: "exec"}, wire.RefuseField(wire.HumanRequired, "harness"))
		chief.refused("launch", LaunchArgs{Instance: "rev", Dir: "/"}, wire.RefuseField(wire.HumanRequired, "dir"))
		h.agent("pm")
		h.agent("cto")
		chief.refused("launch", LaunchArgs{Instance: "rev"}, wire.Refuse(wire.Capacity))
		h.human("launch.revoke", none{})
		chief.refused("launch", LaunchArgs{Instance: "rev"}, wire.Refuse(wire.LaunchRevoked))

		want := []string{" instance-running", " instance-not-listed", "authorizeLaunch unknown-role", " command-missing", " capacity", "authorizeLaunch launch-revoked"}
		if got := h.refusals(chief.run); !slices.Equal(got, want) {
			t.Errorf("the evidence is %q", got)
		}
		if last := do[Status](h, "status", none{}).LastRefusal; last == nil || last.Code != wire.LaunchRevoked || last.Instance != "rev" || last.Verb != "launch" {
			t.Errorf("status shows %+v", last)
		}
	})
}

// proves: BUS-LAUNCH-10
func TestARoleWithoutAuthorityLearnsNothingOfRuns(t *testing.T) {
	t.Parallel()
	h := newTestHost(t, launch.None)
	dev := h.agent("dev")
	for _, instance := range []wire.Role{"dev", "rev", "op"} { // running, free, not listed
		dev.refused("launch", LaunchArgs{Instance: instance}, wire.Refuse(wire.DecisionRequired))
	}
	if got := h.refusals(dev.run); len(got) != 3 {
		t.Errorf("the evidence is %q", got)
	}
}

// An approved decision launches once, whatever the launch list says of a
// business without a launch block.
// proves: BUS-OPEN-01
func TestWithoutALaunchBlockADecisionLaunches(t *testing.T) {
	t.Parallel()
	h := prepareHost(t, t.TempDir(), launch.None)
	text, _, _ := strings.Cut(organization, "    launch:")
	h.organize(text)
	h.start()
	if !h.status.Businesses[0].Sandbox.Works {
		t.Skip("bubblewrap does not work on this machine: see the launcher's probe")
	}
	pm := h.agent("pm")
	pm.refused("launch", LaunchArgs{Instance: "dev"}, wire.Refuse(wire.DecisionRequired))
	var decision struct {
		ID wire.DecisionID `json:"id"`
	}
	err := pm.call(h.status.Sockets.Bus, "decision.raise", map[string]any{
		"action": "role.launch", "target": "dev", "question": "Start dev?", "blocking": false,
		"options": []map[string]string{{"key": "yes", "text": "Start it"}, {"key": "no", "text": "Leave it"}}, "recommendation": "yes",
	}, &decision)
	if err != nil {
		t.Fatal(err)
	}
	pm.refused("launch", LaunchArgs{Instance: "dev", Decision: decision.ID}, wire.Refuse(wire.DecisionOpen))
	h.human("decision.resolve", map[string]string{"id": string(decision.ID), "choice": "yes"})
	if err := pm.host("launch", LaunchArgs{Instance: "dev", Decision: decision.ID}, nil); err != nil {
		t.Fatal(err)
	}
	pm.refused("launch", LaunchArgs{Instance: "dev", Decision: decision.ID}, wire.Refuse(wire.DecisionConsumed))
}

func TestThePersonsLaunches(t *testing.T) {
	t.Parallel()
	h := newTestHost(t, launch.None)
	h.refused("launch", LaunchArgs{Instance: "nobody"}, wire.RefuseField(wire.UnknownRole, "instance"))
	h.refused("launch", LaunchArgs{Instance: "dev", Dir: "relative"}, wire.RefuseField(wire.InvalidRequest, "dir"))
	h.refused("launch", LaunchArgs{Instance: "rev"}, wire.Refuse(wire.CommandMissing))
	h.refused("launch", LaunchArgs{Instance: "rev", Harness: "codex", Command: []string{"true"}}, wire.RefuseField(wire.InvalidHarness, "harness"))
	h.refused("launch", LaunchArgs{Instance: "rev", Command: []string{"true"}, Decision: "x"}, wire.RefuseField(wire.AgentRequired, "decision"))
	h.refused("land", LandArgs{Project: "web"}, wire.Refuse(wire.AgentRequired))
	h.refused("lunch", none{}, wire.Refuse(wire.UnknownVerb))

	// Any instance of the business, listed or not; and without a command the
	// organization's.
	unlisted := do[Launched](h, "launch", LaunchArgs{Instance: "op", Command: []string{"true"}, Dir: h.project})
	configured := do[Launched](h, "launch", LaunchArgs{Instance: "dev"})
	eventually(t, "the configured command runs", func() bool {
		return strings.Contains(h.output(configured.Run), "configured in "+h.project)
	})
	h.wait(unlisted.Run)

	h.human("launch.revoke", none{})
	h.refused("launch", LaunchArgs{Instance: "rev", Command: []string{"true"}}, wire.Refuse(wire.LaunchRevoked))
	if s := do[Status](h, "status", none{}); s.Businesses[0].Launches != "revoked" || s.Businesses[1].Launches != "allowed" {
		t.Errorf("status shows %+v", s.Businesses)
	}
	h.human("launch.restore", none{})
	do[Launched](h, "launch", LaunchArgs{Instance: "rev", Command: []string{"true"}, Dir: h.project})
}

// proves: BUS-LAUNCH-11
func TestOfManyLaunchesAtOnceOneIsTheRun(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, kind launch.Kind) {
		h := newTestHost(t, kind)
		chief := h.agent("chief")
		results := make([]error, 12)
		var all sync.WaitGroup
		for i := range results {
			all.Go(func() {
				if i%2 == 0 {
					results[i] = chief.host("launch", LaunchArgs{Instance: "dev"}, nil)
				} else {
					results[i] = h.call("launch", LaunchArgs{Instance: "dev"}, nil)
				}
			})
		}
		all.Wait()
		launched := 0
		for _, err := range results {
			if err == nil {
				launched++
			} else if !errors.Is(err, wire.Refuse(wire.InstanceRunning)) {
				t.Errorf("refused with %v", err)
			}
		}
		if n := h.query(`SELECT count(*) FROM events WHERE kind = 'session.launched' AND role = 'dev'`); launched != 1 || n[0] != "1" {
			t.Errorf("%d launched, the evidence has %s", launched, n[0])
		}
	})
}

// Whatever can be known to stand in the way of a launch refuses it before the
// approval is spent; when it is out of the way, the same approval launches.
// proves: BUS-AUTH-40 BUS-CTL-51
func TestALaunchThatCannotBeLeavesTheApproval(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, kind launch.Kind) {
		h := newTestHost(t, kind)
		whole := strings.ReplaceAll(organization, "SANDBOX", string(kind))
		program := filepath.Join(h.project, "agent")
		pm := h.agent("pm")
		launching := LaunchArgs{Instance: "dev", Decision: pm.approvedFor("role.launch", "dev")}
		cases := []struct {
			name     string
			old, new string
			want     *wire.Error
		}{
			{"no command", ", command: [sh, -c, 'echo configured in $(pwd); exec sleep 1000']", "", wire.Refuse(wire.CommandMissing)},
			{"no such program", "[sh, -c, ", "[no-such-program, ", wire.RefuseField(wire.SpawnFailed, "command")},
			{"not executable", "[sh, -c, ", "['" + program + "', ", wire.RefuseField(wire.SpawnFailed, "command")},
			{"no directory", "{repo: PROJECT}", "{repo: PROJECT/gone}", wire.RefuseField(wire.InvalidRequest, "dir")},
			{"no such harness", "plugins: {harness: [exec]}", "plugins: {harness: [exec, codex]}", wire.RefuseField(wire.InvalidHarness, "harness")},
			{"not switched on", "plugins: {harness: [exec]}", "plugins: {harness: [codex]}", wire.RefuseField(wire.InvalidHarness, "harness")},
			{"not listed", "instances: [cto, pm, dev, rev]", "instances: [cto, pm, rev]", wire.Refuse(wire.InstanceNotListed)},
			{"no place", "sessions: 4", "sessions: 1", wire.Refuse(wire.Capacity)},
			{"gone", "      dev: {", "      other: {", wire.RefuseField(wire.UnknownRole, "instance")},
		}
		if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			text := strings.Replace(whole, c.old, c.new, 1)
			switch c.name {
			case "no such harness":
				text = strings.Replace(text, "developer, command: [sh, -c, 'echo configured in $(pwd); exec sleep 1000']", "developer, harness: codex", 1)
			case "not switched on":
				text = strings.Replace(text, ", command: [sh, -c, 'echo configured in $(pwd); exec sleep 1000']", "", 1)
			case "gone":
				text = strings.Replace(text, "[cto, pm, dev, rev]", "[cto, pm, other, rev]", 1)
			}
			h.organize(text)
			t.Log(c.name)
			pm.refused("launch", launching, c.want)
		}
		h.organize(whole)
		running := do[Launched](h, "launch", LaunchArgs{Instance: "dev"})
		pm.refused("launch", launching, wire.Refuse(wire.InstanceRunning))
		do[RunInfo](h, "stop", StopArgs{running.Run})
		h.wait(running.Run)
		if spent := h.query(`SELECT id FROM events WHERE spends = ?`, string(launching.Decision)); len(spent) != 0 {
			t.Fatalf("the approval was spent: %q", spent)
		}
		if log := h.log.String(); strings.Contains(log, "does not load") {
			t.Errorf("a case was not what it says:\n%s", log)
		}
		if err := pm.host("launch", launching, nil); err != nil {
			t.Errorf("after all that: %v\n%s", err, h.log)
		}
		launching.Instance = "rev"
		pm.refused("launch", launching, wire.Refuse(wire.DecisionMismatch))
		launching.Instance = "dev"
		pm.refused("launch", launching, wire.Refuse(wire.DecisionConsumed))
	})
}

// An approval for an assistant is not spent either: assistants come with
// threads.
func TestAnAssistantIsNotLaunched(t *testing.T) {
	t.Parallel()
	h := prepareHost(t, t.TempDir(), launch.None)
	h.organize(strings.NewReplacer("SANDBOX", "none", "op: {definition: operator}", "desk: {definition: assistant}",
		"[cto, pm, dev, rev]", "[cto, pm, dev, rev, desk]").Replace(organization))
	h.start()
	want := wire.RefuseField(wire.ThreadRequired, "thread")
	h.refused("launch", LaunchArgs{Instance: "desk", Command: []string{"true"}, Dir: h.project}, want)
	pm := h.agent("pm")
	decision := pm.approvedFor("role.launch", "desk")
	pm.refused("launch", LaunchArgs{Instance: "desk", Decision: decision}, want)
	if spent := h.query(`SELECT id FROM events WHERE spends = ?`, string(decision)); len(spent) != 0 {
		t.Errorf("the approval was spent: %q", spent)
	}
}

// A program that passes every check and does not start all the same: the run
// was bound, so it is ended, and the refusal is recorded.
// proves: BUS-CTL-51
func TestAFailedStartIsRecordedForTheRoleThatAsked(t *testing.T) {
	t.Parallel()
	h := newTestHost(t, launch.None)
	program := filepath.Join(h.project, "agent")
	if err := os.WriteFile(program, []byte("no program at all"), 0o700); err != nil {
		t.Fatal(err)
	}
	h.organize(strings.NewReplacer("SANDBOX", "none", "[sh, -c, ", "['"+program+"', ").Replace(organization))
	chief := h.agent("chief")
	chief.refused("launch", LaunchArgs{Instance: "dev"}, wire.Refuse(wire.SpawnFailed))
	if got := h.refusals(chief.run); !slices.Equal(got, []string{" spawn-failed"}) {
		t.Errorf("the evidence is %q", got)
	}
	failed := do[RunList](h, "runs", none{}).Runs[0]
	if failed.Instance != "dev" || failed.State != launch.StateEnded || failed.Reason != launch.Failed {
		t.Fatalf("runs shows %+v", failed)
	}
	events := h.events(failed.Run)
	if last := events[len(events)-1]; last != `session.ended {"reason":"failed","exitCode":null,"released":false}` {
		t.Errorf("the evidence of the run ends with %s", last)
	}
	if said := h.output(failed.Run); !strings.Contains(said, "exec format error") {
		t.Errorf("the person reads %q", said)
	}
}

// The person's change of the file counts at the next launch; a file that does
// not load leaves the one before in place.
// proves: BUS-OPEN-01
func TestTheOrganizationCountsAtTheNextLaunch(t *testing.T) {
	t.Parallel()
	h := newTestHost(t, launch.None)
	text := strings.ReplaceAll(organization, "SANDBOX", "none")
	rev := LaunchArgs{Instance: "rev", Command: []string{"sleep", "1000"}, Dir: h.project}
	h.organize(strings.ReplaceAll(text, "sessions: 4", "sessions: 1"))
	h.agent("dev")
	h.refused("launch", rev, wire.Refuse(wire.Capacity))
	h.organize("version: 1\nbroken")
	h.refused("launch", rev, wire.Refuse(wire.Capacity))
	h.organize(strings.NewReplacer("harness: [exec]", "harness: [codex]", ", command: [sh, -c, 'echo configured in $(pwd); exec sleep 1000']", "").Replace(text))
	h.refused("launch", rev, wire.RefuseField(wire.InvalidHarness, "harness"))
	h.organize(text)
	do[Launched](h, "launch", rev)
	if limit := do[Status](h, "status", none{}).Businesses[0].Limit; limit != 4 {
		t.Errorf("the limit is %d", limit)
	}
}

// A role's runs inherit what its file names, and no other role's do.
func TestARoleNamesWhatItsRunsInherit(t *testing.T) {
	t.Parallel()
	h := newTestHost(t, launch.None, func(o *Options) {
		o.Environ = append(os.Environ(), "HOST_TEST_NAMED=named", "HOST_TEST_SECRET=secret")
	})
	for instance, want := range map[wire.Role]bool{"rev": true, "pm": false} {
		launched := do[Launched](h, "launch", LaunchArgs{Instance: instance, Command: []string{"env"}, Dir: h.project})
		h.wait(launched.Run)
		said := h.output(launched.Run)
		if strings.Contains(said, "HOST_TEST_NAMED=named") != want || strings.Contains(said, "secret") {
			t.Errorf("%s has\n%s", instance, said)
		}
	}
}

func TestStop(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, kind launch.Kind) {
		h := newTestHost(t, kind)
		chief, dev, rev := h.agent("chief"), h.agent("dev"), h.agent("rev")
		dev.refused("stop", StopArgs{rev.run}, wire.Refuse(wire.DecisionRequired))
		if err := chief.host("stop", StopArgs{dev.run}, nil); err != nil {
			t.Fatal(err)
		}
		if info := h.wait(dev.run); info.Reason != launch.Stopped {
			t.Errorf("stopped by a role: %+v", info)
		}
		if events := h.events(chief.run); !slices.ContainsFunc(events, func(e string) bool {
			return strings.HasPrefix(e, "action.allowed ") && strings.Contains(e, `"role.end"`) && strings.Contains(e, string(dev.run))
		}) {
			t.Errorf("nothing says that the role did it: %q", events)
		}
		do[RunInfo](h, "stop", StopArgs{rev.run})
		if info := h.wait(rev.run); info.Reason != launch.Stopped || info.ExitCode == nil || *info.ExitCode != 143 {
			t.Errorf("stopped by the person: %+v", info)
		}
		if info := do[RunInfo](h, "stop", StopArgs{rev.run}); info.Reason != launch.Stopped {
			t.Errorf("again: %+v", info)
		}
		h.refused("stop", StopArgs{"01900000-0000-7000-8000-000000000000"}, wire.Refuse(wire.UnknownRun))
		h.refused("stop", StopArgs{"../../bus"}, wire.Refuse(wire.UnknownRun))
	})
}

// proves: BUS-OPEN-18
func TestARevokedRunThatStaysIsStopped(t *testing.T) {
	t.Parallel()
	h := newTestHost(t, launch.None, func(o *Options) { o.revokeGrace = 10 * time.Millisecond })
	chief, dev := h.agent("chief"), h.agent("dev")
	if err := chief.call(h.status.Sockets.Bus, "role.revoke", map[string]string{"role": "dev", "reason": "It repeats itself."}, nil); err != nil {
		t.Fatal(err)
	}
	if info := h.wait(dev.run); info.Reason != launch.Revoked {
		t.Errorf("it ended as %+v", info)
	}
	if events := h.events(dev.run); events[len(events)-1] != `session.ended {"reason":"revoked","exitCode":143,"released":false}` {
		t.Errorf("the evidence is %q", events)
	}
}

func TestWaitingForARun(t *testing.T) {
	t.Parallel()
	h := newTestHost(t, launch.None)
	dev := h.agent("dev")
	for _, bad := range []int{-1, MaxWaitMs + 1} {
		h.refused("runs.wait", RunWaitArgs{Run: dev.run, TimeoutMs: bad}, wire.RefuseField(wire.InvalidRequest, "timeoutMs"))
	}
	if info := do[RunInfo](h, "runs.wait", RunWaitArgs{Run: dev.run, TimeoutMs: 10}); info.State != launch.StateRunning {
		t.Errorf("after the time: %+v", info)
	}
	answered := make(chan RunInfo)
	go func() { answered <- h.wait(dev.run) }()
	do[RunInfo](h, "stop", StopArgs{dev.run})
	if info := <-answered; info.Reason != launch.Stopped {
		t.Errorf("at its end: %+v", info)
	}
}

// A role sees the runs of its business, and of them neither files nor
// processes; the person sees all.
func TestWhatWhoSees(t *testing.T) {
	t.Parallel()
	h := newTestHost(t, launch.None)
	dev := h.agent("dev")
	auth := client.Human(os.Getpid(), h.nonce, "globex")
	var elsewhere Launched
	args := LaunchArgs{Instance: "dev", Command: []string{"sleep", "1000"}, Dir: h.project}
	err := client.New(h.status.Sockets.HostHuman, auth).Call(t.Context(), "launch", args, &elsewhere)
	if errors.Is(err, wire.Refuse(wire.SandboxUnavailable)) {
		t.Skip("bubblewrap does not work on this machine: see the launcher's probe")
	}
	if err != nil {
		t.Fatal(err)
	}
	var seen RunList
	if err := dev.host("runs", none{}, &seen); err != nil {
		t.Fatal(err)
	}
	if len(seen.Runs) != 1 || seen.Runs[0].Run != dev.run || seen.Runs[0].Log != "" || seen.Runs[0].PID != 0 || seen.Runs[0].Command != nil || seen.Runs[0].Dir != "" {
		t.Errorf("the role sees %+v", seen.Runs)
	}
	for _, verb := range []string{"run", "runs.wait", "stop"} {
		dev.refused(verb, RunArgs{elsewhere.Run}, wire.Refuse(wire.UnknownRun))
	}
	all := do[RunList](h, "runs", none{}).Runs
	if len(all) != 2 || all[0].Run != elsewhere.Run || all[0].Log == "" || all[0].PID == 0 || all[0].Dir != h.project {
		t.Errorf("the person sees %+v", all)
	}
	s := do[Status](h, "status", none{})
	if s.PID != os.Getpid() || s.DataRoot != h.root || len(s.Runs) != 2 || s.Sockets.Human == "" || !slices.Contains(s.Harnesses, "exec") {
		t.Errorf("the person's status: %+v", s)
	}
}

// Who cannot prove anything is answered nothing.
func TestProofs(t *testing.T) {
	t.Parallel()
	h := newTestHost(t, launch.None)
	ask := func(socket string, auth client.Auth, verb string) wire.Code {
		return client.CodeOf(client.New(socket, auth).Call(t.Context(), verb, none{}, nil))
	}
	call := func(socket string, auth client.Auth) wire.Code { return ask(socket, auth, "status") }
	runs, person := h.status.Sockets.Host, h.status.Sockets.HostHuman
	if code := call(runs, client.Capability(strings.Repeat("B", 43))); code != wire.UnknownCapability {
		t.Errorf("a made-up capability: %s", code)
	}
	if code := call(person, client.Human(os.Getpid(), strings.Repeat("A", 43), "acme")); code != wire.HumanRequired {
		t.Errorf("a made-up nonce: %s", code)
	}
	if code := ask(person, client.Human(os.Getpid(), h.nonce, "initech"), "runs"); code != wire.HumanRequired {
		t.Errorf("no business of the organization: %s", code)
	}
	// Status tells the person which businesses there are, so it asks for none.
	if code := call(person, client.Human(os.Getpid(), h.nonce, "initech")); code != "" {
		t.Errorf("status for no business of the organization: %s", code)
	}
	if code := call(person, client.Human(os.Getpid(), strings.Repeat("A", 43), "initech")); code != wire.HumanRequired {
		t.Errorf("a made-up nonce for no business: %s", code)
	}
	dev := h.agent("dev")
	do[RunInfo](h, "stop", StopArgs{dev.run})
	h.wait(dev.run)
	if err := dev.host("status", none{}, nil); !errors.Is(err, wire.Refuse(wire.UnknownCapability)) {
		t.Errorf("the capability of an ended run: %v", err)
	}
	// Each socket takes one kind of proof.
	if code := call(person, client.Capability(strings.Repeat("B", 43))); code != wire.InvalidRequest {
		t.Errorf("a capability at the person's socket: %s", code)
	}
	if code := call(runs, client.Human(os.Getpid(), h.nonce, "acme")); code != wire.InvalidRequest {
		t.Errorf("the person at the runs' socket: %s", code)
	}
}

// However many connections runs hold open, the person stops them.
func TestRunsCannotCrowdThePersonOut(t *testing.T) {
	t.Parallel()
	h := newTestHost(t, launch.None)
	dev := h.agent("dev")
	for range wire.MaxConnections {
		c, err := net.Dial("unix", h.status.Sockets.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	if err := h.call("stop", RunArgs{dev.run}, nil); err != nil {
		t.Errorf("the person could not stop the run: %v", err)
	}
}

func TestASandboxThatDoesNotWorkIsSaid(t *testing.T) {
	t.Parallel()
	h := prepareHost(t, t.TempDir(), launch.Bubblewrap)
	h.options.Executable = "/bin/sh" // knows no stage command, so the probe fails
	h.start()
	for _, b := range h.status.Businesses {
		if b.Sandbox != (SandboxStatus{Kind: "bubblewrap", Code: wire.SandboxUnavailable}) {
			t.Errorf("status shows %+v", b)
		}
	}
}

func TestTheTableOfVerbs(t *testing.T) {
	t.Parallel()
	for _, v := range Verbs {
		if v.Summary == "" || v.Example == "" || v.Sessions == 0 {
			t.Errorf("%s is not described", v.Name)
		}
		if slices.ContainsFunc(broker.Verbs, func(b broker.Verb) bool { return b.Name == v.Name }) {
			t.Errorf("%s is a verb of both sockets", v.Name)
		}
		args := v.newArgs()
		if err := wire.Decode([]byte(v.Example), args); err != nil {
			t.Errorf("%s: its example: %v", v.Name, err)
		}
	}
}
