package broker

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"mosaicstack.dev/mosaic/internal/wire"
)

// Paging belongs to the verbs whose argument structs declare it, and the frame
// of a request has no place for it.
//
// proves: BUS-PROTO-10
func TestOnlyVerbsThatDeclareItPage(t *testing.T) {
	t.Parallel()
	paging := []string{"limit", "after"}
	for _, name := range paging {
		if _, err := wire.ParseRequest([]byte(`{"cap":"c","verb":"trail","` + name + `":1}`)); wire.AsError(err) == nil || wire.AsError(err).Field != name {
			t.Errorf("%s in a request's frame: %v", name, err)
		}
	}
	var pages []string
	for _, verb := range Verbs {
		args := reflect.TypeOf(verb.newArgs()).Elem()
		declared := map[string]bool{}
		for _, f := range reflect.VisibleFields(args) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			declared[name] = true
		}
		if declared["limit"] || declared["after"] {
			pages = append(pages, verb.Name)
			continue
		}
		for _, name := range paging {
			example := strings.TrimSuffix(strings.TrimSpace(verb.Example), "}")
			comma := ","
			if strings.HasSuffix(strings.TrimSpace(example), "{") {
				comma = ""
			}
			err := wire.Decode([]byte(example+comma+`"`+name+`":1}`), verb.newArgs())
			if e := wire.AsError(err); e == nil || e.Code != wire.InvalidRequest || e.Field != name {
				t.Errorf("%s takes %s: %v", verb.Name, name, err)
			}
		}
	}
	if want := []string{"messages"}; !slices.Equal(pages, want) {
		t.Errorf("the verbs that page are %v, want %v", pages, want)
	}
}
