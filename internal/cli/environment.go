package cli

import (
	"path/filepath"
	"sort"
	"strings"

	"mosaicstack.dev/mosaic/internal/broker"
)

// environment is the environment of one command line.
type environment map[string]string

func parseEnvironment(env []string) environment {
	e := make(environment, len(env))
	for _, entry := range env {
		if name, value, ok := strings.Cut(entry, "="); ok {
			e[name] = value
		}
	}
	return e
}

// list returns it in the form of os.Environ, in order, without the named
// variables.
func (e environment) list(without ...string) []string {
	out := make([]string, 0, len(e))
next:
	for name, value := range e {
		for _, w := range without {
			if name == w {
				continue next
			}
		}
		out = append(out, name+"="+value)
	}
	sort.Strings(out)
	return out
}

// managed reports whether this is a managed run, whose commands act as a role.
func (e environment) managed() bool { return e["MOSAIC_BUS_CAP"] != "" }

// root returns the data root of DESIGN.md 4 as an absolute path.
func (a *app) root() (string, error) {
	dir := a.dataRoot
	switch {
	case dir != "":
	case a.env["MOSAIC_HOME"] != "":
		dir = a.env["MOSAIC_HOME"]
	case filepath.IsAbs(a.env["XDG_DATA_HOME"]): // a relative one is to be ignored (XDG)
		dir = filepath.Join(a.env["XDG_DATA_HOME"], "mosaic")
	case a.env["HOME"] != "":
		dir = filepath.Join(a.env["HOME"], ".local", "share", "mosaic")
	default:
		return "", usage("no home directory is known; name the data root: --data-root DIR")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return abs, broker.CheckPath(abs)
}
