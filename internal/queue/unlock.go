package queue

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// Unlocked says whose lock was removed.
type Unlocked struct {
	Record LockRecord `json:"record"`
	Holder Holder     `json:"holder"` // HolderDead or HolderMismatch
}

// Unlock removes the lock of a process that has provably ended (QUEUE-LOCK-38
// to 47), and nothing else. It never takes the lock: it publishes a gate, which
// every writer looks for after it has published its lock, and judges the lock
// under it. It works without a valid queue file (QUEUE-OPEN-59).
func (c *Checkout) Unlock(ctx context.Context) (Unlocked, error) {
	if err := c.canonicalIfValid(ctx); err != nil {
		return Unlocked{}, err
	}
	if err := c.checkPlatform(); err != nil {
		return Unlocked{}, err
	}
	record, err := c.machine.record(NoOp, "unlock")
	if err != nil {
		return Unlocked{}, failed(LockFailed, "the gate cannot be made: this process cannot read its own start time and boot id")
	}
	gate, err := publish(c.files, StepGate, c.Gate, record)
	if errors.Is(err, fs.ErrExist) {
		return Unlocked{}, c.gateRefusal()
	}
	if err != nil {
		return Unlocked{}, failed(LockFailed, "the gate cannot be made (%s)", cause(err))
	}
	u, err := c.unlockUnderGate()
	left := withdraw(c.files, StepUngate, gate)
	switch {
	case left == nil:
		return u, err
	case err == nil:
		return u, failed(LockFailed, "the lock was removed and the gate %s was not (%s); `mosaic queue unlock --check-gate` tells more", c.Gate, cause(left))
	default:
		return u, withLeft(err, fmt.Errorf("the gate %s was left (%s)", c.Gate, cause(left)))
	}
}

func (c *Checkout) unlockUnderGate() (Unlocked, error) {
	text, stamp, err := c.files.Read(StepInspect, c.Lock)
	if errors.Is(err, fs.ErrNotExist) {
		return Unlocked{}, refuse(NotLocked, "the queue is not locked; nothing was removed")
	}
	r, holder := c.machine.judge(text)
	if err != nil {
		holder = HolderInvalid
	}
	if !holder.gone() {
		return Unlocked{}, c.keptLock(r, holder)
	}
	if err := withdraw(c.files, StepUnlock, claim{path: c.Lock, text: text, stamp: stamp}); err != nil {
		return Unlocked{}, failed(LockFailed, "the lock could not be removed (%s)", cause(err))
	}
	return Unlocked{Record: r, Holder: holder}, nil
}

func (c *Checkout) keptLock(r LockRecord, holder Holder) error {
	switch holder {
	case HolderLive:
		return refuse(LockLive, "held by %s %s since %s, which is live (process %d); nothing was removed", r.Verb, r.Op, r.At, r.PID)
	case HolderUnknown:
		return refuse(LockUnknown, "held by %s %s since %s, process %d of host %s, and whether that runs is unknown; nothing was removed, find out by hand", r.Verb, r.Op, r.At, r.PID, r.Host)
	default:
		return refuse(LockInvalid, "the lock file is invalid and names no process; nothing was removed, inspect %s by hand", c.Lock)
	}
}

// Gate is what stands at the gate's path.
type Gate struct {
	Present bool       `json:"present"`
	Holder  Holder     `json:"holder,omitempty"`
	Record  LockRecord `json:"record,omitzero"` // zero when Holder is HolderInvalid
}

// CheckGate judges the gate by the lock's table and changes nothing
// (QUEUE-LOCK-49, 50).
func (c *Checkout) CheckGate(ctx context.Context) (Gate, error) {
	if err := c.canonicalIfValid(ctx); err != nil {
		return Gate{}, err
	}
	text, _, err := c.files.Read(StepCheckGate, c.Gate)
	if errors.Is(err, fs.ErrNotExist) {
		return Gate{}, nil
	}
	g := Gate{Present: true, Holder: HolderInvalid}
	if err == nil {
		g.Record, g.Holder = c.machine.judge(text)
	}
	return g, nil
}

func (c *Checkout) gateRefusal() error {
	text, _, err := c.files.Read(StepGate, c.Gate)
	r, holder := c.machine.judge(text)
	if err != nil || holder == HolderInvalid {
		return failed(GatePresent, "the gate %s exists and is invalid; inspect it by hand", c.Gate)
	}
	return failed(GatePresent, "the gate %s exists: %s, process %d of host %s since %s", c.Gate, holder, r.PID, r.Host, r.At)
}
