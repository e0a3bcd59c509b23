package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mosaicstack.dev/mosaic/internal/launch"
	"mosaicstack.dev/mosaic/internal/wire"
)

// Somebody moves the directory in which the data root lies, and puts another
// with an organization of their own in its place: nothing is launched, and
// nothing that it says is believed.
func TestAPlantedRoot(t *testing.T) {
	t.Parallel()
	share := filepath.Join(t.TempDir(), "share")
	path := filepath.Join(share, "m")
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	h := prepareHost(t, path, launch.None)
	h.start()
	dev := h.agent("dev")
	before := *h.status.Sockets
	if err := os.Rename(share, share+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(path, "host", "runs"), 0o700); err != nil {
		t.Fatal(err)
	}
	planted := strings.NewReplacer("SANDBOX", "none", "{web: {repo: PROJECT}}", "{evil: {repo: PROJECT}}").Replace(organization)
	h.organize(planted)
	moved := before
	moved.Host = strings.Replace(before.Host, share, share+".old", 1)
	moved.HostHuman = strings.Replace(before.HostHuman, share, share+".old", 1)
	h.status.Sockets = &moved

	rev := LaunchArgs{Instance: "rev", Command: []string{"sleep", "1000"}, Dir: h.project}
	h.refused("launch", rev, wire.Refuse(wire.DataRootUnsafe))
	land := LandArgs{Project: "evil", Commit: strings.Repeat("0", 40)}
	dev.refused("land", land, wire.RefuseField(wire.ProjectNotFound, "project"))

	if err := os.RemoveAll(share); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(share+".old", share); err != nil {
		t.Fatal(err)
	}
	h.status.Sockets = &before
	do[Launched](h, "launch", rev)
	runs := filepath.Join(path, "host", "runs")
	if err := os.Rename(runs, runs+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(runs+".old", runs); err != nil {
		t.Fatal(err)
	}
	rev.Instance = "pm"
	h.refused("launch", rev, wire.Refuse(wire.DataRootUnsafe))
}

// Whoever can write the organization file cannot switch a business's sandbox
// off while the host runs: that takes another start.
func TestTheSandboxIsNotLowered(t *testing.T) {
	t.Parallel()
	with := func(sandbox string) string { return strings.ReplaceAll(organization, "SANDBOX", sandbox) }
	for _, first := range []launch.Kind{launch.Bubblewrap, launch.None} {
		t.Run(string(first), func(t *testing.T) {
			t.Parallel()
			h := newTestHost(t, first)
			if first == launch.None { // raised while it runs, it stays raised
				h.organize(with("bubblewrap"))
				if err := h.call("launch", LaunchArgs{Instance: "pm", Command: []string{"true"}, Dir: h.project}, nil); err != nil {
					t.Skipf("no sandbox here: %v", err)
				}
			}
			rev := LaunchArgs{Instance: "rev", Command: []string{"true"}, Dir: h.project}
			without, _, _ := strings.Cut(organization, "    launch:")
			_, globex, _ := strings.Cut(organization, "  globex:")
			for _, text := range []string{with("none"), without + "    launch: {by: chief, instances: [], sandbox: none}\n  globex:" + globex} {
				h.organize(text)
				h.refused("launch", rev, wire.Refuse(wire.SandboxLowered))
			}
			if s := do[Status](h, "status", none{}).Businesses[0].Sandbox; s != (SandboxStatus{Kind: "bubblewrap", Code: wire.SandboxLowered}) {
				t.Errorf("status shows %+v", s)
			}
			h.organize(with("bubblewrap"))
			if info := h.wait(do[Launched](h, "launch", rev).Run); info.Sandbox != "bubblewrap" {
				t.Errorf("it ran in %s", info.Sandbox)
			}
			h.organize(with("none"))
			h.stop()
			h.start()
			if info := h.wait(do[Launched](h, "launch", rev).Run); info.Sandbox != "none" {
				t.Errorf("after another start it ran in %s", info.Sandbox)
			}
		})
	}
}
