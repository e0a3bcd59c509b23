package wire

// The identifiers of the system. They are distinct types so that a run is
// never passed where a role is meant; on the wire each is a JSON string.
type (
	// Business is the id of a business, ^[a-z0-9][a-z0-9-]{0,62}$.
	Business string
	// Role is the key of a role instance in its business, or one of the
	// reserved addresses below. Same pattern as Business.
	Role string
	// Run is the UUIDv7 of one managed process tree, MOSAIC_RUN_ID.
	Run string
	// MessageID is the UUIDv7 of a message, never reused.
	MessageID string
	// DecisionID is the UUIDv7 of a decision, never reused.
	DecisionID string
	// EventID is the UUIDv7 of an event, never reused.
	EventID string
	// ThreadID is the UUIDv7 of a thread.
	ThreadID string
	// TaskRef is a strict task reference: queue:<row>, vikunja:<project>/<id>
	// or gitea:<project>/<id>.
	TaskRef string
	// Timestamp is UTC in the form YYYY-MM-DDTHH:mm:ss.sssZ. Broker
	// timestamps strictly advance across all rows (BUS-EVENT-14), so they
	// order as text.
	Timestamp string
	// Capability is 32 random bytes in unpadded base64url. It is never
	// stored and never logged (BUS-OPEN-08).
	Capability string
)

// Reserved addresses and senders. No role instance can have these keys.
const (
	HumanRole  Role = "human"     // the person of the business
	TesterRole Role = "tester"    // a test's sender
	BusRole    Role = "_bus"      // the broker's own notices
	HumanRun   Run  = "human-cli" // from_run of what the person sends
	TesterRun  Run  = "tester-cli"
	BusRun     Run  = "bus"
)
