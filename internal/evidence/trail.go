package evidence

import (
	"slices"

	"mosaicstack.dev/mosaic/internal/wire"
)

// Trail returns the records linked to a task ref, decision, message, event or
// run, in broker write order; empty for an unknown subject (BUS-READ-04 to 07).
//
//   - A message brings its deliveries, the human input behind it, the message
//     that it answers and those that answer it, the authority of its send, and
//     its decision with everything that happened to that.
//   - A decision brings its events, the human input of its close, its raise,
//     the action that spent it and the revocation that it allowed, the messages
//     that cite it, and the decisions that it supersedes or that supersede it.
//   - A task ref brings its decisions with all of that, and its events.
//   - An event brings the decision that it spent or is about, and a run nothing
//     but what every run brings.
//
// Every run that appears brings the evidence of its session and of its claim.
func (r *Rows) Trail(b wire.Business, subject string) ([]TrailRow, error) {
	t := &trail{r: r, b: b, seen: map[trailKey]bool{}}
	if err := t.collect(subject); err != nil {
		return nil, err
	}
	slices.SortFunc(t.rows, func(x, y TrailRow) int {
		if x.At < y.At {
			return -1
		}
		return 1 // times are unique
	})
	return t.rows, nil
}

type trailKey struct {
	table tableID
	seq   int64
}

// trail collects rows, each once.
type trail struct {
	r    *Rows
	b    wire.Business
	rows []TrailRow
	seen map[trailKey]bool
}

// add reports whether the row is new.
func (t *trail) add(id tableID, seq int64, at wire.Timestamp, row any) bool {
	k := trailKey{id, seq}
	if t.seen[k] {
		return false
	}
	t.seen[k] = true
	t.rows = append(t.rows, TrailRow{Table: tables[id].name, Seq: seq, At: at, Row: row})
	return true
}

func (t *trail) collect(subject string) error {
	m, err := t.r.Message(t.b, wire.MessageID(subject))
	if err != nil {
		return err
	}
	if m != nil {
		return t.messageSubject(m)
	}
	d, err := t.r.Decision(t.b, wire.DecisionID(subject))
	if err != nil {
		return err
	}
	if d != nil {
		return t.decision(d)
	}
	e, err := t.r.Event(t.b, wire.EventID(subject))
	if err != nil {
		return err
	}
	if e != nil {
		return t.eventSubject(e)
	}
	if err := t.run(wire.Run(subject), forever); err != nil {
		return err
	}
	return t.task(wire.TaskRef(subject))
}

// forever is later than every time of the record.
const forever wire.Timestamp = "9999"

// eventSubject adds an event with the decision whose approval it spent, or
// which it is about.
func (t *trail) eventSubject(e *Event) error {
	if err := t.event(e); err != nil {
		return err
	}
	for _, id := range []wire.DecisionID{deref(e.Spends), wire.DecisionID(deref(e.Subject))} {
		if id == "" {
			continue
		}
		d, err := t.r.Decision(t.b, id)
		if err != nil {
			return err
		}
		if d != nil {
			return t.decisionAlone(d)
		}
	}
	return nil
}

// deref is what p points to, or "".
func deref[T ~string](p *T) T {
	if p == nil {
		return ""
	}
	return *p
}

func (t *trail) task(ref wire.TaskRef) error {
	c := t.r.c
	decisions, err := list(c.query(qDecisionsOfTask).text(1, string(t.b)).text(2, string(ref)), scanDecision)
	if err != nil {
		return err
	}
	for i := range decisions {
		if err := t.decision(&decisions[i]); err != nil {
			return err
		}
	}
	return t.eventsOf(string(ref))
}

// eventsOf adds the events about a subject, each with its run.
func (t *trail) eventsOf(subject string) error {
	events, err := list(t.r.c.query(qEventsOfSubject).text(1, string(t.b)).text(2, subject), scanEvent)
	if err != nil {
		return err
	}
	for i := range events {
		if err := t.event(&events[i]); err != nil {
			return err
		}
	}
	return nil
}

// event adds an event, when there is one, and the evidence of its run.
func (t *trail) event(e *Event) error {
	if e == nil || !t.add(tEvents, e.Seq, e.At, *e) || e.Run == nil {
		return nil
	}
	return t.run(*e.Run, e.At)
}

func (t *trail) messageSubject(m *Message) error {
	if err := t.message(m); err != nil {
		return err
	}
	if m.InReplyTo != nil {
		answered, err := t.r.Message(t.b, *m.InReplyTo)
		if err != nil {
			return err
		}
		if answered != nil {
			if err := t.message(answered); err != nil {
				return err
			}
		}
	}
	replies, err := list(t.r.c.query(qRepliesAll).text(1, string(m.ID)), scanMessage)
	if err != nil {
		return err
	}
	for i := range replies {
		if err := t.message(&replies[i]); err != nil {
			return err
		}
	}
	if m.Decision == nil {
		return nil
	}
	d, err := t.r.Decision(t.b, *m.Decision)
	if err != nil || d == nil {
		return err
	}
	return t.decisionAlone(d)
}

// message adds a message with its deliveries, the input and the authority
// behind it, and the runs that sent and received it.
func (t *trail) message(m *Message) error {
	if !t.add(tMessages, m.Seq, m.At, *m) {
		return nil
	}
	c := t.r.c
	deliveries, err := list(c.query(qDeliveriesOf).text(1, string(m.ID)), scanDelivery)
	if err != nil {
		return err
	}
	for _, d := range deliveries {
		t.add(tDeliveries, d.Seq, d.At, d)
		if err := t.run(d.Run, d.At); err != nil {
			return err
		}
	}
	if m.Request != nil {
		input, err := t.r.Event(t.b, *m.Request)
		if err != nil {
			return err
		}
		if err := t.event(input); err != nil {
			return err
		}
	}
	allowed, err := first(c.query(qEventOfMessage).text(1, string(m.ID)), scanEvent)
	if err != nil {
		return err
	}
	if err := t.event(allowed); err != nil {
		return err
	}
	return t.run(m.FromRun, m.At)
}

// decision adds a decision with everything that happened to it, and the
// decisions before and after it.
func (t *trail) decision(d *Decision) error {
	if err := t.decisionAlone(d); err != nil {
		return err
	}
	citing, err := list(t.r.c.query(qMessagesCiting).text(1, string(d.ID)), scanMessage)
	if err != nil {
		return err
	}
	for i := range citing {
		if err := t.message(&citing[i]); err != nil {
			return err
		}
	}
	if d.Supersedes != nil {
		before, err := t.r.Decision(t.b, *d.Supersedes)
		if err != nil {
			return err
		}
		if before != nil {
			if err := t.decisionAlone(before); err != nil {
				return err
			}
		}
	}
	after, err := list(t.r.c.query(qDecisionsSuperseding).text(1, string(d.ID)), scanDecision)
	if err != nil {
		return err
	}
	for i := range after {
		if err := t.decisionAlone(&after[i]); err != nil {
			return err
		}
	}
	return nil
}

// decisionAlone adds a decision, its events with their human input, the events
// about it (its raise among them) and the one that spent it.
func (t *trail) decisionAlone(d *Decision) error {
	if !t.add(tDecisions, d.Seq, d.At, *d) {
		return nil
	}
	history, err := list(t.r.c.query(qDecisionEvents).text(1, string(d.ID)), scanDecisionEvent)
	if err != nil {
		return err
	}
	for _, e := range history {
		t.add(tDecisionEvents, e.Seq, e.At, e)
		if e.Input != nil {
			input, err := t.r.Event(t.b, *e.Input)
			if err != nil {
				return err
			}
			if err := t.event(input); err != nil {
				return err
			}
		}
		if e.ByRole != wire.HumanRole {
			if err := t.run(wire.Run(e.By), e.At); err != nil {
				return err
			}
		}
	}
	if err := t.eventsOf(string(d.ID)); err != nil {
		return err
	}
	spent, err := t.r.DecisionSpent(d.ID)
	if err != nil {
		return err
	}
	if err := t.event(spent); err != nil {
		return err
	}
	if err := t.revocation(d); err != nil {
		return err
	}
	return t.run(d.RaisedByRun, d.At)
}

// revocation adds the revocation that a decision about a holder allowed.
func (t *trail) revocation(d *Decision) error {
	if d.HolderRun == nil || d.Target == nil {
		return nil
	}
	s := t.r.c.query(qRevocation).text(1, string(*d.HolderRun)).text(2, string(t.b)).text(3, *d.Target).text(4, string(d.ID))
	claim, err := first(s, scanClaim)
	if err != nil || claim == nil {
		return err
	}
	t.add(tRoleClaims, claim.Seq, claim.At, *claim)
	return t.run(claim.Run, claim.At)
}

// run adds the evidence of a run's session and of the claim that it held at a
// time. The reserved runs of the human, the testers and the bus have none.
func (t *trail) run(run wire.Run, at wire.Timestamp) error {
	launched, err := t.r.Launched(run)
	if err != nil {
		return err
	}
	if launched == nil || launched.Business != t.b {
		return nil
	}
	t.add(tEvents, launched.Seq, launched.At, *launched)
	ended, err := t.r.Ended(run)
	if err != nil {
		return err
	}
	if ended != nil {
		t.add(tEvents, ended.Seq, ended.At, *ended)
	}
	s := t.r.c.query(qClaimBefore).text(1, string(run)).text(2, string(t.b)).text(3, string(at))
	claim, err := first(s, scanClaim)
	if err != nil || claim == nil {
		return err
	}
	t.add(tRoleClaims, claim.Seq, claim.At, *claim)
	return nil
}
