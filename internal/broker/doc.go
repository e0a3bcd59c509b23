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
// Reading order: runtime.go (a broker's life), session.go (what a request
// proves), verbs.go (the registry and the one path every request takes), then
// one file a verb family.
package broker
