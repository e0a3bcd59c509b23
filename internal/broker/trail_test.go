package broker

import (
	"encoding/json"
	"strconv"
	"testing"

	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/wire"
)

// args are the arguments of a call.
type args = map[string]any

// jsonNull is an argument that is there and null.
var jsonNull = json.RawMessage("null")

func ptr[T any](v T) *T { return &v }

func decode[T any](t testing.TB, data []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return v
}

// acme changes the business acme.
func acme(change func(*Business)) setup {
	return func(c *Config, _ *Options) { changeBusiness(c, change) }
}

func changeBusiness(c *Config, change func(*Business)) {
	b := c.Businesses["acme"]
	change(&b)
	c.Businesses["acme"] = b
}

// restartWith restarts the broker with a changed business.
func (tb *testBroker) restartWith(change func(*Business)) {
	tb.t.Helper()
	changeBusiness(&tb.config, change)
	tb.restart()
}

// authority replaces what a role may do.
func (b *Business) authority(role wire.Role, withinRole, crossRole []string) {
	r := b.Roles[role]
	r.Authority = &Authority{WithinRole: withinRole, CrossRole: crossRole}
	b.Roles[role] = r
}

// messaging replaces a role's messaging lists; nil allows all.
func (b *Business) messaging(role wire.Role, sendTo, receiveFrom []string) {
	r := b.Roles[role]
	r.Messaging = Messaging{}
	if sendTo != nil {
		r.Messaging.SendTo = &sendTo
	}
	if receiveFrom != nil {
		r.Messaging.ReceiveFrom = &receiveFrom
	}
	b.Roles[role] = r
}

// trailRow is a row of a trail as a caller gets it.
type trailRow struct {
	Table string          `json:"table"`
	Seq   int64           `json:"seq"`
	At    wire.Timestamp  `json:"at"`
	Row   json.RawMessage `json:"row"`
}

// trailRows is a trail, asked for by the human.
type trailRows struct {
	t    testing.TB
	rows []trailRow
}

func (tb *testBroker) trail(subject string) trailRows {
	tb.t.Helper()
	return trailRows{tb.t, get[[]trailRow](tb, tb.human(), "trail", args{"subject": subject})}
}

// deliveries are the deliveries of a message.
func (tb *testBroker) deliveries(id wire.MessageID) []evidence.Delivery {
	tb.t.Helper()
	return tb.trail(string(id)).deliveriesOf(id)
}

func rowsOf[T any](r trailRows, table string) []T {
	r.t.Helper()
	var out []T
	for _, row := range r.rows {
		if row.Table == table {
			out = append(out, decode[T](r.t, row.Row))
		}
	}
	return out
}

func (r trailRows) events(kind evidence.EventKind) []evidence.Event {
	r.t.Helper()
	var out []evidence.Event
	for _, e := range rowsOf[evidence.Event](r, "events") {
		if e.Kind == kind {
			out = append(out, e)
		}
	}
	return out
}

func (r trailRows) decisions() []evidence.Decision { return rowsOf[evidence.Decision](r, "decisions") }

// closes returns the decision events, seen ones too.
func (r trailRows) closes() []evidence.DecisionEvent {
	return rowsOf[evidence.DecisionEvent](r, "decision_events")
}

func (r trailRows) messages() []evidence.Message { return rowsOf[evidence.Message](r, "messages") }

// deliveriesOf returns the deliveries of one message.
func (r trailRows) deliveriesOf(id wire.MessageID) []evidence.Delivery {
	r.t.Helper()
	var out []evidence.Delivery
	for _, d := range rowsOf[evidence.Delivery](r, "deliveries") {
		if d.Message == id {
			out = append(out, d)
		}
	}
	return out
}

// count counts the rows of a table of the store.
func (tb *testBroker) count(table string) int {
	tb.t.Helper()
	n, err := strconv.Atoi(tb.query("SELECT count(*) FROM " + table)[0][0])
	if err != nil {
		tb.t.Fatal(err)
	}
	return n
}

// holders lets new runs claim several roles of acme.
func (tb *testBroker) holders(roles ...wire.Role) map[wire.Role]session {
	tb.t.Helper()
	seats := make(map[wire.Role]session, len(roles))
	for _, role := range roles {
		seats[role] = tb.holder(role)
	}
	return seats
}
