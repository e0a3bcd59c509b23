package broker

import (
	"slices"

	"mosaicstack.dev/mosaic/internal/wire"
)

// mayMessage reports whether the messaging lists of the role definitions let
// from write to to: the sender's sendTo and the recipient's receiveFrom must
// both allow it (BUS-OPEN-32). The human has no lists.
func (b *Business) mayMessage(from, to wire.Role) bool {
	return allows(b.Roles[from].Messaging.SendTo, b.listed(to)) &&
		allows(b.Roles[to].Messaging.ReceiveFrom, b.listed(from))
}

// listed is how messaging lists name an address: by its definition, or human.
func (b *Business) listed(role wire.Role) string {
	if role == wire.HumanRole {
		return string(wire.HumanRole)
	}
	return b.Roles[role].Definition
}

// allows reads a messaging list: an absent one allows all, an empty one none.
func allows(list *[]string, name string) bool {
	return list == nil || slices.Contains(*list, name)
}

// chiefOfStaff reports whether role is the chief of staff's instance: the
// launcher when it has that definition, otherwise any instance that has it
// (BUS-OPEN-65).
func (b *Business) chiefOfStaff(role wire.Role) bool {
	if b.Launch != nil && b.Roles[b.Launch.By].Definition == chiefDefinition {
		return role == b.Launch.By
	}
	return b.Roles[role].Definition == chiefDefinition
}
