package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"mosaicstack.dev/mosaic/internal/broker"
	"mosaicstack.dev/mosaic/internal/evidence"
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
	host, err := processes.Executable(owner.PID)
	if err != nil {
		return false
	}
	self, err := processes.Executable(os.Getpid())
	return err == nil && self != host
}

// checkLock says who has the writer lock and, when its owner is gone, how to
// keep the evidence and free it (BUS-OPEN-13). It removes nothing.
func checkLock(root string) check {
	path := broker.LockPath(root)
	owner, err := evidence.ReadLock(path)
	if errors.Is(err, wire.Refuse(wire.WriterUnlocked)) {
		return ok("lock", "nobody has it")
	}
	keep := "keep the evidence first: cp -a " + quote(filepath.Dir(path)) + " " + quote(filepath.Dir(path)+".kept")
	if err != nil {
		return check{"lock", checkFailed, path + " names no owner", keep + "\nfind out what made it before you remove it"}
	}
	here, err := proc.ThisMachine()
	if err != nil {
		return check{"lock", checkFailed, err.Error(), ""}
	}
	verdict := owner.Judge(here, proc.System())
	found := fmt.Sprintf("process %d", owner.PID)
	switch verdict {
	case proc.Gone:
		return check{"lock", checkFailed, found + " had it and is gone", keep + "\nmosaic bus unlock"}
	case proc.Alive:
		return ok("lock", "%s has it", found)
	}
	return check{"lock", checkFailed, found + " on " + owner.Host + " has it, and whether it is gone cannot be told from here", "look on that machine; nothing is freed until it is certain"}
}
