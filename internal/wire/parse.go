package wire

import (
	"errors"
)

// MaxSafeInteger is the largest integer that every JSON implementation keeps.
const MaxSafeInteger = 1<<53 - 1

// ParseRequest reads one request line, without its newline. It shares line's
// memory. The error is *Error: invalid-request, with the name of the argument
// or key at fault where there is one (BUS-OPEN-21). The id is returned with an
// error too, when the line is well-formed and its id is one (BUS-OPEN-19).
func ParseRequest(line []byte) (Request, error) {
	var r Request
	if err := decodeShared(line, &r); err != nil {
		return Request{ID: findID(line)}, refusal(err)
	}
	if r.ID != nil && !isSafe(*r.ID) {
		return Request{}, RefuseField(InvalidRequest, "id")
	}
	if err := r.checkProof(); err != nil {
		return Request{ID: r.ID}, err
	}
	return r, nil
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

// findID returns the id of a line that is no request but well-formed.
func findID(line []byte) *int64 {
	var r struct {
		ID *int64 `json:"id,omitempty"`
	}
	if DecodePart(line, &r) != nil || r.ID == nil || !isSafe(*r.ID) {
		return nil
	}
	return r.ID
}

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
