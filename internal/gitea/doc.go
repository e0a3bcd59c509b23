// Package gitea is a small client for the few calls that Mosaic makes to a
// Gitea server: who am I, post a comment, read a comment, read issues.
//
// # What it promises
//
//   - One call is one request. Nothing is retried, no redirect is followed, no
//     connection is kept, so a server never sees a second POST for one Post.
//   - Every call ends within its deadline (Deadline unless set), the answer's
//     body included.
//   - It alone opens the credential file, in place and for reading only. The
//     token goes into the Authorization header and nowhere else: not into an
//     error, a log or another file.
//   - Answers are read up to a limit and decoded strictly; errors are the
//     static values of this package and hold no word of an answer.
//
// It decides nothing: what a status means for a review request or a report is
// said by the callers. It never guesses whether a request without an answer
// was accepted; ErrTransport and ErrDeadline mean that nobody knows.
package gitea
