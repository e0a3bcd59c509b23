package broker

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"mosaicstack.dev/mosaic/client"
	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/proc"
	"mosaicstack.dev/mosaic/internal/wire"
)

// use is one attempt to spend an approval, and path how.
type use struct {
	decision wire.DecisionID
	path     string
}

// spentOnce is what uses of one approval look like when they happen one after
// the other: the first succeeds and every later one is decision-consumed
// (BUS-AUTH-36 to 44). A use with an unknown outcome has no end, so that it may
// have happened at any time, or after everything else.
var spentOnce = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		parts := map[wire.DecisionID][]porcupine.Operation{}
		for _, o := range history {
			id := o.Input.(use).decision
			parts[id] = append(parts[id], o)
		}
		var all [][]porcupine.Operation
		for _, part := range parts {
			all = append(all, part)
		}
		return all
	},
	Init: func() any { return false },
	Step: func(state, _, output any) (bool, any) {
		spent := state.(bool)
		switch output.(wire.Code) {
		case "":
			return !spent, true
		case wire.DecisionConsumed:
			return spent, true
		case wire.OutcomeUnknown:
			return true, true
		}
		return false, spent
	},
}

// uses is a history that many clients write.
type uses struct {
	start   time.Time
	mu      sync.Mutex
	history []porcupine.Operation
}

// record does one use and writes down what it saw. A use that nothing was sent
// of did not happen.
func (u *uses) record(who int, in use, do func() error) (code wire.Code) {
	begun := time.Since(u.start)
	code = client.CodeOf(do())
	end := int64(time.Since(u.start))
	switch code {
	case wire.Unavailable:
		return code
	case wire.OutcomeUnknown:
		end = math.MaxInt64
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.history = append(u.history, porcupine.Operation{ClientId: who, Input: in, Call: int64(begun), Output: code, Return: end})
	return code
}

// check judges the history and demands that it says something: every approval
// was spent, and every path both spent one and was refused one.
func (u *uses) check(t *testing.T, approvals int, paths ...string) {
	t.Helper()
	result, info := porcupine.CheckOperationsVerbose(spentOnce, u.history, time.Minute)
	if result != porcupine.Ok {
		file := filepath.Join(os.TempDir(), "mosaic-approvals-history.html")
		err := porcupine.VisualizePath(spentOnce, info, file)
		t.Errorf("the history of %d uses is %s; see %s (%v)", len(u.history), result, file, err)
	}
	seen := map[string]int{}
	spent := map[wire.DecisionID]bool{}
	for _, o := range u.history {
		in, code := o.Input.(use), o.Output.(wire.Code)
		seen[in.path+" "+string(code)]++
		if code == "" {
			spent[in.decision] = true
		}
	}
	if len(spent) > approvals || len(spent) < approvals/2 {
		t.Errorf("%d of %d approvals were seen to be spent", len(spent), approvals)
	}
	for _, path := range paths {
		for _, code := range []wire.Code{"", wire.DecisionConsumed} {
			if seen[path+" "+string(code)] == 0 {
				t.Errorf("no %s with outcome %q in the history: %v", path, code, seen)
			}
		}
	}
}

// 64 clients of one role spend the same approvals at once, by every path and
// over real sockets, and go on after the broker was restarted. What each saw
// must fit one order of the uses that respects time.
//
// proves: BUS-AUTH-36 BUS-AUTH-37 BUS-AUTH-38 BUS-AUTH-39 BUS-AUTH-41 BUS-AUTH-42 BUS-AUTH-44 BUS-TESTS-07
func TestApprovalsAreSpentOnceUnderConcurrency(t *testing.T) {
	t.Parallel()
	const clients, rounds, sends, revokes = 64, 12, 48, 16
	tb := newTestBroker(t, acme(func(b *Business) {
		b.authority("dev", nil, []string{"message.send", "role.revoke"})
		for i := range revokes {
			b.Roles[wire.Role(fmt.Sprintf("hand%d", i))] = testRole("developer", nil, nil)
		}
	}))
	dev, pm := tb.holder("dev"), tb.holder("pm")
	tb.holder("rev")
	approve := func(action, target string) evidence.Decision {
		d := tb.raise(dev, action, target)
		tb.do(pm, "decision.resolve", args{"id": d.ID, "choice": "yes"})
		return d
	}
	var approvals []evidence.Decision
	for range sends {
		approvals = append(approvals, approve("message.send", "rev"))
	}
	for i := range revokes {
		role := wire.Role(fmt.Sprintf("hand%d", i))
		tb.holder(role)
		approvals = append(approvals, approve("role.revoke", string(role)))
	}

	u := &uses{start: time.Now()}
	work := func(dev session, approvals []evidence.Decision) {
		var running sync.WaitGroup
		for id := range clients {
			running.Go(func() {
				bus := client.New(tb.busPath(), client.Capability(string(dev.proof.Cap)), client.KeepOpen(), client.Timeout(time.Minute))
				defer bus.Close()
				for range rounds {
					d := approvals[rand.IntN(len(approvals))]
					in := use{d.ID, d.Action}
					do := func() error {
						if d.Action == "role.revoke" {
							return bus.Call(t.Context(), d.Action, args{"role": d.Target, "decision": d.ID}, nil)
						}
						return bus.Call(t.Context(), d.Action, args{"to": d.Target, "body": "x", "decision": d.ID}, nil)
					}
					if rand.IntN(2) == 0 {
						in.path = "authorize"
						do = func() error {
							_, err := tb.Authorize(t.Context(), dev.proof.Cap, Action{Action: d.Action, Target: d.Target, Decision: d.ID})
							return err
						}
					}
					u.record(id, in, do)
				}
			})
		}
		running.Wait()
	}
	// Some are spent before the restart, and some only after it.
	before := append(append([]evidence.Decision{}, approvals[:sends/2]...), approvals[sends:sends+revokes/2]...)
	work(dev, before)
	tb.restart()
	work(tb.rebind(dev), approvals)
	u.check(t, len(approvals), "authorize", "message.send", "role.revoke")
}

// The same with brokers in processes of their own, which are killed while the
// approvals are being spent. A use without a reply may have happened or not;
// whichever it was, it happened once.
//
// proves: BUS-AUTH-26 BUS-AUTH-36 BUS-AUTH-40 BUS-AUTH-44 BUS-TESTS-05
func TestKilledBrokersSpendApprovalsOnce(t *testing.T) {
	t.Parallel()
	kills := 6
	if os.Getenv("MOSAIC_LONG") != "" {
		kills = 60
	}
	const clients = 16
	self, err := proc.Self()
	if err != nil {
		t.Fatal(err)
	}
	root := testRoot(t)
	config := Config{DataRoot: root, Businesses: testBusinesses()}
	changeBusiness(&config, func(b *Business) { b.authority("dev", nil, []string{"message.send"}) })
	for _, role := range []wire.Role{"dev", "pm"} {
		config.Launches = append(config.Launches, LaunchRecord{
			Business: "acme", Role: role, Run: newRun(), Harness: "exec", PID: self.PID, StartTime: self.Start,
		})
	}
	var approvals []wire.DecisionID
	u := &uses{start: time.Now()}
	for range kills {
		c := startChild(t, config)
		dev, pm := c.client(config.Launches[0].Run), c.client(config.Launches[1].Run)
		mustCall(t, dev, "role.claim", nil)
		mustCall(t, pm, "role.claim", nil)
		for range 2 * clients {
			var d evidence.Decision
			if err := dev.Call(t.Context(), "decision.raise", asking("message.send", args{"target": "pm"}), &d); err != nil {
				t.Fatal(err)
			}
			mustCall(t, pm, "decision.resolve", args{"id": d.ID, "choice": "yes"})
			approvals = append(approvals, d.ID)
		}
		u.spendUntilKilled(t, c, dev, approvals, clients)
		dev.Close()
		pm.Close()
		if _, err := evidence.Unlock(filepath.Join(root, busName, lockName), []string{filepath.Join(c.path, busSocketName), filepath.Join(c.path, humanSocketName)}); err != nil {
			t.Fatal(err)
		}
	}
	c := startChild(t, config)
	dev := c.client(config.Launches[0].Run)
	defer dev.Close()
	for _, id := range approvals {
		u.record(0, use{id, "message.send"}, func() error { return spend(t, dev, id) })
	}
	u.check(t, len(approvals), "message.send")
}

// client calls as a run of the child's, over a connection that it keeps open.
func (c *child) client(run wire.Run) *client.Client {
	return client.New(filepath.Join(c.path, busSocketName), client.Capability(string(c.caps[run])), client.KeepOpen(), client.Timeout(time.Minute))
}

func spend(t *testing.T, bus *client.Client, id wire.DecisionID) error {
	return bus.Call(t.Context(), "message.send", args{"to": "pm", "body": "x", "decision": id}, nil)
}

// spendUntilKilled lets clients spend approvals, kills the broker after some
// of the uses, and waits until every client has noticed.
func (u *uses) spendUntilKilled(t *testing.T, c *child, dev *client.Client, approvals []wire.DecisionID, clients int) {
	t.Helper()
	done := make(chan struct{}, 1)
	killAfter := clients + rand.IntN(4*clients)
	var running sync.WaitGroup
	var count sync.Mutex
	answered := 0
	for id := range clients {
		running.Go(func() {
			for {
				decision := approvals[rand.IntN(len(approvals))]
				switch code := u.record(id, use{decision, "message.send"}, func() error { return spend(t, dev, decision) }); code {
				case "", wire.DecisionConsumed:
				case wire.OutcomeUnknown, wire.Unavailable:
					return
				default:
					t.Errorf("message.send: %s", code)
					return
				}
				count.Lock()
				if answered++; answered == killAfter {
					done <- struct{}{}
				}
				count.Unlock()
			}
		})
	}
	<-done
	if err := c.process.Process.Signal(syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	_ = c.process.Wait()
	running.Wait()
}

// The model refuses what it must: a second use, and a refusal of an approval
// that nobody has spent.
func TestTheModelOfApprovalsRefuses(t *testing.T) {
	t.Parallel()
	one := func(at int64, code wire.Code) porcupine.Operation {
		return porcupine.Operation{Input: use{"a", "authorize"}, Call: at, Output: code, Return: at + 1}
	}
	lost := porcupine.Operation{Input: use{"a", "authorize"}, Call: 1, Output: wire.OutcomeUnknown, Return: math.MaxInt64}
	for name, tt := range map[string]struct {
		history []porcupine.Operation
		good    bool
	}{
		"spent and then consumed":          {[]porcupine.Operation{one(1, ""), one(3, wire.DecisionConsumed)}, true},
		"spent twice":                      {[]porcupine.Operation{one(1, ""), one(3, "")}, false},
		"consumed and never spent":         {[]porcupine.Operation{one(1, wire.DecisionConsumed)}, false},
		"consumed before it was spent":     {[]porcupine.Operation{one(1, wire.DecisionConsumed), one(3, "")}, false},
		"another refusal":                  {[]porcupine.Operation{one(1, wire.DecisionMismatch)}, false},
		"lost and then consumed":           {[]porcupine.Operation{lost, one(3, wire.DecisionConsumed)}, true},
		"lost and then spent":              {[]porcupine.Operation{lost, one(3, "")}, true},
		"lost, then spent, then again":     {[]porcupine.Operation{lost, one(3, ""), one(5, "")}, false},
		"lost, consumed, and then a spend": {[]porcupine.Operation{lost, one(3, wire.DecisionConsumed), one(5, "")}, false},
	} {
		if porcupine.CheckOperations(spentOnce, tt.history) != tt.good {
			t.Errorf("%s: judged %v", name, !tt.good)
		}
	}
}
