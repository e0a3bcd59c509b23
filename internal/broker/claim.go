package broker

import (
	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/wire"
)

var claimVerbs = []Verb{
	write(Verb{
		Name:      "role.claim",
		Sessions:  RoleSession,
		Unclaimed: true,
		Summary:   "Become the run that holds your role",
		Example:   `{}`,
		Codes:     []wire.Code{wire.RoleAlreadyHeld, wire.RunRevoked, wire.RunEnded},
	}, claimRole),
	write(Verb{
		Name:     "role.release",
		Sessions: RoleSession,
		Summary:  "Give up your role; messages wait for the next run that claims it",
		Example:  `{}`,
		Codes:    []wire.Code{wire.NotHolder},
	}, releaseRole),
}

// claimed is the result of role.claim (BUS-OPEN-53).
type claimed struct {
	Role wire.Role      `json:"role"`
	Run  wire.Run       `json:"run"`
	At   wire.Timestamp `json:"at"` // when the run became the holder
}

// claimRole makes the capability's run the holder of the capability's role,
// and routes the messages that waited for one to it. A run that holds the role
// already gets its claim again and writes nothing (BUS-OPEN-52).
func claimRole(c *Call, _ none) (any, error) {
	s := c.Session
	business := s.Business.ID
	claim, err := c.Rows.Holder(business, s.Role)
	if err != nil {
		return nil, err
	}
	if claim != nil && claim.Run == s.Run {
		return claimed{claim.Role, claim.Run, claim.At}, nil
	}
	if err := checkMayClaim(c, claim); err != nil {
		return nil, err
	}
	made, err := c.Tx.AppendClaim(evidence.Claim{
		Business: business, Role: s.Role, Run: s.Run, Op: evidence.OpClaim, By: string(s.Run),
	})
	if err != nil {
		return nil, err
	}
	if _, err := c.Tx.RouteUndelivered(business, s.Role, s.Run); err != nil {
		return nil, err
	}
	return claimed{made.Role, made.Run, made.At}, nil
}

// checkMayClaim refuses a run that lost this role to a revocation, for ever
// (BUS-CLAIM-04, 05), one that has ended while its request was under way, and
// a role that another run holds (BUS-CLAIM-03).
func checkMayClaim(c *Call, held *evidence.Claim) error {
	s := c.Session
	revoked, err := c.Rows.RunRevoked(s.Business.ID, s.Role, s.Run)
	if err != nil {
		return err
	}
	ended, err := c.Rows.Ended(s.Run)
	if err != nil {
		return err
	}
	switch {
	case ended != nil:
		return wire.Refuse(wire.RunEnded)
	case revoked:
		return wire.Refuse(wire.RunRevoked)
	case held != nil:
		return wire.Refuse(wire.RoleAlreadyHeld)
	}
	return nil
}

// released is the result of role.release.
type released struct {
	Released bool `json:"released"`
}

// releaseRole gives the role up. Dispatch has checked that the run holds it.
func releaseRole(c *Call, _ none) (any, error) {
	s := c.Session
	_, err := c.Tx.AppendClaim(evidence.Claim{
		Business: s.Business.ID, Role: s.Role, Run: s.Run, Op: evidence.OpRelease, By: string(s.Run),
	})
	if err != nil {
		return nil, err
	}
	return released{true}, nil
}
