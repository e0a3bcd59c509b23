package queue

import (
	"context"
	"encoding/json"
	"fmt"

	"mosaicstack.dev/mosaic/internal/wire"
)

// Loss is what accept-history would accept.
type Loss struct {
	Revision int      `json:"revision"` // of the queue file
	Witness  *Witness `json:"witness"`  // nil when it is absent
	Range    string   `json:"range"`    // the lost revisions, "A to B", or "unknown"
}

// Lines are what a person is told before anything is accepted
// (QUEUE-WRITE-78, QUEUE-OPEN-71).
func (l Loss) Lines() []string {
	witness := "no witness"
	if l.Witness != nil {
		witness = fmt.Sprintf("the witness saw rev %d", l.Witness.Revision)
	}
	return []string{
		fmt.Sprintf("lost revisions: %s (the queue file is at rev %d, %s)", l.Range, l.Revision, witness),
		"ops in that range are no longer deduplicated",
	}
}

// AcceptHistory accepts a queue file that does not extend the witness
// (QUEUE-WRITE-73 to 82): it appends an entry that says what was lost, then
// rewrites the witness. confirm is told the loss before anything is written;
// when it returns false nothing changes and the refusal is NotConfirmed. It
// neither checks nor writes the table (QUEUE-OPEN-69).
func (c *Checkout) AcceptHistory(ctx context.Context, op OpID, by Seat, reason string, confirm func(Loss) bool) (Acknowledgement, error) {
	if err := CheckOp(op); err != nil {
		return Acknowledgement{}, err
	}
	if reason == "" {
		return Acknowledgement{}, refuse(ReasonMissing, "accept-history needs --reason")
	}
	args, err := Canonical(&AcceptArgs{Reason: reason})
	if err != nil {
		return Acknowledgement{}, err
	}
	return c.underLock(ctx, op, VerbAcceptHistory, func(h *held) (Acknowledgement, error) {
		return h.accept(ctx, by, args, confirm)
	})
}

func (h *held) accept(ctx context.Context, by Seat, args json.RawMessage, confirm func(Loss) bool) (Acknowledgement, error) {
	l, err := h.load(ctx)
	if err != nil {
		return Acknowledgement{}, err
	}
	recorded, err := l.file.Recorded(h.op, VerbAcceptHistory, args)
	if err != nil {
		return Acknowledgement{}, err
	}
	if recorded != nil {
		return h.acceptAgain(l, recorded)
	}
	if l.standing != lost && l.standing != unwitnessed {
		return Acknowledgement{}, refuse(HistoryIntact, "history is not lost")
	}
	if err := h.c.requireCommitted(ctx); err != nil {
		return Acknowledgement{}, err
	}
	loss := Loss{Revision: l.file.Revision, Witness: l.witness, Range: h.lostRange(ctx, l)}
	next, err := l.next(func(*Replayed) (Request, error) {
		return Request{Op: h.op, Verb: VerbAcceptHistory, By: by, Args: args, Facts: Facts{History: loss.facts()}}, nil
	}, h.c.machine)
	if err != nil {
		return Acknowledgement{}, err
	}
	if !confirm(loss) {
		return Acknowledgement{}, refuse(NotConfirmed, "nothing was accepted; --yes accepts it")
	}
	if err := h.publish(l, next); err != nil {
		return Acknowledgement{}, err
	}
	return acknowledge(next.entry())
}

// acceptAgain answers a retry. One that was killed before it wrote the witness
// left an entry that the witness does not know of; the entry records which
// witness it accepted, so that a file which was brought back later is not taken
// for that case.
func (h *held) acceptAgain(l *loaded, recorded *Entry) (Acknowledgement, error) {
	last := recorded.Rev == l.file.Revision
	if (l.standing == lost || l.standing == unwitnessed) && last && acceptedWitness(recorded, l.witness) {
		if err := h.makeDurable(l); err != nil {
			return Acknowledgement{}, err
		}
	} else if err := h.settle(l, recorded); err != nil {
		return Acknowledgement{}, err
	}
	return h.repeat(l.file, recorded)
}

// acceptedWitness reports whether the entry accepted the loss that this
// witness tells of.
func acceptedWitness(e *Entry, w *Witness) bool {
	var r result
	if err := wire.Decode(e.Result, &r); err != nil || r.History == nil {
		return false
	}
	accepted := r.History.Witness
	if w == nil || accepted == nil {
		return w == nil && accepted == nil
	}
	return *accepted == LostWitness{Revision: w.Revision, LogDigest: w.LogDigest}
}

func (l Loss) facts() *HistoryFacts {
	facts := &HistoryFacts{Lost: l.Range, Revision: l.Revision + 1}
	if l.Witness != nil {
		facts.Witness = &LostWitness{Revision: l.Witness.Revision, LogDigest: l.Witness.LogDigest}
	}
	return facts
}

// lostRange names the revisions that are gone. The witness has only a digest,
// so what is lost begins after what the file shares with HEAD's version.
func (h *held) lostRange(ctx context.Context, l *loaded) string {
	const unknown = "unknown"
	if l.witness == nil {
		return unknown
	}
	text, found, err := h.c.place.CommittedText(ctx, h.c.relative(h.c.Queue))
	if err != nil || !found {
		return unknown
	}
	committed, err := Parse(text)
	if err != nil {
		return unknown
	}
	first := shared(l.file.Log, committed.Log)
	if first == 0 || first > l.witness.Revision {
		return unknown
	}
	return fmt.Sprintf("%d to %d", first, l.witness.Revision)
}

// shared is how many entries both logs begin with.
func shared(a, b []Entry) int {
	n := 0
	for n < min(len(a), len(b)) && LogDigest(a[n:n+1]) == LogDigest(b[n:n+1]) {
		n++
	}
	return n
}
