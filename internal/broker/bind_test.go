package broker

import (
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mosaicstack.dev/mosaic/internal/proc/proctest"
	"mosaicstack.dev/mosaic/internal/wire"
)

// proves: BUS-CTL-01 BUS-CTL-02 BUS-CTL-04 BUS-CTL-08 BUS-CTL-09 BUS-CTL-19 BUS-CTL-25 BUS-CTL-37 BUS-CTL-47
// proves: BUS-OPEN-04
func TestBindingARun(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	r := tb.record("acme", "dev")
	r.Address, r.Transcript, r.Account = "tmux:1", "/home/dana/transcripts/1", "account-of-dana"
	s := tb.bound(r)
	identity, err := tb.Identity(s.proof.Cap)
	if err != nil || identity != (RunIdentity{Business: "acme", Role: "dev", Run: r.Run}) {
		t.Errorf("identity %+v, %v", identity, err)
	}
	rows := tb.query(`SELECT business, role, run, kind, body FROM events`)
	if len(rows) != 1 || rows[0][0] != "acme" || rows[0][1] != "dev" || rows[0][2] != string(r.Run) || rows[0][3] != "session.launched" {
		t.Fatalf("events %v", rows)
	}
	for _, secret := range []string{r.Account, r.Transcript} {
		if strings.Contains(rows[0][4], secret) {
			t.Errorf("the body %s holds %s", rows[0][4], secret)
		}
		if n := tb.query(`SELECT count(*) FROM events WHERE body LIKE ?`, "%"+secret+"%"); n[0][0] != "0" {
			t.Errorf("%s is stored", secret)
		}
	}
	if !strings.Contains(rows[0][4], `"harness":"exec","address":"tmux:1","pid":`) {
		t.Errorf("body %s", rows[0][4])
	}
	_, err = tb.Identity("nonsense")
	refusedWith(t, "identity of nobody", nil, err, wire.UnknownCapability)
	_, err = tb.Identity(tb.reader().proof.Cap)
	refusedWith(t, "identity of a reader", nil, err, wire.UnknownCapability)
}

// Each case spoils one field of a record that is otherwise good. The run is
// not bound and the broker goes on.
//
// proves: BUS-CTL-05 BUS-CTL-06 BUS-CTL-23 BUS-CTL-24 BUS-CTL-27 BUS-CTL-30 BUS-CTL-31 BUS-CTL-03
// proves: BUS-CTL-38 BUS-CTL-39 BUS-CTL-40 BUS-CTL-41 BUS-OPEN-03 BUS-OPEN-04 BUS-OPEN-05 BUS-OPEN-06
func TestASpoiledRecordIsNotBound(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		spoil func(*testBroker, *LaunchRecord)
		code  wire.Code
		field string
	}{
		"an unknown business": {func(_ *testBroker, r *LaunchRecord) { r.Business = "nowhere" }, wire.InvalidRequest, "business"},
		"an unknown role":     {func(_ *testBroker, r *LaunchRecord) { r.Role = "nobody" }, wire.UnknownRole, "role"},
		"the human's role":    {func(_ *testBroker, r *LaunchRecord) { r.Role = "human" }, wire.UnknownRole, "role"},
		"no run":              {func(_ *testBroker, r *LaunchRecord) { r.Run = "" }, wire.InvalidRequest, "run"},
		"a run of version 4":  {func(_ *testBroker, r *LaunchRecord) { r.Run = "2f1b8f2e-6b0c-4c43-9d5e-0a3c7f9b1d22" }, wire.InvalidRequest, "run"},
		"a run that is no UUID": {func(_ *testBroker, r *LaunchRecord) {
			r.Run = "run-1"
		}, wire.InvalidRequest, "run"},
		"a run in capitals": {func(_ *testBroker, r *LaunchRecord) {
			r.Run = wire.Run(strings.ToUpper(string(r.Run)))
		}, wire.InvalidRequest, "run"},
		"no pid":                  {func(_ *testBroker, r *LaunchRecord) { r.PID = 0 }, wire.InvalidRequest, "pid"},
		"a group of processes":    {func(_ *testBroker, r *LaunchRecord) { r.PID = -1 }, wire.InvalidRequest, "pid"},
		"no start time":           {func(_ *testBroker, r *LaunchRecord) { r.StartTime = 0 }, wire.InvalidRequest, "startTime"},
		"an address of two lines": {func(_ *testBroker, r *LaunchRecord) { r.Address = "a\nb" }, wire.InvalidRequest, "address"},
		"an address too long": {func(_ *testBroker, r *LaunchRecord) {
			r.Address = strings.Repeat("a", 257)
		}, wire.InvalidRequest, "address"},
		"an account of two lines": {func(_ *testBroker, r *LaunchRecord) { r.Account = "a\nb" }, wire.InvalidRequest, "account"},
		"a relative transcript":   {func(_ *testBroker, r *LaunchRecord) { r.Transcript = "log" }, wire.InvalidRequest, "transcript"},
		"no harness":              {func(_ *testBroker, r *LaunchRecord) { r.Harness = "" }, wire.InvalidHarness, "harness"},
		"a harness in capitals":   {func(_ *testBroker, r *LaunchRecord) { r.Harness = "Claude" }, wire.InvalidHarness, "harness"},
		"a harness that is a path": {func(_ *testBroker, r *LaunchRecord) {
			r.Harness = "../exec"
		}, wire.InvalidHarness, "harness"},
		"a harness too long": {func(_ *testBroker, r *LaunchRecord) {
			r.Harness = strings.Repeat("x", 64)
		}, wire.InvalidHarness, "harness"},
		"a process that is gone":       {func(tb *testBroker, r *LaunchRecord) { tb.table.Remove(r.PID) }, wire.LaunchMismatch, ""},
		"a process that started later": {func(_ *testBroker, r *LaunchRecord) { r.StartTime-- }, wire.LaunchMismatch, ""},
		"a process of another user": {func(tb *testBroker, r *LaunchRecord) {
			tb.table.Set(r.PID, proctest.Process{Start: r.StartTime, UID: os.Geteuid() + 1})
		}, wire.LaunchMismatch, ""},
		"a process that has exited": {func(tb *testBroker, r *LaunchRecord) {
			tb.table.Set(r.PID, proctest.Process{Start: r.StartTime, UID: os.Geteuid(), State: 'Z'})
		}, wire.LaunchMismatch, ""},
		"a process that cannot be read": {func(tb *testBroker, r *LaunchRecord) {
			tb.table.Fail(r.PID, proctest.UID, fs.ErrPermission)
		}, wire.LaunchMismatch, ""},
		"an assistant without a thread": {func(_ *testBroker, r *LaunchRecord) { r.Role = "desk" }, wire.ThreadRequired, "thread"},
		"an assistant in an unknown thread": {func(_ *testBroker, r *LaunchRecord) {
			r.Role, r.Thread = "desk", wire.ThreadID(newRun())
		}, wire.ThreadNotFound, "thread"},
		"another role in a thread": {func(_ *testBroker, r *LaunchRecord) {
			r.Thread = wire.ThreadID(newRun())
		}, wire.ThreadNotAllowed, "thread"},
	}
	tb := newTestBroker(t)
	for name, c := range cases {
		r := tb.record("acme", "dev")
		c.spoil(tb, &r)
		bound, err := tb.BindLaunch(t.Context(), r)
		refusal := refusedWith(t, name, nil, err, c.code)
		if refusal.Field != c.field || bound.Cap != "" {
			t.Errorf("%s: %v, %+v, want field %q", name, refusal, bound, c.field)
		}
		if _, _, found := tb.sessions.run(r.Business, r.Run); found {
			t.Errorf("%s: the run is bound", name)
		}
	}
	if n := tb.query(`SELECT count(*) FROM events`); n[0][0] != "0" {
		t.Errorf("%s events", n[0][0])
	}
	tb.holder("dev")
}

// A run binds again with the identity that it was launched with, and with no
// other.
//
// proves: BUS-CTL-10 BUS-CTL-11 BUS-CTL-12 BUS-CTL-13 BUS-CTL-14 BUS-CTL-28 BUS-CTL-29 BUS-CTL-30 BUS-OPEN-05
func TestBindingAgain(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	r := tb.record("acme", "dev")
	r.Address = "tmux:1"
	dev := tb.bound(r)
	tb.do(dev, "role.claim", nil)
	plain := tb.launch("rev")

	check := func() {
		t.Helper()
		for name, change := range map[string]func(*LaunchRecord){
			"another role":     func(r *LaunchRecord) { r.Role = "pm" },
			"another business": func(r *LaunchRecord) { r.Business = "globex" },
			"another harness":  func(r *LaunchRecord) { r.Harness = "codex" },
			"another address":  func(r *LaunchRecord) { r.Address = "tmux:2" },
			"no address":       func(r *LaunchRecord) { r.Address = "" },
			"another process": func(r *LaunchRecord) {
				other := tb.record("acme", "dev")
				r.PID, r.StartTime = other.PID, other.StartTime
			},
			"another start": func(r *LaunchRecord) { r.StartTime++ },
		} {
			other := dev.record
			change(&other)
			_, err := tb.BindLaunch(t.Context(), other)
			refusedWith(t, name, nil, err, wire.LaunchMismatch)
		}
		addressed := plain.record
		addressed.Address = "tmux:3"
		_, err := tb.BindLaunch(t.Context(), addressed)
		refusedWith(t, "an address that was absent", nil, err, wire.LaunchMismatch)
	}
	check()
	again := tb.rebind(dev) // in the same broker
	tb.do(again, "agents", nil)
	tb.do(dev, "agents", nil)
	tb.restart()
	check()
	dev = tb.rebind(dev)
	tb.do(dev, "agents", nil) // it still holds its role
	if n := tb.query(`SELECT count(*) FROM events WHERE kind = 'session.launched'`); n[0][0] != "2" {
		t.Errorf("%s launches", n[0][0])
	}

	end := LaunchEnd{Business: "acme", Run: dev.run, Reason: "exited"}
	if err := tb.EndLaunch(t.Context(), end); err != nil {
		t.Fatal(err)
	}
	tb.table.Remove(dev.record.PID)
	for range 2 {
		_, err := tb.BindLaunch(t.Context(), dev.record)
		refusedWith(t, "an ended run", nil, err, wire.RunEnded)
		other := dev.record
		other.Role = "pm"
		_, err = tb.BindLaunch(t.Context(), other)
		refusedWith(t, "an ended run in another role", nil, err, wire.RunEnded)
		tb.restart()
	}
}

// A pid and a start time of another boot of the machine are another process.
//
// proves: BUS-CTL-14
func TestABootOfTheMachineIsPartOfTheIdentity(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev := tb.launch("dev")
	tb.Broker.boot = "another-boot"
	_, err := tb.BindLaunch(t.Context(), dev.record)
	refusedWith(t, "after a reboot", nil, err, wire.LaunchMismatch)
}

// Whether a harness is on is asked each time, for new runs only.
//
// proves: BUS-CTL-33 BUS-CTL-34 BUS-CTL-35 BUS-CTL-36
func TestHarnessesAreSwitchedOnAndOff(t *testing.T) {
	t.Parallel()
	var on atomic.Bool
	var asked atomic.Value
	tb := newTestBroker(t, func(_ *Config, o *Options) {
		o.HarnessOn = func(b wire.Business, harness string) bool {
			asked.Store([2]string{string(b), harness})
			return on.Load()
		}
	})
	r := tb.record("acme", "dev")
	_, err := tb.BindLaunch(t.Context(), r)
	refusedWith(t, "off", nil, err, wire.InvalidHarness)
	if diff := cmp.Diff([2]string{"acme", "exec"}, asked.Load()); diff != "" {
		t.Error(diff)
	}
	on.Store(true)
	s := tb.bound(r)
	on.Store(false)
	_, err = tb.BindLaunch(t.Context(), tb.record("acme", "rev"))
	refusedWith(t, "off again", nil, err, wire.InvalidHarness)
	tb.rebind(s)
	if err := tb.EndLaunch(t.Context(), LaunchEnd{Business: "acme", Run: r.Run, Reason: "stopped"}); err != nil {
		t.Error(err)
	}

	any := newTestBroker(t)
	odd := any.record("acme", "dev")
	odd.Harness = "a-harness-that-nobody-wrote"
	any.bound(odd)
}

// A bound run is an ancestor that no human has.
//
// proves: BUS-CTL-26 BUS-HUMAN-13
func TestABoundRunIsKnownToTheHumanCheck(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	human := tb.human()
	tb.do(human, "inbox", nil)
	shell := LaunchRecord{
		Business: "acme", Role: "dev", Run: newRun(), Harness: "exec", PID: shellPID, StartTime: 200,
	}
	tb.bound(shell)
	tb.refused(human, "inbox", nil, wire.HumanRequired)
	if n := tb.query(`SELECT count(*) FROM events WHERE kind = 'action.refused'`); n[0][0] != "0" {
		t.Error("a request without a session is recorded")
	}
}
