package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"mosaicstack.dev/mosaic/internal/corpus"
)

// FuzzDecode compares the decoder with encoding/json: it takes nothing that the
// library calls invalid, what it takes has the library's values, and a second,
// slow check of the library's own tokens finds nothing that should have been
// refused.
func FuzzDecode(f *testing.F) {
	for _, c := range append(corpus.JSON(f), corpus.Arguments(f)...) {
		f.Add([]byte(c.Text))
	}
	f.Add([]byte(`{"id":1,"cap":"c","verb":"v","args":{"a":[1]}}`))
	f.Add([]byte(`{"role":"dev","text":"x","count":-1,"share":0.5,"options":[{"key":"k","note":null}],"vars":{"a":1},"body":[{}]}`))
	f.Fuzz(func(t *testing.T, data []byte) { compare(t, data) })
}

// compare tries a document with targets of every kind.
func compare(t *testing.T, data []byte) {
	compareTarget[json.RawMessage](t, data)
	compareTarget[any](t, data)
	compareTarget[sample](t, data)
	compareTarget[Request](t, data)
	compareTarget[map[string]json.RawMessage](t, data)
	compareTarget[[]string](t, data)
	compareTarget[map[Role]uint64](t, data)
}

func compareTarget[T any](t *testing.T, data []byte) {
	t.Helper()
	var got, want T
	given := bytes.Clone(data)
	err := Decode(data, &got)
	if !bytes.Equal(given, data) {
		t.Fatalf("%T: the document was changed", got)
	}
	if err != nil {
		checkRefusal(t, err)
		return
	}
	library := json.NewDecoder(bytes.NewReader(data))
	library.DisallowUnknownFields()
	if err := library.Decode(&want); err != nil {
		t.Fatalf("%T: %.200q: encoding/json refuses: %v", got, data, err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%T: %.200q: got %#v, want %#v", got, data, got, want)
	}
	if why := unacceptable(data); why != "" {
		t.Fatalf("%T: %.200q was taken although %s", got, data, why)
	}
	checkEncoding(t, got)
}

func checkRefusal(t *testing.T, err error) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Code != InvalidRequest || printableKey(e.Field) != e.Field {
		t.Fatalf("a refusal without a proper code: %#v", err)
	}
}

// checkEncoding writes a value and reads it again.
func checkEncoding[T any](t *testing.T, v T) {
	t.Helper()
	text, err := Encode(v)
	if err != nil {
		t.Fatalf("%#v: %v", v, err)
	}
	if !isOneLine(text) {
		t.Fatalf("%q is not one plain line", text)
	}
	var again T
	if err := Decode(text, &again); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if once, err := Encode(again); err != nil || !bytes.Equal(once, text) {
		t.Fatalf("%s became %s, %v", text, once, err)
	}
}

func isOneLine(text []byte) bool {
	for _, r := range string(text) {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 {
			return false
		}
	}
	return utf8.Valid(text)
}

// unacceptable is a second opinion on a document that encoding/json takes.
func unacceptable(data []byte) string {
	switch {
	case !utf8.Valid(data):
		return "it is not UTF-8"
	case bytes.IndexByte(data, 0) >= 0:
		return "it holds NUL"
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if why := walk(d, 0, countReplacements(data)); why != "" {
		return why
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return "something follows"
	}
	return ""
}

// countReplacements counts what may decode to U+FFFD: encoding/json turns a
// lone surrogate into one more.
func countReplacements(data []byte) *int {
	n := strings.Count(string(data), "\ufffd") + strings.Count(strings.ToLower(string(data)), `\ufffd`)
	return &n
}

func walk(d *json.Decoder, depth int, replacements *int) string {
	token, err := d.Token()
	if err != nil {
		return err.Error()
	}
	switch token := token.(type) {
	case string:
		return walkText(token, replacements)
	case json.Number:
		return walkNumber(token)
	case json.Delim:
		if depth++; depth > MaxDepth {
			return "it is too deep"
		}
		return walkMembers(d, token, depth, replacements)
	}
	return ""
}

func walkMembers(d *json.Decoder, open json.Delim, depth int, replacements *int) string {
	seen := map[string]bool{}
	for d.More() {
		if open == '{' {
			key, err := d.Token()
			if err != nil {
				return err.Error()
			}
			if why := walkText(key.(string), replacements); why != "" {
				return why
			}
			if seen[key.(string)] {
				return "a key is there twice"
			}
			seen[key.(string)] = true
		}
		if why := walk(d, depth, replacements); why != "" {
			return why
		}
	}
	_, _ = d.Token() // the closing bracket
	return ""
}

func walkText(text string, replacements *int) string {
	if *replacements -= strings.Count(text, "\ufffd"); *replacements < 0 {
		return "it holds a lone surrogate"
	}
	if strings.IndexByte(text, 0) >= 0 {
		return "it holds NUL"
	}
	return ""
}

func walkNumber(n json.Number) string {
	if _, err := n.Int64(); err == nil {
		return ""
	}
	if f, err := n.Float64(); err != nil || f == 0 && strings.Trim(strings.SplitN(strings.ToLower(n.String()), "e", 2)[0], "-0.") != "" {
		return "a number is out of range"
	}
	return ""
}

// FuzzFraming sends arbitrary bytes in arbitrary pieces: each complete line
// gets exactly one reply, and another client is served meanwhile.
func FuzzFraming(f *testing.F) {
	const request = `{"id":1,"cap":"c","verb":"v","args":{"a":1}}` + "\n"
	for _, text := range []string{
		"", "\n", "\n\n\n", request, request + request, request[:20], request + request[:20], "\r\n", "{}\n",
		strings.Repeat("x", MaxRequest+1) + "\n", strings.Repeat("x", MaxRequest+1), request + strings.Repeat("x", 3*MaxRequest) + "\n" + request,
		strings.Repeat("\n", 200), strings.Repeat(request, 100), "\x00\n\xff\n",
	} {
		f.Add([]byte(text), uint16(7))
		f.Add([]byte(text), uint16(60000))
	}
	for _, c := range corpus.JSON(f) {
		f.Add([]byte(c.Text+"\n"+request), uint16(1000))
	}
	for _, c := range corpus.Arguments(f) {
		f.Add([]byte(`{"id":2,"cap":"c","verb":"v","args":`+c.Text+"}\n"), uint16(1000))
	}
	path := serve(f, &Server{Handler: echo, MaxInFlight: 4})
	f.Fuzz(func(t *testing.T, data []byte, piece uint16) {
		other := dial(t, path)
		defer func() { _ = other.Close() }()
		replies := exchange(t, path, data, max(1, int(piece)))
		checkReplies(t, data, replies)
		other.send(t, request)
		other.expect(t, `{"id":1,"ok":true,"result":{"a":1}}`)
	})
}

// exchange sends data in pieces, closes its side, and returns all reply lines.
func exchange(t *testing.T, path string, data []byte, piece int) []Reply {
	t.Helper()
	c := dial(t, path)
	defer func() { _ = c.Close() }()
	written := make(chan struct{})
	go func() {
		defer close(written)
		for len(data) > 0 {
			n := min(piece, len(data))
			if _, err := c.Write(data[:n]); err != nil {
				return // refused: the replies say why
			}
			data = data[n:]
		}
		_ = c.CloseWrite()
	}()
	var replies []Reply
	for {
		line, err := c.in.ReadBytes('\n')
		if err != nil {
			// A line that was refused unread leaves bytes behind, and so a reset.
			if len(line) > 0 || !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("half a reply %q, %v", line, err)
			}
			break
		}
		r, err := ParseReply(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			t.Errorf("no reply: %q, %v", line, err)
		}
		replies = append(replies, r)
	}
	<-written
	return replies
}

func checkReplies(t *testing.T, data []byte, replies []Reply) {
	t.Helper()
	want := 0
	for rest := data; len(rest) > 0; want++ {
		line, after, complete := bytes.Cut(rest, []byte("\n"))
		if len(line) > MaxRequest {
			want++ // refused, and nothing more is read
			break
		}
		if !complete {
			break
		}
		rest = after
	}
	if len(replies) != want {
		t.Errorf("%d replies, want %d", len(replies), want)
	}
}

func TestFuzzSeeds(t *testing.T) {
	t.Parallel()
	// The second opinion must find what the corpus refuses for what it judges.
	for _, c := range corpus.JSON(t) {
		switch c.Verdict {
		case corpus.Accept:
			if why := unacceptable([]byte(c.Text)); why != "" {
				t.Errorf("%s: %s", c.Name, why)
			}
		case "duplicate", "deep", "nul", "surrogate", "utf8", "trailing":
			if unacceptable([]byte(c.Text)) == "" {
				t.Errorf("%s: nothing is found", c.Name)
			}
		}
	}
}
