package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"mosaicstack.dev/mosaic/internal/queue"
)

func (a *app) queueAddCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "add",
		Aliases: []string{"create"},
		Short:   "Add a row with a committed brief",
		Long: `Adds a row in the state queued. Its brief is a file that HEAD has, and with
#HEADING one heading of it; the row pins that version.

A seat adds rows for itself. The lead and the human may name another owner, and
give a gate, prerequisites, reviewers and the flag required.`,
		Example: `mosaic queue add --piece "Log in by link" --brief docs/briefs/login.md --op 2026-12-01-dev-add-login
mosaic queue add --piece "Import" --brief "docs/briefs/import.md#CSV" --owner dev --after 3,5:settled --reviewers rev --op 2026-12-01-pm-add-import --by pm`,
		Args: arguments(),
	}
	o := a.operation(cmd)
	var args queue.AddArgs
	piece := cmd.Flags().String("piece", "", "what it is, in one line of at most 200 characters")
	brief := cmd.Flags().String("brief", "", "PATH[#HEADING] of the committed brief")
	issues := cmd.Flags().StringSlice("issues", nil, "issue numbers, such as 12,15")
	note := cmd.Flags().String("note", "", "one line")
	owner := cmd.Flags().String("owner", "", "who does it (default the one who adds it)")
	gate := cmd.Flags().String("gate", "", "what must hold before it is done, in one line")
	gateOwner := cmd.Flags().String("gate-owner", "", "who judges the gate (default the human)")
	after := cmd.Flags().StringSlice("after", nil, "rows to wait for: ID, ID:done or ID:settled")
	reviewers := cmd.Flags().StringSlice("reviewers", nil, "seats that review it")
	cmd.Flags().BoolVar(&args.Required, "required", false, "it must be done: it cannot be parked")
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		switch {
		case *piece == "":
			return usage("--piece is missing: say in one line what it is")
		case *brief == "":
			return usage("--brief is missing: name the committed file that says what to do, PATH[#HEADING]")
		}
		if args.Brief, err = queue.ParseBrief(*brief); err != nil {
			return err
		}
		if args.Issues, err = numbers("issues", *issues); err != nil {
			return err
		}
		if args.After, err = prerequisites("after", *after); err != nil {
			return err
		}
		args.Piece, args.Note, args.Gate = *piece, *note, *gate
		args.Owner, args.GateOwner, args.Reviewers = queue.Seat(*owner), queue.Seat(*gateOwner), seats(*reviewers)
		return a.change(cmd.Context(), o, &args)
	}
	return cmd
}

func (a *app) queueMoveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "move ID STATE",
		Short: "Move a row to another state",
		Long: `The states are queued, briefed, in-progress, in-review, waiting-on-human (also
waiting-on- and the human's name), blocked, parked and done.

in-review: a row with reviewers needs --candidate, a commit or the path of a
manifest, and asks the reviewers by a comment on its issue. The request is sent
once; what became of it is in the receipt's exit code and in show.
blocked: needs --reason. Moving back from blocked goes to the state before.
done: from in-review needs --evidence round=N,candidate=DIGEST, and without
reviewers also comment=ID; from waiting-on-human the human moves it, or the lead
with --evidence that cites the human's approval.
in-progress from waiting-on-human: the human sends it back, with --reason.`,
		Example: `mosaic queue move 7 in-review --candidate HEAD --op 2026-12-01-dev-review-7
mosaic queue move 7 blocked --reason "waits for the new key" --op 2026-12-01-dev-block-7
mosaic queue move 7 done --evidence round=2,candidate=4b825dc642cb6eb9a060e54bf8d69288fbee4904 --op 2026-12-01-rev-done-7 --by rev`,
		Args: arguments("ID", "STATE"),
	}
	o := a.operation(cmd)
	reason := cmd.Flags().String("reason", "", "why")
	evidence := cmd.Flags().String("evidence", "", "what shows that it is done")
	candidate := cmd.Flags().String("candidate", "", "what is to be reviewed: a commit, or the path of a manifest")
	issue := cmd.Flags().Int("issue", 0, "issue to ask on, for a row with several")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := rowID(args[0])
		if err != nil {
			return err
		}
		move := queue.MoveArgs{Row: id, Reason: *reason, Evidence: *evidence, Candidate: *candidate}
		if cmd.Flags().Changed("issue") {
			move.Issue = issue
		}
		return a.move(cmd.Context(), o, move, args[1])
	}
	cmd.ValidArgsFunction = completeStates
	return cmd
}

// move moves a row. Only a name for the human's state needs the queue to be
// read first.
func (a *app) move(ctx context.Context, o *operation, args queue.MoveArgs, state string) error {
	c, op, by, err := o.begin(ctx)
	if err != nil {
		return err
	}
	human := queue.Seat("")
	if strings.HasPrefix(state, "waiting-on-") && state != string(queue.WaitingOnHuman) {
		r, err := c.Read(ctx)
		if err != nil {
			return err
		}
		human = r.State.Human
	}
	if args.To, err = queue.ParseState(state, human); err != nil {
		return err
	}
	if args.To == queue.InReview {
		asked, err := c.MoveInReview(ctx, op, by, args, a.transport(ctx, c))
		return a.asked(ctx, c, asked, err)
	}
	done, err := c.Record(ctx, op, by, &args)
	if err != nil {
		return err
	}
	return a.receipt(ctx, c, done)
}

// moveCommand is a short form of move. The log does not tell them apart
// (QUEUE-OPEN-34).
func (a *app) moveCommand(word, short, example string, to queue.State) *cobra.Command {
	cmd := &cobra.Command{Use: word + " ID", Short: short, Example: example, Args: arguments("ID")}
	o := a.operation(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := rowID(args[0])
		if err != nil {
			return err
		}
		return a.move(cmd.Context(), o, queue.MoveArgs{Row: id}, string(to))
	}
	return cmd
}

func (a *app) queueStartCommand() *cobra.Command {
	cmd := a.moveCommand("start", "Start a briefed row of yours: move ID in-progress",
		"mosaic queue start 7 --op 2026-12-01-dev-start-7", queue.InProgress)
	cmd.Aliases = []string{"claim"}
	return cmd
}

func (a *app) queueReleaseCommand() *cobra.Command {
	return a.moveCommand("release", "Give a started row back: move ID briefed",
		"mosaic queue release 7 --op 2026-12-01-dev-release-7", queue.Briefed)
}

func (a *app) queueParkCommand() *cobra.Command {
	return a.moveCommand("park", "Put a row aside: move ID parked, the human only",
		"mosaic queue park 7 --op 2026-12-01-dana-park-7 --by dana", queue.Parked)
}

func (a *app) queueUnparkCommand() *cobra.Command {
	return a.moveCommand("unpark", "Take a parked row back: move ID queued, the human only",
		"mosaic queue unpark 7 --op 2026-12-01-dana-unpark-7 --by dana", queue.Queued)
}

func (a *app) queueAssignCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "assign ID SEAT",
		Short:   "Give a row to another owner, with its claim",
		Example: "mosaic queue assign 7 dev --op 2026-12-01-pm-assign-7 --by pm",
		Args:    arguments("ID", "SEAT"),
	}
	o := a.operation(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := rowID(args[0])
		if err != nil {
			return err
		}
		return a.change(cmd.Context(), o, &queue.AssignArgs{Row: id, Owner: queue.Seat(args[1])})
	}
	return cmd
}

func (a *app) queueNoteCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "note ID [TEXT]",
		Short: "Replace a row's note, or the reason of a blocked row",
		Example: `mosaic queue note 7 "half of the import is done" --op 2026-12-01-dev-note-7
mosaic queue note 7 --reason "waits for the key until Friday" --op 2026-12-01-dev-reason-7`,
		Args: arguments("ID", "[TEXT]"),
	}
	o := a.operation(cmd)
	reason := cmd.Flags().String("reason", "", "why the row is blocked, in place of a note")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := rowID(args[0])
		if err != nil {
			return err
		}
		note := &queue.NoteArgs{Row: id, Reason: *reason}
		if len(args) == 2 {
			note.Note = &args[1]
		}
		if (note.Note == nil) == (*reason == "") {
			return usage("note takes a TEXT or --reason TEXT, one of both: %s", cmd.UseLine())
		}
		return a.change(cmd.Context(), o, note)
	}
	return cmd
}

func (a *app) queueSetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "set ID FIELD=VALUE...",
		Aliases: []string{"edit"},
		Short:   "Edit fields of a row, all or nothing",
		Long: `Fields: piece, gate, gateOwner, brief (PATH[#HEADING], pinned as HEAD has it),
after (ID[:when],...), reviewers, issues, closes (with --reason), required
(true or false). An empty value empties a list.`,
		Example: `mosaic queue set 7 brief=docs/briefs/login.md --op 2026-12-01-pm-repin-7 --by pm
mosaic queue set 7 after=3,5:settled reviewers=rev required=true --op 2026-12-01-pm-set-7 --by pm
mosaic queue set 7 closes=12 --reason "15 needs the second half" --op 2026-12-01-pm-closes-7 --by pm`,
		Args: arguments("ID", "FIELD=VALUE..."),
	}
	o := a.operation(cmd)
	reason := cmd.Flags().String("reason", "", "why, for closes")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := rowID(args[0])
		if err != nil {
			return err
		}
		set := &queue.SetArgs{Row: id, Reason: *reason}
		given := map[string]bool{}
		for _, word := range args[1:] {
			field, value, ok := strings.Cut(word, "=")
			if !ok {
				return usage("%q is no field with a value: write it as FIELD=VALUE", word)
			}
			if given[field] {
				return usage("the field %s is given twice", field)
			}
			given[field] = true
			if err := setField(set, field, value); err != nil {
				return err
			}
		}
		return a.change(cmd.Context(), o, set)
	}
	return cmd
}

// settable are the fields of set, and how each reads its value.
var settable = []struct {
	name string
	set  func(*queue.SetArgs, string) error
}{
	{"piece", func(s *queue.SetArgs, v string) error { s.Piece = &v; return nil }},
	{"gate", func(s *queue.SetArgs, v string) error { s.Gate = &v; return nil }},
	{"gateOwner", func(s *queue.SetArgs, v string) error { seat := queue.Seat(v); s.GateOwner = &seat; return nil }},
	{"brief", func(s *queue.SetArgs, v string) error {
		brief, err := queue.ParseBrief(v)
		s.Brief = &brief
		return err
	}},
	{"after", func(s *queue.SetArgs, v string) error {
		list, err := prerequisites("after", []string{v})
		list = append([]queue.After{}, list...)
		s.After = &list
		return err
	}},
	{"reviewers", func(s *queue.SetArgs, v string) error {
		list := append([]queue.Seat{}, seats([]string{v})...)
		s.Reviewers = &list
		return nil
	}},
	{"issues", func(s *queue.SetArgs, v string) error {
		list, err := numbers("issues", []string{v})
		list = append([]int{}, list...)
		s.Issues = &list
		return err
	}},
	{"closes", func(s *queue.SetArgs, v string) error {
		list, err := numbers("closes", []string{v})
		list = append([]int{}, list...)
		s.Closes = &list
		return err
	}},
	{"required", func(s *queue.SetArgs, v string) error {
		if v != "true" && v != "false" {
			return usage("required is true or false, not %q", v)
		}
		required := v == "true"
		s.Required = &required
		return nil
	}},
}

func setField(s *queue.SetArgs, field, value string) error {
	var known []string
	for _, f := range settable {
		if f.name == field {
			return f.set(s, value)
		}
		known = append(known, f.name)
	}
	if near := nearest(field, known); near != "" {
		return usage("there is no field %q; did you mean: %s", field, near)
	}
	if elsewhere := map[string]string{"owner": "assign ID SEAT", "state": "move ID STATE", "note": "note ID TEXT", "blockedReason": "note ID --reason TEXT"}[field]; elsewhere != "" {
		return usage("%s is changed with: mosaic queue %s", field, elsewhere)
	}
	return usage("there is no field %q; the fields are %s", field, strings.Join(known, ", "))
}

func (a *app) queueRosterCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "roster",
		Short: "Change who the lead, the seats and the labels are, the human only",
		Long: `What is not given stays. The lists are given whole. The human is who genesis
named, for good.`,
		Example: "mosaic queue roster --seats cto,dev,pm,rev --op 2026-12-01-dana-roster --by dana",
		Args:    arguments(),
	}
	o := a.operation(cmd)
	lead := cmd.Flags().String("lead", "", "the lead")
	list := cmd.Flags().StringSlice("seats", nil, "all seats")
	labels := cmd.Flags().StringSlice("labels", nil, "all labels: owners that are no seat")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		args := &queue.RosterArgs{}
		if cmd.Flags().Changed("lead") {
			seat := queue.Seat(*lead)
			args.Lead = &seat
		}
		if cmd.Flags().Changed("seats") {
			all := append([]queue.Seat{}, seats(*list)...)
			args.Seats = &all
		}
		if cmd.Flags().Changed("labels") {
			all := append([]queue.Seat{}, seats(*labels)...)
			args.Labels = &all
		}
		if *args == (queue.RosterArgs{}) {
			return usage("roster needs --lead, --seats or --labels")
		}
		return a.change(cmd.Context(), o, args)
	}
	return cmd
}

func completeStates(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) != 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var all []string
	for _, s := range queue.States {
		all = append(all, fmt.Sprint(s))
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}
