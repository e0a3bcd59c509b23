package host

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
	"go.uber.org/goleak"

	"mosaicstack.dev/mosaic/client"
	"mosaicstack.dev/mosaic/internal/broker"
	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/launch"
	"mosaicstack.dev/mosaic/internal/proc"
	"mosaicstack.dev/mosaic/internal/wire"
)

// The test binary is the monitor of its own runs, a host that can be killed,
// and the program of an agent, as the product's binary is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case launch.StageCommand:
			os.Exit(launch.Stage(os.Args[2:]))
		case "agent-call":
			os.Exit(agentCall(os.Args[2:]))
		case "host-that-dies":
			os.Exit(hostThatDies(os.Args[2]))
		}
	}
	goleak.VerifyTestMain(m)
}

// agentCall is an agent's program: it calls verbs with what its environment
// proves, and prints each result or code on a line. Arguments are triples of
// "bus" or "host", verb, and arguments as JSON.
func agentCall(args []string) int {
	auth := client.Capability(os.Getenv("MOSAIC_BUS_CAP"))
	sockets := map[string]string{"bus": os.Getenv("MOSAIC_BUS_SOCKET"), "host": os.Getenv("MOSAIC_HOST_SOCKET")}
	for ; len(args) >= 3; args = args[3:] {
		var result json.RawMessage
		err := client.New(sockets[args[0]], auth, client.Timeout(time.Minute)).
			Call(context.Background(), args[1], json.RawMessage(args[2]), &result)
		if err != nil {
			fmt.Println(args[1], client.CodeOf(err))
			continue
		}
		fmt.Printf("%s %s\n", args[1], result)
	}
	return 0
}

const organization = `version: 1
human: {id: dana, name: Dana}
plugins: {harness: [exec]}
businesses:
  acme:
    human: dana
    arbiters: {technical: cto, delivery: pm}
    projects: {web: {repo: PROJECT}}
    roles:
      chief: {definition: chief-of-staff}
      cto: {definition: cto}
      pm: {definition: pm}
      dev: {definition: developer, command: [sh, -c, 'echo configured in $(pwd); exec sleep 1000']}
      rev: {definition: reviewer, env: [HOST_TEST_NAMED]}
      op: {definition: operator}
    launch: {by: chief, instances: [cto, pm, dev, rev], limits: {sessions: 4}, sandbox: SANDBOX}
  globex:
    human: dana
    roles:
      dev: {definition: developer}
`

// testHost is a data root and the host that runs on it.
type testHost struct {
	t       *testing.T
	root    string
	project string
	self    string // the test binary
	nonce   string
	log     *syncBuffer
	options Options
	status  Status

	cancel context.CancelFunc
	ended  chan error
}

// newTestHost prepares a data root and starts a host on it, whose runs have
// this sandbox.
func newTestHost(t *testing.T, sandbox launch.Kind, changes ...func(*Options)) *testHost {
	t.Helper()
	h := prepareHost(t, t.TempDir(), sandbox)
	for _, change := range changes {
		change(&h.options)
	}
	h.start()
	for _, b := range h.status.Businesses {
		if b.ID == "acme" && !b.Sandbox.Works {
			t.Skip("bubblewrap does not work on this machine: see the launcher's probe")
		}
	}
	return h
}

func prepareHost(t *testing.T, root string, sandbox launch.Kind) *testHost {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var nonce [32]byte
	rand.Read(nonce[:])
	h := &testHost{
		t: t, root: root, project: t.TempDir(), self: self, log: &syncBuffer{},
		nonce: base64.RawURLEncoding.EncodeToString(nonce[:]),
	}
	if err := errors.Join(os.Chmod(root, 0o700), os.Mkdir(filepath.Join(root, busName), 0o700)); err != nil {
		t.Fatal(err)
	}
	h.organize(strings.ReplaceAll(organization, "SANDBOX", string(sandbox)))
	if err := evidence.Create(t.Context(), filepath.Join(root, busName, "bus.sqlite")); err != nil {
		t.Fatal(err)
	}
	h.options = Options{
		DataRoot: root, Version: "test", Grace: 5 * time.Second,
		Log:       slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		processes: person{proc.System(), os.Getpid(), h.nonce},
	}
	return h
}

// organize writes the organization file.
func (h *testHost) organize(text string) {
	h.t.Helper()
	text = strings.ReplaceAll(text, "PROJECT", h.project)
	if err := os.WriteFile(filepath.Join(h.root, "organization.yaml"), []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// person makes the test's process one that proves a person, whoever started
// the tests: it was started by nobody, with a nonce.
type person struct {
	proc.Table
	pid   int
	nonce string
}

func (p person) Stat(pid int) (proc.Stat, error) {
	st, err := p.Table.Stat(pid)
	if pid == p.pid {
		st.Parent = 0
	}
	return st, err
}

func (p person) Environ(pid int) ([]string, error) {
	if pid == p.pid {
		return []string{broker.HumanNonceVar + "=" + p.nonce}, nil
	}
	return p.Table.Environ(pid)
}

func (p person) Cmdline(pid int) ([]string, error) {
	if pid == p.pid {
		return []string{"mosaic"}, nil
	}
	return p.Table.Cmdline(pid)
}

// start runs the host until stop, or the end of the test.
func (h *testHost) start() {
	h.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready := make(chan Status, 1)
	ended := make(chan error, 1)
	h.options.Ready = func(s Status) { ready <- s }
	go func() { ended <- Run(ctx, h.options) }()
	select {
	case h.status = <-ready:
	case err := <-ended:
		cancel()
		h.t.Fatalf("start: %v\n%s", err, h.log)
	}
	h.cancel, h.ended = cancel, ended
	h.t.Cleanup(func() {
		if h.cancel != nil {
			h.stop()
		}
	})
}

// stop ends the host in order.
func (h *testHost) stop() {
	h.t.Helper()
	h.cancel()
	h.cancel = nil
	if err := <-h.ended; err != nil {
		h.t.Errorf("stop: %v", err)
	}
}

// refusedStart starts a host that must be refused.
func (h *testHost) refusedStart(code wire.Code) {
	h.t.Helper()
	ctx, cancel := context.WithCancel(h.t.Context())
	defer cancel()
	h.options.Ready = func(Status) { cancel() }
	if err := Run(ctx, h.options); !errors.Is(err, wire.Refuse(code)) {
		h.t.Errorf("start: %v, want %s", err, code)
	}
}

// call is a verb of host.sock by the person.
func (h *testHost) call(verb string, args, result any) error {
	h.t.Helper()
	auth := client.Human(os.Getpid(), h.nonce, "acme")
	return client.New(h.status.Sockets.HostHuman, auth, client.Timeout(time.Minute)).Call(h.t.Context(), verb, args, result)
}

// do is a verb of host.sock by the person that must succeed.
func do[T any](h *testHost, verb string, args any) T {
	h.t.Helper()
	var result T
	if err := h.call(verb, args, &result); err != nil {
		h.t.Fatalf("%s %v: %v\n%s", verb, args, err, h.log)
	}
	return result
}

func (h *testHost) refused(verb string, args any, want *wire.Error) {
	h.t.Helper()
	declared(h.t, verb, want.Code)
	err := h.call(verb, args, nil)
	var got *wire.Error
	if !errors.As(err, &got) || *got != *want {
		h.t.Errorf("%s %v: got %v, want %v", verb, args, err, want)
	}
}

// declared checks that the table says what a verb may answer.
func declared(t *testing.T, verb string, code wire.Code) {
	t.Helper()
	general := []wire.Code{wire.AgentRequired, wire.HumanRequired, wire.InvalidRequest, wire.UnknownVerb}
	if v := verbsByName[verb]; v != nil && !slices.Contains(slices.Concat(v.Codes, general), code) {
		t.Errorf("%s answers %s, which its row does not say", verb, code)
	}
}

// human is a verb of the bus by the person.
func (h *testHost) human(verb string, args any) {
	h.t.Helper()
	auth := client.Human(os.Getpid(), h.nonce, "acme")
	if err := client.New(h.status.Sockets.Human, auth).Call(h.t.Context(), verb, args, nil); err != nil {
		h.t.Fatalf("%s: %v", verb, err)
	}
}

// agent launches a role that claims itself and lets the test speak for it: it
// writes its capability to a file, and stays.
type agent struct {
	h   *testHost
	run wire.Run
	cap string
}

func (h *testHost) agent(instance wire.Role) agent {
	h.t.Helper()
	file := filepath.Join(h.project, string(instance)+".cap")
	script := `"$0" agent-call bus role.claim {} && printf %s "$MOSAIC_BUS_CAP" >"$1.new" && mv "$1.new" "$1" && exec sleep 1000`
	launched := do[Launched](h, "launch", LaunchArgs{Instance: instance, Command: []string{"sh", "-c", script, h.self, file}, Dir: h.project})
	var capability []byte
	eventually(h.t, string(instance)+" holds its role", func() (ok bool) {
		var err error
		capability, err = os.ReadFile(file)
		return err == nil
	})
	if err := os.Remove(file); err != nil {
		h.t.Fatal(err)
	}
	return agent{h, launched.Run, string(capability)}
}

func (a agent) call(socket, verb string, args, result any) error {
	a.h.t.Helper()
	return client.New(socket, client.Capability(a.cap), client.Timeout(time.Minute)).Call(a.h.t.Context(), verb, args, result)
}

func (a agent) host(verb string, args, result any) error {
	a.h.t.Helper()
	return a.call(a.h.status.Sockets.Host, verb, args, result)
}

func (a agent) refused(verb string, args any, want *wire.Error) {
	a.h.t.Helper()
	declared(a.h.t, verb, want.Code)
	err := a.host(verb, args, nil)
	var got *wire.Error
	if !errors.As(err, &got) || *got != *want {
		a.h.t.Errorf("%s %v: got %v, want %v", verb, args, err, want)
	}
}

// wait returns the run when it has ended.
func (h *testHost) wait(run wire.Run) RunInfo {
	h.t.Helper()
	info := do[RunInfo](h, "runs.wait", RunWaitArgs{Run: run, TimeoutMs: MaxWaitMs})
	if info.State != launch.StateEnded {
		h.t.Fatalf("run %s is %s\n%s", run, info.State, h.log)
	}
	return info
}

func (h *testHost) output(run wire.Run) string {
	h.t.Helper()
	text, err := os.ReadFile(do[RunInfo](h, "run", RunArgs{run}).Log)
	if err != nil {
		h.t.Fatal(err)
	}
	return string(text)
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never came true: %s", what)
		}
	}
}

// events lists "kind body" of a run's events, oldest first.
func (h *testHost) events(run wire.Run) []string {
	h.t.Helper()
	return h.query(`SELECT kind || ' ' || body FROM events WHERE run = ? ORDER BY seq`, string(run))
}

// query reads the first column of the store's file beside the broker.
func (h *testHost) query(sql string, args ...string) []string {
	h.t.Helper()
	mode := "mode=ro"
	if _, err := os.Lstat(filepath.Join(h.root, busName, lockName)); err != nil {
		mode = "immutable=1" // nobody writes, and files beside it would be in the next host's way
	}
	db, err := sqlite3.Open("file:" + filepath.Join(h.root, busName, "bus.sqlite") + "?" + mode)
	if err != nil {
		h.t.Fatal(err)
	}
	defer db.Close()
	stmt, _, err := db.Prepare(sql)
	if err != nil {
		h.t.Fatal(err)
	}
	defer stmt.Close()
	for i, arg := range args {
		if err := stmt.BindText(i+1, arg); err != nil {
			h.t.Fatal(err)
		}
	}
	var rows []string
	for stmt.Step() {
		rows = append(rows, stmt.ColumnText(0))
	}
	if err := stmt.Err(); err != nil {
		h.t.Fatal(err)
	}
	return rows
}

// syncBuffer is a log that the test reads while the host writes it.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// kinds runs a test without a sandbox, and in one when it works here.
func kinds(t *testing.T, test func(t *testing.T, kind launch.Kind)) {
	t.Helper()
	for _, kind := range []launch.Kind{launch.None, launch.Bubblewrap} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			test(t, kind)
		})
	}
}
