// Package broker decides who may do what: it owns the verb registry, sessions
// and capabilities, authority and single-use approvals, claims, messages and
// decisions, the human's process proof, and the control operations of the
// trusted host.
//
// It promises that no verb acts for a session that was not proven on that very
// request; that an approval authorizes exactly one action, in the transaction
// that records it; and that every refusal to a proven session leaves evidence.
// It works on the normalized businesses that the host supplies: it loads no
// configuration, launches nothing and calls no service.
//
// On failure: a start that is refused gives back what it took and has changed
// nothing. A store that fails, or a socket that is lost, stops the broker, and
// Err says which. After a crash the writer lock and the sockets stay and refuse
// the next start; what was acknowledged is in the store.
//
// Reading order: runtime.go (a broker's life), session.go (what a request
// proves) and human.go (how a process proves a person), verbs.go (the registry),
// dispatch.go (the one path that every request takes) and refusal.go (the
// evidence of the refused ones), authority.go and approval.go (what a role may
// do), then one file a verb family. The trusted host's calls are in bind.go,
// end.go and control.go, and as messages in channel.go and controlops.go.
package broker
