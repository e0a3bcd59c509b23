package cli

import (
	"context"
	"os"
	"testing"
)

// mosaic queue commit starts its own executable to verify a snapshot. In a test
// that is the test binary, which must then be the program: as a run of the
// tests it would commit again, and so on without an end.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "queue" {
		os.Exit(Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
	}
	os.Exit(m.Run())
}
