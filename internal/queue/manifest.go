package queue

import (
	"encoding/hex"
	"path"
	"strings"
	"unicode/utf8"
)

// maxManifest bounds a manifest's text, which becomes part of the log and of a
// comment.
const maxManifest = 256 << 10

// ManifestEntry is one line of a manifest: a path of the repository, and the
// SHA-256 that its bytes have in the candidate.
type ManifestEntry struct {
	Path string
	Sum  [32]byte
}

// ParseManifest reads a manifest: lines of 64 lower-case hex digits, two
// spaces and a path, each ended by a newline, in the order of their paths,
// each path once (QUEUE-OPEN-76). This is what sha256sum prints for sorted
// paths. The refusal names the first line that is wrong.
func ParseManifest(text string) ([]ManifestEntry, error) {
	switch {
	case text == "":
		return nil, refuse(CandidateInvalid, "the manifest is empty")
	case len(text) > maxManifest:
		return nil, refuse(CandidateInvalid, "the manifest is larger than %d bytes", maxManifest)
	case !utf8.ValidString(text):
		return nil, refuse(CandidateInvalid, "the manifest is not valid UTF-8")
	case !strings.HasSuffix(text, "\n"):
		return nil, refuse(CandidateInvalid, "the manifest's last line has no newline")
	}
	var entries []ManifestEntry
	for n, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		entry, err := parseManifestLine(line)
		if err == "" && n > 0 && entry.Path <= entries[n-1].Path {
			err = "its path is not after the path of the line before"
		}
		if err != "" {
			return nil, refuse(CandidateInvalid, "line %d of the manifest: %s", n+1, err)
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

// parseManifestLine returns what is wrong with a line, or "".
func parseManifestLine(line string) (entry ManifestEntry, wrong string) {
	const digits = 2 * len(entry.Sum)
	if len(line) < digits+3 || !isHex(line[:digits]) || line[digits:digits+2] != "  " {
		return entry, "it is not 64 lower-case hex digits, two spaces and a path"
	}
	entry.Path = line[digits+2:]
	hex.Decode(entry.Sum[:], []byte(line[:digits])) // isHex: cannot fail
	switch first, _, _ := strings.Cut(entry.Path, "/"); {
	case strings.ContainsFunc(entry.Path, endsLine):
		return entry, "its path has a control character"
	case strings.Contains(entry.Path, "<!--"):
		return entry, "its path looks like a comment's marker"
	case path.IsAbs(entry.Path) || path.Clean(entry.Path) != entry.Path || entry.Path == "." || first == "..":
		return entry, "its path is not relative to the root in its shortest form"
	case strings.EqualFold(first, ".git"):
		return entry, "its path lies inside git's own directory"
	}
	return entry, ""
}
