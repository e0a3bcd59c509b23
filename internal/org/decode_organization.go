package org

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mosaicstack.dev/mosaic/internal/wire"
)

// decodeOrganization decodes the organization file against the definitions
// that there are.
func (d *decoder) decodeOrganization(root *node, definitions map[string]Definition) *Organization {
	o := &Organization{Businesses: map[wire.Business]Business{}, Definitions: definitions}
	d.decodeMap(root, "", fields{
		"version":    {required: true, decode: d.version},
		"human":      {required: true, decode: d.human(&o.Human)},
		"plugins":    {decode: d.plugins(&o.Plugins)},
		"businesses": {required: true, decode: d.businesses(o)},
	})
	d.checkOrganization(root, o)
	return o
}

func (d *decoder) version(n *node, path string) {
	if d.is(n, path, integerKind) && n.value != int64(1) {
		d.fault(n, path, "write version: 1", "this program does not know version %v", n.value)
	}
}

func (d *decoder) human(to *Human) func(n *node, path string) {
	return func(n *node, path string) {
		d.decodeMap(n, path, fields{
			"id":   {required: true, decode: d.word(&to.ID, keyForm)},
			"name": {decode: d.text(&to.Name)},
		})
		if to.Name == "" {
			to.Name = to.ID
		}
	}
}

func (d *decoder) plugins(to *Plugins) func(n *node, path string) {
	isModule := func(n *node, path string) bool { return d.fits(n, path, n.text, moduleForm) }
	return func(n *node, path string) {
		d.decodeMap(n, path, fields{"harness": {decode: d.texts(&to.Harness, isModule)}})
	}
}

func (d *decoder) businesses(o *Organization) func(n *node, path string) {
	return func(n *node, path string) {
		d.decodeEach(n, path, func(key string, e entry, here string) {
			if !d.fits(e.at(), here, key, keyForm) {
				return
			}
			id := wire.Business(key)
			o.Businesses[id] = d.business(e.value, here, id)
		})
		if n.kind == mapKind && len(n.entries) == 0 {
			d.fault(n, path, "add one, or let mosaic init write the file", "there is no business")
		}
	}
}

func (d *decoder) business(n *node, path string, id wire.Business) Business {
	b := Business{ID: id, Projects: map[string]Project{}, Vars: map[string]any{}, Roles: map[wire.Role]Instance{}}
	d.decodeMap(n, path, fields{
		"human":    {required: true, decode: d.word(&b.Human, keyForm)},
		"arbiters": {decode: d.arbiters(&b.Arbiters)},
		"projects": {decode: d.projects(b.Projects)},
		"vars":     {decode: d.vars(&b.Vars)},
		"roles":    {required: true, decode: d.roles(b.Roles)},
		"launch":   {decode: d.launch(&b.Launch)},
	})
	return b
}

func (d *decoder) arbiters(to *Arbiters) func(n *node, path string) {
	return func(n *node, path string) {
		d.decodeMap(n, path, fields{
			"technical": {decode: d.role(&to.Technical)},
			"delivery":  {decode: d.role(&to.Delivery)},
		})
	}
}

// role decodes the key of a role instance; checkOrganization looks whether it
// exists.
func (d *decoder) role(to *wire.Role) func(n *node, path string) {
	return func(n *node, path string) { d.word((*string)(to), keyForm)(n, path) }
}

func (d *decoder) projects(to map[string]Project) func(n *node, path string) {
	return func(n *node, path string) {
		d.decodeEach(n, path, func(key string, e entry, here string) {
			if !d.fits(e.at(), here, key, keyForm) {
				return
			}
			var p Project
			d.decodeMap(e.value, here, fields{
				"repo":    {required: true, decode: d.path(&p.Repo)},
				"records": {decode: d.path(&p.Records)},
			})
			to[key] = p
		})
	}
}

// path decodes an absolute path; ~ is the person's home directory.
func (d *decoder) path(to *string) func(n *node, path string) {
	return func(n *node, path string) {
		if !d.is(n, path, textKind) {
			return
		}
		full := expandHome(n.text, d.home)
		if !filepath.IsAbs(full) {
			d.fault(n, path, "start it with / or ~/", "%s is no absolute path", quoted(n.text))
			return
		}
		*to = filepath.Clean(full)
	}
}

func (d *decoder) roles(to map[wire.Role]Instance) func(n *node, path string) {
	return func(n *node, path string) {
		d.decodeEach(n, path, func(key string, e entry, here string) {
			switch {
			case slices.Contains(reservedKeys, key):
				d.fault(e.at(), here, "choose another key", "%s is an address of its own and no role instance", key)
			case d.fits(e.at(), here, key, keyForm):
				to[wire.Role(key)] = d.instance(e.value, here)
			}
		})
	}
}

func (d *decoder) instance(n *node, path string) Instance {
	var i Instance
	d.decodeMap(n, path, fields{
		"definition":  {required: true, decode: d.word(&i.Definition, keyForm)},
		"without":     {decode: d.texts(&i.Without, d.known)},
		"harness":     {decode: d.word(&i.Harness, moduleForm)},
		"command":     {decode: d.command(&i.Command)},
		"credentials": {decode: d.credentials(&i.Credentials)},
		"vars":        {decode: d.vars(&i.Vars)},
		"env":         {decode: d.texts(&i.Env, d.inheritable)},
	})
	return i
}

// inheritable checks the name of a variable that runs may inherit.
func (d *decoder) inheritable(n *node, path string) bool {
	if strings.HasPrefix(n.text, "MOSAIC_") {
		d.fault(n, path, "remove it: the launcher sets these itself", "%s cannot be inherited", quoted(n.text))
		return false
	}
	return d.fits(n, path, n.text, variableForm)
}

func (d *decoder) credentials(to *map[string]Credential) func(n *node, path string) {
	return func(n *node, path string) {
		var gitea, vikunja *Credential
		d.decodeMap(n, path, fields{
			Gitea:   {decode: d.credential(&gitea, "rotateBy", func(c *Credential) *string { return &c.RotateBy })},
			Vikunja: {decode: d.credential(&vikunja, "expires", func(c *Credential) *string { return &c.Expires })},
		})
		*to = map[string]Credential{}
		for service, c := range map[string]*Credential{Gitea: gitea, Vikunja: vikunja} {
			if c != nil {
				(*to)[service] = *c
			}
		}
	}
}

// credential decodes one reference. Each service has the date that its tokens
// have, under its own name.
func (d *decoder) credential(to **Credential, dateKey string, date func(*Credential) *string) func(n *node, path string) {
	return func(n *node, path string) {
		c := &Credential{}
		d.decodeMap(n, path, fields{
			"file":  {decode: d.path(&c.File)},
			"env":   {decode: d.word(&c.Env, variableForm)},
			dateKey: {required: true, decode: d.date(date(c))},
		})
		if n.kind == mapKind && (n.get("file") == nil) == (n.get("env") == nil) {
			d.fault(n, path, "say where the token is: file: PATH or env: NAME", "exactly one of file and env belongs here")
		}
		*to = c
	}
}

func (d *decoder) date(to *string) func(n *node, path string) {
	return func(n *node, path string) {
		if !d.is(n, path, textKind) {
			return
		}
		if _, err := time.Parse(time.DateOnly, n.text); err != nil {
			d.fault(n, path, "write it as 2027-03-01", "%s is no date", quoted(n.text))
			return
		}
		*to = n.text
	}
}

func (d *decoder) launch(to **Launch) func(n *node, path string) {
	return func(n *node, path string) {
		l := &Launch{Sandbox: Bubblewrap}
		var instances []string
		isKey := func(n *node, path string) bool { return d.fits(n, path, n.text, keyForm) }
		d.decodeMap(n, path, fields{
			"by":        {required: true, decode: d.role(&l.By)},
			"instances": {required: true, decode: d.texts(&instances, isKey)},
			"limits":    {decode: d.limits(&l.Limits)},
			"sandbox":   {decode: d.sandbox(&l.Sandbox)},
			"account":   {decode: d.text(&l.Account)},
		})
		for _, key := range instances {
			l.Instances = append(l.Instances, wire.Role(key))
		}
		*to = l
	}
}

// maxSessions is far above what one machine runs.
const maxSessions = 1000

func (d *decoder) limits(to *Limits) func(n *node, path string) {
	sessions := func(n *node, path string) {
		if !d.is(n, path, integerKind) {
			return
		}
		v, _ := n.value.(int64)
		if v < 1 || v > maxSessions {
			d.fault(n, path, "write a number from 1 to 1000, or leave it out for no limit", "%d is out of range", v)
			return
		}
		to.Sessions = int(v)
	}
	return func(n *node, path string) {
		d.decodeMap(n, path, fields{"sessions": {decode: sessions}})
	}
}

func (d *decoder) sandbox(to *Sandbox) func(n *node, path string) {
	check := d.oneOf("sandbox", []string{string(Bubblewrap), string(SandboxNone)})
	return func(n *node, path string) {
		if d.is(n, path, textKind) && check(n, path) {
			*to = Sandbox(n.text)
		}
	}
}
