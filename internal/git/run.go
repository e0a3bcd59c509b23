package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Limits of one child.
const (
	timeout   = 30 * time.Second
	maxOutput = 4 << 20
	// maxBlob and maxListing bound one file's content and the list of all files.
	maxBlob    = 512 << 20
	maxListing = 256 << 20
	// killDelay is how long a child's own children may keep its output open.
	killDelay = 2 * time.Second
)

// Why a child gave no answer. They are compared with errors.Is.
var (
	ErrOutput  = errors.New("git: more output than allowed")
	ErrTimeout = errors.New("git: took too long")
	ErrAnswer  = errors.New("git: an answer of unexpected form")
)

// Error is a git command that did not succeed.
type Error struct {
	Command string // the subcommand, such as rev-list
	Exit    int    // its exit code; -1 when it was killed or could not start
	Cause   error  // ErrOutput, ErrTimeout, an error of starting it, or nil
}

// Error names the command and the exit code; it has no word of git's output.
func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("git %s: exit %d: %v", e.Command, e.Exit, e.Cause)
	}
	return fmt.Sprintf("git %s: exit %d", e.Command, e.Exit)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// exitCode returns the code with which a command ended by itself, or -1.
func exitCode(err error) int {
	var e *Error
	if errors.As(err, &e) && e.Cause == nil {
		return e.Exit
	}
	return -1
}

// always are the settings of every child. They are given on the command line,
// which wins over every configuration file.
var always = []string{
	"--no-replace-objects",
	"--literal-pathspecs",
	"-c", "core.hooksPath=/dev/null",
	"-c", "core.fsmonitor=false",
	"-c", "core.commitGraph=false",
	"-c", "core.pager=cat",
	"-c", "protocol.allow=never",
	"-c", "gc.auto=0",
	"-c", "maintenance.auto=false",
	"-c", "advice.detachedHead=false",
}

// environment is the whole environment of a child. Reads see no configuration
// but the repository's. Writes to a work tree see the person's too, because
// that is where their filters are (such as git-lfs): without them the files
// would be written differently from what the person's own git expects.
func environment(personal bool, extra ...string) []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"),
		"LC_ALL=C",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_ASKPASS=/bin/false",
		"GIT_NO_REPLACE_OBJECTS=1",
		"GIT_NO_LAZY_FETCH=1",
		"GIT_GRAFT_FILE=/dev/null",
		"GIT_ALLOW_PROTOCOL=none",
		"GIT_OPTIONAL_LOCKS=0",
		// For reflogs; nothing here makes a commit.
		"GIT_COMMITTER_NAME=mosaic",
		"GIT_COMMITTER_EMAIL=mosaic@localhost",
	}
	if !personal {
		return append(env, append(extra, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1")...)
	}
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return append(env, extra...)
}

// Refused reports whether err is git's own refusal: it ran to its end and
// exited with a code other than 0.
func Refused(err error) bool { return exitCode(err) > 0 }

// child prepares one git command with the settings of every child.
func child(ctx context.Context, dir string, env []string, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", append(append([]string{}, always...), args...)...)
	bind(cmd, dir, env)
	return cmd
}

// bind places a command. It runs in a process group of its own, which is killed
// as a whole when the command's context ends.
func bind(cmd *exec.Cmd, dir string, env []string) {
	cmd.Dir = dir
	cmd.Env = env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = killDelay
}

// run runs a command to its end and returns its output.
func run(ctx context.Context, dir string, env []string, args ...string) ([]byte, error) {
	return runInput(ctx, dir, env, nil, maxOutput, args...)
}

// runInput is run for a command that reads input, with a bound of its own for
// the output.
func runInput(ctx context.Context, dir string, env []string, input []byte, limit int, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, ErrTimeout)
	defer cancel()
	cmd := child(ctx, dir, env, args)
	out := &bounded{limit: limit, stop: cancel}
	if input != nil {
		cmd.Stdin = bytes.NewReader(input)
	}
	cmd.Stdout = out
	err := cmd.Run()
	if err == nil && !out.over {
		return out.text.Bytes(), nil
	}
	return nil, failed(ctx, args[0], err, out.over)
}

// failed says why a command did not succeed.
func failed(ctx context.Context, command string, err error, over bool) error {
	e := &Error{Command: command, Exit: -1}
	var exit *exec.ExitError
	switch {
	case over:
		e.Cause = ErrOutput
	case ctx.Err() != nil:
		e.Cause = context.Cause(ctx)
	case errors.As(err, &exit):
		if e.Exit = exit.ExitCode(); e.Exit < 0 {
			e.Cause = ErrAnswer // killed by someone else's signal
		}
	case errors.Is(err, exec.ErrNotFound):
		e.Cause = exec.ErrNotFound
	default:
		e.Cause = errors.New("git: cannot be started")
	}
	return e
}

// bounded keeps output up to its limit and then stops the child.
type bounded struct {
	text  bytes.Buffer
	limit int
	over  bool
	stop  func()
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.over || b.text.Len()+len(p) > b.limit {
		b.over = true
		b.stop()
		return len(p), nil
	}
	return b.text.Write(p)
}
