package cli

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mosaicstack.dev/mosaic/internal/launch"
)

// app is one command line on its way: its streams, its environment and the
// flags that every command has.
type app struct {
	stdin io.Reader
	out   *printer
	env   environment

	dataRoot string // --data-root, "" for the default
	business string // --business, "" for MOSAIC_BUSINESS or the only one

	args []string // the whole command line, to start it again (proof.go)
}

// Run runs one command line and returns its exit code. args come without the
// program's name; env has the form of os.Environ. Run prints the failure, so
// a caller has nothing left to do but exit.
//
// A command that acts as the person replaces the process once by itself to
// carry its proof (proof.go); Run does not return then.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	if len(args) > 0 && args[0] == launch.StageCommand {
		return launch.Stage(args[1:])
	}
	a := &app{stdin: stdin, env: parseEnvironment(env), args: args}
	a.out = newPrinter(stdout, stderr, a.env)
	a.out.json = wantsJSON(args)
	root := a.tree()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = a.out.failed
	}
	return a.out.finish(a.unproven(ctx, err))
}

// wantsJSON looks for --json before the flags are parsed, so that a mistyped
// flag is also answered in JSON. What follows "--" belongs to another program.
func wantsJSON(args []string) bool {
	for _, arg := range args {
		switch arg {
		case "--json", "--json=true":
			return true
		case "--":
			return false
		}
	}
	return false
}

// tree builds the command tree.
func (a *app) tree() *cobra.Command {
	root := a.group(&cobra.Command{
		Use:   "mosaic",
		Short: "Run a team of coding agents on this machine and stay in charge of it",
		Long: `Mosaic gives each agent a role with only the authority that you wrote down,
carries their messages, holds every risky action until you approve it, and
keeps a record that no agent can rewrite.`,
		Example: `mosaic init --human Dana --business acme
mosaic up --detach
mosaic inbox`,
	},
		group("Start", a.initCommand(), a.upCommand(), a.statusCommand(), a.downCommand(), a.doctorCommand(), a.demoCommand()),
		group("Decide", a.inboxCommand(), a.decideCommand(), a.seenCommand(), a.withdrawCommand(), a.decisionsCommand(), a.trailCommand()),
		group("Talk", a.sendCommand(), a.talkCommand(), a.messagesCommand(), a.receiveCommand(), a.readCommand(), a.repliesCommand()),
		group("Run", a.agentsCommand(), a.launchCommand(), a.runsCommand(), a.stopCommand(), a.launchesCommand()),
		group("As a role", a.claimCommand(), a.releaseCommand(), a.raiseCommand(), a.waitCommand(), a.landCommand()),
		group("Work", a.queueCommand(), a.ledgerCommand()),
		group("More", a.callCommand(), a.explainCommand(), a.busCommand(), a.completionCommand()),
	)
	root.AddCommand(a.runStageCommand(), a.humanShimCommand())
	flags := root.PersistentFlags()
	flags.StringVar(&a.dataRoot, "data-root", "", "where Mosaic keeps its files (default $MOSAIC_HOME, $XDG_DATA_HOME/mosaic or ~/.local/share/mosaic)")
	flags.StringVar(&a.business, "business", "", "business to act in (default $MOSAIC_BUSINESS or the only one)")
	flags.BoolVar(&a.out.json, "json", a.out.json, "print one JSON document on stdout and nothing else")
	flags.StringVar(&a.out.get, "get", "", "print only this field of the JSON document, such as id or messages.*.id")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return checkFlags(cmd) }
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(a.helpCommand())
	root.SetHelpFunc(a.help)
	a.versionFlag(root)
	root.SilenceErrors = true
	root.SilenceUsage = true
	root.SetFlagErrorFunc(flagError)
	plainUsage(root)
	return root
}

// plainUsage leaves "[flags]" out of usage lines: the help lists the flags.
func plainUsage(cmd *cobra.Command) {
	cmd.DisableFlagsInUseLine = true
	for _, c := range cmd.Commands() {
		plainUsage(c)
	}
}

// init keeps the commands of the help in the order of the tree, which is the
// order in which a person needs them. It is cobra's only setting for this.
func init() { cobra.EnableCommandSorting = false }

// section is the commands of one heading of the help.
type section struct {
	title    string
	commands []*cobra.Command
}

func group(title string, commands ...*cobra.Command) section { return section{title, commands} }

// group makes cmd a command that only has subcommands: alone it prints its
// help, and an unknown word is answered with the nearest known one.
func (a *app) group(cmd *cobra.Command, sections ...section) *cobra.Command {
	for _, s := range sections {
		if s.title != "" {
			cmd.AddGroup(&cobra.Group{ID: s.title, Title: s.title})
		}
		for _, c := range s.commands {
			c.GroupID = s.title
			cmd.AddCommand(c)
		}
	}
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		return cmd.Help()
	}
	return cmd
}

// arguments declares the positional arguments of a command by name; optional
// ones stand in brackets, and a last name with "..." takes all that is left.
func arguments(names ...string) cobra.PositionalArgs {
	required, most := 0, len(names)
	for _, n := range names {
		if n[0] != '[' {
			required++
		}
	}
	if most > 0 && strings.Contains(names[most-1], "...") {
		most = -1
	}
	return func(cmd *cobra.Command, args []string) error {
		for i, arg := range args {
			name := names[min(i, max(len(names)-1, 0)):]
			if len(name) == 0 {
				break
			}
			if err := checkArgument(strings.Trim(name[0], "[]."), arg, strings.Contains(name[0], "..."), cmd); err != nil {
				return err
			}
		}
		switch {
		case len(args) < required:
			return usage("%s is missing: %s", names[len(args)], cmd.UseLine())
		case most >= 0 && len(args) > most:
			return usage("%q is one argument too many: %s", echo(args[most]), cmd.UseLine())
		}
		return nil
	}
}

func flagError(cmd *cobra.Command, err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		return unknownFlag(cmd, unknown.GetSpecifiedName())
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		return usage("--%s takes %s, not %q: %s", invalid.GetFlag().Name, takes(invalid.GetFlag().Value.Type()), echo(invalid.GetValue()), cmd.UseLine())
	}
	return usage("%s: %s", echo(err.Error()), cmd.UseLine())
}

// takes says what a flag of a type wants, for people.
func takes(kind string) string {
	switch kind {
	case "duration":
		return "a duration such as 30s or 2m"
	case "int":
		return "a whole number"
	case "bool":
		return "true or false"
	}
	return "a " + kind
}
