package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// measure is one value of one benchmark. A percentile may be reported in
// nanoseconds or microseconds; p50 and p99 stand for either.
type measure struct{ bench, unit string }

// in returns the value, in nanoseconds where it is a time.
func (m measure) in(f figures) (float64, bool) {
	values := f[m.bench]
	if v, ok := values[m.unit]; ok {
		return v, true
	}
	if v, ok := values[m.unit+"-ns"]; ok {
		return v, true
	}
	v, ok := values[m.unit+"-us"]
	return v * 1000, ok
}

// target is one row of the design's table of speeds. A * in the name of the
// measured benchmark stands for one part of a name and is the same in base.
// With limits of zero a row is shown for the record.
type target struct {
	what    string
	of      measure
	base    measure // with the zero value, of is compared with the limit itself
	atMost  float64
	atLeast float64
}

// The bases: one append of 4 KiB with fdatasync, and the rows of one send
// written by the bare driver, alone and 64 to a commit.
var (
	sync    = measure{"evidence.Fdatasync4K", "ns/op"}
	commit  = measure{"evidence.DriverCommit", "p50"}
	grouped = measure{"evidence.DriverGrouped64", "ns/op"}
)

var targets = []target{
	{what: "message.send in the store, 1 client, p50: of a bare commit of the same rows", of: measure{"evidence.Send/clients=1", "p50"}, base: commit, atMost: 1.3},
	{what: "message.send over the socket, 1 client, p50: of a bare commit", of: measure{"broker.Send/clients=1", "p50"}, base: commit, atMost: 1.3},
	{what: "message.send over the socket, 1 client, p50: of one fdatasync", of: measure{"broker.Send/clients=1", "p50"}, base: sync},
	{what: "message.send, 8 clients, rate: of 1 client's", of: measure{"broker.Send/clients=1", "ns/op"}, base: measure{"broker.Send/clients=8", "ns/op"}},
	{what: "message.send, 64 clients, rate: of 1 client's", of: measure{"broker.Send/clients=1", "ns/op"}, base: measure{"broker.Send/clients=64", "ns/op"}, atLeast: 4},
	{what: "message.send, 64 clients, rate: of a bare grouped insert's", of: grouped, base: measure{"broker.Send/clients=64", "ns/op"}, atLeast: 0.5},
	{what: "message.send, 64 clients, p99: of one fdatasync", of: measure{"broker.Send/clients=64", "p99"}, base: sync, atMost: 30},
	{what: "message.send, 64 clients, processor time in microseconds", of: measure{"broker.Send/clients=64", "cpu-us/op"}, atMost: 60},
	{what: "claim and release, two commits, p50: of one fdatasync", of: measure{"broker.Claim", "p50"}, base: sync},
	{what: "raise and decide, two commits, p50: of one fdatasync", of: measure{"broker.Decide", "p50"}, base: sync},
	{what: "read of *, p99: 100,000 messages and 10,000 decisions of 1,000 and 100", of: measure{"broker.Read/*/large", "p99"}, base: measure{"broker.Read/*/small", "p99"}, atMost: 1.5},
	{what: "open of a 200 MB store: of quick_check", of: measure{"evidence.Open200MB/open", "ns/op"}, base: measure{"evidence.Open200MB/quick_check", "ns/op"}, atMost: 1.5},
}

// printTable writes the table and returns the number of rows that lack a figure.
func printTable(w io.Writer, targets []target, measured figures) (missing int) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "\nwhat\tratio\ttarget\t\n")
	for _, t := range targets {
		for _, row := range t.rows(measured) {
			fmt.Fprintln(table, row.line(measured, &missing))
		}
	}
	table.Flush()
	return missing
}

// rows are the target itself, or one for each benchmark that its * stands for.
func (t target) rows(measured figures) []target {
	before, after, pattern := strings.Cut(t.of.bench, "*")
	if !pattern {
		return []target{t}
	}
	var found []target
	for _, name := range slices.Sorted(maps.Keys(measured)) {
		part, ok := strings.CutPrefix(name, before)
		if !ok {
			continue
		}
		if part, ok = strings.CutSuffix(part, after); !ok {
			continue
		}
		row := t
		row.what = strings.Replace(t.what, "*", part, 1)
		row.of.bench = name
		row.base.bench = strings.Replace(t.base.bench, "*", part, 1)
		found = append(found, row)
	}
	if found == nil {
		return []target{t}
	}
	return found
}

// line prints a row, and counts it as missing when a figure is.
func (t target) line(measured figures, missing *int) string {
	value, ok := t.of.in(measured)
	base := 1.0
	if t.base != (measure{}) {
		var found bool
		base, found = t.base.in(measured)
		ok = ok && found && base > 0
	}
	if !ok {
		*missing++
		return t.what + "\tnot measured\t" + t.limit() + "\t"
	}
	ratio := value / base
	verdict := "met"
	switch {
	case t.atMost > 0 && ratio > t.atMost, t.atLeast > 0 && ratio < t.atLeast:
		verdict = "MISSED"
	case t.atMost == 0 && t.atLeast == 0:
		verdict = ""
	}
	return fmt.Sprintf("%s\t%.2f\t%s\t%s", t.what, ratio, t.limit(), verdict)
}

func (t target) limit() string {
	switch {
	case t.atMost > 0:
		return fmt.Sprintf("at most %g", t.atMost)
	case t.atLeast > 0:
		return fmt.Sprintf("at least %g", t.atLeast)
	}
	return ""
}
