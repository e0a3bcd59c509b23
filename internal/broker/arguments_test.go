package broker

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mosaicstack.dev/mosaic/internal/wire"
)

func TestArgumentsAreThoseOfTheStruct(t *testing.T) {
	type option struct {
		Key string `json:"key"`
	}
	type args struct {
		To      wire.Role       `json:"to"`
		Note    *string         `json:"note,omitempty" limit:"1 to 9 characters"`
		Limit   int             `json:"limit,omitempty"`
		Block   bool            `json:"blocking"`
		Options []option        `json:"options"`
		Vars    map[string]int  `json:"vars,omitzero"`
		Any     json.RawMessage `json:"any"`
		Ignored string          `json:"-"`
	}
	v := read(Verb{}, func(*Call, args) (any, error) { return nil, nil })
	want := []Argument{
		{"to", "string", false, ""},
		{"note", "string", true, "1 to 9 characters"},
		{"limit", "integer", true, ""},
		{"blocking", "boolean", false, ""},
		{"options", "list of object", false, ""},
		{"vars", "object", true, ""},
		{"any", "value", false, ""},
	}
	if diff := cmp.Diff(want, v.Arguments()); diff != "" {
		t.Error(diff)
	}
	if got := read(Verb{}, func(*Call, none) (any, error) { return nil, nil }).Arguments(); len(got) != 0 {
		t.Errorf("no arguments: %v", got)
	}
}

// Every row of the registry has what help and reference print, and its
// arguments can be described.
func TestVerbsAreDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range Verbs {
		if seen[v.Name] {
			t.Errorf("%s is there twice", v.Name)
		}
		seen[v.Name] = true
		if v.Summary == "" || v.Example == "" || !json.Valid([]byte(v.Example)) || v.Sessions == 0 {
			t.Errorf("%s lacks a summary, an example in JSON, or sessions", v.Name)
		}
		for _, a := range v.Arguments() {
			if a.Name == "" || a.Type == "" {
				t.Errorf("%s has an argument without a name or type: %+v", v.Name, a)
			}
		}
		for _, code := range v.Codes {
			if _, ok := wire.Explain(code); !ok {
				t.Errorf("%s may answer %s, which no table describes", v.Name, code)
			}
		}
	}
}
