// Package proctest is a process table for tests: a tree that the test writes
// down, with failures and changes at the reads that it names. Nothing in it
// looks at the machine.
package proctest

import (
	"fmt"
	"io/fs"
	"maps"
	"sync"

	"mosaicstack.dev/mosaic/internal/proc"
)

// Process is one synthetic process. Its pid is the key it is set under.
type Process struct {
	Parent  int
	Start   uint64 // clock ticks since boot
	Command string
	State   byte // 0 means 'S'
	UID     int
	Args    []string
	Env     []string
	Exe     proc.File
}

// Read names one read of a process: "stat", "uid", "cmdline", "environ" or
// "executable".
type Read string

// The reads of a proc.Table.
const (
	Stat       Read = "stat"
	UID        Read = "uid"
	Cmdline    Read = "cmdline"
	Environ    Read = "environ"
	Executable Read = "executable"
)

type question struct {
	pid  int
	read Read
}

// Table is a proc.Table over the processes that were set. The zero value is an
// empty table. It may be used by several goroutines.
type Table struct {
	mu        sync.Mutex
	processes map[int]Process
	failures  map[question]error
	before    func(pid int, read Read)
}

var _ proc.Table = (*Table)(nil)

// New returns a table of these processes by pid.
func New(processes map[int]Process) *Table {
	return &Table{processes: maps.Clone(processes)}
}

// Set adds or replaces a process.
func (t *Table) Set(pid int, p Process) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.processes == nil {
		t.processes = map[int]Process{}
	}
	t.processes[pid] = p
}

// Remove ends a process; reads of it wrap fs.ErrNotExist from now on.
func (t *Table) Remove(pid int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.processes, pid)
}

// Fail makes one kind of read of one process fail with err; nil heals it.
func (t *Table) Fail(pid int, read Read, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failures == nil {
		t.failures = map[question]error{}
	}
	t.failures[question{pid, read}] = err
}

// Before calls f ahead of every read, so that a test can change the tree
// between two reads of one walk. f may call the other methods.
func (t *Table) Before(f func(pid int, read Read)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.before = f
}

func (t *Table) process(pid int, read Read) (Process, error) {
	t.mu.Lock()
	before := t.before
	t.mu.Unlock()
	if before != nil {
		before(pid, read)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.failures[question{pid, read}]; err != nil {
		return Process{}, fmt.Errorf("proctest: %s of %d: %w", read, pid, err)
	}
	p, ok := t.processes[pid]
	if !ok {
		return Process{}, fmt.Errorf("proctest: %s of %d: %w", read, pid, fs.ErrNotExist)
	}
	return p, nil
}

// Stat answers for the process as it was set.
func (t *Table) Stat(pid int) (proc.Stat, error) {
	p, err := t.process(pid, Stat)
	if err != nil {
		return proc.Stat{}, err
	}
	state := p.State
	if state == 0 {
		state = 'S'
	}
	return proc.Stat{
		Identity: proc.Identity{PID: pid, Start: p.Start},
		Parent:   p.Parent,
		Command:  p.Command,
		State:    state,
	}, nil
}

// UID answers for the process as it was set.
func (t *Table) UID(pid int) (int, error) {
	p, err := t.process(pid, UID)
	return p.UID, err
}

// Cmdline answers for the process as it was set.
func (t *Table) Cmdline(pid int) ([]string, error) {
	p, err := t.process(pid, Cmdline)
	return p.Args, err
}

// Environ answers for the process as it was set.
func (t *Table) Environ(pid int) ([]string, error) {
	p, err := t.process(pid, Environ)
	return p.Env, err
}

// Executable answers for the process as it was set.
func (t *Table) Executable(pid int) (proc.File, error) {
	p, err := t.process(pid, Executable)
	return p.Exe, err
}
