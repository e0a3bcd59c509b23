package cli

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"mosaicstack.dev/mosaic/internal/host"
	"mosaicstack.dev/mosaic/internal/org"
)

// completionTime is how long a completion waits for answers, which leaves the
// rest of 100 ms for starting the program. Whatever is not known by then is not
// offered: a shell that hangs is worse than one that knows less.
const completionTime = 60 * time.Millisecond

func (a *app) completionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:       "completion bash|zsh|fish",
		Short:     "Print the completion script for a shell",
		Example:   "mosaic completion bash > ~/.local/share/bash-completion/completions/mosaic\nmosaic completion fish > ~/.config/fish/completions/mosaic.fish",
		Args:      arguments("bash|zsh|fish"),
		ValidArgs: []string{"bash", "zsh", "fish"},
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var b bytes.Buffer
		var err error
		switch root := cmd.Root(); args[0] {
		case "bash":
			err = root.GenBashCompletionV2(&b, true)
		case "zsh":
			err = root.GenZshCompletion(&b)
		case "fish":
			err = root.GenFishCompletion(&b, true)
		default:
			return usage("%q is none of bash, zsh and fish: %s", echo(args[0]), cmd.UseLine())
		}
		if err != nil {
			return err
		}
		script := struct {
			Shell  string `json:"shell"`
			Script string `json:"script"`
		}{args[0], b.String()}
		return a.out.answer(script, func(w *screen) { w.text.Write(b.Bytes()) })
	}
	return cmd
}

// complete offers what find knows in time for the first argument, and nothing
// when it fails.
func (a *app) complete(args []string, find func(ctx context.Context, s *session) []string) ([]string, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	if len(args) > 0 {
		return nil, directive
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionTime)
	defer cancel()
	s, err := a.session(ctx)
	if err != nil {
		return nil, directive
	}
	return find(ctx, s), directive
}

func (a *app) completeDecisions(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.complete(args, func(ctx context.Context, s *session) []string {
		var words []string
		open, _ := openDecisions(ctx, s)
		for _, d := range open {
			words = append(words, cobra.CompletionWithDesc(short(d.ID), visible(d.Authorization.String())))
		}
		return words
	})
}

func (a *app) completeMessages(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.complete(args, func(ctx context.Context, s *session) []string {
		var words []string
		page, _ := verb[feed](ctx, s, "messages", map[string]int{"limit": 50})
		for _, m := range page.Messages {
			words = append(words, cobra.CompletionWithDesc(short(m.ID), cut(visible(string(m.FromRole)+": "+m.Body), 50)))
		}
		return words
	})
}

func (a *app) completeRuns(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.complete(args, func(ctx context.Context, s *session) []string {
		var words []string
		list, _ := hostVerb[host.RunList](ctx, s, "runs", none{})
		for _, r := range list.Runs {
			words = append(words, cobra.CompletionWithDesc(short(r.Run), string(r.Instance)+" "+string(r.State)))
		}
		return words
	})
}

// completeRoles offers the roles of the organization file; nobody is asked, so
// that they are offered while no host runs too.
func (a *app) completeRoles(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp
	if len(args) > 0 {
		return nil, directive
	}
	root, err := a.root()
	if err != nil {
		return nil, directive
	}
	organization, err := org.Load(root)
	if err != nil {
		return nil, directive
	}
	named := a.business
	if named == "" {
		named = a.env["MOSAIC_BUSINESS"]
	}
	var words []string
	for id, business := range organization.Businesses {
		if named != "" && string(id) != named {
			continue
		}
		for role, instance := range business.Roles {
			words = append(words, cobra.CompletionWithDesc(string(role), instance.Definition))
		}
	}
	slices.Sort(words)
	return slices.Compact(words), directive
}
