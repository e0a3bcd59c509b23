package queue

import (
	"context"
	"os"

	"mosaicstack.dev/mosaic/internal/git"
)

// Begin makes the queue file from the migration map that args name: the first
// entry of the log, which holds the roster, the root, the branch, every legacy
// text verbatim and the rows that they become (QUEUE-DATA-64 to 84). The table
// between the markers of the view file becomes the generated one.
//
// It refuses where a queue is or was: a queue file in the work tree or in HEAD,
// a witness. A retry of the same operation gets its receipt. Nothing else is
// recorded before genesis is committed.
func (c *Checkout) Begin(ctx context.Context, op OpID, by Seat, args *GenesisArgs) (Acknowledgement, error) {
	raw, err := Canonical(args)
	if err != nil {
		return Acknowledgement{}, err
	}
	if err := c.checkBeginning(args, by); err != nil {
		return Acknowledgement{}, err
	}
	return c.Found(ctx, op, raw, by, func(table []byte) (*GenesisFacts, error) { return c.migrate(ctx, args, table) })
}

// checkBeginning refuses what no look at any file can change.
func (c *Checkout) checkBeginning(args *GenesisArgs, by Seat) error {
	switch {
	case by == "":
		return refuse(ActorMissing, "genesis needs an actor: name it with --by")
	case by != args.Human && by != args.Lead:
		return refuse(NotPermitted, "%s may not do this: genesis is for the human or the lead that it names", by)
	case c.Root != args.CanonicalRoot:
		return refuse(NotCanonical, "--root is %s, and the real path of this checkout is %s", args.CanonicalRoot, c.Root)
	case c.Branch == "":
		return refuse(WrongBranch, "HEAD is detached; genesis needs the branch that the queue will be worked on")
	case c.Branch != args.Branch:
		return refuse(WrongBranch, "--branch is %s, and HEAD is on %s", args.Branch, c.Branch)
	}
	return nil
}

// migrate makes the first rows of the map in HEAD. Neither the map nor a brief
// is taken from anywhere else.
func (c *Checkout) migrate(ctx context.Context, args *GenesisArgs, table []byte) (*GenesisFacts, error) {
	repo, err := git.Open(ctx, c.Root)
	if err != nil {
		return nil, gitFailure(err)
	}
	entry, err := inHead(ctx, repo, args.Map)
	if err != nil {
		return nil, gitFailure(err)
	}
	if entry == nil {
		return nil, refuse(MapInvalid, "the migration map %s is not in HEAD: review and commit it first", args.Map)
	}
	text, err := repo.Blob(ctx, entry.ID)
	if err != nil {
		return nil, gitFailure(err)
	}
	m, err := parseMap(text)
	if err != nil {
		return nil, err
	}
	whole, err := os.ReadFile(c.View)
	if err != nil && !os.IsNotExist(err) {
		return nil, failed(ReadFailed, "%s cannot be read (%s)", c.relative(c.View), cause(err))
	}
	facts, err := m.facts(string(table), string(whole), args.Human, func(b BriefRef) (string, error) { return PinBrief(ctx, repo, c.Root, b) })
	if err != nil {
		return nil, err
	}
	facts.MapBlob = string(entry.ID)
	return facts, nil
}
