package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mosaicstack.dev/mosaic/internal/host"
	"mosaicstack.dev/mosaic/internal/launch"
	"mosaicstack.dev/mosaic/internal/org"
	"mosaicstack.dev/mosaic/internal/wire"
)

// A new organization switches on the harnesses that this version has, and what
// it shows as an example is accepted when it is written without the #.
func TestANewOrganizationPromisesWhatThereIs(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := org.Init(root, "Dana", "acme"); err != nil {
		t.Fatal(err)
	}
	o, err := org.Load(root)
	if err != nil || !slices.Equal(o.Plugins.Harness, launch.Builtin().Names()) {
		t.Errorf("switched on: %v, %v", o.Plugins.Harness, err)
	}
	if c := checkHarnesses(root); c.State != checkOK {
		t.Errorf("doctor: %+v", c)
	}
	path := filepath.Join(root, org.File)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile(`(?m)^    #   dev:\n(    #     .*\n)+`).FindString(string(text))
	changed := strings.Replace(string(text), "      dev: {definition: developer}\n", strings.ReplaceAll(example, "    #   ", "      "), 1)
	changed = strings.Replace(changed, "harness: [exec]", "harness: [exec, codex]", 1)
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err = org.Load(root)
	if err != nil {
		t.Fatalf("the example does not load: %v", err)
	}
	if dev := o.Businesses["acme"].Roles["dev"]; len(dev.Command) != 2 || len(dev.Env) != 1 {
		t.Errorf("the example gives %+v", dev)
	}
	if c := checkHarnesses(root); c.State != checkWarning || !strings.Contains(c.Fix, "codex") {
		t.Errorf("doctor: %+v", c)
	}
}

// A sandbox that the file gives up while the host runs is told as that, not as
// a fault of the machine.
func TestALoweredSandboxIsTold(t *testing.T) {
	t.Parallel()
	for status, want := range map[host.SandboxStatus]string{
		{Kind: "bubblewrap", Code: wire.SandboxLowered}:     "mosaic explain sandbox-lowered",
		{Kind: "bubblewrap", Code: wire.SandboxUnavailable}: "mosaic doctor",
	} {
		if got := sandboxWords(status); !strings.HasSuffix(got, want) {
			t.Errorf("%+v: %s", status, got)
		}
	}
}
