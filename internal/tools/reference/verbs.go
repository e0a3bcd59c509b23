package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"mosaicstack.dev/mosaic/internal/broker"
	"mosaicstack.dev/mosaic/internal/org"
	"mosaicstack.dev/mosaic/internal/wire"
)

func verbs() string {
	var b strings.Builder
	b.WriteString(generated + `# Verbs

A verb is one request on the bus. ` + "`mosaic call VERB JSON`" + ` sends any of them as the
session that the environment proves; most have a command of their own. One request
is one line of JSON of at most 64 KiB, one reply one line of at most 4 MiB:

` + "```" + `
-> {"id":1,"cap":"…","verb":"message.send","args":{"to":"dev","body":"…"}}
<- {"id":1,"ok":true,"result":{"id":"0190…","request":null}}
<- {"id":1,"ok":false,"error":"unknown-role","field":"to"}
` + "```" + `

Any verb may answer ` + list(anyVerb) + `.

| verb | sessions | what it does |
|---|---|---|
`)
	for _, v := range broker.Verbs {
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s |\n", v.Name, anchor(v.Name), sessions(v.Sessions), v.Summary)
	}
	for _, v := range broker.Verbs {
		b.WriteString(verb(v))
	}
	b.WriteString(actions())
	return b.String()
}

// anyVerb are the codes that the table of a verb does not repeat.
var anyVerb = []wire.Code{
	wire.AgentRequired, wire.Busy, wire.HumanRequired, wire.InvalidRequest, wire.NotHolder, wire.ReadOnly, wire.RequestTooLarge,
	wire.ResponseTooLarge, wire.StorageUnavailable, wire.TesterRefused, wire.UnknownCapability, wire.UnknownVerb,
}

// anyHostVerb are those of every request at the host's socket.
var anyHostVerb = []wire.Code{
	wire.AgentRequired, wire.Busy, wire.HumanRequired, wire.InvalidRequest, wire.RequestTooLarge,
	wire.ResponseTooLarge, wire.StorageUnavailable, wire.TesterRefused, wire.UnknownCapability, wire.UnknownVerb,
}

func verb(v broker.Verb) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s\n\n%s.", v.Name, strings.TrimSuffix(v.Summary, "."))
	fmt.Fprintf(&b, " For: %s.", sessions(v.Sessions))
	if v.Sessions&broker.RoleSession != 0 {
		if v.Unclaimed {
			b.WriteString(" A role need not hold its claim.")
		} else {
			b.WriteString(" A role must hold its claim.")
		}
	}
	if v.Writes {
		b.WriteString(" It changes something: when no reply comes, look before you send it again.")
	}
	b.WriteString("\n" + arguments(v.Arguments()))
	fmt.Fprintf(&b, "\n```\nmosaic call %s%s\n```\n", v.Name, shellArgument(v.Example))
	b.WriteString(refusals(v.Codes))
	return b.String()
}

// refusals are the codes of a verb's own.
func refusals(codes []wire.Code) string {
	if len(codes) == 0 {
		return ""
	}
	return fmt.Sprintf("\nRefusals: %s.\n", list(codes))
}

// arguments are the arguments of a verb as a table.
func arguments(args []broker.Argument) string {
	if len(args) == 0 {
		return "\nNo arguments.\n"
	}
	var b strings.Builder
	b.WriteString("\n| argument | type | |\n|---|---|---|\n")
	for _, a := range args {
		need := "required"
		if a.Optional {
			need = "optional"
		}
		if a.Limit != "" {
			need += "; " + a.Limit
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", a.Name, a.Type, need)
	}
	return b.String()
}

// shellArgument is the example on one line in single quotes; nothing for {}.
func shellArgument(example string) string {
	var compact bytes.Buffer
	if json.Compact(&compact, []byte(example)) != nil || compact.String() == "{}" {
		return ""
	}
	return " '" + strings.ReplaceAll(compact.String(), "'", `'\''`) + "'"
}

func actions() string {
	var b strings.Builder
	b.WriteString(`
## Actions

What a role may do by itself (within-role), after an arbiter's approval (cross-role)
or only after the person's (gated) is said with these names. An action that always
waits for the person cannot be granted to a role.

| action | meaning | may be granted |
|---|---|---|
`)
	for _, a := range org.Vocabulary {
		granted := "yes"
		if !a.Routed {
			granted = "no: always waits for the person"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", a.Name, a.Summary, granted)
	}
	return b.String()
}

func sessions(k broker.Kind) string {
	var names []string
	for _, s := range []struct {
		kind broker.Kind
		name string
	}{
		{broker.RoleSession, "role"},
		{broker.HumanSession, "human"},
		{broker.ReaderSession, "reader"},
		{broker.TesterSession, "tester"},
	} {
		if k&s.kind != 0 {
			names = append(names, s.name)
		}
	}
	return strings.Join(names, ", ")
}

// list links codes to their entries.
func list(codes []wire.Code) string {
	linked := make([]string, len(codes))
	for i, c := range codes {
		linked[i] = fmt.Sprintf("[%s](codes.md#%s)", c, c)
	}
	return strings.Join(linked, ", ")
}

// anchor is the fragment that Markdown renderers give a heading.
func anchor(heading string) string { return strings.ReplaceAll(heading, ".", "") }
