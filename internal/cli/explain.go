package cli

import (
	"github.com/spf13/cobra"

	"mosaicstack.dev/mosaic/internal/wire"
)

// codeWords is a code as explain prints it in JSON.
type codeWords struct {
	Code     wire.Code `json:"code"`
	Sentence string    `json:"sentence"`
	Cause    string    `json:"cause"`
	Remedy   string    `json:"remedy,omitempty"`
}

func (a *app) explainCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "explain [CODE]",
		Short:   "Say what an error code means and what to do",
		Example: "mosaic explain decision-consumed\nmosaic explain",
		Args:    arguments("[CODE]"),
	}
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var codes []string
		for _, info := range wire.Codes {
			codes = append(codes, string(info.Code))
		}
		return codes, cobra.ShellCompDirectiveNoFileComp
	}
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			all := make([]codeWords, len(wire.Codes))
			for i, info := range wire.Codes {
				all[i] = a.words(info)
			}
			return a.out.answer(all, func(w *screen) {
				var rows [][]string
				for _, c := range all {
					rows = append(rows, []string{string(c.Code), c.Sentence})
				}
				w.table([]string{"CODE", "MEANING"}, rows)
			})
		}
		info, ok := wire.Explain(wire.Code(args[0]))
		if !ok {
			if near, ok := wire.NearestCode(args[0]); ok {
				return explained(wire.Refuse(wire.UnknownCode), "did you mean: mosaic explain %s", near)
			}
			return wire.Refuse(wire.UnknownCode)
		}
		words := a.words(info)
		return a.out.answer(words, func(w *screen) {
			w.line("%s: %s.", w.bold("%s", words.Code), words.Sentence)
			w.body("  ", words.Cause)
			if words.Remedy != "" {
				w.body("  ", words.Remedy)
			}
		})
	}
	return cmd
}

// words are the words about a code. A managed run is not shown what is meant
// for the person who keeps the host: agents do what a remedy says.
func (a *app) words(info wire.CodeInfo) codeWords {
	w := codeWords{info.Code, info.Sentence, info.Cause, info.Remedy}
	if a.out.managed && info.Operator {
		w.Remedy = ""
	}
	return w
}
