package cli

import (
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"

	"mosaicstack.dev/mosaic/internal/wire"
)

// field prints the field that --get names: a string as it is, anything else as
// JSON, one value a line; null and an empty list print nothing. Shells can then
// use an answer without a JSON parser of their own. A field that is not there
// fails, because an empty variable would hide a mistyped name.
func (p *printer) field(v any) error {
	doc, err := wire.Encode(v)
	if err != nil {
		return err
	}
	values, found := walk(doc, strings.Split(p.get, "."))
	if !found {
		return explained(wire.Refuse(wire.Failed), "the answer has no field %q%s", echo(p.get), fieldsOf(doc))
	}
	for _, value := range values {
		var text string
		if p.json || json.Unmarshal(value, &text) != nil {
			if err := p.document(p.stdout, value); err != nil {
				return err
			}
			continue
		}
		if isTerminal(p.stdout) {
			text = visible(text)
		}
		if _, err := io.WriteString(p.stdout, text+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// fieldsOf names the fields of a document, for a mistyped one.
func fieldsOf(doc raw) string {
	var object map[string]raw
	if json.Unmarshal(doc, &object) != nil {
		return "; it is no object"
	}
	var names []string
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names)
	return "; it has " + echo(strings.Join(names, ", "))
}

// walk follows a path of keys and positions; * takes every element, and of an
// empty list none. found says whether there is such a field at all; a null is
// there, and has no value.
func walk(doc raw, path []string) (values []raw, found bool) {
	if len(path) == 0 {
		if string(doc) == "null" {
			return nil, true
		}
		return []raw{doc}, true
	}
	var object map[string]raw
	if json.Unmarshal(doc, &object) == nil && object != nil {
		field, known := object[path[0]]
		if !known {
			return nil, false
		}
		return walk(field, path[1:])
	}
	var list []raw
	if json.Unmarshal(doc, &list) != nil || list == nil {
		return nil, false
	}
	if path[0] == "*" {
		for _, element := range list {
			more, there := walk(element, path[1:])
			values, found = append(values, more...), found || there
		}
		return values, found || len(list) == 0
	}
	if i, err := strconv.Atoi(path[0]); err == nil && i >= 0 && i < len(list) {
		return walk(list[i], path[1:])
	}
	return nil, false
}
