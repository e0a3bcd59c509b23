package mosaic_test

import (
	"strings"
	"testing"

	"mosaicstack.dev/mosaic/internal/queue"
)

// The guide says what the queue does not promise, and what people keep to.
//
// proves: QUEUE-WRITE-69 QUEUE-WRITE-70 QUEUE-WRITE-71 QUEUE-WRITE-72 QUEUE-WRITE-91 QUEUE-WRITE-92 QUEUE-WRITE-93
// proves: QUEUE-WRITE-94 QUEUE-WRITE-95 QUEUE-WRITE-96 QUEUE-WRITE-97 QUEUE-WRITE-98 QUEUE-WRITE-99 QUEUE-WRITE-100
// proves: QUEUE-WRITE-101 QUEUE-NEXT-16 QUEUE-NEXT-17 QUEUE-COMMIT-60 QUEUE-REVIEW-36 QUEUE-OPEN-03
func TestTheQueueGuide(t *testing.T) {
	guide := strings.Join(strings.Fields(raw(t, "docs/queue.md")), " ")
	at := 0
	for _, heading := range []string{"## Every day", "## From a table to a running queue", "## Committing", "### Recovery by hand", "### An example"} {
		i := strings.Index(guide[at:], heading)
		if i < 0 {
			t.Fatalf("%q is missing, or comes too early", heading)
		}
		at += i
	}
	for _, says := range []string{
		"between the check that the queue file is unchanged and the rename that replaces it",
		"Git can use it, because git ignores the lock",
		"The same window exists for the view file",
		"the death of processes only; power loss is not tested",
		"rests on the platform: a local file system on which fsync of a file and of its directory",
		"An operation that was recorded and never acknowledged stands",
		"Actors are claimed.", "code of the same user can rewrite file and log",
		"While operations are uncommitted or a review request is unresolved, nobody runs `checkout`, `stash`, `restore`, `reset` or a switch of branches",
		"Only the lead restores, by the recovery below",
		"plain `git commit`, and never with `--no-verify`",
		"Merge, rebase, cherry-pick, revert and `am` on the queue's branch are the lead's, because they skip the guard",
		"no `core.hooksPath` in any scope, no `-c core.hooksPath=`, no `GIT_CONFIG_*` for it, no edit or mode change of `.git/hooks/pre-commit`",
		"protocol, not enforcement", "it cannot prevent a git write by the same user",
		"shows that the file agrees with itself, not that no history was lost. Only the witness speaks to that",
		"Copy the current bytes aside before anything else",
		"in the bytes you kept, in `git stash list` and `git reflog`", "in the receipts that seats hold", "`mosaic-queue-op` marker",
		"For every lost review request, look on its issue whether the comment exists", "is no longer deduplicated",
		"Put a valid file in place", "built by hand and reviewed",
		"cannot tell two sessions of a seat apart", "it cannot rank two rows that are both under way, and there is no priority field",
		"It gives no authorization: a commit still needs its own",
		"A commit stays retrievable only while a branch or tag keeps it",
		"otherwise the name itself",
		queue.BeginMarker, queue.EndMarker,
		queue.ResetCommand(queue.DefaultQueue, queue.DefaultView),
	} {
		if !strings.Contains(guide, says) {
			t.Errorf("the guide does not say %q", says)
		}
	}
}

// proves: QUEUE-BRIEF-17
func TestTheBriefTemplateIsShipped(t *testing.T) {
	if raw(t, "docs/plans/BRIEF-TEMPLATE.md") != queue.BriefTemplate {
		t.Error("docs/plans/BRIEF-TEMPLATE.md is not what mosaic queue genesis --brief-template prints")
	}
}
