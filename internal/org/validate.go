package org

import (
	"fmt"
	"maps"
	"slices"

	"mosaicstack.dev/mosaic/internal/wire"
)

// checkOrganization holds the rules that look at more than one value.
func (d *decoder) checkOrganization(root *node, o *Organization) {
	roots := map[string]string{}
	for _, e := range root.find("businesses").entries {
		b, ok := o.Businesses[wire.Business(e.key)]
		if !ok {
			continue
		}
		path := keyPath("businesses", e.key)
		if b.Human != "" && o.Human.ID != "" && b.Human != o.Human.ID {
			d.fault(e.value.find("human"), keyPath(path, "human"), "write "+o.Human.ID, "%s is not the human of this file", quoted(b.Human))
		}
		d.checkRoles(e.value.find("roles"), keyPath(path, "roles"), o, b)
		d.checkArbiters(e.value.find("arbiters"), keyPath(path, "arbiters"), o, b)
		d.checkLaunch(e.value.find("launch"), keyPath(path, "launch"), b)
		d.checkRoots(e.value.find("projects"), keyPath(path, "projects"), b, roots)
	}
}

// checkRoles holds each instance against its definition.
func (d *decoder) checkRoles(n *node, path string, o *Organization, b Business) {
	for _, e := range n.entries {
		i, ok := b.Roles[wire.Role(e.key)]
		if !ok || i.Definition == "" {
			continue
		}
		here := keyPath(path, e.key)
		def, ok := o.Definitions[i.Definition]
		if !ok {
			d.fault(e.value.find("definition"), keyPath(here, "definition"),
				suggestion(i.Definition, slices.Collect(maps.Keys(o.Definitions))), "%s is no role definition", quoted(i.Definition))
			continue
		}
		d.checkHarness(e.value, here, o, i)
		d.checkEnv(e.value.find("env"), keyPath(here, "env"), o)
		d.commandNeedsExec(e.value, here, i.Harness, i.Command)
		for _, c := range e.value.find("credentials").entries {
			if _, known := i.Credentials[c.key]; known && !slices.Contains(def.Credentials, c.key) {
				d.fault(c.at(), keyPath(keyPath(here, "credentials"), c.key),
					"remove it, or list it under credentials in roles/"+def.Name+".yaml",
					"the definition %s has no credential for %s", def.Name, c.key)
			}
		}
	}
}

// checkEnv holds that no run inherits a token: what a credential of the file
// names stays with the host (BUS-BOOT-09).
func (d *decoder) checkEnv(n *node, path string, o *Organization) {
	for i, item := range n.items {
		if o.isToken(item.text) {
			d.fault(item, fmt.Sprintf("%s[%d]", path, i), "remove it: tokens stay with the host",
				"%s is where a credential is", quoted(item.text))
		}
	}
}

func (o *Organization) isToken(variable string) bool {
	for _, b := range o.Businesses {
		for _, i := range b.Roles {
			for _, c := range i.Credentials {
				if c.Env == variable && variable != "" {
					return true
				}
			}
		}
	}
	return false
}

func (d *decoder) checkHarness(n *node, path string, o *Organization, i Instance) {
	if i.Harness != "" && !o.HarnessOn(i.Harness) {
		d.fault(n.find("harness"), keyPath(path, "harness"), suggestion(i.Harness, o.Plugins.Harness),
			"the harness %s is not switched on in plugins.harness", quoted(i.Harness))
	}
	if len(i.Command) > 0 && i.Harness == "" && !o.HarnessOn(ExecHarness) {
		d.fault(n.find("command"), keyPath(path, "command"), "add exec to plugins.harness",
			"a command needs the harness exec, which is not switched on")
	}
}

// checkArbiters holds that every role may be told by its arbiter what was
// decided, so no arbiter has messaging lists (BUS-DEC-45).
func (d *decoder) checkArbiters(n *node, path string, o *Organization, b Business) {
	for _, e := range n.entries {
		here := keyPath(path, e.key)
		if !d.instanceOf(e.value, here, b) {
			continue
		}
		def := o.Definitions[b.Roles[wire.Role(e.value.text)].Definition]
		if def.Messaging.Declared() {
			d.fault(e.value, here, "name an instance whose definition declares no messaging lists",
				"%s cannot be an arbiter: its definition %s declares messaging lists", e.value.text, def.Name)
		}
	}
}

// instanceOf checks that a value which is a key names a role of the business.
func (d *decoder) instanceOf(n *node, path string, b Business) bool {
	if n.kind != textKind || !keyForm.match(n.text) {
		return false // a fault already
	}
	if _, ok := b.Roles[wire.Role(n.text)]; ok {
		return true
	}
	d.fault(n, path, suggestion(n.text, instanceKeys(b)), "%s is no role of this business", quoted(n.text))
	return false
}

func instanceKeys(b Business) []string {
	keys := make([]string, 0, len(b.Roles))
	for key := range b.Roles {
		keys = append(keys, string(key))
	}
	return keys
}

func (d *decoder) checkLaunch(n *node, path string, b Business) {
	if b.Launch == nil || n.kind != mapKind {
		return
	}
	d.instanceOf(n.find("by"), keyPath(path, "by"), b)
	for i, item := range n.find("instances").items {
		here := fmt.Sprintf("%s[%d]", keyPath(path, "instances"), i)
		if d.instanceOf(item, here, b) && wire.Role(item.text) == b.Launch.By {
			d.fault(item, here, "remove it: a person launches the launcher", "%s is launch.by", quoted(item.text))
		}
	}
}

// checkRoots holds that no two projects share a repository.
func (d *decoder) checkRoots(n *node, path string, b Business, roots map[string]string) {
	for _, e := range n.entries {
		p := b.Projects[e.key]
		here := keyPath(path, e.key)
		d.claimRoot(e.value.find("repo"), keyPath(here, "repo"), p.Repo, roots)
		d.claimRoot(e.value.find("records"), keyPath(here, "records"), p.Records, roots)
	}
}

func (d *decoder) claimRoot(n *node, path, root string, roots map[string]string) {
	if root == "" {
		return
	}
	if other, taken := roots[root]; taken {
		d.fault(n, path, "give each its own repository", "%s is %s already", quoted(root), other)
		return
	}
	roots[root] = path
}
