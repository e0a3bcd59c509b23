package queue

import (
	"context"
	"fmt"
)

// Transport carries review requests to where reviewers read them. Gitea is
// one; teams that review on the bus get another with the bus's review verbs
// (review.request). No method is called while the lock is held
// (QUEUE-LOCK-65), and none is called twice for one attempt.
type Transport interface {
	// Ready makes sure that a request of this poster can be sent. Its error
	// says for people why not; nothing was sent then, whatever the error is.
	Ready(ctx context.Context, as Poster) error
	// Post sends a request once. It never repeats it, not even after an error
	// that seems harmless, and always says what is known.
	Post(ctx context.Context, as Poster, issue int, body string) Delivery
	// Find reads one comment with one request.
	Find(ctx context.Context, as Poster, comment int64) (Comment, error)
	// Where is the address at which people find the issue, or "".
	Where(issue int) string
}

// Poster is who a request is sent for.
type Poster struct {
	Actor    Seat   // recorded in the log
	Identity string // that the credential file's path must name
	Login    string // that the service must know the credential by
}

// Delivery is what is known after a request was sent, or was not.
type Delivery struct {
	State   AttemptState // Posted, Failed or Uncertain
	Comment int64        // with Posted alone
	Status  int          // of the response; 0 when there was none
	Why     string       // for people, in one line; "" with Posted
}

// String says in a few words what the transport said.
func (d Delivery) String() string {
	switch {
	case d.State == Posted:
		return fmt.Sprintf("posted comment %d", d.Comment)
	case d.Why != "":
		return fmt.Sprintf("%s: %s", d.State, d.Why)
	}
	return string(d.State)
}

// outcome is the delivery as the log has it: the status and the comment's id,
// and nothing else of the response (QUEUE-REVIEW-14).
func (d Delivery) outcome(row RowID, attempt OpID) *OutcomeArgs {
	args := &OutcomeArgs{Attempt: attempt, Row: row, State: d.State}
	if d.State == Posted {
		args.Comment = &d.Comment
	}
	if d.Status != 0 {
		args.Status = &d.Status
	}
	return args
}

// Comment is a comment as its service has it now.
type Comment struct {
	Issue int // 0 when it belongs to no issue of the repository
	Body  string
}
