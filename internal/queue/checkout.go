package queue

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mosaicstack.dev/mosaic/internal/git"
)

// The files of a queue where nothing else is configured, relative to the root
// of the checkout; .git is the git directory, wherever that is.
const (
	DefaultQueue   = "docs/plans/queue.json"
	DefaultView    = "docs/plans/QUEUE.md"
	DefaultLock    = ".git/mosaic-queue.lock"
	DefaultGate    = ".git/mosaic-queue.unlock"
	DefaultWitness = ".git/mosaic-queue.head"
)

// settingsSection holds the queue's keys in the repository's own git
// configuration, and nowhere else: two processes of a checkout must never use
// two locks (QUEUE-OPEN-02). Its keys here are file, view, lock, gate, witness
// and allowFilesystem; others belong to the review verbs.
const settingsSection = "mosaic.queue"

// Checkout is a queue's checkout: its root, its branch, the paths of its five
// files. It holds nothing open and may be used by several goroutines.
type Checkout struct {
	Root   string // the top of the work tree, without symbolic links
	GitDir string
	Branch string // that HEAD named when it was opened; "" when detached

	Queue, View, Lock, Gate, Witness string // absolute paths

	place    git.Place
	settings map[string][]string
	files    Files
	machine  machine
}

// Open finds the checkout that dir is in, any directory of it, also through a
// symbolic link (QUEUE-CANON-02 to 09). A linked work tree is refused. Whether
// it is the checkout and the branch that genesis recorded is known once the
// queue file is read, and every verb checks it then.
func Open(ctx context.Context, dir string) (*Checkout, error) {
	return open(ctx, dir, disk{}, thisMachine())
}

func open(ctx context.Context, dir string, files Files, m machine) (*Checkout, error) {
	place, err := git.Locate(ctx, dir)
	if errors.Is(err, git.ErrNoRepository) {
		return nil, refuse(NotCanonical, "git finds no work tree here that it accepts as yours; run it in the checkout that holds the queue")
	}
	if err != nil {
		return nil, gitFailure(err)
	}
	if place.Linked() {
		return nil, refuse(NotCanonical, "this is a linked work tree; the queue belongs to the checkout of %s alone", place.CommonDir)
	}
	c := &Checkout{Root: place.Top, GitDir: place.GitDir, place: place, files: files, machine: m}
	if c.Branch, err = c.headBranch(ctx); err != nil {
		return nil, err
	}
	if c.settings, err = place.Settings(ctx, settingsSection); err != nil {
		return nil, gitFailure(err)
	}
	return c, c.setPaths()
}

// gitFailure is git that did not answer, which may be otherwise next time.
func gitFailure(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return failed(GitFailed, "git gave no answer: %v", err)
}

func (c *Checkout) headBranch(ctx context.Context) (string, error) {
	ref, err := c.place.HeadRef(ctx)
	if err != nil {
		return "", gitFailure(err)
	}
	return strings.TrimPrefix(ref, "refs/heads/"), nil
}

// Setting returns the values of mosaic.queue.<key>, in the order of the
// configuration.
func (c *Checkout) Setting(key string) []string { return c.settings[strings.ToLower(key)] }

// setting is the one value of a key: the last, as git has it.
func (c *Checkout) setting(key, otherwise string) string {
	if all := c.Setting(key); len(all) > 0 {
		return all[len(all)-1]
	}
	return otherwise
}

func (c *Checkout) setPaths() error {
	var all []string
	for _, p := range []struct {
		to             *string
		key, otherwise string
		inGit          bool
	}{
		{&c.Queue, "file", DefaultQueue, false},
		{&c.View, "view", DefaultView, false},
		{&c.Lock, "lock", DefaultLock, true},
		{&c.Gate, "gate", DefaultGate, true},
		{&c.Witness, "witness", DefaultWitness, true},
	} {
		path, err := c.resolve(settingsSection+"."+p.key, c.setting(p.key, p.otherwise), p.inGit)
		if err != nil {
			return err
		}
		*p.to = path
		all = append(all, path)
	}
	slices.Sort(all)
	if len(slices.Compact(all)) != 5 {
		return refuse(SettingsInvalid, "two of the queue's five files have one path in the git configuration")
	}
	return c.checkDirs()
}

// resolve places a configured path: the table's and the queue's file in the
// work tree, the others in the git directory, where no commit reaches them.
func (c *Checkout) resolve(key, value string, inGit bool) (string, error) {
	clean := filepath.Clean(value)
	first, rest, _ := strings.Cut(clean, "/")
	if value == "" || strings.HasSuffix(value, "/") || !filepath.IsLocal(clean) || strings.EqualFold(first, ".git") != inGit || inGit && rest == "" {
		where := "inside the work tree"
		if inGit {
			where = "inside .git/"
		}
		return "", refuse(SettingsInvalid, "%s is %q; it must be a path relative to the root, %s", key, value, where)
	}
	if inGit {
		return filepath.Join(c.GitDir, rest), nil
	}
	return filepath.Join(c.Root, clean), nil
}

// checkDirs refuses a directory on the way to a file that leads elsewhere
// through a symbolic link: two names of a file would have two temporary files,
// and a file system that was not looked at. One that does not exist yet is
// genesis's to make.
func (c *Checkout) checkDirs() error {
	for _, path := range []string{c.Queue, c.View, c.Lock, c.Gate, c.Witness} {
		dir := filepath.Dir(path)
		real, err := filepath.EvalSymlinks(dir)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil || real != dir {
			return refuse(NotCanonical, "the directory %s is reached through a symbolic link or cannot be read", dir)
		}
	}
	return nil
}

// checkCanonical compares the checkout with what genesis recorded
// (QUEUE-CANON-02, 06 to 08, 12). HEAD is looked at again, since it may have
// moved while the lock was waited for.
func (c *Checkout) checkCanonical(ctx context.Context, s *Replayed) error {
	if c.Root != s.Root {
		return refuse(NotCanonical, "the queue belongs to the checkout at %s, and this is %s", s.Root, c.Root)
	}
	branch, err := c.headBranch(ctx)
	switch {
	case err != nil:
		return err
	case branch == "":
		return refuse(WrongBranch, "HEAD is detached; the queue is worked on branch %s alone", s.Branch)
	case branch != s.Branch:
		return refuse(WrongBranch, "HEAD is on branch %s; the queue is worked on branch %s alone", branch, s.Branch)
	}
	return nil
}

// canonicalIfValid is checkCanonical for the verbs that also work without a
// valid queue file.
func (c *Checkout) canonicalIfValid(ctx context.Context) error {
	text, _, err := c.files.Read(StepRead, c.Queue)
	if err != nil {
		return nil
	}
	f, err := Parse(text)
	if err != nil {
		return nil
	}
	s, err := Replay(f.Log)
	if err != nil {
		return nil
	}
	return c.checkCanonical(ctx, s)
}

// relative is a path as git and people name it in this checkout.
func (c *Checkout) relative(path string) string {
	rel, err := filepath.Rel(c.Root, path)
	if err != nil {
		return path
	}
	return rel
}

// committed reports whether HEAD has the queue file (QUEUE-DATA-85).
func (c *Checkout) committed(ctx context.Context) (bool, error) {
	found, err := c.place.Committed(ctx, c.relative(c.Queue))
	if err != nil {
		return false, gitFailure(err)
	}
	return found, nil
}

func (c *Checkout) requireCommitted(ctx context.Context) error {
	found, err := c.committed(ctx)
	if err == nil && !found {
		return refuse(GenesisNotCommitted, "genesis not committed: HEAD has no %s yet", c.relative(c.Queue))
	}
	return err
}

// failed is a refusal that may not be one when it is tried again unchanged.
func failed(code, format string, args ...any) *Refusal {
	r := refuse(code, format, args...)
	r.Exit = 1
	return r
}

// uncertain is an outcome that somebody must look at (QUEUE-CLI-07).
func uncertain(code, format string, args ...any) *Refusal {
	r := refuse(code, format, args...)
	r.Exit, r.Uncertain = 3, true
	return r
}
