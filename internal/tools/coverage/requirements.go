package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var (
	definition = regexp.MustCompile(`(?m)^- \*\*((?:BUS|QUEUE|FLOW|MOSAIC)-[A-Z0-9]+-\d+)\*\* ?(.*)$`)
	identifier = regexp.MustCompile(`\b(?:BUS|QUEUE|FLOW|MOSAIC)-[A-Z0-9]+-\d+\b`)
	mark       = regexp.MustCompile(`(?m)(?://|#)\s*proves:(.*)$`)
)

// requirements are those that a test can prove, in the order of the documents.
type requirements struct {
	ids       []string
	text      map[string]string
	proposals map[string]bool // adopted answers to what the documents leave open
	waived    map[string]bool
}

// readRequirements reads *-requirements.md and waived.txt. Ids of an area OPEN
// are proposals: a test may name one, and none is counted.
func readRequirements(dir string) (requirements, error) {
	r := requirements{text: map[string]string{}, proposals: map[string]bool{}, waived: map[string]bool{}}
	waived, err := os.ReadFile(filepath.Join(dir, "waived.txt"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	for line := range strings.Lines(string(waived)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			r.waived[line] = true
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*-requirements.md"))
	if err != nil {
		return r, err
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return r, err
		}
		for _, m := range definition.FindAllStringSubmatch(string(text), -1) {
			id := m[1]
			if _, twice := r.text[id]; twice {
				return r, fmt.Errorf("%s is defined twice", id)
			}
			if strings.HasSuffix(area(id), "-OPEN") {
				r.proposals[id] = true
				continue
			}
			if r.waived[id] {
				continue
			}
			r.text[id] = strings.TrimSpace(m[2])
			r.ids = append(r.ids, id)
		}
	}
	if len(r.ids) == 0 {
		return r, fmt.Errorf("no requirements in %s", dir)
	}
	return r, nil
}

func area(id string) string { return id[:strings.LastIndexByte(id, '-')] }

// within keeps the areas that begin with one of the prefixes; all without any.
func (r requirements) within(prefixes []string) requirements {
	if len(prefixes) == 0 {
		return r
	}
	kept := r
	kept.ids = nil
	for _, id := range r.ids {
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(area(id), p) }) {
			kept.ids = append(kept.ids, id)
		}
	}
	return kept
}

// marks maps an id to the files of the tests that name it.
type marks map[string][]string

// readMarks reads every test of the project.
func readMarks(project string) (marks, error) {
	found := marks{}
	err := filepath.WalkDir(project, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name := entry.Name(); path != project && (strings.HasPrefix(name, ".") || name == "vendor" || name == "bin") {
				return filepath.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() || !carriesMarks(path) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(project, path)
		if err != nil {
			return err
		}
		for _, m := range mark.FindAllStringSubmatch(string(text), -1) {
			for _, id := range identifier.FindAllString(m[1], -1) {
				if !slices.Contains(found[id], name) {
					found[id] = append(found[id], name)
				}
			}
		}
		return nil
	})
	return found, err
}

func carriesMarks(path string) bool {
	switch filepath.Ext(path) {
	case ".go":
		return strings.HasSuffix(path, "_test.go")
	case ".txt", ".txtar", ".sh":
		return slices.Contains(strings.Split(filepath.ToSlash(path), "/"), "testdata")
	}
	return false
}

// unknown tells, ordered by id, of marks that name neither a requirement nor a
// waived one.
func (r requirements) unknown(m marks) []string {
	var told []string
	for _, id := range slices.Sorted(maps.Keys(m)) {
		if _, ok := r.text[id]; !ok && !r.proposals[id] {
			why := "names no requirement"
			if r.waived[id] {
				why = "is waived"
			}
			told = append(told, fmt.Sprintf("%s in %s %s", id, strings.Join(m[id], ", "), why))
		}
	}
	return told
}
