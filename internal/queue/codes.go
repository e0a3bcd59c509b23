package queue

import (
	"fmt"

	"mosaicstack.dev/mosaic/internal/display"
)

// The codes of refusals that the rules of the queue give. Each is declared here
// once and described once in Codes; a test refuses one without the other.
const (
	ActorMissing       = "actor-missing"
	ActorUnknown       = "actor-unknown"
	ApprovalMissing    = "approval-missing"
	ArgumentInvalid    = "argument-invalid"
	AttemptClosed      = "attempt-closed"
	AttemptUnknown     = "attempt-unknown"
	AttemptUnresolved  = "attempt-unresolved"
	BriefDiffers       = "brief-differs"
	BriefInvalid       = "brief-invalid"
	CandidateInvalid   = "candidate-invalid"
	DependencyCycle    = "dependency-cycle"
	EvidenceInvalid    = "evidence-invalid"
	GateIsHumans       = "gate-is-humans"
	GenesisInvalid     = "genesis-invalid"
	IllegalTransition  = "illegal-transition"
	NameUnknown        = "name-unknown"
	NotInReview        = "not-in-review"
	NotPermitted       = "not-permitted"
	OpMalformed        = "op-malformed"
	OpReused           = "op-reused"
	PrerequisiteOpen   = "prerequisite-open"
	PrerequisiteWrong  = "prerequisite-invalid"
	QueueInvalid       = "queue-invalid"
	QueueVersion       = "queue-version"
	ReasonMissing      = "reason-missing"
	ReceiptRefused     = "receipt-refused"
	ReviewerIsTheOwner = "reviewer-is-owner"
	RowFinal           = "row-final"
	RowRequired        = "row-required"
	RowUnknown         = "row-unknown"
)

// The codes of the checkout, the lock and the write path.
const (
	DurabilityUnknown   = "durability-unknown"
	FilesystemRefused   = "filesystem-refused"
	FilesystemUnknown   = "filesystem-unknown"
	GatePresent         = "gate-present"
	GenesisNotCommitted = "genesis-not-committed"
	GitFailed           = "git-failed"
	HistoryIntact       = "history-intact"
	HistoryLost         = "history-lost"
	LockFailed          = "lock-failed"
	LockInvalid         = "lock-invalid"
	LockLive            = "lock-live"
	LockStale           = "lock-stale"
	LockUnknown         = "lock-unknown"
	NotCanonical        = "not-canonical"
	NotConfirmed        = "not-confirmed"
	NotLocked           = "not-locked"
	QueueChanged        = "queue-changed"
	QueueExists         = "queue-exists"
	QueueMissing        = "queue-missing"
	ReadFailed          = "read-failed"
	SettingsInvalid     = "settings-invalid"
	SnapshotInvalid     = "snapshot-invalid"
	TailUnconfirmed     = "tail-unconfirmed"
	ViewNotUpdated      = "view-not-updated"
	ViewStale           = "view-stale"
	ViewUnknown         = "view-unknown"
	WitnessMissing      = "witness-missing"
	WitnessNotUpdated   = "witness-not-updated"
	WitnessPresent      = "witness-present"
	WriteFailed         = "write-failed"
	WrongBranch         = "wrong-branch"
)

// The codes of beginning a queue and of committing it.
const (
	BranchMoved        = "branch-moved"
	CommitForeign      = "commit-foreign"
	GenesisCommitted   = "genesis-committed"
	GuardInactive      = "guard-inactive"
	HookForeign        = "hook-foreign"
	IndexNotReconciled = "index-not-reconciled"
	MapInvalid         = "map-invalid"
	OpUnknown          = "op-unknown"
	PathsStaged        = "paths-staged"
	ReceiptNotPrinted  = "receipt-not-printed"
	SuiteFailed        = "suite-failed"
)

// Refusal is why a verb did not do what it was asked: nothing changed.
// Sentence holds the document's phrase, in one line fit to be shown. Exit is
// the command's exit code: 1 may succeed when tried again unchanged, 2 is
// refused by rule, state or data, 3 is uncertain (Uncertain is set).
type Refusal struct {
	Code      string // kebab-case, one of Codes
	Sentence  string
	Exit      int
	Uncertain bool
}

// Error returns the code and the sentence.
func (r *Refusal) Error() string { return r.Code + ": " + r.Sentence }

// Is reports whether target is a refusal with the same code.
func (r *Refusal) Is(target error) bool {
	t, ok := target.(*Refusal)
	return ok && t.Code == r.Code
}

// refuse returns a refusal by rule, state or data. What the sentence quotes
// from the file or the caller is made fit to be shown.
func refuse(code, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Sentence: display.Line(fmt.Sprintf(format, args...)), Exit: 2}
}

// The codes of review requests, of what they are compared with, and of the
// transport that carries them.
const (
	CandidateDiffers   = "candidate-differs"
	CommentMismatch    = "comment-mismatch"
	CommentUnreadable  = "comment-unreadable"
	OutcomeNotRecorded = "outcome-not-recorded"
	RequestFailed      = "request-failed"
	RequestUncertain   = "request-uncertain"
)
