package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mosaicstack.dev/mosaic/internal/wire"
)

// guesses are words that people and agents try for our commands. Where the
// meaning is the same the command has an alias instead; these are pointed out.
var guesses = map[string]string{
	"approve": "decide", "answer": "decide", "resolve": "decide", "reject": "decide", "deny": "decide",
	"start": "up", "halt": "down", "shutdown": "down", "serve": "up", "daemon": "up", "setup": "init", "check": "doctor",
	"kill": "stop", "end": "stop", "spawn": "launch", "run": "launch",
	"ask": "raise", "request": "raise", "history": "trail", "audit": "trail", "why": "explain",
	"unlock": "bus unlock", "verify": "bus verify", "backup": "bus backup", "migrate": "bus migrate",
	"merge": "land", "push": "land", "acknowledge": "read", "ack": "read", "reply": "send",
}

// flagGuesses are the same for flags.
var flagGuesses = map[string]string{
	"comment": "note", "reason": "note", "message": "note",
	"type": "class", "kind": "class", "in-reply-to": "reply-to", "reply": "reply-to",
	"choice": "option", "recommendation": "recommend", "text": "question",
	"format": "json", "output": "json", "root": "data-root", "home": "data-root",
	"timeout": "wait", "follow": "wait", "background": "detach", "daemon": "detach",
	"y": "yes", "force": "yes", "name": "human",
}

func unknownCommand(cmd *cobra.Command, word string) error {
	var known []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			known = append(append(known, c.Name()), c.Aliases...)
		}
	}
	path := cmd.CommandPath()
	near := nearest(word, known)
	if near == "" && !cmd.HasParent() {
		near = guesses[word]
	}
	if near == "" {
		return usage("%s has no command %q; see: %s --help", path, echo(word), path)
	}
	return usage("%s has no command %q; did you mean: %s %s", path, echo(word), path, near)
}

func unknownFlag(cmd *cobra.Command, word string) error {
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	path := cmd.CommandPath()
	near := nearest(word, known)
	if guess := flagGuesses[word]; near == "" && slices.Contains(known, guess) {
		near = guess
	}
	if near == "" {
		return usage("%s has no flag --%s; see: %s --help", path, echo(word), path)
	}
	return usage("%s has no flag --%s; did you mean: --%s", path, echo(word), near)
}

// nearest returns the known word that was probably meant, or "". The beginning
// of a single known word counts as near, however much is missing.
func nearest(word string, known []string) string {
	word = strings.ToLower(word)
	if near, ok := wire.Nearest(word, known); ok {
		return near
	}
	found := ""
	for _, k := range known {
		if len(word) >= 3 && strings.HasPrefix(k, word) {
			if found != "" {
				return ""
			}
			found = k
		}
	}
	return found
}
