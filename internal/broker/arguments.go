package broker

import (
	"encoding/json"
	"reflect"
	"strings"
)

// Argument describes one argument of a verb as a caller writes it.
type Argument struct {
	Name     string
	Type     string // string, integer, boolean, object, value (any JSON), or list of one of these
	Optional bool
	Limit    string // what a value may be, in words for people; "" where the type says it
}

// Arguments lists the verb's arguments in the order of the reference; none for
// a verb that takes none. It is derived from the argument struct that the
// dispatcher decodes into, so that help and reference cannot differ from it.
func (v Verb) Arguments() []Argument {
	if v.newArgs == nil {
		return nil // no verb of the registry
	}
	return ArgumentsOf(v.newArgs())
}

// ArgumentsOf lists what an argument struct declares; args points to one. It
// serves the tables of other sockets too.
func ArgumentsOf(args any) []Argument {
	t := reflect.TypeOf(args).Elem()
	var list []Argument
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" || !field.IsExported() {
			continue
		}
		list = append(list, Argument{
			Name:     name,
			Type:     jsonType(field.Type),
			Optional: field.Type.Kind() == reflect.Pointer || strings.Contains(options, "omit"),
			Limit:    field.Tag.Get("limit"),
		})
	}
	return list
}

var rawMessage = reflect.TypeFor[json.RawMessage]()

func jsonType(t reflect.Type) string {
	switch {
	case t == rawMessage:
		return "value"
	case t.Kind() == reflect.Pointer:
		return jsonType(t.Elem())
	case t.Kind() == reflect.Slice:
		return "list of " + jsonType(t.Elem())
	case t.Kind() == reflect.String:
		return "string"
	case t.Kind() == reflect.Bool:
		return "boolean"
	case t.Kind() == reflect.Struct, t.Kind() == reflect.Map:
		return "object"
	case reflect.Int <= t.Kind() && t.Kind() <= reflect.Uint64:
		return "integer"
	}
	return "value"
}
