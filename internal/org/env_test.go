package org

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The names that a role's runs inherit in addition, and those that no file can
// make them inherit.
func TestEnvNamesWhatARoleInherits(t *testing.T) {
	t.Parallel()
	load := func(env string) (*Organization, error) {
		root := t.TempDir()
		text := `version: 1
human: {id: dana}
businesses:
  acme:
    human: dana
    roles:
      dev: {definition: developer, env: ` + env + `}
      pm: {definition: pm, credentials: {vikunja: {env: VIKUNJA_TOKEN, expires: 2027-03-01}}}
`
		if err := os.WriteFile(filepath.Join(root, File), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return Load(root)
	}
	o, err := load("[GOPROXY, GOFLAGS]")
	if err != nil {
		t.Fatal(err)
	}
	if got := o.Resolve("acme")["dev"].Env; !slices.Equal(got, []string{"GOPROXY", "GOFLAGS"}) {
		t.Errorf("got %q", got)
	}
	for env, fault := range map[string]string{
		"[MOSAIC_BUS_CAP]": "cannot be inherited",
		"[VIKUNJA_TOKEN]":  "is where a credential is",
		"[not-a-name]":     "is no name of a variable",
		"[A, A]":           "stands here twice",
		"GOPROXY":          "belongs here",
	} {
		if _, err := load(env); err == nil || !strings.Contains(err.Error(), "businesses.acme.roles.dev.env") || !strings.Contains(err.Error(), fault) {
			t.Errorf("%s: %v", env, err)
		}
	}
}
