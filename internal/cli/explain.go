package cli

import (
	"github.com/spf13/cobra"

	"mosaicstack.dev/mosaic/internal/org"
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
		Use:   "explain [CODE|actions]",
		Short: "Say what an error code means and what to do; list the actions",
		Long: `Says what an error code means and what to do. Without CODE it lists the codes.
"actions" lists what a role can ask for with mosaic raise.`,
		Example: "mosaic explain decision-consumed\nmosaic explain\nmosaic explain actions",
		Args:    arguments("[CODE|actions]"),
	}
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		codes := []string{"actions"}
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
		if args[0] == "actions" {
			return a.explainActions()
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
			w.prose("  ", words.Cause)
			if words.Remedy != "" {
				w.prose("  ", words.Remedy)
			}
		})
	}
	return cmd
}

// actionWords is an action as explain prints it in JSON.
type actionWords struct {
	Name    string `json:"name"`
	Meaning string `json:"meaning"`
	Granted bool   `json:"mayBeGranted"` // to a role; otherwise it always waits for the person
}

func (a *app) explainActions() error {
	var all []actionWords
	for _, v := range org.Vocabulary {
		all = append(all, actionWords{v.Name, v.Summary, v.Routed})
	}
	return a.out.answer(all, func(w *screen) {
		var rows [][]string
		for _, v := range all {
			who := "you, always"
			if v.Granted {
				who = "as the role file says"
			}
			rows = append(rows, []string{v.Name, who, v.Meaning})
		}
		w.table([]string{"ACTION", "WHO DECIDES", "MEANING"}, rows)
	})
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
