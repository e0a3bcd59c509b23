package queue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
)

// Change is what a mutation does inside the write path: given the state, it
// returns the request to apply, whose facts it looked up. It runs under the
// lock and must not touch the network.
type Change func(s *Replayed) (Request, error)

// Acknowledgement is a receipt, in the form of --json. Only printing it
// acknowledges the operation.
type Acknowledgement struct {
	Op      OpID   `json:"op"`
	Rev     int    `json:"rev"`
	Row     *RowID `json:"row"`
	From    string `json:"from"`
	To      string `json:"to"`
	Already bool   `json:"already"`
	By      Seat   `json:"-"` // the recorded actor
	Warning string `json:"-"` // one line for stderr, or ""
}

// Write runs the twelve steps for one operation (QUEUE-WRITE-05 to 42). verb
// and the canonical args identify a retry before change is called; of the
// request that change returns, only its facts count.
//
// A *Refusal with Exit 1 or 2 means that nothing changed. One that is
// Uncertain means that the operation is in the file: a retry of the same
// operation tells its outcome. Once step 6 has begun, the end of ctx stops
// nothing.
func (c *Checkout) Write(ctx context.Context, op OpID, verb string, args json.RawMessage, by Seat, change Change) (Acknowledgement, error) {
	// An outcome's id is not the caller's; the rules check its form.
	if err := CheckOp(op); err != nil && (verb != VerbReviewOutcome || !isOp(op)) {
		return Acknowledgement{}, err
	}
	return c.underLock(ctx, op, verb, func(h *held) (Acknowledgement, error) {
		return h.write(ctx, verb, args, func(s *Replayed) (Request, error) {
			r, err := change(s)
			r.Op, r.Verb, r.Args, r.By = op, verb, args, by
			return r, err
		})
	})
}

// underLock runs an operation under the lock and answers when the lock was
// released (QUEUE-WRITE-37).
func (c *Checkout) underLock(ctx context.Context, op OpID, verb string, do func(*held) (Acknowledgement, error)) (Acknowledgement, error) {
	h, err := c.lock(ctx, op, verb)
	if err != nil {
		return Acknowledgement{}, err
	}
	a, err := do(h)
	if err != nil {
		return Acknowledgement{}, h.after(err)
	}
	if left := h.release(); left != nil {
		// The operation is durable; whose lock it was does not matter to it
		// (QUEUE-OPEN-63).
		a.warn(left.Error())
	}
	return a, nil
}

func (a *Acknowledgement) warn(text string) {
	if a.Warning != "" {
		a.Warning += "; "
	}
	a.Warning += text
}

func (h *held) write(ctx context.Context, verb string, args json.RawMessage, change Change) (Acknowledgement, error) {
	l, err := h.load(ctx)
	if err != nil {
		return Acknowledgement{}, err
	}
	recorded, err := l.file.Recorded(h.op, verb, args)
	if err != nil {
		return Acknowledgement{}, err
	}
	if err := h.settle(l, recorded); err != nil {
		return Acknowledgement{}, err
	}
	if recorded != nil {
		return h.repeat(l.file, recorded)
	}
	if err := h.c.requireCommitted(ctx); err != nil {
		return Acknowledgement{}, err
	}
	v, err := h.currentView(l)
	if err != nil {
		return Acknowledgement{}, err
	}
	next, err := l.next(change, h.c.machine)
	if err != nil {
		return Acknowledgement{}, err
	}
	if err := ctx.Err(); err != nil {
		return Acknowledgement{}, err
	}
	if err := h.publish(l, next); err != nil {
		return Acknowledgement{}, err
	}
	if err := h.show(v, next.body); err != nil {
		return Acknowledgement{}, notShown(h.op, next.file.Revision, err)
	}
	return acknowledge(next.entry())
}

// loaded is the queue file as it was read at step 1.
type loaded struct {
	text    []byte
	stamp   FileStamp
	file    *File
	state   *Replayed
	witness *Witness
	standing
}

// load is steps 1 and 2 up to the judgement: the file, valid and in its
// checkout, and how it stands to the witness.
func (h *held) load(ctx context.Context) (*loaded, error) {
	text, stamp, err := h.c.files.Read(StepRead, h.c.Queue)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, h.c.missing()
	}
	if err != nil {
		return nil, failed(ReadFailed, "the queue file cannot be read (%s)", cause(err))
	}
	l := &loaded{text: text, stamp: stamp}
	if l.file, l.state, err = Load(text); err != nil {
		return nil, err
	}
	if err := h.c.checkCanonical(ctx, l.state); err != nil {
		return nil, err
	}
	if l.witness, err = h.c.readWitness(StepWitness); err != nil {
		return nil, err
	}
	l.standing = l.witness.stands(l.file, l.text)
	return l, nil
}

// tail is what was never confirmed durable.
func (l *loaded) tail() []Entry {
	if l.standing != ahead {
		return nil
	}
	return l.file.Log[l.witness.Revision+1:]
}

// refusal says why nothing new is recorded; nil when the file is what the
// witness saw (QUEUE-WRITE-09 to 13).
func (l *loaded) refusal() error {
	switch l.standing {
	case confirmed:
		return nil
	case ahead:
		return refuse(TailUnconfirmed, "not confirmed durable: %s; run `mosaic queue sync`", nameOps(l.tail()))
	case lost:
		return refuse(HistoryLost, "history is lost: the witness saw rev %d of %s, which the queue file, at rev %d, does not extend. Copy the queue file aside first; `mosaic queue accept-history` is the last step of the recovery", l.witness.Revision, l.witness.At, l.file.Revision)
	case unwitnessed:
		text := "the witness is missing, so nobody can say whether history is lost; `mosaic queue accept-history` is the last step of the recovery"
		if len(l.file.Log) == 1 {
			text = "the witness is missing; `mosaic queue sync` writes it for a queue that has only its genesis, `mosaic queue accept-history` for one that had more"
		}
		return refuse(WitnessMissing, "%s", text)
	default:
		panic("queue: no such standing")
	}
}

// settle is the judgement of step 2. A retry of an operation that was never
// confirmed makes it durable first, so that no receipt is printed for less
// (QUEUE-WRITE-10, 17).
func (h *held) settle(l *loaded, recorded *Entry) error {
	if recorded != nil && l.standing == ahead && recorded.Rev > l.witness.Revision {
		return h.makeDurable(l)
	}
	return l.refusal()
}

// makeDurable does what the writer of the tail did not live to do.
func (h *held) makeDurable(l *loaded) error {
	last := l.file.Log[len(l.file.Log)-1]
	err := h.c.files.Sync(StepConfirm, h.c.Queue)
	if err == nil {
		err = h.c.files.SyncDir(StepConfirm, filepath.Dir(h.c.Queue))
	}
	if err != nil {
		return notDurable(last.Op, last.Rev, err)
	}
	if err := h.confirm(StepConfirm, l.file, l.text); err != nil {
		return notWitnessed(last.Op, last.Rev)
	}
	l.standing = confirmed
	return nil
}

func notDurable(op OpID, rev int, err error) error {
	return uncertain(DurabilityUnknown, "uncertain %s rev %d: visible, durability not confirmed (%s)", op, rev, errno(err))
}

func notWitnessed(op OpID, rev int) error {
	return uncertain(WitnessNotUpdated, "uncertain %s rev %d: durable, witness not updated", op, rev)
}

func notShown(op OpID, rev int, err error) error {
	return uncertain(ViewNotUpdated, "uncertain %s rev %d: durable, view not updated (%s)", op, rev, cause(err))
}

// repeat answers a retry with the recorded receipt, also while the table is
// stale (QUEUE-WRITE-14, 15).
func (h *held) repeat(f *File, recorded *Entry) (Acknowledgement, error) {
	a, err := acknowledge(recorded)
	if err != nil {
		return Acknowledgement{}, err
	}
	a.Already = true
	v, err := h.c.readView(StepView)
	if err != nil {
		a.warn("the table cannot be read")
		return a, nil
	}
	if warning := v.freshness(f).warning(f); warning != "" {
		a.warn(warning)
	}
	return a, nil
}

func acknowledge(e *Entry) (Acknowledgement, error) {
	effect, err := e.Effect()
	if err != nil {
		return Acknowledgement{}, err
	}
	return Acknowledgement{Op: e.Op, Rev: e.Rev, Row: effect.Row, From: effect.From, To: effect.To, By: e.By}, nil
}

// currentView is step 4.
func (h *held) currentView(l *loaded) (*view, error) {
	v, err := h.c.readView(StepView)
	if err != nil {
		return nil, err
	}
	return v, v.freshness(l.file).refusal(l.file)
}

// revision is a queue file that is to be published.
type revision struct {
	file *File
	text []byte
	body []byte // of the table
}

func (r *revision) entry() *Entry { return &r.file.Log[len(r.file.Log)-1] }

// next is step 5: everything is computed and validated before anything is
// written.
func (l *loaded) next(change Change, m machine) (*revision, error) {
	request, err := change(l.state)
	if err != nil {
		return nil, err
	}
	state, entry, err := l.state.Apply(request, Stamp(m.now()))
	if err != nil {
		return nil, err
	}
	return newRevision(l.file.With(state, entry), state)
}

func newRevision(f *File, s *Replayed) (*revision, error) {
	r := &revision{file: f, text: f.Bytes(), body: Body(s)}
	// A file that this program would refuse to read must never be published:
	// it would stop the queue until a person repairs it.
	if _, err := Parse(r.text); err != nil {
		return nil, err
	}
	return r, nil
}

// publish is steps 6 to 10. l is nil for genesis, which finds no file.
//
// What is true if the process ends: before the rename nothing is recorded;
// after it the operation is visible, and sync or a retry makes it durable;
// after the witness it is durable, and the table is stale.
func (h *held) publish(l *loaded, r *revision) error {
	files, temp := h.c.files, tempName(h.c.Queue, h.op)
	mode := fs.FileMode(0o644)
	if l != nil {
		mode = l.stamp.Mode
	}
	if err := discard(files, StepStage, temp); err != nil {
		return failed(WriteFailed, "a leftover temporary file cannot be removed (%s); nothing has changed", cause(err))
	}
	if err := stage(files, StepStage, temp, r.text, mode); err != nil {
		return failed(WriteFailed, "the new queue file cannot be written (%s); nothing has changed", cause(err))
	}
	if err := h.swap(l, temp); err != nil {
		if left := discard(files, StepStage, temp); left != nil {
			return failed(WriteFailed, "%v, and %s was left (%s)", err, h.c.relative(temp), cause(left))
		}
		return err
	}
	if err := files.SyncDir(StepSync, filepath.Dir(h.c.Queue)); err != nil {
		return notDurable(h.op, r.file.Revision, err)
	}
	if err := h.confirm(StepRecord, r.file, r.text); err != nil {
		return notWitnessed(h.op, r.file.Revision)
	}
	return nil
}

// swap is steps 7 and 8. Between its two calls git can still change the file,
// since it knows nothing of the lock (QUEUE-WRITE-91).
func (h *held) swap(l *loaded, temp string) error {
	if l == nil {
		return h.appear(temp)
	}
	text, stamp, err := h.c.files.Read(StepUnchanged, h.c.Queue)
	if err != nil || !stamp.same(l.stamp) || !bytes.Equal(text, l.text) {
		return failed(QueueChanged, "the queue file was changed by something else while this operation ran; nothing has changed, try again")
	}
	if err := h.c.files.Rename(StepPublish, temp, h.c.Queue); err != nil {
		return failed(WriteFailed, "the new queue file cannot be put in place (%s); nothing has changed", cause(err))
	}
	return nil
}

// appear publishes a first queue file; one that exists is never replaced
// (QUEUE-OPEN-75).
func (h *held) appear(temp string) error {
	err := h.c.files.RenameNew(StepPublish, temp, h.c.Queue)
	switch {
	case errors.Is(err, fs.ErrExist):
		return refuse(QueueExists, "the queue file exists already; nothing has changed")
	case err != nil:
		return failed(WriteFailed, "the queue file cannot be put in place (%s); nothing has changed", cause(err))
	}
	return nil
}
