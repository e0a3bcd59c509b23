package org

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"mosaicstack.dev/mosaic/internal/wire"
)

// Change sets the value at a path of keys, or removes the key. Keys on the way
// that are missing are made.
type Change struct {
	Path []string
	// Value is a string, bool, int, []string, or a map[string]any of these.
	// A map replaces the whole map; what it leaves as it was keeps its
	// comments.
	Value  any
	Remove bool // of a key that may be missing; Value is not looked at
}

// editable are the paths that a change may have; * is any key. They are what
// organization.set, limits.set and instances.set take (BUS-OPEN-94). What gives
// authority, decides who decides, says what runs or takes the sandbox away is
// edited by the person alone.
var editable = []string{
	"businesses.*.launch.instances",
	"businesses.*.launch.limits",
	"businesses.*.launch.limits.*",
	"businesses.*.roles.*",
	"businesses.*.roles.*.definition",
	"businesses.*.roles.*.vars",
	"businesses.*.roles.*.vars.*",
}

// wholeRole is the editable path of an instance, which a change may add with
// these keys and not remove.
const wholeRole = "businesses.*.roles.*"

var roleKeys = []string{"definition", "vars"}

// allowed reports whether a change is of a part that may be changed.
func (c Change) allowed() bool {
	i := slices.IndexFunc(editable, func(form string) bool {
		return slices.EqualFunc(strings.Split(form, "."), c.Path, func(want, key string) bool { return want == "*" || want == key })
	})
	if i < 0 || editable[i] != wholeRole {
		return i >= 0
	}
	role, ok := c.Value.(map[string]any)
	for key := range role {
		ok = ok && slices.Contains(roleKeys, key)
	}
	return ok && !c.Remove
}

// key is the path as people and receipts read it.
func (c Change) key() string {
	path := ""
	for _, key := range c.Path {
		path = keyPath(path, key)
	}
	return path
}

// edited returns the text with the changes made and everything else as it was:
// comments, order, quotes and blank lines. It makes each change in the text and
// then reads the text back: when that is not exactly the old content with the
// changes applied, the write is refused instead.
func edited(text []byte, changes []Change) ([]byte, error) {
	root, fault := parse(File, text)
	if fault != nil {
		return nil, invalid{Problems{fault}}
	}
	want := root.plain()
	for _, c := range changes {
		want = c.onto(want, c.Path)
		next, fault := c.inText(text)
		if fault != nil {
			return nil, invalid{Problems{fault}}
		}
		text = next
	}
	got, fault := parse(File, text)
	if fault != nil || !reflect.DeepEqual(got.plain(), want) {
		return nil, wire.Refuse(wire.OrganizationWriteFailed)
	}
	return text, nil
}

// onto makes the change in a plain value.
func (c Change) onto(value any, path []string) any {
	if len(path) == 0 {
		return plainValue(c.Value)
	}
	m, _ := value.(map[string]any)
	if m == nil {
		m = map[string]any{}
	}
	if c.Remove && (len(path) == 1 || m[path[0]] == nil) {
		delete(m, path[0])
		return m
	}
	m[path[0]] = c.onto(m[path[0]], path[1:])
	return m
}

// plainValue is a value as parsing would give it back.
func plainValue(value any) any {
	switch v := value.(type) {
	case int:
		return int64(v)
	case []string:
		list := make([]any, len(v))
		for i, text := range v {
			list[i] = text
		}
		return list
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, item := range v {
			m[key] = plainValue(item)
		}
		return m
	default:
		return v
	}
}

// inText makes the change in the text.
func (c Change) inText(text []byte) ([]byte, *Problem) {
	root, fault := parse(File, text)
	if fault != nil {
		return nil, fault
	}
	d := newDocument(string(text))
	at, parent := root, entry{value: root}
	for i, key := range c.Path {
		if at.kind != mapKind && at.kind != nullKind {
			return nil, &Problem{File: File, Line: at.line, Column: at.column, Key: c.key(), What: kindNames[at.kind] + " stands where keys belong", Remedy: "edit the file by hand"}
		}
		e, found := at.entry(key)
		switch {
		case !found && c.Remove:
			return text, nil
		case !found:
			return []byte(d.add(parent, key, c.nested(i+1))), nil
		case i == len(c.Path)-1 && c.Remove:
			return []byte(d.remove(parent, e)), nil
		}
		at, parent = e.value, e
	}
	return c.replace(text, d, parent)
}

// nested is the value for the first missing key: the rest of the path as maps.
func (c Change) nested(from int) any {
	value := plainValue(c.Value)
	for _, key := range slices.Backward(c.Path[from:]) {
		value = map[string]any{key: value}
	}
	return value
}

// replace puts the value in the place of an existing one. A map over a map is
// changed key by key and a list over a list item by item, so that what stays
// keeps its comments.
func (c Change) replace(text []byte, d *document, e entry) ([]byte, *Problem) {
	value := plainValue(c.Value)
	if reflect.DeepEqual(e.value.plain(), value) {
		return text, nil
	}
	switch v := value.(type) {
	case map[string]any:
		if e.value.kind == mapKind && len(v) > 0 && len(e.value.entries) > 0 {
			return c.replaceMap(text, e, v)
		}
	case []any:
		if e.value.kind == listKind && !e.value.flow {
			if next, ok := d.replaceItems(e.value, v); ok {
				return []byte(next), nil
			}
		}
	}
	return []byte(d.replace(e, value)), nil
}

func (c Change) replaceMap(text []byte, e entry, want map[string]any) ([]byte, *Problem) {
	var changes []Change
	for _, key := range slices.Sorted(maps.Keys(want)) {
		changes = append(changes, Change{Path: c.at(key), Value: want[key]})
	}
	for _, old := range e.value.entries {
		if _, stays := want[old.key]; !stays {
			changes = append(changes, Change{Path: c.at(old.key), Remove: true})
		}
	}
	for _, change := range changes {
		next, fault := change.inText(text)
		if fault != nil {
			return nil, fault
		}
		text = next
	}
	return text, nil
}

func (c Change) at(key string) []string { return append(slices.Clone(c.Path), key) }

func (n *node) entry(key string) (entry, bool) {
	for _, e := range n.entries {
		if e.key == key {
			return e, true
		}
	}
	return entry{}, false
}

// flowText writes a plain value on one line.
func flowText(value any) string {
	switch v := value.(type) {
	case string:
		return yamlText(v)
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = flowText(item)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case map[string]any:
		var pairs []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			pairs = append(pairs, yamlText(key)+": "+flowText(v[key]))
		}
		return "{" + strings.Join(pairs, ", ") + "}"
	default:
		return "null" // no kind of value that a Change has; edited refuses it
	}
}
