package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// MaxSafeInteger is the largest integer that every JSON implementation keeps.
const MaxSafeInteger = 1<<53 - 1

// ParseRequest reads one request line, without its newline. It shares line's
// memory. The error is *Error: invalid-request, with the name of the argument
// or key at fault where there is one (BUS-OPEN-21). With an error it returns
// what can be told of the request all the same, for the number of the reply
// (BUS-OPEN-19) and for the record of the refusal (BUS-PROTO-27), and for
// nothing else.
func ParseRequest(line []byte) (Request, error) {
	var r Request
	if err := decodeShared(line, &r); err != nil {
		return salvage(line), refusal(err)
	}
	if r.ID != nil && !isSafe(*r.ID) {
		r.ID = nil
		return r, RefuseField(InvalidRequest, "id")
	}
	return r, r.checkProof()
}

// refusal names the argument at fault rather than "args".
func refusal(err error) error {
	var d *DecodeError
	if errors.As(err, &d) && d.key(0) == "args" && d.key(1) != "" {
		return RefuseField(InvalidRequest, d.key(1))
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return Refuse(InvalidRequest)
}

func isSafe(id int64) bool { return id >= -MaxSafeInteger && id <= MaxSafeInteger }

// checkProof demands exactly one proof (BUS-PROTO-29), and a business beside
// it exactly when the proof does not name one (BUS-CTL-20).
func (r *Request) checkProof() error {
	switch {
	case r.Cap == "" && r.Human == nil && r.Tester == nil:
		return RefuseField(InvalidRequest, "cap")
	case r.Human != nil && r.Tester != nil:
		return RefuseField(InvalidRequest, "tester")
	case r.Cap != "" && r.Human != nil:
		return RefuseField(InvalidRequest, "human")
	case r.Cap != "" && r.Tester != nil:
		return RefuseField(InvalidRequest, "tester")
	case (r.Cap == "") != (r.Business != ""):
		return RefuseField(InvalidRequest, "business")
	}
	return nil
}

// AppendRequest appends a request line with its newline. args, a value for
// Encode, stands in place of r.Args; nil means none.
func AppendRequest(dst []byte, r Request, args any) ([]byte, error) {
	r.Args = nil
	dst, err := AppendJSON(dst, r)
	if args != nil && err == nil {
		dst, err = AppendJSON(append(dst[:len(dst)-1], `,"args":`...), args)
		dst = append(dst, '}')
	}
	return append(dst, '\n'), err
}

// ParseReply reads one reply line, without its newline. It shares line's
// memory. A reply holds a result or an error whose code and field look like
// such, since both may be shown.
func ParseReply(line []byte) (Reply, error) {
	var r Reply
	if err := decodeShared(line, &r); err != nil {
		return Reply{}, err
	}
	if r.OK && r.Result != nil && r.Error == "" && r.Field == "" || !r.OK && r.Result == nil && r.isRefusal() {
		return r, nil
	}
	return Reply{}, Refuse(InvalidRequest)
}

func (r *Reply) isRefusal() bool {
	return r.Error != "" && printableKey(string(r.Error)) == string(r.Error) && printableKey(r.Field) == r.Field
}

// appendReply appends a reply line with its newline: the result's, or the
// error's when there is one.
func appendReply(dst []byte, id *int64, result any, failure *Error) ([]byte, error) {
	dst = append(dst, '{')
	if id != nil {
		dst = append(dst, `"id":`...)
		dst, _ = AppendJSON(dst, *id)
		dst = append(dst, ',')
	}
	if failure != nil {
		return appendFailure(dst, failure), nil
	}
	dst, err := AppendJSON(append(dst, `"ok":true,"result":`...), result)
	return append(dst, "}\n"...), err
}

func appendFailure(dst []byte, e *Error) []byte {
	dst = appendString(append(dst, `"ok":false,"error":`...), string(e.Code))
	if e.Field != "" {
		dst = appendString(append(dst, `,"field":`...), e.Field)
	}
	return append(dst, "}\n"...)
}

// salvage reads what a refused line says of its number, verb and proof, for
// the label of its refusal.
func salvage(line []byte) Request {
	members := Members(line)
	var r Request
	find := func(key string, into any) bool { return json.Unmarshal(members[key], into) == nil }
	if !find("id", &r.ID) || r.ID != nil && !isSafe(*r.ID) {
		r.ID = nil
	}
	find("verb", &r.Verb)
	find("cap", &r.Cap)
	find("human", &r.Human)
	find("business", &r.Business)
	return r
}

// Members returns the members of an object that the strict decoder has
// refused, less those whose key stands twice; nil when the text is no one
// object. It reads with the standard library's leniency, which replaces bad
// text: what is found can label a refusal and must do nothing else.
func Members(line []byte) map[string]json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(line))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	members, seen := map[string]json.RawMessage{}, map[string]bool{}
	for d.More() {
		key, err := d.Token()
		name, isText := key.(string)
		var value json.RawMessage
		if err != nil || !isText || d.Decode(&value) != nil {
			return nil
		}
		members[name] = value
		if seen[name] {
			delete(members, name)
		}
		seen[name] = true
	}
	if _, err := d.Token(); err != nil {
		return nil
	}
	if _, err := d.Token(); err != io.EOF {
		return nil
	}
	return members
}
