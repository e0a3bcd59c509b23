package cli

import (
	"context"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets the test binary be mosaic: for the scripts, under that name,
// and for mosaic queue commit, which starts its own executable to verify a
// snapshot. As a run of the tests that would commit again, and so on without an
// end.
func TestMain(m *testing.M) {
	program := func() {
		os.Exit(Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
	}
	if len(os.Args) > 1 && os.Args[1] == "queue" {
		program()
	}
	testscript.Main(m, map[string]func(){"mosaic": program})
}
