package cli

import (
	"io"
	"io/fs"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"mosaicstack.dev/mosaic/examples/team"
	"mosaicstack.dev/mosaic/internal/cli/demo"
	"mosaicstack.dev/mosaic/internal/wire"
)

func (a *app) demoCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch a throw-away team do a real piece of work in a scratch repository",
		Long: `Starts a host on a throw-away data root, and two agents in a scratch repository
with a failing test: dev fixes it, rev checks the fix by running the tests, and
the merge waits for your answer. At the end you read the trail of it all, and
the record is verified.

It takes less than a minute, needs Go and Git, and removes what it made. The
agents are the scripts of examples/team; --team DIR uses your own.`,
		Example: `mosaic demo
mosaic demo --yes --keep
mosaic demo --team ./my-team`,
		Args: arguments(),
	}
	flags := cmd.Flags()
	yes := flags.Bool("yes", false, "answer yes without asking")
	keep := flags.Bool("keep", false, "leave the demo's directory in place")
	dir := flags.String("team", "", "directory with your own dev.sh and rev.sh")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !*yes && !a.interactive() {
			return usage("the demo asks you to approve a merge, and there is no terminal to ask on: mosaic demo --yes")
		}
		for _, program := range []string{"git", "go"} {
			if _, err := exec.LookPath(program); err != nil {
				return explained(wire.Refuse(wire.Failed), "the demo needs %s, which is not on the PATH", program)
			}
		}
		if err := a.requirePerson(); err != nil {
			return err
		}
		scripts := fs.FS(team.Scripts)
		if *dir != "" {
			if info, err := os.Stat(*dir); err != nil || !info.IsDir() {
				return usage("%s is not a directory: mosaic demo --team DIR", echo(*dir))
			}
			scripts = overlay{os.DirFS(*dir), team.Scripts}
		}
		self, err := os.Executable()
		if err != nil {
			return err
		}
		sandbox := "bubblewrap"
		if problem := sandboxProblem(cmd.Context()); problem != "" {
			sandbox = "none"
			a.out.tell("the sandbox does not work here (%s), so the demo runs its agents without one", problem)
		}
		report, err := demo.Run(cmd.Context(), demo.Options{
			Executable: self, Argv0: os.Args[0], Environ: a.childEnvironment(),
			Stdin: a.stdin, Stdout: a.stdoutForPeople(), Stderr: a.out.stderr,
			Yes: *yes, Keep: *keep, Team: scripts, Sandbox: sandbox,
			Tell: func(line string) { a.out.tell("demo: %s", line) },
			Show: func(lines string) { io.WriteString(a.stdoutForPeople(), lines) },
		})
		if err != nil {
			return err
		}
		return a.out.answer(report, func(w *screen) {
			w.gap()
			took := styled(seconds(report.Seconds))
			switch {
			case report.Landed:
				w.line("Done in %s: the fix is on main, with your approval, which was for this commit alone.", took)
			case report.Approved:
				w.line("Done in %s: nothing was merged, although you approved it; dev's lines above say why.", took)
			default:
				w.line("Done in %s: nothing was merged, because it was not approved.", took)
			}
			w.line("Next: mosaic init, and the README.")
		})
	}
	return cmd
}

// stdoutForPeople is where text for people goes while a command is on its way:
// with --json stdout is left for the document.
func (a *app) stdoutForPeople() io.Writer {
	if a.out.json {
		return a.out.stderr
	}
	return a.out.stdout
}

// overlay reads a file from the first file system that has it.
type overlay []fs.FS

func (o overlay) Open(name string) (fs.File, error) {
	var err error
	for _, layer := range o {
		var f fs.File
		if f, err = layer.Open(name); err == nil {
			return f, nil
		}
	}
	return nil, err
}
