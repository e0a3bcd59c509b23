package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

func checkFormat(ctx context.Context, r *runner) {
	out, err := r.command(ctx, "gofmt", "-l", ".").CombinedOutput()
	switch {
	case err != nil:
		r.fail("format", string(out)+err.Error()+"\n")
	case len(out) > 0:
		r.fail("format", "not as gofmt writes it:\n"+string(out))
	default:
		r.pass("format")
	}
}

func checkModules(ctx context.Context, r *runner) {
	r.expect(ctx, "modules tidy", "go", "mod", "tidy", "-diff")
	r.expect(ctx, "modules verify", "go", "mod", "verify")
}

func checkVet(ctx context.Context, r *runner) {
	r.expect(ctx, "vet", "go", "vet", "./...")
}

func checkStatic(ctx context.Context, r *runner) {
	r.expect(ctx, "staticcheck", "go", "tool", "-modfile=tools/lint.mod", "staticcheck", "./...")
}

// checkVulnerabilities needs the public database. Where it cannot be reached
// the step is skipped; any other failure, and any finding, fails.
func checkVulnerabilities(ctx context.Context, r *runner) {
	limited, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	out, err := r.command(limited, "go", "tool", "-modfile=tools/lint.mod", "govulncheck", "./...").CombinedOutput()
	switch {
	case err == nil:
		r.pass("vulnerabilities")
	case limited.Err() != nil && ctx.Err() == nil:
		r.skip("vulnerabilities", "the vulnerability database did not answer")
	case databaseUnreachable(string(out), err):
		r.skip("vulnerabilities", "the vulnerability database cannot be reached")
	default:
		r.fail("vulnerabilities", string(out)+err.Error()+"\n")
	}
}

// databaseUnreachable tells a failed download from a finding (exit code 3) and
// from code that does not load.
func databaseUnreachable(out string, err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.ExitCode() == 1 && strings.Contains(out, "fetching vulnerabilities")
}

func checkRequirements(ctx context.Context, r *runner) {
	out, err := r.command(ctx, "go", "run", "./internal/tools/coverage").CombinedOutput()
	if err != nil {
		r.fail("requirements", string(out)+err.Error()+"\n")
		return
	}
	r.print(string(out))
	r.pass("requirements")
}

// checkDemo runs the demo as the README tells a newcomer to, without questions.
func checkDemo(ctx context.Context, r *runner) {
	dir, err := os.MkdirTemp("", "mosaic-check-")
	if err != nil {
		r.fail("demo", err.Error()+"\n")
		return
	}
	defer os.RemoveAll(dir)
	binary := dir + "/mosaic"
	if out, err := r.command(ctx, "go", "build", "-o", binary, "./cmd/mosaic").CombinedOutput(); err != nil {
		r.fail("demo", string(out)+err.Error()+"\n")
		return
	}
	out, err := r.command(ctx, binary, "demo", "--yes").CombinedOutput()
	switch {
	case err == nil:
		r.pass("demo")
	case startedByAgent(os.Environ()) && strings.Contains(string(out), "human-required"):
		r.skip("demo", "an agent runs these checks, and the demo needs the person's approval")
	default:
		r.fail("demo", string(out)+err.Error()+"\n")
	}
}

// startedByAgent reports whether the environment has the marks that agents set
// for their tools.
func startedByAgent(environ []string) bool {
	return slices.ContainsFunc(environ, func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains([]string{"MOSAIC_RUN_ID", "CLAUDECODE", "CODEX_SANDBOX", "CODEX_THREAD_ID"}, name)
	})
}
