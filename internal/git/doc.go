// Package git runs the git program on repositories that other people and
// agents can write to.
//
// # What it promises
//
//   - Every child starts from an environment that is built here: no GIT_*
//     variable of this process reaches it, nothing prompts, and messages are in
//     one language.
//   - No hook, file system monitor, remote or lazy fetch runs. What would make
//     history look different from what is stored (replacement objects, grafts,
//     a forged commit graph) is off.
//   - Reads take no lock, see neither the system's nor the person's
//     configuration, and their output is bounded, as is their time.
//   - Errors are static: none carries output of git, which holds paths, names
//     and whatever an author wrote.
//
// # What it refuses
//
// A directory that is a symbolic link, belongs to another user, or is only
// somewhere inside a repository is not opened.
//
// # Known gap
//
// A repository's own configuration can name filter programs, which git runs to
// compare or write a work tree. Programs reports them so that callers refuse
// first; a change in the moment between is not noticed.
package git
