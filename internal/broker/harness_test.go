package broker

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/proc"
	"mosaicstack.dev/mosaic/internal/proc/proctest"
	"mosaicstack.dev/mosaic/internal/wire"
)

// testBroker is a running broker on a real store in a private directory, with
// a synthetic process table in which runs are launched and the person sits at
// a shell.
type testBroker struct {
	*Broker
	t       testing.TB
	root    string
	config  Config
	options Options
	reply   BootReply
	table   *proctest.Table
	nextPID *atomic.Int64
}

// session is someone who can call verbs: what a request of theirs carries, and
// from which socket and process it comes.
type session struct {
	from     socket
	peer     wire.Peer
	proof    wire.Request
	business wire.Business
	role     wire.Role
	run      wire.Run
	record   LaunchRecord // of a run
}

// The processes that every test table starts with.
const (
	initPID  = 1
	loginPID = 800
	shellPID = 900
	shimPID  = 1000
	firstRun = 2000
	shimTick = 5000 // start time of the shim
)

// setup changes what a test broker is started with.
type setup func(*Config, *Options)

// newTestBroker starts a broker for the businesses acme and globex (see
// testBusinesses) and stops it at the end of the test.
func newTestBroker(t testing.TB, changes ...setup) *testBroker {
	t.Helper()
	tb := prepareTestBroker(t, changes...)
	tb.start()
	return tb
}

// prepareTestBroker makes everything that a broker needs and starts none.
func prepareTestBroker(t testing.TB, changes ...setup) *testBroker {
	t.Helper()
	root := testRoot(t)
	shim := filepath.Join(t.TempDir(), "mosaic")
	if err := os.WriteFile(shim, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	file, err := executable(shim)
	if err != nil {
		t.Fatal(err)
	}
	tb := &testBroker{t: t, root: root, table: testTable(file), nextPID: new(atomic.Int64)}
	tb.nextPID.Store(firstRun)
	tb.config = Config{DataRoot: root, Businesses: testBusinesses(), Readers: []wire.Business{"acme"}}
	tb.options = Options{Processes: tb.table, Executable: shim}
	for _, change := range changes {
		change(&tb.config, &tb.options)
	}
	return tb
}

// testRoot makes a data root with an empty store.
func testRoot(t testing.TB) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "root")
	for _, dir := range []string{root, BusDirectory(root)} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	store, err := emptyStore()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(StorePath(root), store, 0o600); err != nil {
		t.Fatal(err)
	}
	return root
}

// emptyStore is the file of a new store, made once: a test that needs one of
// its own gets a copy.
var emptyStore = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "mosaic-broker")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, storeName)
	if err := evidence.Create(context.Background(), path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// testNonce is the nonce of the test's shim.
var testNonce = newNonce()

func newNonce() string {
	var b [32]byte
	rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// testTable is a machine on which a person has logged in and runs the shim.
func testTable(shim proc.File) *proctest.Table { return proctest.New(testProcesses(shim)) }

func testProcesses(shim proc.File) map[int]proctest.Process {
	uid := os.Geteuid()
	return map[int]proctest.Process{
		initPID:  {Start: 1, Command: "init", Args: []string{"/sbin/init"}},
		loginPID: {Parent: initPID, Start: 100, Command: "login", Args: []string{"/bin/login", "--"}, UID: uid},
		shellPID: {Parent: loginPID, Start: 200, Command: "bash", Args: []string{"-bash"}, UID: uid, Env: []string{"HOME=/home/dana"}},
		shimPID: {
			Parent: shellPID, Start: shimTick, Command: "mosaic", UID: uid, Exe: shim,
			Args: []string{"mosaic", "inbox"}, Env: []string{"HOME=/home/dana", HumanNonceVar + "=" + testNonce},
		},
	}
}

// start starts the broker and fails the test when it refuses.
func (tb *testBroker) start() {
	tb.t.Helper()
	broker, reply, err := Start(tb.t.Context(), tb.config, tb.options)
	if err != nil {
		tb.t.Fatalf("start: %v", err)
	}
	tb.Broker, tb.reply = broker, reply
	tb.t.Cleanup(func() {
		if err := broker.Close(); err != nil {
			tb.t.Errorf("close: %v", err)
		}
	})
}

// restart closes the broker and starts it again on the same root. Runs have to
// be bound again, with rebind.
func (tb *testBroker) restart() {
	tb.t.Helper()
	if err := tb.Close(); err != nil {
		tb.t.Fatalf("close: %v", err)
	}
	tb.start()
}

// record is a launch record for a new process of the test's table.
func (tb *testBroker) record(business wire.Business, role wire.Role) LaunchRecord {
	pid := int(tb.nextPID.Add(1))
	tb.table.Set(pid, proctest.Process{Parent: initPID, Start: uint64(pid) * 10, UID: os.Geteuid(), Command: "agent"})
	return LaunchRecord{
		Business: business, Role: role, Run: newRun(), Harness: "exec", PID: pid, StartTime: uint64(pid) * 10,
	}
}

func newRun() wire.Run { return wire.Run(uuid.Must(uuid.NewV7()).String()) }

// launch binds a new run of acme's role. It holds nothing yet.
func (tb *testBroker) launch(role wire.Role) session {
	tb.t.Helper()
	return tb.bound(tb.record("acme", role))
}

// rebind binds the session's run again, as a host does after a restart.
func (tb *testBroker) rebind(s session) session {
	tb.t.Helper()
	return tb.bound(s.record)
}

func (tb *testBroker) bound(r LaunchRecord) session {
	tb.t.Helper()
	launch, err := tb.BindLaunch(tb.t.Context(), r)
	if err != nil {
		tb.t.Fatalf("bind %s: %v", r.Role, err)
	}
	return session{
		from: busSocket, peer: wire.Peer{PID: r.PID, UID: os.Geteuid()}, proof: wire.Request{Cap: launch.Cap},
		business: r.Business, role: r.Role, run: r.Run, record: r,
	}
}

// holder binds a new run of acme's role and lets it claim the role.
func (tb *testBroker) holder(role wire.Role) session {
	tb.t.Helper()
	return tb.holderOf("acme", role)
}

// holderOf is holder for a role of another business.
func (tb *testBroker) holderOf(business wire.Business, role wire.Role) session {
	tb.t.Helper()
	s := tb.bound(tb.record(business, role))
	tb.do(s, "role.claim", nil)
	return s
}

// human is acme's person at the test's shell.
func (tb *testBroker) human() session { return tb.humanOf("acme") }

func (tb *testBroker) humanOf(business wire.Business) session {
	return session{
		from: humanSocket, peer: wire.Peer{PID: shimPID, UID: os.Geteuid()},
		proof:    wire.Request{Human: &wire.Proof{PID: shimPID, Nonce: testNonce}, Business: business},
		business: business, role: wire.HumanRole, run: wire.HumanRun,
	}
}

// reader is the reader of the first business in the configuration's list.
func (tb *testBroker) reader() session {
	return session{
		from: busSocket, peer: wire.Peer{PID: shellPID, UID: os.Geteuid()},
		proof: wire.Request{Cap: tb.reply.Readers[0].Cap}, business: tb.reply.Readers[0].Business,
	}
}

// call sends a verb down the path of the socket, from the request line to the
// reply's result. args is anything that encodes to JSON, or json.RawMessage,
// or nil for none.
func (tb *testBroker) call(s session, verb string, args any) (json.RawMessage, error) {
	tb.t.Helper()
	request := s.proof
	request.Verb = verb
	if args != nil {
		encoded, err := json.Marshal(args)
		if err != nil {
			tb.t.Fatal(err)
		}
		request.Args = encoded
	}
	line, err := wire.Encode(request)
	if err != nil {
		tb.t.Fatal(err)
	}
	parsed, err := wire.ParseRequest(line)
	if err != nil {
		return nil, err
	}
	result, err := tb.answer(tb.t.Context(), s.from, s.peer, parsed)
	if err != nil {
		refusalsGiven.note(verb, err)
		return nil, err
	}
	reply, err := wire.Encode(result)
	if err != nil {
		tb.t.Fatalf("%s: result: %v", verb, err)
	}
	return reply, nil
}

// do calls a verb that must succeed.
func (tb *testBroker) do(s session, verb string, args any) json.RawMessage {
	tb.t.Helper()
	result, err := tb.call(s, verb, args)
	if err != nil {
		tb.t.Fatalf("%s %s: %v", s.role, verb, err)
	}
	return result
}

// get calls a verb that must succeed and decodes its result.
func get[T any](tb *testBroker, s session, verb string, args any) T {
	tb.t.Helper()
	var v T
	if err := json.Unmarshal(tb.do(s, verb, args), &v); err != nil {
		tb.t.Fatalf("%s: result: %v", verb, err)
	}
	return v
}

// refused calls a verb that must be refused with this code, and returns the
// refusal.
func (tb *testBroker) refused(s session, verb string, args any, code wire.Code) *wire.Error {
	tb.t.Helper()
	result, err := tb.call(s, verb, args)
	return refusedWith(tb.t, verb, result, err, code)
}

func refusedWith(t testing.TB, what string, result any, err error, code wire.Code) *wire.Error {
	t.Helper()
	var refusal *wire.Error
	if !errors.As(err, &refusal) {
		t.Fatalf("%s: got %v, %v, want %s", what, result, err, code)
	}
	if refusal.Code != code {
		t.Fatalf("%s: got %v, want %s", what, refusal, code)
	}
	return refusal
}

// refusals returns the action.refused events of a run ("" for none), oldest
// first.
func (tb *testBroker) refusals(run wire.Run) []refusalEvent {
	tb.t.Helper()
	var events []refusalEvent
	for _, row := range tb.query(`SELECT subject, body FROM events WHERE kind = 'action.refused' AND coalesce(run, '') = ? ORDER BY seq`, string(run)) {
		var e refusalEvent
		if err := json.Unmarshal([]byte(row[1]), &e); err != nil {
			tb.t.Fatal(err)
		}
		e.Subject = row[0]
		events = append(events, e)
	}
	return events
}

// refusalEvent is an action.refused event; a null verb or subject is "".
type refusalEvent struct {
	Verb    string    `json:"verb"`
	Code    wire.Code `json:"code"`
	Subject string    `json:"-"`
}

// query reads the store's file beside the broker, as text; NULL is "".
func (tb *testBroker) query(sql string, args ...string) [][]string {
	tb.t.Helper()
	return queryStore(tb.t, tb.root, sql, args...)
}

func queryStore(t testing.TB, root, sql string, args ...string) [][]string {
	t.Helper()
	db, err := sqlite3.Open("file:" + filepath.Join(root, busName, storeName) + "?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.BusyTimeout(5 * time.Second); err != nil {
		t.Fatal(err)
	}
	stmt, _, err := db.Prepare(sql)
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Close()
	for i, arg := range args {
		if err := stmt.BindText(i+1, arg); err != nil {
			t.Fatal(err)
		}
	}
	var rows [][]string
	for stmt.Step() {
		row := make([]string, stmt.ColumnCount())
		for i := range row {
			row[i] = stmt.ColumnText(i)
		}
		rows = append(rows, row)
	}
	if err := stmt.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

// testBusinesses are the team that mosaic init writes, and a second business
// whose ids must never be found from the first.
func testBusinesses() map[wire.Business]Business {
	return map[wire.Business]Business{
		"acme": {
			ID: "acme", Human: "Dana",
			Arbiters: Arbiters{Technical: "cto", Delivery: "pm"},
			Roles: map[wire.Role]Role{
				"chief": testRole("chief-of-staff", []string{"message.send", "role.end", "role.launch", "organization.change", "routine"}, nil),
				"cto":   testRole("cto", []string{"message.send", "routine"}, nil),
				"pm":    testRole("pm", []string{"message.send", "task.create", "routine"}, nil),
				"dev":   testRole("developer", []string{"message.send", "git.push.working", "routine"}, []string{"git.merge.protected"}),
				"rev":   testRole("reviewer", []string{"message.send", "review.verdict", "routine"}, nil),
				"desk":  testRole("assistant", []string{"message.send"}, nil),
			},
			Launch: &Launch{By: "chief", Instances: []wire.Role{"cto", "pm", "dev", "rev"}},
		},
		"globex": {
			ID: "globex", Human: "Sam",
			Roles: map[wire.Role]Role{
				"chief": testRole("chief-of-staff", []string{"message.send", "role.end"}, nil),
				"dev":   testRole("developer", []string{"message.send"}, nil),
			},
		},
	}
}

func testRole(definition string, withinRole, crossRole []string) Role {
	return Role{Definition: definition, Authority: &Authority{WithinRole: withinRole, CrossRole: crossRole}}
}
