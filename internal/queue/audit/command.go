package audit

import (
	"path/filepath"
	"slices"
	"strings"

	"mosaicstack.dev/mosaic/internal/wire"
)

// command is the one simple command that a tool call really ran.
type command struct {
	dir   string // "" where the call does not say
	env   map[string]string
	words []string
}

// actualCommand reads a tool call's command. It must be that one simple
// command, after an optional "cd DIR &&" and assignments: nothing that is only
// echoed, quoted, piped or run by another program counts (QUEUE-OPEN-97).
func actualCommand(arguments []byte) (command, bool) {
	var args struct {
		Command string `json:"command"`
		Dir     string `json:"cwd"`
	}
	if wire.DecodePart(arguments, &args) != nil || args.Command == "" {
		return command{}, false
	}
	c := command{dir: args.Dir, env: map[string]string{}}
	rest := strings.TrimSpace(args.Command)
	if before, after, ok := strings.Cut(rest, "&&"); ok {
		words, simple := split(before)
		if !simple || len(words) != 2 || words[0].text != "cd" {
			return command{}, false
		}
		c.dir, rest = words[1].text, after
	}
	words, simple := split(rest)
	if !simple {
		return command{}, false
	}
	for len(words) > 0 && words[0].assigns() {
		name, value, _ := strings.Cut(words[0].text, "=")
		c.env[name] = value
		words = words[1:]
	}
	for _, w := range words {
		c.words = append(c.words, w.text)
	}
	return c, len(c.words) > 0
}

// word is one word of a command line.
type word struct {
	text   string
	quoted int // where the first quote stood, -1 without
}

// assigns reports whether the word is NAME=VALUE with a plain name.
func (w word) assigns() bool {
	name, _, ok := strings.Cut(w.text, "=")
	if !ok || name == "" || w.quoted >= 0 && w.quoted < len(name) || name[0] >= '0' && name[0] <= '9' {
		return false
	}
	return strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// split splits a command line into words as a shell does; false when it holds
// anything beyond plain and quoted words.
func split(line string) (words []word, simple bool) {
	var b strings.Builder
	open, quoted := false, -1
	end := func() {
		if open {
			words = append(words, word{b.String(), quoted})
		}
		b.Reset()
		open, quoted = false, -1
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == ' ' || c == '\t':
			end()
		case c == '\'' || c == '"':
			close := strings.IndexByte(line[i+1:], c)
			if close < 0 {
				return nil, false
			}
			inside := line[i+1 : i+1+close]
			if c == '"' && strings.ContainsAny(inside, "$`\\!") {
				return nil, false
			}
			if quoted < 0 {
				quoted = b.Len()
			}
			b.WriteString(inside)
			open = true
			i += close + 1
		case strings.IndexByte("|&;<>()$`\\\n\r#*?[]{}~!", c) >= 0:
			return nil, false
		default:
			b.WriteByte(c)
			open = true
		}
	}
	end()
	return words, true
}

// queueVerb returns the words after "mosaic queue VERB".
func (c command) queueVerb(verb string) ([]string, bool) {
	if len(c.words) < 3 || filepath.Base(c.words[0]) != "mosaic" || c.words[1] != "queue" || c.words[2] != verb {
		return nil, false
	}
	return c.words[3:], true
}

// flags splits arguments into positional ones and flags with their values;
// false for a flag that is not among known.
func flags(args []string, known ...string) (positional []string, values map[string]string, ok bool) {
	values = map[string]string{}
	for i := 0; i < len(args); i++ {
		name, isFlag := strings.CutPrefix(args[i], "--")
		if !isFlag {
			if strings.HasPrefix(args[i], "-") {
				return nil, nil, false
			}
			positional = append(positional, args[i])
			continue
		}
		name, value, given := strings.Cut(name, "=")
		switch {
		case name == "json":
		case !slices.Contains(known, name):
			return nil, nil, false
		case !given && i+1 == len(args):
			return nil, nil, false
		case !given:
			i++
			value = args[i]
		}
		values[name] = value
	}
	return positional, values, true
}

// reading are programs that only look. A command of one of them is no work.
var reading = []string{"cat", "head", "tail", "sed", "less", "more", "bat", "ls", "find", "grep", "rg", "fd", "tree", "wc", "file", "stat", "pwd", "echo", "printf", "which", "env", "date", "diff"}

var readingGit = []string{"status", "log", "diff", "show", "branch", "blame", "ls-files", "ls-tree", "rev-parse", "grep"}

var readingTools = []string{"read", "grep", "find", "ls", "glob", "search", "view", "list"}

// onlyReads reports whether a tool call cannot have changed anything.
func onlyReads(tool string, arguments []byte) bool {
	if slices.Contains(readingTools, strings.ToLower(tool)) {
		return true
	}
	c, ok := actualCommand(arguments)
	if !ok {
		return false
	}
	switch name := filepath.Base(c.words[0]); {
	case name == "mosaic":
		return true // the queue's own verbs are not the row's work
	case name == "git" && len(c.words) > 1:
		return slices.Contains(readingGit, c.words[1])
	default:
		return slices.Contains(reading, name) && !slices.Contains(c.words, "-i")
	}
}

// readsFile reports whether a tool call reads the file.
func readsFile(tool string, arguments []byte, dir, path string) bool {
	var args struct {
		Path     string `json:"path"`
		FilePath string `json:"file_path"`
	}
	if slices.Contains(readingTools, strings.ToLower(tool)) && wire.DecodePart(arguments, &args) == nil && args.Path+args.FilePath != "" {
		return below(dir, args.Path) == path || below(dir, args.FilePath) == path
	}
	c, ok := actualCommand(arguments)
	if !ok || !slices.Contains([]string{"cat", "head", "tail", "sed", "less", "more", "bat"}, filepath.Base(c.words[0])) {
		return false
	}
	if c.dir != "" {
		dir = below(dir, c.dir)
	}
	return slices.ContainsFunc(c.words[1:], func(w string) bool { return below(dir, w) == path })
}

// below is a path as seen from a directory.
func below(dir, path string) string {
	if path == "" {
		return ""
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}
