package org

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The two lists are written out a second time on purpose: an action that joins
// the vocabulary, or moves between the lists, has to be meant.
//
// proves: BUS-AUTH-03 BUS-AUTH-07 BUS-AUTH-08
func TestVocabularyIsHardWaitsAndRoutedActions(t *testing.T) {
	t.Parallel()
	hardWaits := []string{
		"account.create", "credential.mint", "data.delete", "deploy", "git.push.protected",
		"message.external", "network.expose", "spend",
	}
	routed := []string{
		"git.merge.protected", "git.push.working", "instance.name", "message.send", "organization.change",
		"policy.change", "prd.approve", "record.write", "review.request", "review.verdict", "role.end",
		"role.launch", "role.revoke", "routine", "task.close", "task.comment", "task.create", "task.update",
	}
	var gotHard, gotRouted []string
	for _, a := range Vocabulary {
		if !KnownAction(a.Name) {
			t.Errorf("KnownAction(%q) = false", a.Name)
		}
		if a.Summary == "" {
			t.Errorf("action %s has no summary", a.Name)
		}
		if HardWait(a.Name) {
			gotHard = append(gotHard, a.Name)
		} else {
			gotRouted = append(gotRouted, a.Name)
		}
	}
	slices.Sort(gotHard)
	slices.Sort(gotRouted)
	if diff := cmp.Diff(hardWaits, gotHard); diff != "" {
		t.Errorf("hard waits (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(routed, gotRouted); diff != "" {
		t.Errorf("routed actions (-want +got):\n%s", diff)
	}
}

// proves: BUS-AUTH-07
func TestActionThatNoListNamesIsAHardWait(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "deploy.again", "Message.send", "message.send "} {
		if KnownAction(name) {
			t.Errorf("KnownAction(%q) = true", name)
		}
		if !HardWait(name) {
			t.Errorf("HardWait(%q) = false: an unknown action must never be routed to an arbiter", name)
		}
	}
}
