package wire

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Encode returns v as plain JSON in one line: no HTML escaping, keys of maps
// in order, and every character that could end a line or steer a terminal (C0,
// DEL, C1, U+2028, U+2029) escaped. A nil slice is [] and a nil map {}, so a
// list is never null. Invalid UTF-8 and NUL, which no checked input holds,
// become U+FFFD. It takes the types that Decode takes; an error means that v
// holds another one, a number that JSON lacks, or a json.RawMessage that
// Decode would refuse.
func Encode(v any) ([]byte, error) { return AppendJSON(make([]byte, 0, usualSize), v) }

// usualSize is room for most requests and replies.
const usualSize = 512

// Encoded is what Encode returned, to be written as it is where a value is
// expected.
type Encoded []byte

// AppendJSON appends Encode(v) to dst.
func AppendJSON(dst []byte, v any) ([]byte, error) {
	if v == nil {
		return append(dst, "null"...), nil
	}
	x := reflect.ValueOf(v)
	c, err := codecOf(x.Type())
	if err != nil {
		return dst, err
	}
	return c.encode(dst, x)
}

func encodeString(dst []byte, v reflect.Value) ([]byte, error) {
	return appendString(dst, v.String()), nil
}

func encodeBool(dst []byte, v reflect.Value) ([]byte, error) {
	return strconv.AppendBool(dst, v.Bool()), nil
}

func encodeInt(dst []byte, v reflect.Value) ([]byte, error) {
	return strconv.AppendInt(dst, v.Int(), 10), nil
}

func encodeUint(dst []byte, v reflect.Value) ([]byte, error) {
	return strconv.AppendUint(dst, v.Uint(), 10), nil
}

func encodeFloat(dst []byte, v reflect.Value) ([]byte, error) {
	f := v.Float()
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return dst, errors.New("wire: JSON has no NaN and no infinity")
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, f, format, -1, 64), nil
}

func encodeAny(dst []byte, v reflect.Value) ([]byte, error) {
	return AppendJSON(dst, v.Interface())
}

func encodeRaw(dst []byte, v reflect.Value) ([]byte, error) {
	raw := v.Bytes()
	if raw == nil {
		return append(dst, "null"...), nil
	}
	d := newDecoder(raw, strict)
	defer d.free()
	if !utf8.Valid(raw) || d.skip() != "" || d.end() != "" {
		return dst, errors.New("wire: a raw message is not strict JSON")
	}
	return appendCompact(dst, raw), nil
}

func encodeEncoded(dst []byte, v reflect.Value) ([]byte, error) {
	return append(dst, v.Bytes()...), nil
}

// appendCompact appends a checked document without white space between its
// tokens, escaping what a reply never holds raw.
func appendCompact(dst, raw []byte) []byte {
	inText := false
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case !inText && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			continue
		case c == '\\':
			dst = append(dst, c, raw[i+1])
			i++
			continue
		case c == '"':
			inText = !inText
		case c >= 0x7f:
			r, n := utf8.DecodeRune(raw[i:])
			dst = appendRune(dst, r)
			i += n - 1
			continue
		}
		dst = append(dst, c)
	}
	return dst
}

func encodePointer(elem *codec) encodeFunc {
	return func(dst []byte, v reflect.Value) ([]byte, error) {
		if v.IsNil() {
			return append(dst, "null"...), nil
		}
		return elem.encode(dst, v.Elem())
	}
}

func encodeSlice(elem *codec) encodeFunc {
	return func(dst []byte, v reflect.Value) (_ []byte, err error) {
		dst = append(dst, '[')
		for i := range v.Len() {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = elem.encode(dst, v.Index(i)); err != nil {
				return dst, err
			}
		}
		return append(dst, ']'), nil
	}
}

func encodeMap(elem *codec) encodeFunc {
	return func(dst []byte, v reflect.Value) (_ []byte, err error) {
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int {
			if a.String() < b.String() {
				return -1
			}
			return 1
		})
		dst = append(dst, '{')
		for i, key := range keys {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendString(dst, key.String()), ':')
			if dst, err = elem.encode(dst, v.MapIndex(key)); err != nil {
				return dst, err
			}
		}
		return append(dst, '}'), nil
	}
}

func (s *structCodec) encode(dst []byte, v reflect.Value) (_ []byte, err error) {
	dst = append(dst, '{')
	comma := false
	for i := range s.fields {
		f := &s.fields[i]
		x := v.FieldByIndex(f.index)
		if f.omitEmpty && isEmpty(x) || f.omitZero && x.IsZero() {
			continue
		}
		if comma {
			dst = append(dst, ',')
		}
		comma = true
		if dst, err = f.codec.encode(append(dst, f.prefix...), x); err != nil {
			return dst, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return append(dst, '}'), nil
}

// isEmpty is what omitempty asks of encoding/json.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

// appendString appends s as a JSON string.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < 0x7f && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[from:i]...)
		n := 1
		if c < utf8.RuneSelf {
			dst = appendRune(dst, rune(c))
		} else {
			var r rune
			r, n = utf8.DecodeRuneInString(s[i:])
			dst = appendRune(dst, r)
		}
		i += n
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}

// appendRune appends a character of a JSON string, escaped where needed.
func appendRune(dst []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	switch {
	case r == '"' || r == '\\':
		return append(dst, '\\', byte(r))
	case r == '\n':
		return append(dst, '\\', 'n')
	case r == '\r':
		return append(dst, '\\', 'r')
	case r == '\t':
		return append(dst, '\\', 't')
	case r == 0:
		return utf8.AppendRune(dst, utf8.RuneError)
	case r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029':
		return append(dst, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
	}
	return utf8.AppendRune(dst, r)
}
