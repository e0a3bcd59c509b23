package broker

import "mosaicstack.dev/mosaic/internal/wire"

var decisionVerbs = []Verb{
	raiseVerb(),
	write(Verb{
		Name:     "decision.resolve",
		Sessions: RoleSession | HumanSession,
		Summary:  "Answer an open decision with one of its options",
		Example:  `{"id":"01900000-0000-7000-8000-000000000000","choice":"yes","note":"go ahead"}`,
		Codes:    []wire.Code{wire.DecisionNotFound, wire.NotResolver, wire.DecisionClosed, wire.InvalidChoice},
	}, resolveDecision),
	write(Verb{
		Name:     "decision.seen",
		Sessions: RoleSession | HumanSession,
		Summary:  "Acknowledge an open decision without answering it",
		Example:  `{"id":"01900000-0000-7000-8000-000000000000"}`,
		Codes:    []wire.Code{wire.DecisionNotFound, wire.NotResolver, wire.DecisionClosed},
	}, seeDecision),
	write(Verb{
		Name:     "decision.withdraw",
		Sessions: RoleSession | HumanSession,
		Summary:  "Withdraw an open decision; it then authorizes nothing",
		Example:  `{"id":"01900000-0000-7000-8000-000000000000","note":"no longer needed"}`,
		Codes:    []wire.Code{wire.DecisionNotFound, wire.NotResolver, wire.DecisionClosed},
	}, withdrawDecision),
}
