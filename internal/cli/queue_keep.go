package cli

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"mosaicstack.dev/mosaic/internal/queue"
)

// unlogged adds --op to a command that writes but logs nothing: the id stands
// in the lock while the command runs (QUEUE-OPEN-51).
func (a *app) unlogged(cmd *cobra.Command) *string {
	return cmd.Flags().String("op", "", "id that the lock names while this runs")
}

func (a *app) queueSyncCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sync",
		Short: "Make operations durable whose writer was killed",
		Long: `Prints what became durable. Nothing is logged and nothing is taken back: an
operation that was recorded stands, and who asked for it is told.`,
		Example: "mosaic queue sync --op 2026-12-01-pm-sync",
		Args:    arguments(),
	}
	op := a.unlogged(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := openQueue(cmd.Context())
		if err != nil {
			return err
		}
		done, err := c.Sync(cmd.Context(), queue.OpID(*op))
		if err != nil {
			return err
		}
		if done.Warning != "" {
			a.out.warn("%s", done.Warning)
		}
		if done.Confirmed == nil {
			done.Confirmed = []queue.Entry{}
		}
		return a.out.answer(done, func(w *screen) {
			for _, e := range done.Confirmed {
				w.line("durable now, never acknowledged: %s by %s at %s", string(e.Op), string(e.By), e.At)
			}
			if len(done.Confirmed) == 0 {
				w.line("ok rev %d: everything is durable", done.Rev)
			}
		})
	}
	return cmd
}

func (a *app) queueRenderCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "render",
		Short: "Bring the table up to the queue",
		Long: `Writes what stands between the markers when it shows an earlier revision. A
table that was changed by hand is never overwritten. With --check nothing is
written, and a table that is not current is an error.`,
		Example: "mosaic queue render\nmosaic queue render --check",
		Args:    arguments(),
	}
	op := a.unlogged(cmd)
	check := cmd.Flags().Bool("check", false, "only say whether the table is current")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := openQueue(cmd.Context())
		if err != nil {
			return err
		}
		var done queue.Rendered
		if *check {
			done.Rev, err = c.CheckRender(cmd.Context())
		} else {
			done, err = c.Render(cmd.Context(), queue.OpID(*op))
		}
		if err != nil {
			return err
		}
		if done.Warning != "" {
			a.out.warn("%s", done.Warning)
		}
		return a.out.answer(done, func(w *screen) {
			if done.Written {
				w.line("ok rev %d: the table was written", done.Rev)
				return
			}
			w.line("ok rev %d: the table is current", done.Rev)
		})
	}
	return cmd
}

// verified is what verify prints with --json.
type verified struct {
	Rev       int      `json:"rev"`
	Rows      int      `json:"rows"`
	Leftovers []string `json:"leftovers"`
	Drift     []string `json:"drift"`
}

func (a *app) queueVerifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "verify",
		Aliases: []string{"check"},
		Short:   "Check the queue, its witness and its table, and write nothing",
		Long: `Exits with 0 only when nothing is wrong, so that a project's own checks can run
it. --current also compares the briefs of open rows with HEAD.

--snapshot DIR checks a copy made by snapshot, anywhere and without git: the
file, that the table is its render, and that the log extends --base-file, or is
genesis alone with --base-absent. It says nothing about the witness.`,
		Example: `mosaic queue verify --current
mosaic queue verify --snapshot /tmp/queue --base-file /tmp/queue/base.json`,
		Args: arguments(),
	}
	current := cmd.Flags().Bool("current", false, "compare the briefs of open rows with HEAD too")
	snapshot := cmd.Flags().String("snapshot", "", "directory of a snapshot to check in place of the checkout")
	base := cmd.Flags().String("base-file", "", "queue file that the snapshot's log must extend")
	absent := cmd.Flags().Bool("base-absent", false, "the snapshot's log must be genesis alone")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("snapshot") {
			if *current {
				return usage("--current looks at HEAD, and --snapshot at nothing but its directory")
			}
			if (*base != "") == *absent {
				return usage("--snapshot takes exactly one of --base-file FILE and --base-absent")
			}
			found, err := queue.VerifySnapshot(*snapshot, *base)
			return a.verified(found, nil, err)
		}
		if *base != "" || *absent {
			return usage("--base-file and --base-absent go with --snapshot DIR")
		}
		c, err := openQueue(cmd.Context())
		if err != nil {
			return err
		}
		found, err := c.Verify(cmd.Context())
		if err != nil || !*current {
			return a.verified(found, nil, err)
		}
		drift, err := c.Drift(cmd.Context(), found.State)
		return a.verified(found, drift, err)
	}
	return cmd
}

// verified prints what was found; a drifted brief is a line and an error.
func (a *app) verified(found queue.Verified, drift []queue.Drift, err error) error {
	if err != nil {
		return err
	}
	v := verified{Rev: found.Rev, Rows: found.Rows, Leftovers: found.Leftovers, Drift: []string{}}
	for _, left := range found.Leftovers {
		a.out.warn("a killed writer left %s", left)
	}
	s := &screen{}
	for _, d := range drift {
		s.text.Reset()
		s.line("row %d: %s", int(d.Row), d.Reason)
		v.Drift = append(v.Drift, string(s.text.Bytes()[:s.text.Len()-1]))
	}
	if err := a.out.answer(v, func(w *screen) {
		for _, line := range v.Drift {
			w.line("%s", line)
		}
		if len(v.Drift) == 0 {
			w.line("ok rev %d rows %d", v.Rev, v.Rows)
		}
	}); err != nil {
		return err
	}
	if len(v.Drift) > 0 {
		return exitError(exitRefused)
	}
	return nil
}

func (a *app) queueSnapshotCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "snapshot",
		Short:   "Copy the queue file and the table, of one revision, into a directory",
		Example: "mosaic queue snapshot --out /tmp/queue",
		Args:    arguments(),
	}
	out := cmd.Flags().String("out", "", "directory for the two files")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *out == "" {
			return usage("--out is missing: name the directory for the two files")
		}
		c, err := openQueue(cmd.Context())
		if err != nil {
			return err
		}
		rev, err := c.Snapshot(cmd.Context(), *out)
		if err != nil {
			return err
		}
		made := struct {
			Rev int    `json:"rev"`
			Out string `json:"out"`
		}{rev, *out}
		return a.out.answer(made, func(w *screen) { w.line("ok rev %d in %s", rev, *out) })
	}
	return cmd
}

func (a *app) queueUnlockCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "unlock",
		Short: "Remove the lock of a process that has provably ended",
		Long: `Run it when a command said that the lock's owner is gone, and nothing of the
queue is running. A lock whose owner runs, or may run, is left.

--check-gate says what stands in the way of unlock itself, and changes nothing.
Only when it says dead or mismatch, and no queue command runs, a person removes
the gate by hand.`,
		Example: "mosaic queue unlock\nmosaic queue unlock --check-gate",
		Args:    arguments(),
	}
	gate := cmd.Flags().Bool("check-gate", false, "say whose the gate is, and change nothing")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := openQueue(cmd.Context())
		if err != nil {
			return err
		}
		if *gate {
			g, err := c.CheckGate(cmd.Context())
			if err != nil {
				return err
			}
			return a.out.answer(g, func(w *screen) {
				if !g.Present {
					w.line("There is no gate.")
					return
				}
				w.line("%s", string(g.Holder))
				w.lockRecord(g.Record)
				w.line("  %s", c.Gate)
			})
		}
		u, err := c.Unlock(cmd.Context())
		if err != nil {
			return err
		}
		return a.out.answer(u, func(w *screen) {
			w.line("Removed the lock of a process that is gone (%s):", string(u.Holder))
			w.lockRecord(u.Record)
		})
	}
	return cmd
}

// lockRecord prints who made a lock or a gate.
func (s *screen) lockRecord(r queue.LockRecord) {
	text, err := json.Marshal(r)
	if err != nil || r == (queue.LockRecord{}) {
		return
	}
	s.line("  %s", string(text))
}

func (a *app) queueAcceptCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "accept-history",
		Short: "Accept a queue file that lacks history, the last step of a recovery",
		Long: `For the lead and the human, when the queue file does not extend the witness: git
or somebody put an older or another file in its place. Copy the file aside and
follow the recovery in docs/queue.md first; this comes last.

Without --yes it prints what would be accepted and changes nothing.`,
		Example: `mosaic queue accept-history --reason "stash of 12 May; ops re-applied" --op 2026-12-01-pm-accept --by pm
mosaic queue accept-history --reason "stash of 12 May; ops re-applied" --yes --op 2026-12-01-pm-accept --by pm`,
		Args: arguments(),
	}
	o := a.operation(cmd)
	reason := cmd.Flags().String("reason", "", "what happened, and what was done about it")
	yes := cmd.Flags().Bool("yes", false, "accept the loss")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, op, by, err := o.begin(cmd.Context())
		if err != nil {
			return err
		}
		var lost []string
		done, err := c.AcceptHistory(cmd.Context(), op, by, *reason, func(loss queue.Loss) bool {
			lost = loss.Lines()
			for _, line := range lost {
				if *yes {
					a.out.tell("%s", line)
				}
			}
			return *yes
		})
		var refusal *queue.Refusal
		if errors.As(err, &refusal) && refusal.Code == queue.NotConfirmed {
			// A refusal is one line, so this one says what there is to confirm.
			told := *refusal
			told.Sentence = strings.Join(append(lost, refusal.Sentence), "; ")
			return &told
		}
		if err != nil {
			return err
		}
		return a.receipt(cmd.Context(), c, done)
	}
	return cmd
}

// program is this program's own file, for the checks that run in a process of
// their own.
func program() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}
