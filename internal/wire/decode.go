package wire

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Decode stores one JSON document in v, a non-nil pointer, or refuses it. It
// is the one decoder for everything that comes from outside (DESIGN.md 3).
//
// It refuses, and never repairs: keys in another spelling than the target's,
// unknown keys, keys given twice at any level (inside a json.RawMessage too),
// absent keys that are not optional, data after the value, invalid UTF-8, lone
// surrogate escapes, NUL (raw or escaped), more than 64 levels, values of
// another type, and numbers that do not fit the target or would come back
// changed (BUS-PROTO-21, BUS-OPEN-21). A number inside a json.RawMessage must
// fit int64, uint64 or float64 unchanged.
//
// A target is built of structs, maps with string keys, slices, pointers,
// strings, bools, integers, float64, any and json.RawMessage, and the named
// types of these. A struct field is optional when its tag says omitempty or
// omitzero. null is a value of any, of json.RawMessage, and of pointers that
// are not optional; for everything else it is of the wrong type, and an
// optional pointer is absent or has a value.
//
// Refusals are *DecodeError; errors.As also finds the *Error in it. Any other
// error means that v is no such target. Slices, maps and strings of the result
// share no memory with data. After a refusal v holds an undefined part of the
// document.
func Decode(data []byte, v any) error {
	return decode(data, v, strict)
}

// DecodePart is Decode for replies: keys that v does not name are checked and
// left out, and absent keys are no fault, because a newer peer may say more.
func DecodePart(data []byte, v any) error {
	return decode(data, v, partial)
}

// decodeShared is Decode for a buffer that nobody changes again: the
// json.RawMessages of v share its memory.
func decodeShared(data []byte, v any) error {
	return decode(data, v, shared)
}

func decode(data []byte, v any, how mode) error {
	p := reflect.ValueOf(v)
	if p.Kind() != reflect.Pointer || p.IsNil() {
		return errors.New("wire: decode target is no pointer")
	}
	c, err := codecOf(p.Type().Elem())
	if err != nil {
		return err
	}
	d := newDecoder(data, how)
	defer d.free()
	if !utf8.Valid(data) {
		return d.refuse(faultUTF8)
	}
	f := c.decode(d, p.Elem())
	if f == "" {
		f = d.end()
	}
	if f != "" {
		return d.refuse(f)
	}
	return nil
}

// DecodeError says why a document was refused. Its text is for logs: it names
// keys, and none of the document's values.
type DecodeError struct {
	Path   []string // keys around the fault, outermost first
	Reason string
	Offset int // bytes before the fault, roughly
}

func (d *decoder) refuse(f fault) *DecodeError {
	e := &DecodeError{Reason: string(f), Offset: d.pos}
	for i := len(d.path) - 1; i >= 0; i-- {
		e.Path = append(e.Path, printableKey(d.path[i]))
	}
	return e
}

// Error describes the fault.
func (e *DecodeError) Error() string {
	if len(e.Path) == 0 {
		return fmt.Sprintf("%s: %s at byte %d", InvalidRequest, e.Reason, e.Offset)
	}
	return fmt.Sprintf("%s: %s at byte %d (%s)", InvalidRequest, e.Reason, e.Offset, strings.Join(e.Path, "."))
}

// Unwrap returns what a caller is told: invalid-request, with the outermost
// key around the fault (BUS-OPEN-21).
func (e *DecodeError) Unwrap() error { return RefuseField(InvalidRequest, e.key(0)) }

// key returns the nth key around the fault, or "".
func (e *DecodeError) key(n int) string {
	if n < len(e.Path) {
		return e.Path[n]
	}
	return ""
}

// printableKey returns the key when it can be an argument's name. Others come
// from the peer and are not repeated.
func printableKey(key string) string {
	if key == "" || len(key) > 64 {
		return ""
	}
	for _, c := range []byte(key) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-', c == '.':
		default:
			return ""
		}
	}
	return key
}

var negativeZero = math.Copysign(0, -1)

func decodeString(d *decoder, v reflect.Value) fault {
	if d.peek() != '"' {
		return d.mismatch()
	}
	s, f := d.text()
	if f == "" {
		v.SetString(string(s))
	}
	return f
}

func decodeBool(d *decoder, v reflect.Value) fault {
	switch d.peek() {
	case 't':
		v.SetBool(true)
		return d.literal("true")
	case 'f':
		v.SetBool(false)
		return d.literal("false")
	}
	return d.mismatch()
}

// numeral returns the literal of a number, or why the value is none.
func (d *decoder) numeral() ([]byte, fault) {
	if c := d.peek(); c != '-' && (c < '0' || c > '9') {
		return nil, d.mismatch()
	}
	return d.number()
}

func decodeInt(d *decoder, v reflect.Value) fault {
	lit, f := d.numeral()
	if f != "" {
		return f
	}
	n, err := strconv.ParseInt(string(lit), 10, v.Type().Bits())
	if err != nil || !isInteger(lit) {
		return faultNumber
	}
	v.SetInt(n)
	return ""
}

func decodeUint(d *decoder, v reflect.Value) fault {
	lit, f := d.numeral()
	if f != "" {
		return f
	}
	n, err := strconv.ParseUint(string(lit), 10, v.Type().Bits())
	if err != nil {
		return faultNumber
	}
	v.SetUint(n)
	return ""
}

func decodeFloat(d *decoder, v reflect.Value) fault {
	lit, f := d.numeral()
	if f != "" {
		return f
	}
	n, ok := exactFloat(lit)
	if !ok {
		return faultNumber
	}
	v.SetFloat(n)
	return ""
}

// decodeRaw checks a value and keeps its text.
func decodeRaw(d *decoder, v reflect.Value) fault {
	d.space()
	from := d.pos
	if f := d.skip(); f != "" {
		return f
	}
	raw := d.data[from:d.pos:d.pos]
	if d.mode != shared {
		raw = append(make([]byte, 0, len(raw)), raw...)
	}
	v.SetBytes(raw)
	return ""
}

// decodeAny stores what encoding/json would: nil, bool, float64, string,
// []any and map[string]any.
func decodeAny(d *decoder, v reflect.Value) fault {
	x, f := d.any()
	if f == "" {
		if x == nil {
			v.SetZero()
		} else {
			v.Set(reflect.ValueOf(x))
		}
	}
	return f
}

func (d *decoder) any() (any, fault) {
	switch c := d.peek(); {
	case c == '{':
		return d.anyObject()
	case c == '[':
		return d.anyArray()
	case c == '"':
		s, f := d.text()
		return string(s), f
	case c == 't':
		return true, d.literal("true")
	case c == 'f':
		return false, d.literal("false")
	case c == 'n':
		return nil, d.literal("null")
	}
	lit, f := d.numeral()
	if f != "" {
		return nil, f
	}
	n, ok := exactFloat(lit)
	if !ok {
		return nil, faultNumber
	}
	return n, ""
}

func (d *decoder) anyArray() (any, fault) {
	if f := d.open('['); f != "" {
		return nil, f
	}
	list := []any{}
	for first := true; ; first = false {
		ok, f := d.more(first, ']')
		if !ok {
			return list, f
		}
		x, f := d.any()
		if f != "" {
			return nil, f
		}
		list = append(list, x)
	}
}

func (d *decoder) anyObject() (any, fault) {
	if f := d.open('{'); f != "" {
		return nil, f
	}
	object := map[string]any{}
	for first := true; ; first = false {
		k, ok, f := d.key(first)
		if !ok {
			return object, f
		}
		key := string(k)
		if _, twice := object[key]; twice {
			return nil, d.at(key, faultDuplicate)
		}
		x, f := d.any()
		if f != "" {
			return nil, d.at(key, f)
		}
		object[key] = x
	}
}

func decodePointer(elem *codec, t reflect.Type, optional bool) decodeFunc {
	return func(d *decoder, v reflect.Value) fault {
		if !optional && d.peek() == 'n' {
			v.SetZero()
			return d.literal("null")
		}
		p := reflect.New(t)
		f := elem.decode(d, p.Elem())
		if f == "" {
			v.Set(p)
		}
		return f
	}
}

func decodeSlice(elem *codec, t reflect.Type) decodeFunc {
	return func(d *decoder, v reflect.Value) fault {
		if f := d.open('['); f != "" {
			return f
		}
		list := reflect.MakeSlice(t, 0, 0)
		for n := 0; ; n++ {
			ok, f := d.more(n == 0, ']')
			if !ok {
				v.Set(list)
				return f
			}
			if n == list.Cap() {
				list = grown(list)
			}
			list = list.Slice(0, n+1)
			if f := elem.decode(d, list.Index(n)); f != "" {
				return f
			}
		}
	}
}

func grown(list reflect.Value) reflect.Value {
	bigger := reflect.MakeSlice(list.Type(), list.Len(), max(4, 2*list.Cap()))
	reflect.Copy(bigger, list)
	return bigger
}

func decodeMap(elem *codec, t reflect.Type) decodeFunc {
	return func(d *decoder, v reflect.Value) fault {
		if f := d.open('{'); f != "" {
			return f
		}
		m := reflect.MakeMap(t)
		for first := true; ; first = false {
			k, ok, f := d.key(first)
			if !ok {
				v.Set(m)
				return f
			}
			key := reflect.ValueOf(string(k)).Convert(t.Key())
			if m.MapIndex(key).IsValid() {
				return d.at(key.String(), faultDuplicate)
			}
			x := reflect.New(t.Elem()).Elem()
			if f := elem.decode(d, x); f != "" {
				return d.at(key.String(), f)
			}
			m.SetMapIndex(key, x)
		}
	}
}

func (s *structCodec) decode(d *decoder, v reflect.Value) fault {
	if f := d.open('{'); f != "" {
		return f
	}
	others := keySet{d: d, from: len(d.seen)}
	defer others.drop()
	var seen uint64
	next := 0
	for first := true; ; first = false {
		key, ok, f := d.key(first)
		if f != "" {
			return f
		}
		if !ok {
			break
		}
		i, known := s.find(key, next)
		if !known {
			if f := d.other(&others, key); f != "" {
				return f
			}
			continue
		}
		field := &s.fields[i]
		if seen&(1<<i) != 0 {
			return d.at(field.name, faultDuplicate)
		}
		seen |= 1 << i
		next = i + 1
		if f := field.codec.decode(d, v.FieldByIndex(field.index)); f != "" {
			return d.at(field.name, f)
		}
	}
	if absent := s.required &^ seen; absent != 0 && d.mode != partial {
		return d.at(s.first(absent), faultMissing)
	}
	return ""
}

// other deals with a key that the target does not name.
func (d *decoder) other(others *keySet, key []byte) fault {
	stable, fresh := others.add(key)
	switch {
	case d.mode != partial:
		return d.at(string(stable), faultUnknown)
	case !fresh:
		return d.at(string(stable), faultDuplicate)
	}
	if f := d.skip(); f != "" {
		return d.at(string(stable), f)
	}
	return ""
}
