package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// ErrNoRepository says that git finds no repository with a work tree there, or
// refuses the one it finds because it belongs to another user and
// safe.directory does not name it.
var ErrNoRepository = errors.New("git: no work tree that git accepts")

// Place is where a directory stands in a checkout. Paths are absolute and
// without symbolic links.
type Place struct {
	Top       string // root of the work tree
	GitDir    string // where HEAD and index are
	CommonDir string // where the objects are; another one in a linked work tree
}

// Locate asks git for the place of dir, which may be any directory of a work
// tree. It sees the person's own configuration too, because that is where
// safe.directory is read from; git's own rules decide about the owner. Answers
// come from one child.
func Locate(ctx context.Context, dir string) (Place, error) {
	if p, ok := locatePlain(dir); ok {
		return p, nil
	}
	questions := []string{"--show-toplevel", "--git-dir", "--git-common-dir"}
	answers, err := ask(ctx, dir, questions...)
	if err == nil && len(answers) != len(questions) {
		// A path holds a newline: one question a child has one answer.
		answers, err = askEach(ctx, dir, questions)
	}
	if err != nil {
		return Place{}, err
	}
	var p Place
	for i, to := range []*string{&p.Top, &p.GitDir, &p.CommonDir} {
		if *to, err = filepath.EvalSymlinks(answers[i]); err != nil || !filepath.IsAbs(*to) {
			return Place{}, ErrNoRepository
		}
	}
	return p, nil
}

// Linked reports whether the place is a linked work tree.
func (p Place) Linked() bool { return p.GitDir != p.CommonDir }

func ask(ctx context.Context, dir string, questions ...string) ([]string, error) {
	args := append([]string{"rev-parse", "--path-format=absolute"}, questions...)
	out, err := run(ctx, dir, environment(true), args...)
	if Refused(err) {
		return nil, ErrNoRepository
	}
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"), nil
}

func askEach(ctx context.Context, dir string, questions []string) ([]string, error) {
	var answers []string
	for _, question := range questions {
		lines, err := ask(ctx, dir, question)
		if err != nil {
			return nil, err
		}
		answers = append(answers, strings.Join(lines, "\n"))
	}
	return answers, nil
}

// HeadRef returns the full name of the ref that HEAD names, or "" when HEAD is
// detached. The usual form of HEAD, a file that names a branch, is read
// without a child; git is asked about every other one.
func (p Place) HeadRef(ctx context.Context) (string, error) {
	text, err := os.ReadFile(filepath.Join(p.GitDir, "HEAD"))
	ref, symbolic := strings.CutPrefix(string(text), "ref: refs/heads/")
	// .invalid stands there when refs are kept in another store than files.
	if name, one := strings.CutSuffix(ref, "\n"); err == nil && symbolic && one && name != ".invalid" && !strings.ContainsAny(name, " \t\r\n") {
		return "refs/heads/" + name, nil
	}
	return Worktree{Dir: p.Top}.HeadRef(ctx)
}

// Settings returns the values of the repository's own configuration whose key
// starts with section and a dot, such as "mosaic.queue", by the rest of the
// key in lower case. The person's and the system's configuration do not count:
// every process of the checkout must see the same.
func (p Place) Settings(ctx context.Context, section string) (map[string][]string, error) {
	text, err := os.ReadFile(filepath.Join(p.CommonDir, "config"))
	if err == nil && !mentions(text, section) {
		return nil, nil // what most repositories say, without a child
	}
	out, err := run(ctx, p.Top, environment(false), "config", "--local", "--no-includes", "-z", "--get-regexp", "^"+strings.ToLower(strings.ReplaceAll(section, ".", `\.`))+`\.`)
	if exitCode(err) == 1 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseSettings(string(out), strings.ToLower(section)+"."), nil
}

// mentions reports whether a configuration file can hold the section: the
// first word of its name, which git knows no escapes for, stands in it.
func mentions(text []byte, section string) bool {
	first, _, _ := strings.Cut(section, ".")
	return strings.Contains(strings.ToLower(string(text)), strings.ToLower(first))
}

func parseSettings(text, prefix string) map[string][]string {
	all := map[string][]string{}
	for record := range strings.SplitSeq(text, "\x00") {
		key, value, _ := strings.Cut(record, "\n")
		if rest, ok := strings.CutPrefix(strings.ToLower(key), prefix); ok {
			all[rest] = append(all[rest], value)
		}
	}
	return all
}

// Committed reports whether the commit of HEAD has a file at path, relative to
// the top.
func (p Place) Committed(ctx context.Context, path string) (bool, error) {
	_, err := run(ctx, p.Top, environment(true), "rev-parse", "--verify", "--quiet", "--end-of-options", "HEAD:"+path)
	if exitCode(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// CommittedText returns what the commit of HEAD has at path; false when it has
// nothing there.
func (p Place) CommittedText(ctx context.Context, path string) ([]byte, bool, error) {
	if found, err := p.Committed(ctx, path); err != nil || !found {
		return nil, false, err
	}
	text, err := run(ctx, p.Top, environment(true), "cat-file", "blob", "HEAD:"+path)
	return text, err == nil, err
}
