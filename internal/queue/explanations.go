package queue

import "mosaicstack.dev/mosaic/internal/wire"

// Codes describes every code of the queue, ordered by code. mosaic explain and
// the reference take their words from here; a refusal's own sentence says more.
var Codes = []wire.CodeInfo{
	{
		Code:     ActorMissing,
		Sentence: "the operation names no actor, so nothing was changed",
		Cause:    "Every operation is recorded with who asked for it, and neither --by nor MOSAIC_AGENT_NAME said who.",
		Remedy:   "Give --by SEAT, or set MOSAIC_AGENT_NAME to your seat.",
	},
	{
		Code:     ActorUnknown,
		Sentence: "this queue knows no such actor, so nothing was changed",
		Cause:    "The name is not the human, the lead, a seat or a label that genesis or a roster operation recorded.",
		Remedy:   "Check the spelling of --by or MOSAIC_AGENT_NAME; `mosaic queue show --op ID` of the genesis operation prints the names.",
	},
	{
		Code:     ApprovalMissing,
		Sentence: "a listed reviewer has not approved the current round, so the row was not moved",
		Cause:    "A row with reviewers is done only when each of them has an approving receipt for the current round.",
		Remedy:   "Ask the reviewer for a verdict with `mosaic queue review record`; after changes, open a new round.",
	},
	{
		Code:     ArgumentInvalid,
		Sentence: "an argument cannot be accepted, so nothing was changed",
		Cause:    "A value has the wrong form, is too long, holds control characters, or does not fit the row.",
		Remedy:   "Correct the argument that the message names and ask again under a new operation id.",
	},
	{
		Code:     AttemptClosed,
		Sentence: "the review attempt is settled already, so nothing was changed",
		Cause:    "It is posted, failed or abandoned; only an attempt whose outcome is unknown can be resolved or abandoned.",
		Remedy:   "Look at the round with `mosaic queue show ID`; after failed or abandoned, ask again with `mosaic queue review request ID`.",
	},
	{
		Code:     AttemptUnknown,
		Sentence: "the row has no such review attempt, so nothing was changed",
		Cause:    "An attempt is named by the operation id of the request that opened it.",
		Remedy:   "Find the attempt's operation id with `mosaic queue show ID`.",
	},
	{
		Code:     AttemptUnresolved,
		Sentence: "the outcome of an earlier review request is unknown, so no new one was made",
		Cause:    "A request may have been posted without an answer; a second one could ask twice.",
		Remedy:   "Look on the issue for the comment with the attempt's marker and give its id to `mosaic queue review resolve`; when there is none, the lead or the human can give the attempt up.",
	},
	{
		Code:     BriefDiffers,
		Sentence: "the brief in the working tree is not the pinned version, so the row was not started",
		Cause:    "The file was edited or replaced after the row was made, or it is missing.",
		Remedy:   "Ask the lead to commit the brief and to pin it again with `mosaic queue set ID brief=PATH`.",
	},
	{
		Code:     BriefInvalid,
		Sentence: "the brief cannot be pinned, so nothing was changed",
		Cause:    "A brief is a regular file inside the repository, committed in HEAD, whose named heading occurs exactly once.",
		Remedy:   "Commit the brief, correct its path or heading, and ask again.",
	},
	{
		Code:     CandidateDiffers,
		Sentence: "the commit or tree does not hold the reviewed candidate, so it must not be integrated",
		Cause:    "A path that the reviewers saw has other bytes there, or is gone.",
		Remedy:   "Integrate exactly what was reviewed, or move the row back to in-progress and put the new candidate into a new round.",
	},
	{
		Code:     CandidateInvalid,
		Sentence: "the review candidate cannot be accepted, so nothing was changed",
		Cause:    "A row with reviewers needs a candidate: a commit, or a manifest of repository paths with their digests.",
		Remedy:   "Give --candidate with a full commit id or the path of a manifest.",
	},
	{
		Code:     CommentMismatch,
		Sentence: "the comment is not the attempt's request, so the attempt is unchanged",
		Cause:    "It belongs to another issue, or its first two lines name another operation, row, round or candidate.",
		Remedy:   "Find the comment whose first line is the attempt's marker and give the number of that one.",
	},
	{
		Code:     CommentUnreadable,
		Sentence: "the comment could not be read, so the attempt is unchanged",
		Cause:    "The server gave no answer or no such comment, or the credential file cannot be used.",
		Remedy:   "Check the comment's number and MOSAIC_GITEA_CREDENTIAL_FILE, then give the same command again.",
	},
	{
		Code:     DependencyCycle,
		Sentence: "the rows would wait for each other, so nothing was changed",
		Cause:    "A prerequisite of the row waits, directly or through others, for the row itself.",
		Remedy:   "Look at the rows' after with `mosaic queue show ID` and leave one of them out.",
	},
	{
		Code:     EvidenceInvalid,
		Sentence: "the evidence does not fit the row's review round, so the row was not moved",
		Cause:    "A move to done cites the current round and its candidate, or the human's approval.",
		Remedy:   "Read the round with `mosaic queue show ID` and give --evidence round=N,candidate=DIGEST; without reviewers add comment=ID.",
	},
	{
		Code:     GateIsHumans,
		Sentence: "the gate of this row is the human's, so the row was not moved to done",
		Cause:    "Nobody takes a row from review to done past the human who holds its gate.",
		Remedy:   "Move the row to waiting-on-human and wait for the human's answer.",
	},
	{
		Code:     GenesisInvalid,
		Sentence: "the queue cannot begin like this, so nothing was made",
		Cause:    "Genesis comes once and first, and takes rows and ids from a reviewed migration map in HEAD.",
		Remedy:   "Correct the migration map as the message says, commit it, and ask again.",
	},
	{
		Code:     IllegalTransition,
		Sentence: "the row cannot move to this state from where it is, so nothing was changed",
		Cause:    "The table of transitions has no such move.",
		Remedy:   "Look at the row with `mosaic queue show ID`; docs/queue.md lists the moves.",
	},
	{
		Code:     NameUnknown,
		Sentence: "this queue knows no such name, so nothing was changed",
		Cause:    "Owners, gate owners and reviewers are the human, the lead, seats and labels of the roster.",
		Remedy:   "Check the spelling; the human can add a seat to the roster.",
	},
	{
		Code:     NotInReview,
		Sentence: "the row is not under review, so nothing was changed",
		Cause:    "Requests and receipts belong to the current round of a row in in-review.",
		Remedy:   "Look at the row with `mosaic queue show ID`; its owner moves it to in-review.",
	},
	{
		Code:     NotPermitted,
		Sentence: "this actor may not do this, so nothing was changed",
		Cause:    "Each operation belongs to the owner, the claimant, a reviewer, the lead or the human; the message says whose it is.",
		Remedy:   "Ask one of those whom the message names.",
	},
	{
		Code:     OpMalformed,
		Sentence: "the operation id cannot be used, so nothing was changed",
		Cause:    "An id has 8 to 72 of a-z, 0-9, '.', '_' and '-', begins with a letter or digit, and does not end in .outcome.",
		Remedy:   "Choose another id; use the same one again only to repeat the same request.",
	},
	{
		Code:     OpReused,
		Sentence: "the operation id is taken by another request, so nothing was changed",
		Cause:    "An id stands for one request; this one is in the log with another verb or other arguments.",
		Remedy:   "Read what it did with `mosaic queue show --op ID` and use a new id for a new request.",
	},
	{
		Code:     OutcomeNotRecorded,
		Sentence: "the review request was made, and how it ended is not recorded",
		Cause:    "The lock or the queue could not be had after the request; the attempt stays requesting.",
		Remedy:   "Look for the request's marker on the issue. If the comment is there, record it with `mosaic queue review resolve`; if not, ask the lead.",
	},
	{
		Code:     PrerequisiteWrong,
		Sentence: "a prerequisite cannot be accepted, so nothing was changed",
		Cause:    "A prerequisite is another existing row, named once, with done or settled.",
		Remedy:   "Correct after: ID or ID:settled, separated by commas.",
	},
	{
		Code:     PrerequisiteOpen,
		Sentence: "a prerequisite of the row is not satisfied, so the row was not started",
		Cause:    "A row named in after is not done yet, or neither done nor blocked where that is enough.",
		Remedy:   "Take other work with `mosaic queue next`; this row can start when the named row is finished.",
	},
	{
		Code:     QueueInvalid,
		Sentence: "the queue file is invalid, so no verb works on it",
		Cause:    "It was edited, damaged, or written by something else than this program; its bytes, its log and its rows do not agree.",
		Remedy:   "Change nothing and tell the lead. Copy the file aside first, then follow the recovery steps in docs/queue.md.",
	},
	{
		Code:     QueueVersion,
		Sentence: "the queue file needs another version of this program, so no verb works on it",
		Cause:    "A newer program wrote it under rules that this one does not know.",
		Remedy:   "Update mosaic to a version that knows them.",
	},
	{
		Code:     ReasonMissing,
		Sentence: "the operation needs a reason, so nothing was changed",
		Cause:    "Blocking, sending a row back from the human, and changing closes are logged with why.",
		Remedy:   "Give --reason TEXT.",
	},
	{
		Code:     ReceiptRefused,
		Sentence: "the receipt does not fit the current round, so nothing was recorded",
		Cause:    "A reviewer gives one verdict on each round, on exactly its candidate.",
		Remedy:   "Read the round's candidate with `mosaic queue show ID` and judge that one; a changed mind needs a new round.",
	},
	{
		Code:     RequestFailed,
		Sentence: "the review request was not accepted, and nothing was posted",
		Cause:    "The server refused it, or something was missing before anything was sent: the credential file, its mode, its path, or its login.",
		Remedy:   "Correct what the message names and ask again with `mosaic queue review request ID` under a new operation id.",
	},
	{
		Code:     RequestUncertain,
		Sentence: "nobody knows whether the review request was accepted",
		Cause:    "The server gave no answer in time, or one that says neither yes nor no. Nothing sends the request again.",
		Remedy:   "Look for the request's marker on the issue. If the comment is there, record it with `mosaic queue review resolve`; if not, ask the lead.",
	},
	{
		Code:     ReviewerIsTheOwner,
		Sentence: "the owner of a row cannot review it, so nothing was changed",
		Cause:    "A review is somebody else's look at the work.",
		Remedy:   "Name another reviewer, or give the row to another owner.",
	},
	{
		Code:     RowFinal,
		Sentence: "the row is done or parked, so nothing was changed",
		Cause:    "Nothing changes a done row; a parked row changes only when the human takes it back.",
		Remedy:   "Put further work into a new row with `mosaic queue add`.",
	},
	{
		Code:     RowRequired,
		Sentence: "the row is required, so it was not parked",
		Cause:    "A required row cannot be put aside while it is required.",
		Remedy:   "Ask the human, who can clear required.",
	},
	{
		Code:     RowUnknown,
		Sentence: "there is no such row, so nothing was changed",
		Cause:    "Ids are never reused, and this one was not issued or is retired.",
		Remedy:   "Find the row with `mosaic queue list`.",
	},
}
