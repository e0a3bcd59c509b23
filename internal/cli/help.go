package cli

import (
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// version is the version that was built into this program.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "unknown"
	}
	return info.Main.Version
}

func (a *app) helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND...]",
		Short:   "Show the help of a command",
		Example: "mosaic help decide",
		RunE: func(cmd *cobra.Command, args []string) error {
			found, left, err := cmd.Root().Find(args)
			if err != nil || len(left) > 0 {
				return unknownCommand(found, left[0])
			}
			return found.Help()
		},
	}
}

// versionFlag gives the root a --version that is an answer like any other.
func (a *app) versionFlag(root *cobra.Command) {
	asked := root.Flags().Bool("version", false, "print the version")
	help := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if !*asked {
			return help(cmd, args)
		}
		v := struct {
			Version string `json:"version"`
		}{version()}
		return a.out.answer(v, func(w *screen) { w.line("mosaic %s", v.Version) })
	}
}

// helpDocument is the help of a command in JSON.
type helpDocument struct {
	Command  string        `json:"command"`
	Summary  string        `json:"summary"`
	Text     string        `json:"text,omitempty"`
	Usage    string        `json:"usage"`
	Examples []string      `json:"examples"`
	Aliases  []string      `json:"aliases"`
	Commands []helpCommand `json:"commands"`
	Flags    []helpFlag    `json:"flags"`
}

type helpCommand struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
}

type helpFlag struct {
	Name string `json:"name"` // with what it takes
	Text string `json:"text"`
}

func documentOf(cmd *cobra.Command) helpDocument {
	d := helpDocument{
		Command: cmd.CommandPath(), Summary: cmd.Short, Text: cmd.Long, Usage: cmd.UseLine(),
		Examples: strings.Split(cmd.Example, "\n"), Aliases: cmd.Aliases,
	}
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			d.Commands = append(d.Commands, helpCommand{c.Name(), c.Short})
		}
	}
	for _, r := range append(flagRows(cmd.LocalNonPersistentFlags()), flagRows(cmd.Root().PersistentFlags())...) {
		d.Flags = append(d.Flags, helpFlag{r[0], r[1]})
	}
	return d
}

// help prints the help of a command: examples first, because they are what
// most people came for. Cobra takes no error from it, so the printer keeps it.
func (a *app) help(cmd *cobra.Command, _ []string) {
	a.out.failed = a.out.answer(documentOf(cmd), func(w *screen) {
		for i, example := range strings.Split(cmd.Example, "\n") {
			if i == 0 {
				w.line("%s", w.bold("Examples"))
			}
			w.line("  $ %s", example)
		}
		w.gap()
		text := cmd.Long
		if text == "" {
			text = cmd.Short + "."
		}
		for _, line := range strings.Split(text, "\n") {
			for _, part := range fold(line, w.columns()) {
				w.line("%s", part)
			}
		}
		if cmd.Name() == "call" {
			w.section("Verbs", verbRows())
		}
		w.gap()
		w.line("%s %s", w.bold("Usage"), cmd.UseLine())
		if len(cmd.Aliases) > 0 {
			w.line("%s %s", w.bold("Also"), strings.Join(cmd.Aliases, ", "))
		}
		for _, g := range cmd.Groups() {
			var rows [][2]string
			for _, c := range cmd.Commands() {
				if c.GroupID == g.ID && !c.Hidden {
					rows = append(rows, [2]string{c.Name(), c.Short})
				}
			}
			w.section(g.Title, rows)
		}
		w.section("Flags", flagRows(cmd.LocalNonPersistentFlags()))
		w.section("Flags of every command", flagRows(cmd.Root().PersistentFlags()))
		if cmd.HasAvailableSubCommands() {
			w.gap()
			w.line("%s COMMAND --help tells more.", cmd.CommandPath())
		}
	})
}

// section prints a heading and two columns, or nothing.
func (s *screen) section(title string, rows [][2]string) {
	if len(rows) == 0 {
		return
	}
	s.gap()
	s.line("%s", s.bold("%s", title))
	wide := 0
	for _, r := range rows {
		wide = max(wide, len(r[0]))
	}
	for _, r := range rows {
		lines := fold(r[1], s.columns()-wide-4)
		s.line("  %s  %s", styled(r[0]+strings.Repeat(" ", wide-len(r[0]))), lines[0])
		for _, l := range lines[1:] {
			s.line("  %s  %s", styled(strings.Repeat(" ", wide)), l)
		}
	}
}

func flagRows(flags *pflag.FlagSet) [][2]string {
	var rows [][2]string
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" || f.Name == "version" {
			return
		}
		name := "--" + f.Name
		switch f.Value.Type() {
		case "bool":
		case "duration":
			name += " DUR"
		case "int":
			name += " N"
		case "stringArray":
			name += " KEY=TEXT"
		default:
			name += " " + strings.ToUpper(f.Name)
		}
		rows = append(rows, [2]string{name, f.Usage})
	})
	return rows
}
