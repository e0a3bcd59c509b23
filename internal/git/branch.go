package git

import (
	"bytes"
	"context"
	"strings"
)

// Branch is a local branch.
type Branch struct {
	Name   string   // without refs/heads/
	Commit ObjectID // what it points at
}

// Ref is the branch's full name.
func (b Branch) Ref() string { return "refs/heads/" + b.Name }

// HeadBranch returns the name of the branch that HEAD is on; false when HEAD is
// detached.
func (r *Repository) HeadBranch(ctx context.Context) (string, bool, error) {
	out, err := r.read(ctx, "symbolic-ref", "--quiet", "HEAD")
	if exitCode(err) == 1 {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	name, ok := strings.CutPrefix(strings.TrimSuffix(string(out), "\n"), "refs/heads/")
	return name, ok, nil
}

// FindBranch returns a local branch; false when there is none of that name, or
// when it only stands for another one.
func (r *Repository) FindBranch(ctx context.Context, name string) (Branch, bool, error) {
	if !r.branchName(ctx, name) {
		return Branch{}, false, nil
	}
	b := Branch{Name: name}
	out, err := r.read(ctx, "for-each-ref", "--format=%(refname)%00%(objectname)%00%(symref)", b.Ref())
	if err != nil {
		return Branch{}, false, err
	}
	for line := range bytes.Lines(out) {
		fields := strings.Split(strings.TrimSuffix(string(line), "\n"), "\x00")
		if len(fields) != 3 || fields[0] != b.Ref() {
			continue // a ref below it, such as main/x
		}
		id, ok := ParseObjectID(fields[1])
		if !ok {
			return Branch{}, false, ErrAnswer
		}
		b.Commit = id
		return b, fields[2] == "", nil
	}
	return Branch{}, false, nil
}

// branchName reports a name that git accepts for a branch, as it is.
func (r *Repository) branchName(ctx context.Context, name string) bool {
	if name == "" || len(name) > 255 || strings.HasPrefix(name, "-") || strings.ContainsAny(name, "\x00*?[") {
		return false
	}
	_, err := r.read(ctx, "check-ref-format", "refs/heads/"+name)
	return err == nil
}
