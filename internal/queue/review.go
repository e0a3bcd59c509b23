package queue

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"
)

// Asked is what became of a request for review.
type Asked struct {
	// Intent is the receipt of the recorded request; without an Op the request
	// was refused.
	Intent Acknowledgement
	// Delivery is what the transport said; State is "" when nothing was to be
	// sent: a row without reviewers, or a repeated operation.
	Delivery Delivery
	// Notes are lines for stderr: warnings, and where to look.
	Notes []string
}

// MoveInReview moves a row to in-review. With reviewers that is the review
// request, which is sent once (QUEUE-REVIEW-15); without, nothing is sent.
//
// The order is fixed: the intent is recorded by the whole write path, then the
// request is sent without the lock, then the outcome is recorded as
// op.outcome. Killed in between, the attempt stays requesting and nothing
// sends it again. An intent whose write ends in any error sends nothing
// (QUEUE-REVIEW-51, 52).
//
// The error is a *Refusal: of the intent when Asked has no receipt, else
// RequestFailed (exit 1), RequestUncertain or OutcomeNotRecorded (exit 3).
func (c *Checkout) MoveInReview(ctx context.Context, op OpID, by Seat, args MoveArgs, t Transporter) (Asked, error) {
	look, err := openCandidates(ctx, c.Root)
	if err != nil {
		return Asked{}, err
	}
	if args.Candidate, err = look.spell(ctx, args.Candidate); err != nil {
		return Asked{}, err
	}
	var facts Facts
	var found FoundCandidate
	var missing error
	if args.Candidate != "" {
		// A candidate that is gone must not hinder a retry: it is refused only
		// where the operation turns out to be new.
		if found, missing = look.look(ctx, args.Candidate); missing == nil {
			facts.Candidate = &found.Candidate
		}
	}
	args.To = InReview
	asked, err := c.ask(ctx, op, by, &args, facts, missing, args.Row, t)
	if found.Warning != "" && asked.Intent.Op != "" && !asked.Intent.Already {
		asked.Notes = append([]string{found.Warning}, asked.Notes...)
	}
	return asked, err
}

// RequestReview opens another attempt in the row's current round and sends it,
// as MoveInReview does (QUEUE-REVIEW-16).
func (c *Checkout) RequestReview(ctx context.Context, op OpID, by Seat, row RowID, t Transporter) (Asked, error) {
	return c.ask(ctx, op, by, &RequestArgs{Row: row}, Facts{}, nil, row, t)
}

// Transporter makes the transport for an actor once the state is known. What
// it refuses is a failure before anything is sent.
type Transporter func(s *Replayed, by Seat) (Transport, Poster, error)

// GiteaTransport sends to Gitea, by the settings of the checkout. credential
// is the value of CredentialVariable.
func (c *Checkout) GiteaTransport(ctx context.Context, credential, home string, deadline time.Duration) Transporter {
	return func(s *Replayed, by Seat) (Transport, Poster, error) {
		settings, err := c.ReviewSettings(ctx, home)
		if err != nil {
			return nil, Poster{}, err
		}
		return &Gitea{Settings: settings, Credential: credential, Deadline: deadline}, settings.Poster(s, by), nil
	}
}

// intent is a recorded request that is to be sent now.
type intent struct {
	op    OpID
	by    Seat
	row   RowID
	issue int
	body  string
	state *Replayed
}

// ask records the intent and, when it is new and asks somebody, sends it.
func (c *Checkout) ask(ctx context.Context, op OpID, by Seat, args Args, facts Facts, missing error, id RowID, t Transporter) (Asked, error) {
	raw, err := Canonical(args)
	if err != nil {
		return Asked{}, err
	}
	var send *intent
	receipt, err := c.Write(ctx, op, args.Verb(), raw, by, func(s *Replayed) (Request, error) {
		if missing != nil {
			return Request{}, missing
		}
		r := Request{Op: op, Verb: args.Verb(), By: by, Args: raw, Facts: facts}
		// What is sent is what is recorded: the row as the operation leaves it.
		after, _, err := s.Apply(r, s.Last)
		if err != nil {
			return Request{}, err
		}
		send = intentOf(after, op, by, id)
		return r, nil
	})
	if err != nil {
		return Asked{}, err
	}
	asked := Asked{Intent: receipt}
	if receipt.Already || send == nil {
		return asked, nil
	}
	return c.send(ctx, asked, send, t)
}

// intentOf is the request that an operation has just recorded, or nil when it
// asks nobody.
func intentOf(s *Replayed, op OpID, by Seat, id RowID) *intent {
	row := s.Row(id)
	if row == nil || row.Review.current() == nil || row.Review.Issue == nil {
		return nil
	}
	round := row.Review.current()
	if !slices.ContainsFunc(round.Attempts, func(a Attempt) bool { return a.Op == op }) {
		return nil
	}
	return &intent{op: op, by: by, row: id, issue: *row.Review.Issue, body: requestText(op, row, round), state: s}
}

// send makes the request and records how it ended. The outcome is recorded
// also when the caller was interrupted meanwhile.
func (c *Checkout) send(ctx context.Context, asked Asked, i *intent, t Transporter) (Asked, error) {
	transport, poster, err := t(i.state, i.by)
	if err == nil {
		err = transport.Ready(ctx, poster)
	}
	if err != nil {
		asked.Delivery = Delivery{State: Failed, Why: sentence(err)}
	} else {
		asked.Delivery = transport.Post(ctx, poster, i.issue, i.body)
	}
	if err := c.recordOutcome(context.WithoutCancel(ctx), i, asked.Delivery); err != nil {
		asked.Notes = append(asked.Notes, hints(transport, i)...)
		return asked, uncertain(OutcomeNotRecorded, "uncertain %s: transport said %s, not recorded (%s)", i.op, asked.Delivery, sentence(err))
	}
	switch asked.Delivery.State {
	case Failed:
		return asked, failed(RequestFailed, "request %s failed: %s; nothing was posted", i.op, asked.Delivery.Why)
	case Uncertain:
		asked.Notes = append(asked.Notes, hints(transport, i)...)
		return asked, uncertain(RequestUncertain, "uncertain %s: %s", i.op, asked.Delivery.Why)
	}
	return asked, nil
}

// recordOutcome appends op.outcome by the write path (QUEUE-REVIEW-67).
func (c *Checkout) recordOutcome(ctx context.Context, i *intent, d Delivery) error {
	args := d.outcome(i.row, i.op)
	raw, err := Canonical(args)
	if err != nil {
		return err
	}
	return c.write(ctx, Request{Op: i.op.Outcome(), Verb: args.Verb(), By: i.by, Args: raw})
}

func (c *Checkout) write(ctx context.Context, r Request) error {
	_, err := c.Write(ctx, r.Op, r.Verb, r.Args, r.By, func(*Replayed) (Request, error) { return r, nil })
	return err
}

// hints say where a person finds out whether the request exists. The queue
// itself decides nothing from a lookup (QUEUE-REVIEW-76).
func hints(t Transport, i *intent) []string {
	if t == nil {
		return nil
	}
	if where := t.Where(i.issue); where != "" {
		return []string{"look on " + where + " for " + RequestMarker(i.op)}
	}
	return nil
}

// sentence is an error in words, without its code.
func sentence(err error) string {
	var r *Refusal
	if errors.As(err, &r) {
		return r.Sentence
	}
	return err.Error()
}

// ResolveReview records that an attempt's comment exists, after one look at it
// (QUEUE-REVIEW-77 to 83). A repeated operation is answered without a look.
func (c *Checkout) ResolveReview(ctx context.Context, op OpID, by Seat, args ResolveArgs, t Transporter) (Acknowledgement, error) {
	raw, err := Canonical(&args)
	if err != nil {
		return Acknowledgement{}, err
	}
	r := Request{Op: op, Verb: args.Verb(), By: by, Args: raw}
	reading, err := c.Read(ctx)
	if err != nil {
		return Acknowledgement{}, err
	}
	if logged := slices.ContainsFunc(reading.File.Log, func(e Entry) bool { return e.Op == op }); !logged {
		if err := c.checkComment(ctx, reading.State, r, args, t); err != nil {
			return Acknowledgement{}, err
		}
	}
	return c.Write(ctx, op, r.Verb, raw, by, func(*Replayed) (Request, error) { return r, nil })
}

// checkComment compares the comment with the attempt's request. What the rules
// refuse anyway is refused before anybody is asked.
func (c *Checkout) checkComment(ctx context.Context, s *Replayed, r Request, args ResolveArgs, t Transporter) error {
	if _, _, err := s.Apply(r, s.Last); err != nil {
		return err
	}
	row := s.Row(args.Row)
	round := roundOf(row, args.Attempt)
	transport, poster, err := t(s, r.By)
	if err != nil {
		return err
	}
	comment, err := transport.Find(ctx, poster, args.Comment)
	if err != nil {
		return failed(CommentUnreadable, "comment %d cannot be read: %s; attempt %s is unchanged", args.Comment, sentence(err), args.Attempt)
	}
	if wrong := mismatch(comment, *row.Review.Issue, args.Attempt, args.Row, round); wrong != "" {
		return refuse(CommentMismatch, "comment %d is not that of attempt %s: %s", args.Comment, args.Attempt, wrong)
	}
	return nil
}

// roundOf is the round that an attempt belongs to.
func roundOf(row *Row, op OpID) *Round {
	for i := range row.Review.Rounds {
		round := &row.Review.Rounds[i]
		if slices.ContainsFunc(round.Attempts, func(a Attempt) bool { return a.Op == op }) {
			return round
		}
	}
	return nil
}

// AbandonReview gives an attempt up (QUEUE-REVIEW-19, 20). yes is the caller's
// explicit consent to a request that may exist twice.
func (c *Checkout) AbandonReview(ctx context.Context, op OpID, by Seat, args AbandonArgs, yes bool) (Acknowledgement, error) {
	if !yes {
		return Acknowledgement{}, refuse(ReasonMissing, "abandoning %s may leave its request posted twice; say --yes to accept that", args.Attempt)
	}
	return c.apply(ctx, op, by, &args)
}

// RecordReview records a reviewer's verdict (QUEUE-REVIEW-21). The candidate
// may be spelled as in the comment.
func (c *Checkout) RecordReview(ctx context.Context, op OpID, by Seat, args RecordArgs) (Acknowledgement, error) {
	args.Candidate = plainDigest(args.Candidate)
	return c.apply(ctx, op, by, &args)
}

// apply writes one operation that needs nothing but its arguments.
func (c *Checkout) apply(ctx context.Context, op OpID, by Seat, args Args) (Acknowledgement, error) {
	raw, err := Canonical(args)
	if err != nil {
		return Acknowledgement{}, err
	}
	return c.Write(ctx, op, args.Verb(), json.RawMessage(raw), by, func(*Replayed) (Request, error) {
		return Request{Op: op, Verb: args.Verb(), By: by, Args: raw}, nil
	})
}
