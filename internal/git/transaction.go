package git

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os/exec"
)

// ErrLost says that a branch was not locked: it points somewhere else by now,
// or someone else holds its lock.
var ErrLost = errors.New("git: the branch could not be locked")

// Move is a branch that is locked at its old commit, ready to move to a new
// one. Nobody can move it meanwhile; git gives the lock back when this process
// ends.
type Move struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	ctx    context.Context
	cancel context.CancelFunc
}

// PrepareMove locks a branch, provided that it still points at b.Commit, and
// readies its move to another commit. ErrLost when it does not or cannot be
// locked. The caller ends the move with Commit or Abort.
func (r *Repository) PrepareMove(ctx context.Context, b Branch, to ObjectID) (*Move, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, ErrTimeout)
	m := &Move{ctx: ctx, cancel: cancel}
	m.cmd = child(ctx, r.dir, environment(false, r.ceiling()),
		[]string{"update-ref", "-m", "mosaic: land " + string(to), "--create-reflog", "--no-deref", "--stdin", "-z"})
	if err := m.start(); err != nil {
		cancel()
		return nil, err
	}
	request := "start\x00update " + b.Ref() + "\x00" + string(to) + "\x00" + string(b.Commit) + "\x00prepare\x00"
	if err := m.say(request, "start: ok\n", "prepare: ok\n"); err != nil {
		return nil, m.end(ErrLost)
	}
	return m, nil
}

func (m *Move) start() (err error) {
	if m.in, err = m.cmd.StdinPipe(); err != nil {
		return failed(m.ctx, "update-ref", err, false)
	}
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		return failed(m.ctx, "update-ref", err, false)
	}
	m.out = bufio.NewReaderSize(out, 4096)
	if err := m.cmd.Start(); err != nil {
		return failed(m.ctx, "update-ref", err, false)
	}
	return nil
}

// say sends commands and reads the answers that mean success.
func (m *Move) say(request string, answers ...string) error {
	if _, err := io.WriteString(m.in, request); err != nil {
		return err
	}
	for _, want := range answers {
		got, err := m.out.ReadSlice('\n')
		if err != nil {
			return err
		}
		if string(got) != want {
			return ErrAnswer
		}
	}
	return nil
}

// Commit moves the branch. With an error the branch may have moved or not;
// FindBranch tells.
func (m *Move) Commit() error {
	if err := m.say("commit\x00", "commit: ok\n"); err != nil {
		return m.end(ErrAnswer)
	}
	return m.end(nil)
}

// Abort leaves the branch where it is.
func (m *Move) Abort() {
	// Whatever goes wrong here, the end of its input makes git abort too.
	_ = m.say("abort\x00", "abort: ok\n")
	_ = m.end(nil)
}

// end waits for the child. It returns err, unless the context's end explains
// the failure better.
func (m *Move) end(err error) error {
	m.in.Close()
	waited := m.cmd.Wait()
	ended := m.ctx.Err()
	m.cancel()
	switch {
	case err != nil && ended != nil:
		return failed(m.ctx, "update-ref", waited, false)
	case err != nil:
		return err
	case waited != nil:
		return failed(m.ctx, "update-ref", waited, false)
	}
	return nil
}
