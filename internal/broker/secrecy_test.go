package broker

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// A role's credentials are references. Whatever is asked, by whomever, neither
// the token nor where it lies is answered or stored, and neither is a
// capability.
//
// proves: BUS-BOOT-09 BUS-BOOT-10 BUS-TESTS-03
func TestNoCredentialLeavesOrIsStored(t *testing.T) {
	const token = "fixture-token-0a1b2c3d4e5f"
	file := filepath.Join(t.TempDir(), "dev.gitea")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FIXTURE_TRACKER_TOKEN", token)
	tb := newTestBroker(t, func(c *Config, _ *Options) {
		dev := c.Businesses["acme"].Roles["dev"]
		dev.Credentials = map[string]Credential{
			"gitea":   {File: file},
			"vikunja": {Env: "FIXTURE_TRACKER_TOKEN"},
		}
		c.Businesses["acme"].Roles["dev"] = dev
	})
	dev := tb.holder("dev")
	secrets := map[string]string{
		"the token":          token,
		"the token's file":   file,
		"the token's name":   "FIXTURE_TRACKER_TOKEN",
		"dev's capability":   string(dev.proof.Cap),
		"the reader's":       string(tb.reply.Readers[0].Cap),
		"the person's nonce": testNonce,
	}

	for _, s := range []session{dev, tb.holder("rev"), tb.human(), tb.reader()} {
		for _, v := range Verbs {
			if v.Name == "role.release" {
				continue // dev must stay able to ask
			}
			for _, args := range []string{"{}", v.Example} {
				result, err := tb.call(s, v.Name, json.RawMessage(args))
				reply := string(result)
				if err != nil {
					reply = err.Error()
				}
				holdsNone(t, v.Name+"'s reply", []byte(reply), secrets)
			}
		}
	}

	if err := tb.Close(); err != nil { // nobody else opens the files of a live store
		t.Fatal(err)
	}
	stored := 0
	err := filepath.WalkDir(filepath.Join(tb.root, busName), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		stored += len(text)
		holdsNone(t, entry.Name(), text, secrets)
		return err
	})
	if err != nil || stored == 0 {
		t.Fatalf("read %d bytes of the store: %v", stored, err)
	}
	if len(tb.refusals(dev.run)) == 0 {
		t.Error("dev's refused requests are not in the store: the test read nothing of interest")
	}
}

func holdsNone(t *testing.T, where string, text []byte, secrets map[string]string) {
	t.Helper()
	for what, secret := range secrets {
		if bytes.Contains(text, []byte(secret)) {
			t.Errorf("%s holds %s", where, what)
		}
	}
}
