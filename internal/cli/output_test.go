package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"mosaicstack.dev/mosaic/internal/corpus"
	"mosaicstack.dev/mosaic/internal/display"
	"mosaicstack.dev/mosaic/internal/wire"
)

// obeyed are the characters that must never reach a terminal from others.
func obeyed(text string) bool {
	return strings.ContainsFunc(strings.ReplaceAll(text, "\n", ""), func(r rune) bool {
		return r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
	})
}

func TestHostileTextStaysInItsLine(t *testing.T) {
	t.Parallel()
	for _, c := range corpus.Strings(t) {
		t.Run(c.Name, func(t *testing.T) {
			w := &screen{}
			w.line("before %s after", c.Text)
			w.table([]string{"A", "B"}, [][]string{{c.Text, c.Text}})
			w.fields("", [2]string{"name", "x" + c.Text})
			if got := strings.Count(w.text.String(), "\n"); got != 4 {
				t.Errorf("%d lines instead of 4: %q", got, w.text.String())
			}
			w.body("  | ", c.Text)
			for _, line := range strings.Split(strings.TrimSuffix(w.text.String(), "\n"), "\n")[4:] {
				if !strings.HasPrefix(line, "  | ") {
					t.Errorf("a line of a body could pass for ours: %q", line)
				}
			}
			if obeyed(w.text.String()) && utf8.ValidString(c.Text) {
				t.Errorf("a terminal would obey %q", w.text.String())
			}
		})
	}
}

func TestHostileTextCannotBreakADocument(t *testing.T) {
	t.Parallel()
	for _, c := range corpus.Strings(t) {
		var out bytes.Buffer
		p := newPrinter(&out, &out, environment{})
		p.json = true
		if err := p.answer(map[string]string{"body": c.Text}, nil); err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		var back map[string]string
		if err := json.Unmarshal(out.Bytes(), &back); err != nil {
			t.Errorf("%s: %v in %q", c.Name, err, out.String())
		}
		if want := strings.ReplaceAll(c.Text, "\x00", "�"); utf8.ValidString(c.Text) && back["body"] != want {
			t.Errorf("%s: came back as %q, not %q", c.Name, back["body"], want)
		}
		if strings.Count(out.String(), "\n") != 1 || obeyed(out.String()) && utf8.ValidString(c.Text) {
			t.Errorf("%s: not one safe line: %q", c.Name, out.String())
		}
	}
}

func TestHostileTextInAFailure(t *testing.T) {
	t.Parallel()
	for _, c := range corpus.Strings(t) {
		for _, asJSON := range []bool{false, true} {
			var out bytes.Buffer
			p := newPrinter(&bytes.Buffer{}, &out, environment{})
			p.json = asJSON
			if code := p.finish(explained(wire.Refuse(wire.Failed), "%s", c.Text)); code != exitFailed {
				t.Errorf("%s: code %d", c.Name, code)
			}
			if strings.Count(out.String(), "\n") != 1 {
				t.Errorf("%s: more than one line: %q", c.Name, out.String())
			}
		}
	}
}

func TestTablesFitTheTerminal(t *testing.T) {
	t.Parallel()
	for _, width := range []int{40, 80, 132} {
		w := &screen{width: width}
		w.table([]string{"ID", "NAME", "TEXT"}, [][]string{
			{"12345678", "dev", strings.Repeat("word ", 60)},
			{"12345678", strings.Repeat("n", 200), "你好" + strings.Repeat("世界", 90)},
			{"", "", ""},
		})
		for i, line := range strings.Split(strings.TrimSuffix(w.text.String(), "\n"), "\n") {
			if display.Width(line) > width+10 || width >= 80 && display.Width(line) > width {
				t.Errorf("width %d, line %d has %d columns: %q", width, i, display.Width(line), line)
			}
		}
		if !strings.Contains(w.text.String(), "…") {
			t.Error("the cut is not shown")
		}
	}
}

func TestFoldBreaksAtBlanks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", []string{""}},
		{"short", []string{"short"}},
		{"twelve chars twelve chars", []string{"twelve chars twelve", "chars"}},
		{"exactly twenty chars and", []string{"exactly twenty chars", "and"}},
		{strings.Repeat("x", 45), []string{strings.Repeat("x", 20), strings.Repeat("x", 20), "xxxxx"}},
		{strings.Repeat("世", 15), []string{strings.Repeat("世", 10), strings.Repeat("世", 5)}},
	} {
		if got := fold(c.text, 20); strings.Join(got, "|") != strings.Join(c.want, "|") {
			t.Errorf("fold(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}

func TestColourIsForTerminalsOnly(t *testing.T) {
	t.Parallel()
	plain, coloured := &screen{}, &screen{colour: true}
	for _, w := range []*screen{plain, coloured} {
		w.line("%s %s", w.bold("%s", "a\x1b[31m"), w.yellow("b"))
	}
	if got := plain.text.String(); got != "a\\x1b[31m b\n" {
		t.Errorf("without a terminal: %q", got)
	}
	if got := coloured.text.String(); got != "\x1b[1ma\\x1b[31m\x1b[0m \x1b[33mb\x1b[0m\n" {
		t.Errorf("on a terminal: %q", got)
	}
	if p := newPrinter(&bytes.Buffer{}, &bytes.Buffer{}, environment{}); p.colour || p.watched {
		t.Error("a buffer counts as a terminal")
	}
}

func TestGetPrintsOneField(t *testing.T) {
	t.Parallel()
	doc := map[string]any{
		"id": "x", "n": 7, "none": nil, "yes": true, "empty": []string{},
		"messages": []map[string]any{{"id": "a", "body": "two\nlines"}, {"id": "b"}},
	}
	for path, want := range map[string]string{
		"id": "x\n", "n": "7\n", "yes": "true\n", "none": "", "empty.*.id": "", "messages.*.body": "two\nlines\n",
		"messages.*.id": "a\nb\n", "messages.1.id": "b\n",
		"messages.0.body": "two\nlines\n", "messages.1": "{\"id\":\"b\"}\n",
	} {
		var out bytes.Buffer
		p := newPrinter(&out, &out, environment{})
		p.get = path
		if err := p.answer(doc, nil); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("--get %s printed %q, want %q", path, out.String(), want)
		}
	}
	for _, path := range []string{"missing", "id.deeper", "none.deeper", "messages.2.id", "messages.-1.id", "messages.*.nosuch", "*", "."} {
		var out bytes.Buffer
		p := newPrinter(&out, &bytes.Buffer{}, environment{})
		p.get = path
		if code := p.finish(p.answer(doc, nil)); code != exitFailed || out.Len() > 0 {
			t.Errorf("--get %s: code %d, printed %q", path, code, out.String())
		}
	}
	var out bytes.Buffer
	p := newPrinter(&out, &out, environment{})
	p.get, p.json = "id", true
	if p.answer(doc, nil) != nil || out.String() != "\"x\"\n" {
		t.Errorf("--get id --json printed %q", out.String())
	}
}

func TestExitCodesSayWhatMustHappenNext(t *testing.T) {
	t.Parallel()
	for _, info := range wire.Codes {
		want := exitRefused
		switch info.Code {
		case wire.Unavailable, wire.Busy, wire.StorageUnavailable, wire.ResponseTooLarge, wire.ProtocolFailed, wire.SpawnFailed,
			wire.Failed, wire.Interrupted, wire.TimedOut:
			want = exitFailed
		case wire.OutcomeUnknown, wire.NotShown:
			want = exitUncertain
		case wire.Usage:
			want = exitUsage
		}
		f := describe(wire.RefuseField(info.Code, "id"), false)
		if f.exit != want || f.code != info.Code || f.sentence != info.Sentence || f.remedy != info.Remedy || f.field != "id" {
			t.Errorf("%s: %+v", info.Code, f)
		}
		if f := describe(starting{wire.Refuse(info.Code)}, false); f.exit != exitRefused && info.Code != wire.OutcomeUnknown && info.Code != wire.NotShown && info.Code != wire.Usage {
			t.Errorf("%s at the start: exit %d (BUS-BOOT-50)", info.Code, f.exit)
		}
	}
	if f := describe(errors.New("disk\non fire"), false); f.exit != exitFailed || f.code != wire.Failed || strings.Contains(f.sentence, "\n") {
		t.Errorf("an error of the machine: %+v", f)
	}
}

func TestAManagedRunGetsNoOperatorsRemedy(t *testing.T) {
	t.Parallel()
	for _, info := range wire.Codes {
		f := describe(wire.Refuse(info.Code), true)
		if info.Operator && f.remedy != "" || !info.Operator && f.remedy != info.Remedy {
			t.Errorf("%s: remedy %q", info.Code, f.remedy)
		}
	}
	got := runWith(t, []string{"MOSAIC_BUS_CAP=x"}, "explain", "writer-locked")
	if got.code != 0 || strings.Contains(got.stdout, "unlock") {
		t.Errorf("explain tells a run: %q", got.stdout)
	}
}

// Long messages leave the decisions of the inbox on the screen.
func TestInboxShowsTheBeginningOfLongMessages(t *testing.T) {
	t.Parallel()
	var messages []message
	for range 50 {
		messages = append(messages, message{ID: "01900000-0000-7000-8000-00000000abcd", FromRole: "dev", ToRole: "human", Class: "INFO", Body: strings.Repeat("x", 32000)})
	}
	messages[0].Body = "one\ntwo\nthree"
	messages[1].Body = "one\ntwo\nthree\nfour"
	rows, err := json.Marshal(messages)
	if err != nil {
		t.Fatal(err)
	}
	w := &screen{}
	showInbox(w, inbox{Decisions: []decision{{ID: "01900000-0000-7000-8000-000000001111", Class: "gated"}}, Messages: rows, Unread: 150, More: 7})
	text := w.text.String()
	if n := strings.Count(text, "\n"); n > 70 {
		t.Errorf("the inbox has %d lines", n)
	}
	if got := strings.Count(text, "… the rest: mosaic read 0000abcd"); got != inboxMessages-1 {
		t.Errorf("%d messages say how to read their rest:\n%s", got, text)
	}
	for _, want := range []string{"150 messages unread", "140 more: mosaic messages", "8 decisions wait", "    | three\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the inbox does not say %q", want)
		}
	}
	if strings.Contains(text, "four") {
		t.Error("a message is longer than its excerpt")
	}
}
