package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"mosaicstack.dev/mosaic/internal/broker"
	"mosaicstack.dev/mosaic/internal/launch"
	"mosaicstack.dev/mosaic/internal/proc"
)

// The scripts in testdata run this test binary as mosaic, as a person and as
// the agents would: with real hosts, sockets and runs. The story of each stands
// at its head. It is mosaic under its own name too where the program starts
// itself: for the check of the sandbox, and for mosaic queue commit, which
// verifies a snapshot in a process of its own. As a run of the tests that would
// commit again, and so on without an end.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == launch.StageCommand {
		os.Exit(launch.Stage(os.Args[2:])) // the check of the sandbox
	}
	program := func() {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		os.Exit(Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
	}
	if len(os.Args) > 1 && os.Args[1] == "queue" {
		program()
	}
	testscript.Main(m, map[string]func(){"mosaic": program})
}

func TestScripts(t *testing.T) {
	if why := broker.AgentAbove(proc.System(), os.Getpid()); why != "" {
		t.Skip("the scripts speak for a person, which is refused here: " + why)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	sandboxed := sandboxProblem(t.Context()) == ""
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", filepath.Join(env.WorkDir, "user"))
			env.Setenv("MOSAIC_HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("XDG_CACHE_HOME", cache) // for go test in the demo
			env.Setenv("LANG", "C.UTF-8")
			return os.Mkdir(filepath.Join(env.WorkDir, "user"), 0o700)
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "sandbox":
				return sandboxed, nil
			case "long":
				return !testing.Short(), nil
			}
			return false, fmt.Errorf("no condition %q", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"team":   makeTeam,
			"listed": listed,
			"oneof":  oneDocument,
			"gone":   gone,

			"deadsocket": deadSocket,
		},
	})
}

// makeTeam makes the data root and a team whose runs this machine can keep
// apart: team
func makeTeam(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(ts.Exec("mosaic", "init", "--human", "Dana", "--business", "acme"))
	if sandboxProblem(context.Background()) == "" {
		return
	}
	path := ts.MkAbs("home/organization.yaml")
	text, err := os.ReadFile(path)
	ts.Check(err)
	ts.Check(os.WriteFile(path, bytes.Replace(text, []byte("sandbox: bubblewrap"), []byte("sandbox: none"), 1), 0o600))
}

// listed compares the names below a directory: listed DIR NAME...
func listed(ts *testscript.TestScript, neg bool, args []string) {
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got, want := strings.Join(names, " "), strings.Join(args[1:], " "); got != want {
		ts.Fatalf("%s holds %q, want %q", args[0], got, want)
	}
}

// oneDocument demands that a stream holds exactly one JSON document in one
// line: oneof stdout|stderr
func oneDocument(ts *testscript.TestScript, neg bool, args []string) {
	text := ts.ReadFile(args[0])
	if !json.Valid([]byte(text)) || strings.Count(text, "\n") != 1 {
		ts.Fatalf("%s is not one JSON document in one line: %q", args[0], text)
	}
}

// gone waits until a process has ended: gone PIDFILE
func gone(ts *testscript.TestScript, neg bool, args []string) {
	pid := strings.TrimSpace(ts.ReadFile(args[0]))
	if out, err := exec.Command("timeout", "20", "sh", "-c", "while kill -0 "+pid+" 2>/dev/null; do sleep 0.05; done").CombinedOutput(); err != nil {
		ts.Fatalf("process %s is still there: %s", pid, out)
	}
}

// deadSocket makes a socket at which nobody listens.
func deadSocket(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: deadsocket FILE")
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: ts.MkAbs(args[0]), Net: "unix"})
	ts.Check(err)
	l.SetUnlinkOnClose(false)
	ts.Check(l.Close())
}
