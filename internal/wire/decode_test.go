package wire

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mosaicstack.dev/mosaic/internal/corpus"
)

type inner struct {
	Key  string  `json:"key"`
	Note *string `json:"note"`
}

type base struct {
	Role Role `json:"role"`
}

type sample struct {
	base
	Text    string          `json:"text"`
	Count   int8            `json:"count,omitempty"`
	Start   uint64          `json:"start,omitempty"`
	Share   float64         `json:"share,omitempty"`
	On      bool            `json:"on,omitempty"`
	After   *MessageID      `json:"after,omitempty"`
	Options []inner         `json:"options,omitempty"`
	Roles   map[Role]*inner `json:"roles,omitempty"`
	Body    json.RawMessage `json:"body,omitempty"`
	Vars    map[string]any  `json:"vars,omitempty"`
	Once    inner           `json:"once,omitzero"`
	Self    *sample         `json:"self,omitempty"`
	Hidden  string          `json:"-"`
}

func TestDecodeStores(t *testing.T) {
	t.Parallel()
	const doc = ` {"role":"dev","text":"a\u0062\n\ud83d\ude00","count":-128,"start":18446744073709551615,"share":0.10,
		"on":true,"after":"m","options":[{"key":"yes","note":null},{"key":"no","note":"n"}],
		"roles":{"dev":{"key":"k","note":null},"rev":null},"body": {"a":[1, 2]} ,
		"vars":{"x":[null,true,1.5,"s",{}]},"once":{"key":"o","note":null},"self":{"role":"rev","text":""}} `
	var got sample
	if err := Decode([]byte(doc), &got); err != nil {
		t.Fatal(err)
	}
	n, m := "n", MessageID("m")
	want := sample{base: base{"dev"}, Text: "ab\n😀", Count: -128, Start: 18446744073709551615, Share: 0.1, On: true,
		After: &m, Options: []inner{{"yes", nil}, {"no", &n}}, Roles: map[Role]*inner{"dev": {"k", nil}, "rev": nil},
		Body: json.RawMessage(`{"a":[1, 2]}`), Vars: map[string]any{"x": []any{nil, true, 1.5, "s", map[string]any{}}},
		Once: inner{Key: "o"}, Self: &sample{base: base{"rev"}}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(sample{}, base{})); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeNamesTheArgument(t *testing.T) {
	t.Parallel()
	for doc, field := range map[string]string{
		`{"role":"dev"}`:                                     "text",
		`{"text":"x"}`:                                       "role",
		`{"role":"dev","text":1}`:                            "text",
		`{"role":"dev","text":"x","Count":1}`:                "Count",
		`{"role":"dev","text":"x","count":128}`:              "count",
		`{"role":"dev","text":"x","count":1.0}`:              "count",
		`{"role":"dev","text":"x","after":null}`:             "after",
		`{"role":"dev","text":"x","options":null}`:           "options",
		`{"role":"dev","text":"x","options":[{}]}`:           "options",
		`{"role":"dev","role":"rev","text":"x"}`:             "role",
		`{"role":"dev","text":"x","body":{"a":1,"a":2}}`:     "body",
		`{"role":"dev","text":"x","share":9007199254740993}`: "share",
		`[]`:                          "",
		`{"role":"dev","text":"x"} x`: "",
		`{"role":"dev","text":"x","bad key\n":1}`: "",
	} {
		err := Decode([]byte(doc), new(sample))
		var e *Error
		if !errors.As(err, &e) || e.Code != InvalidRequest || e.Field != field {
			t.Errorf("%s: %v, want field %q", doc, err, field)
		}
	}
}

// The words of corpus.JSON for each fault.
var verdicts = map[fault]string{
	"": corpus.Accept, faultDuplicate: "duplicate", faultTrailing: "trailing", faultUTF8: "utf8", faultSurrogate: "surrogate",
	faultNUL: "nul", faultControl: "control", faultDeep: "deep", faultNumber: "number", faultSyntax: "syntax", faultEscape: "syntax",
}

func faultOf(err error) fault {
	var d *DecodeError
	if errors.As(err, &d) {
		return fault(d.Reason)
	}
	return ""
}

// proves: BUS-PROTO-21
func TestDecodeJudgesTheCorpus(t *testing.T) {
	t.Parallel()
	for _, c := range corpus.JSON(t) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			var raw json.RawMessage
			if got := verdicts[faultOf(Decode([]byte(c.Text), &raw))]; got != c.Verdict {
				t.Errorf("raw: %s, want %s", got, c.Verdict)
			}
			var v any
			got := verdicts[faultOf(Decode([]byte(c.Text), &v))]
			if got != c.Verdict && got != "number" { // any is a float64, which holds fewer numbers
				t.Errorf("any: %s, want %s", got, c.Verdict)
			}
		})
	}
}
