package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// Self returns the identity of this process.
func Self() (Identity, error) {
	st, err := System().Stat(os.Getpid())
	return st.Identity, err
}

// Host returns this machine's host name.
func Host() (string, error) {
	name, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("proc: host name: %w", err)
	}
	return name, nil
}

// Machine names a machine between two boots.
type Machine struct {
	Host string
	Boot string
}

// ThisMachine returns the machine that this process runs on.
func ThisMachine() (Machine, error) {
	host, err := Host()
	if err != nil {
		return Machine{}, err
	}
	boot, err := BootID()
	if err != nil {
		return Machine{}, err
	}
	return Machine{Host: host, Boot: boot}, nil
}

// Owner is a process as a lock file records it, so that another process can
// say later whether it is gone (BUS-OPEN-12).
type Owner struct {
	Host      string `json:"host"`
	Boot      string `json:"boot"`
	PID       int    `json:"pid"`
	StartTime uint64 `json:"startTime"` // clock ticks since boot
	At        string `json:"at"`        // UTC, YYYY-MM-DDTHH:mm:ss.sssZ; for people only
}

// SelfOwner returns the Owner that names this process, stamped with at.
func SelfOwner(at time.Time) (Owner, error) {
	here, err := ThisMachine()
	if err != nil {
		return Owner{}, err
	}
	self, err := Self()
	if err != nil {
		return Owner{}, err
	}
	return Owner{
		Host:      here.Host,
		Boot:      here.Boot,
		PID:       self.PID,
		StartTime: self.Start,
		At:        at.UTC().Format("2006-01-02T15:04:05.000Z"),
	}, nil
}

// Verdict says what is known of a recorded owner.
type Verdict uint8

const (
	CannotTell Verdict = iota // nothing may be concluded; the zero value
	Alive                     // that very process runs
	Gone                      // that very process has ended
)

// String returns the words that people read.
func (v Verdict) String() string {
	switch v {
	case Alive:
		return "alive"
	case Gone:
		return "gone"
	default:
		return "cannot tell"
	}
}

// Class is what is known of a recorded owner, in detail.
type Class uint8

const (
	Unknown  Class = iota // nothing may be concluded; the zero value
	Live                  // that very process runs
	Dead                  // no such process runs
	Mismatch              // that process ended: the machine was restarted, or another one has its pid
)

// String returns the word that people read.
func (c Class) String() string {
	switch c {
	case Live:
		return "live"
	case Dead:
		return "dead"
	case Mismatch:
		return "mismatch"
	default:
		return "unknown"
	}
}

// Gone says that the owner has provably ended.
func (c Class) Gone() bool { return c == Dead || c == Mismatch }

// Classify says what is known of a recorded owner, seen from the machine here
// with the process table t. It compares host, boot id, pid and start time, in
// that order: another host tells nothing, another boot of the same host ended
// every process, and a pid without the recorded start time is another process.
// An owner with a missing field, or a process that cannot be read, tells
// nothing (BUS-OPEN-12, QUEUE-LOCK-17 to 22).
func (o Owner) Classify(here Machine, t Table) Class {
	if o.Host == "" || o.Boot == "" || o.PID <= 0 || o.StartTime == 0 {
		return Unknown
	}
	if o.Host != here.Host || here.Boot == "" {
		return Unknown
	}
	if o.Boot != here.Boot {
		return Mismatch
	}
	st, err := t.Stat(o.PID)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Dead
	case err != nil:
		return Unknown
	case st.Start != o.StartTime:
		return Mismatch
	case st.Ended():
		// A zombie holds no file. The owner is always a Go program, which
		// never leaves other threads behind its first one.
		return Dead
	default:
		return Live
	}
}

// Judge says whether a recorded owner is gone, which is what Classify comes
// down to.
func (o Owner) Judge(here Machine, t Table) Verdict {
	switch c := o.Classify(here, t); {
	case c.Gone():
		return Gone
	case c == Live:
		return Alive
	default:
		return CannotTell
	}
}

// Ended says that the process's first thread has ended: a zombie or dead.
func (s Stat) Ended() bool { return s.State == 'Z' || s.State == 'X' || s.State == 'x' }
