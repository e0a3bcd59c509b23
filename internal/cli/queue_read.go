package cli

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"mosaicstack.dev/mosaic/internal/queue"
)

// nextAnswer is what next prints with --json.
type nextAnswer struct {
	Action queue.Action    `json:"action"`
	Row    json.RawMessage `json:"row"`
	Note   string          `json:"note"`
}

func (a *app) queueNextCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "next [SEAT]",
		Aliases: []string{"ready"},
		Short:   "What a seat does next",
		Long: `Prints one action: resume a row you started, review a row that waits for you,
start the first briefed row that is yours and whose prerequisites are met, wait
for a review of yours, or nothing. Within an action the lowest id comes first.

SEAT is $MOSAIC_AGENT_NAME unless it is given. Two sessions of one seat get the
same answer: the queue cannot tell them apart.`,
		Example: "mosaic queue next dev\nmosaic queue next --json",
		Args:    arguments("[SEAT]"),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		seat := queue.Seat(a.env["MOSAIC_AGENT_NAME"])
		if len(args) > 0 {
			seat = queue.Seat(args[0])
		}
		if seat == "" {
			return &queue.Refusal{Code: queue.ActorMissing, Exit: exitRefused, Sentence: "next needs a seat: name it, or set MOSAIC_AGENT_NAME"}
		}
		c, err := openQueue(cmd.Context())
		if err != nil {
			return err
		}
		r, err := a.queueState(cmd.Context(), c)
		if err != nil {
			return err
		}
		next, err := c.Next(r.State, seat)
		if err != nil {
			return err
		}
		answer := nextAnswer{Action: next.Action, Row: json.RawMessage("null"), Note: next.Note}
		if next.Row != nil {
			answer.Row = queue.MarshalRow(next.Row)
		}
		return a.out.answer(answer, func(w *screen) {
			if next.Row == nil {
				w.line("%s", string(next.Action))
				return
			}
			w.line("%s %d %s", string(next.Action), int(next.Row.ID), next.Row.Piece)
			if next.Note == "" {
				w.line("  %s", next.Row.Brief.String())
				return
			}
			w.line("  %s; %s", next.Row.Brief.String(), next.Note)
		})
	}
	return cmd
}

// rowList is what list prints with --json.
type rowList struct {
	Rev  int               `json:"rev"`
	Rows []json.RawMessage `json:"rows"`
}

func (a *app) queueListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "The rows of the queue",
		Example: "mosaic queue list --owner dev\nmosaic queue list --state in-review --json",
		Args:    arguments(),
	}
	state := cmd.Flags().String("state", "", "only rows in this state")
	owner := cmd.Flags().String("owner", "", "only rows of this owner")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := openQueue(cmd.Context())
		if err != nil {
			return err
		}
		r, err := a.queueState(cmd.Context(), c)
		if err != nil {
			return err
		}
		var wanted queue.State
		if *state != "" {
			if wanted, err = queue.ParseState(*state, r.State.Human); err != nil {
				return err
			}
		}
		list := rowList{Rev: r.State.Rev, Rows: []json.RawMessage{}}
		var lines [][]string
		for i := range r.State.Rows {
			row := &r.State.Rows[i]
			if wanted != "" && row.State != wanted || *owner != "" && row.Owner != queue.Seat(*owner) {
				continue
			}
			if a.out.json || a.out.get != "" {
				list.Rows = append(list.Rows, queue.MarshalRow(row))
				continue
			}
			lines = append(lines, []string{strconv.Itoa(int(row.ID)), queue.ShowState(row.State, r.State.Human), string(row.Owner), row.Piece})
		}
		return a.out.answer(list, func(w *screen) {
			if len(lines) == 0 {
				w.line("No rows.")
				return
			}
			w.table([]string{"ID", "STATE", "OWNER", "PIECE"}, lines)
		})
	}
	return cmd
}

// shownRow is what show ID prints with --json.
type shownRow struct {
	Row json.RawMessage `json:"row"`
	Log []queue.Entry   `json:"log"`
}

// shownOp is what show --op prints with --json.
type shownOp struct {
	Entry   *queue.Entry          `json:"entry"`
	Receipt queue.Acknowledgement `json:"receipt"`
}

func (a *app) queueShowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show [ID]",
		Aliases: []string{"get"},
		Short:   "Everything about a row, or what became of an operation",
		Long: `Prints all fields of a row and the operations that made it so. With --op it
prints the log entry and the receipt of one operation, and exits with 1 when
the log has none.`,
		Example: "mosaic queue show 7\nmosaic queue show --op 2026-12-01-dev-start-7",
		Args:    arguments("[ID]"),
	}
	op := cmd.Flags().String("op", "", "an operation in place of a row")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if (len(args) == 1) == (*op != "") {
			return usage("show takes a row's ID or --op ID, one of both: %s", cmd.UseLine())
		}
		c, err := openQueue(cmd.Context())
		if err != nil {
			return err
		}
		r, err := a.queueState(cmd.Context(), c)
		if err != nil {
			return err
		}
		if *op != "" {
			return a.showOperation(r, queue.OpID(*op))
		}
		id, err := rowID(args[0])
		if err != nil {
			return err
		}
		row := r.State.Row(id)
		if row == nil {
			return &queue.Refusal{Code: queue.RowUnknown, Exit: exitRefused, Sentence: "there is no row " + strconv.Itoa(int(id))}
		}
		log := r.File.Of(id)
		return a.out.answer(shownRow{queue.MarshalRow(row), log}, func(w *screen) {
			w.row(row, r.State.Human)
			w.gap()
			for _, e := range log {
				w.line("rev %d  %s  %s by %s  %s", e.Rev, e.At, e.Verb, string(e.By), string(e.Op))
			}
		})
	}
	return cmd
}

func (a *app) showOperation(r *queue.Reading, op queue.OpID) error {
	e := r.File.Find(op)
	if e == nil {
		return &queue.Refusal{Code: queue.OpUnknown, Exit: exitFailed, Sentence: "the log has no operation " + visible(string(op))}
	}
	receipt, err := queue.ReceiptOf(e)
	if err != nil {
		return err
	}
	return a.out.answer(shownOp{e, receipt}, func(w *screen) {
		human := r.State.Human
		row := "-"
		if receipt.Row != nil {
			row = strconv.Itoa(int(*receipt.Row))
		}
		from, to := "-", "-"
		if receipt.From != "" {
			from, to = queue.ShowState(queue.State(receipt.From), human), queue.ShowState(queue.State(receipt.To), human)
		}
		w.line("ok %s rev %d row %s %s→%s", string(receipt.Op), receipt.Rev, row, from, to)
		w.fields("  ", [2]string{"verb", e.Verb}, [2]string{"by", string(e.By)}, [2]string{"at", e.At})
		w.body("  ", "args "+string(e.Args))
		w.body("  ", "result "+string(e.Result))
	})
}

// row prints all fields of a row.
func (s *screen) row(r *queue.Row, human queue.Seat) {
	s.line("%s %s", s.bold("%d", int(r.ID)), r.Piece)
	state := queue.ShowState(r.State, human)
	if r.PreviousState != nil {
		state += " (from " + queue.ShowState(*r.PreviousState, human) + ")"
	}
	s.fields("  ",
		[2]string{"state", state},
		[2]string{"blocked", text(r.BlockedReason)},
		[2]string{"owner", string(r.Owner)},
		[2]string{"claim", claimText(r.Claim)},
		[2]string{"brief", r.Brief.String()},
		[2]string{"pinned", r.Brief.Blob},
		[2]string{"after", afterText(r.After)},
		[2]string{"issues", numberText(r.Issues)},
		[2]string{"closes", numberText(r.Closes)},
		[2]string{"reviewers", seatText(r.Reviewers)},
		[2]string{"required", requiredText(r)},
		[2]string{"gate", r.Gate},
		[2]string{"gate owner", string(r.GateOwner)},
		[2]string{"note", r.Note},
		[2]string{"created", r.CreatedAt},
		[2]string{"updated", r.UpdatedAt + " by " + string(r.UpdatedBy)},
	)
	if r.Review == nil {
		return
	}
	for _, round := range r.Review.Rounds {
		s.round(r.Review.Issue, &round)
	}
}

func (s *screen) round(issue *int, r *queue.Round) {
	about := "no request"
	if issue != nil {
		about = "issue " + strconv.Itoa(*issue)
	}
	s.line("  round %d  %s %s  %s", r.Round, r.Candidate.Kind, r.Candidate.Digest, about)
	if r.DuplicateRisk {
		s.line("    an attempt was abandoned: the request may exist twice")
	}
	for _, attempt := range r.Attempts {
		comment := ""
		if attempt.Comment != nil {
			comment = " comment " + strconv.FormatInt(*attempt.Comment, 10)
		}
		s.line("    attempt %s %s%s", string(attempt.Op), string(attempt.State), comment)
	}
	for _, receipt := range r.Receipts {
		s.line("    %s by %s at %s, comment %d", receipt.Verdict, string(receipt.Seat), receipt.At, receipt.Comment)
	}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func claimText(c *queue.Claim) string {
	if c == nil {
		return ""
	}
	return string(c.Seat) + " by " + string(c.Op)
}

func afterText(list []queue.After) string {
	var all []string
	for _, a := range list {
		all = append(all, strconv.Itoa(int(a.ID))+":"+string(a.When))
	}
	return strings.Join(all, ", ")
}

func numberText(list []int) string {
	var all []string
	for _, n := range list {
		all = append(all, strconv.Itoa(n))
	}
	return strings.Join(all, ", ")
}

func seatText(list []queue.Seat) string {
	var all []string
	for _, s := range list {
		all = append(all, string(s))
	}
	return strings.Join(all, ", ")
}

func requiredText(r *queue.Row) string {
	if !r.Required {
		return ""
	}
	return "since " + text(r.RequiredSince)
}
