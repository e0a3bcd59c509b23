package broker

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mosaicstack.dev/mosaic/client"
	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/wire"
)

// BenchmarkSend sends messages through the real socket, each client over a
// connection that it keeps open. The clients are another process, as agents
// are: cpu-us/op is what the broker's process alone spends on a send.
func BenchmarkSend(b *testing.B) {
	for _, clients := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			tb := newTestBroker(b)
			dev := tb.holder("dev")
			tb.holder("rev")
			crowd := startCrowd(b, crowd{
				Socket: tb.busPath(), Cap: dev.proof.Cap, Clients: clients, Calls: b.N,
				Verb: "message.send", Args: json.RawMessage(`{"to":"rev","body":"the tests of the parser pass again; please look at the diff"}`),
			})
			cpu := processorTime()
			b.ResetTimer()
			took := crowd.run(b)
			b.StopTimer()
			b.ReportMetric(float64((processorTime()-cpu).Microseconds())/float64(b.N), "cpu-us/op")
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "sends/s")
			reportPercentiles(b, took)
		})
	}
}

// BenchmarkClaim takes a role and gives it up: two commits.
func BenchmarkClaim(b *testing.B) {
	tb := newTestBroker(b)
	c := tb.client(tb.launch("dev"))
	measure(b, func() {
		mustCall(b, c, "role.claim", nil)
		mustCall(b, c, "role.release", nil)
	})
}

// BenchmarkDecide raises a decision and lets the arbiter answer it: two commits.
func BenchmarkDecide(b *testing.B) {
	tb := newTestBroker(b)
	dev, pm := tb.client(tb.holder("dev")), tb.client(tb.holder("pm"))
	measure(b, func() {
		var d struct{ ID wire.DecisionID }
		if err := dev.Call(b.Context(), "decision.raise", asking("git.merge.protected", args{"target": "main"}), &d); err != nil {
			b.Fatal(err)
		}
		mustCall(b, pm, "decision.resolve", args{"id": d.ID, "choice": "yes"})
	})
}

// BenchmarkRead asks every read through the real socket, of a store with 1,000
// messages and 100 decisions and of one a hundred times as large. What the
// answers hold is of the same size in both.
func BenchmarkRead(b *testing.B) {
	for _, size := range []struct {
		name                string
		messages, decisions int
	}{{"small", 1_000, 100}, {"large", 100_000, 10_000}} {
		f := fillStore(b, size.messages, size.decisions)
		for _, r := range []struct {
			name, verb string
			args       func(*fullStore) args
			by         wire.Role
		}{
			{"inbox-human", "inbox", nil, "human"},
			{"inbox-role", "inbox", nil, "pm"},
			{"agents-human", "agents", nil, "human"},
			{"agents-role", "agents", nil, "dev"},
			{"trail-message", "trail", func(f *fullStore) args { return args{"subject": f.message} }, "human"},
			{"trail-decision", "trail", func(f *fullStore) args { return args{"subject": f.decision} }, "human"},
			{"trail-task", "trail", func(*fullStore) args { return args{"subject": "queue:7"} }, "human"},
			{"decisions-roles", "decisions", func(*fullStore) args { return args{"list": "roles"} }, "human"},
			{"decisions-recent", "decisions", func(*fullStore) args { return args{"list": "recent"} }, "human"},
			{"replies", "replies", func(f *fullStore) args { return args{"id": f.message} }, "human"},
			{"messages", "messages", nil, "human"},
			{"messages-later", "messages", func(f *fullStore) args { return args{"after": f.older} }, "human"},
		} {
			b.Run(r.name+"/"+size.name, func(b *testing.B) {
				var a args
				if r.args != nil {
					a = r.args(f)
				}
				c := f.clients[r.by]
				measure(b, func() { mustCall(b, c, r.verb, a) })
			})
		}
	}
}

// fullStore is a running broker over a store with a history.
type fullStore struct {
	clients  map[wire.Role]*client.Client
	message  wire.MessageID // one of the first, with replies
	older    wire.MessageID // a cursor in the human's feed
	decision wire.DecisionID
}

// fillStore writes a history: messages between dev and rev and to the human,
// received and read but for the last few, and decisions of which the last few
// are open. It is written in groups, past the sockets.
func fillStore(b *testing.B, messages, decisions int) *fullStore {
	b.Helper()
	tb := newTestBroker(b)
	f := &fullStore{clients: map[wire.Role]*client.Client{}}
	seats := tb.holders("chief", "dev", "rev", "pm")
	for role, s := range seats {
		f.clients[role] = tb.client(s)
	}
	// The reader sees what the human sees and needs no process proof, whose
	// cost is not the store's.
	f.clients["human"] = tb.client(tb.reader())
	const open = 10
	var first evidence.Message
	inGroups(b, tb, messages, func(tx *evidence.Tx, i int) error {
		dev := seats["dev"]
		m := evidence.Message{
			Business: "acme", FromRole: "dev", FromRun: dev.run, ToRole: "rev", Class: "INFO",
			Body: "the tests of the parser pass again; please look at the diff",
		}
		run := seats["rev"].run
		if i%2 == 0 {
			m.ToRole, run = wire.HumanRole, wire.HumanRun
		}
		if i > 0 && i <= 10 {
			m.InReplyTo = &first.ID
		}
		m, err := tx.AppendMessage(m)
		if err != nil {
			return err
		}
		switch {
		case i == 0:
			first = m
		case i == messages/2:
			f.older = m.ID
		}
		if i >= messages-2*open {
			return nil
		}
		if _, err := tx.Deliver("acme", evidence.Lane(m.ToRole), run, 1); err != nil {
			return err
		}
		_, err = tx.MarkRead("acme", m.ID, run)
		return err
	})
	inGroups(b, tb, decisions, func(tx *evidence.Tx, i int) error {
		dev, pm := seats["dev"], seats["pm"]
		d := evidence.Decision{
			Business: "acme", Action: "git.merge.protected", Question: "May I?", Recommendation: "yes", ApprovalChoice: "yes",
			Options: []evidence.Option{{Key: "yes", Text: "go ahead"}, {Key: "no", Text: "leave it"}},
			Class:   evidence.CrossRole, Route: "pm", Domain: "delivery", Target: ptr(strconv.Itoa(i)),
			RaisedByRole: "dev", RaisedByRun: dev.run,
		}
		if i%2 == 0 {
			d.Class, d.Route, d.Action = evidence.Gated, wire.HumanRole, "prd.approve"
		}
		if i < 5 {
			d.TaskRef = ptr(wire.TaskRef("queue:7"))
		}
		d, err := tx.AppendDecision(d)
		if err != nil {
			return err
		}
		if i == 0 {
			f.decision = d.ID
		}
		if i >= decisions-2*open {
			return nil
		}
		e := evidence.DecisionEvent{
			Decision: d.ID, Kind: evidence.Resolved, By: string(pm.run), ByRole: "pm", Via: viaBroker, Choice: ptr("yes"),
		}
		if d.Route == wire.HumanRole {
			input, err := tx.AppendEvent(evidence.Event{
				Business: "acme", Role: ptr(wire.HumanRole), Run: ptr(wire.HumanRun), Kind: evidence.HumanInput,
				Subject: ptr(string(d.ID)), Body: []byte(`{}`),
			})
			if err != nil {
				return err
			}
			e.By, e.ByRole, e.Via, e.Input = "Dana", wire.HumanRole, viaCLI, &input.ID
		}
		_, err = tx.AppendDecisionEvent("acme", e)
		return err
	})
	f.message = first.ID
	return f
}

// inGroups runs write n times, in transactions of many.
func inGroups(b *testing.B, tb *testBroker, n int, write func(tx *evidence.Tx, i int) error) {
	b.Helper()
	const group = 1000
	for from := 0; from < n; from += group {
		err := tb.store.Update(b.Context(), func(tx *evidence.Tx) error {
			for i := from; i < min(from+group, n); i++ {
				if err := write(tx, i); err != nil {
					return err
				}
			}
			return nil
		}, nil)
		if err != nil {
			b.Fatal(err)
		}
	}
}

// busPath is the path of the socket for capabilities.
func (tb *testBroker) busPath() string { return filepath.Join(tb.reply.Path, busSocketName) }

// client calls as a run or reader through the real socket, over a connection
// that it keeps open.
func (tb *testBroker) client(s session) *client.Client {
	c := client.New(tb.busPath(), client.Capability(string(s.proof.Cap)), client.KeepOpen())
	tb.t.Cleanup(func() { c.Close() })
	return c
}

func mustCall(t testing.TB, c *client.Client, verb string, a args) {
	if err := c.Call(t.Context(), verb, a, nil); err != nil {
		t.Fatalf("%s: %v", verb, err)
	}
}

// measure times each call of do and reports percentiles.
func measure(b *testing.B, do func()) {
	do() // the first call opens the connection
	took := make([]time.Duration, 0, b.N)
	for b.Loop() {
		start := time.Now()
		do()
		took = append(took, time.Since(start))
	}
	b.StopTimer()
	reportPercentiles(b, took)
}

func reportPercentiles(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2]), "p50-ns")
	b.ReportMetric(float64(took[len(took)*99/100]), "p99-ns")
}

// processorTime is what this process has used so far.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// crowd is a job for a process of clients: so many calls of one verb, shared
// among the clients.
type crowd struct {
	Socket  string
	Cap     wire.Capability
	Clients int
	Calls   int
	Verb    string
	Args    json.RawMessage
}

// childCrowd makes the test binary a crowd; its value is the job as JSON.
const childCrowd = "MOSAIC_TEST_CROWD"

// runningCrowd is a crowd whose clients are connected and wait for the word.
type runningCrowd struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startCrowd(b *testing.B, job crowd) *runningCrowd {
	b.Helper()
	encoded, err := json.Marshal(job)
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childCrowd+"="+string(encoded))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	r := &runningCrowd{cmd: cmd, in: in, out: bufio.NewReader(out)}
	if _, err := r.out.ReadString('\n'); err != nil {
		b.Fatalf("the clients did not start: %v, %v", err, cmd.Wait())
	}
	return r
}

// run gives the word and returns how long each call took.
func (r *runningCrowd) run(b *testing.B) []time.Duration {
	b.Helper()
	if _, err := io.WriteString(r.in, "go\n"); err != nil {
		b.Fatal(err)
	}
	var took []time.Duration
	if err := json.NewDecoder(r.out).Decode(&took); err != nil {
		b.Fatalf("the clients failed: %v, %v", err, r.cmd.Wait())
	}
	if err := r.cmd.Wait(); err != nil {
		b.Fatal(err)
	}
	return took
}

// runCrowd is the process of the clients. It returns its exit code.
func runCrowd(encoded string) int {
	var job crowd
	if err := json.Unmarshal([]byte(encoded), &job); err != nil {
		fmt.Fprintln(os.Stderr, "crowd:", err)
		return 1
	}
	clients := make([]*client.Client, job.Clients)
	for i := range clients {
		clients[i] = client.New(job.Socket, client.Capability(string(job.Cap)), client.KeepOpen(), client.Timeout(time.Minute))
		if err := clients[i].Call(context.Background(), "inbox", nil, nil); err != nil {
			fmt.Fprintln(os.Stderr, "crowd:", err)
			return 1
		}
	}
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return 1
	}
	took := make([]time.Duration, job.Calls)
	var next atomic.Int64
	var failed atomic.Bool
	var all sync.WaitGroup
	for _, c := range clients {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(job.Calls) && !failed.Load(); i = next.Add(1) - 1 {
				start := time.Now()
				if err := c.Call(context.Background(), job.Verb, job.Args, nil); err != nil {
					fmt.Fprintln(os.Stderr, "crowd:", err)
					failed.Store(true)
				}
				took[i] = time.Since(start)
			}
		})
	}
	all.Wait()
	if failed.Load() || json.NewEncoder(os.Stdout).Encode(took) != nil {
		return 1
	}
	return 0
}
