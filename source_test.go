// Package mosaic_test holds what must be true of the repository as a whole:
// which package may import which, what every package says of itself, and what
// the documents promise. It reads sources and documents and runs no product
// code but the registries.
package mosaic_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "mosaicstack.dev/mosaic"

// source is one package of the module, all build constraints taken together.
type source struct {
	dir   string // relative to the module, such as internal/wire
	name  string
	files map[string]*ast.File // by path; without tests
	tests map[string]*ast.File
}

// sources parses the module once for all tests.
var sources = sync.OnceValues(parseModule)

var positions = token.NewFileSet()

func parseModule() (map[string]*source, error) {
	found := map[string]*source{}
	err := filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name := entry.Name(); file != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin") {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(file) != ".go" {
			return nil
		}
		parsed, err := parser.ParseFile(positions, file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir := path.Dir(filepath.ToSlash(file))
		s := found[dir]
		if s == nil {
			s = &source{dir: dir, files: map[string]*ast.File{}, tests: map[string]*ast.File{}}
			found[dir] = s
		}
		if strings.HasSuffix(file, "_test.go") {
			s.tests[file] = parsed
			return nil
		}
		s.name = parsed.Name.Name
		s.files[file] = parsed
		return nil
	})
	return found, err
}

// packages are those with code besides tests, ordered by folder.
func packages(t *testing.T) []*source {
	t.Helper()
	all, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	var list []*source
	for _, dir := range slices.Sorted(maps.Keys(all)) {
		if len(all[dir].files) > 0 {
			list = append(list, all[dir])
		}
	}
	if len(list) < 5 {
		t.Fatalf("found only %d packages", len(list))
	}
	return list
}

func packageAt(t *testing.T, dir string) *source {
	t.Helper()
	for _, p := range packages(t) {
		if p.dir == dir {
			return p
		}
	}
	t.Fatalf("there is no package %s", dir)
	return nil
}

// imports lists what the package's code imports, with one file that does.
func (s *source) imports() map[string]string { return importsOf(s.files) }

func importsOf(files map[string]*ast.File) map[string]string {
	found := map[string]string{}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		for _, spec := range files[file].Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err == nil && found[name] == "" {
				found[name] = file
			}
		}
	}
	return found
}

// inModule returns the folder of an import of this module.
func inModule(imported string) (dir string, ok bool) {
	return strings.CutPrefix(imported, module+"/")
}

// reach is everything of the module that a package is built of, itself
// included, by folder, with the folder that first imported it.
func reach(t *testing.T, dir string) map[string]string {
	t.Helper()
	from := map[string]string{dir: ""}
	for queue := []string{dir}; len(queue) > 0; queue = queue[1:] {
		for imported := range packageAt(t, queue[0]).imports() {
			if next, ok := inModule(imported); ok {
				if _, seen := from[next]; !seen {
					from[next] = queue[0]
					queue = append(queue, next)
				}
			}
		}
	}
	return from
}

// texts calls visit for every string literal of the package's code but its
// import paths.
func (s *source) texts(visit func(at token.Position, text string)) {
	for _, file := range slices.Sorted(maps.Keys(s.files)) {
		ast.Inspect(s.files[file], func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil {
					visit(positions.Position(n.Pos()), text)
				}
			}
			return true
		})
	}
}

// calls calls visit for every call of the form pkg.Name(…) in the files.
func calls(files map[string]*ast.File, visit func(at token.Position, pkg, name string)) {
	for _, file := range slices.Sorted(maps.Keys(files)) {
		ast.Inspect(files[file], func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
				if pkg, ok := sel.X.(*ast.Ident); ok {
					visit(positions.Position(call.Pos()), pkg.Name, sel.Sel.Name)
				}
			}
			return true
		})
	}
}
