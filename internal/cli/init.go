package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"mosaicstack.dev/mosaic/internal/broker"
	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/org"
	"mosaicstack.dev/mosaic/internal/wire"
)

func (a *app) initCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Make a data root with an organization file and an empty record",
		Long: `Makes the data root with a first organization file, which you then edit, and an
empty record. It never touches an organization or a record that is there; what
an interrupted init has left is completed by running init again.

Without --human and --business it asks, on a terminal only; --yes takes your
account's name and the business "main".`,
		Example: `mosaic init --human Dana --business acme
mosaic init --data-root ~/mosaic --yes`,
		Args: arguments(),
	}
	human := cmd.Flags().String("human", "", "your name, as the record has it")
	business := cmd.Flags().String("business", "", "id of the business: a-z, 0-9 and -")
	yes := cmd.Flags().Bool("yes", false, "ask nothing and take the defaults")
	// --business is also a flag of every command; here it names a new one.
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := a.operatorOnly(); err != nil {
			return err
		}
		root, err := a.root()
		if err != nil {
			return err
		}
		if err := a.fill(cmd.Context(), human, "human", "Your name", a.accountName(), *yes); err != nil {
			return err
		}
		if err := a.fill(cmd.Context(), business, "business", "Id of your business", "main", *yes); err != nil {
			return err
		}
		if err := makeRoot(cmd.Context(), root, *human, *business); err != nil {
			return err
		}
		a.out.did("mosaic doctor")
		made := struct {
			DataRoot     string `json:"dataRoot"`
			Organization string `json:"organization"`
			Business     string `json:"business"`
			Human        string `json:"human"`
		}{root, filepath.Join(root, org.File), *business, *human}
		return a.out.answer(made, func(w *screen) {
			w.line("Made %s for %s, business %s.", made.DataRoot, made.Human, made.Business)
			w.line("Look at the team, and name the projects it works in:")
			w.line("  %s", made.Organization)
			w.line("Then start the host:")
			w.line("  mosaic up --detach")
			w.line("A repository's queue of work, and a section for its AGENTS.md:")
			w.line("  mosaic queue genesis --help")
			w.line("  mosaic queue genesis --agents")
		})
	}
	return cmd
}

// fill asks for a value that no flag gave, or takes its default with --yes.
func (a *app) fill(ctx context.Context, value *string, flag, question, proposal string, yes bool) error {
	var err error
	switch {
	case *value != "":
	case yes:
		*value = proposal
	case !a.interactive():
		return usage("--%s is missing, and there is no terminal to ask on; --yes takes %q", flag, proposal)
	default:
		*value, err = a.ask(ctx, question, proposal)
	}
	return err
}

// accountName is a name to propose for the person.
func (a *app) accountName() string {
	for _, name := range []string{a.env["USER"], a.env["LOGNAME"]} {
		if org.HumanID(name) != "" {
			return name
		}
	}
	return "human"
}

// makeRoot makes everything that init makes, or nothing. The organization file
// gets its name last and in one step: after an interruption at any point there
// is either no organization, and a second init completes what is missing, or
// all of it.
func makeRoot(ctx context.Context, root, human, business string) (err error) {
	organization, store := filepath.Join(root, org.File), broker.StorePath(root)
	// Both are refused before anything is made.
	if exists(organization) {
		return wire.Refuse(wire.OrganizationExists)
	}
	if exists(store) && len(org.Unfinished(root)) == 0 {
		return wire.Refuse(wire.StoreExists)
	}
	var made []string // what to take away again after a failure, oldest first
	defer func() {
		for i := len(made) - 1; err != nil && i >= 0; i-- {
			os.Remove(made[i])
		}
	}()
	if err := makeDirectory(root, &made); err != nil {
		return err
	}
	unlock, err := lockDirectory(root) // against another init
	if err != nil {
		return err
	}
	defer unlock()
	unfinished, hasStore := org.Unfinished(root), exists(store)
	if hasStore && len(unfinished) == 0 && !exists(organization) {
		return wire.Refuse(wire.StoreExists)
	}
	pending, err := org.Begin(root, human, business)
	if err != nil {
		return err
	}
	if !hasStore { // else it goes on saying that the store is not finished
		made = append(made, pending.Path())
	}
	for _, path := range unfinished {
		os.Remove(path)
	}
	if err := makeDirectory(broker.BusDirectory(root), &made); err != nil {
		return err
	}
	if err := evidence.ClearUnfinished(store); err != nil {
		return err
	}
	if !hasStore {
		if err := evidence.Create(ctx, store); err != nil {
			return err
		}
		made = append(made, store)
	}
	if !evidence.HasCheckpointKey(store) {
		if err := evidence.CreateCheckpointKey(ctx, store); err != nil {
			return err
		}
	}
	return pending.Publish()
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// lockDirectory waits until this process alone works in a directory.
func lockDirectory(path string) (unlock func(), err error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, explained(wire.Refuse(wire.DataRootUnsafe), "%s", err)
	}
	if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX); err != nil {
		dir.Close()
		return nil, explained(wire.Refuse(wire.DataRootUnsafe), "%s", err)
	}
	return func() { dir.Close() }, nil
}

// makeDirectory makes a private directory, or accepts one of this user's that
// is private already.
func makeDirectory(path string, made *[]string) error {
	missing := []string{}
	for dir := path; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		missing = append([]string{dir}, missing...)
	}
	for _, dir := range missing {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return explained(wire.RefuseDisk(err, wire.DataRootUnsafe), "%s could not be made", dir)
		}
		*made = append(*made, dir)
	}
	info, err := os.Lstat(path)
	if err != nil {
		return explained(wire.RefuseDisk(err, wire.DataRootUnsafe), "%s cannot be looked at", path)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || info.Mode().Perm() != 0o700 || !ok || int(owner.Uid) != os.Geteuid() {
		return explained(wire.Refuse(wire.DataRootUnsafe), "%s must be a directory of yours with mode 0700", path)
	}
	return nil
}
