package org

import "slices"

// Action is one row of the business vocabulary: something a role may ask to do
// (BUS-OPEN-30). An action outside the vocabulary is refused, never guessed.
type Action struct {
	Name    string
	Summary string // what taking it means, for people
	// Routed says that a role file may grant the action and that an arbiter may
	// approve it. An action that does not say so is a hard wait: it goes to the
	// human, always. Forgetting the mark therefore errs on the safe side
	// (BUS-AUTH-07).
	Routed bool
}

// The names of the actions that the code itself asks authority for.
const (
	ActionMergeProtected = "git.merge.protected"
	ActionMessageSend    = "message.send"
	ActionRoleEnd        = "role.end"
	ActionRoleLaunch     = "role.launch"
	ActionRoleRevoke     = "role.revoke"
)

// Vocabulary is every action, hard waits first. The broker classifies by it and
// the organization file and role definitions are validated against it.
var Vocabulary = []Action{
	{Name: "spend", Summary: "spend money"},
	{Name: "data.delete", Summary: "delete data that cannot be rebuilt"},
	{Name: "network.expose", Summary: "make something reachable from outside"},
	{Name: "account.create", Summary: "create an account at a service"},
	{Name: "credential.mint", Summary: "make a new credential"},
	{Name: "message.external", Summary: "write to someone outside the business"},
	{Name: "git.push.protected", Summary: "push to a protected branch"},
	{Name: "deploy", Summary: "put a version into use"},

	{Name: ActionRoleLaunch, Summary: "start a run of a role", Routed: true},
	{Name: ActionRoleRevoke, Summary: "take a role from the run that holds it", Routed: true},
	{Name: ActionRoleEnd, Summary: "end a run of another role with a reason", Routed: true},
	{Name: "organization.change", Summary: "change limits and launch settings", Routed: true},
	{Name: "instance.name", Summary: "give a role instance a name", Routed: true},
	{Name: ActionMessageSend, Summary: "send a message", Routed: true},
	{Name: "review.request", Summary: "ask a role for a review", Routed: true},
	{Name: "review.verdict", Summary: "give a verdict on a review", Routed: true},
	{Name: "record.write", Summary: "write to the project records", Routed: true},
	{Name: "task.create", Summary: "create a task", Routed: true},
	{Name: "task.update", Summary: "change a task", Routed: true},
	{Name: "task.comment", Summary: "comment on a task", Routed: true},
	{Name: "task.close", Summary: "close a task", Routed: true},
	{Name: "git.push.working", Summary: "push to a working branch", Routed: true},
	{Name: ActionMergeProtected, Summary: "merge a commit into a protected branch; the target is PROJECT/BRANCH@COMMIT with the full id", Routed: true},
	{Name: "policy.change", Summary: "change a policy", Routed: true},
	{Name: "prd.approve", Summary: "approve a requirements document", Routed: true},
	{Name: "routine", Summary: "note a routine observation", Routed: true},
}

// KnownAction reports whether the vocabulary has the action.
func KnownAction(name string) bool {
	return slices.ContainsFunc(Vocabulary, func(a Action) bool { return a.Name == name })
}

// HardWait reports whether the action always waits for the human: whatever is
// not marked as routed, what the vocabulary does not know included.
func HardWait(name string) bool {
	return !slices.ContainsFunc(Vocabulary, func(a Action) bool { return a.Name == name && a.Routed })
}
