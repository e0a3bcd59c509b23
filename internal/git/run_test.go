package git

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fakeGit puts a script in the place of git. Not parallel: it changes PATH.
func fakeGit(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

func TestRunRefusesAFlood(t *testing.T) {
	fakeGit(t, "exec cat /dev/zero\n")
	if out, err := run(context.Background(), t.TempDir(), environment(false), "flood"); !errors.Is(err, ErrOutput) {
		t.Errorf("got %d bytes, %v", len(out), err)
	}
}

func TestRunTellsThatGitIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := run(context.Background(), t.TempDir(), environment(false), "status"); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

// A child of git that ignores the end of git is ended too.
func TestRunEndsTheWholeGroup(t *testing.T) {
	fakeGit(t, "sleep 1000 &\necho $! >\"$OLDPWD_FILE\"\nwait\n")
	pidFile := filepath.Join(t.TempDir(), "pid")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		_, err := run(ctx, t.TempDir(), environment(false, "OLDPWD_FILE="+pidFile), "hang")
		done <- err
	}()
	pid := awaitFile(t, pidFile)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if errors.Is(err, os.ErrNotExist) || strings.Contains(string(stat), ") Z ") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %s still runs: %s", pid, stat)
		}
	}
}

func awaitFile(t *testing.T, path string) string {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		if text, err := os.ReadFile(path); err == nil && strings.HasSuffix(string(text), "\n") {
			return strings.TrimSpace(string(text))
		}
		if time.Now().After(deadline) {
			t.Fatal("the child never started")
		}
	}
}

func TestEnvironmentIsBuiltHere(t *testing.T) {
	for _, name := range []string{"GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS", "LD_PRELOAD", "MOSAIC_BUS_CAP"} {
		t.Setenv(name, "inherited")
	}
	for _, personal := range []bool{true, false} {
		for _, pair := range environment(personal) {
			if strings.HasSuffix(pair, "=inherited") {
				t.Errorf("personal %v: %s reaches git", personal, pair)
			}
		}
	}
}
