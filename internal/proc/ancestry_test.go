package proc_test

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"mosaicstack.dev/mosaic/internal/proc"
	"mosaicstack.dev/mosaic/internal/proc/proctest"
)

func pids(line []proc.Stat) []int {
	var all []int
	for _, st := range line {
		all = append(all, st.PID)
	}
	return all
}

// tree is init, a shell, and the program that asks.
func tree() *proctest.Table {
	return proctest.New(map[int]proctest.Process{
		1:  {Parent: 0, Start: 1, Command: "init"},
		20: {Parent: 1, Start: 200, Command: "bash"},
		30: {Parent: 20, Start: 300, Command: "mosaic"},
	})
}

func TestAncestorsEndAtInit(t *testing.T) {
	t.Parallel()
	line, err := proc.Ancestors(tree(), 30)
	if err != nil {
		t.Fatal(err)
	}
	if got := pids(line); len(got) != 3 || got[0] != 30 || got[1] != 20 || got[2] != 1 {
		t.Errorf("got %v", got)
	}
}

func TestAncestorsEndAtAProcessFromOutsideTheNamespace(t *testing.T) {
	t.Parallel()
	table := proctest.New(map[int]proctest.Process{40: {Parent: 0, Start: 5}, 41: {Parent: 40, Start: 6}})
	line, err := proc.Ancestors(table, 41)
	if err != nil || len(line) != 2 {
		t.Errorf("got %v, %v", pids(line), err)
	}
}

// proves: BUS-HUMAN-11
func TestAncestorsRefuseALoop(t *testing.T) {
	t.Parallel()
	for name, table := range map[string]*proctest.Table{
		"of one":   proctest.New(map[int]proctest.Process{30: {Parent: 30, Start: 1}}),
		"of two":   proctest.New(map[int]proctest.Process{30: {Parent: 20, Start: 2}, 20: {Parent: 30, Start: 1}}),
		"above it": proctest.New(map[int]proctest.Process{30: {Parent: 20, Start: 3}, 20: {Parent: 10, Start: 2}, 10: {Parent: 20, Start: 1}}),
	} {
		if line, err := proc.Ancestors(table, 30); !errors.Is(err, proc.ErrAncestryLoop) {
			t.Errorf("%s: got %v, %v", name, pids(line), err)
		}
	}
}

func TestAncestorsRefuseTooLongALine(t *testing.T) {
	t.Parallel()
	line := func(length int) *proctest.Table {
		table := proctest.New(nil)
		for i := range length {
			table.Set(1000+i, proctest.Process{Parent: 999 + i, Start: uint64(i + 1)})
		}
		table.Set(1000, proctest.Process{Parent: 0, Start: 1})
		return table
	}
	last := 1000 + proc.MaxAncestors
	if got, err := proc.Ancestors(line(proc.MaxAncestors), last-1); err != nil || len(got) != proc.MaxAncestors {
		t.Errorf("the longest line: %d, %v", len(got), err)
	}
	if _, err := proc.Ancestors(line(proc.MaxAncestors+1), last); !errors.Is(err, proc.ErrAncestryDepth) {
		t.Errorf("one more: %v", err)
	}
}

// proves: BUS-HUMAN-12
func TestAncestorsRefuseADisappearance(t *testing.T) {
	t.Parallel()
	for _, gone := range []int{30, 20, 1} {
		table := tree()
		table.Remove(gone)
		if line, err := proc.Ancestors(table, 30); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("without %d: got %v, %v", gone, pids(line), err)
		}
	}
	t.Run("of the child while its parent is read", func(t *testing.T) {
		t.Parallel()
		table := tree()
		table.Before(func(pid int, _ proctest.Read) {
			if pid == 20 {
				table.Remove(30)
			}
		})
		if line, err := proc.Ancestors(table, 30); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v, %v", pids(line), err)
		}
	})
}

// The parent ends, the child is handed to init, and a stranger gets the
// parent's pid, all between two reads.
// proves: BUS-HUMAN-12
func TestAncestorsNoticeAReusedParent(t *testing.T) {
	t.Parallel()
	table := tree()
	table.Before(func(pid int, _ proctest.Read) {
		if pid == 20 {
			table.Set(20, proctest.Process{Parent: 1, Start: 900, Command: "stranger"})
			table.Set(30, proctest.Process{Parent: 1, Start: 300, Command: "mosaic"})
		}
	})
	if line, err := proc.Ancestors(table, 30); !errors.Is(err, proc.ErrAncestryChanged) {
		t.Errorf("got %v, %v", pids(line), err)
	}
}

// proves: BUS-HUMAN-07
func TestAncestorsNoticeAReusedChild(t *testing.T) {
	t.Parallel()
	table := tree()
	table.Before(func(pid int, _ proctest.Read) {
		if pid == 20 {
			table.Set(30, proctest.Process{Parent: 20, Start: 301, Command: "mosaic"})
		}
	})
	if line, err := proc.Ancestors(table, 30); !errors.Is(err, proc.ErrAncestryChanged) {
		t.Errorf("got %v, %v", pids(line), err)
	}
}

// proves: BUS-HUMAN-19
func TestAncestorsReportAFailureToRead(t *testing.T) {
	t.Parallel()
	broken := errors.New("input/output error")
	table := tree()
	table.Fail(20, proctest.Stat, broken)
	if line, err := proc.Ancestors(table, 30); !errors.Is(err, broken) {
		t.Errorf("got %v, %v", pids(line), err)
	}
}

// proves: BUS-TESTS-11
func TestAncestorsOfThisProcess(t *testing.T) {
	t.Parallel()
	line, err := proc.Ancestors(proc.System(), os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	self, err := proc.Self()
	if err != nil {
		t.Fatal(err)
	}
	if line[0].Identity != self || line[len(line)-1].Parent != 0 {
		t.Errorf("got %v", pids(line))
	}
	if len(line) > 1 && line[1].PID != os.Getppid() {
		t.Errorf("got %v, want parent %d", pids(line), os.Getppid())
	}
}
