package wire

import (
	"bytes"
	"strconv"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

// fault says what is wrong with a document, in words without any of its text;
// "" means nothing is.
type fault string

const (
	faultUTF8      fault = "not valid UTF-8"
	faultSyntax    fault = "not well-formed JSON"
	faultTrailing  fault = "data after the value"
	faultDeep      fault = "more than 64 levels"
	faultNUL       fault = "a NUL character"
	faultControl   fault = "a raw control character in a string"
	faultSurrogate fault = "a lone surrogate"
	faultEscape    fault = "an escape that JSON does not have"
	faultDuplicate fault = "a key given twice"
	faultUnknown   fault = "an unknown key"
	faultMissing   fault = "a missing key"
	faultType      fault = "a value of the wrong type"
	faultNumber    fault = "a number that does not fit or would be changed"
)

// mode is how a document is stored.
type mode uint8

const (
	strict  mode = iota
	shared       // a json.RawMessage may share the document's memory
	partial      // unknown keys are skipped, absent keys are no fault
)

// decoder walks one document from front to back. Nothing is read twice and
// nothing is skipped unchecked, so its cost is linear in the document.
type decoder struct {
	data    []byte
	pos     int
	depth   int
	mode    mode
	path    []string // keys around a fault, innermost first
	seen    [][]byte // keys of the objects under way that no struct checks
	scratch []byte   // the last string that held an escape
}

// decoders keeps the memory of seen and scratch for the next document.
var decoders = sync.Pool{New: func() any { return new(decoder) }}

func newDecoder(data []byte, how mode) *decoder {
	d := decoders.Get().(*decoder)
	d.data, d.mode = data, how
	return d
}

func (d *decoder) free() {
	const keep = 4 << 10
	seen, scratch := d.seen[:cap(d.seen)], d.scratch[:0]
	if cap(seen) > keep || cap(scratch) > keep {
		return
	}
	clear(seen) // keys are parts of the document
	*d = decoder{seen: seen[:0], scratch: scratch}
	decoders.Put(d)
}

// at notes the key whose value holds the fault, while the fault unwinds.
func (d *decoder) at(key string, f fault) fault {
	d.path = append(d.path, key)
	return f
}

func (d *decoder) space() {
	for d.pos < len(d.data) {
		switch d.data[d.pos] {
		case ' ', '\t', '\n', '\r':
			d.pos++
		default:
			return
		}
	}
}

// peek returns the next byte after white space, or 0 at the end.
func (d *decoder) peek() byte {
	d.space()
	if d.pos == len(d.data) {
		return 0
	}
	return d.data[d.pos]
}

// end demands that nothing follows.
func (d *decoder) end() fault {
	if d.space(); d.pos < len(d.data) {
		return faultTrailing
	}
	return ""
}

// open enters an object or array; close is shared by both.
func (d *decoder) open(bracket byte) fault {
	if d.peek() != bracket {
		return d.mismatch()
	}
	if d.depth == MaxDepth {
		return faultDeep
	}
	d.depth++
	d.pos++
	return ""
}

// mismatch tells a value of the wrong type from what is no value at all.
func (d *decoder) mismatch() fault {
	if f := d.skip(); f != "" {
		return f
	}
	return faultType
}

// more reports whether another element follows before the closing bracket, and
// leaves the array or object when none does.
func (d *decoder) more(first bool, end byte) (bool, fault) {
	switch c := d.peek(); {
	case c == end:
		d.pos++
		d.depth--
		return false, ""
	case first:
		return true, ""
	case c == ',':
		d.pos++
		return true, ""
	}
	return false, faultSyntax
}

// key returns the next key of an object, valid until the next string is read,
// and consumes its colon; ok is false at the object's end.
func (d *decoder) key(first bool) (key []byte, ok bool, f fault) {
	if ok, f = d.more(first, '}'); !ok {
		return nil, false, f
	}
	if d.peek() != '"' {
		return nil, false, faultSyntax
	}
	if key, f = d.text(); f != "" {
		return nil, false, f
	}
	if d.peek() != ':' {
		return nil, false, faultSyntax
	}
	d.pos++
	return key, true, ""
}

// text reads the string at the position. The result shares data's memory, or
// scratch when the string held an escape.
func (d *decoder) text() ([]byte, fault) {
	d.pos++ // the opening quote
	start := d.pos
	for i := start; i < len(d.data); i++ {
		switch c := d.data[i]; {
		case c == '"':
			d.pos = i + 1
			return d.data[start:i], ""
		case c == '\\':
			return d.escaped(start, i)
		case c < ' ':
			d.pos = i
			return nil, controlFault(c)
		}
	}
	return nil, faultSyntax
}

func controlFault(c byte) fault {
	if c == 0 {
		return faultNUL
	}
	return faultControl
}

// escaped continues text at the first backslash.
func (d *decoder) escaped(start, i int) ([]byte, fault) {
	out := append(d.scratch[:0], d.data[start:i]...)
	for i < len(d.data) {
		c := d.data[i]
		switch {
		case c == '"':
			d.pos, d.scratch = i+1, out
			return out, ""
		case c < ' ':
			d.pos = i
			return nil, controlFault(c)
		case c != '\\':
			out = append(out, c)
			i++
		default:
			r, n, f := escape(d.data[i:])
			if f != "" {
				d.pos = i
				return nil, f
			}
			out = utf8.AppendRune(out, r)
			i += n
		}
	}
	return nil, faultSyntax
}

// escape reads the escape that s starts with, and its length in bytes. A
// surrogate pair is one escape.
func escape(s []byte) (rune, int, fault) {
	if len(s) < 2 {
		return 0, 0, faultSyntax
	}
	if s[1] != 'u' {
		if i := bytes.IndexByte([]byte(`"\/bfnrt`), s[1]); i >= 0 {
			return rune("\"\\/\b\f\n\r\t"[i]), 2, ""
		}
		return 0, 0, faultEscape
	}
	r, ok := hex4(s[2:])
	switch {
	case !ok:
		return 0, 0, faultEscape
	case r == 0:
		return 0, 0, faultNUL
	case !utf16.IsSurrogate(r):
		return r, 6, ""
	}
	if len(s) < 8 || s[6] != '\\' || s[7] != 'u' {
		return 0, 0, faultSurrogate
	}
	low, ok := hex4(s[8:])
	if pair := utf16.DecodeRune(r, low); ok && pair != utf8.RuneError {
		return pair, 12, ""
	}
	return 0, 0, faultSurrogate
}

func hex4(s []byte) (rune, bool) {
	if len(s) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range s[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// number reads the literal at the position: JSON's grammar, nothing more.
func (d *decoder) number() ([]byte, fault) {
	s, i := d.data[d.pos:], 0
	digits := func() bool {
		from := i
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		return i > from
	}
	if i < len(s) && s[i] == '-' {
		i++
	}
	if i < len(s) && s[i] == '0' {
		i++
	} else if !digits() {
		return nil, faultSyntax
	}
	if i < len(s) && s[i] == '.' {
		i++
		if !digits() {
			return nil, faultSyntax
		}
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if !digits() {
			return nil, faultSyntax
		}
	}
	d.pos += i
	return s[:i], ""
}

// literal consumes true, false or null.
func (d *decoder) literal(word string) fault {
	if !bytes.HasPrefix(d.data[d.pos:], []byte(word)) {
		return faultSyntax
	}
	d.pos += len(word)
	return ""
}

// skip checks the value at the position without storing it.
func (d *decoder) skip() fault {
	switch c := d.peek(); {
	case c == '{':
		return d.skipObject()
	case c == '[':
		return d.skipArray()
	case c == '"':
		_, f := d.text()
		return f
	case c == 't':
		return d.literal("true")
	case c == 'f':
		return d.literal("false")
	case c == 'n':
		return d.literal("null")
	case c == '-' || c >= '0' && c <= '9':
		lit, f := d.number()
		if f == "" && !survives(lit) {
			f = faultNumber
		}
		return f
	}
	return faultSyntax
}

func (d *decoder) skipArray() fault {
	if f := d.open('['); f != "" {
		return f
	}
	for first := true; ; first = false {
		ok, f := d.more(first, ']')
		if !ok {
			return f
		}
		if f := d.skip(); f != "" {
			return f
		}
	}
}

func (d *decoder) skipObject() fault {
	if f := d.open('{'); f != "" {
		return f
	}
	keys := keySet{d: d, from: len(d.seen)}
	defer keys.drop()
	for first := true; ; first = false {
		key, ok, f := d.key(first)
		if !ok {
			return f
		}
		stable, fresh := keys.add(key)
		if !fresh {
			return d.at(string(stable), faultDuplicate)
		}
		if f := d.skip(); f != "" {
			return d.at(string(stable), f)
		}
	}
}

// keySet holds the keys of one object. Few keys are compared one by one on the
// decoder's shared stack; many go into a map, so that time stays linear.
type keySet struct {
	d    *decoder
	from int
	many map[string]struct{}
}

const fewKeys = 16

// add returns the key in memory that stays, and whether it is new.
func (s *keySet) add(key []byte) (stable []byte, fresh bool) {
	d := s.d
	if len(key) > 0 && len(d.scratch) > 0 && &key[0] == &d.scratch[0] {
		key = bytes.Clone(key)
	}
	if s.many != nil {
		_, known := s.many[string(key)]
		s.many[string(key)] = struct{}{}
		return key, !known
	}
	mine := d.seen[s.from:]
	for _, k := range mine {
		if bytes.Equal(k, key) {
			return key, false
		}
	}
	d.seen = append(d.seen, key)
	if len(mine) == fewKeys {
		s.many = make(map[string]struct{}, 4*fewKeys)
		for _, k := range d.seen[s.from:] {
			s.many[string(k)] = struct{}{}
		}
	}
	return key, true
}

func (s *keySet) drop() { s.d.seen = s.d.seen[:s.from] }

// survives reports whether a number can be held by int64, uint64 or float64
// without being changed. It is asked of numbers whose target is not known yet.
func survives(lit []byte) bool {
	if isInteger(lit) && len(lit) <= 20 {
		if _, err := strconv.ParseInt(string(lit), 10, 64); err == nil {
			return true
		}
		if _, err := strconv.ParseUint(string(lit), 10, 64); err == nil {
			return true
		}
	}
	_, ok := exactFloat(lit)
	return ok
}

// isInteger reports whether a number is written as an integer. -0 is none: an
// integer cannot hold its sign.
func isInteger(lit []byte) bool {
	return !bytes.ContainsAny(lit, ".eE") && string(lit) != "-0"
}

// exactFloat parses a number whose shortest float64 spelling has the same
// value; 0.10 is such a number, 9007199254740993 and 1e-400 are not.
func exactFloat(lit []byte) (float64, bool) {
	want, ok := parseDecimal(lit)
	if !ok {
		return 0, false
	}
	if want.digits == 0 {
		if lit[0] == '-' {
			return negativeZero, true
		}
		return 0, true
	}
	f, err := strconv.ParseFloat(string(lit), 64)
	if err != nil {
		return 0, false
	}
	var buf [32]byte
	got, ok := parseDecimal(strconv.AppendFloat(buf[:0], f, 'e', -1, 64))
	return f, ok && got == want
}

// decimal is the value digits * 10^exponent with no trailing zero in digits.
type decimal struct {
	digits   uint64
	exponent int
}

// maxDigits is what a float64's shortest spelling may need.
const maxDigits = 17

// parseDecimal reads a literal of JSON's grammar; ok is false for more
// significant digits, or a larger exponent, than any float64 has.
func parseDecimal(lit []byte) (v decimal, ok bool) {
	if lit[0] == '-' {
		lit = lit[1:]
	}
	count, zeros, fraction := 0, 0, false
	i := 0
	for ; i < len(lit) && lit[i] != 'e' && lit[i] != 'E'; i++ {
		c := lit[i]
		if c == '.' {
			fraction = true
			continue
		}
		if fraction {
			v.exponent--
		}
		if c == '0' { // zeros count only when another digit follows
			if v.digits != 0 {
				zeros++
			}
			continue
		}
		if count == 0 {
			zeros = 0
			count = 1
		} else {
			count += zeros + 1
		}
		if count > maxDigits {
			return decimal{}, false
		}
		for ; zeros > 0; zeros-- {
			v.digits *= 10
		}
		v.digits = v.digits*10 + uint64(c-'0')
	}
	if v.digits == 0 {
		return decimal{}, true
	}
	v.exponent += zeros
	if i < len(lit) {
		e, ok := parseExponent(lit[i+1:])
		if !ok {
			return decimal{}, false
		}
		v.exponent += e
	}
	return v, true
}

// parseExponent reads the part after the e; a longer document than any reply
// could not bring a larger exponent back into a float64's range.
func parseExponent(s []byte) (int, bool) {
	sign := 1
	if s[0] == '+' || s[0] == '-' {
		if s[0] == '-' {
			sign = -1
		}
		s = s[1:]
	}
	e := 0
	for _, c := range s {
		if e = e*10 + int(c-'0'); e > 1<<30 {
			return 0, false
		}
	}
	return sign * e, true
}
