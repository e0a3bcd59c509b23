package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind says what a context source is to the seat.
type Kind string

// The kinds of context sources (QUEUE-GATE-28 to 33).
const (
	LaunchSnapshot Kind = "launch"
	SeatFile       Kind = "seat"
	UserFile       Kind = "user" // its content appears nowhere
	Skill          Kind = "skill"
	BriefFile      Kind = "brief"
)

// Source is a text, or a directory of texts, that shapes what a seat does.
type Source struct {
	Kind   Kind   `json:"kind"`
	Path   string `json:"path"`   // absolute
	SHA256 string `json:"sha256"` // of a directory: over its files' names and digests
}

// measure takes the digest of a source as it is now.
func measure(kind Kind, path string) (Source, error) {
	files, err := filesOf(path)
	if err != nil {
		return Source{}, err
	}
	sum := sha256.New()
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join(path, name))
		if err != nil {
			return Source{}, err
		}
		if name == "" {
			sum.Write(text)
			continue
		}
		fmt.Fprintf(sum, "%x  %s\n", sha256.Sum256(text), name)
	}
	return Source{kind, path, hex.EncodeToString(sum.Sum(nil))}, nil
}

// filesOf lists the files of a source by their names below it: "" for a file
// that is the source itself. A link or a device in a directory is an error,
// because its digest would say nothing.
func filesOf(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode().IsRegular() {
		return []string{""}, nil
	}
	var files []string
	err = filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir():
			return err
		case !d.Type().IsRegular():
			return fmt.Errorf("%s is not a regular file", file)
		}
		name, err := filepath.Rel(path, file)
		files = append(files, name)
		return err
	})
	slices.Sort(files)
	return files, err
}

// match is a place in a source that names the row.
type match struct {
	file string // below the source, "" for the source itself
	line int
	term string
}

// search looks for whole-word occurrences of terms (QUEUE-OPEN-96).
func (s Source) search(terms []string) ([]match, error) {
	files, err := filesOf(s.Path)
	if err != nil {
		return nil, err
	}
	var found []match
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join(s.Path, name))
		if err != nil {
			return nil, err
		}
		for n, line := range bytes.Split(text, []byte("\n")) {
			for _, term := range terms {
				if hasWord(string(line), term) {
					found = append(found, match{name, n + 1, term})
				}
			}
		}
	}
	return found, nil
}

// hasWord reports whether term stands in text with no letter, digit or
// underscore beside it.
func hasWord(text, term string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], term)
		if i < 0 || term == "" {
			return false
		}
		begin, end := at+i, at+i+len(term)
		before, _ := utf8.DecodeLastRuneInString(text[:begin])
		after, _ := utf8.DecodeRuneInString(text[end:])
		if (begin == 0 || !isWord(before)) && (end == len(text) || !isWord(after)) {
			return true
		}
		at = begin + 1
	}
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
