package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"mosaicstack.dev/mosaic/internal/queue"
)

// reviewDeadline is how long each request to the service may take
// (QUEUE-REVIEW-55, 57, 78).
const reviewDeadline = 30 * time.Second

func (a *app) queueReviewCommand() *cobra.Command {
	return a.group(&cobra.Command{
		Use:   "review",
		Short: "Ask for reviews, settle requests, record verdicts",
		Long: `move ID in-review asks the reviewers of a row. The request is sent at most once
for each operation id. When its outcome is not known, nothing sends it again: a
person looks on the issue, then resolves or abandons the attempt.

Requests are posted with the credential file in $MOSAIC_GITEA_CREDENTIAL_FILE,
which must be the acting seat's own.`,
		Example: `mosaic queue review record 7 --verdict approve --comment 4711 --candidate 4b825dc642cb6eb9a060e54bf8d69288fbee4904 --op 2026-12-01-rev-approve-7 --by rev
mosaic queue review resolve 7 --attempt 2026-12-01-dev-review-7 --posted 4711 --op 2026-12-01-dev-resolve-7`,
	},
		group("Commands", a.reviewRequestCommand(), a.reviewRecordCommand(), a.reviewResolveCommand(), a.reviewAbandonCommand(), a.reviewVerifyCommand()),
	)
}

// transport posts requests with the credential of the environment.
func (a *app) transport(ctx context.Context, c *queue.Checkout) queue.Transporter {
	return c.GiteaTransport(ctx, a.env[queue.CredentialVariable], a.env["HOME"], reviewDeadline)
}

// asked prints what became of a request: the receipt of its intent, where there
// is one and nothing failed for good, then how the request ended.
func (a *app) asked(ctx context.Context, c *queue.Checkout, asked queue.Asked, err error) error {
	for _, note := range asked.Notes {
		a.out.warn("%s", note)
	}
	if asked.Intent.Op == "" || err != nil && describe(err, false).exit == exitFailed {
		return err // QUEUE-REVIEW-72: a failed request is one line on stderr
	}
	if printed := a.receipt(ctx, c, asked.Intent); err == nil {
		err = printed
	}
	return err
}

func (a *app) reviewRequestCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "request ID",
		Short:   "Ask again in the current round, after a failed or abandoned request",
		Example: "mosaic queue review request 7 --op 2026-12-01-dev-ask-again-7",
		Args:    arguments("ID"),
	}
	o := a.operation(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := rowID(args[0])
		if err != nil {
			return err
		}
		c, op, by, err := o.begin(cmd.Context())
		if err != nil {
			return err
		}
		asked, err := c.RequestReview(cmd.Context(), op, by, id, a.transport(cmd.Context(), c))
		return a.asked(cmd.Context(), c, asked, err)
	}
	return cmd
}

func (a *app) reviewResolveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "resolve ID",
		Short: "State that an attempt's comment exists, after one look at it",
		Long: `For an attempt whose outcome is not known. The comment is read once; it must be
on the row's issue, carry the attempt's marker and name the round's candidate.
There is no way to state that a comment was not posted.`,
		Example: "mosaic queue review resolve 7 --attempt 2026-12-01-dev-review-7 --posted 4711 --op 2026-12-01-dev-resolve-7",
		Args:    arguments("ID"),
	}
	o := a.operation(cmd)
	attempt := cmd.Flags().String("attempt", "", "operation id of the request")
	posted := cmd.Flags().Int64("posted", 0, "id of the comment")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := rowID(args[0])
		switch {
		case err != nil:
			return err
		case *attempt == "":
			return usage("--attempt is missing: the operation id of the request, as show prints it")
		case !cmd.Flags().Changed("posted"):
			return usage("--posted is missing: the id of the comment that you found")
		}
		c, op, by, err := o.begin(cmd.Context())
		if err != nil {
			return err
		}
		done, err := c.ResolveReview(cmd.Context(), op, by, queue.ResolveArgs{Row: id, Attempt: queue.OpID(*attempt), Comment: *posted}, a.transport(cmd.Context(), c))
		if err != nil {
			return err
		}
		return a.receipt(cmd.Context(), c, done)
	}
	return cmd
}

func (a *app) reviewAbandonCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "abandon ID",
		Short: "Give an attempt up whose outcome nobody can find out",
		Long: `For the lead and the human. The request may exist all the same: afterwards the
round makes no claim that it was asked once.`,
		Example: `mosaic queue review abandon 7 --attempt 2026-12-01-dev-review-7 --reason "the service lost a day" --yes --op 2026-12-01-pm-abandon-7 --by pm`,
		Args:    arguments("ID"),
	}
	o := a.operation(cmd)
	attempt := cmd.Flags().String("attempt", "", "operation id of the request")
	reason := cmd.Flags().String("reason", "", "why")
	yes := cmd.Flags().Bool("yes", false, "accept that the request may exist twice")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := rowID(args[0])
		switch {
		case err != nil:
			return err
		case *attempt == "":
			return usage("--attempt is missing: the operation id of the request, as show prints it")
		}
		c, op, by, err := o.begin(cmd.Context())
		if err != nil {
			return err
		}
		done, err := c.AbandonReview(cmd.Context(), op, by, queue.AbandonArgs{Row: id, Attempt: queue.OpID(*attempt), Reason: *reason}, *yes)
		if err != nil {
			return err
		}
		return a.receipt(cmd.Context(), c, done)
	}
	return cmd
}

func (a *app) reviewRecordCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "record ID",
		Short:   "Record a reviewer's verdict on the current round",
		Example: "mosaic queue review record 7 --verdict approve --comment 4711 --candidate 4b825dc642cb6eb9a060e54bf8d69288fbee4904 --op 2026-12-01-rev-approve-7 --by rev",
		Args:    arguments("ID"),
	}
	o := a.operation(cmd)
	verdict := cmd.Flags().String("verdict", "", "approve or changes")
	comment := cmd.Flags().Int64("comment", 0, "id of the comment with the review")
	candidate := cmd.Flags().String("candidate", "", "digest of what was reviewed")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := rowID(args[0])
		switch {
		case err != nil:
			return err
		case *verdict == "":
			return usage("--verdict is missing: approve or changes")
		case !cmd.Flags().Changed("comment"):
			return usage("--comment is missing: the id of the comment with your review")
		case *candidate == "":
			return usage("--candidate is missing: the digest of what you reviewed, as show prints it")
		}
		c, op, by, err := o.begin(cmd.Context())
		if err != nil {
			return err
		}
		done, err := c.RecordReview(cmd.Context(), op, by, queue.RecordArgs{Row: id, Verdict: *verdict, Comment: *comment, Candidate: *candidate})
		if err != nil {
			return err
		}
		return a.receipt(cmd.Context(), c, done)
	}
	return cmd
}

func (a *app) reviewVerifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "verify-commit ID COMMIT|TREE",
		Short:   "Check that a commit or tree has what was reviewed, and write nothing",
		Example: "mosaic queue review verify-commit 7 HEAD",
		Args:    arguments("ID", "COMMIT|TREE"),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := rowID(args[0])
		if err != nil {
			return err
		}
		c, err := openQueue(cmd.Context())
		if err != nil {
			return err
		}
		r, err := a.queueState(cmd.Context(), c)
		if err != nil {
			return err
		}
		v, err := c.VerifyCommit(cmd.Context(), r.State, id, args[1])
		if err != nil {
			return err
		}
		return a.out.answer(v, func(w *screen) {
			w.line("ok row %d round %d: %d paths are as %s has them", int(v.Row), v.Round, v.Paths, v.Candidate)
		})
	}
	return cmd
}
