package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"mosaicstack.dev/mosaic/internal/wire"
)

// Business, Task and roles of the demo's organization.
const (
	Business = "demo"
	Task     = "queue:1"
)

var roles = []string{"rev", "dev"} // in the order in which they are launched

// Options are what a demo needs of the one who shows it.
type Options struct {
	// Executable is the mosaic program, Argv0 the name to start it under.
	Executable, Argv0 string
	// Environ is the environment of the programs that the demo starts.
	Environ []string
	// Stdin, Stdout and Stderr are the person's, for the one question.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Yes answers the question without asking.
	Yes bool
	// Keep leaves the directory in place.
	Keep bool
	// Team holds <role>.sh for each role.
	Team fs.FS
	// Sandbox is the launch.sandbox of the demo's organization: bubblewrap or none.
	Sandbox string
	// Tell is told each step, in one line without its end.
	Tell func(line string)
	// Show gets what the demo is for, as whole lines: the decision, the trail.
	Show func(lines string)
}

// Report is what happened.
type Report struct {
	Directory string          `json:"directory,omitempty"` // when it was kept
	Decision  wire.DecisionID `json:"decision"`            // "" when nothing was asked
	Approved  bool            `json:"approved"`
	Landed    bool            `json:"landed"`   // main moved
	Reuse     wire.Code       `json:"reuse"`    // what another commit with the same approval was refused with
	Verified  bool            `json:"verified"` // the evidence is one unbroken chain
	Seconds   float64         `json:"seconds"`
}

// demo is one demo on its way.
type demo struct {
	Options
	dir    string
	before string // what main pointed at at the start
	runs   map[string]run
	report Report
}

// run is a role's run: its id and where its output is.
type run struct{ id, log string }

// Run shows the demo and cleans up after it. The error says which step failed.
func Run(ctx context.Context, o Options) (Report, error) {
	start := time.Now()
	d := &demo{Options: o, runs: map[string]run{}}
	dir, err := os.MkdirTemp("", "mosaic-demo-")
	if err != nil {
		return d.report, err
	}
	if d.dir, err = filepath.EvalSymlinks(dir); err != nil {
		return d.report, err
	}
	defer func() {
		if o.Keep {
			o.Tell("kept: " + d.dir)
		} else {
			os.RemoveAll(dir)
		}
	}()
	err = d.play(ctx)
	if o.Keep {
		d.report.Directory = d.dir
	}
	d.report.Seconds = time.Since(start).Seconds()
	return d.report, err
}

// step is one step of the demo, as it is told and as it is done.
type step struct {
	told string
	do   func(context.Context) error
}

// play does the steps in order, and stops the host after the first that fails.
func (d *demo) play(ctx context.Context) error {
	if err := d.do(ctx, []step{
		{"making a data root, a project with a failing test, and a clone for each role", d.prepare},
	}); err != nil {
		return err
	}
	d.Tell("starting the host")
	host, err := d.startHost(ctx)
	if err != nil {
		return d.failed("starting the host", err)
	}
	err = d.do(ctx, []step{
		{"giving dev its assignment", d.assign},
		{"launching rev and dev in their clones", d.launch},
		{"watching them work", d.watch},
		{"looking at what main points at now", d.inspect},
		{"reading the trail of " + Task, d.trail},
	})
	if stopErr := host.stop(); err == nil && stopErr != nil {
		err = d.failed("stopping the host", stopErr)
	}
	if err != nil {
		return err
	}
	return d.do(ctx, []step{{"verifying the evidence", d.verify}})
}

func (d *demo) do(ctx context.Context, steps []step) error {
	for _, s := range steps {
		d.Tell(s.told)
		err := s.do(ctx)
		if ctx.Err() != nil {
			return ctx.Err() // the person stopped it: nothing went wrong
		}
		if err != nil {
			return d.failed(s.told, err)
		}
	}
	return nil
}

// failed explains a failed step, with the end of the host's log where there is
// one. Refusals keep their code.
func (d *demo) failed(step string, err error) error {
	if log, readErr := os.ReadFile(d.hostLog()); readErr == nil && len(log) > 0 {
		d.Tell("the host said last:")
		for _, line := range tail(string(log), 5) {
			d.Tell("  " + line)
		}
	}
	if !d.Keep {
		d.Tell("to look at the files, run it again with --keep")
	}
	return fmt.Errorf("%s: %w", step, err)
}

func (d *demo) root() string    { return filepath.Join(d.dir, "home") }
func (d *demo) hostLog() string { return filepath.Join(d.dir, "host.log") }

// variable returns a variable of the environment.
func (d *demo) variable(name string) string {
	for _, entry := range d.Environ {
		if n, value, _ := strings.Cut(entry, "="); n == name {
			return value
		}
	}
	return ""
}

// environ is the environment of the demo's programs: the caller's, with a PATH
// on which mosaic is this program.
func (d *demo) environ() []string {
	env := make([]string, 0, len(d.Environ)+1)
	for _, entry := range d.Environ {
		if name, _, _ := strings.Cut(entry, "="); name != "PATH" && !strings.HasPrefix(name, "MOSAIC_") {
			env = append(env, entry)
		}
	}
	return append(env, "PATH="+filepath.Join(d.dir, "bin")+":"+d.variable("PATH"))
}

// command is a mosaic command on the demo's data root.
func (d *demo) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, d.Executable)
	cmd.Args = append([]string{d.Argv0, "--data-root", d.root()}, args...)
	cmd.Env = d.environ()
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// mosaic runs a command to its end and decodes its JSON answer into result,
// unless that is nil. The error is what the command printed.
func (d *demo) mosaic(ctx context.Context, result any, args ...string) error {
	cmd := d.command(ctx, append([]string{"--json"}, args...)...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return commandError(args[0], stderr.String(), err)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal([]byte(stdout.String()), result)
}

// printed runs a command to its end and returns what it prints for people.
func (d *demo) printed(ctx context.Context, args ...string) (string, error) {
	cmd := d.command(ctx, args...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", commandError(args[0], stderr.String(), err)
	}
	return stdout.String(), nil
}

// commandError turns what a failed command printed into an error: the refusal
// that it reports, or its last line.
func commandError(name, stderr string, err error) error {
	var refusal struct {
		Error wire.Code `json:"error"`
		Field string    `json:"field"`
	}
	line := lastLine(stderr, err)
	if json.Unmarshal([]byte(line), &refusal) == nil && refusal.Error != "" {
		return fmt.Errorf("mosaic %s: %w", name, wire.RefuseField(refusal.Error, refusal.Field))
	}
	return fmt.Errorf("mosaic %s: %s", name, line)
}

func lastLine(text string, err error) string {
	lines := tail(text, 1)
	if len(lines) == 0 {
		return err.Error()
	}
	return lines[0]
}

// tail returns the last n lines of text that are not empty.
func tail(text string, n int) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\n"); strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	return lines[max(0, len(lines)-n):]
}

// errEnded says that a run ended before the work was done.
var errEnded = errors.New("the run ended before the work was done")
