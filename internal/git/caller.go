package git

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
)

// callerSettings are the settings of children that act in the caller's own git
// environment. The rest of the caller's configuration counts: the aim is to see
// what a plain git command would do.
var callerSettings = []string{
	"-c", "core.pager=cat",
	"-c", "core.fsmonitor=false",
	"-c", "gc.auto=0",
	"-c", "maintenance.auto=false",
}

// callerEnvironment is this process's environment without what would make git
// work on another repository, index or object store, or read another history.
// Configuration and identity given by the environment stay.
func callerEnvironment(extra ...string) []string {
	env := []string{}
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "GIT_") && !callersOwn(name) || name == "LC_ALL" || name == "LANGUAGE" {
			continue
		}
		env = append(env, entry)
	}
	return append(env, append(extra, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=/bin/false", "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0")...)
}

func callersOwn(name string) bool {
	for _, prefix := range []string{"GIT_CONFIG_", "GIT_AUTHOR_", "GIT_COMMITTER_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// asCaller runs a command in the caller's own git environment. It returns both
// outputs also when the command fails.
func (r *Repository) asCaller(ctx context.Context, input []byte, extra []string, args ...string) (stdout, stderr []byte, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, ErrTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", append(append([]string{}, callerSettings...), args...)...)
	bind(cmd, r.dir, callerEnvironment(append(extra, r.ceiling())...))
	out, warn := &bounded{limit: maxOutput, stop: cancel}, &bounded{limit: maxOutput, stop: cancel}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), out, warn
	if err := cmd.Run(); err != nil || out.over || warn.over {
		return out.text.Bytes(), warn.text.Bytes(), failed(ctx, args[0], err, out.over || warn.over)
	}
	return out.text.Bytes(), warn.text.Bytes(), nil
}

// HooksPath returns every value of core.hooksPath that the caller's git sees,
// each with the scope that sets it, such as "global"; none means that git runs
// the hooks of the repository's own directory.
func (r *Repository) HooksPath(ctx context.Context) (scopes []string, err error) {
	out, _, err := r.asCaller(ctx, nil, nil, "config", "--show-scope", "-z", "--get-all", "core.hooksPath")
	if exitCode(err) == 1 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	fields := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		scopes = append(scopes, fields[i])
	}
	if len(scopes) == 0 {
		return nil, ErrAnswer
	}
	return scopes, nil
}

// RunHook lets the caller's git run the hook that it would run for a commit,
// with another index. It returns the hook's exit code (1 too when git finds no
// hook that it would run) and what was written on stderr.
func (r *Repository) RunHook(ctx context.Context, name string, index *Index) (exit int, stderr string, err error) {
	_, warn, err := r.asCaller(ctx, nil, []string{index.env()}, "hook", "run", name)
	var e *Error
	if errors.As(err, &e) && e.Cause == nil {
		return e.Exit, string(warn), nil
	}
	return 0, string(warn), err
}

// CommitTree writes a commit of a tree with one parent, with the caller's own
// identity. No hook runs and no branch moves.
func (r *Repository) CommitTree(ctx context.Context, tree, parent ObjectID, message string) (ObjectID, error) {
	out, _, err := r.asCaller(ctx, []byte(message), nil, "-c", "i18n.commitEncoding=UTF-8", "commit-tree", string(tree), "-p", string(parent), "-F", "-")
	if err != nil {
		return "", err
	}
	return answerID(out)
}
