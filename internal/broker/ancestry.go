package broker

import (
	"fmt"

	"mosaicstack.dev/mosaic/internal/proc"
)

// AgentAbove says why a process can never prove a person, for the person's own
// commands to explain it: which process, it or one above it, belongs to an
// agent's run. "" means that nothing of that kind is there. The proof itself is
// VerifyHuman's alone; this only spares a person a refusal without a reason.
func AgentAbove(t proc.Table, pid int) string {
	line, err := proc.Ancestors(t, pid)
	if err != nil {
		return "its ancestry cannot be read"
	}
	for _, p := range line {
		if arguments, err := t.Cmdline(p.PID); err == nil && isHarness(p.Command, arguments) {
			return fmt.Sprintf("process %d is an agent's harness", p.PID)
		}
		if environ, err := t.Environ(p.PID); err == nil && hasRunMarker(environ) {
			return fmt.Sprintf("process %d has an agent's variable in its environment", p.PID)
		}
	}
	return ""
}
