// Package evidence is the append-only SQLite store of the bus. All bus SQL
// lives here, behind typed methods; nothing else opens bus.sqlite.
//
// # What it promises
//
//   - A write is acknowledged only after the commit that holds it is durable
//     (WAL, synchronous=FULL, read back at open).
//   - One goroutine owns the writing connection. It drains its queue into one
//     transaction, runs each request in a savepoint of its own, commits once
//     and then answers. A request that is refused rolls back alone; its
//     refusal is recorded in the same transaction. A commit that fails fails
//     every request in it and acknowledges none.
//   - Evidence rows are never updated, deleted or replaced: triggers refuse.
//     Every rule that a trigger can hold is held by one; callers check first
//     to give a good code.
//   - Timestamps strictly advance across all rows of all evidence tables, also
//     after the store is reopened, and so order them totally.
//   - Every evidence row, in that order, is folded into one hash chain whose
//     head each event row carries. Whoever holds an older checkpoint can tell
//     whether history before it was rewritten.
//   - Open checks the schema version, the digests of the schema source and of
//     sqlite_master, WAL mode, quick_check and foreign keys, and on any
//     mismatch refuses and changes nothing.
//
// # What it refuses
//
// It never creates a store that open was asked for, never migrates at open,
// never takes over a writer lock, and never repairs.
//
// # On failure
//
// A full disk fails the batch and the store goes on. A failed fsync or I/O
// error leaves the state of the file unknown: the store closes itself, Failed
// is closed, and the broker ends with exit 2; the next open finds out what is
// true.
//
// # Projections
//
// delivery_unread, decision_open and session_open hold nothing that the
// evidence does not: triggers maintain them in the same transaction so that no
// read grows with total history, and Verify recomputes them.
//
// # Reading the source
//
// schema.sql first: the tables and, behind each, the rules that its guard
// holds. Then writer.go (the life of a batch), write.go and read.go (what
// callers see), chain.go (what a row hashes to), open.go and inspect.go (what
// is checked before anything is touched), verify.go and rules.go (what is
// checked afterwards). migrations/ keeps every version's source for ever.
package evidence
