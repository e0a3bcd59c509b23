package org

import (
	"slices"

	"mosaicstack.dev/mosaic/internal/wire"
)

// Resolved is a role instance with its definition applied and narrowed: all
// that the broker and the launcher need to know of it.
type Resolved struct {
	Key         wire.Role
	Definition  string
	Charter     string
	Authority   Authority // never nil lists
	Messaging   Messaging
	Harness     string // "" when neither the instance nor its definition names one
	Command     []string
	Credentials map[string]Credential
	Vars        map[string]any
	Env         []string // names of the host's variables that its runs inherit in addition
}

// Resolve returns the instances of a business with their definitions applied,
// or nil for a business that the organization does not have.
func (o *Organization) Resolve(business wire.Business) map[wire.Role]Resolved {
	b, ok := o.Businesses[business]
	if !ok {
		return nil
	}
	all := make(map[wire.Role]Resolved, len(b.Roles))
	for key, instance := range b.Roles {
		all[key] = resolve(key, instance, o.Definitions[instance.Definition])
	}
	return all
}

func resolve(key wire.Role, i Instance, d Definition) Resolved {
	r := Resolved{
		Key:        key,
		Definition: d.Name,
		Charter:    d.Charter,
		Authority: Authority{
			WithinRole: narrowed(d.Authority.WithinRole, i.Without),
			CrossRole:  narrowed(d.Authority.CrossRole, i.Without),
		},
		Messaging:   d.Messaging,
		Harness:     d.Harness,
		Command:     d.Command,
		Credentials: i.Credentials,
		Vars:        i.Vars,
		Env:         i.Env,
	}
	if i.Harness != "" {
		r.Harness = i.Harness
		if i.Harness != ExecHarness {
			r.Command = nil
		}
	}
	if len(i.Command) > 0 {
		r.Harness, r.Command = ExecHarness, i.Command
	}
	return r
}

// narrowed takes actions away; it has no way to add one (BUS-OPEN-33).
func narrowed(actions, without []string) []string {
	left := []string{}
	for _, action := range actions {
		if !slices.Contains(without, action) {
			left = append(left, action)
		}
	}
	return left
}
