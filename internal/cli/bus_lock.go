package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"mosaicstack.dev/mosaic/internal/broker"
	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/host"
	"mosaicstack.dev/mosaic/internal/proc"
	"mosaicstack.dev/mosaic/internal/wire"
)

// otherProgram reports whether the host of a data root runs another program
// than this one, as after an update: its broker then proves no person by it.
func otherProgram(root string) bool {
	owner, err := evidence.ReadLock(broker.LockPath(root))
	if err != nil {
		return false
	}
	processes := proc.System()
	running, err := processes.Executable(owner.PID)
	if err != nil {
		return false
	}
	self, err := processes.Executable(os.Getpid())
	return err == nil && self != running
}

// lockState is what can be told about the writer lock of a data root.
type lockState struct {
	path    string
	free    bool // there is none
	unnamed bool // it names nobody
	owner   proc.Owner
	verdict proc.Verdict
}

func readLock(root string) (l lockState, err error) {
	l.path = broker.LockPath(root)
	l.owner, err = evidence.ReadLock(l.path)
	switch {
	case errors.Is(err, wire.Refuse(wire.WriterUnlocked)):
		l.free = true
		return l, nil
	case err != nil:
		l.unnamed = true
		return l, nil
	}
	here, err := proc.ThisMachine()
	if err == nil {
		l.verdict = l.owner.Judge(here, proc.System())
	}
	return l, err
}

// lockProblem puts the truth about this lock, and what helps, in the place of
// what writer-locked and socket-exists say in general.
func lockProblem(root string, err error) error {
	switch {
	case errors.Is(err, wire.Refuse(wire.WriterLocked)):
		l, e := readLock(root)
		if e != nil {
			return err
		}
		return l.problem(root, err)
	case errors.Is(err, wire.Refuse(wire.SocketExists)):
		for _, c := range checkSockets(root) {
			if c.State == checkFailed {
				return instead(err, c.Found+", so nothing was done", firstLine(c.Fix))
			}
		}
	}
	return err
}

func (l lockState) problem(root string, err error) error {
	switch {
	case l.free:
		for _, c := range checkSockets(root) {
			if c.State == checkWarning { // somebody answers, and has no lock
				return instead(err, c.Found+", so nothing was done", c.Fix)
			}
		}
	case l.unnamed:
		return instead(err, "the writer lock "+l.path+" names no owner, so nothing was done",
			"Make sure that no host of this data root runs on any machine, then remove the file yourself: rm "+quote(l.path))
	case l.verdict == proc.Alive:
		return instead(err, fmt.Sprintf("a host runs on this data root (process %d), so nothing was done", l.owner.PID),
			fmt.Sprintf("Use it, or stop it first: kill -TERM %d", l.owner.PID))
	case l.verdict == proc.CannotTell:
		return instead(err, fmt.Sprintf("process %d on %s has the writer lock, and whether it is gone cannot be told from here, so nothing was done", l.owner.PID, l.owner.Host),
			"Look on that machine; nothing is freed until it is certain.")
	}
	return err
}

// lockOwner is the process that has the writer lock, when it certainly lives.
func lockOwner(root string) (pid int, alive bool) {
	owner, err := evidence.ReadLock(broker.LockPath(root))
	if err != nil {
		return 0, false
	}
	here, err := proc.ThisMachine()
	return owner.PID, err == nil && owner.Judge(here, proc.System()) == proc.Alive
}

// checkLock says who has the writer lock and, when its owner is gone, how to
// keep the evidence and free it (BUS-OPEN-13). It removes nothing.
func checkLock(root string) check {
	l, err := readLock(root)
	keep := "keep the evidence first: cp -a " + quote(filepath.Dir(l.path)) + " " + quote(filepath.Dir(l.path)+".kept")
	found := fmt.Sprintf("process %d", l.owner.PID)
	switch {
	case err != nil:
		return check{"lock", checkFailed, "this machine does not tell its name and boot", ""}
	case l.free:
		return ok("lock", "nobody has it")
	case l.unnamed:
		return check{"lock", checkFailed, l.path + " names no owner", keep + "\nmake sure that no host of this data root runs on any machine, then: rm " + quote(l.path)}
	case l.verdict == proc.Gone:
		return check{"lock", checkFailed, found + " had it and is gone", keep + "\nmosaic bus unlock"}
	case l.verdict == proc.Alive:
		return ok("lock", "%s has it", found)
	}
	return check{"lock", checkFailed, found + " on " + l.owner.Host + " has it, and whether it is gone cannot be told from here", "look on that machine; nothing is freed until it is certain"}
}

// checkSockets names what stands where the host would make its sockets, or
// made them when it last started: nothing while all is well.
func checkSockets(root string) (found []check) {
	paths, err := host.SocketPaths(root)
	if err != nil {
		return []check{{"sockets", checkFailed, "there is no directory for them: the paths of the data root, of XDG_RUNTIME_DIR and of the temporary directory are too long", "use a shorter data root or TMPDIR"}}
	}
	l, _ := readLock(root)
	for _, path := range paths {
		switch wire.AtSocket(path) {
		case wire.LeftOver:
			found = append(found, check{"sockets", checkFailed, path + " is left over: nobody listens there", "mosaic bus unlock"})
		case wire.Foreign:
			found = append(found, check{"sockets", checkFailed, path + " is in the way and is no socket of yours", "find out what it is, then move it away: mv " + quote(path) + " " + quote(path+".aside")})
		case wire.Listening:
			if l.free {
				found = append(found, check{"sockets", checkWarning, "somebody listens at " + path + " and has no writer lock", "find out which process that is: ss -xlp | grep " + quote(path)})
			}
		}
	}
	return found
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
