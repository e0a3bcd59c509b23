package broker

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"mosaicstack.dev/mosaic/client"
	"mosaicstack.dev/mosaic/internal/wire"
)

// claimCall and its outcome, "" for done, are one step of a role's history.
type claimCall struct {
	run  wire.Run
	verb string
}

// oneHolder is what claims and releases of one role look like when they happen
// one after the other: at most one run holds it (BUS-CLAIM-03).
var oneHolder = porcupine.Model{
	Init: func() any { return wire.Run("") },
	Step: func(state, input, output any) (bool, any) {
		holder, call, code := state.(wire.Run), input.(claimCall), output.(wire.Code)
		if call.verb == "role.release" {
			if holder == call.run {
				return code == "", wire.Run("")
			}
			return code == wire.NotHolder, holder
		}
		if holder == "" || holder == call.run {
			return code == "", call.run
		}
		return code == wire.RoleAlreadyHeld, holder
	},
}

// 64 runs of one role claim and release it at once, over real sockets. What
// each saw must fit one order of the calls that respects time.
//
// proves: BUS-CLAIM-03 BUS-CLAIM-07 BUS-TESTS-07
func TestClaimsAreLinearizable(t *testing.T) {
	t.Parallel()
	const clients, rounds = 64, 12
	tb := newTestBroker(t)
	start := time.Now()
	var mu sync.Mutex
	var history []porcupine.Operation
	var running sync.WaitGroup
	for id := range clients {
		dev := tb.launch("dev")
		running.Go(func() {
			bus := client.New(filepath.Join(tb.reply.Path, busSocketName), client.Capability(string(dev.proof.Cap)),
				client.KeepOpen(), client.Timeout(time.Minute))
			defer bus.Close()
			for range rounds {
				call := claimCall{dev.run, []string{"role.claim", "role.release"}[rand.IntN(2)]}
				begun := time.Since(start)
				err := bus.Call(t.Context(), call.verb, nil, nil)
				operation := porcupine.Operation{
					ClientId: id, Input: call, Call: int64(begun), Output: client.CodeOf(err), Return: int64(time.Since(start)),
				}
				mu.Lock()
				history = append(history, operation)
				mu.Unlock()
			}
		})
	}
	running.Wait()
	result, info := porcupine.CheckOperationsVerbose(oneHolder, history, time.Minute)
	if result != porcupine.Ok {
		path := filepath.Join(os.TempDir(), "mosaic-claims-history.html")
		err := porcupine.VisualizePath(oneHolder, info, path)
		t.Errorf("the history of %d calls is %s; see %s (%v)", len(history), result, path, err)
	}
	// The history says something only when both outcomes of both verbs are in it.
	seen := map[string]int{}
	for _, o := range history {
		seen[o.Input.(claimCall).verb+" "+string(o.Output.(wire.Code))]++
	}
	for _, kind := range []string{"role.claim ", "role.claim role-already-held", "role.release ", "role.release not-holder"} {
		if seen[kind] == 0 {
			t.Errorf("no %q in the history: %v", kind, seen)
		}
	}
}

// The model refuses what it must: two holders, and a refused claim of a free role.
func TestTheModelOfClaimsRefuses(t *testing.T) {
	t.Parallel()
	claim := func(id int, run wire.Run, at int64, code wire.Code) porcupine.Operation {
		return porcupine.Operation{ClientId: id, Input: claimCall{run, "role.claim"}, Call: at, Output: code, Return: at + 1}
	}
	for name, history := range map[string][]porcupine.Operation{
		"two holders":                {claim(1, "a", 1, ""), claim(2, "b", 3, "")},
		"a refused claim of nothing": {claim(1, "a", 1, wire.RoleAlreadyHeld)},
	} {
		if porcupine.CheckOperations(oneHolder, history) {
			t.Errorf("%s passes", name)
		}
	}
}
