package launch

import (
	"path"
	"slices"
	"strings"
)

// inherited are the names that a run inherits from the host's environment when
// they are set there. Everything else stays with the host: tokens, agent
// sockets, session buses and whatever a shell exported.
//
// XDG_RUNTIME_DIR is left out on purpose: it holds the user's session bus, and
// with it the way to start programs outside the sandbox.
var inherited = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR",
	"LANG", "LANGUAGE", "LC_*", "TZ", "TERM",
	"XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
	"XDG_CONFIG_DIRS", "XDG_DATA_DIRS",
}

// Variables that the launcher sets in every run. The two markers are in the
// monitor's environment too, so that the ancestry of whatever a run leaves
// behind still shows them (BUS-CTL-16, BUS-OPEN-104).
const (
	envRun        = "MOSAIC_RUN_ID"
	envAgentRun   = "MOSAIC_AGENT_RUN"
	envBusSocket  = "MOSAIC_BUS_SOCKET"
	envHostSocket = "MOSAIC_HOST_SOCKET"
	envCapability = "MOSAIC_BUS_CAP"
	envAgentName  = "MOSAIC_AGENT_NAME"
	envBusiness   = "MOSAIC_BUSINESS"
)

// environment builds what a program is started with: allowed names of host,
// then what the harness adds, then what the launcher sets. A later entry
// replaces an earlier one of the same name; names that begin with MOSAIC_ come
// from the launcher and the harness alone, so that a host that itself runs in
// a managed run hands nothing of it on.
func environment(host, named, harness, set []string) []string {
	env := map[string]string{}
	for _, entry := range host {
		name, value, ok := strings.Cut(entry, "=")
		if ok && allowed(name, named) {
			env[name] = value
		}
	}
	for _, entry := range slices.Concat(harness, set) {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	all := make([]string, 0, len(env))
	for name, value := range env {
		all = append(all, name+"="+value)
	}
	slices.Sort(all)
	return all
}

func allowed(name string, named []string) bool {
	if strings.HasPrefix(name, "MOSAIC_") {
		return false
	}
	return slices.Contains(named, name) || slices.ContainsFunc(inherited, func(pattern string) bool {
		ok, _ := path.Match(pattern, name)
		return ok
	})
}

// markers are the two entries that name a run without giving it anything.
func (o order) markers() []string {
	return []string{envRun + "=" + string(o.Run), envAgentRun + "=" + string(o.Run)}
}
