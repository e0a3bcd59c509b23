package org

import (
	"fmt"
	"strconv"
	"strings"

	"mosaicstack.dev/mosaic/internal/wire"
)

// Problem is one fault of an organization file or a role definition, as facts
// a person needs to mend it. It is told to the person at the terminal, never
// sent over a socket.
type Problem struct {
	File   string // relative to the data root, such as organization.yaml
	Line   int    // from 1; 0 when the fault is of the whole file
	Column int    // from 1, in characters; 0 with Line 0
	Key    string // path of the key, such as businesses.acme.launch.by; "" for the file
	What   string // what is wrong, a clause without a full stop
	Remedy string // what to write instead, a clause without a full stop; may be ""
}

// Error is one line: file:line:column: key: what; remedy.
func (p *Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	b.WriteString(": ")
	if p.Key != "" {
		b.WriteString(p.Key + ": ")
	}
	b.WriteString(p.What)
	if p.Remedy != "" {
		b.WriteString("; " + p.Remedy)
	}
	return b.String()
}

// Is reports a problem as the code invalid-config, so that
// errors.Is(err, wire.Refuse(wire.InvalidConfig)) holds.
func (p *Problem) Is(target error) bool {
	t, ok := target.(*wire.Error)
	return ok && t.Code == wire.InvalidConfig
}

// Problems is every fault that a load found, in the order of the files and
// lines. errors.As with a **Problem gives the first.
type Problems []*Problem

// Error is one line for each problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the problems.
func (ps Problems) Unwrap() []error {
	all := make([]error, len(ps))
	for i, p := range ps {
		all[i] = p
	}
	return all
}

// maxProblems bounds what one load reports; a file with more is broken in one
// place that causes the others.
const maxProblems = 20

// keyPath joins a path of keys. A key that is no plain word is quoted, so that
// a hostile key cannot forge a path or a line.
func keyPath(path, key string) string {
	if !plainKey(key) {
		key = strconv.Quote(shorten(key))
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

func plainKey(key string) bool {
	for _, r := range key {
		if !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_') {
			return false
		}
	}
	return key != "" && len(key) <= maxShown
}

// quoted shows a value of the file: escaped, and visibly cut when it is long.
func quoted(value string) string { return strconv.Quote(shorten(value)) }

const maxShown = 64

func shorten(s string) string {
	runes := []rune(s)
	if len(runes) <= maxShown {
		return s
	}
	return string(runes[:maxShown-1]) + "…"
}
