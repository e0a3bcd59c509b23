package proc_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"mosaicstack.dev/mosaic/internal/proc"
	"mosaicstack.dev/mosaic/internal/proc/proctest"
)

func TestOwnerJudge(t *testing.T) {
	t.Parallel()
	here := proc.Machine{Host: "ada", Boot: "boot-1"}
	owner := proc.Owner{Host: "ada", Boot: "boot-1", PID: 7, StartTime: 70}
	running := map[int]proctest.Process{7: {Parent: 1, Start: 70}}

	for _, c := range []struct {
		name   string
		owner  func(*proc.Owner)
		here   proc.Machine
		table  map[int]proctest.Process
		fail   error
		expect proc.Verdict
	}{
		{name: "that very process runs", table: running, expect: proc.Alive},
		{name: "no such pid", expect: proc.Gone},
		{name: "the pid was reused", table: map[int]proctest.Process{7: {Start: 71}}, expect: proc.Gone},
		{name: "a zombie", table: map[int]proctest.Process{7: {Start: 70, State: 'Z'}}, expect: proc.Gone},
		{name: "another boot, the pid in use again", here: proc.Machine{Host: "ada", Boot: "boot-2"}, table: running, expect: proc.Gone},
		{name: "another host of the same home directory", here: proc.Machine{Host: "eve", Boot: "boot-1"}, expect: proc.CannotTell},
		{name: "another host and boot", here: proc.Machine{Host: "eve", Boot: "boot-2"}, expect: proc.CannotTell},
		{name: "the process table refuses", table: running, fail: os.ErrPermission, expect: proc.CannotTell},
		{name: "the process table fails", table: running, fail: errors.New("EIO"), expect: proc.CannotTell},
		{name: "no host recorded", owner: func(o *proc.Owner) { o.Host = "" }, here: proc.Machine{Boot: "boot-1"}, expect: proc.CannotTell},
		{name: "no boot recorded", owner: func(o *proc.Owner) { o.Boot = "" }, expect: proc.CannotTell},
		{name: "no pid recorded", owner: func(o *proc.Owner) { o.PID = 0 }, expect: proc.CannotTell},
		{name: "no start time recorded", owner: func(o *proc.Owner) { o.StartTime = 0 }, table: running, expect: proc.CannotTell},
		{name: "this boot is unknown", here: proc.Machine{Host: "ada"}, expect: proc.CannotTell},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o, at := owner, here
			if c.owner != nil {
				c.owner(&o)
			}
			if c.here != (proc.Machine{}) {
				at = c.here
			}
			table := proctest.New(c.table)
			table.Fail(7, proctest.Stat, c.fail)
			if got := o.Judge(at, table); got != c.expect {
				t.Errorf("got %v, want %v", got, c.expect)
			}
		})
	}
}

func TestSelfOwnerIsAlive(t *testing.T) {
	t.Parallel()
	owner, err := proc.SelfOwner(time.Date(2026, 12, 1, 6, 0, 0, 5e6, time.FixedZone("", 3600)))
	if err != nil {
		t.Fatal(err)
	}
	if owner.PID != os.Getpid() || owner.At != "2026-12-01T05:00:00.005Z" {
		t.Errorf("got %+v", owner)
	}
	here, err := proc.ThisMachine()
	if err != nil {
		t.Fatal(err)
	}
	if got := owner.Judge(here, proc.System()); got != proc.Alive {
		t.Errorf("got %v", got)
	}
	owner.StartTime++
	if got := owner.Judge(here, proc.System()); got != proc.Gone {
		t.Errorf("with another start time: got %v", got)
	}
}

// proves: QUEUE-LOCK-17 QUEUE-LOCK-18 QUEUE-LOCK-19 QUEUE-LOCK-20 QUEUE-LOCK-21 QUEUE-LOCK-22 QUEUE-LOCK-24
func TestOwnerClassify(t *testing.T) {
	t.Parallel()
	here := proc.Machine{Host: "ada", Boot: "boot-1"}
	owner := proc.Owner{Host: "ada", Boot: "boot-1", PID: 7, StartTime: 70}
	for _, c := range []struct {
		name   string
		here   proc.Machine
		table  map[int]proctest.Process
		fail   error
		expect proc.Class
		gone   bool
	}{
		{"another host, whatever runs here", proc.Machine{Host: "eve", Boot: "boot-1"}, map[int]proctest.Process{7: {Start: 70}}, nil, proc.Unknown, false},
		{"another host without such a pid", proc.Machine{Host: "eve", Boot: "boot-1"}, nil, nil, proc.Unknown, false},
		{"another boot with the same pid and start", proc.Machine{Host: "ada", Boot: "boot-2"}, map[int]proctest.Process{7: {Start: 70}}, nil, proc.Mismatch, true},
		{"no such pid", here, nil, nil, proc.Dead, true},
		{"a zombie", here, map[int]proctest.Process{7: {Start: 70, State: 'Z'}}, nil, proc.Dead, true},
		{"the pid was reused", here, map[int]proctest.Process{7: {Start: 71}}, nil, proc.Mismatch, true},
		{"unreadable", here, map[int]proctest.Process{7: {Start: 70}}, os.ErrPermission, proc.Unknown, false},
		{"that very process", here, map[int]proctest.Process{7: {Start: 70}}, nil, proc.Live, false},
	} {
		table := proctest.New(c.table)
		table.Fail(7, proctest.Stat, c.fail)
		if got := owner.Classify(c.here, table); got != c.expect || got.Gone() != c.gone {
			t.Errorf("%s: got %v, gone %v", c.name, got, got.Gone())
		}
	}
}

func TestVerdictWords(t *testing.T) {
	t.Parallel()
	for v, want := range map[proc.Verdict]string{proc.Alive: "alive", proc.Gone: "gone", proc.CannotTell: "cannot tell"} {
		if v.String() != want {
			t.Errorf("got %q, want %q", v, want)
		}
	}
	var zero proc.Verdict
	if zero != proc.CannotTell {
		t.Error("the zero verdict must conclude nothing")
	}
}
