package queue

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"mosaicstack.dev/mosaic/internal/git/gittest"
)

// checkouts are repositories whose commit holds a file in the queue's place,
// one for each object format, and one without such a file; every test works in
// a copy.
var checkouts = map[string]func() (string, error){noQueue: sync.OnceValues(func() (string, error) { return makeCheckout(noQueue, "sha1") })}

const noQueue = "no queue"

func init() {
	for _, format := range gittest.Formats {
		checkouts[format] = sync.OnceValues(func() (string, error) { return makeCheckout(format, format, DefaultQueue, DefaultView) })
	}
}

// world is a queue in a repository of its own.
type world struct {
	t    testing.TB
	root string
	repo *gittest.Repository

	plain *Checkout // what open(nil) returns
}

// newWorld is a checkout with a committed queue of genesis and one row, all
// of it confirmed and shown.
func newWorld(t testing.TB) *world { return newWorldOf(t, "sha1") }

func newWorldOf(t testing.TB, format string) *world {
	t.Helper()
	w := emptyWorld(t, format)
	s := beginAt(t, w.root)
	s.add(dev)
	w.put(s.file, s.state)
	return w
}

// emptyWorld is a copy of one of the checkouts.
func emptyWorld(t testing.TB, name string) *world {
	t.Helper()
	template, err := checkouts[name]()
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root = filepath.Join(root, "web")
	if err := os.CopyFS(root, os.DirFS(template)); err != nil {
		t.Fatal(err)
	}
	return &world{t: t, root: root, repo: gittest.Over(t, root)}
}

// beginAt is a story whose queue belongs to a checkout.
func beginAt(t testing.TB, root string) *story {
	t.Helper()
	s := &story{t: t, state: Empty(), clock: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}
	args := team()
	args.CanonicalRoot = root
	s.mustApply("genesis-op", chief, args, Facts{Genesis: &GenesisFacts{MapBlob: blobA}})
	return s
}

// put writes the three files as a finished write leaves them.
func (w *world) put(f *File, s *Replayed) {
	w.t.Helper()
	w.write(DefaultQueue, string(f.Bytes()))
	w.write(DefaultView, viewOf(s))
	w.write(DefaultWitness, string(witnessOf(f, f.Bytes(), time.Now()).bytes()))
}

// viewOf is the view file of a state.
func viewOf(s *Replayed) string {
	return "# Queue\n\nThe team's own words.\n\n" + BeginMarker + "\n" + string(Body(s)) + EndMarker + "\n\nA footer, without a newline"
}

func (w *world) path(name string) string { return filepath.Join(w.root, name) }

func (w *world) write(name, text string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(w.path(name)), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(w.path(name), []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) read(name string) string {
	w.t.Helper()
	text, err := os.ReadFile(w.path(name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

func (w *world) exists(name string) bool {
	_, err := os.Lstat(w.path(name))
	return err == nil
}

func (w *world) remove(name string) {
	w.t.Helper()
	if err := os.Remove(w.path(name)); err != nil {
		w.t.Fatal(err)
	}
}

// open is a process's view of the checkout, with its own file layer; nil is the
// real one.
func (w *world) open(files Files) *Checkout {
	w.t.Helper()
	if files != nil {
		return w.openAs(files, quick())
	}
	if w.plain == nil {
		w.plain = w.openAs(nil, quick())
	}
	return w.plain
}

func (w *world) openAs(files Files, m machine) *Checkout {
	w.t.Helper()
	if files == nil {
		files = disk{}
	}
	c, err := open(context.Background(), w.root, files, m)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// quick is this machine with no patience for locks.
func quick() machine {
	m := thisMachine()
	m.wait = func(<-chan struct{}, time.Duration) {}
	return m
}

// note asks for one operation, which every state of row 1 allows dev.
func note(c *Checkout, op OpID, text string) (Acknowledgement, error) {
	return ask(c, op, dev, &NoteArgs{Row: 1, Note: &text})
}

func ask(c *Checkout, op OpID, by Seat, a Args) (Acknowledgement, error) {
	raw, err := Canonical(a)
	if err != nil {
		return Acknowledgement{}, err
	}
	return c.Write(context.Background(), op, a.Verb(), raw, by, looked(Facts{}))
}

func looked(f Facts) Change {
	return func(*Replayed) (Request, error) { return Request{Facts: f}, nil }
}

// mustNote records one operation.
func (w *world) mustNote(op OpID, text string) Acknowledgement {
	w.t.Helper()
	a, err := note(w.open(nil), op, text)
	if err != nil {
		w.t.Fatalf("%s: %v", op, err)
	}
	return a
}

// file is the queue file, which must be valid.
func (w *world) file() *File {
	w.t.Helper()
	f, err := Parse([]byte(w.read(DefaultQueue)))
	if err != nil {
		w.t.Fatal(err)
	}
	return f
}

// times is how often an operation is in the log.
func (w *world) times(op OpID) int {
	w.t.Helper()
	n := 0
	for _, e := range w.file().Log {
		if e.Op == op {
			n++
		}
	}
	return n
}

// witness is the witness file, which must be one.
func (w *world) witness() Witness {
	w.t.Helper()
	var v Witness
	if err := json.Unmarshal([]byte(w.read(DefaultWitness)), &v); err != nil {
		w.t.Fatal(err)
	}
	return v
}

// state is everything that the queue has on disk, by name: text and mtime.
type state map[string]string

// all reads the directories that hold the queue's files.
func (w *world) all() state {
	w.t.Helper()
	s := state{}
	for _, dir := range []string{"docs/plans", ".git"} {
		entries, err := os.ReadDir(w.path(dir))
		if err != nil {
			w.t.Fatal(err)
		}
		for _, e := range entries {
			name := filepath.Join(dir, e.Name())
			if e.IsDir() || dir == ".git" && !strings.Contains(name, "mosaic-queue") {
				continue
			}
			info, err := e.Info()
			if err != nil {
				w.t.Fatal(err)
			}
			s[name] = info.ModTime().String() + "\n" + w.read(name)
		}
	}
	return s
}

// unchanged demands that nothing on disk is otherwise than it was.
func (w *world) unchanged(before state) {
	w.t.Helper()
	now := w.all()
	for name := range before {
		if now[name] != before[name] {
			w.t.Errorf("%s was changed", name)
		}
	}
	for name := range now {
		if _, was := before[name]; !was {
			w.t.Errorf("%s was left", name)
		}
	}
}

// clean demands that no lock, gate or temporary file is left.
func (w *world) clean() {
	w.t.Helper()
	known := []string{DefaultQueue, DefaultView, DefaultWitness}
	for name := range w.all() {
		if !slices.Contains(known, name) {
			w.t.Errorf("%s was left", name)
		}
	}
}

// wantRefusal demands a code, and phrases in the one line.
func wantRefusal(t testing.TB, err error, code string, phrases ...string) {
	t.Helper()
	var r *Refusal
	if !errors.As(err, &r) || r.Code != code {
		t.Fatalf("got %v, want %s", err, code)
	}
	if strings.ContainsAny(r.Sentence, "\n\r") {
		t.Errorf("more than one line: %q", r.Sentence)
	}
	for _, phrase := range phrases {
		if !strings.Contains(r.Sentence, phrase) {
			t.Errorf("%q does not say %q", r.Sentence, phrase)
		}
	}
}

// wantExit demands a refusal's exit code.
func wantExit(t testing.TB, err error, exit int) {
	t.Helper()
	var r *Refusal
	if !errors.As(err, &r) || r.Exit != exit || r.Uncertain != (exit == 3) {
		t.Errorf("got %+v, want exit %d", err, exit)
	}
}

// makeCheckout makes a repository that tests copy, with these empty files.
func makeCheckout(name, format string, files ...string) (string, error) {
	dir := filepath.Join(templates, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	run := func(args ...string) error {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = []string{
			"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
			"GIT_AUTHOR_NAME=dana", "GIT_AUTHOR_EMAIL=dana@example.org",
			"GIT_COMMITTER_NAME=dana", "GIT_COMMITTER_EMAIL=dana@example.org",
		}
		return cmd.Run()
	}
	err := run("init", "--quiet", "--initial-branch=main", "--template=", "--object-format="+format)
	for _, name := range append(files, "README.md") {
		path := filepath.Join(dir, name)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644))
	}
	kind, statErr := disk{}.Filesystem(StepPlatform, dir)
	err = errors.Join(err, statErr, run("add", "."), run("commit", "--quiet", "-m", "the queue"))
	if localFilesystems[kind] == "" {
		// The tests' own directory is on something else, as in a container.
		err = errors.Join(err, run("config", "mosaic.queue.allowFilesystem", filesystemName(kind)))
	}
	return dir, err
}

// templates is removed when the tests are over.
var templates string

func itoa(n int) string { return strconv.Itoa(n) }
