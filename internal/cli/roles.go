package cli

import (
	"time"

	"github.com/spf13/cobra"

	"mosaicstack.dev/mosaic/internal/wire"
)

// agent is a row of the verb agents. A role sees the claim only.
type agent struct {
	Role       wire.Role      `json:"role"`
	Definition string         `json:"definition"`
	Name       *string        `json:"name"`
	Run        wire.Run       `json:"run"`
	Harness    string         `json:"harness"`
	At         wire.Timestamp `json:"at"`
	State      string         `json:"state"`
	Working    *struct {
		Messages int            `json:"messages"`
		Since    wire.Timestamp `json:"since"`
	} `json:"working"`
	InputNeeded []struct {
		ID       wire.DecisionID `json:"id"`
		Question string          `json:"question"`
	} `json:"inputNeeded"`
	More     int `json:"inputNeededMore"` // decisions beyond these
	Stranded []struct {
		ID   wire.MessageID `json:"id"`
		From wire.Role      `json:"from"`
		At   wire.Timestamp `json:"at"`
	} `json:"stranded"`
}

func (a *app) agentsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "agents",
		Aliases: []string{"team", "roles", "who", "ls", "list"},
		Short:   "Show who holds which role and what they are doing",
		Example: "mosaic agents\nmosaic agents --json",
		Args:    arguments(),
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := a.session(cmd.Context())
		if err != nil {
			return err
		}
		reply, agents, err := whole[[]agent](cmd.Context(), s, "agents", none{})
		if err != nil {
			return err
		}
		return a.out.answer(reply, func(w *screen) { showAgents(w, agents) })
	}
	return cmd
}

func showAgents(w *screen, agents []agent) {
	if len(agents) == 0 {
		w.line("No role is held. Launch one: mosaic launch ROLE -- COMMAND")
		return
	}
	now := time.Now()
	var rows [][]string
	for _, g := range agents {
		name := string(g.Role)
		if g.Name != nil {
			name = word(*g.Name) + " (" + name + ")"
		}
		rows = append(rows, []string{name, g.Definition, short(g.Run), g.Harness, ago(g.At, now), g.State})
	}
	w.table([]string{"ROLE", "DEFINITION", "RUN", "HARNESS", "CLAIMED", "STATE"}, rows)
	for _, g := range agents {
		if g.Working != nil {
			w.line("%s has %s to deal with, the oldest handed over %s.", word(g.Role), plural(g.Working.Messages, "message"), ago(g.Working.Since, now))
		}
		for _, d := range g.InputNeeded {
			w.line("%s waits for your answer to %s:", word(g.Role), short(d.ID))
			w.body("  ", cut(d.Question, 60))
		}
		if g.More > 0 {
			w.line("%s waits for %d more answers.", g.Role, g.More)
		}
		for _, m := range g.Stranded {
			w.line("%s never read %s from %s; send it again if it still matters.", g.Role, short(m.ID), m.From)
		}
	}
}

// claimed is the result of role.claim.
type claimed struct {
	Role wire.Role      `json:"role"`
	Run  wire.Run       `json:"run"`
	At   wire.Timestamp `json:"at"`
}

func (a *app) claimCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "claim",
		Short:   "Claim the role that this run was launched for",
		Long:    "Claims the role of this run. Only a managed run can: the person has no role.",
		Example: "mosaic claim",
		Args:    arguments(),
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := a.session(cmd.Context())
		if err != nil {
			return err
		}
		c, err := verb[claimed](cmd.Context(), s, "role.claim", none{})
		if err != nil {
			return err
		}
		return a.out.answer(c, func(w *screen) { w.line("This run holds the role %s.", c.Role) })
	}
	return cmd
}

func (a *app) releaseCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "release",
		Short:   "Give the role of this run back",
		Long:    "Gives the role back. Messages that were received and not read stay with this run.",
		Example: "mosaic release",
		Args:    arguments(),
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := a.session(cmd.Context())
		if err != nil {
			return err
		}
		reply, err := verb[raw](cmd.Context(), s, "role.release", none{})
		if err != nil {
			return err
		}
		return a.out.answer(reply, func(w *screen) { w.line("The role is free again.") })
	}
	return cmd
}
