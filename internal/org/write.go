package org

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"mosaicstack.dev/mosaic/internal/wire"
)

// ReceiptsFile is the file of receipts in the data root, one JSON object a line.
const ReceiptsFile = "organization.receipts.jsonl"

// pendingFile describes a write that is under way. It is durable before the
// organization file changes, and gone when the receipt is appended.
const pendingFile = "organization.pending.json"

// pending is its content. The rename that makes the write happen takes the
// temporary file away, so its presence says that the write did not happen.
type pending struct {
	Temp    string  `json:"temp"` // its name in the data root
	Receipt Receipt `json:"receipt"`
}

// Receipt is the record of one write (BUS-OPEN-92).
type Receipt struct {
	At     string   `json:"at"`     // UTC, YYYY-MM-DDTHH:mm:ss.sssZ
	Actor  string   `json:"actor"`  // <definition>.<instance>, or the human's id
	Before string   `json:"before"` // revision that was read
	After  string   `json:"after"`  // revision that was written
	Keys   []string `json:"keys"`   // what was changed, as paths of keys
}

// Edit asks for changes of the organization file.
type Edit struct {
	Actor    string
	Revision string // the revision that the changes are meant for
	Changes  []Change
}

// Writer writes the organization file of one data root.
type Writer struct {
	root  string
	files files
	now   func() time.Time
}

// NewWriter returns a writer for a data root.
func NewWriter(dataRoot string) *Writer {
	return &Writer{root: dataRoot, files: osFiles{}, now: time.Now}
}

// invalid is a change whose result would not load.
type invalid struct{ Problems }

func (e invalid) Is(target error) bool {
	t, ok := target.(*wire.Error)
	return ok && t.Code == wire.OrganizationInvalid
}

func (e invalid) Unwrap() error { return e.Problems }

// Write makes the changes, keeping comments and order, and appends a receipt.
// The file is replaced whole and durably, or not at all.
//
// Errors have these codes; nothing was written unless the last one is given:
// organization-not-found, organization-out-of-scope for a path that is the
// person's to edit, organization-stale for another revision, organization-invalid
// when the result would not load (errors.As with Problems says why),
// organization-write-failed, unsafe-permissions, and outcome-unknown when the
// file was replaced and its receipt is not yet durable: the next write, or
// Settle, appends it.
func (w *Writer) Write(e Edit) (Receipt, error) {
	for _, c := range e.Changes {
		if !c.allowed() {
			return Receipt{}, wire.Refuse(wire.OrganizationOutOfScope)
		}
	}
	unlock, err := w.lock()
	if err != nil {
		return Receipt{}, err
	}
	defer unlock()
	if err := w.settle(); err != nil {
		return Receipt{}, err
	}
	text, receipt, err := w.prepare(e)
	if err != nil || receipt.After == receipt.Before {
		return receipt, err
	}
	return receipt, w.commit(text, receipt)
}

// prepare makes the new text and validates it, before anything is written.
func (w *Writer) prepare(e Edit) ([]byte, Receipt, error) {
	s, err := readFiles(w.root)
	if err != nil {
		return nil, Receipt{}, err
	}
	before := revision(s.organization)
	if before != e.Revision {
		return nil, Receipt{}, wire.Refuse(wire.OrganizationStale)
	}
	o, err := s.valid()
	if err != nil {
		return nil, Receipt{}, err
	}
	if slices.ContainsFunc(e.Changes, o.replacesRole) {
		return nil, Receipt{}, wire.Refuse(wire.OrganizationOutOfScope)
	}
	if s.organization, err = edited(s.organization, e.Changes); err != nil {
		return nil, Receipt{}, err
	}
	if _, err := s.valid(); err != nil {
		return nil, Receipt{}, err
	}
	r := Receipt{
		At: w.now().UTC().Format("2006-01-02T15:04:05.000Z"), Actor: e.Actor,
		Before: before, After: revision(s.organization), Keys: []string{},
	}
	for _, c := range e.Changes {
		r.Keys = append(r.Keys, c.key())
	}
	return s.organization, r, nil
}

// valid decodes the sources; a fault has the code organization-invalid.
func (s sources) valid() (*Organization, error) {
	home, _ := os.UserHomeDir()
	o, err := s.decode(home)
	if err != nil {
		var problems Problems
		errors.As(err, &problems)
		return nil, invalid{problems}
	}
	return o, nil
}

// replacesRole reports a change that adds an instance under the key of one that
// exists: that would take away what narrows it.
func (o *Organization) replacesRole(c Change) bool {
	if len(c.Path) != strings.Count(wholeRole, ".")+1 || c.Path[2] != "roles" {
		return false
	}
	_, exists := o.Businesses[wire.Business(c.Path[1])].Roles[wire.Role(c.Path[3])]
	return exists
}

// commit writes: the new text beside the file, the pending receipt, the rename,
// the receipt. After a crash at any step settle tells whether it happened.
func (w *Writer) commit(text []byte, r Receipt) error {
	temp, err := stage(w.files, w.path(File), text)
	if err != nil {
		return wire.Refuse(wire.OrganizationWriteFailed)
	}
	note, err := json.Marshal(pending{Temp: filepath.Base(temp), Receipt: r})
	if err == nil {
		_, err = replace(w.files, w.path(pendingFile), note)
	}
	if err == nil {
		err = w.unchanged(r.Before)
	}
	if err == nil {
		err = w.files.rename(temp, w.path(File))
	}
	if err != nil {
		return w.takeBack(temp, err)
	}
	if w.settle() != nil {
		return wire.Refuse(wire.OutcomeUnknown)
	}
	return nil
}

// unchanged looks at the file once more, as late as possible: a person's editor
// knows no lock.
func (w *Writer) unchanged(before string) error {
	now, err := readFile(w.path(File))
	if err == nil && revision(now) != before {
		err = wire.Refuse(wire.OrganizationStale)
	}
	return err
}

// takeBack clears what a write that did not happen left. What cannot be cleared
// now is cleared by the next settle.
func (w *Writer) takeBack(temp string, cause error) error {
	if w.files.remove(temp) == nil {
		_ = w.files.remove(w.path(pendingFile))
	}
	if errors.Is(cause, wire.Refuse(wire.OrganizationStale)) {
		return cause
	}
	return wire.Refuse(wire.OrganizationWriteFailed)
}

func (w *Writer) path(name string) string { return filepath.Join(w.root, name) }

// lock keeps other writers of this data root out. The lock is on the receipts
// file, and ends with the process.
func (w *Writer) lock() (unlock func(), err error) {
	if _, err := os.Lstat(w.path(File)); errors.Is(err, fs.ErrNotExist) {
		return nil, wire.Refuse(wire.OrganizationNotFound)
	}
	f, err := os.OpenFile(w.path(ReceiptsFile), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if errors.Is(err, syscall.ELOOP) {
		return nil, wire.Refuse(wire.UnsafePermissions)
	}
	if err != nil {
		return nil, wire.Refuse(wire.OrganizationWriteFailed)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, wire.Refuse(wire.OrganizationWriteFailed)
	}
	return func() { f.Close() }, nil
}

// Settle finishes what a crash or a failure left between a write and its
// receipt: a write that happened gets its receipt, one that did not is
// forgotten. Write does this first by itself; a program that shows receipts does
// it before it reads them.
func (w *Writer) Settle() error {
	unlock, err := w.lock()
	if err != nil {
		return err
	}
	defer unlock()
	return w.settle()
}

func (w *Writer) settle() error {
	text, err := readFile(w.path(pendingFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var p pending
	if json.Unmarshal(text, &p) != nil || filepath.Base(p.Temp) != p.Temp {
		return wire.Refuse(wire.OrganizationWriteFailed)
	}
	if err := w.finish(p); err != nil {
		return wire.Refuse(wire.OrganizationWriteFailed)
	}
	return nil
}

// finish appends the receipt of a write that happened and forgets one that did
// not. The rename is durable before its receipt is.
func (w *Writer) finish(p pending) error {
	if err := w.files.syncDir(w.root); err != nil {
		return err
	}
	_, err := os.Lstat(w.path(p.Temp))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = w.appendReceipt(p.Receipt)
	case err == nil:
		err = w.files.remove(w.path(p.Temp))
	}
	if err == nil {
		err = w.files.remove(w.path(pendingFile))
	}
	if err == nil {
		err = w.files.syncDir(w.root)
	}
	return err
}

// appendReceipt makes a receipt durable, once: a crash after this step repeats
// it. A line that a crash cut off is closed first and stays as it is.
func (w *Writer) appendReceipt(r Receipt) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	there, err := os.ReadFile(w.path(ReceiptsFile))
	if err != nil {
		return err
	}
	if bytes.HasSuffix(there, append(bytes.Clone(line), '\n')) {
		return nil
	}
	if len(there) > 0 && there[len(there)-1] != '\n' {
		line = append([]byte{'\n'}, line...)
	}
	f, err := w.files.openAppend(w.path(ReceiptsFile))
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
