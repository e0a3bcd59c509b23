// Package records reads the records repository of a project: its committed
// specification, and whether the human confirmed it.
//
// It promises that only what is committed and reachable from HEAD counts: never
// a file in a work tree, never an older version because the latest one is not
// confirmed. It refuses repositories that are symbolic links, belong to another
// user, lack their history, or are not the project's own. It writes nothing and
// decides nothing; what an unconfirmed spec means is the broker's to say.
//
// On failure it answers with a *wire.Error: project-not-found,
// project-file-missing, project-unsafe, or project-failed when git itself gave
// no answer.
package records
