package evidence

// CrashPoint names a step of a write after which a crash leaves a state of its
// own. The names are declared once; the file layer, the tests and mosaic status
// speak of a write's progress in them.
type CrashPoint string

// In the order in which a write passes them.
const (
	// BeforeCommit: every request of the batch has run; nothing is in the WAL.
	// A crash loses the whole batch, none of which was acknowledged.
	BeforeCommit CrashPoint = "before-commit"
	// WALWritten: the batch is in the WAL but not on disk. A crash of the
	// process keeps it, a power cut loses it; nothing was acknowledged.
	WALWritten CrashPoint = "wal-written"
	// WALSynced: the batch is durable; readers do not see it yet.
	WALSynced CrashPoint = "wal-synced"
	// CommittedNotAnswered: durable and visible; the callers do not know.
	CommittedNotAnswered CrashPoint = "committed-not-answered"
	// Answered: the callers know. A checkpoint of the WAL may follow.
	Answered CrashPoint = "answered"
	// CheckpointWritten: pages went from the WAL to the file and are not synced;
	// the WAL still holds them.
	CheckpointWritten CrashPoint = "checkpoint-written"
	// CheckpointSynced: the file holds everything; the WAL may start over.
	CheckpointSynced CrashPoint = "checkpoint-synced"
)

// CrashPoints lists the points in the order in which a write passes them.
var CrashPoints = []CrashPoint{
	BeforeCommit, WALWritten, WALSynced, CommittedNotAnswered, Answered, CheckpointWritten, CheckpointSynced,
}
