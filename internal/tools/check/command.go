package main

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"time"
)

// command prepares a program in the repository. What a shell inside a managed
// run or a git hook would add to the environment is left out, so that the
// tests see the same world everywhere. Everything is compiled with -trimpath,
// as the program that is shipped, and so only once.
func (r *runner) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = r.dir
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "MOSAIC_") && !strings.HasPrefix(v, "GIT_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -trimpath"))
	if r.long {
		cmd.Env = append(cmd.Env, "MOSAIC_TEST_LONG=1")
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// expect runs a program that must succeed.
func (r *runner) expect(ctx context.Context, step, name string, args ...string) {
	out, err := r.command(ctx, name, args...).CombinedOutput()
	if err != nil {
		r.fail(step, string(out)+err.Error()+"\n")
		return
	}
	r.pass(step)
}
