package wire

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// children are what this test program does in place of testing when childEnv
// names one: what changes a whole process (its umask, its limits, its user)
// cannot be tried beside other tests.
var children = map[string]func(argument string) error{
	"listen":   childListen,
	"shortage": childShortage,
	"connect":  childConnect,
}

const childEnv = "MOSAIC_WIRE_TEST_CHILD"

func TestMain(m *testing.M) {
	name, argument, _ := strings.Cut(os.Getenv(childEnv), " ")
	if name == "" {
		goleak.VerifyTestMain(m)
		return
	}
	if err := children[name](argument); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child prepares a run of this program as one of children.
func child(t testing.TB, name, argument string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childEnv+"="+name+" "+argument)
	return cmd
}

func runChild(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("%v: %s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	return string(out)
}
