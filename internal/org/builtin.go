package org

import (
	"embed"
	"fmt"
	"slices"
	"strings"
)

// builtinFiles are the eleven role definitions that need no file in the data
// root. They are ordinary definition files and pass the same checks.
//
//go:embed builtin/*.yaml
var builtinFiles embed.FS

// BuiltIns returns the names of the built-in definitions, in order.
func BuiltIns() []string {
	entries, err := builtinFiles.ReadDir("builtin")
	if err != nil {
		panic(fmt.Sprintf("org: embedded definitions: %v", err))
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".yaml")
	}
	slices.Sort(names)
	return names
}

// BuiltInFile returns the text of a built-in definition, as a start for a file
// in roles/ that overrides it.
func BuiltInFile(name string) ([]byte, error) {
	return builtinFiles.ReadFile("builtin/" + name + ".yaml")
}
