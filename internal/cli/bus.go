package cli

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"mosaicstack.dev/mosaic/internal/broker"
	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/host"
	"mosaicstack.dev/mosaic/internal/wire"
)

func (a *app) busCommand() *cobra.Command {
	cmd := a.group(&cobra.Command{
		Use:   "bus",
		Short: "Keep the record: verify, back up, sign, upgrade, free a stale lock",
		Example: `mosaic bus verify
mosaic bus backup ~/backups/bus.sqlite`,
	},
		group("", a.busVerifyCommand(), a.busBackupCommand(), a.busCheckpointCommand(), a.busMigrateCommand(), a.busUnlockCommand(), a.busServeCommand()),
	)
	return cmd
}

// offline is a command that works on the files of the data root itself. A
// managed run is refused: the record is the person's to keep.
func (a *app) offline(cmd *cobra.Command, do func(cmd *cobra.Command, args []string, root string) error) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := a.operatorOnly(); err != nil {
			return err
		}
		root, err := a.root()
		if err != nil {
			return err
		}
		return do(cmd, args, root)
	}
	return cmd
}

func (a *app) busVerifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify [FILE]",
		Short: "Check that what the record holds is what was written",
		Long: `Reads the whole record, running host or not, or a backup: the checks of every
start, the chain over all rows, the order of times and what is derived. With
--note it also says whether the history still holds an older checkpoint, which
is what shows one that was rewritten as a whole, or whose end was cut off. It
changes nothing. Exit code 2 means that
something is wrong; all of it is printed.`,
		Example: `mosaic bus verify
mosaic bus verify ~/backups/bus.sqlite --note checkpoint.txt`,
		Args: arguments("[FILE]"),
	}
	notes := cmd.Flags().StringArray("note", nil, "file with a checkpoint that you kept")
	return a.offline(cmd, func(cmd *cobra.Command, args []string, root string) error {
		path := broker.StorePath(root)
		if len(args) == 1 {
			path = args[0]
		}
		var texts []string
		for _, file := range *notes {
			text, err := os.ReadFile(file)
			if err != nil {
				return explained(wire.Refuse(wire.Failed), "%s", plainly(err))
			}
			texts = append(texts, string(text))
		}
		a.out.progress("reading the whole record ...")
		report, err := evidence.Verify(cmd.Context(), path, texts...)
		if err != nil {
			return err
		}
		if err := a.out.answer(report, func(w *screen) { showReport(w, report) }); err != nil {
			return err
		}
		if !report.OK() {
			return wire.Refuse(wire.StoreDamaged)
		}
		if report.Unverified() {
			return wire.Refuse(wire.CheckpointUnverified)
		}
		return nil
	})
}

func showReport(w *screen, r *evidence.Report) {
	if r.OK() {
		w.line("The record is whole: %d rows in one unbroken chain.", r.Rows)
		w.line("Whether rows, or checkpoints in the record, were cut off at its end, only a checkpoint that you kept elsewhere shows: mosaic bus verify --note FILE")
	}
	w.line("  store %s, version %d", r.StoreID, r.Version)
	if r.Head != "" {
		w.line("  head  %s", r.Head)
	}
	if n := r.UnknownSigners; n > 0 {
		w.line("  %s in it signed with a key that is not in checkpoint.pub", counted(int(n), "checkpoint", "checkpoints"))
	}
	for _, p := range r.Problems {
		w.line("  wrong: %s", p.String())
	}
	for _, n := range r.Notes {
		if n.Contained {
			w.line("  the checkpoint after %d rows is part of it; its signature: %s", n.Size, n.Signature)
		} else {
			w.line("  wrong: the checkpoint after %d rows is not part of it: %s", n.Size, n.Text)
		}
	}
}

func (a *app) busBackupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the record to a file, consistent also while the host runs",
		Long: `Copies the record as it is now to a new file. To restore one: stop the host,
copy the file to bus/bus.sqlite of the data root, with checkpoint.key and
checkpoint.pub of the old one beside it, and run mosaic bus verify.`,
		Example: "mosaic bus backup ~/backups/bus.sqlite",
		Args:    arguments("FILE"),
	}
	return a.offline(cmd, func(cmd *cobra.Command, args []string, root string) error {
		dest, err := filepath.Abs(args[0])
		if err != nil {
			return err
		}
		if err := evidence.Backup(cmd.Context(), broker.StorePath(root), dest); err != nil {
			return err
		}
		a.out.did("mosaic bus verify " + quote(dest))
		made := struct {
			Backup string `json:"backup"`
		}{dest}
		return a.out.answer(made, func(w *screen) {
			w.line("Copied the record to %s", dest)
			w.line("  mosaic bus verify %s", quote(dest))
		})
	})
}

func (a *app) busCheckpointCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "checkpoint",
		Short: "Sign the record as it is now; keep the note elsewhere",
		Long: `Prints a signed note over the end of the chain. Whoever keeps it can tell later
whether the history before it is still the same: mosaic bus verify --note FILE.
The host must not run.`,
		Example: "mosaic bus checkpoint > checkpoint.txt",
		Args:    arguments(),
	}
	newKey := cmd.Flags().Bool("new-key", false, "make a new key first, when the old one is lost; refused while there is one")
	return a.offline(cmd, func(cmd *cobra.Command, _ []string, root string) (err error) {
		lock, err := evidence.AcquireLock(broker.LockPath(root))
		if err != nil {
			return lockProblem(root, err)
		}
		defer func() {
			if e := lock.Release(); err == nil {
				err = e
			}
		}()
		if *newKey {
			err := evidence.CreateCheckpointKey(cmd.Context(), broker.StorePath(root))
			if errors.Is(err, wire.Refuse(wire.StoreExists)) {
				return instead(err, "the record has a key to sign with, so no new one was made", "Sign with it: mosaic bus checkpoint")
			}
			if err != nil {
				return err
			}
		}
		store, err := evidence.Open(cmd.Context(), broker.StorePath(root), evidence.Options{})
		if err != nil {
			return err
		}
		note, err := store.Checkpoint(cmd.Context())
		if e := store.Close(); err == nil {
			err = e
		}
		if err != nil {
			return err
		}
		signed := struct {
			Note string `json:"note"`
		}{note}
		return a.out.answer(signed, func(w *screen) {
			for _, line := range strings.Split(strings.TrimSuffix(note, "\n"), "\n") {
				w.line("%s", line)
			}
		})
	})
}

func (a *app) busMigrateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the record to the version of this program",
		Long: `Upgrades the record, step by step, each in one transaction, after a backup
beside it. The host must not run. A record of the current version stays as it is.`,
		Example: "mosaic bus migrate\nmosaic bus migrate --backup ~/backups/before.sqlite",
		Args:    arguments(),
	}
	backup := cmd.Flags().String("backup", "", "where to put the backup (default: beside the record)")
	without := cmd.Flags().Bool("no-backup", false, "make no backup")
	return a.offline(cmd, func(cmd *cobra.Command, _ []string, root string) error {
		done, err := evidence.Migrate(cmd.Context(), broker.StorePath(root), evidence.MigrateOptions{Backup: *backup, NoBackup: *without})
		if err != nil {
			return lockProblem(root, err)
		}
		a.out.did("mosaic bus verify")
		return a.out.answer(done, func(w *screen) {
			if done.From == done.To {
				w.line("The record has the current version %d.", done.To)
				return
			}
			w.line("Upgraded the record from version %d to %d: %s.", done.From, done.To, strings.Join(done.Steps, ", "))
			if done.Backup != "" {
				w.line("  the backup: %s", done.Backup)
			}
		})
	})
}

func (a *app) busUnlockCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "unlock",
		Short: "Free the lock of a host that crashed, when it is provably gone",
		Long: `Removes the lock and the sockets that a crashed host left, and says which. It
refuses while their owner lives, or when that cannot be told from here. A socket
is removed only when nobody listens at it, also when there is no lock any more.
The record itself is not touched.`,
		Example: "mosaic bus unlock",
		Args:    arguments(),
	}
	return a.offline(cmd, func(_ *cobra.Command, _ []string, root string) error {
		freed, err := host.Unlock(root)
		if err != nil {
			return lockProblem(root, err)
		}
		a.out.did("mosaic doctor")
		return a.out.answer(freed, func(w *screen) {
			if freed.Owner != nil {
				w.line("Process %d, which had the lock since %s, is gone. Removed:", freed.Owner.PID, freed.Owner.At)
			} else {
				w.line("Nobody has the lock, and nobody listens at these sockets. Removed:")
			}
			for _, path := range freed.Removed {
				w.line("  %s", path)
			}
			for _, path := range freed.InTheWay {
				w.line("Not removed, since it is no socket that a host left; find out what it is: %s", path)
			}
			w.line("Now start the host: mosaic up --detach")
		})
	})
}

func (a *app) busServeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run a broker alone, for a host program of your own",
		Long: `Runs a broker that takes its orders over an inherited socket, one JSON object a
line, boot first; docs/embedding.md says which. Exit code 2 means that it could not
start or that its host is lost.`,
		Example: "mosaic bus serve --control-fd 3",
		Args:    arguments(),
	}
	fd := cmd.Flags().Int("control-fd", -1, "descriptor of the inherited socket")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := a.operatorOnly(); err != nil {
			return err
		}
		if *fd < 0 {
			return usage("--control-fd is missing: %s --control-fd 3", cmd.UseLine())
		}
		syscall.CloseOnExec(*fd)
		file := os.NewFile(uintptr(*fd), "control")
		conn, err := net.FileConn(file)
		file.Close()
		if err != nil {
			return usage("descriptor %d is no socket", *fd)
		}
		ctx, restore := onHangup(cmd.Context(), false)
		defer restore()
		log := slog.New(slog.NewTextHandler(a.out.stderr, nil))
		if code := broker.ServeControl(ctx, conn, broker.Options{Log: log}); code != exitDone {
			return exitError(code)
		}
		return nil
	}
	return cmd
}
