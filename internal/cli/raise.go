package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"mosaicstack.dev/mosaic/internal/wire"
)

// raiseArgs are the arguments of decision.raise that the command line offers.
type raiseArgs struct {
	Action         string          `json:"action"`
	Question       string          `json:"question"`
	Options        []option        `json:"options"`
	Recommendation string          `json:"recommendation"`
	Blocking       bool            `json:"blocking"`
	ApprovalChoice string          `json:"approvalChoice,omitempty"`
	Choice         string          `json:"choice,omitempty"`
	Domain         string          `json:"domain,omitempty"`
	Target         *string         `json:"target,omitempty"`
	TaskRef        wire.TaskRef    `json:"task_ref,omitempty"`
	RequirementRef string          `json:"requirement_ref,omitempty"`
	Supersedes     wire.DecisionID `json:"supersedes,omitempty"`
	Project        string          `json:"project,omitempty"`
	SpecPath       string          `json:"spec_path,omitempty"`
	SpecCommit     string          `json:"spec_commit,omitempty"`
}

func (a *app) raiseCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "raise ACTION",
		Short: "Ask for the approval of an action, as a role",
		Long: `Asks for an approval. It does not wait: go on with other work, and wait for the
answer with "mosaic wait ID". The option named by --approve is the one that
approves; without it that is the option "yes".

The target is what exactly the approval is for, and an approval is good for
nothing else. That of git.merge.protected is PROJECT/BRANCH@COMMIT, with the full
id of the commit, as "mosaic land" needs it.`,
		Example: `mosaic raise git.merge.protected --target web/main@3f786850e387550fdab836ed7e6dc881de23001b --task queue:1 --blocking --question "Merge the fix?" --option yes="Merge it" --option no="Leave it" --recommend yes
mosaic raise routine --question "Which parser?" --option a="The old one" --option b="The new one" --recommend b --approve b --choice b`,
		Args: arguments("ACTION"),
	}
	var r raiseArgs
	flags := cmd.Flags()
	var options []string
	flags.StringVar(&r.Question, "question", "", "what is asked")
	flags.StringArrayVar(&options, "option", nil, "an answer as KEY=TEXT; give two to nine")
	flags.StringVar(&r.Recommendation, "recommend", "", "key of the option that you recommend")
	flags.StringVar(&r.ApprovalChoice, "approve", "", "key of the option that approves (default yes)")
	flags.StringVar(&r.Choice, "choice", "", "your own answer, for an action within your role")
	flags.BoolVar(&r.Blocking, "blocking", false, "hold the task of --task until it is answered")
	target := flags.String("target", "", "what the action is done to, such as a role, or PROJECT/BRANCH@COMMIT")
	flags.StringVar((*string)(&r.TaskRef), "task", "", "task that it is about, such as queue:1")
	flags.StringVar(&r.RequirementRef, "requirement", "", "requirement that it is about, such as REQ-API-1")
	flags.StringVar(&r.Domain, "domain", "", "delivery (default) or technical")
	flags.StringVar((*string)(&r.Supersedes), "supersedes", "", "id of your open decision that this replaces")
	flags.StringVar(&r.Project, "project", "", "project of a cited spec")
	flags.StringVar(&r.SpecPath, "spec-path", "", "path of a cited spec")
	flags.StringVar(&r.SpecCommit, "spec-commit", "", "commit of a cited spec")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r.Action = args[0]
		if cmd.Flags().Changed("target") {
			r.Target = target
		}
		for _, o := range options {
			key, text, ok := strings.Cut(o, "=")
			if !ok {
				return usage("--option %q has no text; write it as KEY=TEXT", echo(o))
			}
			r.Options = append(r.Options, option{Key: key, Text: text})
		}
		for flag, value := range map[string]string{"question": r.Question, "recommend": r.Recommendation} {
			if value == "" {
				return usage("--%s is missing: %s", flag, cmd.UseLine())
			}
		}
		if len(r.Options) < 2 {
			return usage("give at least two of --option KEY=TEXT")
		}
		s, err := a.session(cmd.Context())
		if err != nil {
			return err
		}
		if r.Supersedes, err = findDecisionID(cmd.Context(), s, string(r.Supersedes)); err != nil {
			return err
		}
		reply, d, err := whole[decision](cmd.Context(), s, "decision.raise", r)
		if err != nil {
			return err
		}
		return a.out.answer(reply, func(w *screen) {
			w.line("Asked %s for %s: %s", d.Route, d.Authorization.String(), d.ID)
			w.line("  mosaic wait %s", d.ID)
		})
	}
	return cmd
}

// outcome is what a wait for a decision found.
type outcome struct {
	Decision wire.DecisionID `json:"decision"`
	State    string          `json:"state"` // open, resolved or withdrawn
	Approved bool            `json:"approved"`
	Choice   *string         `json:"choice"`
	Note     *string         `json:"note"`
	By       string          `json:"by,omitempty"`
}

func (a *app) waitCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "wait DECISION",
		Short: "Wait for the answer to a decision and print it",
		Long: `Waits until a decision is closed, and prints the choice.

Exit codes: 0 approved; 2 answered otherwise or withdrawn (the answer is
printed all the same); 3 still open when the time was up, which is not a no.`,
		Example: "mosaic wait 0197c3a0-7d1e-7c55-9f3a-2b6f5f0c9e21 --timeout 10m",
		Args:    arguments("DECISION"),
	}
	timeout := waiting(cmd, "timeout", 0, "how long to wait (default: until it is closed)")
	cmd.ValidArgsFunction = a.completeDecisions
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		wait := *timeout
		if !cmd.Flags().Changed("timeout") {
			wait = -1
		}
		s, err := a.session(ctx)
		if err != nil {
			return err
		}
		d, err := findDecision(ctx, s, args[0])
		if err != nil {
			return err
		}
		a.out.progress("waiting for the answer to %s ...", short(d.ID))
		result := outcome{Decision: d.ID, State: "open"}
		_, err = poll(ctx, max(wait, -1), func() (bool, error) {
			last, err := lastDecisionEvent(ctx, s, d.ID)
			if err != nil || last == nil || last.decisionEvent.Kind == kindSeen {
				return false, err
			}
			event := last.decisionEvent
			result.State, result.Choice, result.Note, result.By = event.Kind, event.Choice, event.Note, event.By
			result.Approved = event.approves(d)
			return true, nil
		})
		if err != nil {
			return err
		}
		if err := a.out.answer(result, func(w *screen) { showOutcome(w, result) }); err != nil {
			return err
		}
		switch {
		case result.Approved:
			return nil
		case result.State == "open":
			return exitError(exitUncertain)
		}
		return exitError(exitRefused)
	}
	return cmd
}

func showOutcome(w *screen, o outcome) {
	switch {
	case o.Choice != nil:
		w.line("%s", word(*o.Choice))
	case o.State == "open":
		w.line("still open")
	default:
		w.line("%s", o.State)
	}
	showNote(w, o.Note)
}
