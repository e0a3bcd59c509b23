// Package gitgate moves a project's branch forward to a commit: a landing.
//
// # What it promises
//
//   - A landing happens at most once. Check says what would happen and changes
//     nothing; Apply moves the branch only from the very commit that Check saw,
//     while it holds git's own lock on the branch, so that the host can spend
//     an approval in between.
//   - Nothing but a fast-forward is landed, and only a commit that is there
//     with everything it needs.
//   - A work tree that has the branch checked out moves along. When anything in
//     it is changed, or a git command is under way, the landing refuses.
//   - A refusal changes no ref, no file and no index entry, and no hook runs.
//
// # What it refuses
//
// It decides no authority: whoever calls Apply has spent the approval. It does
// not land in a repository whose own configuration names filter programs while
// a work tree would have to be written, because the host would run them.
//
// # On failure
//
// main-moved, main-busy, already-landed, commit-not-found and branch-not-found
// say what to do next. outcome-unknown means that the branch could not be read
// back after the move: look before anything is repeated.
//
// A crash between writing a work tree and moving the branch leaves the landed
// files in the work tree as staged changes and the branch where it was.
package gitgate
