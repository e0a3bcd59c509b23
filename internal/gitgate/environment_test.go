package gitgate_test

import (
	"context"
	"path/filepath"
	"testing"

	"mosaicstack.dev/mosaic/internal/git/gittest"
	"mosaicstack.dev/mosaic/internal/gitgate"
)

// A host that was started from a hook inherits variables that beat every
// argument. Not parallel: it sets the environment of the process.
func TestLandIgnoresGitVariablesOfTheHost(t *testing.T) {
	s := newStory(t, "sha1")
	decoy := gittest.New(t, "sha1")
	decoy.Commit("dana", "a.txt", "decoy\n")
	before := decoy.Git("rev-parse", "HEAD")
	for name, value := range map[string]string{
		"GIT_DIR":              filepath.Join(decoy.Dir, ".git"),
		"GIT_WORK_TREE":        decoy.Dir,
		"GIT_INDEX_FILE":       filepath.Join(decoy.Dir, ".git/index"),
		"GIT_COMMON_DIR":       filepath.Join(decoy.Dir, ".git"),
		"GIT_OBJECT_DIRECTORY": filepath.Join(decoy.Dir, ".git/objects"),
		"GIT_NAMESPACE":        "elsewhere",
		"GIT_CONFIG_COUNT":     "1",
		"GIT_CONFIG_KEY_0":     "core.bare",
		"GIT_CONFIG_VALUE_0":   "true",
		"GIT_CONFIG":           "/dev/null",
		"GIT_TRACE":            "1",
		"GIT_EXEC_PATH":        t.TempDir(),
	} {
		t.Setenv(name, value)
	}
	if err := gitgate.Apply(context.Background(), s.plan()); err != nil {
		t.Fatal(err)
	}
	s.landed()
	if decoy.Git("rev-parse", "HEAD") != before || decoy.Read("a.txt") != "decoy\n" {
		t.Error("the landing went to the repository of the environment")
	}
}
