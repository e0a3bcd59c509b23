package main

import (
	"fmt"
	"strings"

	"mosaicstack.dev/mosaic/internal/host"
)

func hostVerbs() string {
	var b strings.Builder
	b.WriteString(generated + `# Verbs of the host

` + "`host.sock`" + ` is where the person and the roles ask for launches, runs and landings.
It is framed like the bus and takes the same proofs: a run's capability, or the process
proof of the person. A role sees the runs of its business, without their files,
commands and processes. The commands ` + "`mosaic status, launch, runs, stop, land`" + ` use it.

Any verb may answer ` + list(anyHostVerb) + `.

| verb | sessions | what it does |
|---|---|---|
`)
	for _, v := range host.Verbs {
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s |\n", v.Name, anchor(v.Name), sessions(v.Sessions), v.Summary)
	}
	for _, v := range host.Verbs {
		fmt.Fprintf(&b, "\n## %s\n\n%s. For: %s.\n", v.Name, v.Summary, sessions(v.Sessions))
		b.WriteString(arguments(v.Arguments()))
		fmt.Fprintf(&b, "\n```\n%s\n```\n", v.Example)
		b.WriteString(refusals(v.Codes))
	}
	return b.String()
}
