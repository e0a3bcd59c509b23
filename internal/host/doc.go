// Package host is `mosaic up`: the trusted host of one data root.
//
// It loads the organization, embeds the broker, launches and ends runs, and
// serves host.sock, where the person and the roles ask it for launches, runs
// and landings. It alone turns configuration into what the broker works on,
// and it alone starts programs.
//
// # What it promises
//
//   - It decides no authority: for a role it asks the broker first, and what it
//     refuses itself (instance list, capacity, a failed start, a landing) it
//     records there.
//   - A run is bound before its program starts, and ended exactly once.
//   - An approval that a landing spends lands at most one commit.
//   - A stop in order (context cancelled) leaves no process, socket or lock.
//   - After a crash of the host no run goes on, and the next start records each
//     of them as lost and releases its claim before it serves.
//
// # What it refuses
//
// It removes no lock or socket of a crashed host: the start refuses with
// writer-locked or socket-exists, and only `mosaic bus unlock` clears them.
//
// # On failure
//
// A broker that stops by itself ends the host with the broker's code.
//
// Reading order: host.go (the life of a host), adapter.go (organization to
// broker), verbs.go (the table of host.sock), then one file a verb family.
package host
