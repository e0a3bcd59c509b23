// Package audit checks the evidence that a freshly launched seat, told only to
// run `mosaic queue next` and do it, found, claimed and did a row by itself.
//
// The evidence is one file outside of the repository. Prepare begins it before
// the launch: listings, the launch's command line, the revision and digests of
// every text that shapes the seat. Pin adds what exists later, the last time
// at the cutoff, when the first concrete action succeeded. Check judges it
// against the pinned session file and the queue's log.
//
// # What it promises
//
//   - One result for each item of the checklist: interval and pins, context,
//     input, execution, verdict. Inconclusive is never a pass.
//   - It writes the evidence file and nothing else: not the repository, not
//     the session file, not the queue.
//   - No content of the person's own file appears anywhere; of every context
//     source only digests, and line numbers of matches, are kept.
//
// # What it cannot see
//
// The evidence is cooperative. An edit made and reverted between two digests,
// and a helper that runs the same command outside of the session, are not
// excluded; every report says so. The verdict is the human's, and no result
// of this package stands in for it.
package audit
