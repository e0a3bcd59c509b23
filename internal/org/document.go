package org

import (
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// document is the text of a file as lines, for changes in it. Places come from
// nodes: lines and columns from 1, columns in characters.
type document struct {
	text  string
	lines []int // offset of each line's start
}

func newDocument(text string) *document {
	d := &document{text: text, lines: []int{0}}
	for i := range len(text) {
		if text[i] == '\n' && i+1 < len(text) {
			d.lines = append(d.lines, i+1)
		}
	}
	return d
}

// offset is where a place is in the text.
func (d *document) offset(line, column int) int {
	at := d.lines[line-1]
	for range column - 1 {
		_, size := utf8.DecodeRuneInString(d.text[at:])
		at += size
	}
	return at
}

// line returns a line without its end.
func (d *document) line(number int) string {
	start, end := d.lines[number-1], len(d.text)
	if number < len(d.lines) {
		end = d.lines[number]
	}
	return strings.TrimSuffix(d.text[start:end], "\n")
}

// afterLine is the offset behind a line and its end.
func (d *document) afterLine(number int) int {
	if number < len(d.lines) {
		return d.lines[number]
	}
	return len(d.text)
}

// lineAt is the number of the line that an offset is in.
func (d *document) lineAt(offset int) int {
	i, found := slices.BinarySearch(d.lines, offset)
	if found {
		return i + 1
	}
	return i
}

func (d *document) splice(from, to int, text string) string {
	return d.text[:from] + text + d.text[to:]
}

// insertLine puts a line behind a line.
func (d *document) insertLine(after int, text string) string {
	at := d.afterLine(after)
	if at == len(d.text) && !strings.HasSuffix(d.text, "\n") {
		return d.text + "\n" + text + "\n"
	}
	return d.splice(at, at, text+"\n")
}

// colon is the offset behind the colon of an entry's key.
func (d *document) colon(e entry) int {
	at := d.skipScalar(d.offset(e.line, e.column), true)
	return at + strings.IndexByte(d.text[at:], ':') + 1
}

// inline reports a value that stands in one piece behind its key: a scalar or
// a flow collection.
func inline(n *node) bool { return n.kind != mapKind && n.kind != listKind || n.flow }

// valueEnd is the offset behind an inline value; inFlow says that it stands in
// a flow collection, where commas and brackets end it too.
func (d *document) valueEnd(n *node, inFlow bool) int {
	start := d.offset(n.line, n.column)
	if n.kind == mapKind || n.kind == listKind {
		return d.skipCollection(start)
	}
	return d.skipScalar(start, inFlow)
}

// skipCollection is the offset behind the bracket that closes the one at start.
func (d *document) skipCollection(at int) int {
	for depth := 0; at < len(d.text); {
		switch c := d.text[at]; {
		case c == '{' || c == '[':
			depth++
			at++
		case c == '}' || c == ']':
			depth--
			at++
			if depth == 0 {
				return at
			}
		case c == '#' && at > 0 && strings.IndexByte(" \n", d.text[at-1]) >= 0:
			at = d.skipLine(at)
		case strings.IndexByte(" \n,:", c) >= 0:
			at++
		default:
			at = d.skipScalar(at, true)
		}
	}
	return len(d.text)
}

func (d *document) skipLine(at int) int {
	if end := strings.IndexByte(d.text[at:], '\n'); end >= 0 {
		return at + end
	}
	return len(d.text)
}

// skipScalar is the offset behind the scalar at start. It always moves on.
func (d *document) skipScalar(at int, inFlow bool) int {
	switch d.text[at] {
	case '"':
		for i := at + 1; i < len(d.text); i++ {
			switch d.text[i] {
			case '\\':
				i++
			case '"':
				return i + 1
			}
		}
		return len(d.text)
	case '\'':
		for i := at + 1; i < len(d.text); i++ {
			if d.text[i] != '\'' {
				continue
			}
			if i+1 == len(d.text) || d.text[i+1] != '\'' {
				return i + 1
			}
			i++
		}
		return len(d.text)
	}
	return d.skipPlain(at, inFlow)
}

// skipPlain ends a plain scalar at the end of its line, at a comment, and in a
// flow collection or a key at its marks; the blanks before those are not part
// of it.
func (d *document) skipPlain(at int, inFlow bool) int {
	i := at + 1
	for ; i < len(d.text) && d.text[i] != '\n'; i++ {
		if d.text[i] == '#' && d.text[i-1] == ' ' {
			break
		}
		if inFlow && (strings.IndexByte(",]}", d.text[i]) >= 0 || d.text[i] == ':' && d.endsKey(i+1)) {
			break
		}
	}
	return at + max(1, len(strings.TrimRight(d.text[at:i], " ")))
}

func (d *document) endsKey(at int) bool {
	return at >= len(d.text) || strings.IndexByte(" \n,]}", d.text[at]) >= 0
}

// lastLine is the last line of an entry of a block map: the lines below its key
// that are indented deeper, and the items of a list at the key's own column.
// Blank lines and comments behind it are not part of it.
func (d *document) lastLine(e entry) int {
	if e.value.kind == nullKind {
		return e.line
	}
	last := max(e.line, e.value.line)
	if inline(e.value) && !d.blockScalar(e.value) {
		last = d.lineAt(d.valueEnd(e.value, false) - 1)
	}
	for number := last + 1; number <= len(d.lines); number++ {
		line := d.line(number)
		trimmed := strings.TrimLeft(line, " ")
		indent := len(line) - len(trimmed)
		deeper := indent > e.column-1
		switch {
		case trimmed == "":
		case deeper && (trimmed[0] != '#' || d.blockScalar(e.value)):
			last = number
		case deeper, trimmed[0] == '#':
		case indent == e.column-1 && e.value.kind == listKind && !e.value.flow && (trimmed == "-" || strings.HasPrefix(trimmed, "- ")):
			last = number
		default:
			return last
		}
	}
	return last
}

// blockScalar reports text that is written with | or >.
func (d *document) blockScalar(n *node) bool {
	if n.kind != textKind || !n.quoted {
		return false
	}
	c := d.text[d.offset(n.line, n.column)]
	return c == '|' || c == '>'
}

// add puts a key into the map that is the value of parent.
func (d *document) add(parent entry, key string, value any) string {
	m := parent.value
	pair := yamlText(key) + ": " + flowText(value)
	switch {
	case m.kind != mapKind || len(m.entries) == 0:
		return d.replace(parent, map[string]any{key: value})
	case m.flow:
		end := d.flowEnd(m.entries[len(m.entries)-1])
		return d.splice(end, end, ", "+pair)
	default:
		last := m.entries[len(m.entries)-1]
		indent := strings.Repeat(" ", m.entries[0].column-1)
		return d.insertLine(d.lastLine(last), indent+pair)
	}
}

// flowEnd is the offset behind an entry of a flow map.
func (d *document) flowEnd(e entry) int {
	if e.value.kind == nullKind && e.value.text == "" {
		return d.colon(e)
	}
	return d.valueEnd(e.value, true)
}

// replace puts a value in the place of an entry's. What stands behind it on the
// line of the key stays: a comment, or the rest of a flow collection.
func (d *document) replace(e entry, value any) string {
	from := d.colon(e)
	if e.value.kind == nullKind && e.value.text == "" {
		return d.splice(from, from, " "+flowText(value))
	}
	if e.flow || inline(e.value) && !d.blockScalar(e.value) && d.lastLine(e) == d.lineAt(d.valueEnd(e.value, false)-1) {
		return d.splice(from, d.valueEnd(e.value, e.flow), " "+flowText(value))
	}
	// A value of several lines: they go, and a comment behind the key stays.
	rest := ""
	if head := d.text[from:d.skipLine(from)]; strings.HasPrefix(strings.TrimLeft(head, " "), "#") {
		rest = head
	}
	return d.splice(from, d.afterLine(d.lastLine(e)), " "+flowText(value)+rest+"\n")
}

// remove takes an entry out of the map that is the value of parent.
func (d *document) remove(parent, e entry) string {
	m := parent.value
	if len(m.entries) == 1 && parent.line > 0 {
		return d.replace(parent, map[string]any{})
	}
	if !m.flow {
		return d.splice(d.lines[e.line-1], d.afterLine(d.lastLine(e)), "")
	}
	i := slices.IndexFunc(m.entries, func(o entry) bool { return o.key == e.key })
	if i == len(m.entries)-1 {
		return d.splice(d.flowEnd(m.entries[i-1]), d.flowEnd(e), "")
	}
	next := m.entries[i+1]
	return d.splice(d.offset(e.line, e.column), d.offset(next.line, next.column), "")
}

// replaceItems changes a block list of scalars into another one by taking lines
// out and adding lines at its end; false when that does not give the new list.
func (d *document) replaceItems(n *node, want []any) (string, bool) {
	var stays, fresh []any
	for _, item := range n.items {
		if !inline(item) || d.blockScalar(item) {
			return "", false
		}
		if slices.Contains(want, item.value) {
			stays = append(stays, item.value)
		}
	}
	for _, value := range want {
		if !slices.Contains(stays, value) {
			fresh = append(fresh, value)
		}
	}
	if len(stays) == 0 || !reflect.DeepEqual(slices.Concat(stays, fresh), want) {
		return "", false
	}
	return d.rewriteItems(n, stays, fresh), true
}

func (d *document) rewriteItems(n *node, stays, fresh []any) string {
	first := n.items[0]
	before := d.text[d.lines[first.line-1]:d.offset(first.line, first.column)]
	last := n.items[len(n.items)-1]
	text := d.text
	if len(fresh) > 0 {
		var added []string
		for _, value := range fresh {
			added = append(added, before+flowText(value))
		}
		text = d.insertLine(d.lineAt(d.valueEnd(last, false)-1), strings.Join(added, "\n"))
	}
	// From the end, so that the places of the items before stay true.
	for _, item := range slices.Backward(n.items) {
		if !slices.Contains(stays, item.value) {
			end := d.afterLine(d.lineAt(d.valueEnd(item, false) - 1))
			text = text[:d.lines[item.line-1]] + text[end:]
		}
	}
	return text
}
