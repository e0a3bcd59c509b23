package broker

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/wire"
)

// asking is a well-formed raise of an action; changes replace arguments, nil
// takes one away.
func asking(action string, changes ...args) args {
	a := args{
		"action":         action,
		"question":       "May I?",
		"options":        []args{{"key": "yes", "text": "go ahead"}, {"key": "no", "text": "leave it"}},
		"recommendation": "yes",
		"blocking":       false,
	}
	for _, change := range changes {
		for name, value := range change {
			if a[name] = value; value == nil {
				delete(a, name)
			}
		}
	}
	return a
}

func options(n int) []args {
	out := make([]args, n)
	for i := range out {
		out[i] = args{"key": fmt.Sprintf("k%d", i), "text": "text"}
	}
	if n > 0 {
		out[0]["key"] = "yes"
	}
	return out
}

func pair(key, text any) []args {
	return []args{{"key": "yes", "text": "go ahead"}, {"key": key, "text": text}}
}

// Each case is refused for its first fault in the documented order, and leaves
// nothing behind: the next raise gets the next number.
//
// proves: BUS-DEC-01 BUS-DEC-06 BUS-DEC-08 BUS-DEC-10 BUS-DEC-11 BUS-DEC-12 BUS-DEC-13 BUS-DEC-14 BUS-DEC-15
// proves: BUS-DEC-16 BUS-DEC-17 BUS-DEC-18 BUS-DEC-19 BUS-DEC-20 BUS-DEC-22 BUS-DEC-23 BUS-DEC-24 BUS-DEC-25
// proves: BUS-DEC-26 BUS-DEC-27 BUS-DEC-46 BUS-DEC-47 BUS-AUTH-19 BUS-PROTO-23 BUS-PROTO-24
// proves: BUS-OPEN-37 BUS-OPEN-38 BUS-OPEN-40 BUS-OPEN-41 BUS-OPEN-42 BUS-OPEN-43
func TestRaiseIsValidatedInOrder(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev := tb.holder("dev")
	commit := strings.Repeat("a", 40)
	for _, tt := range []struct {
		name  string
		args  args
		code  wire.Code
		field string
	}{
		{"options no array", asking("deploy", args{"options": "yes", "recommendation": "maybe"}), wire.InvalidOptions, "options"},
		{"options an object", asking("deploy", args{"options": args{"key": "yes", "text": "x"}}), wire.InvalidOptions, "options"},
		{"options null", asking("deploy", args{"options": jsonNull}), wire.InvalidOptions, "options"},
		{"one option", asking("deploy", args{"options": options(1)}), wire.InvalidOptions, "options"},
		{"ten options", asking("deploy", args{"options": options(10)}), wire.InvalidOptions, "options"},
		{"empty key", asking("deploy", args{"options": pair("", "x")}), wire.InvalidOptions, "options"},
		{"key too long", asking("deploy", args{"options": pair(strings.Repeat("k", 161), "x")}), wire.InvalidOptions, "options"},
		{"key with a space", asking("deploy", args{"options": pair("not now", "x")}), wire.InvalidOptions, "options"},
		{"key with another letter", asking("deploy", args{"options": pair("nö", "x")}), wire.InvalidOptions, "options"},
		{"key with a newline at its end", asking("deploy", args{"options": pair("no\n", "x")}), wire.InvalidOptions, "options"},
		{"key starts with a dash", asking("deploy", args{"options": pair("-no", "x")}), wire.InvalidOptions, "options"},
		{"key no string", asking("deploy", args{"options": pair(1, "x")}), wire.InvalidOptions, "options"},
		{"key null", asking("deploy", args{"options": pair(nil, "x")}), wire.InvalidOptions, "options"},
		{"text no string", asking("deploy", args{"options": pair("no", 1)}), wire.InvalidOptions, "options"},
		{"text null", asking("deploy", args{"options": pair("no", nil)}), wire.InvalidOptions, "options"},
		{"text empty", asking("deploy", args{"options": pair("no", "")}), wire.InvalidOptions, "options"},
		{"text too long", asking("deploy", args{"options": pair("no", strings.Repeat("ü", 1025))}), wire.InvalidOptions, "options"},
		{"duplicate keys", asking("deploy", args{"options": pair("yes", "x")}), wire.InvalidOptions, "options"},
		{"option no object", asking("deploy", args{"options": []string{"yes", "no"}}), wire.InvalidRequest, "options"},
		{"option null", asking("deploy", args{"options": []any{nil, nil}}), wire.InvalidRequest, "options"},
		{"option with a third key", asking("deploy", args{"options": []args{{"key": "yes", "text": "x"}, {"key": "no", "text": "x", "why": "x"}}}), wire.InvalidRequest, "options"},
		{"option without text", asking("deploy", args{"options": []args{{"key": "yes", "text": "x"}, {"key": "no"}}}), wire.InvalidRequest, "options"},

		{"options before recommendation", asking("nonsense", args{"options": options(1), "recommendation": "x", "approvalChoice": "x"}), wire.InvalidOptions, "options"},
		{"recommendation before approvalChoice", asking("nonsense", args{"recommendation": "x", "approvalChoice": "x"}), wire.InvalidRecommendation, "recommendation"},
		{"recommendation with a reason", asking("deploy", args{"recommendation": "yes: because"}), wire.InvalidRecommendation, "recommendation"},
		{"recommendation in another case", asking("deploy", args{"recommendation": "Yes"}), wire.InvalidRecommendation, "recommendation"},
		{"recommendation empty", asking("deploy", args{"recommendation": ""}), wire.InvalidRecommendation, "recommendation"},
		{"approvalChoice before the question", asking("nonsense", args{"approvalChoice": "x", "question": ""}), wire.InvalidApprovalChoice, "approvalChoice"},
		{"no option yes and no approvalChoice", asking("deploy", args{"options": []args{{"key": "go", "text": "x"}, {"key": "no", "text": "x"}}, "recommendation": "go"}), wire.InvalidApprovalChoice, "approvalChoice"},

		{"question before the action", asking("nonsense", args{"question": ""}), wire.InvalidRequest, "question"},
		{"question too long", asking("deploy", args{"question": strings.Repeat("ü", 4097)}), wire.InvalidRequest, "question"},
		{"another domain", asking("deploy", args{"domain": "legal"}), wire.InvalidRequest, "domain"},
		{"target empty", asking("deploy", args{"target": ""}), wire.InvalidRequest, "target"},
		{"target too long", asking("deploy", args{"target": strings.Repeat("ü", 513)}), wire.InvalidRequest, "target"},
		{"blocking with a loose task ref", asking("deploy", args{"blocking": true, "task_ref": "gitea:web/07"}), wire.InvalidRequest, "task_ref"},
		{"task ref of no tracker", asking("deploy", args{"task_ref": "jira:WEB-1"}), wire.InvalidRequest, "task_ref"},
		{"requirement ref", asking("deploy", args{"requirement_ref": "REQ-web-1"}), wire.InvalidRequest, "requirement_ref"},
		{"unknown action before the target", asking("nonsense", args{"target": "nobody"}), wire.UnknownAction, "action"},
		{"role action on no instance", asking("role.revoke", args{"target": "nobody"}), wire.UnknownRole, "target"},
		{"role action on a definition", asking("role.launch", args{"target": "developer"}), wire.UnknownRole, "target"},
		{"role action without a target", asking("role.end"), wire.UnknownRole, "target"},
		{"message to no recipient", asking("message.send", args{"target": "_bus"}), wire.UnknownRole, "target"},
		{"choice for another class", asking("deploy", args{"choice": "yes"}), wire.InvalidRequest, "choice"},
		{"within-role without a choice", asking("routine"), wire.InvalidChoice, "choice"},
		{"within-role with no option's key", asking("routine", args{"choice": "maybe"}), wire.InvalidChoice, "choice"},
		{"blocking without a task", asking("deploy", args{"blocking": true}), wire.TaskRequired, "task_ref"},
		{"project alone", asking("deploy", args{"project": "web"}), wire.InvalidSpecCitation, "spec_path"},
		{"path alone", asking("deploy", args{"spec_path": "spec/north-star.md"}), wire.InvalidSpecCitation, "spec_path"},
		{"commit alone", asking("deploy", args{"spec_commit": commit}), wire.InvalidSpecCitation, "spec_commit"},
		{"no commit", asking("deploy", args{"project": "web", "spec_path": "spec/north-star.md"}), wire.InvalidSpecCitation, "spec_commit"},
		{"another file", asking("deploy", args{"project": "web", "spec_path": "spec/other.md", "spec_commit": commit}), wire.InvalidSpecCitation, "spec_path"},
		{"abbreviated commit", asking("deploy", args{"project": "web", "spec_path": "spec/north-star.md", "spec_commit": "aaaaaaa"}), wire.InvalidSpecCitation, "spec_commit"},
		{"no project reader", asking("deploy", args{"project": "web", "spec_path": "spec/north-star.md", "spec_commit": commit}), wire.ProjectNotFound, "project"},
		{"unknown key", asking("deploy", args{"urgent": true}), wire.InvalidRequest, "urgent"},
		{"missing question", asking("deploy", args{"question": nil}), wire.InvalidRequest, "question"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if refusal := tb.refused(dev, "decision.raise", tt.args, tt.code); refusal.Field != tt.field {
				t.Errorf("decision.raise names %q, want %q", refusal.Field, tt.field)
			}
		})
	}
	if d := get[evidence.Decision](tb, dev, "decision.raise", asking("deploy")); d.Seq != 1 {
		t.Errorf("the first good raise is number %d: a refused one was stored", d.Seq)
	}
}

// NUL never reaches the options: the strict decoder refuses it for every
// argument. Trusted code that gets past it is refused here.
//
// proves: BUS-DEC-21
func TestOptionTextWithNUL(t *testing.T) {
	t.Parallel()
	_, err := parseOptions([]byte(`[{"key":"yes","text":"a\u0000b"},{"key":"no","text":"x"}]`))
	if want := wire.RefuseField(wire.InvalidOptions, "options"); !cmp.Equal(err, error(want)) {
		t.Errorf("parseOptions with NUL = %v, want %v", err, want)
	}
}

// The bounds themselves are accepted, counted in characters.
//
// proves: BUS-DEC-14 BUS-DEC-15 BUS-DEC-16 BUS-DEC-17 BUS-DEC-18 BUS-DEC-20
func TestRaiseAcceptsItsBounds(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev := tb.holder("dev")
	nine := options(9)
	nine[1] = args{"key": "0" + strings.Repeat("_.:/-aZ9", 19) + "1234567", "text": strings.Repeat("ü", 1024)}
	d := get[evidence.Decision](tb, dev, "decision.raise", asking("deploy", args{
		"options": nine, "question": strings.Repeat("ü", 4096), "target": strings.Repeat("ü", 512),
		"task_ref": "gitea:web/41", "requirement_ref": "REQ-WEB-12", "domain": "technical",
	}))
	if len(d.Options) != 9 || len(d.Options[1].Key) != 160 || d.Options[1].Text != nine[1]["text"] {
		t.Errorf("options came back as %v", d.Options)
	}
	if string(*d.TaskRef) != "gitea:web/41" || *d.RequirementRef != "REQ-WEB-12" || d.Domain != "technical" {
		t.Errorf("decision = %+v", d)
	}
}

// proves: BUS-DEC-02 BUS-DEC-03 BUS-DEC-04 BUS-DEC-05 BUS-DEC-07 BUS-OPEN-49 BUS-AUTH-45 BUS-PROTO-21
func TestRaiseReturnsTheDecisionAndRecordsItsContext(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev := tb.holder("dev")
	d := get[map[string]any](tb, dev, "decision.raise", asking("git.merge.protected", args{
		"target": "main", "blocking": true, "task_ref": "queue:7",
		"options":        []args{{"key": "merge", "text": "merge it"}, {"key": "no", "text": "leave it"}},
		"recommendation": "no", "approvalChoice": "merge",
	}))
	for name, want := range map[string]any{
		"business": "acme", "action": "git.merge.protected", "question": "May I?", "recommendation": "no", "blocking": true,
		"class": "cross-role", "route": "pm", "domain": "delivery", "target": "main", "task_ref": "queue:7",
		"project": nil, "spec_path": nil, "spec_commit": nil, "requirement_ref": nil, "supersedes": nil,
		"raised_by_role": "dev", "raised_by_run": string(dev.run), "thread": nil, "holder_run": nil,
		"options":       []any{map[string]any{"key": "merge", "text": "merge it"}, map[string]any{"key": "no", "text": "leave it"}},
		"authorization": map[string]any{"action": "git.merge.protected", "target": "main", "approvalChoice": "merge"},
	} {
		if diff := cmp.Diff(want, d[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for _, name := range []string{"id", "seq", "at"} {
		if d[name] == nil {
			t.Errorf("the decision has no %s", name)
		}
	}
	id := wire.DecisionID(d["id"].(string))
	events := tb.trail(string(id)).events(evidence.ActionAllowed)
	if len(events) != 1 || events[0].Spends != nil || *events[0].Subject != string(id) {
		t.Fatalf("the raise left %+v, want one action.allowed that spends nothing", events)
	}
	want := map[string]any{
		"action": "git.merge.protected", "target": "main", "approvalChoice": "merge",
		"operation": "decision.raise", "decision": string(id),
	}
	if diff := cmp.Diff(want, decode[map[string]any](t, events[0].Body)); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	// The task's trail shows what holds it.
	if rows := tb.trail("queue:7").decisions(); len(rows) != 1 || rows[0].ID != id || !rows[0].Blocking {
		t.Errorf("trail of the task = %+v", rows)
	}
}

// proves: BUS-AUTH-01 BUS-AUTH-02 BUS-AUTH-04 BUS-AUTH-09 BUS-AUTH-10 BUS-AUTH-11 BUS-AUTH-12 BUS-AUTH-13
// proves: BUS-DEC-09 BUS-DEC-28 BUS-DEC-30 BUS-DEC-31 BUS-DEC-34 BUS-DEC-36 BUS-DEC-37 BUS-CLAIM-12 BUS-LAUNCH-07
func TestClassAndRouteOfAnUncitedRaise(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t, acme(func(b *Business) {
		b.authority("dev", nil, []string{"git.merge.protected", "policy.change", "prd.approve", "role.revoke", "role.launch"})
		b.authority("pm", nil, []string{"policy.change"})
		b.authority("cto", nil, []string{"policy.change"})
	}))
	seats := tb.holders("dev", "rev", "pm", "cto")
	for _, tt := range []struct {
		role                   wire.Role
		action, target, domain string
		class                  evidence.Class
		route                  wire.Role
	}{
		{"dev", "git.merge.protected", "main", "delivery", evidence.CrossRole, "pm"},
		{"dev", "git.merge.protected", "main", "technical", evidence.CrossRole, "cto"},
		{"dev", "policy.change", "", "delivery", evidence.CrossRole, "pm"},
		{"dev", "prd.approve", "", "delivery", evidence.CrossRole, "pm"},
		{"dev", "role.revoke", "rev", "delivery", evidence.CrossRole, "pm"},
		{"rev", "prd.approve", "", "delivery", evidence.Gated, "human"},
		{"rev", "role.revoke", "dev", "technical", evidence.Gated, "human"},
		{"dev", "role.revoke", "desk", "technical", evidence.Gated, "human"},
		{"dev", "role.launch", "rev", "technical", evidence.Gated, "human"},
		{"dev", "deploy", "", "technical", evidence.Gated, "human"},
		{"pm", "policy.change", "", "delivery", evidence.CrossRole, "human"},
		{"pm", "policy.change", "", "technical", evidence.CrossRole, "cto"},
		{"cto", "policy.change", "", "technical", evidence.CrossRole, "human"},
	} {
		change := args{"domain": tt.domain}
		if tt.target != "" {
			change["target"] = tt.target
		}
		d := get[evidence.Decision](tb, seats[tt.role], "decision.raise", asking(tt.action, change))
		if d.Class != tt.class || d.Route != tt.route {
			t.Errorf("%s raises %s on %q (%s): %s to %s, want %s to %s",
				tt.role, tt.action, tt.target, tt.domain, d.Class, d.Route, tt.class, tt.route)
		}
	}
}

// A business without an arbiter asks the human.
//
// proves: BUS-DEC-30 BUS-DEC-36
func TestRaiseWithoutAnArbiterGoesToTheHuman(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t, acme(func(b *Business) { b.Arbiters = Arbiters{} }))
	d := get[evidence.Decision](tb, tb.holder("dev"), "decision.raise", asking("git.merge.protected", args{"target": "main"}))
	if d.Class != evidence.CrossRole || d.Route != wire.HumanRole {
		t.Errorf("raise = %s to %s, want cross-role to human", d.Class, d.Route)
	}
}

// proves: BUS-AUTH-03 BUS-AUTH-04 BUS-AUTH-05 BUS-DEC-33
func TestHardWaitGoesToTheHumanCitedOrNot(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t, committed(Spec{Commit: commitA, Confirmed: true}))
	dev := tb.holder("dev")
	for _, action := range []string{
		"spend", "data.delete", "network.expose", "account.create", "credential.mint", "message.external", "git.push.protected", "deploy",
	} {
		for _, change := range []args{{}, citing("web", commitA)} {
			d := get[evidence.Decision](tb, dev, "decision.raise", asking(action, change))
			if d.Class != evidence.Gated || d.Route != wire.HumanRole {
				t.Errorf("raise of %s with %v = %s to %s, want gated to human", action, change, d.Class, d.Route)
			}
		}
	}
}

var (
	commitA = strings.Repeat("a", 40)
	commitB = strings.Repeat("b", 64)
)

func citing(project, commit string) args {
	return args{"project": project, "spec_path": "spec/north-star.md", "spec_commit": commit}
}

// proves: BUS-AUTH-14 BUS-CLAIM-13 BUS-DEC-32 BUS-DEC-35 BUS-DEC-52
func TestRouteOfACitedRaise(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t, committed(Spec{Commit: commitB, Confirmed: true}))
	seats := tb.holders("dev", "pm", "cto")
	for _, tt := range []struct {
		role                   wire.Role
		action, target, domain string
		route                  wire.Role
	}{
		{"dev", "prd.approve", "", "delivery", "pm"},
		{"dev", "role.revoke", "rev", "technical", "cto"},
		{"dev", "role.revoke", "desk", "technical", "human"},
		{"pm", "prd.approve", "", "delivery", "human"},
		{"cto", "policy.change", "", "technical", "human"},
	} {
		change := args{"domain": tt.domain}
		if tt.target != "" {
			change["target"] = tt.target
		}
		d := get[evidence.Decision](tb, seats[tt.role], "decision.raise", asking(tt.action, change, citing("web", commitB)))
		if d.Class != evidence.Gated || d.Route != tt.route {
			t.Errorf("%s raises %s on %q (%s): %s to %s, want gated to %s", tt.role, tt.action, tt.target, tt.domain, d.Class, d.Route, tt.route)
		}
		if *d.SpecPath != "spec/north-star.md" || *d.SpecCommit != commitB || *d.Project != "web" {
			t.Errorf("citation stored as %v %v %v", *d.Project, *d.SpecPath, *d.SpecCommit)
		}
	}
}

// specs is a project reader.
type specs func(project string) (Spec, error)

func (read specs) Spec(_ context.Context, _ wire.Business, project string) (Spec, error) {
	return read(project)
}

// committed gives every project this spec.
func committed(spec Spec) setup {
	return func(_ *Config, o *Options) { o.Specs = specs(func(string) (Spec, error) { return spec, nil }) }
}

// proves: BUS-DEC-48 BUS-DEC-49 BUS-DEC-50 BUS-DEC-53 BUS-PROTO-36
func TestCitationIsComparedWithTheCommittedSpec(t *testing.T) {
	t.Parallel()
	spec, failure := Spec{Commit: commitA, Confirmed: true}, error(nil)
	var tb *testBroker
	tb = newTestBroker(t, func(_ *Config, o *Options) {
		o.Specs = specs(func(string) (Spec, error) {
			// With a transaction open now, this one would wait for ever.
			if err := tb.store.Update(t.Context(), func(*evidence.Tx) error { return nil }, nil); err != nil {
				t.Error(err)
			}
			return spec, failure
		})
	})
	dev := tb.holder("dev")
	settled := get[evidence.Decision](tb, dev, "decision.raise", asking("prd.approve", citing("web", commitA)))
	get[evidence.DecisionEvent](tb, tb.holder("pm"), "decision.resolve", args{"id": settled.ID, "choice": "yes"})
	before := tb.trail(string(settled.ID)).rows
	refused := func(commit string, code wire.Code) {
		t.Helper()
		tb.refused(dev, "decision.raise", asking("prd.approve", citing("web", commit)), code)
	}
	refused(commitB, wire.StaleSpec)
	spec.Confirmed = false
	refused(commitA, wire.SpecUnconfirmed)
	refused(commitB, wire.StaleSpec)
	for _, code := range []wire.Code{wire.ProjectFileMissing, wire.ProjectUnsafe, wire.ProjectNotFound} {
		failure = wire.Refuse(code)
		refused(commitA, code)
	}
	// The spec has moved on; what was decided has not.
	if diff := cmp.Diff(before, tb.trail(string(settled.ID)).rows); diff != "" {
		t.Errorf("a later commit changed an earlier decision (-before +after):\n%s", diff)
	}
}

// proves: BUS-DEC-51 BUS-PROTO-34
func TestUncitedRaiseReadsNoRepository(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t, func(_ *Config, o *Options) {
		o.Specs = specs(func(project string) (Spec, error) {
			t.Errorf("the spec of %s was read", project)
			return Spec{}, nil
		})
	})
	dev := tb.holder("dev")
	get[evidence.Decision](tb, dev, "decision.raise", asking("prd.approve"))
	// Nor does one that is refused before the citation is looked at.
	tb.refused(dev, "decision.raise", asking("prd.approve", args{"blocking": true}, citing("web", commitA)), wire.TaskRequired)
	// Nor one of a run that holds nothing.
	tb.refused(tb.launch("rev"), "decision.raise", asking("prd.approve", citing("web", commitA)), wire.NotHolder)
}

// proves: BUS-DEC-29 BUS-DEC-43 BUS-CLOSE-22
func TestWithinRoleRaiseClosesItself(t *testing.T) {
	t.Parallel()
	// Nobody may write to dev, which a raise that closes itself does not mind.
	tb := newTestBroker(t, acme(func(b *Business) { b.messaging("dev", nil, []string{}) }))
	dev := tb.holder("dev")
	d := get[evidence.Decision](tb, dev, "decision.raise", asking("routine", args{"choice": "no"}))
	if d.Class != evidence.WithinRole || d.Route != "dev" {
		t.Errorf("raise = %s to %s", d.Class, d.Route)
	}
	rows := tb.trail(string(d.ID))
	closes := rows.closes()
	if len(closes) != 1 {
		t.Fatalf("trail = %+v, want one close", rows)
	}
	want := evidence.DecisionEvent{
		Seq: closes[0].Seq, At: closes[0].At, Decision: d.ID, Kind: evidence.Resolved,
		By: string(dev.run), ByRole: "dev", Via: "broker", Choice: ptr("no"),
	}
	if diff := cmp.Diff(want, closes[0]); diff != "" {
		t.Errorf("close (-want +got):\n%s", diff)
	}
	if messages := rows.messages(); len(messages) != 0 {
		t.Errorf("the raise sent %+v", messages)
	}
	tb.refused(dev, "decision.withdraw", args{"id": d.ID}, wire.DecisionClosed)
}

// proves: BUS-DEC-38 BUS-DEC-39 BUS-DEC-40 BUS-DEC-41 BUS-DEC-42 BUS-DEC-44
func TestRouteMustBeAllowedToMessageTheRaiser(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		receives  []string
		action    string
		reachable bool
	}{
		{"arbiter listed", []string{"pm"}, "git.merge.protected", true},
		{"arbiter not listed", []string{"human", "cto"}, "git.merge.protected", false},
		{"human listed", []string{"human"}, "deploy", true},
		{"human not listed", []string{"pm", "cto"}, "deploy", false},
		{"nobody", []string{}, "deploy", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tb := newTestBroker(t, acme(func(b *Business) { b.messaging("dev", nil, tt.receives) }))
			dev := tb.holder("dev")
			raise := asking(tt.action, args{"task_ref": "queue:7"})
			if tt.reachable {
				get[evidence.Decision](tb, dev, "decision.raise", raise)
				return
			}
			tb.refused(dev, "decision.raise", raise, wire.DecisionRouteRefused)
			rows := tb.trail("queue:7")
			if refusals := rows.events(evidence.ActionRefused); len(refusals) != 1 || !strings.Contains(string(refusals[0].Body), "decision-route-refused") {
				t.Errorf("trail of the task = %+v, want one action.refused", rows)
			}
			if stored := rows.decisions(); len(stored) != 0 {
				t.Errorf("the refused raise stored %+v", stored)
			}
		})
	}
	t.Run("not looked at again at the close", func(t *testing.T) {
		t.Parallel()
		tb := newTestBroker(t)
		d := get[evidence.Decision](tb, tb.holder("dev"), "decision.raise", asking("deploy"))
		tb.restartWith(func(b *Business) { b.messaging("dev", nil, []string{}) })
		get[evidence.DecisionEvent](tb, tb.human(), "decision.resolve", args{"id": d.ID, "choice": "yes"})
		if messages := tb.trail(string(d.ID)).messages(); len(messages) != 1 {
			t.Errorf("the close sent %+v, want one message", messages)
		}
	})
}

// proves: BUS-DEC-54 BUS-DEC-56 BUS-DEC-59 BUS-CLOSE-21 BUS-OPEN-48
func TestSupersedeClosesTheOldDecision(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev := tb.holder("dev")
	old := get[evidence.Decision](tb, dev, "decision.raise", asking("deploy"))
	get[map[string]any](tb, dev, "role.release", args{})
	dev = tb.holder("dev") // another run of the same instance

	d := get[evidence.Decision](tb, dev, "decision.raise", asking("deploy", args{"supersedes": old.ID}))
	if d.Supersedes == nil || *d.Supersedes != old.ID {
		t.Errorf("the new decision supersedes %v, want %s", d.Supersedes, old.ID)
	}
	rows := tb.trail(string(old.ID))
	closes := rows.closes()
	if len(closes) != 1 || closes[0].Kind != evidence.Withdrawn || closes[0].By != string(dev.run) || *closes[0].Note != "superseded by "+string(d.ID) {
		t.Errorf("the old decision was closed by %+v", closes)
	}
	if messages := rows.messages(); len(messages) != 0 {
		t.Errorf("the supersede sent %+v", messages)
	}
	tb.refused(tb.human(), "decision.resolve", args{"id": old.ID, "choice": "yes"}, wire.DecisionClosed)
}

// proves: BUS-DEC-54 BUS-DEC-57 BUS-DEC-58
func TestOtherSupersedesAreRefused(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev, rev := tb.holder("dev"), tb.holder("rev")
	open := get[evidence.Decision](tb, rev, "decision.raise", asking("deploy"))
	closed := get[evidence.Decision](tb, dev, "decision.raise", asking("deploy"))
	get[evidence.DecisionEvent](tb, dev, "decision.withdraw", args{"id": closed.ID})
	elsewhere := tb.holderOf("globex", "dev")
	foreign := get[evidence.Decision](tb, elsewhere, "decision.raise", asking("deploy"))
	for name, id := range map[string]wire.DecisionID{
		"another role's": open.ID, "closed": closed.ID, "of another business": foreign.ID,
		"unknown": "01900000-0000-7000-8000-000000000000", "no id": "the last one",
	} {
		tb.refused(dev, "decision.raise", asking("deploy", args{"supersedes": id}), wire.SupersedeRefused)
		if t.Failed() {
			t.Fatalf("superseding a decision that is %s", name)
		}
	}
	if n := tb.count("decision_events"); n != 1 {
		t.Errorf("%d decisions are closed: a refused supersede withdrew one", n)
	}
	next := get[evidence.Decision](tb, dev, "decision.raise", asking("deploy"))
	if next.Seq != foreign.Seq+1 {
		t.Error("a refused supersede stored its decision")
	}
}

// A thread run's decisions belong to its thread. Threads cannot be bound yet,
// so the sessions are made here.
//
// proves: BUS-DEC-55 BUS-AUTH-28 BUS-AUTH-29 BUS-AUTH-30
func TestDecisionsBelongToTheirThread(t *testing.T) {
	t.Parallel()
	tb := newTestBroker(t)
	dev := tb.holder("dev")
	one, two := wire.ThreadID("01900000-0000-7000-8000-000000000001"), wire.ThreadID("01900000-0000-7000-8000-000000000002")
	raised := map[*wire.ThreadID]wire.DecisionID{}
	threads := []*wire.ThreadID{nil, &one, &two}
	for _, thread := range threads {
		tb.inThread(dev, thread)
		raised[thread] = get[evidence.Decision](tb, dev, "decision.raise", asking("deploy")).ID
	}
	use := func(id wire.DecisionID) error {
		_, err := tb.Authorize(t.Context(), dev.proof.Cap, Action{Action: "deploy", Decision: id})
		return err
	}
	for from, id := range raised {
		for _, to := range threads {
			if tb.inThread(dev, to); from != to {
				tb.refused(dev, "decision.raise", asking("deploy", args{"supersedes": id}), wire.SupersedeRefused)
				tb.refused(dev, "decision.withdraw", args{"id": id}, wire.NotResolver)
			}
		}
	}
	for from, id := range raised {
		get[evidence.DecisionEvent](tb, tb.human(), "decision.resolve", args{"id": id, "choice": "yes"})
		for _, to := range threads {
			if tb.inThread(dev, to); from != to {
				refusedWith(t, "use in another thread", nil, use(id), wire.DecisionMismatch)
			}
		}
		tb.inThread(dev, from)
		if err := use(id); err != nil {
			t.Errorf("use in its own thread: %v", err)
		}
	}
}

// inThread lets a run's session be bound to a thread, as a thread run's is.
func (tb *testBroker) inThread(s session, thread *wire.ThreadID) {
	tb.sessions.mu.Lock()
	defer tb.sessions.mu.Unlock()
	for digest, proven := range tb.sessions.sessions {
		if proven.session.Run == s.run {
			proven.session.Thread = thread
			tb.sessions.sessions[digest] = proven
		}
	}
}
