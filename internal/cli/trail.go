package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"mosaicstack.dev/mosaic/internal/wire"
)

// subject is the argument of trail.
type subject struct {
	Subject string `json:"subject"`
}

func readTrail(ctx context.Context, s *session, of string) ([]record, error) {
	return verb[[]record](ctx, s, "trail", subject{of})
}

func (a *app) trailCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "trail SUBJECT",
		Aliases: []string{"log", "story"},
		Short:   "Tell what happened about a task, a decision or a message",
		Long: `Prints the record of a subject as a story, oldest first: a task such as
queue:1, or the id of a decision, a message, a run or an event. Every id that a
command prints can be given, shortened as it was printed. --json prints the
whole records.`,
		Example: `mosaic trail queue:1
mosaic trail 5f0c9e21 --json`,
		Args: arguments("SUBJECT"),
	}
	cmd.ValidArgsFunction = a.completeDecisions
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		s, err := a.session(ctx)
		if err != nil {
			return err
		}
		of, err := findSubject(ctx, s, args[0])
		if err != nil {
			return err
		}
		reply, rows, err := whole[[]record](ctx, s, "trail", subject{of})
		if err != nil {
			return err
		}
		return a.out.answer(reply, func(w *screen) { showTrail(w, of, rows) })
	}
	return cmd
}

// findSubject finds what typed names: a task as it is, any other record by its
// id or part of it.
func findSubject(ctx context.Context, s *session, typed string) (string, error) {
	if strings.Contains(typed, ":") {
		return typed, nil
	}
	return resolve[string](ctx, s, typed, "", wire.RecordNotFound)
}

func showTrail(w *screen, of string, rows []record) {
	if len(rows) == 0 {
		w.line("Nothing is recorded about %s.", echo(short(of)))
		return
	}
	w.line("%s", w.bold("The trail of %s, %s", echo(short(of)), plural(len(rows), "record")))
	day := ""
	for _, r := range rows {
		date, clock, _ := strings.Cut(string(r.At), "T")
		if date != day {
			day = date
			w.line("%s", w.dim("%s (UTC)", date))
		}
		r.tell(&story{w, strings.TrimSuffix(clock, "Z")})
	}
}

// story prints the records of a trail, each with its time and, where it has
// one, its id in brackets, which other records name as their link.
type story struct {
	*screen
	clock string
}

const storyIndent = "                        "

// happened prints one record. The links say which other records it belongs to.
func (s *story) happened(id, what string, links ...string) {
	if id == "" {
		id = strings.Repeat(" ", shortID)
	}
	lead := fmt.Sprintf("%s  %s  ", s.clock, id)
	for i, part := range fold(what, s.columns()-len(lead)) {
		if i == 0 {
			s.line("%s  %s  %s", s.dim("%s", s.clock), s.bold("%s", id), styled(part))
		} else {
			s.line("%s%s", styled(strings.Repeat(" ", len(lead))), styled(part))
		}
	}
	var said []string
	for _, l := range links {
		if l != "" {
			said = append(said, l)
		}
	}
	if len(said) > 0 {
		s.line("%s%s", styled(strings.Repeat(" ", len(lead))), s.dim("-> %s", strings.Join(said, ", ")))
	}
}

// link names a record that another one belongs to, or nothing.
func link[T ~string](relation string, id *T) string {
	if id == nil {
		return ""
	}
	return relation + " " + short(*id)
}

// who is a role with its run, which tells two holders of a role apart.
func who[R, N ~string](role R, run N) string {
	if run == "" || wire.Run(run) == wire.HumanRun || wire.Run(run) == wire.TesterRun || wire.Run(run) == wire.BusRun {
		return word(role)
	}
	return word(role) + " (run " + short(run) + ")"
}

func value[T ~string](p *T) string {
	if p == nil {
		return ""
	}
	return string(*p)
}

// tell prints a record in words.
func (r record) tell(s *story) {
	switch {
	case r.event != nil:
		tellEvent(s, r.event)
	case r.claim != nil:
		tellClaim(s, r.claim)
	case r.message != nil:
		m := r.message
		s.happened(short(m.ID), who(m.FromRole, m.FromRun)+" to "+recipient(*m)+", "+word(m.Class)+":",
			link("answers", m.InReplyTo), link("replaces", m.Corrects), link("decision", m.Decision), link("request", m.Request))
		s.body(storyIndent, m.Body)
	case r.delivery != nil:
		d := r.delivery
		words := map[string]string{"routed": "meant for", "delivered": "handed to", "read": "read by"}[d.State]
		if words == "" {
			words = string(d.State)
		}
		s.happened("", "message "+short(d.Message)+" "+words+" "+runName(d.Run))
	case r.decision != nil:
		d := r.decision
		what := fmt.Sprintf("%s asks %s for %s (%s)", who(d.RaisedByRole, d.RaisedByRun), d.Route, d.Authorization.String(), d.Class)
		if d.Blocking && d.TaskRef != nil {
			what += "; " + word(*d.TaskRef) + " waits for it"
		}
		s.happened(short(d.ID), what+":", link("replaces", d.Supersedes))
		s.body(storyIndent, d.Question)
		showTarget(s.screen, storyIndent, d.Authorization)
	case r.decisionEvent != nil:
		e := r.decisionEvent
		what := e.who() + " " + map[string]string{kindSeen: "saw", kindWithdrawn: "withdrew"}[e.Kind] + " decision " + short(e.Decision)
		if e.Choice != nil {
			what = e.who() + " answered decision " + short(e.Decision) + ": " + word(*e.Choice)
		}
		s.happened("", what, link("input", e.Input))
		s.note(e.Note)
	default:
		s.happened("", "a record of "+r.Table)
	}
}

// who is the person by name, or the role that acted with its run.
func (e decisionEvent) who() string {
	if e.ByRole == "" || e.ByRole == wire.HumanRole {
		return word(e.By)
	}
	return who(e.ByRole, e.By)
}

// note prints a note or reason that somebody gave, if there is one.
func (s *story) note(text *string) {
	if text != nil {
		s.body(storyIndent, *text)
	}
}

// runName is a run, or whoever stands for one.
func runName(run wire.Run) string {
	switch run {
	case wire.HumanRun:
		return "the person"
	case wire.TesterRun:
		return "the tester"
	}
	return "run " + short(run)
}

func tellClaim(s *story, c *claim) {
	by := word(c.By)
	if wholeID.MatchString(c.By) {
		by = "run " + short(c.By)
	}
	what := map[string]string{
		"claim":   "run " + short(c.Run) + " claims the role " + word(c.Role),
		"release": "run " + short(c.Run) + " releases the role " + word(c.Role),
		"revoke":  "run " + short(c.Run) + " loses the role " + word(c.Role) + ", revoked by " + by,
	}[c.Op]
	s.happened("", what, link("decision", c.Decision))
	s.note(c.Reason)
}

// eventBody is what the bodies of events have in common.
type eventBody struct {
	Action    string  `json:"action"`
	Target    *string `json:"target"`
	Operation string  `json:"operation"`
	Verb      string  `json:"verb"`
	Code      string  `json:"code"`
	Harness   string  `json:"harness"`
	Reason    string  `json:"reason"`
	ExitCode  *int    `json:"exitCode"`
	Kind      string  `json:"kind"`
	Commit    string  `json:"commit"`
	// Of a raise: which answer would approve.
	ApprovalChoice string `json:"approvalChoice"`
}

func tellEvent(s *story, e *event) {
	var b eventBody
	json.Unmarshal(e.Body, &b) // what is not there stays empty and is not told
	by := who(value(e.Role), value(e.Run))
	what := ""
	switch e.Kind {
	case "session.launched":
		what = fmt.Sprintf("run %s is launched as %s", shortOf(e.Run), word(value(e.Role)))
		if b.Harness != "" {
			what += " with " + word(b.Harness)
		}
	case "session.ended":
		what = fmt.Sprintf("run %s ends: %s", shortOf(e.Run), word(b.Reason))
		if b.ExitCode != nil {
			what += fmt.Sprintf(", exit code %d", *b.ExitCode)
		}
	case "action.allowed":
		asked := authorization{Action: b.Action, Target: b.Target}.String()
		if b.Operation == "decision.raise" {
			// Nothing is allowed yet; the event keeps what an approval would allow.
			what = "the question was recorded: the answer " + word(b.ApprovalChoice) + " would allow " + asked + ", once; nothing is allowed yet"
			break
		}
		what = by + " was allowed " + asked
		if b.Operation != "" && b.Operation != b.Action {
			what += " (" + word(b.Operation) + ")"
		}
		if _, named := (authorization{Action: b.Action, Target: b.Target}).landing(); b.Commit != "" && !named {
			what += ", commit " + word(cut(b.Commit, 12))
		}
		if e.Spends != nil {
			what += ", which used up the approval"
		}
	case "action.refused":
		name := b.Verb
		if name == "" {
			name = b.Action
		}
		what = strings.TrimSpace(by+" was refused "+word(name)) + ": " + word(b.Code)
	case "human.input":
		what = strings.TrimSpace("the person used " + word(b.Verb))
	case "launch.revoked":
		what = "the person stopped new launches"
	case "launch.restored":
		what = "the person allowed launches again"
	default:
		what = strings.TrimSpace(by + " " + word(e.Kind))
	}
	s.happened(short(e.ID), what, link("spends", e.Spends))
}
