package queue

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
)

// The two files of a snapshot, whatever they are called in the checkout: who
// reads one knows no git configuration.
const (
	SnapshotQueue = "queue.json"
	SnapshotView  = "QUEUE.md"
)

// Snapshot copies the queue file and the view file, of one revision, into dir,
// which is made when it is missing and must hold neither (QUEUE-CLI-30 to 33).
func (c *Checkout) Snapshot(ctx context.Context, dir string) (rev int, err error) {
	h, err := c.lockUnlogged(ctx, NoOp, "snapshot")
	if err != nil {
		return 0, err
	}
	l, v, err := h.sound(ctx)
	if err := h.after(err); err != nil {
		return 0, err
	}
	// The bytes are in memory; the lock is not held while they are written.
	if err := c.files.Mkdir(StepCopy, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return 0, failed(WriteFailed, "the directory %s cannot be made (%s)", dir, cause(err))
	}
	for _, file := range []struct {
		name string
		text []byte
	}{{SnapshotQueue, l.text}, {SnapshotView, v.text}} {
		if err := stage(c.files, StepCopy, filepath.Join(dir, file.name), file.text, 0o644); err != nil {
			return 0, failed(WriteFailed, "%s cannot be written to %s (%s)", file.name, dir, cause(err))
		}
	}
	return l.file.Revision, nil
}

// VerifySnapshot checks the two files in dir, and nothing else of the machine:
// no git, no checkout, no witness (QUEUE-CLI-23 to 29, QUEUE-CANON-11). base is
// the path of an earlier queue file that the snapshot's log must extend; "" is
// the claim that there is none, so that the log must be genesis alone.
func VerifySnapshot(dir, base string) (Verified, error) {
	return verifySnapshot(disk{}, dir, base)
}

func verifySnapshot(files Files, dir, base string) (Verified, error) {
	text, _, err := files.Read(StepCopy, filepath.Join(dir, SnapshotQueue))
	if err != nil {
		return Verified{}, refuse(SnapshotInvalid, "%s of the snapshot cannot be read (%s)", SnapshotQueue, cause(err))
	}
	f, s, err := Load(text)
	if err != nil {
		return Verified{}, err
	}
	table, _, err := files.Read(StepCopy, filepath.Join(dir, SnapshotView))
	if err != nil {
		return Verified{}, refuse(SnapshotInvalid, "%s of the snapshot cannot be read (%s)", SnapshotView, cause(err))
	}
	if err := checkTable(f, s, table); err != nil {
		return Verified{}, err
	}
	if err := checkBase(files, f, base); err != nil {
		return Verified{}, err
	}
	return Verified{Rev: f.Revision, Rows: len(s.Rows), Leftovers: []string{}, State: s}, nil
}

func checkTable(f *File, s *Replayed, text []byte) error {
	from, to, fault := findBody(text)
	if fault == "" && digest(text[from:to]) != digest(Body(s)) {
		fault = "its text is another"
	}
	if fault != "" {
		return refuse(SnapshotInvalid, "the table of the snapshot is not the render of rev %d: %s", f.Revision, fault)
	}
	return nil
}

func checkBase(files Files, f *File, base string) error {
	if base == "" {
		if len(f.Log) != 1 {
			return refuse(SnapshotInvalid, "there is no base, and the log has %d entries after its genesis", len(f.Log)-1)
		}
		return nil
	}
	text, _, err := files.Read(StepCopy, base)
	if err != nil {
		return refuse(SnapshotInvalid, "the base cannot be read (%s)", cause(err))
	}
	before, err := Parse(text)
	if err != nil {
		return refuse(SnapshotInvalid, "the base is no valid queue file: %v", err)
	}
	if n := len(before.Log); n > len(f.Log) || LogDigest(f.Log[:n]) != LogDigest(before.Log) {
		return refuse(SnapshotInvalid, "the log does not extend the base's, which is at rev %d", before.Revision)
	}
	return nil
}
