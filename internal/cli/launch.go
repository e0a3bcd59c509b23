package cli

import (
	"cmp"
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mosaicstack.dev/mosaic/client"
	"mosaicstack.dev/mosaic/internal/git"
	"mosaicstack.dev/mosaic/internal/gitgate"
	"mosaicstack.dev/mosaic/internal/host"
	"mosaicstack.dev/mosaic/internal/launch"
	"mosaicstack.dev/mosaic/internal/org"
	"mosaicstack.dev/mosaic/internal/wire"
)

func (a *app) launchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "launch ROLE [-- COMMAND...]",
		Short: "Start an agent process for a role",
		Long: `Starts an agent for a role. Without COMMAND the organization file says what runs,
with "command:" of the role; with one the exec harness runs exactly that. The process
gets the capability of its role and nothing more.

With --wait the command ends when the run has ended: code 0 when it exited with
0, and 1 otherwise.`,
		Example: `mosaic launch dev --dir ~/src/web --wait -- ./agent.sh --fast
mosaic launch dev    # runs the command: of dev in organization.yaml`,
		Args: arguments("ROLE", "[COMMAND...]"),
	}
	flags := cmd.Flags()
	harness := flags.String("harness", "", "harness to use; this version has "+strings.Join(launch.Builtin().Names(), ", "))
	dir := flags.String("dir", "", "working directory (default: the current one with COMMAND)")
	decision := flags.String("decision", "", "approval to spend, for a role whose launches are gated")
	wait := flags.Bool("wait", false, "wait until the run has ended")
	cmd.ValidArgsFunction = a.completeRoles
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		command := args[1:]
		if at := cmd.ArgsLenAtDash(); len(command) > 0 && at != 1 {
			return usage("put -- before the command: mosaic launch %s -- %s", echo(args[0]), echo(command[0]))
		}
		order := host.LaunchArgs{Instance: wire.Role(args[0]), Harness: *harness, Command: command}
		if len(command) > 0 && order.Harness == "" {
			order.Harness = "exec"
		}
		if *dir != "" || len(command) > 0 {
			abs, err := filepath.Abs(*dir)
			if err != nil {
				return err
			}
			order.Dir = abs
		}
		s, err := a.session(cmd.Context())
		if err != nil {
			return err
		}
		if order.Decision, err = findDecisionID(cmd.Context(), s, *decision); err != nil {
			return err
		}
		started, err := hostVerb[host.Launched](cmd.Context(), s, "launch", order)
		if err != nil {
			return err
		}
		if !*wait {
			return a.out.answer(started, func(w *screen) {
				w.line("Run %s started for %s.", short(started.Run), started.Instance)
				if started.Log != "" {
					w.line("  output: %s", started.Log)
				}
			})
		}
		a.out.progress("run %s started for %s; waiting for its end ...", short(started.Run), started.Instance)
		return a.waitForEnd(cmd.Context(), s, started.Run)
	}
	return cmd
}

// waitForEnd waits until a run has ended, prints how, and fails unless it
// exited with 0.
func (a *app) waitForEnd(ctx context.Context, s *session, run wire.Run) error {
	var info host.RunInfo
	for info.State != launch.StateEnded {
		var err error
		if info, err = waitRun(ctx, s, run, host.MaxWaitMs*time.Millisecond); err != nil {
			if ctx.Err() != nil { // the waiting was interrupted, not the run
				err = explained(wire.Refuse(wire.Interrupted), "run %s was started and goes on; mosaic stop %s ends it", short(run), short(run))
			}
			return err
		}
	}
	if err := a.out.answer(info, func(w *screen) { w.line("Run %s of %s ended: %s.", short(info.Run), info.Instance, ending(info)) }); err != nil {
		return err
	}
	if info.Reason != launch.Exited {
		return exitError(exitFailed)
	}
	return nil
}

// waitRun asks for a run once, and lets the host hold the answer until the run
// has ended or the time is up.
func waitRun(ctx context.Context, s *session, run wire.Run, wait time.Duration) (host.RunInfo, error) {
	wait = min(max(wait, 0), host.MaxWaitMs*time.Millisecond)
	ctx, cancel := context.WithTimeout(ctx, wait+hostPatience)
	defer cancel()
	return hostVerb[host.RunInfo](ctx, s, "runs.wait", host.RunWaitArgs{Run: run, TimeoutMs: int(wait / time.Millisecond)})
}

// ending says how a run ended.
func ending(r host.RunInfo) string {
	text := string(r.Reason)
	switch {
	case r.Signal != "":
		text += ", " + r.Signal
	case r.ExitCode != nil:
		text += ", exit code " + strconv.Itoa(*r.ExitCode)
	}
	return text
}

func (a *app) runsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "runs [RUN]",
		Aliases: []string{"ps"},
		Short:   "List the runs, or show one",
		Example: "mosaic runs\nmosaic runs 7be0c2d4 --json",
		Args:    arguments("[RUN]"),
	}
	cmd.ValidArgsFunction = a.completeRuns
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := a.session(cmd.Context())
		if err != nil {
			return err
		}
		list, err := hostVerb[host.RunList](cmd.Context(), s, "runs", none{})
		if err != nil {
			return err
		}
		if len(args) == 1 {
			info, err := findRun(list.Runs, args[0])
			if err != nil {
				return err
			}
			return a.out.answer(info, func(w *screen) { showRun(w, info) })
		}
		return a.out.answer(list, func(w *screen) { showRuns(w, list.Runs) })
	}
	return cmd
}

func findRun(runs []host.RunInfo, typed string) (host.RunInfo, error) {
	ids := make([]wire.Run, len(runs))
	for i, r := range runs {
		ids[i] = r.Run
	}
	id, err := pick(typed, ids, wire.UnknownRun)
	if err != nil {
		return host.RunInfo{}, err
	}
	for _, r := range runs {
		if r.Run == id {
			return r, nil
		}
	}
	return host.RunInfo{}, wire.Refuse(wire.UnknownRun)
}

func showRuns(w *screen, runs []host.RunInfo) {
	if len(runs) == 0 {
		w.line("No runs. Start one: mosaic launch ROLE")
		return
	}
	now := time.Now()
	var rows [][]string
	for _, r := range runs {
		state := string(r.State)
		if r.State == launch.StateEnded {
			state = ending(r)
		}
		rows = append(rows, []string{short(r.Run), string(r.Instance), r.Harness, ago(r.At, now), state})
	}
	w.table([]string{"RUN", "ROLE", "HARNESS", "STARTED", "STATE"}, rows)
}

func showRun(w *screen, r host.RunInfo) {
	state := string(r.State)
	if r.State == launch.StateEnded {
		state = ending(r) + " at " + string(r.Ended)
	}
	pid := ""
	if r.PID != 0 {
		pid = strconv.Itoa(r.PID)
	}
	command := ""
	for _, part := range r.Command {
		command += " " + quote(part)
	}
	w.fields("",
		[2]string{"run", string(r.Run)},
		[2]string{"role", string(r.Business) + "/" + string(r.Instance)},
		[2]string{"state", state},
		[2]string{"started", string(r.At)},
		[2]string{"harness", r.Harness},
		[2]string{"sandbox", r.Sandbox},
		[2]string{"pid", pid},
		[2]string{"command", command},
		[2]string{"directory", r.Dir},
		[2]string{"output", r.Log},
	)
}

func (a *app) stopCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "stop RUN",
		Short:   "End a run: SIGTERM first, and SIGKILL after a grace",
		Example: "mosaic stop 7be0c2d4 --wait",
		Args:    arguments("RUN"),
	}
	wait := cmd.Flags().Bool("wait", false, "wait until nothing of it is left")
	cmd.ValidArgsFunction = a.completeRuns
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		s, err := a.session(ctx)
		if err != nil {
			return err
		}
		list, err := hostVerb[host.RunList](ctx, s, "runs", none{})
		if err != nil {
			return err
		}
		info, err := findRun(list.Runs, args[0])
		if err != nil {
			return err
		}
		if info, err = hostVerb[host.RunInfo](ctx, s, "stop", host.StopArgs{Run: info.Run}); err != nil {
			return err
		}
		for *wait && info.State != launch.StateEnded {
			if info, err = waitRun(ctx, s, info.Run, host.MaxWaitMs*time.Millisecond); err != nil {
				return err
			}
		}
		return a.out.answer(info, func(w *screen) {
			if info.State == launch.StateEnded {
				w.line("Run %s of %s ended: %s.", short(info.Run), info.Instance, ending(info))
			} else {
				w.line("Run %s of %s is told to end.", short(info.Run), info.Instance)
			}
		})
	}
	return cmd
}

func (a *app) launchesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:       "launches [revoke|restore]",
		Short:     "Show whether new launches are allowed, stop them, or allow them again",
		Long:      "Stopping new launches ends no run; see mosaic stop for that.",
		Example:   "mosaic launches\nmosaic launches revoke\nmosaic launches restore",
		Args:      arguments("[revoke|restore]"),
		ValidArgs: []string{"revoke", "restore"},
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		if len(args) == 1 && args[0] != "revoke" && args[0] != "restore" {
			return usage("%q is neither revoke nor restore: %s", echo(args[0]), cmd.UseLine())
		}
		s, err := a.session(ctx)
		if err != nil {
			return err
		}
		if len(args) == 1 {
			reply, err := verb[raw](ctx, s, "launch."+args[0], none{})
			if err != nil {
				return err
			}
			said := map[string]string{
				"revoke":  "New launches are refused. Runs go on; allow launches again: mosaic launches restore",
				"restore": "New launches are allowed.",
			}[args[0]]
			return a.out.answer(reply, func(w *screen) { w.line("%s", said) })
		}
		status, err := hostVerb[host.Status](ctx, s, "status", none{})
		if err != nil {
			return err
		}
		return a.out.answer(status.Businesses, func(w *screen) {
			for _, b := range status.Businesses {
				w.line("%s: launches are %s; %s", b.ID, b.Launches, sessions(b))
			}
		})
	}
	return cmd
}

// sessions says how many runs a business has, and how many it may have.
func sessions(b host.BusinessStatus) string {
	text := plural(b.Sessions, "run")
	if b.Limit > 0 {
		text += " of at most " + strconv.Itoa(b.Limit)
	}
	return text
}

func (a *app) landCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "land",
		Short: "Move a protected branch to a commit, as a role with an approval",
		Long: `Moves a branch of a project to a commit that was pushed there. It spends, exactly
once, the approval of git.merge.protected whose target is PROJECT/BRANCH@COMMIT of
this landing, with the full id of the commit. An approval for another project,
branch or commit is refused with decision-mismatch. Ask for it with:

  mosaic raise git.merge.protected --target PROJECT/BRANCH@COMMIT ...`,
		Example: "mosaic land --project web --branch main --commit 3f786850e387550fdab836ed7e6dc881de23001b --decision 0197c3a0-7d1e-7c55-9f3a-2b6f5f0c9e21 --task queue:1",
		Args:    arguments(),
	}
	var l host.LandArgs
	flags := cmd.Flags()
	flags.StringVar(&l.Project, "project", "", "project of the organization file")
	flags.StringVar(&l.Branch, "branch", "", "branch to move (default: the project's main branch)")
	flags.StringVar(&l.Commit, "commit", "", "full id of the commit")
	flags.StringVar((*string)(&l.Decision), "decision", "", "id of the approval")
	flags.StringVar((*string)(&l.TaskRef), "task", "", "task that it finishes, such as queue:1")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		for _, f := range [][2]string{{"project", l.Project}, {"commit", l.Commit}, {"decision", string(l.Decision)}} {
			if f[1] == "" {
				return usage("--%s is missing: %s", f[0], cmd.UseLine())
			}
		}
		s, err := a.session(cmd.Context())
		if err != nil {
			return err
		}
		if l.Decision, err = findDecisionID(cmd.Context(), s, string(l.Decision)); err != nil {
			return err
		}
		landed, err := hostVerb[host.Landed](cmd.Context(), s, "land", l)
		if err != nil {
			return withTarget(err, l)
		}
		return a.out.answer(landed, func(w *screen) {
			w.line("Landed %s on %s of %s; it was %s before.", cut(landed.Commit, shortCommit), landed.Branch, landed.Project, cut(landed.Previous, shortCommit))
			w.line("The approval is used up.")
		})
	}
	return cmd
}

// withTarget adds to the refusal of a landing which target its approval must
// have.
func withTarget(err error, l host.LandArgs) error {
	switch code := client.CodeOf(err); code {
	case wire.DecisionMismatch, wire.DecisionRequired:
		target := gitgate.Target{Project: l.Project, Branch: cmp.Or(l.Branch, "BRANCH"), Commit: git.ObjectID(l.Commit)}
		return explained(err, "this landing takes an approval of %s on %s", org.ActionMergeProtected, target)
	}
	return err
}

// runStageCommand is there so that the name is known; the program answers it
// before it parses anything (Run).
func (a *app) runStageCommand() *cobra.Command {
	return &cobra.Command{
		Use: launch.StageCommand, Hidden: true, Short: "The monitor of a run; the host starts it",
		RunE: func(*cobra.Command, []string) error {
			return usage("%s is started by the host only", launch.StageCommand)
		},
	}
}
