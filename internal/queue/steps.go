package queue

// Step names a part of a verb that touches files. Every call to Files carries
// one, so that a test can make exactly that call fail, stop there, or end the
// process there. The numbers are those of the write path (QUEUE-WRITE-05 to
// 42).
type Step string

const (
	StepLock      Step = "lock"       // publish the lock
	StepGateCheck Step = "gate-check" // look for an unlocker
	StepRead      Step = "1-read"     // the queue file
	StepWitness   Step = "2-witness"  // what was durable last
	StepConfirm   Step = "2-confirm"  // make a tail durable
	StepView      Step = "4-view"     // the table as it stands
	StepStage     Step = "6-stage"    // the new queue file, beside the old one
	StepUnchanged Step = "7-unchanged"
	StepPublish   Step = "8-publish" // rename: visible
	StepSync      Step = "9-sync"    // directory: durable
	StepRecord    Step = "10-record" // the witness
	StepShow      Step = "11-show"   // the table
	StepRelease   Step = "12-release"

	StepPeekWitness Step = "peek-witness" // an unlocked read, in this order
	StepPeekQueue   Step = "peek-queue"
	StepPeekView    Step = "peek-view"

	StepGate      Step = "unlock-gate"    // publish the gate
	StepInspect   Step = "unlock-inspect" // read the lock under it
	StepUnlock    Step = "unlock-remove"
	StepUngate    Step = "unlock-ungate"
	StepCheckGate Step = "check-gate"

	StepPlatform Step = "platform" // file systems
	StepHook     Step = "hook"     // the guard of ordinary commits
	StepCopy     Step = "copy"     // a snapshot, read or written
	StepLeftover Step = "leftover" // temporary files of killed writers
)
