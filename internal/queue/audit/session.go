package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"mosaicstack.dev/mosaic/internal/wire"
)

// header is the first line of a session file (QUEUE-OPEN-93).
type header struct {
	Type          string          `json:"type"`
	ID            string          `json:"id"`
	Timestamp     string          `json:"timestamp"`
	Dir           string          `json:"cwd"`
	ParentSession json.RawMessage `json:"parentSession"`
}

// entry is every other line.
type entry struct {
	Type      string   `json:"type"`
	ID        string   `json:"id"`
	ParentID  *string  `json:"parentId"`
	Timestamp string   `json:"timestamp"`
	Message   *message `json:"message"`
}

type message struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"toolCallId"`
	IsError    *bool           `json:"isError"`
	Details    struct {
		Truncated json.RawMessage `json:"truncation"`
	} `json:"details"`
}

// item is one piece of a message's content.
type item struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// session is a session file.
type session struct {
	header  header
	entries []entry
}

var errSession = errors.New("it is no session file")

// parseSession reads a session file strictly, line by line.
func parseSession(text []byte) (*session, error) {
	lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	s := &session{}
	if err := wire.DecodePart(lines[0], &s.header); err != nil || s.header.Type != "session" || s.header.ID == "" {
		return nil, fmt.Errorf("%w: line 1 is no header", errSession)
	}
	for n, line := range lines[1:] {
		var e entry
		if err := wire.DecodePart(line, &e); err != nil || e.Type == "" || e.ID == "" {
			return nil, fmt.Errorf("%w: line %d is no entry", errSession, n+2)
		}
		s.entries = append(s.entries, e)
	}
	return s, nil
}

func (e entry) role() string {
	if e.Type != "message" || e.Message == nil {
		return ""
	}
	return e.Message.Role
}

// items are the pieces of a message; a plain string is one text.
func (m *message) items() []item {
	var text string
	if wire.Decode(m.Content, &text) == nil {
		return []item{{Type: "text", Text: text}}
	}
	var list []json.RawMessage
	if wire.Decode(m.Content, &list) != nil {
		return nil
	}
	var items []item
	for _, raw := range list {
		var i item
		if wire.DecodePart(raw, &i) == nil {
			items = append(items, i)
		}
	}
	return items
}

// text is all text of a message.
func (m *message) text() string {
	var parts []string
	for _, i := range m.items() {
		if i.Type == "text" {
			parts = append(parts, i.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// truncated reports whether the result says that part of it is missing.
func (m *message) truncated() bool {
	cut := string(m.Details.Truncated)
	return cut != "" && cut != "null" && cut != "false" || strings.Contains(strings.ToLower(m.text()), "truncated")
}

func moment(stamp string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339, stamp)
	return t, err == nil
}
