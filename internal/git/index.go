package git

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrIndexLocked says that another git process holds the repository's index.
var ErrIndexLocked = errors.New("git: the index is locked")

// indexSettings keep a disposable index in its one file.
var indexSettings = []string{"-c", "core.splitIndex=false", "-c", "index.sparse=false", "-c", "core.untrackedCache=false"}

// Index is a disposable index outside the repository, in which a tree is built
// without touching what anyone has staged.
type Index struct {
	r   *Repository
	dir string
}

// Entry is one path of an index or a tree.
type Entry struct {
	Mode  string // such as 100644
	ID    ObjectID
	Stage string // "0", or another digit in an unfinished merge
	Path  string
}

// NewIndex reads the tree of a commit into an index that did not exist before.
// The caller removes it with Remove.
func (r *Repository) NewIndex(ctx context.Context, commit ObjectID) (*Index, error) {
	dir, err := os.MkdirTemp("", "mosaic-index-")
	if err != nil {
		return nil, err
	}
	i := &Index{r, dir}
	if _, err := i.run(ctx, nil, "read-tree", string(commit)); err != nil {
		i.Remove()
		return nil, err
	}
	return i, nil
}

// Remove removes the index.
func (i *Index) Remove() { os.RemoveAll(i.dir) }

func (i *Index) env() string { return "GIT_INDEX_FILE=" + filepath.Join(i.dir, "index") }

func (i *Index) run(ctx context.Context, input []byte, args ...string) ([]byte, error) {
	return runInput(ctx, i.r.dir, environment(false, i.r.ceiling(), i.env()), input, maxOutput, append(append([]string{}, indexSettings...), args...)...)
}

// Set puts entries into the index; their objects need not exist yet.
func (i *Index) Set(ctx context.Context, entries ...Entry) error {
	var b bytes.Buffer
	for _, e := range entries {
		b.WriteString(e.Mode + " " + string(e.ID) + " 0\t" + e.Path + "\x00")
	}
	_, err := i.run(ctx, b.Bytes(), "update-index", "-z", "--add", "--index-info")
	return err
}

// WriteTree stores the index as a tree.
func (i *Index) WriteTree(ctx context.Context) (ObjectID, error) {
	out, err := i.run(ctx, nil, "write-tree")
	if err != nil {
		return "", err
	}
	return answerID(out)
}

// Unpack writes the files of the index below dir, which exists and is empty, as
// a checkout would.
func (i *Index) Unpack(ctx context.Context, dir string) error {
	_, err := runInput(ctx, i.r.dir, environment(true, i.r.ceiling(), i.env()), nil, maxOutput,
		append(append([]string{}, indexSettings...), "checkout-index", "--all", "--quiet", "--prefix="+dir+"/")...)
	return err
}

// Staged returns the entries of the repository's own index for the paths; a
// path that is not there has none.
func (r *Repository) Staged(ctx context.Context, paths ...string) ([]Entry, error) {
	out, err := r.read(ctx, append([]string{"ls-files", "-s", "-z", "--full-name", "--"}, paths...)...)
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for record := range records(out) {
		attributes, path, ok := strings.Cut(record, "\t")
		fields := strings.Fields(attributes)
		if !ok || len(fields) != 3 {
			return nil, ErrAnswer
		}
		id, ok := ParseObjectID(fields[1])
		if !ok {
			return nil, ErrAnswer
		}
		entries = append(entries, Entry{Mode: fields[0], ID: id, Stage: fields[2], Path: path})
	}
	return entries, nil
}

// Tree returns the entries of a commit or tree for the paths, or all of its
// files when none is named.
func (r *Repository) Tree(ctx context.Context, tree ObjectID, paths ...string) ([]Entry, error) {
	out, err := runInput(ctx, r.dir, environment(false, r.ceiling()), nil, maxListing,
		append([]string{"ls-tree", "-r", "-z", "--full-tree", string(tree), "--"}, paths...)...)
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for record := range records(out) {
		attributes, path, ok := strings.Cut(record, "\t")
		fields := strings.Fields(attributes)
		if !ok || len(fields) != 3 {
			return nil, ErrAnswer
		}
		id, ok := ParseObjectID(fields[2])
		if !ok {
			return nil, ErrAnswer
		}
		entries = append(entries, Entry{Mode: fields[0], ID: id, Stage: "0", Path: path})
	}
	return entries, nil
}

// Differing returns the paths in which two trees or commits differ.
func (r *Repository) Differing(ctx context.Context, from, to ObjectID) ([]string, error) {
	out, err := runInput(ctx, r.dir, environment(false, r.ceiling()), nil, maxListing,
		"diff-tree", "-r", "-z", "--no-renames", "--name-only", string(from), string(to))
	if err != nil {
		return nil, err
	}
	return slices.Collect(records(out)), nil
}

// Unstage points the index's entries for the paths at HEAD's and touches
// nothing else. ErrIndexLocked when another git process holds the index.
func (r *Repository) Unstage(ctx context.Context, paths ...string) error {
	_, err := r.read(ctx, append([]string{"reset", "-q", "--"}, paths...)...)
	if !Refused(err) {
		return err
	}
	lock, lost := r.read(ctx, "rev-parse", "--path-format=absolute", "--git-path", "index.lock")
	if lost != nil {
		return err
	}
	if _, gone := os.Lstat(strings.TrimSuffix(string(lock), "\n")); gone == nil {
		return ErrIndexLocked
	}
	return err
}

// records are the parts of an answer in the form of -z.
func records(out []byte) iter.Seq[string] {
	if len(out) == 0 {
		return func(func(string) bool) {}
	}
	return strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00")
}
