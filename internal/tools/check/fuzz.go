package main

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
)

// checkFuzz gives every fuzz target of the module a turn, one after the other:
// each uses all processors.
func checkFuzz(ctx context.Context, r *runner) {
	out, err := r.command(ctx, "go", "test", "-json", "-list", "^Fuzz", "./...").Output()
	if err != nil {
		r.fail("fuzz", string(out)+err.Error()+"\n")
		return
	}
	targets := fuzzTargets(string(out))
	if len(targets) == 0 {
		r.skip("fuzz", "there is no fuzz target")
	}
	for _, t := range targets {
		r.expect(ctx, "fuzz "+short(t.pkg)+" "+t.name,
			"go", "test", "-run", "^$", "-fuzz", "^"+t.name+"$", "-fuzztime", r.fuzztime.String(), t.pkg)
	}
}

type fuzzTarget struct{ pkg, name string }

var fuzzName = regexp.MustCompile(`^Fuzz\w*$`)

// fuzzTargets reads go test -json -list.
func fuzzTargets(list string) []fuzzTarget {
	var found []fuzzTarget
	for line := range strings.Lines(list) {
		var e event
		if json.Unmarshal([]byte(line), &e) != nil || e.Action != "output" {
			continue
		}
		if name := strings.TrimSpace(e.Output); fuzzName.MatchString(name) {
			found = append(found, fuzzTarget{e.Package, name})
		}
	}
	return found
}
