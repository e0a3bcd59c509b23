package gitgate

import (
	"strings"

	"mosaicstack.dev/mosaic/internal/git"
)

// Target names one landing: this commit, on this branch, of this project. It is
// what an approval of git.merge.protected is for.
type Target struct {
	Project string
	Branch  string
	Commit  git.ObjectID
}

// String is the target as a decision names it: web/main@<full id>.
func (t Target) String() string { return t.Project + "/" + t.Branch + "@" + string(t.Commit) }

// ParseTarget reads what String writes; false for anything else. A project has
// no slash in its name and an object id no @, so there is one way to read it.
func ParseTarget(text string) (Target, bool) {
	project, rest, _ := strings.Cut(text, "/")
	at := strings.LastIndexByte(rest, '@')
	if project == "" || at < 1 {
		return Target{}, false
	}
	commit, ok := git.ParseObjectID(rest[at+1:])
	return Target{Project: project, Branch: rest[:at], Commit: commit}, ok
}
