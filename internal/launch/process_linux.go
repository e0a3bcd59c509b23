package launch

import (
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"mosaicstack.dev/mosaic/internal/proc"
	"mosaicstack.dev/mosaic/internal/wire"
)

// killDescendants kills every process below this one.
func killDescendants() {
	children := map[int][]proc.Identity{}
	for _, st := range everyProcess() {
		children[st.Parent] = append(children[st.Parent], st.Identity)
	}
	next := children[os.Getpid()]
	for len(next) > 0 {
		victim := next[0]
		next = append(next[1:], children[victim.PID]...)
		kill(victim)
	}
}

// Sweep kills the processes that carry a run's marker, for a run whose monitor
// cannot do it any more because it was killed itself. It returns when two
// looks in turn found none, or false when some still show after killPatience.
func Sweep(run wire.Run) bool {
	marker := envRun + "=" + string(run)
	for clean, deadline := 0, time.Now().Add(killPatience); clean < 2; time.Sleep(killInterval) {
		if killMarked(marker) {
			clean = 0
		} else {
			clean++ // a process that executes another program shows no environment for a moment
		}
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

func killMarked(marker string) bool {
	found := false
	table := proc.System()
	for _, st := range everyProcess() {
		env, err := table.Environ(st.PID)
		if err == nil && slices.Contains(env, marker) {
			kill(st.Identity)
			found = true
		}
	}
	return found
}

// kill sends SIGKILL to a process, and to no other that has got its pid since:
// the descriptor is opened first and keeps naming the process that is looked
// at afterwards.
func kill(p proc.Identity) {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if st, err := proc.System().Stat(p.PID); err == nil && st.Identity == p {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}
}

// everyProcess lists the processes that can be read.
func everyProcess() []proc.Stat {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var all []proc.Stat
	table := proc.System()
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if st, err := table.Stat(pid); err == nil {
			all = append(all, st)
		}
	}
	return all
}
