package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// measure is one value of one benchmark.
type measure struct{ bench, unit string }

// target is one row of the design's table of speeds. A * in the name of the
// measured benchmark stands for one part of a name and is the same in base.
type target struct {
	what    string
	of      measure
	base    measure // with the zero value, of is compared with the limit itself
	atMost  float64
	atLeast float64
}

var targets = []target{
	{what: "message.send, 1 client, p50: to a bare commit of the same rows", of: measure{"Send/clients=1", "p50-ns"}, base: measure{"BareCommit", "p50-ns"}, atMost: 1.3},
	{what: "message.send, 1 client, p50: to one fdatasync of 4 KiB", of: measure{"Send/clients=1", "p50-ns"}, base: measure{"Fdatasync", "p50-ns"}},
	{what: "message.send, 8 clients, rate: to 1 client", of: measure{"Send/clients=8", "sends/s"}, base: measure{"Send/clients=1", "sends/s"}},
	{what: "message.send, 64 clients, rate: to 1 client", of: measure{"Send/clients=64", "sends/s"}, base: measure{"Send/clients=1", "sends/s"}, atLeast: 4},
	{what: "message.send, 64 clients, p99: to one fdatasync", of: measure{"Send/clients=64", "p99-ns"}, base: measure{"Fdatasync", "p50-ns"}, atMost: 30},
	{what: "message.send, 64 clients, processor time: microseconds", of: measure{"Send/clients=64", "cpu-us/op"}, atMost: 60},
	{what: "message.send, 64 clients, rate: to a bare grouped insert", of: measure{"Send/clients=64", "sends/s"}, base: measure{"BareGrouped", "sends/s"}, atLeast: 0.5},
	{what: "claim and release, p50: to one fdatasync", of: measure{"Claim", "p50-ns"}, base: measure{"Fdatasync", "p50-ns"}},
	{what: "raise and decide, p50: to one fdatasync", of: measure{"Decide", "p50-ns"}, base: measure{"Fdatasync", "p50-ns"}},
	{what: "read *, p99: 100,000 messages and 10,000 decisions to 1,000 and 100", of: measure{"Read/*/large", "p99-ns"}, base: measure{"Read/*/small", "p99-ns"}, atMost: 1.5},
	{what: "open of a 200 MB store: to quick_check", of: measure{"Open200MB", "ns/op"}, base: measure{"QuickCheck200MB", "ns/op"}, atMost: 1.5},
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
	value, ok := measured[t.of.bench][t.of.unit]
	base := 1.0
	if t.base != (measure{}) {
		var found bool
		base, found = measured[t.base.bench][t.base.unit]
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
