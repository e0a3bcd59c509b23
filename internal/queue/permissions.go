package queue

import (
	"fmt"
	"slices"
	"strings"
)

// Who is a set of relations between an actor and a row.
type Who uint8

// The relations. Privileged is the human or the lead.
const (
	ByOwner Who = 1 << iota
	ByClaimant
	ByGateOwner
	ByReviewer
	BySeat // any configured seat
	ByLead
	ByHuman

	Privileged = ByLead | ByHuman
)

var relationNames = []struct {
	who  Who
	name string
}{
	{ByOwner, "the owner"}, {ByClaimant, "the claimant"}, {ByGateOwner, "the gate owner"},
	{ByReviewer, "a listed reviewer"}, {BySeat, "a seat"}, {ByLead, "the lead"}, {ByHuman, "the human"},
}

// String names the relations, for sentences and for the reference.
func (w Who) String() string {
	var names []string
	for _, r := range relationNames {
		if w&r.who != 0 {
			names = append(names, r.name)
		}
	}
	switch n := len(names); n {
	case 0:
		return "nobody"
	case 1:
		return names[0]
	default:
		return strings.Join(names[:n-1], ", ") + " or " + names[n-1]
	}
}

// Permission is who may do one thing that is no move; moves are in
// Transitions.
type Permission struct {
	What    string
	Who     Who
	Refused string // further conditions, for people
}

// Permissions is the table that every check below looks its answer up in.
var Permissions = []*Permission{
	&mayAdd, &mayAddMore, &mayAssign, &maySet, &maySetAfter, &maySetRequiredAfter, &mayNarrow,
	&mayRequire, &mayNotRequire, &mayNote, &mayExplain, &mayRequest, &mayRecord, &mayResolve, &mayAbandon,
	&mayRoster, &mayBegin, &mayCommit,
}

const whileOpen = "the row is done or parked"

var (
	mayAdd              = Permission{"add for oneself", BySeat | Privileged, "there is no brief"}
	mayAddMore          = Permission{"owner, gate, gateOwner, after, reviewers or required on add", Privileged, ""}
	mayAssign           = Permission{"assign", Privileged, whileOpen + "; the new owner reviews the row"}
	maySet              = Permission{"piece, gate, gateOwner, reviewers, issues or brief", Privileged, whileOpen}
	maySetAfter         = Permission{"after of a row that is not required", Privileged, whileOpen + "; a cycle"}
	maySetRequiredAfter = Permission{"after of a required row", ByHuman, whileOpen + "; a cycle"}
	mayNarrow           = Permission{"closes", Privileged, whileOpen + "; no reason"}
	mayRequire          = Permission{"setting required", Privileged, whileOpen}
	mayNotRequire       = Permission{"clearing required", ByHuman, whileOpen}
	mayNote             = Permission{"note", ByOwner | ByReviewer | Privileged, whileOpen}
	mayExplain          = Permission{"the reason of a blocked row", ByOwner | Privileged, "the row is not blocked"}
	mayRequest          = Permission{"review request", ByOwner | Privileged, "an attempt is unresolved or posted"}
	mayRecord           = Permission{"review record", ByReviewer, "not the current round or candidate; a second receipt"}
	mayResolve          = Permission{"review resolve", ByOwner | Privileged, "the attempt is settled; the comment does not match"}
	mayAbandon          = Permission{"review abandon", Privileged, "the attempt is settled; no reason, no --yes"}
	mayRoster           = Permission{"roster", ByHuman, ""}
	mayBegin            = Permission{"genesis, accept-history", Privileged, ""}
	mayCommit           = Permission{"commit, install-hook", Privileged, ""}
)

// relations says how an actor stands to a row; nil stands for no row.
func (s *Replayed) relations(actor Seat, row *Row) (w Who) {
	if actor == s.Human {
		w |= ByHuman
	}
	if actor == s.Lead {
		w |= ByLead
	}
	if slices.Contains(s.Seats, actor) {
		w |= BySeat
	}
	if row == nil {
		return w
	}
	if actor == row.Owner {
		w |= ByOwner
	}
	if row.Claim != nil && actor == row.Claim.Seat {
		w |= ByClaimant
	}
	if actor == row.GateOwner {
		w |= ByGateOwner
	}
	if slices.Contains(row.Reviewers, actor) {
		w |= ByReviewer
	}
	return w
}

// allow refuses an actor who stands in none of the relations.
func (s *Replayed) allow(actor Seat, row *Row, what string, who Who) error {
	if s.relations(actor, row)&who != 0 {
		return nil
	}
	held := ""
	if who&(ByOwner|ByClaimant) != 0 && row != nil && row.Claim != nil {
		held = fmt.Sprintf("; claimed by %s", row.Claim.Seat) // QUEUE-STATE-85
	}
	return refuse(NotPermitted, "%s may not do this: %s is for %s%s", actor, what, who, held)
}

func (o *operation) permit(p Permission, row *Row) error {
	return o.allow(o.By, row, p.What, p.Who)
}

// AllowCommit refuses an actor who may not commit the queue or install its
// guard (QUEUE-OPEN-50).
func (s *Replayed) AllowCommit(actor Seat) error {
	if err := s.CheckActor(actor); err != nil {
		return err
	}
	return s.allow(actor, nil, mayCommit.What, mayCommit.Who)
}
