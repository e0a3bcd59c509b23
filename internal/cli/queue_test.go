package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// The scripts in testdata/queue say at their head what they prove.
func TestQueueScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, "testdata/queue")
}

func runScripts(t *testing.T, dir string) {
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			root, err := filepath.EvalSymlinks(e.WorkDir)
			if err != nil {
				return err
			}
			for name, value := range map[string]string{
				"ROOT": filepath.Join(root, "web"), "HOME": filepath.Join(root, "home"),
				"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.DevNull,
				"GIT_AUTHOR_NAME": "pm", "GIT_AUTHOR_EMAIL": "pm@example.org",
				"GIT_COMMITTER_NAME": "pm", "GIT_COMMITTER_EMAIL": "pm@example.org",
			} {
				e.Setenv(name, value)
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"begin": begin, "refused": refusedCommand,
		},
	})
}

// begin makes the repository of a script: `begin` with the queue's genesis
// committed, `begin map` with the map alone.
func begin(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 {
		ts.Fatalf("usage: begin [map]")
	}
	root := ts.Getenv("ROOT")
	for path, text := range map[string]string{
		"docs/plans/QUEUE.md":     "# Queue\n\n<!-- mosaic-queue:begin -->\n| ID | Piece |\n|---|---|\n| 1 | Log in |\n| 2 | Import |\n<!-- mosaic-queue:end -->\n",
		"docs/plans/queue-map.md": scriptMap,
		"docs/briefs/login.md":    "# Log in\n\n## Twice\n\n## Twice\n",
	} {
		path = filepath.Join(root, path)
		ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
		ts.Check(os.WriteFile(path, []byte(text), 0o644))
	}
	ts.Check(ts.Chdir(root))
	ts.Check(ts.Exec("git", "init", "-q", "-b", "main"))
	ts.Check(allowFilesystem(ts, root))
	ts.Check(ts.Exec("git", "add", "."))
	ts.Check(ts.Exec("git", "commit", "-q", "-m", "map"))
	if len(args) == 1 {
		return
	}
	ts.Check(ts.Exec("mosaic", "queue", "install-hook", "--by", "pm"))
	ts.Check(ts.Exec("mosaic", "queue", "genesis", "--op", "pm-genesis", "--by", "pm", "--root", root, "--branch", "main",
		"--map", "docs/plans/queue-map.md", "--human", "dana", "--lead", "pm", "--seats", "dev,pm,rev"))
	ts.Check(ts.Exec("mosaic", "queue", "commit", "--genesis", "-m", "queue: begin", "--by", "pm"))
}

const scriptMap = "# Map\n\n```json\n" + `{"rows": [
 {"id": 1, "legacy": "| 1 | Log in |", "piece": "Log in", "owner": "dev", "state": "briefed", "issues": [12], "brief": "docs/briefs/login.md"},
 {"id": 2, "legacy": "| 2 | Import |", "piece": "Import", "owner": "dev", "state": "waiting-on-dana", "brief": "docs/briefs/login.md"}
]}` + "\n```\n"

// allowFilesystem lets the queue work where the tests' directory is on a file
// system that it would refuse, as in a container.
func allowFilesystem(ts *testscript.TestScript, root string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(root, &st); err != nil {
		return err
	}
	return ts.Exec("git", "config", "mosaic.queue.allowFilesystem", fmt.Sprintf("%#x", uint32(st.Type)))
}

// passed are the variables that a refused command gets from its script.
var passed = []string{
	"PATH", "HOME", "MOSAIC_AGENT_NAME", "MOSAIC_BUS_CAP", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_GLOBAL", "GIT_DIR", "GIT_INDEX_FILE",
}

// refusedCommand demands of mosaic an exit code, one line on stderr with a
// code, and nothing on stdout: refused 2 CODE queue add ... Its stderr is
// matched by the words after a final --.
func refusedCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: refused EXIT CODE argument... [-- phrase...]")
	}
	command, phrases := args[2:], []string(nil)
	if i := slices.Index(command, "--"); i >= 0 {
		command, phrases = command[:i], command[i+1:]
	}
	cmd := exec.Command("mosaic", command...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = []string{}
	for _, name := range passed {
		if value := ts.Getenv(name); value != "" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		ts.Fatalf("mosaic %s: %v", strings.Join(command, " "), err)
	}
	if got := strconv.Itoa(cmd.ProcessState.ExitCode()); got != args[0] || stdout.Len() > 0 || strings.Count(stderr.String(), "\n") != 1 ||
		!strings.HasPrefix(stderr.String(), "mosaic: "+args[1]+": ") {
		ts.Fatalf("mosaic %s: exit %s, stdout %q, stderr %q", strings.Join(command, " "), got, stdout.String(), stderr.String())
	}
	for _, phrase := range phrases {
		if !strings.Contains(stderr.String(), phrase) {
			ts.Fatalf("mosaic %s: %q does not say %q", strings.Join(command, " "), stderr.String(), phrase)
		}
	}
}
