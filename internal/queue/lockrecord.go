package queue

import (
	"os"
	"regexp"
	"strconv"
	"time"

	"mosaicstack.dev/mosaic/internal/proc"
	"mosaicstack.dev/mosaic/internal/wire"
)

// LockRecord says who holds the lock, or the gate (QUEUE-LOCK-02). It is one
// line of JSON.
type LockRecord struct {
	PID   int    `json:"pid"`
	Start string `json:"start"` // clock ticks from boot to the process's start, decimal
	Boot  string `json:"boot"`  // the kernel's id of the boot, a lower-case UUID
	Host  string `json:"host"`  // the kernel's node name
	Op    string `json:"op"`    // an operation's id, or NoOp
	Verb  string `json:"verb"`
	At    string `json:"at"` // for people only
}

// NoOp stands in the lock's record for verbs that log nothing (QUEUE-OPEN-51).
const NoOp OpID = "-"

// Holder is what is known of the process that a record names, or that the
// record names none (QUEUE-LOCK-15 to 22).
type Holder string

const (
	HolderInvalid  Holder = "invalid" // no record that could be judged
	HolderUnknown  Holder = "unknown" // another host, or unreadable
	HolderLive     Holder = "live"
	HolderDead     Holder = "dead"
	HolderMismatch Holder = "mismatch" // another boot, or its pid is another process's now
)

// gone says that the process has provably ended.
func (h Holder) gone() bool { return h == HolderDead || h == HolderMismatch }

var (
	startForm = regexp.MustCompile(`^[1-9][0-9]{0,19}$`)
	bootForm  = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
)

// machine is what the lock asks of the system. Tests put another one in its
// place.
type machine struct {
	here  func() (proc.Machine, error)
	procs proc.Table
	now   func() time.Time
	// wait pauses between two attempts to take the lock.
	wait func(done <-chan struct{}, d time.Duration)
}

func thisMachine() machine {
	return machine{here: proc.ThisMachine, procs: proc.System(), now: time.Now, wait: pause}
}

func pause(done <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// record names this process. It fails when the process cannot tell its own
// start time or boot id: no lock may be held that nobody could judge
// (QUEUE-LOCK-03).
func (m machine) record(op OpID, verb string) (LockRecord, error) {
	here, self, err := m.self()
	if err != nil {
		return LockRecord{}, err
	}
	r := LockRecord{
		PID:   self.PID,
		Start: strconv.FormatUint(self.Start, 10),
		Boot:  here.Boot,
		Host:  here.Host,
		Op:    string(op),
		Verb:  verb,
		At:    Stamp(m.now()),
	}
	if !r.valid() {
		return LockRecord{}, errNoIdentity
	}
	return r, nil
}

func (m machine) self() (proc.Machine, proc.Identity, error) {
	here, err := m.here()
	if err != nil {
		return proc.Machine{}, proc.Identity{}, err
	}
	st, err := m.procs.Stat(os.Getpid())
	return here, st.Identity, err
}

func (r LockRecord) valid() bool {
	return r.PID > 0 && r.Host != "" && startForm.MatchString(r.Start) && bootForm.MatchString(r.Boot)
}

func (r LockRecord) bytes() ([]byte, error) {
	line, err := wire.Encode(r)
	return append(line, '\n'), err
}

// judge reads a record and says what is known of its process. The first test
// that applies decides, and they are in the order of the document.
func (m machine) judge(text []byte) (LockRecord, Holder) {
	var r LockRecord
	if err := wire.Decode(text, &r); err != nil || !r.valid() {
		return LockRecord{}, HolderInvalid
	}
	start, err := strconv.ParseUint(r.Start, 10, 64)
	if err != nil {
		return LockRecord{}, HolderInvalid
	}
	here, _, err := m.self()
	if err != nil {
		return r, HolderUnknown
	}
	owner := proc.Owner{Host: r.Host, Boot: r.Boot, PID: r.PID, StartTime: start}
	switch owner.Classify(here, m.procs) {
	case proc.Live:
		return r, HolderLive
	case proc.Dead:
		return r, HolderDead
	case proc.Mismatch:
		return r, HolderMismatch
	default:
		return r, HolderUnknown
	}
}
