package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"mosaicstack.dev/mosaic/internal/queue"
)

func (a *app) queueCommitCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "commit",
		Short: "Commit the queue, for the lead and the human",
		Long: `Commits exactly the bytes of a verified copy of the queue file and the table,
through an index of its own: nothing that anyone has staged is committed. The
guard that keeps the queue out of ordinary commits must be installed and active.
It gives no authorization: whether the queue may be committed is decided as
always.

--source ID commits the files of row ID's manifest in the same way, as all its
reviewers approved them, after review verify-commit and --suite passed on the
tree that would be committed.`,
		Example: `mosaic queue commit -m "queue: the week's work" --by pm
mosaic queue commit --genesis -m "queue: begin" --by pm
mosaic queue commit --source 7 -m "login: by link" --suite "make test" --by pm`,
		Args: arguments(),
	}
	o := a.operation(cmd)
	o.must = false
	message := cmd.Flags().StringP("message", "m", "", "message of the commit")
	genesis := cmd.Flags().Bool("genesis", false, "the first commit of the queue")
	source := cmd.Flags().Int("source", 0, "commit the reviewed files of this row")
	suite := cmd.Flags().String("suite", "", "shell command that must pass in the tree to be committed")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		fromRow := cmd.Flags().Changed("source")
		switch {
		case strings.TrimSpace(*message) == "":
			return usage("-m is missing: the message of the commit")
		case fromRow && *genesis:
			return usage("--genesis commits the queue, and --source a row's files: one at a time")
		case !fromRow && *suite != "":
			return usage("--suite goes with --source ID")
		}
		c, _, by, err := o.begin(cmd.Context())
		if err != nil {
			return err
		}
		var done queue.CommitDone
		if fromRow {
			request := queue.SourceRequest{By: by, Row: queue.RowID(*source), Message: *message}
			if *suite != "" {
				request.Suite = func(ctx context.Context, dir string) error { return a.runSuite(ctx, dir, *suite) }
			}
			done, err = c.CommitSource(cmd.Context(), request)
		} else {
			done, err = c.Commit(cmd.Context(), queue.CommitRequest{By: by, Message: *message, Genesis: *genesis, Verify: a.verifySnapshot})
		}
		if err != nil {
			return err
		}
		return a.out.answer(done, func(w *screen) {
			if done.Commit == "" {
				w.line("ok rev %d: nothing to commit, HEAD has it", done.Rev)
				return
			}
			w.line("ok rev %d commit %s on %s", done.Rev, done.Commit, done.Branch)
		})
	}
	return cmd
}

// verifySnapshot lets this program judge a snapshot in a process of its own
// that finds no repository around it (QUEUE-COMMIT-38, 39).
func (a *app) verifySnapshot(ctx context.Context, dir string, base bool) error {
	path, err := program()
	if err != nil {
		return err
	}
	args := []string{"queue", "verify", "--snapshot", dir, "--base-absent"}
	if base {
		args = []string{"queue", "verify", "--snapshot", dir, "--base-file", filepath.Join(dir, queue.BaseFile)}
	}
	var said strings.Builder
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = dir
	cmd.Env = outsideGit(a.env, dir)
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		why := strings.TrimPrefix(strings.TrimSpace(said.String()), "mosaic: ")
		if why == "" {
			why = err.Error()
		}
		return &queue.Refusal{Code: queue.SnapshotInvalid, Exit: exitRefused, Sentence: "the snapshot was refused: " + visible(why)}
	}
	return nil
}

// outsideGit is the environment of a program that must find no repository
// above dir and none in a variable.
func outsideGit(env environment, dir string) []string {
	clean := []string{"GIT_CEILING_DIRECTORIES=" + filepath.Dir(dir)}
	for _, entry := range env.list() {
		if !strings.HasPrefix(entry, "GIT_") {
			clean = append(clean, entry)
		}
	}
	return clean
}

// runSuite runs the project's checks in the unpacked tree. What they print
// goes to stderr, since stdout is for the answer.
func (a *app) runSuite(ctx context.Context, dir, command string) error {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	cmd.Dir = dir
	cmd.Env = outsideGit(a.env, dir)
	cmd.Stdout, cmd.Stderr = a.out.stderr, a.out.stderr
	return cmd.Run()
}

func (a *app) queueInstallHookCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "install-hook",
		Short: "Install the guard that keeps the queue out of ordinary commits",
		Long: `Writes .git/hooks/pre-commit. It refuses where another hook stands or
core.hooksPath is set, and replaces nothing but an earlier version of the guard.`,
		Example: "mosaic queue install-hook --by pm",
		Args:    arguments(),
	}
	o := a.operation(cmd)
	o.must = false
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, _, by, err := o.begin(cmd.Context())
		if err != nil {
			return err
		}
		done, err := c.InstallHook(cmd.Context(), by)
		if err != nil {
			return err
		}
		return a.out.answer(done, func(w *screen) {
			switch {
			case done.Already:
				w.line("ok the guard is installed already: %s", done.Hook)
			case done.Replaced:
				w.line("ok the guard was renewed: %s", done.Hook)
			default:
				w.line("ok the guard is installed: %s", done.Hook)
			}
		})
	}
	return cmd
}

func (a *app) queueGenesisCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "genesis",
		Short: "Begin the queue of a repository, from its Markdown table or from nothing",
		Long: `Makes docs/plans/queue.json from a migration map: a committed Markdown file whose
one json block says what becomes of every row of the table in QUEUE.md. The
names given here are the queue's for good, but for the roster command. Genesis
is for the human or the lead that it names, and happens once.

--draft writes nothing: it prints a map for the table as it stands, to be read,
corrected and committed. docs/queue.md has the whole way, from a table to a
running queue.

--agents prints a section for AGENTS.md that tells seats how to work with the
queue, between its own markers. --brief-template prints a template for briefs.`,
		Example: `mosaic queue genesis --draft --map docs/plans/queue-map.md --human dana
mosaic queue genesis --op 2026-12-01-pm-genesis --by pm --root "$PWD" --branch main --map docs/plans/queue-map.md --human dana --lead pm --seats cto,dev,pm,rev
mosaic queue genesis --agents`,
		Args: arguments(),
	}
	o := a.operation(cmd)
	flags := cmd.Flags()
	root := flags.String("root", "", "real path of the checkout, as you reviewed it")
	branch := flags.String("branch", "", "branch that the queue is worked on")
	path := flags.String("map", "", "the committed migration map, relative to the root")
	human := flags.String("human", "", "who owns the project")
	lead := flags.String("lead", "", "who leads the work")
	list := flags.StringSlice("seats", nil, "all seats")
	labels := flags.StringSlice("labels", []string{"coordinator"}, "owners that are no seat")
	draft := flags.Bool("draft", false, "print a map for the table as it stands, and change nothing")
	agents := flags.Bool("agents", false, "print a section for AGENTS.md, and change nothing")
	template := flags.Bool("brief-template", false, "print a template for briefs, and change nothing")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case *agents:
			return a.text(queue.Instructions())
		case *template:
			return a.text(queue.BriefTemplate)
		}
		missing := ""
		for _, f := range []struct{ name, value string }{{"map", *path}, {"human", *human}, {"lead", *lead}, {"root", *root}, {"branch", *branch}} {
			if f.value == "" && missing == "" && !(*draft && f.name != "map" && f.name != "human") {
				missing = f.name
			}
		}
		if missing != "" {
			return usage("--%s is missing: %s", missing, flags.Lookup(missing).Usage)
		}
		if *draft {
			return a.draftMap(cmd.Context(), *path, queue.Seat(*human))
		}
		c, op, by, err := o.begin(cmd.Context())
		if err != nil {
			return err
		}
		done, err := c.Begin(cmd.Context(), op, by, &queue.GenesisArgs{
			CanonicalRoot: *root, Branch: *branch, Map: *path,
			Human: queue.Seat(*human), Lead: queue.Seat(*lead), Seats: seats(*list), Labels: seats(*labels),
		})
		if err != nil {
			return err
		}
		return a.receipt(cmd.Context(), c, done)
	}
	return cmd
}

// draftMap prints a migration map for the table as it stands.
func (a *app) draftMap(ctx context.Context, path string, human queue.Seat) error {
	c, err := openQueue(ctx)
	if err != nil {
		return err
	}
	view, err := os.ReadFile(c.View)
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("the table cannot be read: %w", err)
	}
	draft := queue.DraftMap(view, path, human)
	made := struct {
		Map  string `json:"map"`
		Path string `json:"path"`
	}{string(draft), path}
	return a.out.answer(made, func(w *screen) { w.text.Write(draft) })
}

// text prints a text that a person puts into a file.
func (a *app) text(text string) error {
	made := struct {
		Text string `json:"text"`
	}{text}
	return a.out.answer(made, func(w *screen) { w.text.WriteString(text) })
}
