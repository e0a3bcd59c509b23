// Command reference writes docs/reference from the registries: the codes of
// package wire and the verbs of packages broker and host.
//
// It owns these pages whole: what is in them is said once, in the registry, and
// never edited in the page. A test fails while a page differs from what this
// command would write; `make reference` writes it.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// pages are the generated files by name.
var pages = map[string]func() string{
	"codes.md": codes,
	"host.md":  hostVerbs,
	"verbs.md": verbs,
}

func main() {
	dir := filepath.Join("docs", "reference")
	if err := write(dir); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

func write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, page := range pages {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(page()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
