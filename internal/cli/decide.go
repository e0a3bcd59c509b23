package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mosaicstack.dev/mosaic/internal/wire"
)

// inbox is the reply of the verb inbox (BUS-OPEN-111). A role gets the number
// of its undelivered messages instead of a list.
type inbox struct {
	Decisions []decision     `json:"decisions"`
	More      int            `json:"more"` // open decisions beyond these
	Messages  raw            `json:"messages"`
	Unread    int            `json:"unread"` // all of the person's; Messages may hold fewer
	At        wire.Timestamp `json:"at"`
}

func (a *app) inboxCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "inbox",
		Aliases: []string{"waiting", "todo"},
		Short:   "Show what waits for you: decisions, gated ones first, and unread messages",
		Example: `mosaic inbox
mosaic inbox --json`,
		Args: arguments(),
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := a.session(cmd.Context())
		if err != nil {
			return err
		}
		reply, box, err := whole[inbox](cmd.Context(), s, "inbox", none{})
		if err != nil {
			return err
		}
		return a.out.answer(reply, func(w *screen) { showInbox(w, box) })
	}
	return cmd
}

// What the inbox shows of the unread messages: whoever writes at length must
// not move the decisions off the screen.
const (
	inboxMessages = 10 // the oldest
	inboxLines    = 3  // of each
)

func showInbox(w *screen, box inbox) {
	now := time.Now()
	var messages []message
	count := 0
	if decode(box.Messages, &messages) == nil {
		count = len(messages)
	} else if decode(box.Messages, &count) != nil {
		count = 0
	}
	if len(box.Decisions) == 0 && count == 0 {
		w.line("Nothing waits for you.")
		return
	}
	for _, d := range box.Decisions {
		w.gap()
		showDecision(w, d, now)
		for _, o := range d.Options {
			w.line("  mosaic decide %s %s", short(d.ID), o.Key)
		}
	}
	if box.More > 0 {
		w.gap()
		w.line("%s wait; these are shown first. Answer or withdraw some of these to see the others.", plural(len(box.Decisions)+box.More, "decision"))
	}
	switch {
	case len(messages) > 0:
		w.gap()
		w.line("%s", w.bold("%s unread", plural(max(box.Unread, len(messages)), "message")))
		shown := messages[:min(len(messages), inboxMessages)]
		for _, m := range shown {
			showExcerpt(w, m, now)
		}
		w.line("  mosaic read %s", short(messages[0].ID))
		if box.Unread > len(shown) {
			w.line("%d more: mosaic messages --limit 200", box.Unread-len(shown))
		}
	case count > 0:
		w.gap()
		w.line("%s waiting: mosaic receive", plural(count, "message"))
	}
}

// showDecision shows a decision with what an approval would authorize
// (BUS-DEC-74). Which option approves is said by the decision alone, never by
// the recommendation or the order (BUS-DEC-75).
func showDecision(w *screen, d decision, now time.Time) {
	class := strings.ToUpper(d.Class)
	w.line("%s  %s  %s", w.yellow("%s", class), w.bold("%s", d.Authorization.String()), w.dim("%s", d.ID))
	if t, ok := d.Authorization.landing(); ok {
		w.line("  project %s, branch %s, commit %s", t.Project, t.Branch, t.Commit)
	} else {
		showTarget(w, "  ", d.Authorization)
	}
	w.line("  %s asks:", word(d.RaisedByRole))
	w.body("    ", d.Question)
	for _, o := range d.Options {
		marks := []string{"approves nothing"}
		if o.Key == d.Authorization.ApprovalChoice {
			marks[0] = "approves " + d.Authorization.String()
		}
		if o.Key == d.Recommendation {
			marks = append(marks, "recommended by "+word(d.RaisedByRole))
		}
		w.line("  %s  %s", w.bold("%s", word(o.Key)), styled("["+visible(strings.Join(marks, "; "))+"]"))
		w.body("    ", o.Text)
	}
	facts := []string{"raised " + ago(d.At, now)}
	if d.TaskRef != nil {
		task := "about " + word(*d.TaskRef)
		if d.Blocking {
			task = word(*d.TaskRef) + " waits for it"
		}
		facts = append(facts, task)
	}
	if d.Route != wire.HumanRole {
		facts = append(facts, "routed to "+word(d.Route))
	}
	w.line("  %s", w.dim("%s", strings.Join(facts, "; ")))
	if d.Clipped {
		w.line("  Its texts are cut here; whole: mosaic trail %s", short(d.ID))
	}
}

// showTarget shows a target whole that does not pass as a plain word: what an
// approval allows is never told in part alone.
func showTarget(w *screen, indent string, a authorization) {
	if a.Target != nil && word(*a.Target) != *a.Target {
		w.line("%sThe whole target:", styled(indent))
		w.body(indent+"  ", *a.Target)
	}
}

func (a *app) decideCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "decide ID [OPTION]",
		Aliases: []string{"choose"},
		Short:   "Answer a decision; only the option that it names approves",
		Long: `Answers a decision with one of its options. An approval lets the role that
asked take that one action on that one target, once.

Without OPTION the decision is shown and you are asked, on a terminal only.`,
		Example: `mosaic decide 5f0c9e21 yes
mosaic decide 5f0c9e21 no --note "not before Monday"`,
		Args: arguments("ID", "[OPTION]"),
	}
	note := cmd.Flags().String("note", "", "a note for the role that asked")
	cmd.ValidArgsFunction = a.completeDecisions
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 && !a.interactive() {
			return usage("OPTION is missing, and there is no terminal to ask on: mosaic decide %s OPTION", echo(args[0]))
		}
		s, err := a.session(cmd.Context())
		if err != nil {
			return err
		}
		d, err := findDecision(cmd.Context(), s, args[0])
		if err != nil {
			return err
		}
		choice := ""
		if len(args) == 2 {
			choice = args[1]
		} else if choice, err = a.askChoice(cmd.Context(), d); err != nil {
			return err
		}
		return a.closeDecision(cmd.Context(), s, d, "decision.resolve", closeArgs{ID: d.ID, Choice: choice, Note: *note})
	}
	return cmd
}

func (a *app) seenCommand() *cobra.Command {
	return a.acknowledgeCommand("seen", "decision.seen", "Say that you have seen a decision; it stays open",
		`mosaic seen 5f0c9e21 --note "asking Kim first"`)
}

func (a *app) withdrawCommand() *cobra.Command {
	return a.acknowledgeCommand("withdraw", "decision.withdraw", "Close a decision without an answer; nothing is authorized",
		`mosaic withdraw 5f0c9e21 --note "no longer needed"`)
}

func (a *app) acknowledgeCommand(name, verbName, summary, example string) *cobra.Command {
	cmd := &cobra.Command{Use: name + " ID", Short: summary, Example: example, Args: arguments("ID")}
	note := cmd.Flags().String("note", "", "a note that is kept with it")
	cmd.ValidArgsFunction = a.completeDecisions
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := a.session(cmd.Context())
		if err != nil {
			return err
		}
		d, err := findDecision(cmd.Context(), s, args[0])
		if err != nil {
			return err
		}
		return a.closeDecision(cmd.Context(), s, d, verbName, closeArgs{ID: d.ID, Note: *note})
	}
	return cmd
}

// closeArgs are the arguments of decision.resolve, decision.seen and
// decision.withdraw.
type closeArgs struct {
	ID     wire.DecisionID `json:"id"`
	Choice string          `json:"choice,omitempty"`
	Note   string          `json:"note,omitempty"`
}

// closeDecision sends the answer once. When its reply is lost the record is
// read before anything is said (BUS-PROTO-18), and nothing is sent again.
func (a *app) closeDecision(ctx context.Context, s *session, d decision, name string, args closeArgs) error {
	reply, event, err := whole[decisionEvent](ctx, s, name, args)
	if errors.Is(err, wire.Refuse(wire.OutcomeUnknown)) {
		recorded, lookErr := lastDecisionEvent(ctx, s, d.ID)
		if lookErr != nil || recorded == nil {
			return err
		}
		a.out.warn("the reply was lost; this is what the record says")
		reply, event, err = recorded.Row, *recorded.decisionEvent, nil
	}
	if err != nil {
		return err
	}
	return a.out.answer(reply, func(w *screen) { showClose(w, d, event) })
}

func showClose(w *screen, d decision, e decisionEvent) {
	switch {
	case e.Kind == kindSeen:
		w.line("Seen: %s. It still waits for an answer.", short(d.ID))
	case e.Kind == kindWithdrawn:
		w.line("Withdrawn: %s. Nothing was authorized.", short(d.ID))
	case e.approves(d):
		w.line("Approved: %s may do %s, once.", word(d.RaisedByRole), w.bold("%s", d.Authorization.String()))
	case e.Choice != nil:
		w.line("Answered %s: %s was not authorized.", word(*e.Choice), d.Authorization.String())
	}
	showNote(w, e.Note)
	w.line("  mosaic trail %s", short(d.ID))
}

// showNote shows the note of an answer, if there is one.
func showNote(w *screen, note *string) {
	if note != nil {
		w.line("  Note:")
		w.body("    ", *note)
	}
}

// lastDecisionEvent is the latest event of a decision in the record, or nil.
func lastDecisionEvent(ctx context.Context, s *session, id wire.DecisionID) (*record, error) {
	rows, err := readTrail(ctx, s, string(id))
	if err != nil {
		return nil, err
	}
	var last *record
	for _, r := range rows {
		if e := r.decisionEvent; e != nil && e.Decision == id {
			last = &r
		}
	}
	return last, nil
}

// openDecisions are the decisions that a session can see to be open: its own
// inbox, and for the person those of the arbiters too.
func openDecisions(ctx context.Context, s *session) ([]decision, error) {
	box, err := verb[inbox](ctx, s, "inbox", none{})
	if err != nil || s.role {
		return box.Decisions, err
	}
	routed, err := verb[[]decision](ctx, s, "decisions", map[string]string{"list": "roles"})
	return append(box.Decisions, routed...), err
}

// findDecisionID finds the id of the decision, open or closed, that typed
// names. "" stays "".
func findDecisionID(ctx context.Context, s *session, typed string) (wire.DecisionID, error) {
	if typed == "" {
		return "", nil
	}
	return resolve[wire.DecisionID](ctx, s, typed, kindDecision, wire.DecisionNotFound)
}

// findDecision reads the decision, open or closed, that typed names. Its
// texts are whole.
func findDecision(ctx context.Context, s *session, typed string) (decision, error) {
	id, err := findDecisionID(ctx, s, typed)
	if err != nil {
		return decision{}, err
	}
	open, err := openDecisions(ctx, s)
	if err != nil {
		return decision{}, err
	}
	for _, d := range open {
		if d.ID == id && !d.Clipped {
			return d, nil
		}
	}
	rows, err := readTrail(ctx, s, string(id))
	if err != nil {
		return decision{}, err
	}
	for _, r := range rows {
		if r.decision != nil && r.decision.ID == id {
			return *r.decision, nil
		}
	}
	return decision{}, wire.Refuse(wire.DecisionNotFound)
}

// askChoice shows the decision on the terminal and asks for an option.
func (a *app) askChoice(ctx context.Context, d decision) (string, error) {
	var keys []string
	for _, o := range d.Options {
		keys = append(keys, o.Key)
	}
	if err := a.out.show(func(w *screen) { showDecision(w, d, time.Now()) }); err != nil {
		return "", err
	}
	return a.ask(ctx, "Your answer ("+strings.Join(keys, ", ")+")", "")
}

func (a *app) decisionsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:       "decisions [roles|recent]",
		Short:     "List open decisions that roles answer, or the latest closed ones",
		Example:   "mosaic decisions recent\nmosaic decisions roles --json",
		Args:      arguments("[roles|recent]"),
		ValidArgs: []string{"roles", "recent"},
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		list := "roles"
		if len(args) == 1 {
			list = args[0]
		}
		if list != "roles" && list != "recent" {
			return usage("%q is neither roles nor recent: %s", echo(list), cmd.UseLine())
		}
		s, err := a.session(cmd.Context())
		if err != nil {
			return err
		}
		reply, rows, err := whole[[]decision](cmd.Context(), s, "decisions", map[string]string{"list": list})
		if err != nil {
			return err
		}
		return a.out.answer(reply, func(w *screen) {
			if len(rows) == 0 {
				w.line("No decisions.")
				return
			}
			var table [][]string
			for _, r := range rows {
				outcome := "open, waits for " + string(r.Route)
				if c := r.Closed; c != nil {
					outcome = c.Kind + " by " + c.who()
					if c.Choice != nil {
						outcome = word(*c.Choice) + " by " + c.who()
					}
				}
				table = append(table, []string{short(r.ID), string(r.RaisedByRole), r.Authorization.String(), outcome})
			}
			w.table([]string{"ID", "FROM", "ACTION", "OUTCOME"}, table)
		})
	}
	return cmd
}
