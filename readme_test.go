package mosaic_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// reader does what the README says, on a machine of their own: a data root and
// a PATH that begins with a fresh build.
type reader struct {
	t   *testing.T
	env []string
}

func newReader(t *testing.T) *reader {
	t.Helper()
	dir := t.TempDir()
	home, err := os.MkdirTemp("", "mosaic-readme-") // short: it holds sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	r := &reader{t: t, env: []string{"MOSAIC_HOME=" + filepath.Join(home, "data")}}
	for _, v := range os.Environ() {
		name, value, _ := strings.Cut(v, "=")
		switch {
		case name == "PATH":
			r.env = append(r.env, "PATH="+dir+string(os.PathListSeparator)+value)
		case !strings.HasPrefix(name, "MOSAIC_"):
			r.env = append(r.env, v)
		}
	}
	if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "mosaic"), "./cmd/mosaic").CombinedOutput(); err != nil {
		t.Fatalf("%s%v", out, err)
	}
	return r
}

// try types one command in the root of the repository.
func (r *reader) try(command string) (string, error) {
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", command)
	cmd.Env = r.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// see types a command until it prints what the reader waits for.
func (r *reader) see(command, want string) string {
	r.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		out, err := r.try(command)
		if err == nil && strings.Contains(out, want) {
			return out
		}
		if time.Now().After(deadline) {
			log, _ := r.try(`cat "$MOSAIC_HOME"/host/host.log "$MOSAIC_HOME"/host/runs/*/output.log`)
			r.t.Fatalf("%s: %v, and no %q in\n%s\nThe host and the runs said:\n%s", command, err, want, out, log)
		}
	}
}

// commands are the lines of the README's sh blocks.
func commands(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(raw(t, "README.md"), -1) {
		list = append(list, strings.Split(strings.TrimSpace(block[1]), "\n")...)
	}
	return list
}

// expected is what a reader waits to see after a command of the README.
var expected = []struct{ command, want string }{
	{"mosaic init", "organization.yaml"},
	{"mosaic doctor", "ok"},
	{"mosaic up --detach", "Mosaic is up"},
	{"mosaic launch dev", "started for dev"},
	{"mosaic send dev", "Sent to dev"},
	{"mosaic inbox", "mosaic decide"},
	{"mosaic decide", "Approved: dev may do deploy on notes, once."},
	{"mosaic messages", "The notes are out."},
	{"mosaic trail", "deploy"},
	{"mosaic runs", "running"},
}

func TestFiveMinutesOfTheReadme(t *testing.T) {
	r := newReader(t)
	if why := r.cannotActAsPerson(); why != "" {
		t.Skip(why)
	}
	t.Cleanup(func() { r.try(`mosaic down`) })
	done := 0
	id := ""
	for _, command := range commands(t) {
		if strings.HasPrefix(command, "make ") || strings.HasPrefix(command, "export PATH=") {
			continue // the fresh build is on the PATH already
		}
		command = regexp.MustCompile(`\bID\b`).ReplaceAllString(command, id)
		if command == "mosaic down" {
			if out, err := r.try(command); err != nil {
				t.Errorf("%s: %s%v", command, out, err)
			}
			r.see("mosaic status || echo stopped", "stopped")
			continue
		}
		want := ""
		for _, e := range expected {
			if strings.HasPrefix(command, e.command) {
				want = e.want
				done++
			}
		}
		if want == "" {
			t.Errorf("nothing is expected of %q", command)
			continue
		}
		switch {
		case repeats(command):
			r.see(command, want)
		default:
			if out, err := r.try(command); err != nil || !strings.Contains(out, want) {
				t.Fatalf("%s: %v, and no %q in\n%s", command, err, want, out)
			}
		}
		if strings.HasPrefix(command, "mosaic inbox") {
			out, err := r.try("mosaic inbox --get 'decisions.*.id'")
			if id = strings.TrimSpace(out); err != nil || id == "" {
				t.Fatalf("no decision waits: %s%v", out, err)
			}
		}
	}
	if done != len(expected) {
		t.Errorf("the README has %d of the %d commands", done, len(expected))
	}
}

// repeats reports whether a command only looks, so that a reader may type it
// again until the agent has come so far.
func repeats(command string) bool {
	return regexp.MustCompile(`^mosaic (inbox|messages|runs|trail|doctor)\b`).MatchString(command)
}

// cannotActAsPerson says why no person can be proven here, or no sandbox made.
func (r *reader) cannotActAsPerson() string {
	out, _ := r.try(`mosaic init --yes >/dev/null && mosaic doctor --json; rm -r "$MOSAIC_HOME"`)
	var report struct {
		Checks []struct{ Name, State, Found string }
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		r.t.Fatalf("mosaic doctor --json: %v\n%s", err, out)
	}
	for _, c := range report.Checks {
		if (c.Name == "person" || c.Name == "sandbox") && c.State != "ok" {
			return c.Name + ": " + c.Found
		}
	}
	return ""
}
