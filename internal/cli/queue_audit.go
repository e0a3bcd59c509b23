package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mosaicstack.dev/mosaic/internal/git"
	"mosaicstack.dev/mosaic/internal/queue"
	"mosaicstack.dev/mosaic/internal/queue/audit"
)

// Where a seat's sessions and launch snapshots are, relative to the root,
// unless mosaic.queue.auditSessions and mosaic.queue.auditLaunches say
// otherwise. {seat} stands for the seat (QUEUE-OPEN-94).
const (
	defaultSessions = ".pi/state/{seat}/sessions"
	defaultLaunches = ".pi/state/{seat}/launches"
)

// auditExits are the exit codes of audit check.
var auditExits = map[audit.Status]int{audit.Pass: exitDone, audit.Reject: exitRefused, audit.Inconclusive: exitUncertain}

func (a *app) queueAuditCommand() *cobra.Command {
	return a.group(&cobra.Command{
		Use:   "audit",
		Short: "Judge the evidence that a fresh seat found and did a row by itself",
		Long: `The human tells a freshly launched seat one thing: ` + audit.Instruction + `.
Before the launch, prepare records what is there. After it, pin takes digests:
once when the launch has begun, and once with --work when the first concrete
action has succeeded. check judges the evidence, one result for each item of the
checklist, and exits with 0 (pass), 2 (reject) or 3 (inconclusive). The verdict
is the human's own.

Only the evidence file is written, and it must lie outside of the repository.`,
		Example: `mosaic queue audit prepare ~/gate.json --seat dev --command "mosaic launch dev --fresh"
mosaic queue audit pin ~/gate.json
mosaic queue audit pin ~/gate.json --work toolu_7 --ships "an index of the titles"
mosaic queue audit check ~/gate.json`,
	},
		group("Commands", a.auditPrepareCommand(), a.auditPinCommand(), a.auditCheckCommand()),
	)
}

func (a *app) auditPrepareCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "prepare FILE",
		Short:   "Begin the evidence file, before the seat is launched",
		Example: `mosaic queue audit prepare ~/gate.json --seat dev --command "mosaic launch dev --fresh" --skill ~/skills/search`,
		Args:    arguments("FILE"),
	}
	flags := cmd.Flags()
	seat := flags.String("seat", "", "the seat that will be launched")
	command := flags.String("command", "", "the exact command line of the launch")
	own := flags.StringSlice("seat-file", nil, "committed file that shapes the seat (default agents/SEAT/SOUL.md and CONTEXT.md, where they are)")
	user := flags.StringSlice("user-file", nil, "the person's own file; only its digest is kept")
	skills := flags.StringSlice("skill", nil, "loaded skill, a file or a directory")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *seat == "" || *command == "" {
			return usage("audit prepare needs --seat and --command")
		}
		c, reading, err := a.auditQueue(cmd.Context())
		if err != nil {
			return err
		}
		if !slices.Contains(reading.State.Seats, queue.Seat(*seat)) {
			return usage("--seat names %s, which is no seat of this queue", visible(*seat))
		}
		plan := audit.Plan{
			Root: c.Root, Seat: queue.Seat(*seat), Command: *command,
			Sessions: seatDirectory(c, "auditSessions", defaultSessions, *seat),
			Launches: seatDirectory(c, "auditLaunches", defaultLaunches, *seat),
			Sources:  sources(audit.SeatFile, seatFiles(c.Root, *seat, *own)),
		}
		plan.Sources = append(plan.Sources, sources(audit.UserFile, *user)...)
		plan.Sources = append(plan.Sources, sources(audit.Skill, *skills)...)
		evidence, err := audit.Prepare(args[0], plan, reading.File, reading.State, time.Now())
		if err != nil {
			return auditRefused(err)
		}
		return a.out.answer(evidence, func(w *screen) {
			w.line("prepared %s: row %d of %s at revision %d, started %s", args[0], int(evidence.Row), evidence.Seat, evidence.Before.Revision, evidence.Before.At)
			w.line("launch the seat now, then: mosaic queue audit pin %s", styled(quote(visible(args[0]))))
		})
	}
	return cmd
}

func (a *app) auditPinCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "pin FILE",
		Short:   "Take digests of what exists now; with --work, end the interval",
		Example: "mosaic queue audit pin ~/gate.json\nmosaic queue audit pin ~/gate.json --work toolu_7 --ships \"an index of the titles\"",
		Args:    arguments("FILE"),
	}
	flags := cmd.Flags()
	session := flags.String("session", "", "the session file (default the only new one)")
	work := flags.String("work", "", "id of the tool call that is the concrete action")
	ships := flags.String("ships", "", "the line of the brief's What ships that it serves")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		point := audit.Point{Session: *session}
		if (*work == "") != (*ships == "") {
			return usage("--work and --ships go together")
		}
		if *work != "" {
			point.Work = &audit.Work{Call: *work, Ships: *ships}
		}
		evidence, err := audit.PinNow(args[0], point, time.Now())
		if err != nil {
			return auditRefused(err)
		}
		pin := evidence.Pins[len(evidence.Pins)-1]
		return a.out.answer(pin, func(w *screen) {
			w.line("pinned at %s: %s", pin.At, plural(len(pin.Sources), "context source"))
			if pin.Session != nil {
				w.line("session %s, %d bytes, %s", pin.Session.ID, pin.Session.Size, pin.Session.SHA256)
			}
		})
	}
	return cmd
}

func (a *app) auditCheckCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "check FILE",
		Short:   "Judge the evidence",
		Example: "mosaic queue audit check ~/gate.json\nmosaic queue audit check ~/gate.json --verdict \"dev found and did row 7 by itself\"",
		Args:    arguments("FILE"),
	}
	verdict := cmd.Flags().String("verdict", "", "the human's observation, in one sentence")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		evidence, err := audit.Load(args[0])
		if err != nil {
			return auditRefused(err)
		}
		c, reading, err := a.auditQueue(cmd.Context())
		if err != nil {
			return err
		}
		if evidence.Root != c.Root {
			return auditRefused(errors.New("the evidence is about another checkout, " + evidence.Root))
		}
		brief, err := briefText(cmd.Context(), c, evidence.Before.Blob)
		if err != nil {
			return err
		}
		report := audit.Check(audit.Case{Evidence: evidence, File: reading.File, Brief: brief, Verdict: *verdict})
		err = a.out.answer(report, func(w *screen) {
			for _, line := range report.Lines() {
				w.line("%s", line)
			}
		})
		if exit := auditExits[report.Result()]; err == nil && exit != exitDone {
			return exitError(exit)
		}
		return err
	}
	return cmd
}

// auditQueue reads the queue of the working directory.
func (a *app) auditQueue(ctx context.Context) (*queue.Checkout, *queue.Reading, error) {
	c, err := openQueue(ctx)
	if err != nil {
		return nil, nil, err
	}
	reading, err := a.queueState(ctx, c)
	return c, reading, err
}

// briefText is the pinned brief as it was committed; a brief that the
// repository has lost is empty, and the audit then finds no line in it.
func briefText(ctx context.Context, c *queue.Checkout, blob string) ([]byte, error) {
	id, ok := git.ParseObjectID(blob)
	if !ok {
		return nil, auditRefused(audit.ErrForm)
	}
	repo, err := git.Open(ctx, c.Root)
	if err != nil {
		return nil, err
	}
	text, err := repo.Blob(ctx, id)
	if git.Refused(err) {
		return nil, nil
	}
	return text, err
}

// auditRefused is what the evidence is refused for.
func auditRefused(err error) error {
	return &queue.Refusal{Code: queue.ArgumentInvalid, Exit: exitRefused, Sentence: visible(err.Error())}
}

// seatDirectory is a configured directory of a seat.
func seatDirectory(c *queue.Checkout, key, otherwise, seat string) string {
	dir := otherwise
	if set := c.Setting(key); len(set) > 0 {
		dir = set[len(set)-1]
	}
	if dir = strings.ReplaceAll(dir, "{seat}", seat); filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	return filepath.Join(c.Root, dir)
}

// seatFiles are the named files, or those of the seat's own directory.
func seatFiles(root, seat string, named []string) []string {
	if len(named) > 0 {
		return named
	}
	var found []string
	for _, name := range []string{"SOUL.md", "CONTEXT.md"} {
		path := filepath.Join(root, "agents", seat, name)
		if _, err := os.Stat(path); err == nil {
			found = append(found, path)
		}
	}
	return found
}

// sources are files of one kind, as absolute paths.
func sources(kind audit.Kind, paths []string) []audit.Source {
	list := make([]audit.Source, 0, len(paths))
	for _, path := range paths {
		if abs, err := filepath.Abs(path); err == nil {
			path = abs
		}
		list = append(list, audit.Source{Kind: kind, Path: path})
	}
	return list
}
