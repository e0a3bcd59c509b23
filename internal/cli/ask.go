package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"

	"mosaicstack.dev/mosaic/internal/wire"
)

// interactive reports whether a person can be asked: both ends are a terminal.
func (a *app) interactive() bool { return isTerminal(a.stdin) && a.out.watched }

// ask asks for one line on the terminal. An empty answer is the proposal.
// Callers check interactive first: nothing is ever asked in a pipe.
func (a *app) ask(ctx context.Context, question, proposal string) (string, error) {
	if proposal != "" {
		question += " [" + proposal + "]"
	}
	a.out.prompt(question + ": ")
	line, err := await(ctx, func() (string, error) { return bufio.NewReader(a.stdin).ReadString('\n') })
	if err != nil && !(errors.Is(err, io.EOF) && line != "") {
		return "", wire.Refuse(wire.Interrupted)
	}
	if line = strings.TrimSpace(line); line == "" {
		line = proposal
	}
	return line, checkText("stdin", line)
}

// await reads from stdin until ctx ends: Ctrl-C must end a command that waits
// for its input. The read itself cannot be taken back and ends with the program.
func await[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := read()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// input reads stdin to its end: text that can be sent as it is, at most as
// long as a request.
func (a *app) input(ctx context.Context) (string, error) {
	read, err := await(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(a.stdin, wire.MaxRequest+1)) })
	switch {
	case err != nil:
		return "", err
	case len(read) > wire.MaxRequest:
		return "", wire.RefuseField(wire.RequestTooLarge, "stdin")
	}
	return string(read), checkText("stdin", string(read))
}

// promptFor shows on a terminal that the next line goes to role. It always
// returns true, so that it can stand in a loop's condition.
func (a *app) promptFor(role wire.Role) bool {
	if a.interactive() {
		a.out.prompt("you to " + string(role) + "> ")
	}
	return true
}
