package queue

import (
	_ "embed" // the two texts
)

// BriefTemplate is the text of docs/plans/BRIEF-TEMPLATE.md (QUEUE-BRIEF-17,
// 18).
//
//go:embed BRIEF-TEMPLATE.md
var BriefTemplate string

//go:embed INSTRUCTIONS.md
var instructions string

// Instructions is the section for AGENTS.md, between its own markers. The
// begin marker carries a hash of the text, so that a section can be told from
// a changed one and from an older one (QUEUE-OPEN-102).
func Instructions() string {
	return "<!-- BEGIN MOSAIC v1 " + digest([]byte(instructions))[:12] + " -->\n" + instructions + "<!-- END MOSAIC -->\n"
}
