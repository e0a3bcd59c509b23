package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"mosaicstack.dev/mosaic/internal/org"
	"mosaicstack.dev/mosaic/internal/wire"
)

// The exit codes of every command (DESIGN.md 3).
const (
	exitDone      = 0
	exitFailed    = 1 // the operation failed
	exitRefused   = 2 // refused, or invalid data
	exitUncertain = 3 // the outcome is uncertain: look before you repeat
	exitUsage     = 4
)

// failedCodes are the codes that say that something did not work, rather than
// that it was refused.
var failedCodes = map[wire.Code]bool{
	wire.Unavailable: true, wire.Busy: true, wire.StorageUnavailable: true,
	wire.ResponseTooLarge: true, wire.ProtocolFailed: true, wire.SpawnFailed: true,
	wire.Failed: true, wire.Interrupted: true, wire.TimedOut: true,
}

// failure is what a person or a script is told about an error.
type failure struct {
	code     wire.Code
	field    string
	sentence string
	remedy   string
	exit     int
	silent   bool // everything has been said already
}

// report is the failure as the JSON document of --json.
func (f failure) report() any {
	return struct {
		Error    wire.Code `json:"error"`
		Field    string    `json:"field,omitempty"`
		Sentence string    `json:"sentence"`
		Remedy   string    `json:"remedy,omitempty"`
	}{f.code, f.field, f.sentence, f.remedy}
}

// line is the failure as the rest of an error line: the sentence, then what to
// do next.
func (f failure) line() string {
	text := f.sentence
	if f.field != "" {
		text += " (" + f.field + ")"
	}
	if f.remedy != "" {
		text += ". " + f.remedy
	}
	return text
}

// usageError is a command line that was not understood.
type usageError struct{ sentence string }

func (e *usageError) Error() string { return e.sentence }

func usage(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// detailed gives a refusal facts of this machine that its code cannot carry,
// such as which line of a file is wrong. They are for the person who typed the
// command and never cross a process boundary.
type detailed struct {
	err    error
	detail string
}

func (e *detailed) Error() string { return e.err.Error() + ": " + e.detail }
func (e *detailed) Unwrap() error { return e.err }

// explained returns err with a detail for its error line.
func explained(err error, format string, args ...any) error {
	return &detailed{err, fmt.Sprintf(format, args...)}
}

// replaced is a refusal whose sentence and remedy are those of this very case,
// in place of what its code says in general.
type replaced struct {
	err              error
	sentence, remedy string
}

func (e *replaced) Error() string { return e.err.Error() + ": " + e.sentence }
func (e *replaced) Unwrap() error { return e.err }

// instead returns err with another sentence and remedy.
func instead(err error, sentence, remedy string) error { return &replaced{err, sentence, remedy} }

// exitError is an exit code when everything has been printed.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// starting marks an error of starting the host or the broker, which is a
// refusal whatever its code (BUS-BOOT-50).
type starting struct{ error }

func (e starting) Unwrap() error { return e.error }

// describe finds the words and the exit code of an error.
func describe(err error, managed bool) failure {
	if f, ok := refused(err); ok {
		return f
	}
	var (
		code     *wire.Error
		usageErr *usageError
		exit     exitError
		detail   *detailed
		other    *replaced
		start    starting
		problem  *org.Problem
	)
	switch {
	case errors.As(err, &problem):
		f := describe(explained(wire.Refuse(wire.InvalidConfig), "%s", problem), managed)
		if all := (org.Problems{}); errors.As(err, &all) && len(all) > 1 {
			f.sentence += " (and " + plural(len(all)-1, "more fault") + ")"
		}
		return f
	case errors.As(err, &exit):
		return failure{exit: int(exit), silent: true}
	case errors.As(err, &usageErr):
		return failure{code: wire.Usage, sentence: usageErr.sentence, exit: exitUsage}
	case errors.Is(err, pflag.ErrHelp):
		return failure{silent: true}
	case errors.As(err, &code):
		f := failure{code: code.Code, field: code.Field, exit: exitRefused}
		if failedCodes[code.Code] && !errors.As(err, &start) {
			f.exit = exitFailed
		}
		switch code.Code {
		case wire.OutcomeUnknown, wire.NotShown:
			f.exit = exitUncertain
		case wire.Usage:
			f.exit = exitUsage
		}
		info, _ := wire.Explain(code.Code)
		f.sentence = info.Sentence
		if errors.As(err, &detail) {
			f.sentence += ": " + detail.detail
		}
		if errors.As(err, &other) {
			f.sentence, info.Remedy = other.sentence, other.remedy
		}
		if !managed || !info.Operator {
			f.remedy = info.Remedy
		}
		return f
	case errors.Is(err, context.Canceled):
		return describe(wire.Refuse(wire.Interrupted), managed)
	case errors.Is(err, context.DeadlineExceeded):
		return describe(wire.Refuse(wire.TimedOut), managed)
	}
	if code := wire.DiskCode(err); code != "" {
		return describe(explained(wire.Refuse(code), "%s", plainly(err)), managed)
	}
	return describe(explained(wire.Refuse(wire.Failed), "%s", plainly(err)), managed)
}
