package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const recorded = `goos: linux
pkg: mosaicstack.dev/mosaic/internal/evidence
BenchmarkDriverCommit-2       	    5000	    180000 ns/op	    150 p50-us
BenchmarkSend/clients=1-2     	    5000	    190000 ns/op	    160 p50-us
pkg: mosaicstack.dev/mosaic/internal/broker
BenchmarkSend/clients=1-2     	    5000	    201000 ns/op	    210000 p50-ns
BenchmarkSend/clients=64-2    	   50000	     40200 ns/op	   6000000 p99-ns	        55.5 cpu-us/op
BenchmarkRead/inbox/small-2   	    5000	     80000 ns/op	    100000 p99-ns
BenchmarkRead/inbox/large-2   	    5000	     90000 ns/op	    200000 p99-ns
BenchmarkRead/trail/small-2   	    5000	     80000 ns/op	    100000 p99-ns
BenchmarkRead/trail/large-2   	    5000	     90000 ns/op	    110000 p99-ns
BenchmarkBroken-2   	--- FAIL
PASS
`

func TestParse(t *testing.T) {
	f := parse(recorded)
	if len(f) != 8 || f["broker.Send/clients=64"]["cpu-us/op"] != 55.5 || f["evidence.DriverCommit"]["ns/op"] != 180000 {
		t.Errorf("%v", f)
	}
}

func TestTable(t *testing.T) {
	one, many := measure{"broker.Send/clients=1", "ns/op"}, measure{"broker.Send/clients=64", "ns/op"}
	var out strings.Builder
	missing := printTable(&out, []target{
		{what: "too slow", of: measure{"broker.Send/clients=1", "p50"}, base: measure{"evidence.DriverCommit", "p50"}, atMost: 1.3},
		{what: "fast enough", of: one, base: many, atLeast: 4},
		{what: "too little", of: one, base: many, atLeast: 6},
		{what: "by itself", of: measure{"broker.Send/clients=64", "cpu-us/op"}, atMost: 60},
		{what: "for the record", of: measure{"evidence.Send/clients=1", "p50"}, base: measure{"evidence.DriverCommit", "p50"}},
		{what: "read *", of: measure{"broker.Read/*/large", "p99"}, base: measure{"broker.Read/*/small", "p99"}, atMost: 1.5},
		{what: "nobody ran", of: measure{"broker.Nothing", "ns/op"}, base: one, atMost: 1},
		{what: "none of *", of: measure{"broker.Write/*/large", "ns/op"}, base: measure{"broker.Write/*/small", "ns/op"}, atMost: 1},
	}, parse(recorded))
	if missing != 2 {
		t.Errorf("%d missing", missing)
	}
	for _, want := range []string{
		`too slow +1.40 +at most 1.3 +MISSED`,
		`fast enough +5.00 +at least 4 +met`,
		`too little +5.00 +at least 6 +MISSED`,
		`by itself +55.50 +at most 60 +met`,
		`for the record +1.07 +`,
		`read inbox +2.00 +at most 1.5 +MISSED`,
		`read trail +1.10 +at most 1.5 +met`,
		`nobody ran +not measured`,
		`none of \* +not measured`,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("%s is missing in\n%s", want, out.String())
		}
	}
}

func TestSavedOutput(t *testing.T) {
	file := filepath.Join(t.TempDir(), "saved.txt")
	if err := os.WriteFile(file, []byte(recorded), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, complaints strings.Builder
	if exit := run(t.Context(), []string{"-from", file}, &out, &complaints); exit != 1 {
		t.Errorf("exit %d with figures missing", exit)
	}
	if !strings.Contains(out.String(), "1.40") || !strings.Contains(complaints.String(), "did not run") {
		t.Errorf("%s%s", out.String(), complaints.String())
	}
	if exit := run(t.Context(), []string{"-from", file + ".no"}, &out, &complaints); exit != 1 {
		t.Errorf("exit %d without the file", exit)
	}
	if exit := run(t.Context(), []string{"-fast"}, &out, &complaints); exit != 4 {
		t.Errorf("exit %d for an unknown flag", exit)
	}
}

// The benchmarks that the targets name are there, by their top-level names.
func TestTargetsNameBenchmarks(t *testing.T) {
	for _, target := range targets {
		for _, m := range []measure{target.of, target.base} {
			if m == (measure{}) {
				continue
			}
			pkg, name, _ := strings.Cut(m.bench, ".")
			name, _, _ = strings.Cut(name, "/")
			if !strings.Contains(testsOf(t, pkg), "func Benchmark"+name+"(") {
				t.Errorf("%s: there is no Benchmark%s in %s", target.what, name, pkg)
			}
		}
	}
}

// testsOf is the text of a measured package's tests.
func testsOf(t *testing.T, pkg string) string {
	t.Helper()
	var text strings.Builder
	files, err := filepath.Glob(filepath.Join("..", "..", pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(content)
	}
	return text.String()
}
