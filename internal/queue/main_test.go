package queue

import (
	"os"
	"testing"
)

// children are what the test binary can be instead of a run of the tests: a
// process that a test starts, and that is killed in the middle of its work.
var children = map[string]func(){
	"verb":    verbChild,
	"request": requestChild,
}

// childEnv names the child that this process is to be.
const childEnv = "QUEUE_TEST_CHILD"

func TestMain(m *testing.M) {
	if be, ok := children[os.Getenv(childEnv)]; ok {
		be()
		os.Exit(0)
	}
	dir, err := os.MkdirTemp("", "queue-test-")
	if err != nil {
		panic(err)
	}
	templates = dir
	// The guard is checked in the caller's own git environment; here that is
	// nobody's.
	os.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	os.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}
