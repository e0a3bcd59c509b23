package cli

import (
	"os"
	"path/filepath"
	"testing"

	"mosaicstack.dev/mosaic/internal/broker"
	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/org"
)

// init is killed at each of its steps. Whatever it left, the next init makes a
// whole data root of it and leaves nothing else.
func TestInitCompletesAnInterruptedOne(t *testing.T) {
	t.Parallel()
	type root struct{ path, store string }
	steps := []func(r root) error{ // in the order of makeRoot; a kill comes after any of them
		func(r root) error { return os.Mkdir(r.path, 0o700) },
		func(r root) error {
			return os.WriteFile(filepath.Join(r.path, "."+org.File+".1"), []byte("half"), 0o600)
		},
		func(r root) error { return os.Mkdir(broker.BusDirectory(r.path), 0o700) },
		func(r root) error { return os.WriteFile(r.store+".new-1", []byte("half"), 0o600) },
		func(r root) error { return os.WriteFile(r.store+".new-1-wal", nil, 0o600) },
		func(r root) error { return evidence.Create(t.Context(), r.store) },
		func(r root) error {
			return os.WriteFile(filepath.Join(broker.BusDirectory(r.path), "checkpoint.key"), nil, 0o600)
		},
		func(r root) error {
			os.Remove(filepath.Join(broker.BusDirectory(r.path), "checkpoint.key"))
			return evidence.CreateCheckpointKey(t.Context(), r.store)
		},
	}
	whole := ""
	for killed := 0; killed <= len(steps); killed++ {
		path := filepath.Join(t.TempDir(), "home")
		r := root{path, broker.StorePath(path)}
		for _, step := range steps[:killed] {
			if err := step(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := makeRoot(t.Context(), path, "Dana", "acme"); err != nil {
			t.Errorf("killed after %d steps: %v", killed, err)
			continue
		}
		if _, err := org.Load(path); err != nil {
			t.Errorf("killed after %d steps: %v", killed, err)
		}
		if report, err := evidence.Verify(t.Context(), r.store); err != nil {
			t.Errorf("killed after %d steps: %v, %v", killed, report, err)
		}
		files := ""
		filepath.WalkDir(path, func(name string, _ os.DirEntry, _ error) error {
			rel, _ := filepath.Rel(path, name)
			files += rel + "\n"
			return nil
		})
		if killed == 0 {
			whole = files
		}
		if files != whole {
			t.Errorf("killed after %d steps, there is:\n%snot\n%s", killed, files, whole)
		}
		if err := makeRoot(t.Context(), path, "Eve", "other"); err == nil {
			t.Error("a finished data root was made again")
		}
	}
}
