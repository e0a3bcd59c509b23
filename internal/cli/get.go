package cli

import (
	"encoding/json"
	"io"
	"strconv"
	"strings"

	"mosaicstack.dev/mosaic/internal/wire"
)

// field prints the field that --get names: a string as it is, anything else as
// JSON, one value a line. A field that is not there prints nothing. Shells can
// then use an answer without a JSON parser of their own.
func (p *printer) field(v any) error {
	doc, err := wire.Encode(v)
	if err != nil {
		return err
	}
	for _, found := range walk(doc, strings.Split(p.get, ".")) {
		var text string
		if p.json || json.Unmarshal(found, &text) != nil {
			if err := p.document(p.stdout, found); err != nil {
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

// walk follows a path of keys and positions; * takes every element. null
// counts as not there.
func walk(doc raw, path []string) []raw {
	if len(doc) == 0 || string(doc) == "null" {
		return nil
	}
	if len(path) == 0 {
		return []raw{doc}
	}
	var object map[string]raw
	if json.Unmarshal(doc, &object) == nil {
		return walk(object[path[0]], path[1:])
	}
	var list []raw
	if json.Unmarshal(doc, &list) != nil {
		return nil
	}
	if path[0] == "*" {
		var all []raw
		for _, element := range list {
			all = append(all, walk(element, path[1:])...)
		}
		return all
	}
	if i, err := strconv.Atoi(path[0]); err == nil && i >= 0 && i < len(list) {
		return walk(list[i], path[1:])
	}
	return nil
}
