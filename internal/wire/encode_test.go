package wire

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"mosaicstack.dev/mosaic/internal/corpus"
)

func TestEncode(t *testing.T) {
	t.Parallel()
	note := "n"
	for want, v := range map[string]any{
		`null`:          nil,
		`"a\"b\\c/<>&"`: "a\"b\\c/<>&",
		`"\n\r\t\u001b\u007f\u0085\u009b\u2028\u2029"`: "\n\r\t\x1b\x7f\u0085\u009b\u2028\u2029",
		`"é你🚀"`:                            "é你🚀",
		"\"a\ufffdb\ufffd\"":               "a\xffb\x00",
		`[]`:                               []string(nil),
		`{}`:                               map[string]int(nil),
		`[1,2]`:                            []int8{1, 2},
		`{"a":1,"b":[null,true,-0.5,"x"]}`: map[string]any{"b": []any{nil, true, -0.5, "x"}, "a": 1},
		`1e+21`:                            1e21,
		`100000000000000000000`:            1e20,
		`18446744073709551615`:             uint64(math.MaxUint64),
		`{"key":"k","note":null}`:          inner{Key: "k"},
		`{"key":"k","note":"n"}`:           &inner{Key: "k", Note: &note},
		`{"role":"dev","text":""}`:         sample{base: base{"dev"}},
		`{"role":"dev","text":"","once":{"key":"k","note":null}}`: sample{base: base{"dev"}, Once: inner{Key: "k"}},
		`{"b":[1,"a\u0085\u2028\\u0085 b"]}`:                      json.RawMessage(" {\n \"b\" : [1 ,\"a\u0085\u2028\\\\u0085 b\"]}\t"),
	} {
		if got, err := Encode(v); err != nil || string(got) != want {
			t.Errorf("%#v: %s, %v, want %s", v, got, err, want)
		}
	}
}

func TestEncodeRefusesWhatHasNoJSON(t *testing.T) {
	t.Parallel()
	number := reflect.TypeFor[int]()
	twice := reflect.StructOf([]reflect.StructField{{Name: "A", Type: number, Tag: `json:"a"`}, {Name: "B", Type: number, Tag: `json:"a"`}})
	type quoted struct {
		A int `json:"a,string"`
	}
	for _, v := range []any{
		math.NaN(), math.Inf(1), func() {}, make(chan int), complex(1, 2), float32(1), []byte("x"), map[int]string{}, time.Time{}, [2]int{},
		reflect.Zero(twice).Interface(), quoted{}, map[string]any{"x": func() {}}, struct{ E error }{},
		json.RawMessage(`{"a":1,"a":2}`), json.RawMessage("{}x"), json.RawMessage("\"\xff\""), json.RawMessage(""),
	} {
		if got, err := Encode(v); err == nil {
			t.Errorf("%#v: %s", v, got)
		}
	}
	for _, target := range []any{
		nil, sample{}, (*sample)(nil), new(func()), new(time.Time), new(float32), new(map[int]string), new([]byte), new([2]int),
		new(quoted), new(struct{ E error }), reflect.New(twice).Interface(),
	} {
		if Decode([]byte("{}"), target) == nil {
			t.Errorf("%#v is a target", target)
		}
	}
}

func TestEncodeAgreesWithTheLibrary(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := anyValue(4).Draw(t, "value")
		text, err := Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		if !isOneLine(text) {
			t.Fatalf("%q is not one plain line", text)
		}
		var library, own any
		if err := json.Unmarshal(text, &library); err != nil {
			t.Fatal(err)
		}
		if err := Decode(text, &own); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(v, own); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(v, library); diff != "" {
			t.Fatal(diff)
		}
	})
}

// anyValue generates what Decode stores in an any.
func anyValue(depth int) *rapid.Generator[any] {
	text := rapid.Map(rapid.String(), func(s string) string { return strings.ReplaceAll(s, "\x00", "") })
	kinds := []*rapid.Generator[any]{
		rapid.Just[any](nil),
		rapid.Map(rapid.Bool(), func(v bool) any { return v }),
		rapid.Map(rapid.Float64(), func(v float64) any { return v }),
		rapid.Map(text, func(v string) any { return v }),
	}
	if depth > 0 {
		kinds = append(kinds,
			rapid.Map(rapid.SliceOfN(anyValue(depth-1), 0, 5), func(v []any) any { return v }),
			rapid.Map(rapid.MapOfN(text, anyValue(depth-1), 0, 5), func(v map[string]any) any { return v }))
	}
	return rapid.OneOf(kinds...)
}

func TestEveryStringSurvivesAReply(t *testing.T) {
	t.Parallel()
	for _, c := range corpus.Strings(t) {
		line, err := appendReply(nil, nil, c.Text, nil)
		if err != nil || !bytes.HasSuffix(line, []byte("\n")) || !isOneLine(line[:len(line)-1]) {
			t.Errorf("%s: %q, %v", c.Name, line, err)
			continue
		}
		r, err := ParseReply(line[:len(line)-1])
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		var got string
		want := strings.ReplaceAll(strings.ToValidUTF8(c.Text, "\ufffd"), "\x00", "\ufffd")
		if err := Decode(r.Result, &got); err != nil || strings.ToValidUTF8(collapse(got), "") != collapse(want) {
			t.Errorf("%s: %+q became %+q, %v", c.Name, c.Text, got, err)
		}
	}
}

// collapse joins runs of U+FFFD: how many stand for broken bytes is a matter of
// taste.
func collapse(s string) string {
	for strings.Contains(s, "\ufffd\ufffd") {
		s = strings.ReplaceAll(s, "\ufffd\ufffd", "\ufffd")
	}
	return s
}

// arguments are those of message.send, which the corpus is written for.
type arguments struct {
	To        Role        `json:"to"`
	Body      string      `json:"body"`
	Class     string      `json:"class,omitempty"`
	InReplyTo *MessageID  `json:"in_reply_to,omitempty"`
	Corrects  *MessageID  `json:"corrects,omitempty"`
	Decision  *DecisionID `json:"decision,omitempty"`
}

// proves: BUS-PROTO-21 BUS-PROTO-22
func TestTheCorpusOfArguments(t *testing.T) {
	t.Parallel()
	for _, c := range corpus.Arguments(t) {
		var a arguments
		err := Decode([]byte(c.Text), &a)
		verdict := corpus.Accept
		if e := AsError(err); e != nil {
			if verdict = e.Field; e.Code != InvalidRequest {
				t.Errorf("%s: %v", c.Name, err)
			}
			if verdict == "" {
				verdict = "-"
			}
		}
		if verdict != c.Verdict {
			t.Errorf("%s: %s, want %s (%v)", c.Name, verdict, c.Verdict, err)
		}
	}
}

// TestDecodingTakesLinearTime grows documents that make careless decoders
// quadratic. Sixteen times the length takes 16 times as long, more where caches
// end, and 256 times when each part looks at all the others.
func TestDecodingTakesLinearTime(t *testing.T) {
	t.Parallel()
	for name, document := range map[string]func(n int) string{
		"keys":    func(n int) string { return "{" + numbered(n, `"k%d":0`) + "}" },
		"escaped": func(n int) string { return "{" + numbered(n, `"\u006b%d":0`) + "}" },
		"objects": func(n int) string { return "[" + numbered(n, `{"a":%d}`) + "]" },
		"digits":  func(n int) string { return "0." + strings.Repeat("0", 10*n) + "1" },
		"number":  func(n int) string { return strings.Repeat("9", 10*n) },
		"deep":    func(n int) string { return strings.Repeat(`[`, 10*n) },
		"escapes": func(n int) string { return `"` + strings.Repeat(`\n`, 5*n) + `"` },
		"spaces":  func(n int) string { return strings.Repeat(" ", 10*n) + "1" },
	} {
		small, large := []byte(document(1250)), []byte(document(20000))
		for _, target := range []any{new(json.RawMessage), new(any), new(map[string]json.RawMessage)} {
			quick, slow := fastest(small, target), fastest(large, target)
			if slow > 80*quick && slow > time.Millisecond {
				t.Errorf("%s into %T: %v for %d bytes, %v for %d", name, target, quick, len(small), slow, len(large))
			}
		}
	}
}

func numbered(n int, format string) string {
	var list []string
	for i := range n {
		list = append(list, strings.ReplaceAll(format, "%d", string(appendDigits(nil, i))))
	}
	return strings.Join(list, ",")
}

func appendDigits(dst []byte, i int) []byte {
	text, _ := AppendJSON(dst, i)
	return text
}

// fastest is the processor time of the quickest of several tries: other work on
// the machine does not count.
func fastest(data []byte, target any) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	best := time.Hour
	for range 7 {
		start := processorTime()
		_ = Decode(data, target)
		best = min(best, processorTime()-start)
	}
	return best
}

func processorTime() time.Duration {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now)
	return time.Duration(now.Nano())
}
