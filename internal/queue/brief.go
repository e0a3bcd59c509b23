package queue

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"mosaicstack.dev/mosaic/internal/git"
)

// Committed reads what HEAD has; *git.Repository is one.
type Committed interface {
	HeadCommit(ctx context.Context) (git.ObjectID, bool, error)
	Tree(ctx context.Context, tree git.ObjectID, paths ...string) ([]git.Entry, error)
	Blob(ctx context.Context, id git.ObjectID) ([]byte, error)
}

// ParseBrief reads PATH[#HEADING].
func ParseBrief(text string) (BriefRef, error) {
	path, anchor, has := strings.Cut(text, "#")
	b := BriefRef{Path: path}
	if has {
		b.Anchor = &anchor
	}
	return b, b.normalize()
}

// PinBrief checks a brief and returns the id of HEAD's blob of it, the one
// that the row records (QUEUE-BRIEF-01 to 09). root is the canonical root.
// Refusals are *Refusal with BriefInvalid or ArgumentInvalid.
func PinBrief(ctx context.Context, head Committed, root string, brief BriefRef) (blob string, err error) {
	if err := brief.normalize(); err != nil {
		return "", err
	}
	if err := checkWorkingFile(root, brief.Path); err != nil {
		return "", err
	}
	entry, err := inHead(ctx, head, brief.Path)
	if err != nil {
		return "", err
	}
	if entry == nil {
		return "", refuse(BriefInvalid, "the brief %s is not in HEAD: commit it first", brief.Path)
	}
	if brief.Anchor == nil {
		return string(entry.ID), nil
	}
	text, err := head.Blob(ctx, entry.ID)
	if err != nil {
		return "", err
	}
	if n := countHeadings(text, *brief.Anchor); n != 1 {
		return "", refuse(BriefInvalid, "HEAD's %s has the heading %q %d times, not once", brief.Path, *brief.Anchor, n)
	}
	return string(entry.ID), nil
}

// HeadBlob returns the id of HEAD's blob of a brief; "" when HEAD has no such
// file.
func HeadBlob(ctx context.Context, head Committed, path string) (string, error) {
	entry, err := inHead(ctx, head, path)
	if err != nil || entry == nil {
		return "", err
	}
	return string(entry.ID), nil
}

// inHead returns HEAD's entry of a regular file; nil when there is none.
func inHead(ctx context.Context, head Committed, path string) (*git.Entry, error) {
	commit, ok, err := head.HeadCommit(ctx)
	if err != nil || !ok {
		return nil, err
	}
	entries, err := head.Tree(ctx, commit, path)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Path == path && isRegular(e) {
			return &e, nil
		}
	}
	return nil, nil
}

func isRegular(e git.Entry) bool { return e.Mode == "100644" || e.Mode == "100755" }

// checkWorkingFile demands a regular file whose real path lies inside the root
// (QUEUE-BRIEF-02 to 04, QUEUE-BRIEF-07).
func checkWorkingFile(root, path string) error {
	f, _, err := openWorking(root, path)
	if err != nil {
		return err
	}
	return f.Close()
}

// openWorking opens a working file below the root. No link leads out of the
// root, and the file itself is none.
func openWorking(root, path string) (*os.File, fs.FileInfo, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, nil, err
	}
	defer dir.Close()
	info, err := dir.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil, nil, refuse(BriefInvalid, "the brief %s does not exist", path)
	case err != nil:
		return nil, nil, refuse(BriefInvalid, "the brief %s does not lie inside the repository or cannot be read", path)
	case !info.Mode().IsRegular():
		return nil, nil, refuse(BriefInvalid, "the brief %s is no regular file", path)
	}
	// Nothing waits for a pipe that took the file's place.
	f, err := dir.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, refuse(BriefInvalid, "the brief %s cannot be read", path)
	}
	if info, err = f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, nil, refuse(BriefInvalid, "the brief %s is no regular file", path)
	}
	return f, info, nil
}

// WorkingBlob computes the blob id of a brief's working bytes, in this process
// and without git, by the hash of the pinned id (QUEUE-BRIEF-12 and 13); ""
// when there is no such file. It is the fact of a start.
func WorkingBlob(root string, brief Brief) (string, error) {
	f, info, err := openWorking(root, brief.Path)
	var refusal *Refusal
	if errors.As(err, &refusal) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := objectHash(brief.Blob)
	fmt.Fprintf(h, "blob %d\x00", info.Size())
	n, err := io.Copy(h, f)
	if err != nil {
		return "", err
	}
	if n != info.Size() {
		return "", nil // it is being written: it is not the pinned one
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func objectHash(id string) hash.Hash {
	if len(id) == sha256.Size*2 {
		return sha256.New()
	}
	return sha1.New()
}

// Drift is a brief that HEAD does not have as its row pinned it.
type Drift struct {
	Row    RowID
	Reason string
}

// BriefDrift compares the briefs of rows that are neither done nor parked with
// HEAD (QUEUE-BRIEF-10).
func BriefDrift(ctx context.Context, head Committed, s *Replayed) ([]Drift, error) {
	blobs, err := headBlobs(ctx, head, s)
	if err != nil {
		return nil, err
	}
	var drift []Drift
	for i := range s.Rows {
		row := &s.Rows[i]
		if row.State.terminal() {
			continue
		}
		switch blob := blobs[row.Brief.Path]; blob {
		case row.Brief.Blob:
		case "":
			drift = append(drift, Drift{row.ID, fmt.Sprintf("%s is not in HEAD", row.Brief.Path)})
		default:
			drift = append(drift, Drift{row.ID, fmt.Sprintf("HEAD has another version of %s than the pinned one", row.Brief.Path)})
		}
	}
	return drift, nil
}

// pathsAtOnce keeps the command line of one git child short.
const pathsAtOnce = 100

// headBlobs looks up every brief of a row that is under way.
func headBlobs(ctx context.Context, head Committed, s *Replayed) (map[string]string, error) {
	commit, ok, err := head.HeadCommit(ctx)
	if err != nil || !ok {
		return nil, err
	}
	var paths []string
	for i := range s.Rows {
		if row := &s.Rows[i]; !row.State.terminal() {
			paths = append(paths, row.Brief.Path)
		}
	}
	blobs := map[string]string{}
	for some := range slices.Chunk(sortedSet(paths), pathsAtOnce) {
		entries, err := head.Tree(ctx, commit, some...)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if isRegular(e) {
				blobs[e.Path] = string(e.ID)
			}
		}
	}
	return blobs, nil
}

// countHeadings counts the headings with exactly this text: lines of one to
// six # outside fenced code (QUEUE-OPEN-29).
func countHeadings(text []byte, heading string) int {
	count := 0
	fence := ""
	for line := range bytes.Lines(text) {
		line := strings.TrimRight(string(line), "\r\n")
		if fence != "" {
			if closesFence(line, fence) {
				fence = ""
			}
			continue
		}
		if fence = opensFence(line); fence != "" {
			continue
		}
		if text, ok := headingOf(line); ok && text == heading {
			count++
		}
	}
	return count
}

// headingOf returns the trimmed text of a heading line; a closing run of # is
// no part of it.
func headingOf(line string) (string, bool) {
	rest, ok := unindented(line)
	if !ok {
		return "", false
	}
	text := strings.TrimLeft(rest, "#")
	level := len(rest) - len(text)
	if level < 1 || level > 6 || text != "" && text[0] != ' ' && text[0] != '\t' {
		return "", false
	}
	text = strings.TrimSpace(text)
	if open := strings.TrimRight(text, "#"); open == "" || open != strings.TrimRight(open, " \t") {
		text = strings.TrimSpace(open)
	}
	return text, true
}

// opensFence returns the run of ` or ~ with which a line opens fenced code.
func opensFence(line string) string {
	rest, ok := unindented(line)
	if !ok || !strings.HasPrefix(rest, "```") && !strings.HasPrefix(rest, "~~~") {
		return ""
	}
	info := strings.TrimLeft(rest, rest[:1])
	if rest[0] == '`' && strings.Contains(info, "`") {
		return "" // code inside a line
	}
	return rest[:len(rest)-len(info)]
}

func closesFence(line, fence string) bool {
	rest, ok := unindented(line)
	rest = strings.TrimRight(rest, " \t")
	return ok && len(rest) >= len(fence) && strings.Trim(rest, fence[:1]) == ""
}

// unindented takes up to three spaces off a line; more make it code.
func unindented(line string) (string, bool) {
	rest := strings.TrimLeft(line, " ")
	return rest, len(line)-len(rest) <= 3
}
