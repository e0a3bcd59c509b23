package broker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"mosaicstack.dev/mosaic/internal/wire"
)

// controlHost is a host at its end of a control channel.
type controlHost struct {
	t     *testing.T
	tb    *testBroker // holds what the broker is started with, and is not started
	conn  net.Conn
	lines *bufio.Scanner
	stop  context.CancelFunc // as SIGTERM does
	exit  chan int
}

// newControlHost runs ServeControl at the other end of a socket pair.
func newControlHost(t *testing.T) *controlHost {
	t.Helper()
	tb := prepareTestBroker(t)
	ours, theirs := socketPair(t)
	ctx, stop := context.WithCancel(t.Context())
	h := &controlHost{t: t, tb: tb, conn: ours, lines: bufio.NewScanner(ours), stop: stop, exit: make(chan int, 1)}
	h.lines.Buffer(nil, 4<<20)
	go func() { h.exit <- ServeControl(ctx, theirs, tb.options) }()
	t.Cleanup(func() {
		stop()
		ours.Close()
	})
	return h
}

func socketPair(t *testing.T) (ours, theirs net.Conn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var conns [2]net.Conn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "control")
		if conns[i], err = net.FileConn(f); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	return conns[0], conns[1]
}

// write sends text as it is.
func (h *controlHost) write(text string) {
	h.t.Helper()
	if _, err := io.WriteString(h.conn, text); err != nil {
		h.t.Fatal(err)
	}
}

// read returns the next reply as written.
func (h *controlHost) read() string {
	h.t.Helper()
	if !h.lines.Scan() {
		h.t.Fatalf("no reply: %v", h.lines.Err())
	}
	return h.lines.Text()
}

// ask sends one request and returns its reply.
func (h *controlHost) ask(request any) string {
	h.t.Helper()
	line, err := json.Marshal(request)
	if err != nil {
		h.t.Fatal(err)
	}
	h.write(string(line) + "\n")
	return h.read()
}

type fields = map[string]any

// boot boots the broker and returns the reply.
func (h *controlHost) boot() bootAnswer {
	h.t.Helper()
	return decodeReply[bootAnswer](h.t, h.ask(fields{"op": "boot", "config": h.config()}))
}

// config is the boot message's config as another program would write it.
func (h *controlHost) config() json.RawMessage {
	h.t.Helper()
	config, err := wire.Encode(h.tb.config)
	if err != nil {
		h.t.Fatal(err)
	}
	return config
}

func decodeReply[T any](t *testing.T, line string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(line), &v); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return v
}

// ends waits for the exit code, and checks that the broker has given back its
// lock and sockets and that nothing more is written.
func (h *controlHost) ends(want int) {
	h.t.Helper()
	if got := <-h.exit; got != want {
		h.t.Errorf("exit %d, want %d", got, want)
	}
	if h.lines.Scan() {
		h.t.Errorf("another line: %s", h.lines.Text())
	}
	for _, name := range []string{lockName, busSocketName, humanSocketName} {
		if _, err := os.Lstat(filepath.Join(h.tb.root, busName, name)); !os.IsNotExist(err) {
			h.t.Errorf("%s is left behind (%v)", name, err)
		}
	}
}

// The whole life of a broker under another program.
//
// proves: BUS-BOOT-27 BUS-BOOT-29 BUS-BOOT-38 BUS-BOOT-42 BUS-BOOT-45 BUS-CTL-22 BUS-CTL-45 BUS-CTL-47 BUS-CTL-48
// proves: BUS-CTL-50 BUS-CTL-55 BUS-OPEN-09
func TestTheControlChannel(t *testing.T) {
	t.Parallel()
	h := newControlHost(t)
	booted := h.tb.record("acme", "chief")
	h.tb.config.Launches = []LaunchRecord{booted}
	reply := h.boot()
	if !reply.OK || reply.Path != filepath.Join(h.tb.root, busName) || len(reply.Launches) != 1 || len(reply.Readers) != 1 {
		t.Fatalf("boot %+v", reply)
	}
	if reply.Launches[0].Business != "acme" || reply.Launches[0].Run != booted.Run || reply.Readers[0].Business != "acme" {
		t.Errorf("boot %+v", reply)
	}
	chief := reply.Launches[0].Cap
	h.socket(chief, "role.claim")

	r := h.tb.record("acme", "dev")
	bound := decodeReply[struct {
		OK     bool
		Launch BoundLaunch
		Result *struct{}
	}](t, h.ask(fields{"op": "bindLaunch", "record": r}))
	if !bound.OK || bound.Result != nil || bound.Launch.Run != r.Run || bound.Launch.Business != "acme" || bound.Launch.Cap == "" {
		t.Fatalf("bindLaunch %+v", bound)
	}
	dev := bound.Launch.Cap
	for _, c := range []struct {
		request fields
		want    string
	}{
		{fields{"op": "identity", "cap": dev}, `{"ok":true,"result":{"business":"acme","role":"dev","run":"` + string(r.Run) + `"}}`},
		{fields{"op": "identity", "cap": "x"}, `{"ok":false,"error":"unknown-capability"}`},
		{fields{"op": "authorizeLaunch", "cap": chief, "instance": "dev"}, `{"ok":true,"result":{"authorized":true}}`},
		{fields{"op": "authorizeLaunch", "cap": chief, "instance": "nobody"}, `{"ok":false,"error":"unknown-role","field":"target"}`},
		{fields{"op": "refuse", "cap": dev, "code": "capacity"}, `{"ok":true,"result":{}}`},
		{fields{"op": "refuse", "cap": dev, "code": "capacity", "subject": "queue:1"}, `{"ok":true,"result":{}}`},
		{fields{"op": "refuse", "cap": dev, "code": "nonsense"}, `{"ok":false,"error":"invalid-request","field":"code"}`},
		{fields{"op": "lostRuns"}, `{"ok":true,"result":[]}`},
		{fields{"op": "endLost", "business": "acme", "run": r.Run}, `{"ok":false,"error":"unknown-run"}`},
		{fields{"op": "bindLaunch", "record": fields{"business": "acme"}}, `{"ok":false,"error":"invalid-request","field":"record"}`},
		{fields{"op": "endLaunch", "record": fields{"business": "acme", "run": r.Run, "reason": "exited", "exitCode": 0}}, `{"ok":true,"result":{}}`},
		{fields{"op": "endLaunch", "record": fields{"business": "acme", "run": r.Run, "reason": "exited"}}, `{"ok":false,"error":"run-ended"}`},
		{fields{"op": "bindLaunch", "record": r}, `{"ok":false,"error":"run-ended"}`},
		{fields{"op": "close", "id": 9}, `{"id":9,"ok":true,"result":{}}`},
	} {
		if got := h.ask(c.request); got != c.want {
			t.Errorf("%v\n got %s\nwant %s", c.request, got, c.want)
		}
	}
	h.ends(0)
	got := queryStore(t, h.tb.root, `SELECT kind FROM events WHERE run = ? ORDER BY seq`, string(r.Run))
	want := [][]string{{"session.launched"}, {"action.refused"}, {"action.refused"}, {"session.ended"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// socket calls a verb over the real bus socket.
func (h *controlHost) socket(cap wire.Capability, verb string) {
	h.t.Helper()
	conn, err := net.Dial("unix", filepath.Join(h.tb.root, busName, busSocketName))
	if err != nil {
		h.t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, `{"id":1,"cap":%q,"verb":%q}`+"\n", cap, verb)
	reply, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil || !strings.HasPrefix(reply, `{"id":1,"ok":true`) {
		h.t.Fatalf("%s: %s, %v", verb, reply, err)
	}
}

// The number of a request comes back under the name that it came with, with
// results and refusals alike; a request without one gets none.
//
// proves: BUS-CTL-42 BUS-CTL-43 BUS-CTL-44 BUS-CTL-45 BUS-OPEN-10 BUS-CTL-23 BUS-CTL-24
func TestNumbersOfControlRequests(t *testing.T) {
	t.Parallel()
	h := newControlHost(t)
	h.boot()
	for request, want := range map[string]string{
		`{"op":"lostRuns","id":7}`:                  `{"id":7,"ok":true,"result":[]}`,
		`{"op":"lostRuns","seq":-7}`:                `{"seq":-7,"ok":true,"result":[]}`,
		`{"op":"lostRuns"}`:                         `{"ok":true,"result":[]}`,
		`{"op":"identity","cap":"x","id":0}`:        `{"id":0,"ok":false,"error":"unknown-capability"}`,
		`{"op":"identity","cap":"x","seq":5}`:       `{"seq":5,"ok":false,"error":"unknown-capability"}`,
		`{"op":"lostRuns","id":9007199254740991}`:   `{"id":9007199254740991,"ok":true,"result":[]}`,
		`{"op":"lostRuns","id":9007199254740992}`:   `{"ok":false,"error":"invalid-request","field":"id"}`,
		`{"op":"lostRuns","seq":-9007199254740992}`: `{"ok":false,"error":"invalid-request","field":"seq"}`,
		`{"op":"lostRuns","id":1.5}`:                `{"ok":false,"error":"invalid-request","field":"id"}`,
		`{"op":"lostRuns","id":"1"}`:                `{"ok":false,"error":"invalid-request","field":"id"}`,
		`{"op":"lostRuns","id":null}`:               `{"ok":false,"error":"invalid-request","field":"id"}`,
		`{"op":"lostRuns","id":1,"seq":1}`:          `{"ok":false,"error":"invalid-request","field":"seq"}`,
		`{"op":"close","id":1,"seq":1}`:             `{"ok":false,"error":"invalid-request","field":"seq"}`,
		`{"op":"close","id":3,"x":1}`:               `{"id":3,"ok":false,"error":"invalid-request","field":"x"}`,
		`{"op":"agents","id":3}`:                    `{"id":3,"ok":false,"error":"invalid-request","field":"op"}`,
		`{"op":"lostRuns","x":1,"id":3}`:            `{"id":3,"ok":false,"error":"invalid-request","field":"x"}`,
		`{"op":"identity","id":3}`:                  `{"id":3,"ok":false,"error":"invalid-request","field":"cap"}`,
		`{"op":"identity","cap":1,"id":3}`:          `{"id":3,"ok":false,"error":"invalid-request","field":"cap"}`,
		// What runs gave the host to forward cannot end the broker.
		`{"op":"identity","id":3,"cap":"a\u0000"}`:                                                                           `{"id":3,"ok":false,"error":"invalid-request","field":"cap"}`,
		`{"op":"identity","seq":3,"cap":"\ud800"}`:                                                                           `{"seq":3,"ok":false,"error":"invalid-request","field":"cap"}`,
		"{\"op\":\"identity\",\"id\":3,\"cap\":\"\xff\"}":                                                                    `{"id":3,"ok":false,"error":"invalid-request"}`,
		`{"op":"refuse","id":3,"cap":"x","code":"capacity","subject":"\u0000"}`:                                              `{"id":3,"ok":false,"error":"invalid-request","field":"subject"}`,
		`{"op":"endLaunch","id":3,"record":{"business":"acme","run":"x","reason":"exited","exitCode":99999999999999999999}}`: `{"id":3,"ok":false,"error":"invalid-request","field":"record"}`,
		`{"op":"bindLaunch","record":[],"seq":3}`:                                                                            `{"seq":3,"ok":false,"error":"invalid-request","field":"record"}`,
		`{"op":"endLaunch","record":{"business":"acme","run":"x","reason":"exited","exitCode":null},"id":3}`:                 `{"id":3,"ok":false,"error":"invalid-request","field":"record"}`,
	} {
		h.write(request + "\n")
		if got := h.read(); got != want {
			t.Errorf("%s\n got %s\nwant %s", request, got, want)
		}
	}
}

// Requests sent together are each answered once, in whatever order.
//
// proves: BUS-CTL-45
func TestPipelinedControlRequests(t *testing.T) {
	t.Parallel()
	h := newControlHost(t)
	h.boot()
	var text strings.Builder
	const n = 300
	for i := range n {
		fmt.Fprintf(&text, `{"op":"lostRuns","id":%d}`+"\n", i)
	}
	text.WriteString(`{"op":"close","seq":1}` + "\n")
	go io.WriteString(h.conn, text.String())
	seen := map[string]bool{}
	for range n {
		seen[h.read()] = true
	}
	if len(seen) != n {
		t.Errorf("%d different replies, want %d", len(seen), n)
	}
	if got := h.read(); got != `{"seq":1,"ok":true,"result":{}}` {
		t.Errorf("close: %s", got)
	}
	h.ends(0)
}

// What ends a broker that its host did not ask to close, before and after the
// boot. Its files are given back each time, and only codes are written.
//
// proves: BUS-BOOT-28 BUS-BOOT-46 BUS-BOOT-47 BUS-BOOT-49 BUS-BOOT-50 BUS-BOOT-51 BUS-BOOT-52
func TestTheEndsOfAControlChannel(t *testing.T) {
	t.Parallel()
	const failed = `{"ok":false,"error":"protocol-failed"}`
	hangUp := func(h *controlHost) { h.conn.(*net.UnixConn).CloseWrite() }
	for name, c := range map[string]struct {
		booted bool
		do     func(h *controlHost)
		last   string // the last line written, or ""
		exit   int
	}{
		"a second boot": {true, func(h *controlHost) {
			h.write(`{"op":"boot","config":` + string(h.config()) + `}` + "\n")
		}, failed, 2},
		"a second boot that is malformed": {true, func(h *controlHost) { h.write(`{"op":"boot"}` + "\n") }, failed, 2},
		"a line that is no JSON":          {true, func(h *controlHost) { h.write("hello\n") }, failed, 2},
		"an empty line":                   {true, func(h *controlHost) { h.write("\n") }, failed, 2},
		"a list":                          {true, func(h *controlHost) { h.write("[]\n") }, failed, 2},
		"a request without op":            {true, func(h *controlHost) { h.write(`{"id":1}` + "\n") }, failed, 2},
		"an op that is a number":          {true, func(h *controlHost) { h.write(`{"op":1}` + "\n") }, failed, 2},
		"a key twice":                     {true, func(h *controlHost) { h.write(`{"op":"close","op":"close"}` + "\n") }, failed, 2},
		"invalid UTF-8":                   {true, func(h *controlHost) { h.write("{\"op\":\"\xff\"}\n") }, failed, 2},
		"a line over the limit": {true, func(h *controlHost) {
			go io.WriteString(h.conn, `{"op":"`+strings.Repeat("x", maxControlLine)+`"}`+"\n")
		}, failed, 2},
		"a lost channel":             {true, hangUp, "", 2},
		"half a line":                {true, func(h *controlHost) { h.write(`{"op":"clo`); hangUp(h) }, "", 2},
		"a signal":                   {true, func(h *controlHost) { h.stop() }, "", 0},
		"a signal before the boot":   {false, func(h *controlHost) { h.stop() }, "", 0},
		"a channel lost before boot": {false, hangUp, "", 2},
		"another op before boot":     {false, func(h *controlHost) { h.write(`{"op":"lostRuns"}` + "\n") }, failed, 2},
		"a close before boot":        {false, func(h *controlHost) { h.write(`{"op":"close","id":4}` + "\n") }, `{"id":4,"ok":false,"error":"protocol-failed"}`, 2},
		"a boot without config":      {false, func(h *controlHost) { h.write(`{"op":"boot"}` + "\n") }, failed, 2},
		"a boot with more than config": {false, func(h *controlHost) {
			h.write(`{"op":"boot","config":` + string(h.config()) + `,"x":1}` + "\n")
		}, failed, 2},
		"a config with an unknown key": {false, func(h *controlHost) {
			h.write(`{"op":"boot","seq":1,"config":{"x":1,` + string(h.config())[1:] + "}\n")
		}, `{"seq":1,"ok":false,"error":"invalid-config"}`, 2},
		"a config with a key in another spelling": {false, func(h *controlHost) {
			h.write(`{"op":"boot","config":` + strings.Replace(string(h.config()), `"dataRoot"`, `"dataroot"`, 1) + "}\n")
		}, `{"ok":false,"error":"invalid-config"}`, 2},
		"a role without an authority map": {false, func(h *controlHost) {
			h.write(`{"op":"boot","config":{"dataRoot":"` + h.tb.root + `","businesses":{"acme":{"id":"acme","human":"Dana",` +
				`"arbiters":{"technical":"","delivery":""},"roles":{"dev":{"definition":"developer"}}}},` +
				`"launches":[],"readers":[],"repoRoots":[]}}` + "\n")
		}, `{"ok":false,"error":"invalid-config"}`, 2},
		"a refused start": {false, func(h *controlHost) {
			h.tb.config.DataRoot += "/missing"
			h.write(`{"op":"boot","id":8,"config":` + string(h.config()) + "}\n")
		}, `{"id":8,"ok":false,"error":"data-root-missing"}`, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newControlHost(t)
			if c.booted {
				h.boot()
			}
			c.do(h)
			if c.last != "" {
				if got := h.read(); got != c.last {
					t.Errorf("got %s, want %s", got, c.last)
				}
			}
			h.ends(c.exit)
		})
	}
}

// A host that leaves a reply unread for too long is lost, and not waited for.
//
// proves: BUS-BOOT-49
func TestAHostThatDoesNotReadIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer ours.Close()
		defer theirs.Close()
		c := &channel{conn: theirs, lines: bufio.NewReader(theirs)}
		begun := time.Now()
		c.send(controlReply{OK: true})
		if waited := time.Since(begun); waited != writeTimeout {
			t.Errorf("waited %v", waited)
		}
		if _, err := c.next(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the next read gives %v", err)
		}
		if exit, last := c.ended(t.Context(), os.ErrDeadlineExceeded); exit != exitFailed || last != nil {
			t.Errorf("exit %d, last line %v", exit, last)
		}
	})
}

// The boot message in the shape that another program writes by hand.
//
// proves: BUS-BOOT-29 BUS-BOOT-30 BUS-BOOT-31 BUS-BOOT-32 BUS-BOOT-39
func TestABootMessageWrittenByHand(t *testing.T) {
	t.Parallel()
	h := newControlHost(t)
	r := h.tb.record("acme", "dev")
	h.write(`{"op":"boot","config":{"dataRoot":"` + h.tb.root + `","businesses":{"acme":{"id":"acme","human":"Dana",` +
		`"arbiters":{"technical":"dev","delivery":""},"roles":{"dev":{"definition":"developer",` +
		`"authority":{"withinRole":[],"crossRole":[]},"credentials":{"gitea":{"file":"/secret/token"}}}}}},` +
		`"launches":[{"business":"acme","role":"dev","run":"` + string(r.Run) + `","harness":"exec","pid":` +
		fmt.Sprintf(`%d,"startTime":%d}],"readers":["acme"],"repoRoots":["/src"]}}`, r.PID, r.StartTime) + "\n")
	reply := decodeReply[bootAnswer](t, h.read())
	if !reply.OK || len(reply.Launches) != 1 || len(reply.Readers) != 1 {
		t.Fatalf("boot %+v", reply)
	}
	h.socket(reply.Launches[0].Cap, "role.claim")
	// Empty maps grant nothing: even a message needs an approval.
	conn, err := net.Dial("unix", filepath.Join(reply.Path, busSocketName))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, `{"cap":%q,"verb":"message.send","args":{"to":"human","body":"hello"}}`+"\n", reply.Launches[0].Cap)
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || line != `{"ok":false,"error":"decision-required"}`+"\n" {
		t.Errorf("a send without any grant: %s, %v", line, err)
	}
	h.stop()
	h.ends(0)
}
