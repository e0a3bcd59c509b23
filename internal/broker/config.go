package broker

import (
	"path/filepath"
	"slices"

	"mosaicstack.dev/mosaic/internal/org"
	"mosaicstack.dev/mosaic/internal/wire"
)

// key is the form of business ids, role instances and definitions
// (BUS-OPEN-02).
var key = wire.NewPattern(`^[a-z0-9][a-z0-9-]{0,62}$`)

// reserved are the addresses that no role instance can have.
var reserved = []wire.Role{wire.HumanRole, wire.TesterRole, wire.BusRole}

// validate holds what the host has validated before (BUS-BOOT-41) against the
// few rules that the broker's own safety rests on, and refuses invalid-config.
func (c Config) validate() error {
	valid := filepath.IsAbs(c.DataRoot)
	for id, business := range c.Businesses {
		valid = valid && id == business.ID && business.valid()
	}
	for _, reader := range c.Readers {
		_, known := c.Businesses[reader]
		valid = valid && known
	}
	for _, root := range c.RepoRoots {
		valid = valid && filepath.IsAbs(root)
	}
	if !valid {
		return wire.Refuse(wire.InvalidConfig)
	}
	return nil
}

func (b Business) valid() bool {
	valid := key.MatchString(string(b.ID)) && b.Human != "" &&
		b.hasRoleOrNone(b.Arbiters.Technical) && b.hasRoleOrNone(b.Arbiters.Delivery)
	for id, role := range b.Roles {
		valid = valid && key.MatchString(string(id)) && !slices.Contains(reserved, id) && role.valid()
	}
	if b.Launch == nil {
		return valid
	}
	for _, instance := range b.Launch.Instances {
		valid = valid && b.hasRole(instance) && instance != b.Launch.By
	}
	return valid && b.hasRole(b.Launch.By)
}

// valid refuses a role without an authority map, and a map that grants what no
// file can grant or what nobody knows (BUS-BOOT-40, BUS-AUTH-06).
func (r Role) valid() bool {
	if !key.MatchString(r.Definition) || r.Authority == nil {
		return false
	}
	for _, action := range slices.Concat(r.Authority.WithinRole, r.Authority.CrossRole) {
		if org.HardWait(action) {
			return false
		}
	}
	return true
}

func (b *Business) hasRoleOrNone(role wire.Role) bool { return role == "" || b.hasRole(role) }
