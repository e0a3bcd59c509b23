// Package launch runs programs for role instances: harness plug-ins, the
// sandbox, the life of a run and its files.
//
// # A run
//
// A run is one process tree, named by a UUIDv7 (MOSAIC_RUN_ID). Its outermost
// process is a monitor: this binary, re-executed with the hidden stage
// command. The monitor is started first, so that the launch record names a
// process that exists; it waits on an inherited socket for what it shall run.
// Only after the record is durable and the broker has bound the run does the
// launcher hand the program, its environment and the run's capability over
// that socket. The monitor starts the program (inside bubblewrap, or plainly),
// writes its output to a bounded file, adopts what the program leaves behind
// (subreaper), and kills all of it when the program ends, when it is told to,
// or when the socket closes, which is what happens when the host dies.
//
// # What it promises
//
//   - No program starts before its run is bound, and none after a refusal.
//   - A capability is in no argument list, and in no environment but that of
//     the program it was made for.
//   - The environment of a run is built from a list of allowed names; nothing
//     else of the host's environment reaches it.
//   - In the sandbox a run has its own PID namespace, and of the data root sees
//     bus.sock and host.sock alone, at the paths they have outside. It has no
//     capabilities, whoever runs the host, and can neither uncover the data
//     root nor move it or what it lies in.
//   - Ended is reported exactly once a run, after its last process is gone.
//   - A flood of output keeps the newest OutputLimit bytes and the same again.
//
// # What it refuses
//
// It decides no authority and knows no verbs. It launches nothing in a sandbox
// that did not pass its probe.
//
// # Known gaps
//
// Without the sandbox a program can kill its own monitor. The launcher then
// kills what carries the run's marker in its environment, which a process that
// cleared it does not.
//
// Writable paths and the network are not restricted yet: a run can write what
// its user can write, and so change files that the user's other programs
// trust. Confinement is the place where that goes.
package launch
