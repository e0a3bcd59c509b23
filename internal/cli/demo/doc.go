// Package demo is `mosaic demo`: a throw-away team that does a real piece of
// work. It owns the set-up (a data root, a project with a failing test, a
// clone for each role), the order of events, and the clean-up.
//
// It promises that everything it shows really happened: it drives the same
// program that a person types, as child processes. The person's answers come
// from `mosaic decide`, with the person's process proof, also with --yes.
// Nothing outside its own directory is changed, and that is removed at the end
// unless it is told to keep it.
//
// It refuses to start when it cannot prove a person, because an agent's run is
// among its ancestors.
//
// On failure it stops the host and says which step failed, with the line of
// the command that failed and the last lines of the host's log.
package demo
