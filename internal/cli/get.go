package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"
	"strings"
)

// field prints the field that --get names: a string as it is, anything else as
// JSON, one value a line. A field that is not there prints nothing. Shells can
// then use an answer without a JSON parser of their own.
func (p *printer) field(v any) error {
	doc, err := json.Marshal(v)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(doc))
	decoder.UseNumber()
	var whole any
	if err := decoder.Decode(&whole); err != nil {
		return err
	}
	for _, found := range walk(whole, strings.Split(p.get, ".")) {
		text, isText := found.(string)
		if p.json || !isText {
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
func walk(v any, path []string) []any {
	if v == nil {
		return nil
	}
	if len(path) == 0 {
		return []any{v}
	}
	switch v := v.(type) {
	case map[string]any:
		return walk(v[path[0]], path[1:])
	case []any:
		if path[0] == "*" {
			var all []any
			for _, element := range v {
				all = append(all, walk(element, path[1:])...)
			}
			return all
		}
		if i, err := strconv.Atoi(path[0]); err == nil && i >= 0 && i < len(v) {
			return walk(v[i], path[1:])
		}
	}
	return nil
}
