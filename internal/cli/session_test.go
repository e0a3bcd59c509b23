package cli

import (
	"bufio"
	"encoding/json"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"mosaicstack.dev/mosaic/internal/wire"
)

const (
	openID = "0197c3a0-7d1e-7c55-9f3a-2b6f5f0c9e21"
	sentID = "0197c3a0-7d1e-7c55-9f3a-2b6f11111111"
)

// fakeBus answers verbs from a table, at the socket of a managed run. A verb
// without an answer gets none: the connection ends.
type fakeBus struct {
	socket  string
	answers map[string]string

	mu    sync.Mutex
	calls []string
}

func newFakeBus(t *testing.T, answers map[string]string) *fakeBus {
	t.Helper()
	b := &fakeBus{socket: filepath.Join(t.TempDir(), "bus.sock"), answers: answers}
	listener, err := net.Listen("unix", b.socket)
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	t.Cleanup(func() { listener.Close(); serving.Wait() })
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { b.serve(conn) })
		}
	})
	return b
}

func (b *fakeBus) serve(conn net.Conn) {
	defer conn.Close()
	line, err := bufio.NewReader(conn).ReadBytes('\n')
	var request wire.Request
	if err != nil || json.Unmarshal(line, &request) != nil {
		return
	}
	b.mu.Lock()
	b.calls = append(b.calls, request.Verb)
	b.mu.Unlock()
	if result, known := b.answers[request.Verb]; known {
		id, _ := json.Marshal(request.ID)
		conn.Write([]byte(`{"id":` + string(id) + `,"ok":true,"result":` + result + "}\n"))
	}
}

// all returns the calls so far.
func (b *fakeBus) all() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.calls)
}

// called counts the calls of a verb.
func (b *fakeBus) called(verb string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, c := range b.calls {
		if c == verb {
			n++
		}
	}
	return n
}

// run runs a command line as the role of a managed run of this bus.
func (b *fakeBus) run(t *testing.T, args ...string) ran {
	return runWith(t, []string{"MOSAIC_BUS_CAP=cap", "MOSAIC_BUS_SOCKET=" + b.socket, "MOSAIC_HOST_SOCKET=" + b.socket}, args...)
}

const (
	openDecision = `{"id":"` + openID + `","action":"git.merge.protected","question":"Merge?","options":[{"key":"yes","text":"Merge"},{"key":"no","text":"Leave"}],` +
		`"recommendation":"no","class":"gated","route":"cto","raised_by_role":"dev","raised_by_run":"r","at":"2026-01-02T03:04:05.678Z",` +
		`"authorization":{"action":"git.merge.protected","target":"main","approvalChoice":"yes"}}`
	resolvedEvent = `{"decision":"` + openID + `","kind":"resolved","by":"Dana","choice":"yes","note":null,"input":null,"at":"2026-01-02T03:04:06.000Z"}`
)

// The reply to an answer is lost. It is not sent again: the record is read, and
// what it says is told.
// proves: BUS-PROTO-17 BUS-PROTO-18
func TestALostAnswerIsLookedUpAndNeverSentAgain(t *testing.T) {
	t.Parallel()
	inbox := `{"decisions":[` + openDecision + `],"messages":0,"at":"2026-01-02T03:04:05.678Z"}`
	t.Run("it was recorded", func(t *testing.T) {
		b := newFakeBus(t, map[string]string{
			"inbox": inbox,
			"trail": `[{"table":"decision_events","seq":1,"at":"2026-01-02T03:04:06.000Z","row":` + resolvedEvent + `}]`,
		})
		got := b.run(t, "decide", openID, "yes")
		if got.code != exitDone || !strings.Contains(got.stderr, "the reply was lost; this is what the record says") || !strings.Contains(got.stdout, "Approved: dev may do git.merge.protected on main, once.") {
			t.Errorf("%+v", got)
		}
		if n := b.called("decision.resolve"); n != 1 {
			t.Errorf("sent %d times", n)
		}
	})
	t.Run("it was not", func(t *testing.T) {
		b := newFakeBus(t, map[string]string{"inbox": inbox, "trail": `[]`})
		got := b.run(t, "decide", openID, "yes")
		if got.code != exitUncertain || !strings.HasPrefix(got.stderr, "mosaic: outcome-unknown: ") || got.stdout != "" {
			t.Errorf("%+v", got)
		}
		if n := b.called("decision.resolve"); n != 1 {
			t.Errorf("sent %d times", n)
		}
	})
	t.Run("the record cannot be read either", func(t *testing.T) {
		b := newFakeBus(t, map[string]string{"inbox": inbox})
		if got := b.run(t, "decide", openID, "yes"); got.code != exitUncertain || b.called("decision.resolve") != 1 {
			t.Errorf("%+v", got)
		}
	})
}

// Every other command that changes something sends it once as well, and says
// that the outcome is uncertain.
// proves: BUS-PROTO-17
func TestNoMutationIsSentTwice(t *testing.T) {
	t.Parallel()
	for line, verb := range map[string]string{
		"claim":              "role.claim",
		"release":            "role.release",
		"send dev hello":     "message.send",
		"read " + sentID:     "message.read",
		"receive":            "message.receive",
		"receive --wait 30s": "message.receive",
		"raise a --question q --option yes=y --option no=n --recommend yes": "decision.raise",
		"call role.claim": "role.claim",
		"launch dev":      "launch",
		"land --project web --commit c --decision " + openID: "land",
	} {
		b := newFakeBus(t, nil)
		got := b.run(t, strings.Fields(line)...)
		if got.code != exitUncertain || !strings.HasPrefix(got.stderr, "mosaic: outcome-unknown: ") || got.stdout != "" {
			t.Errorf("mosaic %s: %+v", line, got)
		}
		if n := b.called(verb); n != 1 || len(b.all()) != 1 {
			t.Errorf("mosaic %s: calls %q", line, b.all())
		}
	}
}

// A command that looks something up first, and gets no answer, has changed
// nothing and says so.
func TestALookUpWithoutAnAnswerChangesNothing(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"stop " + sentID, "decide " + openID + " yes"} {
		b := newFakeBus(t, nil)
		got := b.run(t, strings.Fields(line)...)
		if got.code != exitFailed || !strings.HasPrefix(got.stderr, "mosaic: timed-out: ") || len(b.all()) != 1 {
			t.Errorf("mosaic %s: %+v, calls %q", line, got, b.all())
		}
	}
}

func TestAReplyThatMakesNoSenseIsNoAnswer(t *testing.T) {
	t.Parallel()
	b := newFakeBus(t, map[string]string{"inbox": `"surprise"`})
	if got := b.run(t, "inbox"); got.code != exitFailed || !strings.HasPrefix(got.stderr, "mosaic: protocol-failed: ") || got.stdout != "" {
		t.Errorf("%+v", got)
	}
}

// What a newer bus adds is passed on to programs and does not disturb people.
func TestWhatANewerBusAddsIsPassedOn(t *testing.T) {
	t.Parallel()
	b := newFakeBus(t, map[string]string{
		"inbox": `{"decisions":[],"messages":3,"at":"2026-01-02T03:04:05.678Z","later":{"x":1}}`,
		"trail": `[{"table":"thread_claims","seq":1,"at":"2026-01-02T03:04:06.000Z","row":{"thread":"x"}}]`,
	})
	if got := b.run(t, "--json", "inbox"); got.code != exitDone || !strings.Contains(got.stdout, `"later":{"x":1}`) {
		t.Errorf("%+v", got)
	}
	if got := b.run(t, "inbox"); got.code != exitDone || got.stdout != "3 messages waiting: mosaic receive\n" {
		t.Errorf("%+v", got)
	}
	if got := b.run(t, "trail", "queue:1"); got.code != exitDone || !strings.Contains(got.stdout, "a record of thread_claims") {
		t.Errorf("%+v", got)
	}
}

// A host that nobody answers at is a failure, not a refusal: nothing happened.
func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	b := &fakeBus{socket: filepath.Join(t.TempDir(), "nobody.sock")}
	if got := b.run(t, "inbox"); got.code != exitFailed || !strings.HasPrefix(got.stderr, "mosaic: unavailable: ") {
		t.Errorf("%+v", got)
	}
}
