package host

import (
	"maps"
	"slices"

	"mosaicstack.dev/mosaic/internal/broker"
	"mosaicstack.dev/mosaic/internal/org"
	"mosaicstack.dev/mosaic/internal/records"
	"mosaicstack.dev/mosaic/internal/wire"
)

// businesses turns a loaded organization into the normalized form that the
// broker works on (BUS-BOOT-33). It copies what the definitions resolved to,
// adds nothing to an authority map, and reads no file (BUS-BOOT-34 to 37).
func businesses(o *org.Organization) map[wire.Business]broker.Business {
	all := make(map[wire.Business]broker.Business, len(o.Businesses))
	for id, b := range o.Businesses {
		all[id] = business(b, o.Resolve(id))
	}
	return all
}

// recordsOf names the records repositories and whose changes in them count as
// confirmed.
func recordsOf(o *org.Organization) map[wire.Business]records.Business {
	all := make(map[wire.Business]records.Business, len(o.Businesses))
	for id, b := range o.Businesses {
		one := records.Business{Human: b.Human, Projects: map[string]string{}}
		for name, project := range b.Projects {
			one.Projects[name] = project.Records
		}
		all[id] = one
	}
	return all
}

func business(b org.Business, instances map[wire.Role]org.Resolved) broker.Business {
	normalized := broker.Business{
		ID:       b.ID,
		Human:    b.Human,
		Arbiters: broker.Arbiters{Technical: b.Arbiters.Technical, Delivery: b.Arbiters.Delivery},
		Roles:    make(map[wire.Role]broker.Role, len(instances)),
		Projects: slices.Sorted(maps.Keys(b.Projects)),
		Vars:     maps.Clone(b.Vars),
	}
	for key, instance := range instances {
		normalized.Roles[key] = role(instance)
	}
	if b.Launch != nil {
		normalized.Launch = &broker.Launch{By: b.Launch.By, Instances: slices.Clone(b.Launch.Instances)}
	}
	return normalized
}

func role(r org.Resolved) broker.Role {
	credentials := make(map[string]broker.Credential, len(r.Credentials))
	for service, c := range r.Credentials {
		credentials[service] = broker.Credential{File: c.File, Env: c.Env, RotateBy: c.RotateBy, Expires: c.Expires}
	}
	return broker.Role{
		Definition: r.Definition,
		Authority: &broker.Authority{
			WithinRole: slices.Clone(r.Authority.WithinRole),
			CrossRole:  slices.Clone(r.Authority.CrossRole),
		},
		Messaging: broker.Messaging{
			SendTo:      routes(r.Messaging.SendTo),
			ReceiveFrom: routes(r.Messaging.ReceiveFrom),
		},
		Credentials: credentials,
	}
}

// routes keeps the difference between no list, which allows all, and an empty
// one, which allows none (BUS-OPEN-32).
func routes(names []string) *[]string {
	if names == nil {
		return nil
	}
	list := slices.Clone(names)
	return &list
}
