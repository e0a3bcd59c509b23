// Package ledger is the weekly report: a section that checks the queue against
// issues, registrations and time, above a table of what happened week by week.
//
// # What it promises
//
//   - It reports what it knows and says what it does not. A check that could
//     not be decided is undecided, never passed; the best result is a reduced
//     pass, because a registered pid is no verified identity.
//   - A run makes at most twelve calls: one page of issues for the table, one
//     page of open issues, and ten single issues. What lies beyond is unknown.
//   - An issue is closed only on positive evidence. An issue that is absent
//     from a list, does not exist or is a pull request proves nothing.
//   - A violation that an earlier run of the day reported counts until a run
//     that could decide it no longer reports it. An edit of a row, or a check
//     that was left out, is no remedy.
//
// It only reads: the queue through its validator, one directory of
// registrations, and the issues. An invalid queue or a list of issues that
// cannot be read fails the run, and no report is made.
package ledger
