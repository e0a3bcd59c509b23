package queue

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
)

// Verified is what verify found right, and what it noticed besides.
type Verified struct {
	Rev  int `json:"rev"`
	Rows int `json:"rows"`
	// Leftovers are temporary files of killed writers, relative to the root.
	// They do no harm, and nothing reads or removes them but a retry of their
	// own operation (QUEUE-OPEN-66).
	Leftovers []string  `json:"leftovers"`
	State     *Replayed `json:"-"`
}

// Verify checks the file, the witness and the table under the lock, and writes
// nothing (QUEUE-CLI-20, 21). A project's own checks can run it: an error means
// that something is wrong.
func (c *Checkout) Verify(ctx context.Context) (v Verified, err error) {
	h, err := c.lockUnlogged(ctx, NoOp, "verify")
	if err != nil {
		return Verified{}, err
	}
	defer func() { err = h.after(err) }()
	l, _, err := h.sound(ctx)
	if err != nil {
		return Verified{}, err
	}
	leftovers, err := h.leftovers()
	if err != nil {
		return Verified{}, failed(ReadFailed, "the directories of the queue cannot be listed (%s)", cause(err))
	}
	return Verified{Rev: l.file.Revision, Rows: len(l.state.Rows), Leftovers: leftovers, State: l.state}, nil
}

// leftovers lists temporary files that no running process will remove. While
// the lock is held, those of the queue, the view and the witness have no
// writer; those of the lock and the gate may, and name their process.
func (h *held) leftovers() ([]string, error) {
	found := []string{}
	for _, path := range []string{h.c.Queue, h.c.View, h.c.Witness, h.c.Lock, h.c.Gate} {
		names, err := h.c.files.Glob(StepLeftover, escapeGlob(path)+".*.tmp")
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if !h.c.inUse(name) {
				found = append(found, h.c.relative(name))
			}
		}
	}
	return found, nil
}

var claimTempForm = regexp.MustCompile(`\.([1-9][0-9]*)\.[0-9a-f]{16}\.tmp$`)

// inUse reports whether a temporary file is a lock's or gate's whose process
// may be running.
func (c *Checkout) inUse(name string) bool {
	m := claimTempForm.FindStringSubmatch(name)
	if m == nil || filepath.Dir(name) != filepath.Dir(c.Lock) && filepath.Dir(name) != filepath.Dir(c.Gate) {
		return false
	}
	pid, err := strconv.Atoi(m[1])
	if err != nil {
		return false
	}
	_, err = c.machine.procs.Stat(pid)
	return !errors.Is(err, fs.ErrNotExist)
}

var globMeta = regexp.MustCompile(`[\\*?\[]`)

func escapeGlob(path string) string { return globMeta.ReplaceAllString(path, `\$0`) }
