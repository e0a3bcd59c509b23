package broker

import (
	"context"
	"encoding/json"
	"strings"

	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/org"
	"mosaicstack.dev/mosaic/internal/wire"
)

// specPath is the one file that a raise can cite (BUS-DEC-47).
const specPath = "spec/north-star.md"

// maxOpen is how many open decisions a role instance can have. Whoever decides
// reads them one by one, so more could only hide those of other roles.
const maxOpen = 100

// defaultApproval is the approvalChoice of a raise that names none (BUS-AUTH-19).
const defaultApproval = "yes"

var (
	optionKey      = wire.NewPattern(`^[A-Za-z0-9][A-Za-z0-9_.:/-]{0,159}$`)
	requirementRef = wire.NewPattern(`^REQ-[A-Z]{1,64}-[1-9][0-9]{0,8}$`)
	commitID       = wire.NewPattern(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
)

func raiseVerb() Verb {
	v := write(Verb{
		Name:     "decision.raise",
		Sessions: RoleSession,
		Summary:  "Ask whoever may decide it to approve an action",
		Example: `{"action":"git.merge.protected","target":"web/main@3f786850e387550fdab836ed7e6dc881de23001b","question":"Merge the fix?",` +
			`"options":[{"key":"yes","text":"merge it"},{"key":"no","text":"leave it"}],"recommendation":"yes","blocking":false}`,
		Codes: []wire.Code{
			wire.InvalidOptions, wire.InvalidRecommendation, wire.InvalidApprovalChoice,
			wire.UnknownAction, wire.UnknownRole, wire.InvalidChoice, wire.TaskRequired,
			wire.InvalidSpecCitation, wire.ProjectNotFound, wire.ProjectFileMissing, wire.ProjectUnsafe,
			wire.StaleSpec, wire.SpecUnconfirmed,
			wire.DecisionRouteRefused, wire.SupersedeRefused, wire.TooManyOpen,
		},
	}, raiseDecision)
	v.prepare = prepareRaise
	return v
}

// raiseArgs are the arguments of decision.raise (BUS-DEC-01).
type raiseArgs struct {
	Action string `json:"action" limit:"one that mosaic explain actions lists"`

	Question       string           `json:"question" limit:"1 to 4096 characters"`
	Options        json.RawMessage  `json:"options" limit:"2 to 9 of {key, text}; a key has 1 to 160 of A-Z, a-z, 0-9 and _ . : / - and begins with a letter or digit, a text 1 to 1024 characters"`
	Recommendation string           `json:"recommendation"`
	Blocking       bool             `json:"blocking"`
	Domain         *string          `json:"domain,omitempty" limit:"delivery or technical"` // default delivery
	Target         *string          `json:"target,omitempty" limit:"1 to 512 characters"`
	Project        *string          `json:"project,omitempty"`
	SpecPath       *string          `json:"spec_path,omitempty"`
	SpecCommit     *string          `json:"spec_commit,omitempty"`
	TaskRef        *wire.TaskRef    `json:"task_ref,omitempty" limit:"such as queue:1, vikunja:1/2 or gitea:web/3, at most 128 bytes"`
	RequirementRef *string          `json:"requirement_ref,omitempty" limit:"such as REQ-API-1"`
	Supersedes     *wire.DecisionID `json:"supersedes,omitempty"`
	Choice         *string          `json:"choice,omitempty"` // within-role only, and there required
	ApprovalChoice *string          `json:"approvalChoice,omitempty"`
}

// plan is a validated raise: everything that can be known of it without the
// store. The policy it was made from does not change while the broker runs.
type plan struct {
	decision evidence.Decision
	choice   *string // how a within-role raise closes itself
}

// prepareRaise validates a raise and, when it cites the spec, reads it, before
// any transaction is open (BUS-PROTO-36, BUS-DEC-51).
func prepareRaise(ctx context.Context, b *Broker, s Session, args any) (any, error) {
	a := *args.(*raiseArgs)
	p, err := s.planRaise(a)
	if err != nil {
		return nil, err
	}
	if a.Project != nil {
		if err := b.checkCitation(ctx, s, *a.Project, *a.SpecCommit); err != nil {
			return nil, err
		}
	}
	// The messaging lists are looked at last, so that a raise that could never
	// be made says so whoever would decide it.
	d := p.decision
	if d.Class != evidence.WithinRole && !s.Business.mayMessage(d.Route, s.Role) {
		return nil, wire.Refuse(wire.DecisionRouteRefused)
	}
	return p, nil
}

// planRaise checks, in this order (BUS-DEC-10):
//
//	invalid-options, invalid-recommendation, invalid-approval-choice
//	invalid-request        the other arguments' shapes
//	unknown-action         the vocabulary has the action
//	unknown-role           the business has the instance it targets
//	invalid-choice         a within-role raise has a choice; no other has one
//	task-required          a blocking raise names a task
//	invalid-spec-citation  a citation is complete and well-formed
//
// After it come the committed spec, the route's messaging lists, and in the
// transaction what the raise supersedes or how many the role has open.
func (s Session) planRaise(a raiseArgs) (plan, error) {
	options, err := parseOptions(a.Options)
	if err != nil {
		return plan{}, err
	}
	approval := defaultApproval
	if a.ApprovalChoice != nil {
		approval = *a.ApprovalChoice
	}
	switch {
	case !offers(options, a.Recommendation):
		return plan{}, wire.RefuseField(wire.InvalidRecommendation, "recommendation")
	case !offers(options, approval):
		return plan{}, wire.RefuseField(wire.InvalidApprovalChoice, "approvalChoice")
	}
	if err := a.checkShapes(); err != nil {
		return plan{}, err
	}
	class, err := s.classify(a.Action, a.Target)
	if err != nil {
		return plan{}, err
	}
	if err := s.Business.checkTarget(a.Action, a.Target); err != nil {
		return plan{}, err
	}
	switch {
	case class != evidence.WithinRole && a.Choice != nil:
		return plan{}, wire.RefuseField(wire.InvalidRequest, "choice")
	case class == evidence.WithinRole && (a.Choice == nil || !offers(options, *a.Choice)):
		return plan{}, wire.RefuseField(wire.InvalidChoice, "choice")
	case a.Blocking && a.TaskRef == nil:
		return plan{}, wire.RefuseField(wire.TaskRequired, "task_ref")
	}
	if err := a.checkCitationShape(); err != nil {
		return plan{}, err
	}
	d := evidence.Decision{
		Business:       s.Business.ID,
		Action:         a.Action,
		Question:       a.Question,
		Options:        options,
		Recommendation: a.Recommendation,
		ApprovalChoice: approval,
		Blocking:       a.Blocking,
		Class:          class,
		Domain:         a.domain(),
		Target:         a.Target,
		Project:        a.Project,
		SpecPath:       a.SpecPath,
		SpecCommit:     a.SpecCommit,
		TaskRef:        a.TaskRef,
		RequirementRef: a.RequirementRef,
		Supersedes:     a.Supersedes,
		RaisedByRole:   s.Role,
		RaisedByRun:    s.Run,
		Thread:         s.Thread,
	}
	d.Route = s.route(&d)
	return plan{decision: d, choice: a.Choice}, nil
}

const (
	domainDelivery  = "delivery"
	domainTechnical = "technical"
)

func (a raiseArgs) domain() string {
	if a.Domain == nil {
		return domainDelivery
	}
	return *a.Domain
}

func (a raiseArgs) checkShapes() error {
	switch {
	case !between(a.Question, 1, 4096):
		return wire.RefuseField(wire.InvalidRequest, "question")
	case a.domain() != domainDelivery && a.domain() != domainTechnical:
		return wire.RefuseField(wire.InvalidRequest, "domain")
	case a.Target != nil && !between(*a.Target, 1, 512):
		return wire.RefuseField(wire.InvalidRequest, "target")
	case a.TaskRef != nil && !validTaskRef(string(*a.TaskRef)):
		return wire.RefuseField(wire.InvalidRequest, "task_ref")
	case a.RequirementRef != nil && !requirementRef.MatchString(*a.RequirementRef):
		return wire.RefuseField(wire.InvalidRequest, "requirement_ref")
	}
	return nil
}

// checkCitationShape refuses a citation that is incomplete or that can name no
// committed spec (BUS-DEC-46, 47).
func (a raiseArgs) checkCitationShape() error {
	switch given := a.Project != nil; {
	case (a.SpecPath != nil) != given:
		return wire.RefuseField(wire.InvalidSpecCitation, "spec_path")
	case (a.SpecCommit != nil) != given:
		return wire.RefuseField(wire.InvalidSpecCitation, "spec_commit")
	case !given:
		return nil
	case *a.SpecPath != specPath:
		return wire.RefuseField(wire.InvalidSpecCitation, "spec_path")
	case !commitID.MatchString(*a.SpecCommit):
		return wire.RefuseField(wire.InvalidSpecCitation, "spec_commit")
	}
	return nil
}

// checkCitation compares a citation with the committed spec as of now
// (BUS-DEC-48 to 50). It may wait for git.
func (b *Broker) checkCitation(ctx context.Context, s Session, project, commit string) error {
	if b.options.Specs == nil {
		return wire.RefuseField(wire.ProjectNotFound, "project")
	}
	spec, err := b.options.Specs.Spec(ctx, s.Business.ID, project)
	switch {
	case err != nil:
		return err
	case spec.Commit != commit:
		return wire.RefuseField(wire.StaleSpec, "spec_commit")
	case !spec.Confirmed:
		return wire.RefuseField(wire.SpecUnconfirmed, "spec_commit")
	}
	return nil
}

// parseOptions decodes the options of a raise (BUS-DEC-11 to 23).
func parseOptions(raw json.RawMessage) ([]evidence.Option, error) {
	invalid := wire.RefuseField(wire.InvalidOptions, "options")
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil || len(items) < 2 || len(items) > 9 {
		return nil, invalid
	}
	options := make([]evidence.Option, 0, len(items))
	for _, item := range items {
		// Strictly decoded already with the rest of the request: no duplicate
		// key can hide here. Exactly key and text, in any order.
		var fields map[string]json.RawMessage
		if json.Unmarshal(item, &fields) != nil || len(fields) != 2 || fields["key"] == nil || fields["text"] == nil {
			return nil, wire.RefuseField(wire.InvalidRequest, "options")
		}
		var key, text *string // null is no string
		if json.Unmarshal(fields["key"], &key) != nil || key == nil ||
			json.Unmarshal(fields["text"], &text) != nil || text == nil {
			return nil, invalid
		}
		if !optionKey.MatchString(*key) || !between(*text, 1, 1024) || strings.ContainsRune(*text, 0) || offers(options, *key) {
			return nil, invalid
		}
		options = append(options, evidence.Option{Key: *key, Text: *text})
	}
	return options, nil
}

// offers reports whether one of the options has this key.
func offers(options []evidence.Option, key string) bool {
	for _, o := range options {
		if o.Key == key {
			return true
		}
	}
	return false
}

// route says who decides; it is fixed at the raise (BUS-DEC-28 to 37). A raise
// that closes itself is routed to the raiser.
func (s Session) route(d *evidence.Decision) wire.Role {
	switch {
	case d.Class == evidence.WithinRole:
		return s.Role
	case org.HardWait(d.Action),
		d.Action == org.ActionRoleRevoke && s.Business.protected(d.Target),
		d.Class == evidence.Gated && d.SpecCommit == nil:
		return wire.HumanRole
	}
	arbiter := s.Business.Arbiters.Delivery
	if d.Domain == domainTechnical {
		arbiter = s.Business.Arbiters.Technical
	}
	if arbiter == "" || arbiter == s.Role {
		return wire.HumanRole
	}
	return arbiter
}

// raiseDecision appends a planned raise, with what it supersedes and, within
// the role, its close (BUS-DEC-29, BUS-DEC-59).
func raiseDecision(c *Call, _ raiseArgs) (any, error) {
	p := c.Prepared.(plan)
	d := p.decision
	switch {
	case d.Supersedes != nil: // closes one for the one it opens
		if err := c.checkSupersede(*d.Supersedes); err != nil {
			return nil, err
		}
	case d.Class != evidence.WithinRole: // which closes itself
		open, err := c.Rows.OpenRaisedBy(d.Business, d.RaisedByRole)
		if err != nil {
			return nil, err
		}
		if open >= maxOpen {
			return nil, wire.Refuse(wire.TooManyOpen)
		}
	}
	if d.Action == org.ActionRoleRevoke {
		holder, err := c.Rows.Holder(d.Business, wire.Role(*d.Target))
		if err != nil {
			return nil, err
		}
		if holder != nil {
			d.HolderRun = &holder.Run
		}
	}
	d, err := c.Tx.AppendDecision(d)
	if err != nil {
		return nil, err
	}
	// The context of the raise: it says what an approval would allow and uses
	// nothing up (BUS-AUTH-45).
	subject := string(d.ID)
	asked := permit{action: d.Action, target: d.Target, operation: "decision.raise"}
	if _, err := c.allow(asked, &subject, map[string]any{
		"approvalChoice": d.ApprovalChoice,
		"decision":       d.ID,
	}); err != nil {
		return nil, err
	}
	if d.Supersedes != nil {
		note := "superseded by " + string(d.ID)
		if err := c.closeRaised(*d.Supersedes, evidence.Withdrawn, nil, &note); err != nil {
			return nil, err
		}
	}
	if d.Class == evidence.WithinRole {
		if err := c.closeRaised(d.ID, evidence.Resolved, p.choice, nil); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// checkSupersede refuses supersede-refused unless id is an open decision that
// the session's role instance raised in the same thread (BUS-DEC-54 to 57).
func (c *Call) checkSupersede(id wire.DecisionID) error {
	refusal := wire.RefuseField(wire.SupersedeRefused, "supersedes")
	old, err := c.Rows.Decision(c.Session.Business.ID, id)
	switch {
	case err != nil:
		return err
	case old == nil, old.RaisedByRole != c.Session.Role, !same(old.Thread, c.Session.Thread):
		return refusal
	}
	closed, err := c.Rows.DecisionClose(id)
	switch {
	case err != nil:
		return err
	case closed != nil:
		return refusal
	}
	return nil
}

// closeRaised closes a decision of the session's own role in the transaction
// of a raise, of which nobody is told (BUS-CLOSE-21, 22).
func (c *Call) closeRaised(id wire.DecisionID, kind evidence.DecisionEventKind, choice, note *string) error {
	_, err := c.Tx.AppendDecisionEvent(c.Session.Business.ID, evidence.DecisionEvent{
		Decision: id,
		Kind:     kind,
		By:       string(c.Session.Run),
		ByRole:   c.Session.Role,
		Via:      viaBroker,
		Choice:   choice,
		Note:     note,
	})
	return err
}
