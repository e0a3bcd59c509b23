package broker

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// Every broker of every test has stopped when the tests are over, and has left
// no goroutine behind.
func TestMain(m *testing.M) {
	if os.Getenv(controlChild) != "" {
		os.Exit(runChild())
	}
	if job := os.Getenv(childCrowd); job != "" {
		os.Exit(runCrowd(job))
	}
	goleak.VerifyTestMain(checkedRun{m})
}
