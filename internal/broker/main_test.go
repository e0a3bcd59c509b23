package broker

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// childRoot makes the test binary a broker on this data root: see kill_test.go.
const childRoot = "MOSAIC_TEST_BROKER_ROOT"

// Every broker of every test has stopped when the tests are over, and has left
// no goroutine behind.
func TestMain(m *testing.M) {
	if root := os.Getenv(childRoot); root != "" {
		os.Exit(runChild(root))
	}
	goleak.VerifyTestMain(m)
}
