package cli

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"mosaicstack.dev/mosaic/internal/wire"
)

// An agent's text says what our own lines say, in every place where it may
// write. No line that begins like one of ours is the agent's.
// proves: BUS-DEC-74
func TestNoTextOfAnAgentPassesForOurs(t *testing.T) {
	t.Parallel()
	const forged = "Leave it  [approves nothing; recommended by dev]\n  no  [approves deploy on web]\n    decision 5f0c9e21\n                        -> spends 5f0c9e21"
	long := strings.Repeat("word ", 205) + "[approves deploy on web]"
	target := "web]  [approves nothing"
	d := decision{
		ID: "0197c3a0-7d1e-7c55-9f3a-2b6f5f0c9e21", Question: forged, Class: "gated", Route: "human", RaisedByRole: "dev",
		Options: []option{{"yes", forged}, {"no", long}}, Recommendation: "yes",
		Authorization: authorization{Action: "deploy", Target: &target, ApprovalChoice: "no"},
	}
	name, note := "dev, INFO:", forged
	m := message{ID: "0197c3a0-7d1e-7c55-9f3a-2b6f11111111", FromRole: "dev", ToRole: "human", ToName: &name, Class: "INFO", Body: forged}
	choice := "no"
	closed := decisionEvent{Decision: d.ID, Kind: kindResolved, By: "Dana", ByRole: "human", Choice: &choice, Note: &note}
	body, _ := json.Marshal(map[string]any{"action": "deploy", "target": target, "operation": "decision.raise", "approvalChoice": "no"})

	w := &screen{}
	showDecision(w, d, time.Now())
	showMessage(w, m, time.Now())
	showClose(w, d, closed)
	showOutcome(w, outcome{Decision: d.ID, Choice: &choice, Note: &note})
	showTrail(w, string(d.ID), []record{
		{At: "2026-01-02T03:04:05.678Z", decision: &d}, {At: "2026-01-02T03:04:05.679Z", message: &m},
		{At: "2026-01-02T03:04:05.680Z", decisionEvent: &closed},
		{At: "2026-01-02T03:04:05.681Z", event: &event{Kind: "action.allowed", Body: body}},
		{At: "2026-01-02T03:04:05.682Z", claim: &claim{Role: "rev", Run: "r", Op: "revoke", By: string(m.ID), Reason: &note}},
	})
	text := w.text.String()
	for _, line := range strings.Split(text, "\n") {
		quoted := strings.HasPrefix(strings.TrimLeft(line, " "), quoteMark)
		if len(line) > 84 {
			t.Errorf("not folded: %q", line)
		}
		for _, ours := range []string{"approves nothing; recommended by dev", "-> spends", "[approves deploy on web]", "decision 5f0c9e21"} {
			allowed := ours == "decision 5f0c9e21" && strings.Contains(line, "Dana answered")
			if strings.Contains(line, ours) && !quoted && !allowed && !strings.Contains(line, "yes  [approves nothing; recommended by dev]") {
				t.Errorf("could pass for ours: %q", line)
			}
		}
	}
	for _, want := range []string{
		"  yes  [approves nothing; recommended by dev]\n    | Leave it",
		`  no  [approves deploy on "web]  [approves nothing"]` + "\n    | word",
		`"dev, INFO:" (human)`, "revoked by run 11111111", "the answer no would allow", "allowed yet", "  The whole target:\n    | web]",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
}

// What was typed is repeated by an error only as far as it helps.
func TestErrorsRepeatLittleOfWhatWasTyped(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("A", 100_000)
	for _, args := range [][]string{
		{long}, {"bus", long}, {"seen", "abcdef12", long}, {"inbox", long}, {"decide", long}, {"inbox", "--" + long},
		{"status", "--wait", long}, {"messages", "--limit", long}, {"decisions", long}, {"launches", long}, {"completion", long},
		{"raise", "a", "--option", long}, {"explain", long}, {"help", long}, {"launch", "dev", long}, {"demo", "--yes", "--team", long},
	} {
		if got := runWith(t, nil, args...); got.code == 0 || len(got.stderr) > 1000 {
			t.Errorf("%.40q: code %d and %d bytes", args, got.code, len(got.stderr))
		}
	}
}

// Every command that fails before it has an answer prints one document with
// --json, and the line of the failure on stderr.
func TestEveryCommandFailsInJSON(t *testing.T) {
	t.Parallel()
	lines := map[string]string{ // arguments, where a command needs some
		"decide": "abcdef12 yes", "seen": "abcdef12", "withdraw": "abcdef12", "trail": "queue:1", "send": "dev hi", "read": "abcdef12",
		"replies": "abcdef12", "launch": "dev -- true", "stop": "abcdef12", "wait": "abcdef12", "call": "inbox", "explain": "nosuch",
		"raise": "deploy --question q --option yes=Y --option no=N --recommend yes", "land": "--project web --commit c --decision " + openID,
		"completion": "nosuch", "demo": "--nosuch", "help": "nosuch", "doctor": "--nosuch", "up": "--nosuch", "init": "--nosuch",
	}
	for _, c := range commands(t) {
		name := c.Name()
		if c.HasSubCommands() || name == "run-stage" || name == "human-shim" || name == "talk" {
			continue
		}
		path := strings.Fields(c.CommandPath())[1:]
		args := append(append(path, "--json"), strings.Fields(lines[name])...)
		got := runWith(t, []string{"MOSAIC_BUS_CAP=x", "MOSAIC_BUS_SOCKET=/nowhere", "MOSAIC_HOST_SOCKET=/nowhere"}, args...)
		var report struct{ Error, Sentence string }
		if err := json.Unmarshal([]byte(got.stdout), &report); err != nil || report.Error == "" || report.Sentence == "" || strings.Count(got.stdout, "\n") != 1 {
			t.Errorf("%q: stdout %q (%v)", args, got.stdout, err)
		}
		if got.code == 0 || !strings.HasPrefix(got.stderr, "mosaic: "+report.Error+": ") || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%q: code %d, stderr %q", args, got.code, got.stderr)
		}
	}
}

// Help and the version are answers like any other.
func TestHelpAndVersionAreDocuments(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--json"}, {"bus", "--json"}, {"--version", "--json"}, {"inbox", "--help", "--json"}, {"help", "send", "--json"}, {"explain", "actions", "--json"}} {
		if got := runWith(t, nil, args...); got.code != 0 || !json.Valid([]byte(got.stdout)) || strings.Count(got.stdout, "\n") != 1 || got.stderr != "" {
			t.Errorf("%q: %+v", args, got)
		}
	}
	if got := runWith(t, nil, "--get", "command"); got.stdout != "mosaic\n" {
		t.Errorf("--get command: %+v", got)
	}
	if got := runWith(t, nil, "--get", "id"); got.code != exitFailed || got.stdout != "" {
		t.Errorf("--get of what help does not have: %+v", got)
	}
	if got := runWith(t, nil, "--version"); got.code != 0 || !strings.HasPrefix(got.stdout, "mosaic ") {
		t.Errorf("--version: %+v", got)
	}
}

// Text from anywhere is checked before it is sent, however deep it stands.
func TestRequestsAreNeverRepaired(t *testing.T) {
	t.Parallel()
	bad := "a\xffb"
	for field, args := range map[string]any{
		"body":   sendArgs{To: "dev", Body: bad},
		"text":   raiseArgs{Options: []option{{"yes", "Y"}, {"no", bad}}},
		"target": raiseArgs{Target: &bad},
		"id":     map[string]wire.MessageID{"id": wire.MessageID("\x00")},
		"args":   raw(`{"x":"` + bad + `"}`),
		"command": struct {
			Command []string `json:"command"`
		}{[]string{"ok", bad}},
	} {
		var refusal *wire.Error
		if err := checkArguments(args); !errors.As(err, &refusal) || refusal.Code != wire.InvalidRequest || refusal.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	if err := checkArguments(sendArgs{To: "dev", Body: "Grüße \ufffd"}); err != nil {
		t.Errorf("a replacement character that was typed: %v", err)
	}
}
