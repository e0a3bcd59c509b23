package wire

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math/bits"
	"reflect"
	"strings"
	"sync"
)

type (
	decodeFunc func(*decoder, reflect.Value) fault
	encodeFunc func([]byte, reflect.Value) ([]byte, error)
)

// codec reads and writes one Go type. Both directions come from the same
// struct tags, so what Encode writes Decode reads.
type codec struct {
	decode decodeFunc
	encode encodeFunc
}

// codecs holds the finished codecs by reflect.Type.
var codecs sync.Map

// codecOf returns the codec of a type, or why the type has none.
func codecOf(t reflect.Type) (*codec, error) {
	if c, ok := codecs.Load(t); ok {
		return c.(*codec), nil
	}
	b := builder{}
	c, err := b.build(t)
	if err != nil {
		return nil, err
	}
	for t, c := range b {
		codecs.LoadOrStore(t, c)
	}
	return c, nil
}

// builder holds the codecs under construction, so that a type may contain
// itself.
type builder map[reflect.Type]*codec

func (b builder) build(t reflect.Type) (*codec, error) {
	if c, ok := b[t]; ok {
		return c, nil
	}
	c := &codec{}
	b[t] = c
	return c, b.fill(c, t)
}

func (b builder) fill(c *codec, t reflect.Type) error {
	if t != rawType && hasOwnForm(t) {
		return fmt.Errorf("wire: %v has a JSON form of its own", t)
	}
	switch t.Kind() {
	case reflect.String:
		*c = codec{decodeString, encodeString}
	case reflect.Bool:
		*c = codec{decodeBool, encodeBool}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		*c = codec{decodeInt, encodeInt}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		*c = codec{decodeUint, encodeUint}
	case reflect.Float64:
		*c = codec{decodeFloat, encodeFloat}
	case reflect.Interface:
		if t.NumMethod() != 0 {
			return fmt.Errorf("wire: %v has methods", t)
		}
		*c = codec{decodeAny, encodeAny}
	case reflect.Pointer:
		return b.container(c, t, func(elem *codec) codec {
			return codec{decodePointer(elem, t.Elem(), false), encodePointer(elem)}
		})
	case reflect.Slice:
		switch t {
		case rawType:
			*c = codec{decodeRaw, encodeRaw}
			return nil
		case encodedType:
			*c = codec{decodeRaw, encodeEncoded}
			return nil
		}
		if t.Elem().Kind() == reflect.Uint8 {
			return fmt.Errorf("wire: %v has no JSON form here", t)
		}
		return b.container(c, t, func(elem *codec) codec {
			return codec{decodeSlice(elem, t), encodeSlice(elem)}
		})
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			return fmt.Errorf("wire: %v has keys that are no strings", t)
		}
		return b.container(c, t, func(elem *codec) codec {
			return codec{decodeMap(elem, t), encodeMap(elem)}
		})
	case reflect.Struct:
		s, err := b.plan(t)
		if err != nil {
			return err
		}
		*c = codec{s.decode, s.encode}
	default:
		return fmt.Errorf("wire: %v has no JSON form here", t)
	}
	return nil
}

// hasOwnForm finds types such as time.Time, whose methods would be passed over
// in silence.
func hasOwnForm(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(jsonMarshaler) || p.Implements(textMarshaler)
}

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	rawType       = reflect.TypeFor[json.RawMessage]()
	encodedType   = reflect.TypeFor[Encoded]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

func (b builder) container(c *codec, t reflect.Type, make func(elem *codec) codec) error {
	elem, err := b.build(t.Elem())
	if err != nil {
		return err
	}
	*c = make(elem)
	return nil
}

// structCodec is a struct's fields in order of declaration, those of embedded
// structs among them.
type structCodec struct {
	fields   []field
	byName   map[string]int
	required uint64 // bit i: fields[i] may not be absent
}

type field struct {
	name      string
	prefix    string // `"name":`
	index     []int
	codec     *codec
	omitEmpty bool
	omitZero  bool
}

const maxFields = 64 // one bit each

func (b builder) plan(t reflect.Type) (*structCodec, error) {
	s := &structCodec{byName: map[string]int{}}
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous && f.Type.Kind() == reflect.Struct && f.Tag.Get("json") == "" {
			continue // its fields are visible themselves
		}
		if !f.IsExported() || f.Tag.Get("json") == "-" {
			continue
		}
		planned, err := b.field(t, f)
		if err != nil {
			return nil, err
		}
		if _, twice := s.byName[planned.name]; twice || len(s.fields) == maxFields {
			return nil, fmt.Errorf("wire: %v has more than %d fields or %q twice", t, maxFields, planned.name)
		}
		if !planned.omitEmpty && !planned.omitZero {
			s.required |= 1 << len(s.fields)
		}
		s.byName[planned.name] = len(s.fields)
		s.fields = append(s.fields, planned)
	}
	return s, nil
}

func (b builder) field(t reflect.Type, f reflect.StructField) (field, error) {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "" {
		name = f.Name
	}
	planned := field{name: name, prefix: string(appendString(nil, name)) + ":", index: f.Index}
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "":
		case "omitempty":
			planned.omitEmpty = true
		case "omitzero":
			planned.omitZero = true
		default:
			return field{}, fmt.Errorf("wire: %v.%s: option %q is not supported", t, f.Name, option)
		}
	}
	c, err := b.build(f.Type)
	if err != nil {
		return field{}, err
	}
	if f.Type.Kind() == reflect.Pointer && (planned.omitEmpty || planned.omitZero) {
		elem, err := b.build(f.Type.Elem())
		if err != nil {
			return field{}, err
		}
		c = &codec{decodePointer(elem, f.Type.Elem(), true), encodePointer(elem)}
	}
	planned.codec = c
	return planned, nil
}

// find returns the field of a key; most documents have their keys in order, so
// the one at next is tried first.
func (s *structCodec) find(key []byte, next int) (int, bool) {
	if next < len(s.fields) && s.fields[next].name == string(key) {
		return next, true
	}
	i, ok := s.byName[string(key)]
	return i, ok
}

// first names the first field of a set.
func (s *structCodec) first(set uint64) string {
	return s.fields[bits.TrailingZeros64(set)].name
}
