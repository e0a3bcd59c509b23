package evidence

import (
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"mosaicstack.dev/mosaic/internal/wire"
)

// Scanning reads the columns of a row in the order of the schema.

// row reads one column after the other.
type row struct {
	s *stmt
	n int
}

func (r *row) text() string {
	v := r.s.ColumnText(r.n)
	r.n++
	return v
}

func (r *row) integer() int64 {
	v := r.s.ColumnInt64(r.n)
	r.n++
	return v
}

// scanText reads a column that is never null, into one of wire's string types.
func scanText[T ~string](r *row) T { return T(r.text()) }

// scanNull reads a column that may be null.
func scanNull[T ~string](r *row) *T {
	if r.s.ColumnType(r.n) == sqlite3.NULL {
		r.n++
		return nil
	}
	v := T(r.text())
	return &v
}

func scanEvent(s *stmt) Event { return readEvent(&row{s: s}) }

func readEvent(r *row) Event {
	e := Event{
		Seq: r.integer(), ID: scanText[wire.EventID](r), Business: scanText[wire.Business](r),
		Role: scanNull[wire.Role](r), Run: scanNull[wire.Run](r), Kind: scanText[EventKind](r),
		Subject: scanNull[string](r), Spends: scanNull[wire.DecisionID](r), Message: scanNull[wire.MessageID](r),
		Body: json.RawMessage(r.text()),
	}
	e.Prev = hex.EncodeToString(r.s.ColumnRawBlob(r.n))
	r.n++
	e.At = scanText[wire.Timestamp](r)
	return e
}

func scanClaim(s *stmt) Claim {
	r := &row{s: s}
	return Claim{
		Seq: r.integer(), Business: scanText[wire.Business](r), Role: scanText[wire.Role](r),
		Run: scanText[wire.Run](r), Op: scanText[ClaimOp](r), By: r.text(),
		Decision: scanNull[wire.DecisionID](r), Reason: scanNull[string](r), At: scanText[wire.Timestamp](r),
	}
}

func scanMessage(s *stmt) Message { return readMessage(&row{s: s}) }

func readMessage(r *row) Message {
	return Message{
		Seq: r.integer(), ID: scanText[wire.MessageID](r), Business: scanText[wire.Business](r),
		FromRole: scanText[wire.Role](r), FromRun: scanText[wire.Run](r), ToRole: scanText[wire.Role](r),
		ToName: scanNull[string](r), Lane: r.text(), LaneNo: r.integer(), Class: r.text(), Body: r.text(),
		InReplyTo: scanNull[wire.MessageID](r), Corrects: scanNull[wire.MessageID](r),
		Decision: scanNull[wire.DecisionID](r), Request: scanNull[wire.EventID](r), At: scanText[wire.Timestamp](r),
	}
}

func scanFeedMessage(s *stmt) FeedMessage {
	r := &row{s: s}
	m := readMessage(r)
	return FeedMessage{Message: m, Read: r.integer() != 0}
}

func scanUnread(s *stmt) Unread {
	r := &row{s: s}
	return Unread{
		Message: scanText[wire.MessageID](r), From: scanText[wire.Role](r),
		Run: scanText[wire.Run](r), At: scanText[wire.Timestamp](r),
	}
}

// deliveryRow is a delivery with the columns that callers do not see.
type deliveryRow struct {
	Delivery
	business wire.Business
	lane     Lane
	laneNo   int64
	readNo   int64 // 0 unless read
}

func scanDeliveryRow(s *stmt) deliveryRow {
	r := &row{s: s}
	var d deliveryRow
	d.Seq = r.integer()
	d.business = scanText[wire.Business](r)
	d.Message = scanText[wire.MessageID](r)
	d.lane = r.text()
	d.laneNo = r.integer()
	d.Run = scanText[wire.Run](r)
	d.State = scanText[DeliveryState](r)
	d.readNo = r.integer()
	d.At = scanText[wire.Timestamp](r)
	return d
}

func scanDelivery(s *stmt) Delivery { return scanDeliveryRow(s).Delivery }

func scanDecision(s *stmt) Decision { return readDecision(&row{s: s}) }

func readDecision(r *row) Decision {
	d := Decision{
		Seq: r.integer(), ID: scanText[wire.DecisionID](r), Business: scanText[wire.Business](r),
		Action: r.text(), Question: r.text(),
	}
	if err := json.Unmarshal([]byte(r.text()), &d.Options); err != nil {
		r.s.fail(fmt.Errorf("options of decision %s: %w", d.ID, err))
	}
	d.Recommendation = r.text()
	d.ApprovalChoice = r.text()
	d.Blocking = r.integer() != 0
	d.Class = scanText[Class](r)
	d.Route = scanText[wire.Role](r)
	d.Domain = r.text()
	d.Target = scanNull[string](r)
	d.Project = scanNull[string](r)
	d.SpecPath = scanNull[string](r)
	d.SpecCommit = scanNull[string](r)
	d.TaskRef = scanNull[wire.TaskRef](r)
	d.RequirementRef = scanNull[string](r)
	d.Supersedes = scanNull[wire.DecisionID](r)
	d.RaisedByRole = scanText[wire.Role](r)
	d.RaisedByRun = scanText[wire.Run](r)
	d.Thread = scanNull[wire.ThreadID](r)
	d.HolderRun = scanNull[wire.Run](r)
	d.At = scanText[wire.Timestamp](r)
	d.Authorization = Authorization{Action: d.Action, Target: d.Target, ApprovalChoice: d.ApprovalChoice}
	return d
}

func scanInputNeeded(s *stmt) InputNeeded {
	r := &row{s: s}
	return InputNeeded{
		RaisedByRole: scanText[wire.Role](r), ID: scanText[wire.DecisionID](r), Question: r.text(),
		Class: scanText[Class](r), Blocking: r.integer() != 0,
		TaskRef: scanNull[wire.TaskRef](r), At: scanText[wire.Timestamp](r),
	}
}

func scanDecisionEvent(s *stmt) DecisionEvent { return readDecisionEvent(&row{s: s}) }

func readDecisionEvent(r *row) DecisionEvent {
	e := DecisionEvent{Seq: r.integer(), Decision: scanText[wire.DecisionID](r)}
	r.n++ // business: that of the decision
	e.Kind = scanText[DecisionEventKind](r)
	e.By = r.text()
	e.ByRole = scanText[wire.Role](r)
	e.Via = r.text()
	e.Choice = scanNull[string](r)
	e.Note = scanNull[string](r)
	e.Input = scanNull[wire.EventID](r)
	e.At = scanText[wire.Timestamp](r)
	return e
}

func scanClosedDecision(s *stmt) ClosedDecision {
	r := &row{s: s}
	d := readDecision(r)
	return ClosedDecision{Decision: d, Closed: readDecisionEvent(r)}
}
