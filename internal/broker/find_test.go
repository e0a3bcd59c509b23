package broker

import (
	"slices"
	"strings"
	"testing"

	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/wire"
)

// People and roles find every record of their business by a part of its id, also
// what no list of its own has: what it sent itself, and what is closed.
func TestFind(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev, human := tb.holder("dev"), tb.human()
	mine := get[sent](tb, human, "message.send", args{"to": "dev", "body": "hello"})
	closed := tb.raise(dev, "deploy", "web")
	tb.do(human, "decision.resolve", args{"id": closed.ID, "choice": "no"})
	for name, s := range map[string]session{"human": human, "role": dev} {
		for _, want := range []evidence.Found{
			{Kind: evidence.FoundMessage, ID: string(mine.ID)},
			{Kind: evidence.FoundDecision, ID: string(closed.ID)},
			{Kind: evidence.FoundRun, ID: string(dev.run)},
			{Kind: evidence.FoundEvent, ID: string(*mine.Request)},
		} {
			for _, part := range []string{want.ID[28:], want.ID[:18], want.ID} {
				if got := get[[]evidence.Found](tb, s, "find", args{"id": part}); !slices.Contains(got, want) {
					t.Errorf("%s finds %v by %s, not the %s", name, got, part, want.Kind)
				}
			}
		}
	}
	if raw := string(tb.do(tb.humanOf("globex"), "find", args{"id": closed.ID[28:]})); raw != "[]" {
		t.Errorf("another business finds %s", raw)
	}
	for _, bad := range []string{"", "12345", "ABCDEF", "zzzzzz", "%%%%%%", strings.Repeat("a", 37)} {
		tb.refused(human, "find", args{"id": bad}, wire.InvalidRequest)
	}
}

// An event and a run have a trail as well, since people are shown their ids.
func TestTrailOfAnEventAndARun(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev, human := tb.holder("dev"), tb.human()
	d := tb.raise(dev, "deploy", "web")
	whole := string(tb.do(human, "trail", args{"subject": d.ID}))
	var raise evidence.Event
	for _, e := range get[[]evidence.Found](tb, human, "find", args{"id": string(dev.run)}) {
		if e.Kind != evidence.FoundRun {
			t.Errorf("the run is found as %v", e)
		}
	}
	rows := tb.query(`SELECT id FROM events WHERE subject = ?`, string(d.ID))
	raise.ID = wire.EventID(rows[0][0])
	if got := string(tb.do(human, "trail", args{"subject": raise.ID})); got != whole {
		t.Errorf("the trail of the raise is not that of its decision:\n%s\n%s", got, whole)
	}
	if got := string(tb.do(human, "trail", args{"subject": dev.run})); !strings.Contains(got, "session.launched") || !strings.Contains(got, `"op":"claim"`) {
		t.Errorf("the trail of a run: %s", got)
	}
}

// What the registry says of an argument is what the handlers hold.
func TestLimitsAreAsTheRegistrySays(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev, human := tb.holder("dev"), tb.human()
	raise := func(change args) args {
		a := args{"action": "deploy", "target": "web", "question": "Deploy?", "recommendation": "yes", "blocking": false,
			"options": []args{{"key": "yes", "text": "do"}, {"key": "no", "text": "leave"}}}
		for k, v := range change {
			a[k] = v
		}
		return a
	}
	for _, tt := range []struct {
		verb, argument, limit string
		s                     session
		with                  func(text string) args
		most                  int
	}{
		{"message.send", "body", "1 to 32768 bytes of UTF-8", human, func(x string) args { return args{"to": "dev", "body": x} }, 32768},
		{"decision.raise", "question", "1 to 4096 characters", dev, func(x string) args { return raise(args{"question": x}) }, 4096},
		{"decision.raise", "target", "1 to 512 characters", dev, func(x string) args { return raise(args{"target": x}) }, 512},
	} {
		v, _ := FindVerb(tt.verb)
		i := slices.IndexFunc(v.Arguments(), func(a Argument) bool { return a.Name == tt.argument })
		if got := v.Arguments()[i].Limit; got != tt.limit {
			t.Errorf("%s of %s: %q", tt.argument, tt.verb, got)
		}
		tb.do(tt.s, tt.verb, tt.with(strings.Repeat("x", tt.most)))
		if e := tb.refused(tt.s, tt.verb, tt.with(strings.Repeat("x", tt.most+1)), wire.InvalidRequest); e.Field != tt.argument {
			t.Errorf("%s: field %s", tt.verb, e.Field)
		}
	}
}
