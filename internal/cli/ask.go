package cli

import (
	"bufio"
	"errors"
	"io"
	"strings"

	"mosaicstack.dev/mosaic/internal/wire"
)

// interactive reports whether a person can be asked: both ends are a terminal.
func (a *app) interactive() bool { return isTerminal(a.stdin) && a.out.watched }

// ask asks for one line on the terminal. An empty answer is the proposal.
// Callers check interactive first: nothing is ever asked in a pipe.
func (a *app) ask(question, proposal string) (string, error) {
	if proposal != "" {
		question += " [" + proposal + "]"
	}
	a.out.prompt(question + ": ")
	line, err := bufio.NewReader(a.stdin).ReadString('\n')
	if err != nil && !(errors.Is(err, io.EOF) && line != "") {
		return "", wire.Refuse(wire.Interrupted)
	}
	if line = strings.TrimSpace(line); line == "" {
		line = proposal
	}
	return line, nil
}

// promptFor shows on a terminal that the next line goes to role. It always
// returns true, so that it can stand in a loop's condition.
func (a *app) promptFor(role wire.Role) bool {
	if a.interactive() {
		a.out.prompt("you to " + string(role) + "> ")
	}
	return true
}
