package cli

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"mosaicstack.dev/mosaic/internal/queue"
	"mosaicstack.dev/mosaic/internal/wire"
)

// howToName tells agents how to make an operation id, since no command ever
// makes one up (QUEUE-OP-03).
const howToName = "id of this operation, such as 2026-12-01-dev-start-7; repeat a command with the same one"

const queueHelp = `The queue of work is one file in the repository, docs/plans/queue.json, and
the table between the markers of docs/plans/QUEUE.md is drawn from it.

Every command that changes something takes --op ID. The id is yours to make:
the date, your seat, what you do and the row, such as 2026-12-01-dev-start-7
(8 to 72 of a-z, 0-9, "." "_" "-"). It is the only mark of a retry: when you
did not see a receipt, run the same command with the same id, and you get the
receipt or the operation is done now. A new piece of work has a new id.

Every command that changes something acts for --by SEAT, or for the seat in
MOSAIC_AGENT_NAME. Only a printed line "ok ..." acknowledges an operation.`

func (a *app) queueCommand() *cobra.Command {
	return a.group(&cobra.Command{
		Use:   "queue",
		Short: "The queue of work in the repository",
		Long:  queueHelp,
		Example: `mosaic queue next dev
mosaic queue start 7 --op 2026-12-01-dev-start-7
mosaic queue move 7 in-review --candidate HEAD --op 2026-12-01-dev-review-7
mosaic queue show 7`,
	},
		group("Every day", a.queueNextCommand(), a.queueListCommand(), a.queueShowCommand(), a.queueStartCommand(), a.queueMoveCommand(), a.queueNoteCommand(), a.queueReleaseCommand(), a.queueAddCommand()),
		group("Review", a.queueReviewCommand()),
		group("Lead and human", a.queueAssignCommand(), a.queueSetCommand(), a.queueParkCommand(), a.queueUnparkCommand(), a.queueRosterCommand(), a.queueCommitCommand()),
		group("Keep", a.queueSyncCommand(), a.queueRenderCommand(), a.queueVerifyCommand(), a.queueSnapshotCommand(), a.queueUnlockCommand(), a.queueAcceptCommand()),
		group("Begin", a.queueGenesisCommand(), a.queueInstallHookCommand(), a.queueAuditCommand()),
	)
}

// operation is the two flags of every command that changes something.
type operation struct {
	app  *app
	op   string
	by   string
	must bool // --op is required
}

// operation adds --op and --by to a command that logs.
func (a *app) operation(cmd *cobra.Command) *operation {
	o := &operation{app: a, must: true}
	cmd.Flags().StringVar(&o.op, "op", "", howToName)
	cmd.Flags().StringVar(&o.by, "by", "", "seat that acts (default $MOSAIC_AGENT_NAME)")
	return o
}

// id is the operation's id. Its form is the queue's to judge.
func (o *operation) id() (queue.OpID, error) {
	if o.op == "" && o.must {
		return "", usage("--op is missing: make up an id for this operation, such as 2026-12-01-dev-start-7, and give the same one when you repeat it")
	}
	return queue.OpID(o.op), nil
}

// actor is who acts. In a managed run nobody acts for another seat
// (QUEUE-OPEN-49).
func (o *operation) actor() (queue.Seat, error) {
	own := o.app.env["MOSAIC_AGENT_NAME"]
	switch {
	case o.by == "":
		return queue.Seat(own), nil
	case o.app.env.managed() && o.by != own:
		return "", &queue.Refusal{Code: queue.NotPermitted, Exit: exitRefused, Sentence: "a managed run acts for its own seat, " + visible(own) + ", and for no other"}
	}
	return queue.Seat(o.by), nil
}

// begin opens the checkout for an operation.
func (o *operation) begin(ctx context.Context) (*queue.Checkout, queue.OpID, queue.Seat, error) {
	op, err := o.id()
	if err != nil {
		return nil, "", "", err
	}
	by, err := o.actor()
	if err != nil {
		return nil, "", "", err
	}
	if by == "" {
		return nil, "", "", &queue.Refusal{Code: queue.ActorMissing, Exit: exitRefused, Sentence: "nobody is named who acts: give --by SEAT, or set MOSAIC_AGENT_NAME"}
	}
	checkout, err := openQueue(ctx)
	return checkout, op, by, err
}

// openQueue opens the checkout of the working directory.
func openQueue(ctx context.Context) (*queue.Checkout, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	return queue.Open(ctx, dir)
}

// state reads the queue for a command that needs to know it first.
func (a *app) queueState(ctx context.Context, c *queue.Checkout) (*queue.Reading, error) {
	r, err := c.Read(ctx)
	if err != nil {
		return nil, err
	}
	if r.Notice != "" {
		a.out.warn("%s", r.Notice)
	}
	return r, nil
}

// change records an operation that needs nothing but its arguments.
func (a *app) change(ctx context.Context, o *operation, args queue.Args) error {
	c, op, by, err := o.begin(ctx)
	if err != nil {
		return err
	}
	done, err := c.Record(ctx, op, by, args)
	if err != nil {
		return err
	}
	return a.receipt(ctx, c, done)
}

// receipt acknowledges an operation. Nothing but this line does: when it cannot
// be written, the operation stands and its caller must ask again
// (QUEUE-WRITE-38, QUEUE-OPEN-62).
func (a *app) receipt(ctx context.Context, c *queue.Checkout, done queue.Acknowledgement) error {
	if done.Warning != "" {
		a.out.warn("%s", done.Warning)
	}
	from, to := a.showStates(ctx, c, done)
	if err := a.out.answer(done, func(w *screen) {
		row := "-"
		if done.Row != nil {
			row = strconv.Itoa(int(*done.Row))
		}
		if done.Already {
			w.line("ok %s rev %d row %s %s→%s, already recorded at rev %d by %s", string(done.Op), done.Rev, row, from, to, done.Rev, string(done.By))
			return
		}
		w.line("ok %s rev %d row %s %s→%s", string(done.Op), done.Rev, row, from, to)
	}); err != nil {
		return &queue.Refusal{
			Code: queue.ReceiptNotPrinted, Exit: exitUncertain, Uncertain: true,
			Sentence: "uncertain " + string(done.Op) + " rev " + strconv.Itoa(done.Rev) + ": recorded, receipt not printed",
		}
	}
	return nil
}

// showStates are the two states as people read them. Only one of the states
// has another name for people, and only for it the queue is read again.
func (a *app) showStates(ctx context.Context, c *queue.Checkout, done queue.Acknowledgement) (from, to string) {
	from, to = done.From, done.To
	if from == "" && to == "" {
		return "-", "-"
	}
	waiting := string(queue.WaitingOnHuman)
	if a.out.json || from != waiting && to != waiting {
		return from, to
	}
	r, err := c.Read(ctx)
	if err != nil {
		return from, to // the file's own name is as true
	}
	return queue.ShowState(queue.State(from), r.State.Human), queue.ShowState(queue.State(to), r.State.Human)
}

// rowID reads a row's id.
func rowID(word string) (queue.RowID, error) {
	n, err := strconv.Atoi(strings.TrimPrefix(word, "#"))
	if err != nil || n < 1 {
		return 0, usage("%q is no row id: it is a number such as 7", word)
	}
	return queue.RowID(n), nil
}

// words splits a list that was given with commas or as several flags.
func words(list []string) []string {
	var all []string
	for _, some := range list {
		for _, word := range strings.Split(some, ",") {
			if word = strings.TrimSpace(word); word != "" {
				all = append(all, word)
			}
		}
	}
	return all
}

func numbers(flag string, list []string) ([]int, error) {
	var all []int
	for _, word := range words(list) {
		n, err := strconv.Atoi(strings.TrimPrefix(word, "#"))
		if err != nil {
			return nil, usage("--%s: %q is no number", flag, word)
		}
		all = append(all, n)
	}
	return all, nil
}

func seats(list []string) []queue.Seat {
	var all []queue.Seat
	for _, word := range words(list) {
		all = append(all, queue.Seat(word))
	}
	return all
}

// prerequisites reads ID or ID:when.
func prerequisites(flag string, list []string) ([]queue.After, error) {
	var all []queue.After
	for _, word := range words(list) {
		id, when, _ := strings.Cut(word, ":")
		n, err := strconv.Atoi(id)
		if err != nil {
			return nil, usage("--%s: write %q as ID, ID:done or ID:settled", flag, word)
		}
		all = append(all, queue.After{ID: queue.RowID(n), When: queue.When(when)})
	}
	return all, nil
}

// refused finds the words of a queue's refusal.
func refused(err error) (failure, bool) {
	var r *queue.Refusal
	if !errors.As(err, &r) {
		return failure{}, false
	}
	return failure{code: wire.Code(r.Code), sentence: r.Sentence, exit: r.Exit}, true
}
