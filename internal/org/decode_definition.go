package org

import (
	"strings"
	"unicode/utf8"

	"mosaicstack.dev/mosaic/internal/wire"
)

// maxCharter bounds a charter, in characters: a paragraph, not a handbook.
const maxCharter = 2000

// decodeDefinition decodes a role definition file. names are all definitions
// that there are, for the messaging lists.
func (d *decoder) decodeDefinition(root *node, name string, names []string) Definition {
	def := Definition{Name: name}
	d.decodeMap(root, "", fields{
		"charter":     {required: true, decode: d.charter(&def.Charter)},
		"authority":   {required: true, decode: d.authority(&def.Authority)},
		"messaging":   {decode: d.messaging(&def.Messaging, names)},
		"credentials": {decode: d.texts(&def.Credentials, d.oneOf("service", services))},
		"harness":     {decode: d.word(&def.Harness, moduleForm)},
		"command":     {decode: d.command(&def.Command)},
	})
	d.commandNeedsExec(root, "", def.Harness, def.Command)
	return def
}

var services = []string{Gitea, Vikunja}

// commandNeedsExec holds that only the exec harness has a command.
func (d *decoder) commandNeedsExec(n *node, path, harness string, command []string) {
	if len(command) > 0 && harness != "" && harness != ExecHarness {
		d.fault(n.find("command"), keyPath(path, "command"), "write harness: exec, or leave command out",
			"only the exec harness has a command, not %s", quoted(harness))
	}
}

// charter decodes one paragraph; its lines are joined with spaces.
func (d *decoder) charter(to *string) func(n *node, path string) {
	return func(n *node, path string) {
		if !d.is(n, path, textKind) {
			return
		}
		text := strings.Join(strings.Fields(n.text), " ")
		switch {
		case text == "":
			d.fault(n, path, "say what the role is for", "the charter is empty")
		case strings.Contains(strings.TrimSpace(n.text), "\n\n"):
			d.fault(n, path, "keep it to one paragraph", "the charter has an empty line")
		case utf8.RuneCountInString(text) > maxCharter:
			d.fault(n, path, "keep it to one paragraph", "the charter has more than %d characters", maxCharter)
		default:
			*to = text
		}
	}
}

// authority decodes both lists. They are required, so that a definition that
// grants nothing says so (BUS-BOOT-40).
func (d *decoder) authority(to *Authority) func(n *node, path string) {
	return func(n *node, path string) {
		d.decodeMap(n, path, fields{
			"withinRole": {required: true, decode: d.texts(&to.WithinRole, d.grantable)},
			"crossRole":  {required: true, decode: d.texts(&to.CrossRole, d.grantable)},
		})
		for _, item := range n.find("crossRole").items {
			if within := n.find("withinRole"); within.has(item.text) {
				d.fault(item, keyPath(path, "crossRole"), "keep it in one of them", "%s stands in withinRole too", quoted(item.text))
			}
		}
	}
}

// grantable checks an action of an authority list (BUS-AUTH-06).
func (d *decoder) grantable(n *node, path string) bool {
	if !d.known(n, path) {
		return false
	}
	if HardWait(n.text) {
		d.fault(n, path, "remove it: it waits for the human, always", "%s cannot be granted", quoted(n.text))
		return false
	}
	return true
}

// known checks that the vocabulary has the action.
func (d *decoder) known(n *node, path string) bool {
	if KnownAction(n.text) {
		return true
	}
	d.fault(n, path, suggestion(n.text, actionNames()), "%s is no action", quoted(n.text))
	return false
}

func actionNames() []string {
	names := make([]string, len(Vocabulary))
	for i, a := range Vocabulary {
		names[i] = a.Name
	}
	return names
}

func (d *decoder) messaging(to *Messaging, names []string) func(n *node, path string) {
	check := d.oneOf("role definition", append([]string{string(wire.HumanRole)}, names...))
	return func(n *node, path string) {
		d.decodeMap(n, path, fields{
			"sendTo":      {decode: d.texts(&to.SendTo, check)},
			"receiveFrom": {decode: d.texts(&to.ReceiveFrom, check)},
		})
	}
}
