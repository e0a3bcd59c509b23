package org

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// decoder turns the tree of one file into the types of this package and
// collects every fault that it meets on the way. A value that is at fault
// leaves the zero value; a caller never uses the result of a file with faults.
type decoder struct {
	file     string
	home     string // the person's home directory, for ~
	problems Problems
}

// fault records what is wrong with the value n of the key at path.
func (d *decoder) fault(n *node, path, remedy, what string, args ...any) {
	if len(d.problems) == maxProblems {
		return
	}
	d.problems = append(d.problems, &Problem{
		File: d.file, Line: n.line, Column: n.column, Key: path,
		What: fmt.Sprintf(what, args...), Remedy: remedy,
	})
}

// is checks the kind of a value.
func (d *decoder) is(n *node, path string, want kind) bool {
	if n.kind == want {
		return true
	}
	remedy := ""
	if want == textKind && n.kind != listKind && n.kind != mapKind && n.kind != nullKind {
		remedy = "put it in quotes"
	}
	d.fault(n, path, remedy, "%s stands here, %s belongs here", kindNames[n.kind], kindNames[want])
	return false
}

// fields are the keys that a map may have.
type fields map[string]field

type field struct {
	required bool
	decode   func(n *node, path string)
}

// decodeMap decodes a map with known keys: an unknown key is a fault that
// suggests the nearest known one, and so is a required key that is missing.
func (d *decoder) decodeMap(n *node, path string, known fields) {
	if !d.is(n, path, mapKind) {
		return
	}
	for _, e := range n.entries {
		f, ok := known[e.key]
		here := keyPath(path, e.key)
		if !ok {
			d.unknownKey(e, here, slices.Collect(maps.Keys(known)))
			continue
		}
		f.decode(e.value, here)
	}
	for _, key := range slices.Sorted(maps.Keys(known)) {
		if known[key].required && n.get(key) == nil {
			d.fault(n, path, "add "+key+":", "the key %s is missing", key)
		}
	}
}

func (d *decoder) unknownKey(e entry, path string, known []string) {
	d.fault(e.at(), path, suggestion(e.key, known), "unknown key")
}

// decodeEach decodes a map whose keys a person chooses.
func (d *decoder) decodeEach(n *node, path string, decode func(key string, e entry, path string)) {
	if !d.is(n, path, mapKind) {
		return
	}
	for _, e := range n.entries {
		decode(e.key, e, keyPath(path, e.key))
	}
}

// text decodes text of 1 to 256 characters on one line.
func (d *decoder) text(to *string) func(n *node, path string) {
	return func(n *node, path string) {
		switch {
		case !d.is(n, path, textKind):
		case strings.TrimSpace(n.text) == "":
			d.fault(n, path, "write something, or leave the key out", "the text is empty")
		case strings.ContainsAny(n.text, "\n\x00"):
			d.fault(n, path, "keep it on one line", "the text has a line break or a NUL")
		case len([]rune(n.text)) > 256:
			d.fault(n, path, "keep it shorter", "the text has more than 256 characters")
		default:
			*to = n.text
		}
	}
}

// word decodes text of a form.
func (d *decoder) word(to *string, form pattern) func(n *node, path string) {
	return func(n *node, path string) {
		if d.is(n, path, textKind) && d.fits(n, path, n.text, form) {
			*to = n.text
		}
	}
}

func (d *decoder) fits(n *node, path, text string, form pattern) bool {
	if form.match(text) {
		return true
	}
	d.fault(n, path, "use "+form.words, "%s is no %s", quoted(text), form.name)
	return false
}

// texts decodes a list of different texts; check looks at each. An empty list
// is decoded as empty, not nil.
func (d *decoder) texts(to *[]string, check func(n *node, path string) bool) func(n *node, path string) {
	return func(n *node, path string) {
		if !d.is(n, path, listKind) {
			return
		}
		list := []string{}
		for i, item := range n.items {
			here := fmt.Sprintf("%s[%d]", path, i)
			if !d.is(item, here, textKind) || !check(item, here) {
				continue
			}
			if slices.Contains(list, item.text) {
				d.fault(item, here, "name it once", "%s stands here twice", quoted(item.text))
				continue
			}
			list = append(list, item.text)
		}
		*to = list
	}
}

// oneOf is a check for texts and words that are names of something known.
func (d *decoder) oneOf(what string, known []string) func(n *node, path string) bool {
	return func(n *node, path string) bool {
		if slices.Contains(known, n.text) {
			return true
		}
		d.fault(n, path, suggestion(n.text, known), "%s is no %s", quoted(n.text), what)
		return false
	}
}

// vars decodes a map of scalars that mosaic hands on without reading them.
func (d *decoder) vars(to *map[string]any) func(n *node, path string) {
	return func(n *node, path string) {
		vars := map[string]any{}
		d.decodeEach(n, path, func(key string, e entry, here string) {
			if !d.fits(e.at(), here, key, varForm) {
				return
			}
			switch e.value.kind {
			case listKind, mapKind, nullKind:
				d.fault(e.value, here, "write text, a number, true or false", "%s stands here", kindNames[e.value.kind])
			default:
				vars[key] = e.value.value
			}
		})
		*to = vars
	}
}

// command decodes an argument list: the program, then its arguments as they
// are. ~/ in front of the program means the person's home directory.
func (d *decoder) command(to *[]string) func(n *node, path string) {
	return func(n *node, path string) {
		if !d.is(n, path, listKind) {
			return
		}
		var list []string
		for i, item := range n.items {
			here := fmt.Sprintf("%s[%d]", path, i)
			if !d.is(item, here, textKind) {
				continue
			}
			if strings.Contains(item.text, "\x00") {
				d.fault(item, here, "remove it", "the text has a NUL")
				continue
			}
			list = append(list, item.text)
		}
		if len(list) == 0 || list[0] == "" {
			d.fault(n, path, "name the program first, such as [sh, -c, ./work.sh]", "no program")
			return
		}
		list[0] = expandHome(list[0], d.home)
		*to = list
	}
}
