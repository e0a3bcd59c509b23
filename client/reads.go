package client

import (
	"context"
	"encoding/json"
)

// Reads are the reading verbs that every surface shares (BUS-PROTO-13). Each
// returns the broker's JSON as it came; a role session gets human-required
// from Decisions, Replies and Messages.
type Reads struct{ Client *Client }

// Inbox returns what waits in the session's business.
func (r Reads) Inbox(ctx context.Context) (json.RawMessage, error) {
	return r.raw(ctx, "inbox", nil)
}

// Agents returns who holds which role.
func (r Reads) Agents(ctx context.Context) (json.RawMessage, error) {
	return r.raw(ctx, "agents", nil)
}

// Tasks returns the task board; args is nil, or what the verb takes.
func (r Reads) Tasks(ctx context.Context, args any) (json.RawMessage, error) {
	return r.raw(ctx, "tasks", args)
}

// Trail returns the records linked with a subject, in the order in which they
// were written; none for an unknown subject.
func (r Reads) Trail(ctx context.Context, subject string) (json.RawMessage, error) {
	return r.raw(ctx, "trail", struct {
		Subject string `json:"subject"`
	}{subject})
}

// Decisions returns the open decisions routed to roles (list "roles"), or the
// last 50 closed ones (list "recent").
func (r Reads) Decisions(ctx context.Context, list string) (json.RawMessage, error) {
	return r.raw(ctx, "decisions", struct {
		List string `json:"list"`
	}{list})
}

// Replies returns the messages that reply to a message, oldest first, at most
// 50.
func (r Reads) Replies(ctx context.Context, id string) (json.RawMessage, error) {
	return r.raw(ctx, "replies", struct {
		ID string `json:"id"`
	}{id})
}

// Page asks for a part of the person's messages.
type Page struct {
	Limit int    `json:"limit,omitempty"` // 1 to 200; 0 means 50
	After string `json:"after,omitempty"` // the Next of the page before
}

// Messages is a page of the person's messages, newest first. Total and Unread
// count the whole feed; Next is nil on the last page.
type Messages struct {
	Messages []json.RawMessage `json:"messages"`
	Total    int               `json:"total"`
	Unread   int               `json:"unread"`
	Next     *string           `json:"next"`
}

// Messages returns a page of the messages addressed to the person.
func (r Reads) Messages(ctx context.Context, page Page) (Messages, error) {
	var m Messages
	err := r.Client.Call(ctx, "messages", page, &m)
	return m, err
}

func (r Reads) raw(ctx context.Context, verb string, args any) (json.RawMessage, error) {
	var result json.RawMessage
	err := r.Client.Call(ctx, verb, args, &result)
	return result, err
}
