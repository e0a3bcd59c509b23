package broker

import (
	"encoding/base64"
	"testing"

	"mosaicstack.dev/mosaic/internal/wire"
)

// proves: BUS-OPEN-08 BUS-CTL-17 BUS-CTL-18
func TestCapabilities(t *testing.T) {
	t.Parallel()
	seen := map[wire.Capability]bool{}
	r := newRegistry()
	acme := &Business{ID: "acme"}
	for range 100 {
		cap := r.addReader(acme)
		raw, err := base64.RawURLEncoding.DecodeString(string(cap))
		if err != nil || len(raw) != 32 || seen[cap] {
			t.Fatalf("capability %q: %v", cap, err)
		}
		seen[cap] = true
	}
	for cap := range seen {
		if _, found := r.session(cap); !found {
			t.Errorf("a capability proves nothing")
		}
		// Another spelling of the same bytes is another capability.
		if _, found := r.session(cap + "="); found {
			t.Errorf("a padded capability proves something")
		}
	}
	// What is kept is not what was given out.
	for d, p := range r.sessions {
		if d != p.digest || seen[wire.Capability(d[:])] {
			t.Errorf("the registry keeps a capability")
		}
	}
}

// A run bound twice has two capabilities, and loses both at its end, while
// others keep theirs.
//
// proves: BUS-CTL-58 BUS-CTL-19
func TestEveryCapabilityOfARunEnds(t *testing.T) {
	t.Parallel()
	r := newRegistry()
	acme := &Business{ID: "acme"}
	dev := LaunchRecord{Business: "acme", Role: "dev", Run: newRun(), PID: 5, StartTime: 6}
	rev := LaunchRecord{Business: "acme", Role: "rev", Run: newRun(), PID: 7, StartTime: 8}
	first, second, other := r.addRun(acme, dev), r.addRun(acme, dev), r.addRun(acme, rev)
	for _, cap := range []wire.Capability{first, second} {
		if s, found := r.session(cap); !found || s.Run != dev.Run || s.Role != "dev" || s.Business != acme {
			t.Errorf("session %+v, %v", s, found)
		}
	}
	r.end(dev.Run)
	for _, cap := range []wire.Capability{first, second} {
		if _, found := r.session(cap); found {
			t.Error("a capability of an ended run works")
		}
	}
	if _, found := r.session(other); !found {
		t.Error("another run's capability ended")
	}
	if _, ended, bound := r.run("acme", dev.Run); !ended || !bound {
		t.Error("the ended run is forgotten")
	}
	if _, _, bound := r.run("globex", rev.Run); bound {
		t.Error("a run is found in another business")
	}
}
