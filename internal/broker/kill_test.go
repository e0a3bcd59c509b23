package broker

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"mosaicstack.dev/mosaic/client"
	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/proc"
	"mosaicstack.dev/mosaic/internal/wire"
)

// controlChild makes the test binary what `mosaic bus serve --control-fd 3` is:
// a broker under a host at descriptor 3.
const controlChild = "MOSAIC_TEST_CONTROL_CHILD"

// fileLimit is the largest file, in bytes, that a child may write; unset means
// no limit.
const fileLimit = "MOSAIC_TEST_FILE_LIMIT"

func runChild() int {
	if limit, err := strconv.ParseUint(os.Getenv(fileLimit), 10, 64); err == nil {
		signal.Ignore(unix.SIGXFSZ) // a write over the limit fails with EFBIG instead
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return 1
		}
	}
	conn, err := net.FileConn(os.NewFile(3, "control"))
	if err != nil {
		return 1
	}
	return ServeControl(context.Background(), conn, Options{})
}

// child is a broker in a process of its own.
type child struct {
	process *exec.Cmd
	conn    net.Conn
	lines   *bufio.Reader
	caps    map[wire.Run]wire.Capability
	path    string
}

// startChild boots a broker in a process with this environment beside its own.
func startChild(t *testing.T, config Config, environ ...string) *child {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "host"), os.NewFile(uintptr(fds[1]), "broker")
	defer ours.Close()
	defer theirs.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		t.Fatal(err)
	}
	process := exec.Command(os.Args[0])
	process.Env = append(append(os.Environ(), controlChild+"=1"), environ...)
	process.ExtraFiles = []*os.File{theirs}
	process.Stderr = os.Stderr
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{process: process, conn: conn, lines: bufio.NewReader(conn), caps: map[wire.Run]wire.Capability{}}
	t.Cleanup(c.kill)
	encoded, err := wire.Encode(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, `{"op":"boot","config":%s}`+"\n", encoded); err != nil {
		t.Fatal(err)
	}
	line, err := c.lines.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var reply struct {
		bootAnswer
		Error wire.Code
	}
	if err := json.Unmarshal(line, &reply); err != nil || !reply.OK {
		t.Fatalf("boot: %s, %v", line, err)
	}
	for _, l := range reply.Launches {
		c.caps[l.Run] = l.Cap
	}
	c.path = reply.Path
	return c
}

// kill ends the child without a chance to do anything, and waits for its end.
func (c *child) kill() {
	if c.process.ProcessState == nil {
		_ = c.process.Process.Kill()
		_ = c.process.Wait()
	}
	_ = c.conn.Close()
}

// Brokers in real processes are killed at random moments while several runs
// send. Whatever was acknowledged is in the store afterwards, whole: the
// message, the evidence of its authority and its routing. Whatever was not
// acknowledged is there whole or not at all. Each time the stale lock refuses
// the next start until it is cleared.
//
// proves: BUS-BOOT-54 BUS-BOOT-55 BUS-TESTS-05 BUS-TESTS-09 BUS-SCHEMA-16 BUS-BOOT-57 BUS-CTL-10
func TestKilledBrokersLoseNothing(t *testing.T) {
	t.Parallel()
	kills := 25
	if os.Getenv("MOSAIC_LONG") != "" {
		kills = 220
	}
	self, err := proc.Self()
	if err != nil {
		t.Fatal(err)
	}
	root := testRoot(t)
	config := Config{DataRoot: root, Businesses: testBusinesses()}
	roles := []wire.Role{"chief", "cto", "pm", "dev", "rev"}
	for _, role := range roles {
		config.Launches = append(config.Launches, LaunchRecord{
			Business: "acme", Role: role, Run: newRun(), Harness: "exec", PID: self.PID, StartTime: self.Start,
		})
	}
	acknowledged := map[wire.MessageID]string{}
	busy := 0
	for n := range kills {
		c := startChild(t, config)
		killed := c.load(t, config.Launches, n, acknowledged)
		if killed > 0 {
			busy++
		}
		_, _, err := Start(t.Context(), config, Options{})
		refusedWith(t, "start over a stale lock", nil, err, wire.WriterLocked)
		if _, err := evidence.Unlock(filepath.Join(root, busName, lockName), []string{filepath.Join(c.path, busSocketName), filepath.Join(c.path, humanSocketName)}); err != nil {
			t.Fatal(err)
		}
	}
	if busy < kills/2 {
		t.Errorf("only %d of %d kills met a busy broker", busy, kills)
	}
	// One more start runs the store's checks, and a close leaves it clean.
	b, _, err := Start(t.Context(), config, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	checkSent(t, root, acknowledged, kills*len(roles))
}

// load lets every run send until the broker is killed, adds what was
// acknowledged, and returns how many calls were cut off.
func (c *child) load(t *testing.T, launches []LaunchRecord, round int, acknowledged map[wire.MessageID]string) (cutOff int) {
	t.Helper()
	var mu sync.Mutex
	var senders sync.WaitGroup
	ready := make(chan struct{}, len(launches))
	for i, l := range launches {
		senders.Go(func() {
			bus := client.New(filepath.Join(c.path, busSocketName), client.Capability(string(c.caps[l.Run])), client.KeepOpen())
			defer bus.Close()
			err := bus.Call(t.Context(), "role.claim", nil, nil)
			ready <- struct{}{}
			to := launches[(i+1)%len(launches)].Role
			for n := 0; err == nil; n++ {
				body := fmt.Sprintf("%s %d/%d", l.Role, round, n)
				var result sent
				if err = bus.Call(t.Context(), "message.send", map[string]any{"to": to, "body": body}, &result); err == nil {
					mu.Lock()
					acknowledged[result.ID] = body
					mu.Unlock()
				}
			}
			mu.Lock()
			defer mu.Unlock()
			switch client.CodeOf(err) {
			case client.OutcomeUnknown:
				cutOff++
			case client.Unavailable:
			default:
				t.Errorf("%s: %v", l.Role, err)
			}
		})
	}
	for range launches {
		<-ready
	}
	time.Sleep(time.Duration(rand.IntN(100_000)) * time.Microsecond) // the random moment
	if err := c.process.Process.Signal(syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	_ = c.process.Wait()
	senders.Wait()
	return cutOff
}

// checkSent compares the store with what was acknowledged. Each call that was
// cut off may have added one message more.
func checkSent(t *testing.T, root string, acknowledged map[wire.MessageID]string, most int) {
	t.Helper()
	stored := map[wire.MessageID]string{}
	for _, row := range queryStore(t, root, `SELECT id, body FROM messages`) {
		stored[wire.MessageID(row[0])] = row[1]
	}
	surplus := len(stored) - len(acknowledged)
	if surplus < 0 || surplus > most {
		t.Errorf("%d messages for %d acknowledged", len(stored), len(acknowledged))
	}
	maps.DeleteFunc(stored, func(id wire.MessageID, _ string) bool {
		_, known := acknowledged[id]
		return !known
	})
	if diff := cmp.Diff(acknowledged, stored); diff != "" {
		t.Errorf("acknowledged messages in the store (-want +got):\n%.2000s", diff)
	}
	for what, sql := range map[string]string{
		"messages without the evidence of their authority": `SELECT id FROM messages WHERE id NOT IN (
			SELECT body ->> 'message' FROM events WHERE kind = 'action.allowed')`,
		"authority without a message": `SELECT id FROM events WHERE kind = 'action.allowed' AND body ->> 'message' NOT IN (SELECT id FROM messages)`,
		"messages of no or several routings": `SELECT m.id, count(d.seq) AS n FROM messages m
			LEFT JOIN deliveries d ON d.message = m.id AND d.state = 'routed' GROUP BY m.id HAVING n <> 1`,
		"bodies that were sent twice": `SELECT body FROM messages GROUP BY body HAVING count(*) > 1`,
	} {
		if rows := queryStore(t, root, sql); len(rows) != 0 {
			t.Errorf("%s: %d, such as %v", what, len(rows), rows[0])
		}
	}
	t.Logf("%d messages acknowledged, %d of those cut off are there too", len(acknowledged), surplus)
}

// A broker in a process of its own ends with the exit code that its host and
// its operator can tell apart.
//
// proves: BUS-BOOT-27 BUS-BOOT-49 BUS-TESTS-05
func TestARealChildEndsWithItsChannel(t *testing.T) {
	t.Parallel()
	root := testRoot(t)
	config := Config{DataRoot: root, Businesses: testBusinesses()}
	for _, c := range []struct {
		end  func(*child)
		exit int
	}{
		{func(c *child) { fmt.Fprintln(c.conn, `{"op":"close"}`) }, 0},
		{func(c *child) { c.conn.Close() }, 2},
		{func(c *child) { fmt.Fprintln(c.conn, `nonsense`) }, 2},
	} {
		broker := startChild(t, config)
		c.end(broker)
		_ = broker.process.Wait()
		if got := broker.process.ProcessState.ExitCode(); got != c.exit {
			t.Errorf("exit %d, want %d", got, c.exit)
		}
		broker.conn.Close()
	}
}

// A store that can no longer write to its file, and so does not know what is in
// it, stops the broker: it says why, ends with exit 2 and gives its lock back.
// What it acknowledged before is there at the next start.
func TestAFailedStoreStopsTheBroker(t *testing.T) {
	t.Parallel()
	self, err := proc.Self()
	if err != nil {
		t.Fatal(err)
	}
	root := testRoot(t)
	launch := LaunchRecord{Business: "acme", Role: "dev", Run: newRun(), Harness: "exec", PID: self.PID, StartTime: self.Start}
	config := Config{DataRoot: root, Businesses: testBusinesses(), Launches: []LaunchRecord{launch}}
	store, err := os.Stat(filepath.Join(root, busName, storeName))
	if err != nil {
		t.Fatal(err)
	}
	c := startChild(t, config, fmt.Sprintf("%s=%d", fileLimit, store.Size()+64<<10))
	bus := client.New(filepath.Join(c.path, busSocketName), client.Capability(string(c.caps[launch.Run])))
	if err := bus.Call(t.Context(), "role.claim", nil, nil); err != nil {
		t.Fatal(err)
	}
	acknowledged := map[wire.MessageID]string{}
	for err == nil {
		body := fmt.Sprintf("%d %s", len(acknowledged), strings.Repeat("x", 8<<10))
		var result sent
		if err = bus.Call(t.Context(), "message.send", map[string]any{"to": "human", "body": body}, &result); err == nil {
			acknowledged[result.ID] = body
		}
	}
	if code := client.CodeOf(err); code != wire.StorageUnavailable || len(acknowledged) == 0 {
		t.Errorf("after %d messages: %v", len(acknowledged), err)
	}
	if line, err := c.lines.ReadString('\n'); err != nil || line != `{"ok":false,"error":"store-failed"}`+"\n" {
		t.Errorf("the channel says %q, %v", line, err)
	}
	_ = c.process.Wait()
	if got := c.process.ProcessState.ExitCode(); got != exitFailed {
		t.Errorf("exit %d", got)
	}
	again := startChild(t, config)
	fmt.Fprintln(again.conn, `{"op":"close"}`)
	_ = again.process.Wait()
	for id, body := range acknowledged {
		if rows := queryStore(t, root, `SELECT body FROM messages WHERE id = ?`, string(id)); len(rows) != 1 || rows[0][0] != body {
			t.Errorf("message %s is lost", id)
		}
	}
}
