package cli

import (
	"slices"

	"github.com/spf13/cobra"

	"mosaicstack.dev/mosaic/internal/org"
	"mosaicstack.dev/mosaic/internal/queue"
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
		for _, info := range allCodes() {
			codes = append(codes, string(info.Code))
		}
		return codes, cobra.ShellCompDirectiveNoFileComp
	}
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			all := make([]codeWords, 0, len(wire.Codes)+len(queue.Codes))
			for _, info := range allCodes() {
				all = append(all, a.words(info))
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
		info, ok := explainCode(args[0])
		if !ok {
			if near := nearestCode(args[0]); near != "" {
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

// allCodes are the codes of the bus and then those of the queue, of which a few
// are in both: the bus's words come first.
func allCodes() []wire.CodeInfo {
	all := slices.Clone(wire.Codes)
	for _, info := range queue.Codes {
		if _, both := wire.Explain(info.Code); !both {
			all = append(all, info)
		}
	}
	return all
}

func explainCode(code string) (wire.CodeInfo, bool) {
	for _, info := range allCodes() {
		if string(info.Code) == code {
			return info, true
		}
	}
	return wire.CodeInfo{}, false
}

func nearestCode(word string) string {
	var known []string
	for _, info := range allCodes() {
		known = append(known, string(info.Code))
	}
	near, _ := wire.Nearest(word, known)
	return near
}
