// Package cli is the command line of Mosaic: one file per command group. A
// command parses its arguments, makes calls and prints; it holds no rules of
// its own. What is allowed is decided by the broker, the host and the store.
//
// It promises
//   - exit codes: 0 done, 1 the operation failed, 2 refused or invalid data,
//     3 the outcome is uncertain, 4 usage (DESIGN.md 3);
//   - one line on stderr for every failure, "mosaic: <code>: <sentence>";
//   - with --json exactly one JSON document on stdout and nothing else there:
//     the answer, or the failure, whose line is on stderr all the same;
//   - that what was done is never reported as failed: when its answer cannot be
//     printed the code is not-shown (exit 3);
//   - that text is sent as it was typed or refused, never repaired (text.go);
//   - that no text from others reaches a terminal before its control and
//     direction-changing characters were made visible (output.go);
//   - that it never prompts without a terminal;
//   - that a mutation is sent once. When its reply is lost the command says
//     so (exit 3) and never sends it again.
//
// It refuses to guess: an abbreviated id that fits two things is refused.
//
// Inside a managed run (MOSAIC_BUS_CAP is set) commands act as the run's role.
// Everywhere else they act as the person, who is proven by the process itself
// (proof.go).
//
// Reading order: run.go (a command's life), output.go (everything that is
// printed), session.go and proof.go (as whom it acts), then the groups.
package cli
