package queue

import (
	"bytes"
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"

	"mosaicstack.dev/mosaic/internal/wire"
)

// Args are the arguments of one verb, as its log entry holds them. Members are
// in alphabetical order; what a caller leaves out is absent. What is looked up
// outside the log (a blob, a candidate's digest) is no argument but a Fact, so
// that a retry is recognised whatever has changed since (QUEUE-OP-06).
type Args interface {
	// Verb is the log's name for the verb.
	Verb() string
	// normalize brings every spelling of a request to one form, and refuses
	// what is wrong without looking at any row.
	normalize() error
}

// Canonical returns the arguments as they stand in the log: the same request
// gives the same bytes whatever the order or spelling of its flags
// (QUEUE-DATA-53). It refuses what no state could accept.
func Canonical(a Args) (json.RawMessage, error) {
	if err := a.normalize(); err != nil {
		return nil, err
	}
	raw, err := wire.Encode(a)
	if err != nil {
		return nil, refuse(ArgumentInvalid, "the arguments cannot be written: %v", err)
	}
	return raw, nil
}

// decodeArgs reads canonical arguments into a, and refuses any other spelling
// of them. It returns scratch, grown.
func decodeArgs(raw json.RawMessage, a Args, scratch []byte) ([]byte, error) {
	if err := wire.Decode(raw, a); err != nil {
		return scratch, refuse(ArgumentInvalid, "the arguments of %s: %v", a.Verb(), err)
	}
	if err := a.normalize(); err != nil {
		return scratch, err
	}
	scratch, err := wire.AppendJSON(scratch[:0], a)
	if err != nil || !bytes.Equal(raw, scratch) {
		return scratch, refuse(ArgumentInvalid, "the arguments of %s are not in canonical form", a.Verb())
	}
	return scratch, nil
}

// GenesisArgs begin a queue.
type GenesisArgs struct {
	Branch        string `json:"branch"`
	CanonicalRoot string `json:"canonicalRoot"`
	Human         Seat   `json:"human"`
	Labels        []Seat `json:"labels"`
	Lead          Seat   `json:"lead"`
	Map           string `json:"map"` // path of the migration map, relative to the root
	Seats         []Seat `json:"seats"`
}

// AddArgs make a row (QUEUE-CLI-15).
type AddArgs struct {
	After     []After  `json:"after,omitempty"`
	Brief     BriefRef `json:"brief"`
	Gate      string   `json:"gate,omitempty"`
	GateOwner Seat     `json:"gateOwner,omitempty"`
	Issues    []int    `json:"issues,omitempty"`
	Note      string   `json:"note,omitempty"`
	Owner     Seat     `json:"owner,omitempty"`
	Piece     string   `json:"piece"`
	Required  bool     `json:"required,omitempty"`
	Reviewers []Seat   `json:"reviewers,omitempty"`
}

// BriefRef names a brief: PATH[#HEADING].
type BriefRef struct {
	Anchor *string `json:"anchor,omitempty"`
	Path   string  `json:"path"`
}

// MoveArgs change a row's state. start, release, park and unpark are moves
// (QUEUE-OPEN-34).
type MoveArgs struct {
	Candidate string `json:"candidate,omitempty"` // a full commit id, or a manifest's path
	Evidence  string `json:"evidence,omitempty"`
	Issue     *int   `json:"issue,omitempty"`
	Reason    string `json:"reason,omitempty"`
	Row       RowID  `json:"row"`
	To        State  `json:"to"`
}

// AssignArgs give a row to another owner.
type AssignArgs struct {
	Owner Seat  `json:"owner"`
	Row   RowID `json:"row"`
}

// NoteArgs replace a row's note, or the reason of a blocked row
// (QUEUE-OPEN-35). Exactly one is given; an empty note clears it.
type NoteArgs struct {
	Note   *string `json:"note,omitempty"`
	Reason string  `json:"reason,omitempty"`
	Row    RowID   `json:"row"`
}

// SetArgs edit fields, all or nothing (QUEUE-OPEN-33).
type SetArgs struct {
	After     *[]After  `json:"after,omitempty"`
	Brief     *BriefRef `json:"brief,omitempty"`
	Closes    *[]int    `json:"closes,omitempty"`
	Gate      *string   `json:"gate,omitempty"`
	GateOwner *Seat     `json:"gateOwner,omitempty"`
	Issues    *[]int    `json:"issues,omitempty"`
	Piece     *string   `json:"piece,omitempty"`
	Reason    string    `json:"reason,omitempty"` // required with Closes
	Required  *bool     `json:"required,omitempty"`
	Reviewers *[]Seat   `json:"reviewers,omitempty"`
	Row       RowID     `json:"row"`
}

// RosterArgs replace the lead, the seats or the labels; what is absent stays
// (QUEUE-OPEN-04). The human is genesis's for good: rows whose gate is the
// human's would lose it with the name.
type RosterArgs struct {
	Labels *[]Seat `json:"labels,omitempty"`
	Lead   *Seat   `json:"lead,omitempty"`
	Seats  *[]Seat `json:"seats,omitempty"`
}

// RequestArgs open another attempt in the current round (QUEUE-REVIEW-16).
type RequestArgs struct {
	Row RowID `json:"row"`
}

// OutcomeArgs record how an attempt's POST ended (QUEUE-REVIEW-67).
type OutcomeArgs struct {
	Attempt OpID         `json:"attempt"`
	Comment *int64       `json:"comment,omitempty"` // exactly with Posted
	Row     RowID        `json:"row"`
	State   AttemptState `json:"state"`            // Posted, Failed or Uncertain
	Status  *int         `json:"status,omitempty"` // of the HTTP response, when there was one
}

// ResolveArgs state that an attempt's comment exists (QUEUE-REVIEW-18).
type ResolveArgs struct {
	Attempt OpID  `json:"attempt"`
	Comment int64 `json:"comment"`
	Row     RowID `json:"row"`
}

// AbandonArgs give an attempt up (QUEUE-REVIEW-19).
type AbandonArgs struct {
	Attempt OpID   `json:"attempt"`
	Reason  string `json:"reason"`
	Row     RowID  `json:"row"`
}

// RecordArgs are a reviewer's verdict (QUEUE-REVIEW-21, QUEUE-OPEN-39).
type RecordArgs struct {
	Candidate string `json:"candidate"` // the digest, or the candidate's spelling
	Comment   int64  `json:"comment"`
	Row       RowID  `json:"row"`
	Verdict   string `json:"verdict"`
}

// AcceptArgs accept a file that does not extend the witness (QUEUE-WRITE-73).
type AcceptArgs struct {
	Reason string `json:"reason"`
}

func (*GenesisArgs) Verb() string { return VerbGenesis }
func (*AddArgs) Verb() string     { return VerbAdd }
func (*MoveArgs) Verb() string    { return VerbMove }
func (*AssignArgs) Verb() string  { return VerbAssign }
func (*NoteArgs) Verb() string    { return VerbNote }
func (*SetArgs) Verb() string     { return VerbSet }
func (*RosterArgs) Verb() string  { return VerbRoster }
func (*RequestArgs) Verb() string { return VerbReviewRequest }
func (*OutcomeArgs) Verb() string { return VerbReviewOutcome }
func (*ResolveArgs) Verb() string { return VerbReviewResolve }
func (*AbandonArgs) Verb() string { return VerbReviewAbandon }
func (*RecordArgs) Verb() string  { return VerbReviewRecord }
func (*AcceptArgs) Verb() string  { return VerbAcceptHistory }

func (a *GenesisArgs) normalize() error {
	a.Seats, a.Labels = sortedSet(a.Seats), sortedSet(a.Labels)
	if a.Labels == nil {
		a.Labels = []Seat{}
	}
	if a.Seats == nil {
		a.Seats = []Seat{}
	}
	if err := checkRoster(a.Human, a.Lead, a.Seats, a.Labels); err != nil {
		return err
	}
	if !path.IsAbs(a.CanonicalRoot) || path.Clean(a.CanonicalRoot) != a.CanonicalRoot {
		return refuse(ArgumentInvalid, "the root must be an absolute path without . and ..")
	}
	if err := checkText("the root", a.CanonicalRoot, 4096); err != nil {
		return err
	}
	if err := checkText("the branch", a.Branch, 255); err != nil {
		return err
	}
	var err error
	a.Map, err = cleanPath("the map", a.Map)
	return err
}

func (a *AddArgs) normalize() (err error) {
	a.Issues, a.Reviewers = sortedSet(a.Issues), sortedSet(a.Reviewers)
	if a.After, err = sortedAfter(a.After); err != nil {
		return err
	}
	return firstError(
		a.Brief.normalize(),
		checkIssues(a.Issues),
		checkText("piece", a.Piece, maxLine),
		checkLine("note", a.Note, maxLine),
		checkLine("gate", a.Gate, maxReason),
	)
}

func (b *BriefRef) normalize() (err error) {
	if b.Path, err = cleanPath("the brief", b.Path); err != nil {
		return err
	}
	if b.Anchor == nil {
		return nil
	}
	anchor := strings.TrimSpace(*b.Anchor)
	b.Anchor = &anchor
	return checkText("the brief's heading", anchor, maxAnchor)
}

func (a *MoveArgs) normalize() error {
	if !a.To.known() {
		return refuse(ArgumentInvalid, "%q is no state; the states are %s", clip(string(a.To)), states())
	}
	if a.To != InReview && (a.Candidate != "" || a.Issue != nil) {
		return refuse(ArgumentInvalid, "a candidate and an issue go with a move to %s only", InReview)
	}
	if a.To != Done && a.Evidence != "" {
		return refuse(ArgumentInvalid, "evidence goes with a move to %s only", Done)
	}
	if evidence, err := parseEvidence(a.Evidence); err == nil {
		a.Evidence = evidence.String()
	}
	if a.Issue != nil {
		if err := checkIssues([]int{*a.Issue}); err != nil {
			return err
		}
	}
	if a.Candidate != "" && !isObjectID(a.Candidate) {
		clean, err := cleanPath("the candidate", a.Candidate)
		if err != nil {
			return err
		}
		a.Candidate = clean
	}
	return firstError(
		checkID(a.Row),
		checkLine("the evidence", a.Evidence, maxReason),
		checkLine("the reason", a.Reason, maxReason),
	)
}

func (a *AssignArgs) normalize() error { return checkID(a.Row) }

func (a *NoteArgs) normalize() error {
	if (a.Note == nil) == (a.Reason == "") {
		return refuse(ArgumentInvalid, "note takes a text or a reason, one of both")
	}
	if a.Note != nil {
		return firstError(checkID(a.Row), checkLine("note", *a.Note, maxLine))
	}
	return firstError(checkID(a.Row), checkText("the reason", a.Reason, maxReason))
}

func (a *SetArgs) normalize() error {
	if *a == (SetArgs{Row: a.Row, Reason: a.Reason}) {
		return refuse(ArgumentInvalid, "set needs at least one field")
	}
	errs := []error{checkID(a.Row), checkLine("the reason", a.Reason, maxReason)}
	if a.After != nil {
		list, err := sortedAfter(*a.After)
		errs, a.After = append(errs, err), &list
	}
	if a.Brief != nil {
		brief := *a.Brief
		errs, a.Brief = append(errs, brief.normalize()), &brief
	}
	for _, list := range []**[]int{&a.Issues, &a.Closes} {
		if *list != nil {
			set := sortedSet(**list)
			errs, *list = append(errs, checkIssues(set)), &set
		}
	}
	if a.Reviewers != nil {
		set := sortedSet(*a.Reviewers)
		a.Reviewers = &set
	}
	if a.Piece != nil {
		errs = append(errs, checkText("piece", *a.Piece, maxLine))
	}
	if a.Gate != nil {
		errs = append(errs, checkLine("gate", *a.Gate, maxReason))
	}
	return firstError(errs...)
}

func (a *RosterArgs) normalize() error {
	if *a == (RosterArgs{}) {
		return refuse(ArgumentInvalid, "roster needs a lead, seats or labels")
	}
	for _, list := range []**[]Seat{&a.Labels, &a.Seats} {
		if *list != nil {
			set := sortedSet(**list)
			*list = &set
		}
	}
	return nil
}

func (a *RequestArgs) normalize() error { return checkID(a.Row) }

func (a *OutcomeArgs) normalize() error {
	switch a.State {
	case Posted, Failed, Uncertain:
	default:
		return refuse(ArgumentInvalid, "an outcome is posted, failed or uncertain, not %q", clip(string(a.State)))
	}
	if (a.State == Posted) != (a.Comment != nil) {
		return refuse(ArgumentInvalid, "a comment goes with a posted outcome and with no other")
	}
	if a.Status != nil && (*a.Status < 100 || *a.Status > 999) {
		return refuse(ArgumentInvalid, "%d is no HTTP status", *a.Status)
	}
	if a.Comment != nil {
		if err := checkComment(*a.Comment); err != nil {
			return err
		}
	}
	return firstError(checkID(a.Row), checkAttempt(a.Attempt))
}

func (a *ResolveArgs) normalize() error {
	return firstError(checkID(a.Row), checkAttempt(a.Attempt), checkComment(a.Comment))
}

func (a *AbandonArgs) normalize() error {
	return firstError(checkID(a.Row), checkAttempt(a.Attempt), checkText("the reason", a.Reason, maxReason))
}

func (a *RecordArgs) normalize() error {
	if a.Verdict != Approve && a.Verdict != Changes {
		return refuse(ArgumentInvalid, "a verdict is %s or %s, not %q", Approve, Changes, clip(a.Verdict))
	}
	return firstError(checkID(a.Row), checkComment(a.Comment), checkText("the candidate", a.Candidate, 4096))
}

func (a *AcceptArgs) normalize() error { return checkText("the reason", a.Reason, maxReason) }

// cleanPath returns a path relative to the root in its one spelling, or
// refuses one that leaves the root by its text alone.
func cleanPath(what, name string) (string, error) {
	if err := checkText(what, name, 4096); err != nil {
		return "", err
	}
	clean := path.Clean(name)
	if path.IsAbs(clean) || clean == "." || clean == ".." || strings.HasPrefix(clean, "../") || strings.HasSuffix(name, "/") {
		return "", refuse(ArgumentInvalid, "%s must be a path of a file inside the repository, relative to its root", what)
	}
	if first, _, _ := strings.Cut(clean, "/"); strings.EqualFold(first, ".git") {
		return "", refuse(ArgumentInvalid, "%s lies inside git's own directory", what)
	}
	return clean, nil
}

func checkID(id RowID) error {
	if id < 1 || id > wire.MaxSafeInteger {
		return refuse(ArgumentInvalid, "%d is no row id", id)
	}
	return nil
}

func checkIssues(list []int) error {
	for _, n := range list {
		if n < 1 || n > wire.MaxSafeInteger {
			return refuse(ArgumentInvalid, "%d is no issue number", n)
		}
	}
	return nil
}

func checkComment(id int64) error {
	if id < 1 || id > wire.MaxSafeInteger {
		return refuse(ArgumentInvalid, "%d is no comment id", id)
	}
	return nil
}

func checkAttempt(op OpID) error { return CheckOp(op) }

// sortedSet sorts a list and drops repetitions; nil stays nil.
func sortedSet[T cmp.Ordered](list []T) []T {
	if list == nil {
		return nil
	}
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

func sortedAfter(list []After) ([]After, error) {
	if list == nil {
		return nil, nil
	}
	list = slices.Clone(list)
	for i := range list {
		if list[i].When == "" {
			list[i].When = WhenDone // QUEUE-DATA-37
		}
		if list[i].When != WhenDone && list[i].When != WhenSettled {
			return nil, refuse(PrerequisiteWrong, "a prerequisite is %s or %s, not %q", WhenDone, WhenSettled, clip(string(list[i].When)))
		}
		if err := checkID(list[i].ID); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(list, func(a, b After) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.When, b.When))
	})
	list = slices.Compact(list)
	for i := 1; i < len(list); i++ {
		if list[i].ID == list[i-1].ID {
			return nil, refuse(PrerequisiteWrong, "row %d is named twice as a prerequisite, with %s and %s", list[i].ID, WhenDone, WhenSettled)
		}
	}
	return list, nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// gateEvidence is what a move from in-review to done cites (QUEUE-OPEN-43).
type gateEvidence struct {
	round     int
	candidate string
	comment   int64 // 0: none
}

func parseEvidence(text string) (e gateEvidence, err error) {
	bad := refuse(EvidenceInvalid, "the evidence must be round=N,candidate=DIGEST, and with no reviewers also comment=ID")
	seen := map[string]bool{}
	for part := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if seen[key] || value == "" {
			return gateEvidence{}, bad
		}
		seen[key] = true
		switch key {
		case "round":
			e.round, err = strconv.Atoi(value)
		case "candidate":
			e.candidate = value
		case "comment":
			e.comment, err = strconv.ParseInt(value, 10, 64)
			err = firstError(err, checkComment(e.comment))
		default:
			return gateEvidence{}, bad
		}
		if err != nil {
			return gateEvidence{}, bad
		}
	}
	if !seen["round"] || !seen["candidate"] {
		return gateEvidence{}, bad
	}
	return e, nil
}

// String is the one spelling of the evidence.
func (e gateEvidence) String() string {
	s := "round=" + strconv.Itoa(e.round) + ",candidate=" + e.candidate
	if e.comment != 0 {
		s += ",comment=" + strconv.FormatInt(e.comment, 10)
	}
	return s
}
