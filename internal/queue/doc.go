// Package queue keeps the queue of work: one JSON file in a git repository
// that carries its own history, and the write path that separates visible,
// durable and acknowledged.
//
// # What it promises
//
//   - The log inside the file is the only record of operations. Rows are what
//     a replay of the log gives, under the rules that each entry was checked
//     with; a file that does not replay to its rows is invalid.
//   - An operation is visible from the rename on, durable once the directory
//     was synced and the witness written, and acknowledged only by its printed
//     receipt. Its id is the only identity of a retry.
//   - A crash, a race, a retry or a git command that changes the file is
//     survived or detected: history that the witness knows and the file lacks
//     refuses every verb until a privileged person accepts it.
//   - Nothing reclaims a lock by itself, overwrites a table that a person
//     edited, or posts a review request twice.
//
// # What it refuses
//
// It works only in the canonical checkout, on the branch that genesis
// recorded, on a local file system. Actors are claimed, not proven: code of
// the same user can rewrite file and log.
//
// # Reviews
//
// A review request is recorded, sent once without the lock by a Transport, and
// its outcome recorded. Gitea is one Transport; asking over the bus
// (review.request) is another, which comes with the bus's review verbs.
//
// Reading order: file.go (the file), transitions.go (who may do what),
// apply.go (the one meaning of an operation, shared by replay and write),
// write.go (the twelve steps), lock.go, witness.go, review.go, then the other
// verbs.
package queue
