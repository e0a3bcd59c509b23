package queue

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"
)

// How long a held lock is waited for (QUEUE-LOCK-25). A writer holds it for
// some milliseconds.
const (
	lockPatience = 10 * time.Second
	lockInterval = 100 * time.Millisecond
)

var (
	errNoIdentity = errors.New("queue: this process cannot tell its own start time or boot id")
	errReadBack   = errors.New("queue: the lock reads back as something else")
	errNotOurs    = errors.New("queue: another lock stands where this process's was")
)

// claim is a lock or a gate that this process published.
type claim struct {
	path  string
	text  []byte
	stamp FileStamp
}

// held is the lock of a checkout, while this process has it. Whoever has one
// is the only writer of the queue file, the witness and the view file; git and
// editors, which know nothing of it, are noticed by comparing.
type held struct {
	c  *Checkout
	op OpID
	l  claim
}

// lock takes the lock for an operation, or refuses after ten seconds and says
// who has it. Nothing is removed because of its age (QUEUE-LOCK-30).
func (c *Checkout) lock(ctx context.Context, op OpID, verb string) (*held, error) {
	if err := c.checkPlatform(); err != nil {
		return nil, err
	}
	record, err := c.machine.record(op, verb)
	if err != nil {
		return nil, failed(LockFailed, "the lock cannot be taken: this process cannot read its own start time and boot id")
	}
	l, err := c.waitForLock(ctx, record)
	if err != nil {
		return nil, err
	}
	h := &held{c: c, op: op, l: l}
	// Only now: whoever makes a gate looks at the lock afterwards, so one of
	// the two always sees the other (QUEUE-LOCK-46).
	if err := c.checkGate(); err != nil {
		return nil, h.after(err)
	}
	return h, nil
}

func (c *Checkout) waitForLock(ctx context.Context, record LockRecord) (claim, error) {
	for waited := time.Duration(0); ; waited += lockInterval {
		l, err := c.tryLock(record)
		if err == nil {
			return l, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return claim{}, failed(LockFailed, "the lock cannot be taken (%s)", cause(err))
		}
		if waited >= lockPatience {
			return claim{}, c.lockedRefusal()
		}
		if ctx.Err() != nil {
			return claim{}, ctx.Err()
		}
		c.machine.wait(ctx.Done(), lockInterval)
	}
}

// tryLock looks before it stages, so that waiting costs no disk writes.
func (c *Checkout) tryLock(record LockRecord) (claim, error) {
	if _, err := c.files.Stat(StepLock, c.Lock); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = fs.ErrExist
		}
		return claim{}, err
	}
	return publish(c.files, StepLock, c.Lock, record)
}

// publish gives a record its name by linking a complete, durable file to it,
// so that no crash leaves a lock without an owner. fs.ErrExist says that the
// name is taken.
func publish(files Files, s Step, path string, record LockRecord) (_ claim, err error) {
	text, err := record.bytes()
	if err != nil {
		return claim{}, err
	}
	temp, err := claimTemp(path, record.PID)
	if err != nil {
		return claim{}, err
	}
	if err := stage(files, s, temp, text, 0o600); err != nil {
		return claim{}, errors.Join(errStaging, hideExist(err))
	}
	defer func() {
		// Whatever became of the link (QUEUE-LOCK-13). A name too many does
		// not make the lock another one.
		if removed := files.Remove(s, temp); removed != nil && err != nil {
			err = errors.Join(err, hideExist(removed))
		}
	}()
	read, stamp, err := files.Read(s, temp)
	if err != nil {
		return claim{}, err
	}
	if !bytes.Equal(read, text) {
		return claim{}, errReadBack
	}
	if err := files.Link(s, temp, path); err != nil {
		return claim{}, err
	}
	return claim{path: path, text: text, stamp: stamp}, nil
}

var errStaging = errors.New("queue: the temporary file cannot be written")

// hideExist keeps a temporary file that exists from being taken for a held
// lock.
func hideExist(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return errStaging
	}
	return err
}

func claimTemp(path string, pid int) (string, error) {
	var random [8]byte
	if _, err := rand.Read(random[:]); err != nil {
		return "", err
	}
	return path + "." + strconv.Itoa(pid) + "." + hex.EncodeToString(random[:]) + ".tmp", nil
}

// withdraw removes a claim if it is still this process's: the same file, and
// every field of its record. Otherwise errNotOurs, and what is there stays.
func withdraw(files Files, s Step, l claim) error {
	text, stamp, err := files.Read(s, l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return errNotOurs
	}
	if err != nil {
		return err
	}
	if stamp.identity() != l.stamp.identity() || !bytes.Equal(text, l.text) {
		return errNotOurs
	}
	return files.Remove(s, l.path)
}

// release gives the lock back. The error says what was left, for a person.
func (h *held) release() error {
	err := withdraw(h.c.files, StepRelease, h.l)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errNotOurs):
		return errors.New("the lock of this operation is gone or another's; it was left alone")
	default:
		return fmt.Errorf("the lock could not be removed (%s)", cause(err))
	}
}

// after releases the lock and returns what is to be reported: err, with a word
// about the lock when that could not be released.
func (h *held) after(err error) error {
	if left := h.release(); left != nil && err != nil {
		return withLeft(err, left)
	}
	return err
}

// withLeft is a refusal with a word about what was left behind.
func withLeft(err, left error) error {
	var r *Refusal
	if !errors.As(err, &r) {
		return errors.Join(err, left)
	}
	with := *r
	with.Sentence += "; " + left.Error()
	return &with
}

// lockedRefusal says who has the lock.
func (c *Checkout) lockedRefusal() error {
	text, _, err := c.files.Read(StepLock, c.Lock)
	if errors.Is(err, fs.ErrNotExist) {
		// It went between the last attempt and now: others take turns.
		return failed(LockLive, "the lock was held for 10 seconds by one operation after another; retry the same op later")
	}
	r, holder := c.machine.judge(text)
	switch holder {
	case HolderLive:
		return failed(LockLive, "held by %s %s since %s; retry the same op later", r.Verb, r.Op, r.At)
	case HolderDead, HolderMismatch:
		return failed(LockStale, "held by %s %s since %s, whose process has ended (%s); run `mosaic queue unlock` once nothing is running", r.Verb, r.Op, r.At, holder)
	case HolderUnknown:
		return failed(LockUnknown, "held by %s %s since %s, process %d of host %s, and whether that runs is unknown; find out by hand", r.Verb, r.Op, r.At, r.PID, r.Host)
	default:
		return failed(LockInvalid, "the lock file is invalid and names no process; inspect %s by hand", c.Lock)
	}
}

// checkGate refuses while somebody unlocks, or died in the middle of it.
func (c *Checkout) checkGate() error {
	_, err := c.files.Stat(StepGateCheck, c.Gate)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return failed(LockFailed, "the gate of `mosaic queue unlock` cannot be looked for (%s)", cause(err))
	default:
		return failed(GatePresent, "the gate %s of `mosaic queue unlock` exists; `mosaic queue unlock --check-gate` tells whose it is", c.Gate)
	}
}

// cause is the system's name for an error, or its own words.
func cause(err error) string {
	if name := errno(err); name != "unknown" {
		return name
	}
	return err.Error()
}
