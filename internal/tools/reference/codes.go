package main

import (
	"fmt"
	"strings"

	"mosaicstack.dev/mosaic/internal/wire"
)

func codes() string {
	var b strings.Builder
	b.WriteString(generated + `# Codes

Every failure that crosses a process boundary is one of these codes and no other
text. ` + "`mosaic explain CODE`" + ` prints an entry. A code marked *operator* is only ever
shown to the person who starts, stops and keeps the host; the others can reach an
agent too, and their remedies are safe to follow as they stand.

`)
	for _, c := range wire.Codes {
		fmt.Fprintf(&b, "## %s\n\n%s.", c.Code, strings.ToUpper(c.Sentence[:1])+c.Sentence[1:])
		if c.Operator {
			b.WriteString(" (*operator*)")
		}
		fmt.Fprintf(&b, "\n\n- Why: %s\n- Next: %s\n\n", c.Cause, c.Remedy)
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// generated heads every page.
const generated = "<!-- Written by make reference from the registries. Edit those. -->\n\n"
