package cli

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"mosaicstack.dev/mosaic/internal/gitea"
	"mosaicstack.dev/mosaic/internal/ledger"
	"mosaicstack.dev/mosaic/internal/proc"
	"mosaicstack.dev/mosaic/internal/queue"
	"mosaicstack.dev/mosaic/internal/wire"
)

// defaultRegistrations is where seats register themselves, in the git
// directory, unless mosaic.queue.registrations says otherwise.
const defaultRegistrations = "mosaic-queue.registrations"

// ledgerExits are the exit codes of the results (QUEUE-OPEN-86).
var ledgerExits = map[string]int{ledger.ReducedPass: exitDone, ledger.Fail: exitRefused, ledger.Incomplete: exitUncertain}

func (a *app) ledgerCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ledger",
		Short: "Check the queue against issues and time, and list the week",
		Long: `Reads the queue, the registrations of seats and, with at most twelve calls, the
issues of the configured Gitea repository. It changes nothing. What it could not
decide is undecided, never passed.

Exit code 0 is a reduced pass, 2 a violation, 3 incomplete, 1 a failed run. Keep
the output of --json and give it as --previous to a second run of the same day,
which then says what was remedied.`,
		Example: "mosaic ledger\nmosaic ledger --json > monday.json\nmosaic ledger --previous monday.json --unsupported-runtime rev\nmosaic ledger --no-issues",
		Args:    arguments(),
	}
	flags := cmd.Flags()
	since := flags.String("since", "", "begin of the range, as YYYY-MM-DD (default seven days ago)")
	noIssues := flags.Bool("no-issues", false, "make no call; the issue checks are then not run")
	exempt := flags.StringSlice("unsupported-runtime", nil, "seat whose runtime cannot register; repeat it for several")
	previous := flags.String("previous", "", "JSON output of an earlier run of the same day")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		in := ledger.Input{Now: time.Now(), Processes: proc.System(), Exempt: seats(*exempt)}
		var err error
		if *since != "" {
			if in.Since, err = time.Parse(time.DateOnly, *since); err != nil || in.Since.After(in.Now) {
				return usage("--since is %q; it must be a day of the past, as YYYY-MM-DD", *since)
			}
		}
		if in.Previous, err = previousReport(*previous); err != nil {
			return err
		}
		report, err := a.runLedger(cmd.Context(), in, *noIssues)
		if err != nil {
			return err
		}
		err = a.out.answer(report, func(w *screen) {
			for _, line := range report.Lines() {
				w.line("%s", line)
			}
		})
		if exit := ledgerExits[report.Queue.Result]; err == nil && exit != exitDone {
			return exitError(exit)
		}
		return err
	}
	return cmd
}

// runLedger reads the queue through its validator and makes the report.
func (a *app) runLedger(ctx context.Context, in ledger.Input, noIssues bool) (*ledger.Report, error) {
	c, err := openQueue(ctx)
	if err != nil {
		return nil, err
	}
	reading, err := a.queueState(ctx, c)
	if err != nil {
		return nil, err
	}
	in.File, in.State = reading.File, reading.State
	for _, seat := range in.Exempt {
		if !slices.Contains(in.State.Seats, seat) {
			return nil, usage("--unsupported-runtime names %s, which is no seat of this queue", visible(string(seat)))
		}
	}
	in.Registrations = registrationsOf(c)
	if !noIssues {
		if in.Issues, err = a.issues(ctx, c); err != nil {
			return nil, err
		}
	}
	return ledger.Run(ctx, in)
}

// registrationsOf is the configured directory of registrations; a relative one
// is seen from the root.
func registrationsOf(c *queue.Checkout) string {
	set := c.Setting("registrations")
	if len(set) == 0 {
		return filepath.Join(c.GitDir, defaultRegistrations)
	}
	if dir := set[len(set)-1]; filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(c.Root, set[len(set)-1])
}

// issues is the client of the configured repository, with the credential of
// the environment if there is one.
func (a *app) issues(ctx context.Context, c *queue.Checkout) (ledger.Issues, error) {
	settings, err := c.ReviewSettings(ctx, a.env["HOME"])
	if err != nil {
		return nil, err
	}
	client, err := gitea.New(settings.Repository, gitea.Options{Credential: a.env[queue.CredentialVariable]})
	if err != nil {
		return nil, err
	}
	return client, nil
}

// previousReport reads the JSON output of an earlier run.
func previousReport(path string) (*ledger.Report, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, usage("--previous: %s cannot be read", visible(path))
	}
	var report ledger.Report
	if err := wire.Decode(text, &report); err != nil {
		return nil, usage("--previous: %s is no JSON output of mosaic ledger", visible(path))
	}
	return &report, nil
}
