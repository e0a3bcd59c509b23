package evidence

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"mosaicstack.dev/mosaic/internal/wire"
)

// refusal is a refusal or failure of the store: the static code for callers
// and the cause for the log.
type refusal struct {
	code  wire.Code
	cause error
}

func (e *refusal) Error() string {
	if e.cause == nil {
		return "evidence: " + string(e.code)
	}
	return "evidence: " + string(e.code) + ": " + e.cause.Error()
}

// Unwrap gives errors.As the *wire.Error, which alone may cross a process
// boundary, and errors.Is the cause.
func (e *refusal) Unwrap() []error {
	if e.cause == nil {
		return []error{wire.Refuse(e.code)}
	}
	return []error{wire.Refuse(e.code), e.cause}
}

func refuse(code wire.Code, cause error) error { return &refusal{code: code, cause: cause} }

func refusef(code wire.Code, format string, args ...any) error {
	return refuse(code, fmt.Errorf(format, args...))
}

// errGuard is a guard that refused what only a bug of this package can write:
// a row out of order, a change of evidence, a projection that disagrees.
var errGuard = errors.New("evidence: a guard refused the row")

// guarded names the codes that a guard of the schema raises for what a caller
// did, so that they reach the caller as a *wire.Error.
var guarded = map[string]bool{
	string(wire.DecisionClosed): true, string(wire.DecisionConsumed): true,
	string(wire.DecisionMismatch): true, string(wire.DecisionNotFound): true,
	string(wire.DecisionRequired): true, string(wire.HumanRequired): true,
	string(wire.InvalidApprovalChoice): true, string(wire.InvalidChoice): true,
	string(wire.InvalidOptions): true, string(wire.InvalidRecommendation): true,
	string(wire.LaunchMismatch): true, string(wire.MessageNotFound): true,
	string(wire.NotHolder): true, string(wire.NotResolver): true,
	string(wire.RoleAlreadyHeld): true, string(wire.RunEnded): true,
	string(wire.RunRevoked): true, string(wire.SupersedeRefused): true,
	string(wire.UnknownRole): true, string(wire.UnknownRun): true,
}

// guardError translates a constraint that refused a row. A CHECK, NOT NULL or
// foreign key that the caller's arguments violate is an invalid request.
func guardError(err error) error {
	switch {
	case errors.Is(err, sqlite3.CONSTRAINT_TRIGGER):
		text := err.Error()
		code := text[strings.LastIndexByte(text, ' ')+1:]
		if guarded[code] {
			return wire.Refuse(wire.Code(code))
		}
		return fmt.Errorf("%w: %w", errGuard, err)
	case errors.Is(err, sqlite3.CONSTRAINT_CHECK),
		errors.Is(err, sqlite3.CONSTRAINT_NOTNULL),
		errors.Is(err, sqlite3.CONSTRAINT_FOREIGNKEY),
		errors.Is(err, sqlite3.CONSTRAINT_DATATYPE):
		return refuse(wire.InvalidRequest, err)
	}
	return fmt.Errorf("%w: %w", errGuard, err)
}

// isConstraint reports whether err refused one statement and left the
// transaction as it was.
func isConstraint(err error) bool { return errors.Is(err, sqlite3.CONSTRAINT) }

// isTransient reports whether err means that nothing was written and the file
// is as it was: no room, or somebody else holds a lock. After any other
// failure what the file holds is unknown, for a failed fsync leaves pages in
// the cache that look written.
func isTransient(err error) bool {
	return errors.Is(err, sqlite3.FULL) || errors.Is(err, sqlite3.BUSY) || errors.Is(err, sqlite3.INTERRUPT)
}

// isIO reports whether the disk, not what is on it, is at fault. A short read
// is a file that lacks pages: damage.
func isIO(err error) bool {
	return (errors.Is(err, sqlite3.IOERR) && !errors.Is(err, sqlite3.IOERR_SHORT_READ)) ||
		errors.Is(err, sqlite3.CANTOPEN) || errors.Is(err, sqlite3.PERM)
}
