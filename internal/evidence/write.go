package evidence

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"slices"

	"mosaicstack.dev/mosaic/internal/wire"
)

// The store assigns Seq, ID (UUIDv7), At and everything about lanes and the
// chain; what a caller puts there is ignored. Each method returns the row as
// stored. A guard that refuses returns its static code as a *wire.Error, and
// what violates the form of a column invalid-request: callers check first and
// see one only when they are wrong.

// Tx is the writing side of one request inside a group commit. It is valid
// until the function that it was given to returns.
type Tx struct {
	Rows
	state *state
	ids   *ids
	row   rowWriter
	given []wire.MessageID // by NewMessageID in this request
}

// rowWriter binds the columns of one row in schema order and encodes them for
// the chain in the same pass.
type rowWriter struct {
	table *table
	s     *stmt
	n     int
	enc   encoding
}

func (t *Tx) begin(id tableID) (w *rowWriter, seq int64, ms int64) {
	w = &t.row
	w.table, w.s, w.n = tables[id], t.c.insert(id), 0
	w.enc.begin(w.table)
	seq = t.state.seq[id] + 1
	ms = tick(t.state.ms, t.state.now())
	w.integer(seq)
	return w, seq, ms
}

// end inserts the row and, when no guard refused it, moves the state on.
func (t *Tx) end(id tableID, ms int64) error {
	w := &t.row
	if err := w.s.exec(); err != nil {
		return err
	}
	t.state.seq[id]++
	t.state.ms = ms
	if w.table.chained {
		t.state.head = t.state.head.follow(&w.enc)
	}
	t.state.rows++
	return nil
}

func (w *rowWriter) text(v string) {
	w.enc.text(w.table.encoded[w.n], v)
	w.n++
	w.s.text(w.n, v)
}

func (w *rowWriter) integer(v int64) {
	w.enc.integer(w.table.encoded[w.n], v)
	w.n++
	w.s.integer(w.n, v)
}

func (w *rowWriter) null() {
	w.n++
	if w.s.Stmt != nil {
		w.s.fail(w.s.BindNull(w.n))
	}
}

// unchained binds a blob that the chain does not cover.
func (w *rowWriter) unchained(v []byte) {
	w.n++
	if w.s.Stmt != nil {
		w.s.fail(w.s.BindBlob(w.n, v))
	}
}

func optional[T ~string](w *rowWriter, v *T) {
	if v == nil {
		w.null()
		return
	}
	w.text(string(*v))
}

// AppendEvent appends an event. Body must be one JSON object.
func (t *Tx) AppendEvent(e Event) (Event, error) {
	w, seq, ms := t.begin(tEvents)
	prev := t.state.head
	e.Seq, e.ID, e.At = seq, wire.EventID(t.ids.next(ms)), formatTime(ms)
	e.Prev = hex.EncodeToString(prev[:])
	w.text(string(e.ID))
	w.text(string(e.Business))
	optional(w, e.Role)
	optional(w, e.Run)
	w.text(string(e.Kind))
	optional(w, e.Subject)
	optional(w, e.Spends)
	optional(w, e.Message)
	w.text(string(e.Body))
	w.unchained(prev[:])
	w.text(string(e.At))
	if err := t.end(tEvents, ms); err != nil {
		return Event{}, err
	}
	return e, nil
}

// AppendClaim appends a claim, release or revoke. It routes nothing.
func (t *Tx) AppendClaim(c Claim) (Claim, error) {
	w, seq, ms := t.begin(tRoleClaims)
	c.Seq, c.At = seq, formatTime(ms)
	w.text(string(c.Business))
	w.text(string(c.Role))
	w.text(string(c.Run))
	w.text(string(c.Op))
	w.text(c.By)
	optional(w, c.Decision)
	optional(w, c.Reason)
	w.text(string(c.At))
	if err := t.end(tRoleClaims, ms); err != nil {
		return Claim{}, err
	}
	return c, nil
}

// NewMessageID returns an id for a message that another row of this
// transaction names before the message can be appended: the human.input event
// that stands behind it.
func (t *Tx) NewMessageID() wire.MessageID {
	id := wire.MessageID(t.ids.next(tick(t.state.ms, t.state.now())))
	t.given = append(t.given, id)
	return id
}

// AppendMessage appends a message to its recipient's lane and, when a run
// holds the recipient role, the routed delivery to it (BUS-CLOSE-11), which
// the returned RoutedTo names. It keeps an ID that came from NewMessageID and
// makes one otherwise.
func (t *Tx) AppendMessage(m Message) (Message, error) {
	m.Lane, m.RoutedTo = Lane(m.ToRole), nil
	last, err := number(t.c.query(qLaneTotal).lane(m.Business, m.Lane))
	if err != nil {
		return Message{}, err
	}
	holder, err := t.routesTo(m.Business, m.ToRole)
	if err != nil {
		return Message{}, err
	}

	w, seq, ms := t.begin(tMessages)
	if m.ID == "" || !slices.Contains(t.given, m.ID) {
		m.ID = wire.MessageID(t.ids.next(ms))
	}
	m.Seq, m.LaneNo, m.At = seq, last+1, formatTime(ms)
	w.text(string(m.ID))
	w.text(string(m.Business))
	w.text(string(m.FromRole))
	w.text(string(m.FromRun))
	w.text(string(m.ToRole))
	optional(w, m.ToName)
	w.text(m.Lane)
	w.integer(m.LaneNo)
	w.text(m.Class)
	w.text(m.Body)
	optional(w, m.InReplyTo)
	optional(w, m.Corrects)
	optional(w, m.Decision)
	optional(w, m.Request)
	w.text(string(m.At))
	if err := t.end(tMessages, ms); err != nil {
		return Message{}, err
	}
	if holder == "" {
		return m, nil
	}
	if err := t.deliver(&m, holder, Routed); err != nil {
		return Message{}, err
	}
	m.RoutedTo = &holder
	return m, nil
}

// routesTo returns the run that holds the role, "" for none. The human and
// the testers hold nothing: their messages are not routed.
func (t *Tx) routesTo(b wire.Business, role wire.Role) (run wire.Run, err error) {
	if role == wire.HumanRole || role == wire.TesterRole {
		return "", nil
	}
	s := t.c.query(qHolderRun).text(1, string(b)).text(2, string(role))
	if s.step() {
		run = wire.Run(s.ColumnText(0)) // null, and so "", unless the last row is a claim
	}
	return run, s.finish()
}

// deliver appends the row that says how far a message has come towards a run.
func (t *Tx) deliver(m *Message, run wire.Run, state DeliveryState) error {
	_, err := t.appendDelivery(deliveryRow{
		Delivery: Delivery{Message: m.ID, Run: run, State: state},
		business: m.Business, lane: m.Lane, laneNo: m.LaneNo,
	})
	return err
}

func (t *Tx) appendDelivery(d deliveryRow) (Delivery, error) {
	w, seq, ms := t.begin(tDeliveries)
	d.Seq, d.At = seq, formatTime(ms)
	w.text(string(d.business))
	w.text(string(d.Message))
	w.text(d.lane)
	w.integer(d.laneNo)
	w.text(string(d.Run))
	w.text(string(d.State))
	if d.readNo == 0 {
		w.null()
	} else {
		w.integer(d.readNo)
	}
	w.text(string(d.At))
	if err := t.end(tDeliveries, ms); err != nil {
		return Delivery{}, err
	}
	return d.Delivery, nil
}

// RouteUndelivered routes the undelivered messages of a role to its new
// holder; called in the transaction of a claim. It returns the number that
// were not routed to this run before.
func (t *Tx) RouteUndelivered(b wire.Business, role wire.Role, run wire.Run) (int, error) {
	waiting, err := list(t.c.query(qUnrouted).lane(b, Lane(role)).text(3, string(run)), scanMessage)
	if err != nil {
		return 0, err
	}
	for i := range waiting {
		if err := t.deliver(&waiting[i], run, Routed); err != nil {
			return 0, err
		}
	}
	return len(waiting), nil
}

// Deliver records that at most n undelivered messages of the lane were handed
// to the run, in order, and returns them.
func (t *Tx) Deliver(b wire.Business, lane Lane, run wire.Run, n int) ([]Message, error) {
	batch, err := t.Undelivered(b, lane, n)
	if err != nil {
		return nil, err
	}
	for i := range batch {
		if err := t.deliver(&batch[i], run, Delivered); err != nil {
			return nil, err
		}
	}
	return batch, nil
}

// MarkRead records the read receipt of a message by the run that it was
// delivered to, or returns the receipt that exists. It refuses
// message-not-found for a message that this run was not delivered.
func (t *Tx) MarkRead(b wire.Business, id wire.MessageID, run wire.Run) (Delivery, error) {
	d, err := first(t.c.query(qDeliveryTo).text(1, string(id)).text(2, string(run)), scanDeliveryRow)
	if err != nil {
		return Delivery{}, err
	}
	if d == nil || d.business != b {
		return Delivery{}, wire.Refuse(wire.MessageNotFound)
	}
	receipt, err := t.Delivery(id, Read)
	if err != nil {
		return Delivery{}, err
	}
	if receipt != nil {
		return *receipt, nil
	}
	read, err := number(t.c.query(qLaneRead).lane(b, d.lane))
	if err != nil {
		return Delivery{}, err
	}
	d.State, d.readNo = Read, read+1
	return t.appendDelivery(*d)
}

// AppendDecision appends a decision. Authorization is ignored.
func (t *Tx) AppendDecision(d Decision) (Decision, error) {
	options, err := marshalOptions(d.Options)
	if err != nil {
		return Decision{}, refuse(wire.InvalidOptions, err)
	}
	w, seq, ms := t.begin(tDecisions)
	d.Seq, d.ID, d.At = seq, wire.DecisionID(t.ids.next(ms)), formatTime(ms)
	w.text(string(d.ID))
	w.text(string(d.Business))
	w.text(d.Action)
	w.text(d.Question)
	w.text(options)
	w.text(d.Recommendation)
	w.text(d.ApprovalChoice)
	if d.Blocking {
		w.integer(1)
	} else {
		w.integer(0)
	}
	w.text(string(d.Class))
	w.text(string(d.Route))
	w.text(d.Domain)
	optional(w, d.Target)
	optional(w, d.Project)
	optional(w, d.SpecPath)
	optional(w, d.SpecCommit)
	optional(w, d.TaskRef)
	optional(w, d.RequirementRef)
	optional(w, d.Supersedes)
	w.text(string(d.RaisedByRole))
	w.text(string(d.RaisedByRun))
	optional(w, d.Thread)
	optional(w, d.HolderRun)
	w.text(string(d.At))
	if err := t.end(tDecisions, ms); err != nil {
		return Decision{}, err
	}
	d.Authorization = Authorization{Action: d.Action, Target: d.Target, ApprovalChoice: d.ApprovalChoice}
	return d, nil
}

// marshalOptions keeps <, > and & as they are: the text is evidence, not HTML.
func marshalOptions(options []Option) (string, error) {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(options); err != nil {
		return "", err
	}
	return string(bytes.TrimSuffix(buf.Bytes(), []byte("\n"))), nil
}

// AppendDecisionEvent appends a seen, resolved or withdrawn row.
func (t *Tx) AppendDecisionEvent(b wire.Business, e DecisionEvent) (DecisionEvent, error) {
	w, seq, ms := t.begin(tDecisionEvents)
	e.Seq, e.At = seq, formatTime(ms)
	w.text(string(e.Decision))
	w.text(string(b))
	w.text(string(e.Kind))
	w.text(e.By)
	w.text(string(e.ByRole))
	w.text(e.Via)
	optional(w, e.Choice)
	optional(w, e.Note)
	optional(w, e.Input)
	w.text(string(e.At))
	if err := t.end(tDecisionEvents, ms); err != nil {
		return DecisionEvent{}, err
	}
	return e, nil
}
