package broker

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"

	"mosaicstack.dev/mosaic/internal/wire"
)

// commonCodes are those that dispatch may give for any verb; the reference
// says so once, so a verb's Codes do not repeat them.
var commonCodes = []wire.Code{
	wire.InvalidRequest, wire.NotHolder,
	wire.HumanRequired, wire.AgentRequired, wire.ReadOnly, wire.TesterRefused, wire.TesterRequired, wire.TesterOff,
	wire.UnknownCapability, wire.UnknownVerb, wire.RequestTooLarge, wire.ResponseTooLarge, wire.StorageUnavailable,
}

// refusalLog notes which code each verb gave in any test of the package, so
// that the registry's Codes can be compared with what handlers really do.
type refusalLog struct {
	mu    sync.Mutex
	given map[string]map[wire.Code]bool
}

var refusalsGiven = refusalLog{given: map[string]map[wire.Code]bool{}}

func (l *refusalLog) note(verb string, err error) {
	var refusal *wire.Error
	if !errors.As(err, &refusal) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.given[verb] == nil {
		l.given[verb] = map[wire.Code]bool{}
	}
	l.given[verb][refusal.Code] = true
}

// faults compares the registry with the log: no verb gives a code that it does
// not declare and, when every test has run, each declared code was given.
func (l *refusalLog) faults(all bool) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var faults []string
	for _, v := range Verbs {
		for code := range l.given[v.Name] {
			if !slices.Contains(v.Codes, code) && !slices.Contains(commonCodes, code) {
				faults = append(faults, fmt.Sprintf("%s gave %s, which its Codes do not declare", v.Name, code))
			}
		}
		for _, code := range v.Codes {
			if all && !l.given[v.Name][code] {
				faults = append(faults, fmt.Sprintf("%s declares %s, and no test makes it give that", v.Name, code))
			}
		}
	}
	slices.Sort(faults)
	return faults
}

// checkedRun runs the tests of the package and then compares.
type checkedRun struct{ *testing.M }

func (r checkedRun) Run() int {
	code := r.M.Run()
	if code != 0 {
		return code
	}
	for _, fault := range refusalsGiven.faults(everyTestRan()) {
		fmt.Fprintln(os.Stderr, "codes:", fault)
		code = 1
	}
	return code
}

// everyTestRan reports whether no flag picked some of the tests.
func everyTestRan() bool {
	for _, name := range []string{"test.run", "test.skip", "test.list", "test.fuzz", "test.failfast"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != f.DefValue {
			return false
		}
	}
	return true
}

// The comparison itself can fail.
func TestRefusalLogFindsFaults(t *testing.T) {
	t.Parallel()
	l := refusalLog{given: map[string]map[wire.Code]bool{}}
	l.note("message.read", wire.Refuse(wire.NotHolder))
	l.note("message.read", fmt.Errorf("read: %w", wire.Refuse(wire.MessageNotFound)))
	if faults := l.faults(false); len(faults) != 0 {
		t.Errorf("faults = %v, want none", faults)
	}
	if faults := l.faults(true); slices.Contains(faults, "message.read declares message-not-found, and no test makes it give that") {
		t.Errorf("a code that was given is missing: %v", faults)
	}
	l.note("message.read", wire.Refuse(wire.Capacity))
	want := "message.read gave capacity, which its Codes do not declare"
	if faults := l.faults(true); !slices.Contains(faults, want) || len(faults) < 2 {
		t.Errorf("faults = %v, want %q and codes that were never given", faults, want)
	}
}
