package queue

import (
	"slices"
	"strings"
)

// The verdicts of a receipt, the kinds of a candidate, and whether a round
// asks by a comment.
const (
	Approve = "approve"
	Changes = "changes"

	CommitCandidate   = "commit"
	ManifestCandidate = "manifest"
	NoCandidate       = "none"

	RequestPosted = "posted"
	RequestNone   = "none"
)

// noDigest is the digest of a round without a candidate (QUEUE-OPEN-20).
const noDigest = "none"

// unresolved reports whether nobody knows how the attempt ended
// (QUEUE-REVIEW-48).
func (s AttemptState) unresolved() bool { return s == Requesting || s == Uncertain || s == Conflict }

// current is the latest round, or nil.
func (r *Review) current() *Round {
	if r == nil || len(r.Rounds) == 0 {
		return nil
	}
	return &r.Rounds[len(r.Rounds)-1]
}

// settled refuses a new request while any attempt, in any round, is
// unresolved.
func (r *Review) settled(id RowID) error {
	if r == nil {
		return nil
	}
	for i := range r.Rounds {
		for _, a := range r.Rounds[i].Attempts {
			if a.State.unresolved() {
				return refuse(AttemptUnresolved, "attempt %s of row %d, round %d, is %s: resolve or abandon it first", a.Op, id, i+1, a.State)
			}
		}
	}
	return nil
}

func (r *Round) receiptOf(seat Seat) *Receipt {
	for i := range r.Receipts {
		if r.Receipts[i].Seat == seat {
			return &r.Receipts[i]
		}
	}
	return nil
}

// copied returns a review whose last rounds can be changed without changing
// r's.
func (r *Review) copied() *Review {
	next := &Review{Rounds: []Round{}}
	if r != nil {
		next.Issue = r.Issue
		next.Rounds = slices.Clone(r.Rounds)
	}
	for i := range next.Rounds {
		next.Rounds[i].Attempts = slices.Clone(next.Rounds[i].Attempts)
		next.Rounds[i].Receipts = slices.Clone(next.Rounds[i].Receipts)
	}
	return next
}

// openRound freezes the candidate. With reviewers it is the review request.
func (m *moving) openRound() error {
	candidate, err := m.candidate()
	if err != nil {
		return err
	}
	review := m.row.Review.copied()
	round := Round{
		Round: len(review.Rounds) + 1, Candidate: candidate, Request: RequestNone,
		Attempts: []Attempt{}, Receipts: []Receipt{},
	}
	if len(m.row.Reviewers) > 0 {
		issue, err := m.issue()
		if err != nil {
			return err
		}
		review.Issue = &issue
		round.Request = RequestPosted
		round.Attempts = append(round.Attempts, m.attempt())
		m.result.Issue, m.result.Attempt = issue, Requesting
	} else if m.args.Issue != nil {
		return refuse(ArgumentInvalid, "row %d has no reviewers, so no issue is asked on", m.row.ID)
	}
	review.Rounds = append(review.Rounds, round)
	m.row.Review = review
	m.result.Round = round.Round
	return nil
}

// attempt is a request whose intent is recorded now.
func (o *operation) attempt() Attempt {
	o.requested[o.Op] = o.By
	return Attempt{Op: o.Op, State: Requesting}
}

// candidate is the candidate that the move names.
func (m *moving) candidate() (Candidate, error) {
	c := m.Facts.Candidate
	switch {
	case m.args.Candidate == "" && c != nil:
		return Candidate{}, refuse(CandidateInvalid, "the move names no candidate")
	case m.args.Candidate == "" && len(m.row.Reviewers) > 0:
		return Candidate{}, refuse(CandidateInvalid, "row %d has reviewers: give --candidate, a commit or a manifest", m.row.ID)
	case m.args.Candidate == "":
		return Candidate{Kind: NoCandidate, Digest: noDigest}, nil
	case c == nil:
		return Candidate{}, refuse(CandidateInvalid, "there is no commit or manifest %s", m.args.Candidate)
	}
	if err := c.check(m.args.Candidate); err != nil {
		return Candidate{}, err
	}
	m.result.Candidate = c
	return *c, nil
}

// check demands that the candidate is what its name says.
func (c *Candidate) check(name string) error {
	switch {
	case c.Ref != name:
	case c.Kind == CommitCandidate && isObjectID(c.Ref) && c.Digest == c.Ref && c.Manifest == nil:
		return nil
	case c.Kind == ManifestCandidate && c.Manifest != nil && c.Digest == digest([]byte(*c.Manifest)):
		return nil
	}
	return refuse(CandidateInvalid, "%s is neither a commit by its full id nor a manifest with its digest", clip(name))
}

// issue is where the review is asked: the row's only issue, the one of the
// rounds before, or the named one (QUEUE-REVIEW-37, QUEUE-OPEN-79).
func (m *moving) issue() (int, error) {
	switch row := m.row; {
	case len(row.Issues) == 0:
		return 0, refuse(ArgumentInvalid, "row %d has reviewers and no issue to ask them on", row.ID)
	case m.args.Issue != nil:
		if !slices.Contains(row.Issues, *m.args.Issue) {
			return 0, refuse(ArgumentInvalid, "row %d does not name issue %d", row.ID, *m.args.Issue)
		}
		return *m.args.Issue, nil
	case len(row.Issues) == 1:
		return row.Issues[0], nil
	case row.Review != nil && row.Review.Issue != nil && slices.Contains(row.Issues, *row.Review.Issue):
		return *row.Review.Issue, nil
	default:
		return 0, refuse(ArgumentInvalid, "row %d names %d issues: say which one with --issue", row.ID, len(row.Issues))
	}
}

// checkEvidence compares what the move cites with the current round
// (QUEUE-STATE-36, QUEUE-STATE-38).
func (m *moving) checkEvidence() error {
	round := m.row.Review.current()
	if round == nil {
		return refuse(EvidenceInvalid, "row %d has no review round: move it back to %s and to %s again", m.row.ID, InProgress, InReview)
	}
	e, err := parseEvidence(m.args.Evidence)
	if err != nil {
		return err
	}
	switch {
	case e.round != round.Round:
		return refuse(EvidenceInvalid, "the evidence names round %d; row %d is in round %d", e.round, m.row.ID, round.Round)
	case e.candidate != round.Candidate.Digest:
		return refuse(EvidenceInvalid, "the evidence names another candidate than %s of round %d", round.Candidate.Digest, round.Round)
	case len(m.row.Reviewers) == 0 && e.comment == 0:
		return refuse(EvidenceInvalid, "row %d has no reviewers: the evidence must name a comment", m.row.ID)
	case len(m.row.Reviewers) > 0 && e.comment != 0:
		return refuse(EvidenceInvalid, "row %d has reviewers: their receipts are the evidence, without a comment", m.row.ID)
	}
	return nil
}

// request opens another attempt in the current round (QUEUE-REVIEW-17).
func (o *operation) request() error {
	row, round, err := o.inReview(o.args.(*RequestArgs).Row, mayRequest)
	if err != nil {
		return err
	}
	if round.Request != RequestPosted {
		return refuse(ArgumentInvalid, "round %d of row %d asks nobody: move it back to %s and to %s again", round.Round, row.ID, InProgress, InReview)
	}
	if err := row.Review.settled(row.ID); err != nil {
		return err
	}
	for _, a := range round.Attempts {
		if a.State == Posted {
			return refuse(AttemptClosed, "the request of round %d is posted already, by %s", round.Round, a.Op)
		}
	}
	round.Attempts = append(round.Attempts, o.attempt())
	o.result.Issue, o.result.Round, o.result.Attempt = *row.Review.Issue, round.Round, Requesting
	o.changed(row, row.State)
	return nil
}

// inReview returns a row under review with its current round, which may be
// changed.
func (o *operation) inReview(id RowID, who Permission) (*Row, *Round, error) {
	row, err := o.findOpen(id)
	if err != nil {
		return nil, nil, err
	}
	if err := o.permit(who, row); err != nil {
		return nil, nil, err
	}
	if row.State != InReview || row.Review.current() == nil {
		return nil, nil, refuse(NotInReview, "row %d is %s and not under review", row.ID, ShowState(row.State, o.Human))
	}
	row.Review = row.Review.copied()
	return row, row.Review.current(), nil
}

// findAttempt returns a row with one of its attempts, which may be changed.
func (o *operation) findAttempt(id RowID, op OpID) (*Row, *Round, *Attempt, error) {
	row, err := o.findOpen(id)
	if err != nil {
		return nil, nil, nil, err
	}
	if row.Review != nil {
		row.Review = row.Review.copied()
		for i := range row.Review.Rounds {
			round := &row.Review.Rounds[i]
			for j := range round.Attempts {
				if round.Attempts[j].Op == op {
					return row, round, &round.Attempts[j], nil
				}
			}
		}
	}
	return nil, nil, nil, refuse(AttemptUnknown, "row %d has no attempt %s", id, op)
}

// outcome records how an attempt's POST ended (QUEUE-REVIEW-67 to 70).
func (o *operation) outcome() error {
	args := o.args.(*OutcomeArgs)
	if strings.TrimSuffix(string(o.Op), OutcomeSuffix) != string(args.Attempt) {
		return refuse(OpMalformed, "the outcome of %s is recorded as %s", args.Attempt, args.Attempt.Outcome())
	}
	row, round, attempt, err := o.findAttempt(args.Row, args.Attempt)
	if err != nil {
		return err
	}
	if asked := o.requested[args.Attempt]; o.By != asked {
		return refuse(NotPermitted, "%s asked for the review and records its outcome, not %s", asked, clip(string(o.By)))
	}
	attempt.Status = args.Status
	attempt.State = attempt.after(args)
	if attempt.Comment == nil {
		attempt.Comment = args.Comment
	}
	o.settledAs(row, round, attempt)
	return nil
}

// after is the state of an attempt once the transport's outcome is known. A
// person may have resolved it before (QUEUE-OPEN-81).
func (a *Attempt) after(outcome *OutcomeArgs) AttemptState {
	switch {
	case a.State == Requesting:
		return outcome.State
	case outcome.State == Uncertain:
		return a.State
	case a.State == Posted && outcome.State == Posted && *a.Comment == *outcome.Comment:
		return Posted
	case a.State == Abandoned && outcome.State == Failed:
		return Abandoned
	}
	return Conflict
}

// resolve records that a person found the attempt's comment (QUEUE-REVIEW-82).
func (o *operation) resolve() error {
	args := o.args.(*ResolveArgs)
	row, round, attempt, err := o.findAttempt(args.Row, args.Attempt)
	if err != nil {
		return err
	}
	if err := o.permit(mayResolve, row); err != nil {
		return err
	}
	if err := attempt.open(row.ID); err != nil {
		return err
	}
	attempt.State, attempt.Comment, attempt.ResolvedBy = Posted, &args.Comment, &o.By
	o.settledAs(row, round, attempt)
	return nil
}

// abandon gives an attempt up; the round's request may then exist twice
// (QUEUE-REVIEW-84).
func (o *operation) abandon() error {
	args := o.args.(*AbandonArgs)
	row, round, attempt, err := o.findAttempt(args.Row, args.Attempt)
	if err != nil {
		return err
	}
	if err := o.permit(mayAbandon, row); err != nil {
		return err
	}
	if err := attempt.open(row.ID); err != nil {
		return err
	}
	attempt.State, attempt.ResolvedBy = Abandoned, &o.By
	round.DuplicateRisk = true
	o.settledAs(row, round, attempt)
	return nil
}

// open refuses a resolution of what is settled (QUEUE-REVIEW-86).
func (a *Attempt) open(id RowID) error {
	if a.State.unresolved() {
		return nil
	}
	return refuse(AttemptClosed, "attempt %s of row %d is %s already", a.Op, id, a.State)
}

func (o *operation) settledAs(row *Row, round *Round, attempt *Attempt) {
	o.result.Round, o.result.Attempt = round.Round, attempt.State
	o.changed(row, row.State)
}

// record adds a reviewer's receipt to the current round (QUEUE-REVIEW-88 to
// 91).
func (o *operation) record() error {
	args := o.args.(*RecordArgs)
	row, round, err := o.inReview(args.Row, mayRecord)
	if err != nil {
		return err
	}
	c := round.Candidate
	switch {
	case c.Kind == NoCandidate:
		return refuse(ReceiptRefused, "round %d of row %d has no candidate to judge", round.Round, row.ID)
	case args.Candidate != c.Digest && args.Candidate != c.Ref:
		return refuse(ReceiptRefused, "the receipt names another candidate than %s of round %d", c.Digest, round.Round)
	case round.receiptOf(o.By) != nil:
		return refuse(ReceiptRefused, "%s has a receipt in round %d; a changed mind is a new round", o.By, round.Round)
	}
	round.Receipts = append(round.Receipts, Receipt{
		Seat: o.By, Verdict: args.Verdict, Comment: args.Comment, Candidate: c.Digest, At: o.at,
	})
	o.result.Round = round.Round
	o.changed(row, row.State)
	return nil
}
