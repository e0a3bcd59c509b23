package broker

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"mosaicstack.dev/mosaic/internal/corpus"
	"mosaicstack.dev/mosaic/internal/wire"
)

// line is a connection to bus.sock on which a test writes bytes as they are.
type line struct {
	t     *testing.T
	conn  net.Conn
	lines *bufio.Reader
}

func dialBus(t *testing.T, tb *testBroker) *line {
	t.Helper()
	conn, err := net.Dial("unix", filepath.Join(tb.reply.Path, busSocketName))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &line{t, conn, bufio.NewReaderSize(conn, wire.MaxReply)}
}

// exchange sends one request line and returns the reply.
func (l *line) exchange(request string) wire.Reply {
	l.t.Helper()
	if _, err := l.conn.Write([]byte(request + "\n")); err != nil {
		l.t.Fatal(err)
	}
	text, err := l.lines.ReadBytes('\n')
	if err != nil {
		l.t.Fatalf("%.200q: no reply: %v", request, err)
	}
	if bytes.ContainsFunc(text[:len(text)-1], func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' }) {
		l.t.Errorf("a reply holds a raw control character: %q", text)
	}
	var reply wire.Reply
	if err := json.Unmarshal(text, &reply); err != nil {
		l.t.Fatalf("reply %q: %v", text, err)
	}
	return reply
}

// Hostile text goes through the socket and the store and comes back as it was,
// or is refused; it never ends a line, a string or the broker.
func TestHostileTextThroughTheSocket(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	pm, dev := tb.holder("pm"), tb.holder("dev")
	l := dialBus(t, tb)
	for _, c := range corpus.Strings(t) {
		request := fmt.Sprintf(`{"id":1,"cap":%q,"verb":"message.send","args":{"to":"dev","body":%s}}`, pm.proof.Cap, rawString(c.Text))
		reply := l.exchange(request)
		valid := utf8.ValidString(c.Text) && c.Text != "" && !strings.Contains(c.Text, "\x00") && len(c.Text) <= maxBody
		if reply.OK != valid || !valid && (reply.Error != wire.InvalidRequest && reply.Error != wire.RequestTooLarge) {
			t.Errorf("%s: %+v, want accepted %v", c.Name, reply, valid)
			continue
		}
		if reply.Error == wire.RequestTooLarge {
			l = dialBus(t, tb)
		}
		if !valid {
			continue
		}
		got := get[batch](tb, dev, "message.receive", nil)
		if len(got.Messages) != 1 || got.Messages[0].Body != c.Text {
			t.Errorf("%s: received %+v", c.Name, got)
		}
	}
}

// rawString is text as a JSON string in which only what must be is escaped, so
// that invalid bytes stay what they are.
func rawString(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(text) {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ':
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Hostile documents as arguments are refused as the corpus says and leave the
// broker serving the same connection.
//
// proves: BUS-PROTO-21 BUS-OPEN-21 BUS-OPEN-19
func TestHostileDocumentsThroughTheSocket(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	pm := tb.holder("pm")
	l := dialBus(t, tb)
	send := func(args string) wire.Reply {
		t.Helper()
		// A document may hold line ends, which a line cannot.
		args = strings.NewReplacer("\n", " ", "\r", " ").Replace(args)
		return l.exchange(fmt.Sprintf(`{"id":1,"cap":%q,"verb":"message.send","args":%s}`, pm.proof.Cap, args))
	}
	for _, c := range corpus.Arguments(t) {
		reply := send(c.Text)
		switch c.Verdict {
		case corpus.Accept: // by the decoder; the verb may still refuse what it names
		case "-":
			if reply.Error != wire.InvalidRequest || reply.Field != "" && reply.Field != "args" {
				t.Errorf("%s: %+v", c.Name, reply)
			}
		default:
			if reply.Error != wire.InvalidRequest || reply.Field != c.Verdict {
				t.Errorf("%s: %+v, want field %s", c.Name, reply, c.Verdict)
			}
		}
	}
	for _, c := range corpus.JSON(t) {
		reply := send(c.Text)
		if reply.Error == wire.RequestTooLarge {
			l = dialBus(t, tb) // the rest of such a line is not read
		} else if reply.Error != wire.InvalidRequest {
			t.Errorf("%s: %+v", c.Name, reply)
		}
	}
	if reply := send(`{"to":"dev","body":"still here"}`); !reply.OK {
		t.Errorf("afterwards: %+v", reply)
	}
}

// A line that is refused before it is a request keeps its number, and leaves
// the evidence of its refusal when it proves a session.
//
// proves: BUS-PROTO-27 BUS-CTL-20 BUS-OPEN-19 BUS-OPEN-25
func TestALineThatIsNoRequestIsRecorded(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	pm := tb.holder("pm")
	l := dialBus(t, tb)
	refusals := func() string {
		return tb.query(`SELECT count(*) FROM events WHERE kind = 'action.refused' AND role = 'pm'
			AND body ->> 'code' IN ('invalid-request', 'request-too-large')`)[0][0]
	}
	want := 0
	for name, c := range map[string]struct {
		rest   string // of the object, after id and cap
		code   wire.Code
		proven bool
	}{
		"NUL in an argument":         {`"verb":"message.send","args":{"to":"dev","body":"a\u0000"}`, wire.InvalidRequest, true},
		"a lone surrogate":           {`"verb":"message.send","args":{"to":"dev","body":"\ud800"}`, wire.InvalidRequest, true},
		"invalid UTF-8":              {`"verb":"message.send","args":{"to":"dev","body":"` + "\xff" + `"}`, wire.InvalidRequest, true},
		"a key twice in args":        {`"verb":"message.send","args":{"to":"dev","to":"pm","body":"x"}`, wire.InvalidRequest, true},
		"a number that does not fit": {`"verb":"messages","args":{"limit":99999999999999999999}`, wire.InvalidRequest, true},
		"a business beside the cap":  {`"verb":"inbox","business":"acme"`, wire.InvalidRequest, true},
		"a role beside the cap":      {`"verb":"inbox","role":"dev"`, wire.InvalidRequest, true},
		"a line over the limit":      {`"verb":"trail","args":{"subject":"` + strings.Repeat("x", wire.MaxRequest-30) + `"}`, wire.RequestTooLarge, false}, // and not read to its end
		"another capability":         {`"verb":"inbox","cap":"x","args":{"a":"\u0000"}`, wire.InvalidRequest, false},
		"no object":                  {`"verb":"inbox"` + "}{", wire.InvalidRequest, false},
	} {
		reply := l.exchange(fmt.Sprintf(`{"id":7,"cap":%q,%s}`, pm.proof.Cap, c.rest))
		if c.proven {
			want++
		}
		if reply.Error != c.code || c.proven && (reply.ID == nil || *reply.ID != 7) {
			t.Errorf("%s: %+v", name, reply)
		}
		if got := refusals(); got != fmt.Sprint(want) {
			t.Errorf("%s: %s refusals are recorded, want %d", name, got, want)
		}
		if reply.Error == wire.RequestTooLarge {
			l = dialBus(t, tb)
		}
	}
}

// The limit of a request is the verb's, checked here and not by the client's
// good will.
//
// proves: BUS-PROTO-33 BUS-PROTO-31
func TestTheRequestLimit(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	pm := tb.holder("pm")
	l := dialBus(t, tb)
	frame := fmt.Sprintf(`{"cap":%q,"verb":"trail","args":{"subject":"`, pm.proof.Cap)
	fits := frame + strings.Repeat("x", wire.MaxRequest-len(frame)-3) + `"}}`
	if reply := l.exchange(fits); !reply.OK {
		t.Errorf("a request of %d bytes: %+v", len(fits), reply)
	}
	if reply := l.exchange(strings.Replace(fits, `"}}`, `x"}}`, 1)); reply.Error != wire.RequestTooLarge {
		t.Errorf("a request of %d bytes: %+v", len(fits)+1, reply)
	}
	for _, verb := range Verbs {
		if got := requestLimit(verb.Name); got != verb.MaxRequest {
			t.Errorf("%s has a limit of %d, want %d", verb.Name, got, verb.MaxRequest)
		}
	}
}

// A batch of messages that all grow when they are encoded still comes through,
// in as many batches as it takes, and nothing is lost between them.
//
// proves: BUS-MSG-36
func TestABatchThatGrowsFitsTheReply(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	pm, dev := tb.holder("pm"), tb.holder("dev")
	body := strings.Repeat("\u0085", maxBody/2) // each becomes six bytes
	const n = 100
	for range n {
		tb.do(pm, "message.send", map[string]string{"to": "dev", "body": body})
	}
	received := 0
	for range n {
		got := get[batch](tb, dev, "message.receive", nil)
		if len(got.Messages) == 0 {
			break
		}
		received += len(got.Messages)
	}
	if received != n {
		t.Errorf("received %d of %d", received, n)
	}
}
