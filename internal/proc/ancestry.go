package proc

import (
	"errors"
	"fmt"
)

// MaxAncestors is how many processes an ancestry may hold (BUS-OPEN-106).
const MaxAncestors = 128

// Why an ancestry cannot be trusted. Every one of them refuses a proof.
var (
	ErrAncestryLoop    = errors.New("proc: the ancestry loops")
	ErrAncestryDepth   = errors.New("proc: the ancestry is too long")
	ErrAncestryChanged = errors.New("proc: the ancestry changed while it was read")
)

// Ancestors returns the process itself, its parent, and so on up to the
// process without a parent in this PID namespace (pid 1, or one that entered
// the namespace from outside). A loop, more than MaxAncestors processes, a
// process that disappears (the error wraps fs.ErrNotExist) and a link that
// changes while it is read are errors (BUS-HUMAN-11, 12): after the parent was
// read, the child must still be the same process with the same parent, so that
// a parent's reused pid is noticed.
func Ancestors(t Table, pid int) ([]Stat, error) {
	current, err := t.Stat(pid)
	if err != nil {
		return nil, err
	}
	line := []Stat{current}
	seen := map[int]bool{pid: true}
	for current.Parent != 0 {
		if seen[current.Parent] {
			return nil, fmt.Errorf("%w at %d", ErrAncestryLoop, current.Parent)
		}
		if len(line) == MaxAncestors {
			return nil, ErrAncestryDepth
		}
		parent, err := parentOf(t, current)
		if err != nil {
			return nil, err
		}
		seen[parent.PID] = true
		line = append(line, parent)
		current = parent
	}
	return line, nil
}

// parentOf reads the parent of a process that was read before.
func parentOf(t Table, child Stat) (Stat, error) {
	parent, err := t.Stat(child.Parent)
	if err != nil {
		return Stat{}, err
	}
	again, err := t.Stat(child.PID)
	if err != nil {
		return Stat{}, err
	}
	if again.Identity != child.Identity || again.Parent != child.Parent {
		return Stat{}, fmt.Errorf("%w at %d", ErrAncestryChanged, child.PID)
	}
	return parent, nil
}
