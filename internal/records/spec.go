package records

import (
	"context"
	"errors"

	"mosaicstack.dev/mosaic/internal/git"
	"mosaicstack.dev/mosaic/internal/wire"
)

// SpecPath is where a project's specification is in its records repository
// (BUS-DEC-47).
const SpecPath = "spec/north-star.md"

// Business is what of a business the reader needs.
type Business struct {
	Human    string            // the author name of confirmed changes
	Projects map[string]string // absolute path of the records repository by project; "" for none
}

// Reader reads the records of the projects of these businesses.
type Reader struct {
	businesses map[wire.Business]Business
}

// NewReader returns a reader. The map is not changed afterwards.
func NewReader(businesses map[wire.Business]Business) *Reader { return &Reader{businesses: businesses} }

// Spec is the committed specification as of now.
type Spec struct {
	Commit    string // the last commit that changed it, full id of the repository's hash
	Confirmed bool   // the author name of that commit is the business's human
}

// Spec reads the specification of a project (BUS-SPEC-01, 05, 06, 11 to 15).
func (r *Reader) Spec(ctx context.Context, business wire.Business, project string) (Spec, error) {
	b, ok := r.businesses[business]
	dir := b.Projects[project]
	if !ok || dir == "" {
		return Spec{}, wire.Refuse(wire.ProjectNotFound)
	}
	repo, err := git.Open(ctx, dir)
	if err != nil {
		return Spec{}, refusal(err)
	}
	change, err := lastChange(ctx, repo)
	if err != nil {
		return Spec{}, refusal(err)
	}
	return Spec{Commit: string(change.Commit), Confirmed: change.Author == b.Human}, nil
}

func lastChange(ctx context.Context, repo *git.Repository) (git.Change, error) {
	shallow, err := repo.Shallow(ctx)
	if err != nil {
		return git.Change{}, err
	}
	if shallow {
		return git.Change{}, wire.Refuse(wire.ProjectUnsafe)
	}
	switch kind, err := repo.Path(ctx, SpecPath); {
	case err != nil:
		return git.Change{}, err
	case kind == git.Absent:
		return git.Change{}, wire.Refuse(wire.ProjectFileMissing)
	case kind == git.Other:
		return git.Change{}, wire.Refuse(wire.ProjectUnsafe)
	}
	change, found, err := repo.LastChange(ctx, SpecPath)
	if err == nil && !found {
		err = git.ErrAnswer // a file that no commit brought
	}
	return change, err
}

// refusal gives git's failures the project reader's codes (BUS-OPEN-121).
func refusal(err error) error {
	var refused *wire.Error
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.Is(err, git.ErrMissing):
		return wire.Refuse(wire.ProjectNotFound)
	case errors.Is(err, git.ErrUnsafe):
		return wire.Refuse(wire.ProjectUnsafe)
	default:
		return wire.Refuse(wire.ProjectFailed)
	}
}
