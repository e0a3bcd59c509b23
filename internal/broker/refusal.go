package broker

import (
	"context"
	"errors"
	"reflect"

	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/wire"
)

// refuse records a refusal in a transaction of its own and returns what the
// caller gets: the refusal, or storage-unavailable when it left no evidence.
func (b *Broker) refuse(ctx context.Context, s Session, verb string, args any, refusal error) error {
	return b.store.Update(ctx, func(*evidence.Tx) error { return refusal }, func(tx *evidence.Tx, refusal error) error {
		return appendRefusal(tx, s, verb, args, refusal)
	})
}

// refused is the body of action.refused: names from our own tables and no
// other text (BUS-OPEN-25).
type refused struct {
	Verb *string   `json:"verb"` // the verb or trusted call; null when the host or no verb refused
	Code wire.Code `json:"code"`
}

// appendRefusal appends the one action.refused of a refused call. An error
// that is no refusal comes back unchanged: a failure of the store is not the
// caller's doing and cannot be recorded in the store.
func appendRefusal(tx *evidence.Tx, s Session, verb string, args any, err error) error {
	var refusal *wire.Error
	if !errors.As(err, &refusal) || refusal.Code == wire.StorageUnavailable {
		return err
	}
	subject, err := refusalSubject(&tx.Rows, s.Business.ID, args)
	if err != nil {
		return err
	}
	body := refused{Code: refusal.Code}
	if verb != "" {
		body.Verb = &verb
	}
	_, err = s.append(tx, evidence.ActionRefused, subject, body)
	return err
}

// append appends an event that the session's role and run stand behind.
func (s Session) append(tx *evidence.Tx, kind evidence.EventKind, subject *string, body any) (evidence.Event, error) {
	encoded, err := wire.Encode(body)
	if err != nil {
		return evidence.Event{}, err
	}
	e := evidence.Event{Business: s.Business.ID, Kind: kind, Subject: subject, Body: encoded}
	if s.Role != "" {
		e.Role, e.Run = &s.Role, &s.Run
	}
	return tx.AppendEvent(e)
}

// refusalSubject is the task ref, decision or message that the arguments name,
// in this order, when it is one of the business; so that the refusal stands on
// that subject's trail. Argument structs say what a field is by its type.
func refusalSubject(rows *evidence.Rows, business wire.Business, args any) (*string, error) {
	if args == nil {
		return nil, nil
	}
	var task, decision, message *string
	v := reflect.ValueOf(args).Elem()
	for i := range v.NumField() {
		f := v.Field(i)
		if f.Kind() == reflect.Pointer && !f.IsNil() {
			f = f.Elem()
		}
		if f.Kind() != reflect.String || f.String() == "" {
			continue
		}
		name := f.String()
		switch f.Interface().(type) {
		case wire.TaskRef:
			if validTaskRef(name) && task == nil {
				task = &name
			}
		case wire.DecisionID:
			found, err := rows.Decision(business, wire.DecisionID(name))
			if err != nil {
				return nil, err
			}
			if found != nil && decision == nil {
				decision = &name
			}
		case wire.MessageID:
			found, err := rows.Message(business, wire.MessageID(name))
			if err != nil {
				return nil, err
			}
			if found != nil && message == nil {
				message = &name
			}
		}
	}
	for _, subject := range []*string{task, decision, message} {
		if subject != nil {
			return subject, nil
		}
	}
	return nil, nil
}
