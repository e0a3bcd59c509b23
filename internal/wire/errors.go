package wire

import "errors"

// Code is a static error code. Codes are the only text about a failure that
// crosses a process boundary; what they mean to a person is in Codes.
type Code string

// Error is a refusal or failure as it crosses a process boundary: a static
// code and, for a malformed argument, the argument's name. It never carries a
// Go error string, a path of the host, a token or SQL (DESIGN.md 3).
type Error struct {
	Code  Code
	Field string // name of the argument at fault, or ""
}

// Error returns the code, with the field when there is one.
func (e *Error) Error() string {
	if e.Field != "" {
		return string(e.Code) + " (" + e.Field + ")"
	}
	return string(e.Code)
}

// Is reports whether target is an *Error with the same code, so that
// errors.Is(err, wire.Refuse(wire.NotHolder)) compares codes alone.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && (t.Field == "" || t.Field == e.Field)
}

// Refuse returns the refusal with this code.
func Refuse(code Code) *Error { return &Error{Code: code} }

// RefuseField returns the refusal with this code, naming the argument at fault.
func RefuseField(code Code, field string) *Error { return &Error{Code: code, Field: field} }

// AsError returns the *Error in err, or nil when there is none.
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}
