package broker

import (
	"context"

	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/wire"
)

// Verb is one row of the registry. Dispatch, argument checks, help, MCP
// schemas and the reference are all derived from these rows.
type Verb struct {
	Name string
	// Sessions may call it; another kind gets its code (BUS-OPEN-22) before
	// the arguments are looked at.
	Sessions Kind
	// Unclaimed marks the verbs that a role session may call without holding
	// its claim: role.claim alone.
	Unclaimed bool
	// Writes marks verbs whose handler gets a Tx; the others get a snapshot.
	Writes bool
	// MaxRequest is the verb's request limit in bytes; 0 means wire.MaxRequest.
	MaxRequest int
	Summary    string // one sentence, imperative
	Example    string // arguments as JSON, for help and the reference
	Codes      []wire.Code

	newArgs func() any
	prepare func(ctx context.Context, b *Broker, s Session, args any) (any, error)
	handle  func(c *Call, args any) (any, error)
}

// Call is one request on its way through a handler.
type Call struct {
	Broker  *Broker
	Session Session
	// Rows reads: the transaction's view in a writing verb, a snapshot otherwise.
	Rows *evidence.Rows
	// Tx is nil in a reading verb.
	Tx *evidence.Tx
	// Prepared is what the verb's prepare step returned, or nil.
	Prepared any

	// committed is done once the transaction is durable.
	committed []func()
}

// read declares a reading verb. A is the argument struct: its JSON tags are
// the argument names, pointers and omitempty mark optional ones.
func read[A any](v Verb, handle func(c *Call, a A) (any, error)) Verb {
	v.newArgs = func() any { return new(A) }
	v.handle = func(c *Call, args any) (any, error) { return handle(c, *args.(*A)) }
	return v
}

// write declares a writing verb.
func write[A any](v Verb, handle func(c *Call, a A) (any, error)) Verb {
	v.Writes = true
	return read(v, handle)
}

// none is the argument struct of verbs that take no arguments.
type none struct{}

// Verbs is the registry, in the order of the reference. It is a function of
// the families, not of init order.
var Verbs = families(
	claimVerbs,
	revokeVerbs,
	decisionVerbs,
	messageVerbs,
	launchVerbs,
	readVerbs,
)

func families(groups ...[]Verb) []Verb {
	var all []Verb
	for _, g := range groups {
		all = append(all, g...)
	}
	return all
}
