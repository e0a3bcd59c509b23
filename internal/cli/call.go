package cli

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"

	"mosaicstack.dev/mosaic/internal/broker"
	"mosaicstack.dev/mosaic/internal/wire"
)

func (a *app) callCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "call VERB [JSON]",
		Short: "Call any verb of the bus with its arguments as JSON",
		Long: `Calls a verb as whoever the environment proves, and prints its result as JSON.
With - for JSON the arguments are read from stdin.`,
		Example: `mosaic call inbox
mosaic call message.send '{"to":"dev","body":"Good morning"}'`,
		Args: arguments("VERB", "[JSON]"),
	}
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return verbNames(), cobra.ShellCompDirectiveNoFileComp
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := a.session(cmd.Context())
		if err != nil {
			return err
		}
		text := "{}"
		if len(args) == 2 {
			text = args[1]
		}
		if text == "-" {
			if text, err = a.input(cmd.Context()); err != nil {
				return err
			}
		}
		if !json.Valid([]byte(text)) {
			return explained(wire.RefuseField(wire.InvalidRequest, "args"), "the arguments are not valid JSON")
		}
		reply, err := verb[raw](cmd.Context(), s, args[0], json.RawMessage(text))
		if errors.Is(err, wire.Refuse(wire.UnknownVerb)) {
			if near := nearest(args[0], verbNames()); near != "" {
				return explained(err, "did you mean: mosaic call %s", near)
			}
		}
		if err != nil {
			return err
		}
		return a.out.answer(reply, func(w *screen) { w.json(reply) })
	}
	return cmd
}

func verbNames() []string {
	var names []string
	for _, v := range broker.Verbs {
		names = append(names, v.Name)
	}
	return names
}

func verbRows() [][2]string {
	var rows [][2]string
	for _, v := range broker.Verbs {
		rows = append(rows, [2]string{v.Name, v.Summary})
	}
	return rows
}

// json prints a document for people: indented, and as safe as with --json.
func (s *screen) json(doc json.RawMessage) {
	var b bytes.Buffer
	if json.Indent(&b, doc, "", "  ") != nil {
		return
	}
	b.WriteByte('\n')
	s.text.Write(escapeControls(b.Bytes()))
}
