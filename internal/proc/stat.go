package proc

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
)

var (
	errStatForm   = errors.New("proc: stat line has an unexpected form")
	errStatusForm = errors.New("proc: status has no Uid line of the expected form")
)

// parseStat reads a line of /proc/<pid>/stat. The command stands in
// parentheses and may itself hold spaces, parentheses and newlines, so the
// fields start after the last closing parenthesis: every later field is a
// number or one state letter.
func parseStat(line []byte) (Stat, error) {
	open, end := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if open < 0 || end < open {
		return Stat{}, errStatForm
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(line[:open])))
	if err != nil || pid <= 0 {
		return Stat{}, errStatForm
	}
	// Fields 3 to 22 of proc(5): state, ppid, ..., starttime.
	const state, parent, start = 0, 1, 19
	fields := strings.Fields(string(line[end+1:]))
	if len(fields) <= start || len(fields[state]) != 1 {
		return Stat{}, errStatForm
	}
	ppid, err := strconv.Atoi(fields[parent])
	if err != nil || ppid < 0 {
		return Stat{}, errStatForm
	}
	ticks, err := strconv.ParseUint(fields[start], 10, 64)
	if err != nil {
		return Stat{}, errStatForm
	}
	return Stat{
		Identity: Identity{PID: pid, Start: ticks},
		Parent:   ppid,
		Command:  string(line[open+1 : end]),
		State:    fields[state][0],
	}, nil
}

// parseUID reads the effective user id, the second of the four numbers in the
// Uid line of /proc/<pid>/status. It is the one that SO_PEERCRED reports.
func parseUID(status []byte) (int, error) {
	for line := range bytes.Lines(status) {
		rest, ok := bytes.CutPrefix(line, []byte("Uid:"))
		if !ok {
			continue
		}
		ids := strings.Fields(string(rest))
		if len(ids) != 4 {
			return 0, errStatusForm
		}
		uid, err := strconv.ParseUint(ids[1], 10, 32)
		if err != nil {
			return 0, errStatusForm
		}
		return int(uid), nil
	}
	return 0, errStatusForm
}

// splitNUL splits what /proc/<pid>/cmdline and environ hold: strings that each
// end with NUL. Empty strings between are kept, since an empty argument is an
// argument.
func splitNUL(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}
