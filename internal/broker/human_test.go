package broker

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mosaicstack.dev/mosaic/client"
	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/proc"
	"mosaicstack.dev/mosaic/internal/proc/proctest"
	"mosaicstack.dev/mosaic/internal/wire"
)

// verifier is the part of a broker that checks proofs, without a store.
func verifier(table proc.Table, shim proc.File) *Broker {
	b := newBroker(Options{Processes: table})
	b.executable = shim
	b.businesses["acme"] = &Business{ID: "acme", Human: "Dana"}
	return b
}

var testShim = proc.File{Device: 7, Inode: 42}

// good is the proof of the shim of testTable.
var (
	goodPeer  = wire.Peer{PID: shimPID, UID: os.Geteuid()}
	goodProof = wire.Proof{PID: shimPID, Nonce: testNonce}
)

// The person at a shell is believed, again and again: the nonce is the
// process's, not the request's. The name comes from the configuration.
//
// proves: BUS-HUMAN-15 BUS-HUMAN-16 BUS-TESTS-10
func TestAPersonAtAShellIsProven(t *testing.T) {
	t.Parallel()
	b := verifier(testTable(testShim), testShim)
	for range 3 {
		s, err := b.proveHuman(goodPeer, goodProof, "acme")
		if err != nil {
			t.Fatal(err)
		}
		if s.Kind != HumanSession || s.Business.Human != "Dana" || s.Role != wire.HumanRole || s.Run != wire.HumanRun {
			t.Errorf("session %+v", s)
		}
	}
	if _, err := b.proveHuman(goodPeer, goodProof, "nowhere"); err == nil || err.Code != wire.HumanRequired {
		t.Errorf("an unknown business: %v, want human-required", err)
	}
}

// Each case spoils one thing about a proof that is otherwise good.
//
// proves: BUS-HUMAN-05 BUS-HUMAN-06 BUS-HUMAN-07 BUS-HUMAN-08 BUS-HUMAN-09 BUS-HUMAN-10
// proves: BUS-HUMAN-11 BUS-HUMAN-12 BUS-HUMAN-13 BUS-HUMAN-14 BUS-HUMAN-19 BUS-HUMAN-20
// proves: BUS-OPEN-101 BUS-OPEN-102 BUS-OPEN-105 BUS-OPEN-106 BUS-OPEN-107 BUS-HUMAN-21
func TestASpoiledProofIsRefused(t *testing.T) {
	t.Parallel()
	change := func(pid int, f func(*proctest.Process)) func(*spoiled) {
		return func(s *spoiled) {
			p := s.processes[pid]
			f(&p)
			s.processes[pid] = p
			s.table.Set(pid, p)
		}
	}
	command := func(pid int, args ...string) func(*spoiled) {
		return change(pid, func(p *proctest.Process) { p.Args = args })
	}
	environ := func(pid int, entries ...string) func(*spoiled) {
		return change(pid, func(p *proctest.Process) { p.Env = append(p.Env, entries...) })
	}
	fail := func(pid int, read proctest.Read, err error) func(*spoiled) {
		return func(s *spoiled) { s.table.Fail(pid, read, err) }
	}
	errIO := errors.New("read error")
	cases := map[string]func(*spoiled){
		"no proof at all":              func(s *spoiled) { s.proof = wire.Proof{} },
		"another process's pid":        func(s *spoiled) { s.proof.PID = shellPID },
		"a peer that is not the shim":  func(s *spoiled) { s.peer.PID = shellPID },
		"the pid of no process":        func(s *spoiled) { s.peer.PID, s.proof.PID = 77, 77 },
		"a peer of another user":       func(s *spoiled) { s.peer.UID++ },
		"a process of another user":    change(shimPID, func(p *proctest.Process) { p.UID++ }),
		"another program, other inode": change(shimPID, func(p *proctest.Process) { p.Exe.Inode++ }),
		"another program, other disk":  change(shimPID, func(p *proctest.Process) { p.Exe.Device++ }),
		"another nonce":                func(s *spoiled) { s.proof.Nonce = newNonce() },
		"no nonce":                     func(s *spoiled) { s.proof.Nonce = "" },
		"the front of the nonce":       func(s *spoiled) { s.proof.Nonce = s.proof.Nonce[:42] },
		"no nonce in the environment": change(shimPID, func(p *proctest.Process) {
			p.Env = []string{"HOME=/home/dana"}
		}),
		"no nonce on either side": func(s *spoiled) {
			change(shimPID, func(p *proctest.Process) { p.Env = []string{HumanNonceVar + "="} })(s)
			s.proof.Nonce = ""
		},
		"a short nonce on both sides": func(s *spoiled) {
			change(shimPID, func(p *proctest.Process) { p.Env = []string{HumanNonceVar + "=1"} })(s)
			s.proof.Nonce = "1"
		},
		"two nonces in the environment": environ(shimPID, HumanNonceVar+"="+testNonce),
		"the tester's nonce": func(s *spoiled) {
			change(shimPID, func(p *proctest.Process) { p.Env = []string{"MOSAIC_BUS_TESTER_NONCE=" + testNonce} })(s)
		},

		"an ancestor that is its own ancestor": change(loginPID, func(p *proctest.Process) { p.Parent = shellPID }),
		"an ancestor that is missing":          func(s *spoiled) { s.table.Remove(loginPID) },
		"an ancestor that goes during the check": func(s *spoiled) {
			s.table.Before(func(pid int, read proctest.Read) {
				if pid == shellPID && read == proctest.Environ {
					s.table.Remove(loginPID)
				}
			})
		},
		"a shim that is replaced during the check": func(s *spoiled) {
			s.table.Before(func(pid int, read proctest.Read) {
				if pid == initPID && read == proctest.Cmdline {
					p := s.processes[shimPID]
					p.Start++
					s.table.Set(shimPID, p)
				}
			})
		},
		"a shim that is reparented during the check": func(s *spoiled) {
			s.table.Before(func(pid int, read proctest.Read) {
				if pid == initPID && read == proctest.Cmdline {
					p := s.processes[shimPID]
					p.Parent = initPID
					s.table.Set(shimPID, p)
				}
			})
		},
		"an ancestry of more than 128": func(s *spoiled) {
			for i := range 130 {
				s.table.Set(10_000+i, proctest.Process{Parent: 10_001 + i, Start: 300, Command: "sh"})
			}
			s.table.Set(10_130, proctest.Process{Parent: initPID, Start: 300, Command: "sh"})
			change(shellPID, func(p *proctest.Process) { p.Parent = 10_000 })(s)
		},

		"a bound run among the ancestors": func(s *spoiled) {
			s.broker.sessions.addRun(&Business{ID: "acme"}, LaunchRecord{Run: newRun(), PID: loginPID, StartTime: 100})
		},
		"a run that has ended among the ancestors": func(s *spoiled) {
			run := newRun()
			s.broker.sessions.addRun(&Business{ID: "acme"}, LaunchRecord{Run: run, PID: loginPID, StartTime: 100})
			s.broker.sessions.end(run)
		},
		"claude by its program":             command(shellPID, "/usr/local/bin/claude", "--resume"),
		"claude by its script":              command(shellPID, "node", "/opt/claude/bin/claude"),
		"codex by its script with a suffix": command(loginPID, "node", "/opt/codex/codex.js"),
		"pi by its program":                 command(loginPID, "pi"),
		"codex by its command name":         change(shellPID, func(p *proctest.Process) { p.Command = "codex" }),
		"the shim itself named claude":      command(shimPID, "claude"),

		"an unreadable stat":             fail(loginPID, proctest.Stat, errIO),
		"a stat without permission":      fail(loginPID, proctest.Stat, fs.ErrPermission),
		"an unreadable user":             fail(shimPID, proctest.UID, errIO),
		"an unreadable executable":       fail(shimPID, proctest.Executable, fs.ErrPermission),
		"an unreadable command line":     fail(loginPID, proctest.Cmdline, errIO),
		"a command without permission":   fail(loginPID, proctest.Cmdline, fs.ErrPermission),
		"an unreadable environment":      fail(loginPID, proctest.Environ, errIO),
		"an environment that is gone":    fail(loginPID, proctest.Environ, fs.ErrNotExist),
		"a zombie's environment":         fail(loginPID, proctest.Environ, proc.ErrNoMemory),
		"the shim's without permission":  fail(shimPID, proctest.Environ, fs.ErrPermission),
		"the shim's environment is gone": fail(shimPID, proctest.Environ, fs.ErrNotExist),
	}
	for _, marker := range runMarkers {
		cases["marker "+marker.name+" of the shim"] = environ(shimPID, marker.name+"=1")
		cases["marker "+marker.name+" of an ancestor"] = environ(loginPID, "A=b", marker.name+"=")
	}
	for name, spoil := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpoiled()
			if err := s.broker.VerifyHuman(s.peer, s.proof); err != nil {
				t.Fatalf("before: %v", err)
			}
			spoil(s)
			err := s.broker.VerifyHuman(s.peer, s.proof)
			refusedWith(t, name, nil, err, wire.HumanRequired)
		})
	}
}

// spoiled is a good proof that a case goes on to spoil.
type spoiled struct {
	broker    *Broker
	table     *proctest.Table
	processes map[int]proctest.Process
	peer      wire.Peer
	proof     wire.Proof
}

func newSpoiled() *spoiled {
	processes := testProcesses(testShim)
	table := proctest.New(processes)
	return &spoiled{
		broker: verifier(table, testShim), table: table, processes: processes,
		peer: goodPeer, proof: goodProof,
	}
}

// A login program of another user does not show its environment. That skips
// the marker check of that one process and nothing else.
//
// proves: BUS-HUMAN-17 BUS-HUMAN-18
func TestAnAncestorOfAnotherUserSkipsTheMarkerCheckAlone(t *testing.T) {
	t.Parallel()
	hidden := func() *spoiled {
		s := newSpoiled()
		s.table.Fail(loginPID, proctest.Environ, fmt.Errorf("environ: %w", fs.ErrPermission))
		return s
	}
	s := hidden()
	if err := s.broker.VerifyHuman(s.peer, s.proof); err != nil {
		t.Errorf("a hidden environment: %v", err)
	}

	s = hidden()
	login := s.processes[loginPID]
	login.Args = []string{"codex"}
	s.table.Set(loginPID, login)
	refusedWith(t, "a harness with a hidden environment", nil, s.broker.VerifyHuman(s.peer, s.proof), wire.HumanRequired)

	s = hidden()
	s.broker.sessions.addRun(&Business{ID: "acme"}, LaunchRecord{Run: newRun(), PID: loginPID, StartTime: 100})
	refusedWith(t, "a run with a hidden environment", nil, s.broker.VerifyHuman(s.peer, s.proof), wire.HumanRequired)
}

// The markers are one table, and each says who sets it.
//
// proves: BUS-OPEN-103
func TestTheMarkersAreOneTable(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, marker := range runMarkers {
		if seen[marker.name] || marker.setBy == "" {
			t.Errorf("marker %+v is there twice or unexplained", marker)
		}
		seen[marker.name] = true
	}
	for _, name := range []string{
		"MOSAIC_RUN_ID", "MOSAIC_BUS_CAP", "MOSAIC_AGENT_RUN", "CLAUDECODE",
		"CLAUDE_CODE_ENTRYPOINT", "CODEX_SANDBOX", "CODEX_THREAD_ID", "PI_CODING_AGENT",
	} {
		if !seen[name] {
			t.Errorf("no marker %s", name)
		}
	}
	if hasRunMarker([]string{"HOME=/", "XCLAUDECODE=1", "CLAUDECODEX=1", "A=CLAUDECODE"}) {
		t.Error("a variable that only looks like a marker counts as one")
	}
}

// This test process has no nonce, and very likely an agent or a build machine
// above it: a real process that proves nothing is refused from the real /proc.
//
// proves: BUS-TESTS-12
func TestARealProcessWithoutProofIsRefused(t *testing.T) {
	t.Parallel()
	b := newBroker(Options{})
	var err error
	if b.executable, err = executable(""); err != nil {
		t.Fatal(err)
	}
	peer := wire.Peer{PID: os.Getpid(), UID: os.Geteuid()}
	refusedWith(t, "a real process", nil, b.VerifyHuman(peer, wire.Proof{PID: os.Getpid(), Nonce: newNonce()}), wire.HumanRequired)
}

// What the log says about a failed proof has no nonce in it.
//
// proves: BUS-OPEN-08
func TestTheLogHasNoNonce(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := newSpoiled()
	s.broker.log = slog.New(slog.NewTextHandler(&log, nil))
	s.proof.Nonce = newNonce()
	refusedWith(t, "another nonce", nil, s.broker.VerifyHuman(s.peer, s.proof), wire.HumanRequired)
	if text := log.String(); strings.Contains(text, s.proof.Nonce) || strings.Contains(text, testNonce) || !strings.Contains(text, errNonce.Error()) {
		t.Errorf("the log says %q", text)
	}
}

// Over the real human.sock the kernel says who asks: this process proves itself
// when the table has it as the shim, and nobody else.
//
// proves: BUS-OPEN-107 BUS-HUMAN-07 BUS-TESTS-07
func TestTheKernelNamesThePeer(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	call := func(pid int, verb string, result any) error {
		human := client.Human(pid, testNonce, "acme")
		return client.New(filepath.Join(tb.reply.Path, humanSocketName), human).Call(t.Context(), verb, nil, result)
	}
	refusedWith(t, "the pid of another process", nil, call(shimPID, "inbox", nil), wire.HumanRequired)
	refusedWith(t, "a process that the table does not have", nil, call(os.Getpid(), "inbox", nil), wire.HumanRequired)

	shim := testProcesses(tb.executable)[shimPID]
	tb.table.Set(os.Getpid(), shim)
	var event evidence.Event
	if err := call(os.Getpid(), "launch.revoke", &event); err != nil || event.Kind != evidence.LaunchRevoked {
		t.Errorf("%+v, %v", event, err)
	}
	refusedWith(t, "the pid of another process", nil, call(shimPID, "inbox", nil), wire.HumanRequired)
}
