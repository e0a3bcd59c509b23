package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"mosaicstack.dev/mosaic/internal/proc"
	"mosaicstack.dev/mosaic/internal/queue"
)

// The classes of an owner of active work. None says that somebody is alive: a
// reused pid looks the same (QUEUE-LEDGER-35, 36).
const (
	Exempt     = "exempt"
	Missing    = "missing"
	Invalid    = "invalid"
	PIDUnknown = "pid-unknown"
	PIDGone    = "pid-gone"
	PIDPresent = "pid-present"
)

// Owner is the owner of rows in progress or in review, with the class of their
// registration.
type Owner struct {
	Seat  queue.Seat `json:"seat"`
	Class string     `json:"class"`
	Why   string     `json:"why"` // one line, for people
}

// Duplicate is a seat that is registered more than once in this checkout.
type Duplicate struct {
	Seat    queue.Seat `json:"seat"`
	Layouts []string   `json:"layouts"`
}

// Liveness is the coverage of the owners of active work.
type Liveness struct {
	Owners     []Owner      `json:"owners"`
	Exempted   []queue.Seat `json:"exempted"` // declared on this run
	Duplicates []Duplicate  `json:"duplicates"`
}

// count is how many owners are of a class.
func (l Liveness) count(class string) int {
	n := 0
	for _, o := range l.Owners {
		if o.Class == class {
			n++
		}
	}
	return n
}

// Coverage is the line that counts the classes (QUEUE-LEDGER-37).
func (l Liveness) Coverage() string {
	return fmt.Sprintf("liveness: %d pid-present (unverified), %d exempt, %d pid-unknown, %d missing, %d invalid, %d pid-gone",
		l.count(PIDPresent), l.count(Exempt), l.count(PIDUnknown), l.count(Missing), l.count(Invalid), l.count(PIDGone))
}

// checkLiveness judges the owners of rows in progress and in review
// (QUEUE-LEDGER-08, 27 to 37, 45, 49).
func (s *Section) checkLiveness(in Input) {
	found := scan(in.Registrations)
	s.Liveness = Liveness{Owners: []Owner{}, Exempted: append([]queue.Seat{}, in.Exempt...), Duplicates: found.duplicates(in.State.Root)}
	judged := map[queue.Seat]Owner{}
	for _, row := range in.State.Rows {
		if row.State != queue.InProgress && row.State != queue.InReview {
			continue
		}
		owner, known := judged[row.Owner]
		if !known {
			owner = judge(in, found, row.Owner)
			judged[row.Owner] = owner
			s.Liveness.Owners = append(s.Liveness.Owners, owner)
		}
		detail := fmt.Sprintf("%s owns active work: %s", owner.Seat, owner.Why)
		switch owner.Class {
		case Missing, Invalid, PIDGone:
			s.violate(CheckRegistration, row.ID, nil, detail)
		case PIDUnknown:
			s.undecide(CheckRegistration, row.ID, nil, detail)
		}
	}
}

// judge classifies one owner.
func judge(in Input, found registrations, seat queue.Seat) Owner {
	own := found.of(in.State.Root, seat)
	switch {
	case !slices.Contains(in.State.Seats, seat):
		return Owner{seat, Exempt, "not a seat"}
	case slices.Contains(in.Exempt, seat):
		return Owner{seat, Exempt, "declared with --unsupported-runtime"}
	case found.broken:
		return Owner{seat, Invalid, "the registrations cannot be read"}
	case len(own) > 1:
		return Owner{seat, Invalid, "registered more than once in the layout " + Layout}
	case len(own) == 1:
		return presence(in.Processes, seat, own[0])
	case found.invalid[seat]:
		return Owner{seat, Invalid, "the registration fails validation"}
	}
	return Owner{seat, Missing, "no registration for this checkout in the layout " + Layout}
}

// presence looks whether the registered pid exists. Nothing tells whether it
// is still the process that registered.
func presence(processes proc.Table, seat queue.Seat, r registration) Owner {
	pid, ok := r.pid()
	if !ok {
		return Owner{seat, PIDUnknown, "the registration has no usable pid"}
	}
	stat, err := processes.Stat(pid)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && (stat.State == 'Z' || stat.State == 'X'):
		return Owner{seat, PIDGone, "the registered pid is gone"}
	case err != nil && !errors.Is(err, fs.ErrPermission):
		return Owner{seat, PIDUnknown, "the registered pid cannot be looked at"}
	}
	return Owner{seat, PIDPresent, "pid present (identity not verified)"}
}
