package queue

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"mosaicstack.dev/mosaic/internal/git"
)

// guardRefusal begins the line by which the canary knows the guard
// (QUEUE-COMMIT-18).
const guardRefusal = "mosaic queue guard: refused"

// guards are the texts of the guard hook, the newest last. A text that was
// released stays here, so that install-hook replaces only what an earlier
// version wrote (QUEUE-OPEN-98).
//
// The guard compares the index that git commits from with HEAD. It lets a
// commit through when the repository has none yet (QUEUE-OPEN-99), and refuses
// when git cannot tell. Whatever the environment says about how git reads paths
// or history does not count, so that nobody steps round it by a variable.
var guards = []string{`#!/bin/sh
# mosaic queue guard v1
# Keeps the queue out of ordinary commits: only "mosaic queue commit" changes it.
queue=@QUEUE@
view=@VIEW@
unset GIT_GLOB_PATHSPECS GIT_NOGLOB_PATHSPECS GIT_ICASE_PATHSPECS GIT_EXTERNAL_DIFF GIT_DIFF_OPTS
GIT_LITERAL_PATHSPECS=1
export GIT_LITERAL_PATHSPECS
git --no-replace-objects diff-index --cached --quiet --no-ext-diff --ignore-submodules=none HEAD -- "$queue" "$view" 2>/dev/null
case $? in
0) exit 0 ;;
1)
	echo "` + guardRefusal + `: this commit would change the queue, which only 'mosaic queue commit' does" >&2
	printf '%s\n' @FIX@ >&2
	exit 1
	;;
esac
git --no-replace-objects rev-parse -q --verify HEAD >/dev/null 2>&1
if [ $? -eq 1 ]; then
	exit 0
fi
echo "` + guardRefusal + `: git cannot compare the index with HEAD" >&2
exit 1
`}

// Guard is the text of the guard hook for the paths of the two queue files,
// relative to the root.
func Guard(queue, view string) []byte { return guard(len(guards)-1, queue, view) }

func guard(version int, queue, view string) []byte {
	fix := "To take it out of the commit, in the root of the checkout: " + ResetCommand(queue, view)
	fill := strings.NewReplacer("@QUEUE@", shellWord(queue), "@VIEW@", shellWord(view), "@FIX@", shellWord(fix))
	return []byte(fill.Replace(guards[version]))
}

// ResetCommand points the index's entries for the paths at HEAD's.
func ResetCommand(paths ...string) string {
	command := "git reset -q --"
	for _, path := range paths {
		command += " " + shellWord(path)
	}
	return command
}

// shellWord writes a word as a shell reads it back, quoted only where it must be.
func shellWord(word string) string {
	if word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// isGuard reports a text that some version of this program wrote, for whatever
// paths.
func isGuard(text []byte) bool {
	for version := range guards {
		queue, view, ok := guardPaths(text)
		if ok && bytes.Equal(text, guard(version, queue, view)) {
			return true
		}
	}
	return false
}

// guardPaths reads the two paths out of a guard's text.
func guardPaths(text []byte) (queue, view string, ok bool) {
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if word, found := strings.CutPrefix(line, "queue="); found {
			queue = shellUnquoted(word)
		}
		if word, found := strings.CutPrefix(line, "view="); found {
			view = shellUnquoted(word)
		}
	}
	return queue, view, queue != "" && view != ""
}

// shellUnquoted takes back what shellWord did.
func shellUnquoted(word string) string {
	if inner, ok := strings.CutPrefix(word, "'"); ok {
		return strings.ReplaceAll(strings.TrimSuffix(inner, "'"), `'\''`, "'")
	}
	return word
}

// hook is where git keeps the guard.
func (c *Checkout) hook() string { return filepath.Join(c.GitDir, "hooks", "pre-commit") }

// paths are the two queue files as git names them.
func (c *Checkout) paths() (queue, view string) { return c.relative(c.Queue), c.relative(c.View) }

// Installed says what install-hook did.
type Installed struct {
	Hook     string `json:"hook"`
	Replaced bool   `json:"replaced"` // an earlier version of the guard was there
	Already  bool   `json:"already"`
}

// InstallHook installs the guard (QUEUE-COMMIT-06 to 10). It replaces nothing
// but a guard of its own, and refuses where git would not run it. Before
// genesis any named actor may install it (QUEUE-OPEN-58).
func (c *Checkout) InstallHook(ctx context.Context, by Seat) (Installed, error) {
	if err := c.allowCommit(ctx, by); err != nil {
		return Installed{}, err
	}
	repo, err := git.Open(ctx, c.Root)
	if err != nil {
		return Installed{}, gitFailure(err)
	}
	if err := checkHooksPath(ctx, repo); err != nil {
		return Installed{}, err
	}
	done := Installed{Hook: c.hook()}
	text := Guard(c.paths())
	switch info, err := os.Lstat(done.Hook); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil || !info.Mode().IsRegular():
		return Installed{}, refuse(HookForeign, "%s is no regular file; it is left as it is", done.Hook)
	default:
		old, err := os.ReadFile(done.Hook)
		switch {
		case err != nil:
			return Installed{}, failed(ReadFailed, "%s cannot be read (%s)", done.Hook, cause(err))
		case !isGuard(old):
			return Installed{}, refuse(HookForeign, "another pre-commit hook stands at %s; it is left as it is: call the guard from it, or move it away", done.Hook)
		}
		done.Already = bytes.Equal(old, text) && info.Mode().Perm() == 0o755
		done.Replaced = !done.Already
	}
	if done.Already {
		return done, nil
	}
	if err := c.writeHook(text); err != nil {
		return Installed{}, failed(WriteFailed, "the guard cannot be written (%s)", cause(err))
	}
	return done, nil
}

func (c *Checkout) writeHook(text []byte) error {
	if err := os.Mkdir(filepath.Dir(c.hook()), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return replace(c.files, StepHook, c.hook(), c.hook()+".mosaic.tmp", text, 0o755)
}

// allowCommit refuses an actor who may neither commit the queue nor install
// its guard. Without a queue file nobody is known yet.
func (c *Checkout) allowCommit(ctx context.Context, by Seat) error {
	if by == "" {
		return refuse(ActorMissing, "this needs an actor: name it with --by")
	}
	if _, err := c.files.Stat(StepPeekQueue, c.Queue); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	r, err := c.Read(ctx)
	if err != nil {
		return err
	}
	return r.State.AllowCommit(by)
}

// checkHooksPath refuses a setting that makes git run other hooks than the
// guard, in whatever scope the caller's git sees it (QUEUE-COMMIT-15, 21).
func checkHooksPath(ctx context.Context, repo *git.Repository) error {
	scopes, err := repo.HooksPath(ctx)
	if err != nil {
		return gitFailure(err)
	}
	if len(scopes) > 0 {
		return refuse(GuardInactive, "core.hooksPath is set in the %s configuration, so git does not run the guard", strings.Join(scopes, " and the "))
	}
	return nil
}

// checkGuard refuses unless git would run the guard for a commit and the guard
// does its work (QUEUE-COMMIT-11 to 19). head is the commit of HEAD.
func (c *Checkout) checkGuard(ctx context.Context, repo *git.Repository, head git.ObjectID) error {
	if err := c.checkHookFile(); err != nil {
		return err
	}
	if err := checkHooksPath(ctx, repo); err != nil {
		return err
	}
	return c.canary(ctx, repo, head)
}

func (c *Checkout) checkHookFile() error {
	inactive := func(why string) error {
		return refuse(GuardInactive, "the guard %s %s; mosaic queue install-hook installs it", c.hook(), why)
	}
	info, err := os.Lstat(c.hook())
	if errors.Is(err, fs.ErrNotExist) {
		return inactive("is not there")
	}
	if err != nil {
		return failed(ReadFailed, "the guard cannot be looked at (%s)", cause(err))
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return inactive("is no regular file")
	case !ok || int(owner.Uid) != os.Geteuid():
		return inactive("belongs to another user")
	case info.Mode()&0o100 == 0:
		return inactive("is not executable, so git passes it over")
	}
	text, err := os.ReadFile(c.hook())
	if err != nil {
		return failed(ReadFailed, "the guard cannot be read (%s)", cause(err))
	}
	switch {
	case bytes.Equal(text, Guard(c.paths())):
		return nil
	case isGuard(text):
		return inactive("is of another version or for other paths")
	default:
		return inactive("is another hook")
	}
}

// canary lets git run the hook that it would run for a commit: with an index
// that is HEAD's it must pass, and with one changed entry it must refuse in the
// guard's own words.
func (c *Checkout) canary(ctx context.Context, repo *git.Repository, head git.ObjectID) error {
	index, err := repo.NewIndex(ctx, head)
	if err != nil {
		return gitFailure(err)
	}
	defer index.Remove()
	exit, _, err := repo.RunHook(ctx, "pre-commit", index)
	if err != nil {
		return gitFailure(err)
	}
	if exit != 0 {
		return refuse(GuardInactive, "git does not run the guard, or it refuses an index without changes (exit %d)", exit)
	}
	queue, _ := c.paths()
	// The commit's id is none that a blob can have.
	if err := index.Set(ctx, git.Entry{Mode: "100644", ID: head, Path: queue}); err != nil {
		return gitFailure(err)
	}
	exit, said, err := repo.RunHook(ctx, "pre-commit", index)
	if err != nil {
		return gitFailure(err)
	}
	if exit == 0 || !hasLine(said, guardRefusal) {
		return refuse(GuardInactive, "git runs a hook that lets a change of the queue through (exit %d)", exit)
	}
	return nil
}

func hasLine(text, beginning string) bool {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, beginning) {
			return true
		}
	}
	return false
}
