package mosaic_test

import (
	"go/ast"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What must hold for the tests of every package.

// testFiles calls visit for every test file of the module.
func testFiles(t *testing.T, visit func(file string, parsed *ast.File)) {
	t.Helper()
	all, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range slices.Sorted(maps.Keys(all)) {
		for _, file := range slices.Sorted(maps.Keys(all[dir].tests)) {
			visit(file, all[dir].tests[file])
		}
	}
}

// judges are the methods with which a test says that something is wrong.
var judges = regexp.MustCompile(`^(Error|Errorf|Fatal|Fatalf|Fail|FailNow)$`)

// A test asserts by itself or hands its t to something that does.
//
// proves: BUS-TESTS-08
func TestEveryTestCanFail(t *testing.T) {
	tests := 0
	testFiles(t, func(file string, parsed *ast.File) {
		for _, decl := range parsed.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !testName.MatchString(f.Name.Name) || f.Name.Name == "TestMain" {
				continue
			}
			tests++
			if !asserts(f.Body) {
				t.Errorf("%s: %s cannot fail", file, f.Name.Name)
			}
		}
	})
	if tests < 50 {
		t.Errorf("found only %d tests", tests)
	}
}

var testName = regexp.MustCompile(`^(Test|Fuzz)([^a-z]|$)`)

func asserts(body *ast.BlockStmt) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return !found
		}
		sel, isMethod := call.Fun.(*ast.SelectorExpr)
		found = found || isMethod && judges.MatchString(sel.Sel.Name)
		if isMethod && sel.Sel.Name == "Run" { // what is run is looked at itself
			if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "testscript" { // scripts judge
				found = true
			}
			return !found
		}
		for _, arg := range call.Args {
			if name, ok := arg.(*ast.Ident); ok && (name.Name == "t" || name.Name == "f" || name.Name == "rt") {
				found = true
			}
		}
		return !found
	})
	return found
}

// proves: BUS-TESTS-08
func TestNoTestPrints(t *testing.T) {
	testFiles(t, func(_ string, parsed *ast.File) {
		for _, decl := range parsed.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Body == nil || strings.HasPrefix(f.Name.Name, "Example") || !testName.MatchString(f.Name.Name) || f.Name.Name == "TestMain" {
				continue
			}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && prints(call) {
					t.Errorf("%s: %s prints; let it assert, or use t.Log", positions.Position(call.Pos()), f.Name.Name)
				}
				return true
			})
		}
	})
}

func prints(call *ast.CallExpr) bool {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name == "println" || f.Name == "print"
	case *ast.SelectorExpr:
		pkg, ok := f.X.(*ast.Ident)
		return ok && pkg.Name == "fmt" && strings.HasPrefix(f.Sel.Name, "Print")
	}
	return false
}

// Tests work in directories of their own. `make test` gives them an empty data
// directory besides, and fails when something appears there.
//
// proves: BUS-TESTS-02 BUS-TESTS-14
func TestTestsStayInTheirOwnDirectories(t *testing.T) {
	testFiles(t, func(file string, parsed *ast.File) {
		calls(map[string]*ast.File{file: parsed}, func(at token.Position, pkg, name string) {
			if pkg == "os" && slices.Contains([]string{"UserHomeDir", "UserConfigDir"}, name) && path.Dir(file) != "." {
				t.Errorf("%s: a test asks for the user's own directory", at)
			}
		})
	})
}

// What is hostile is collected in one corpus, and every package that takes in or
// shows text from outside is tested with it.
func TestSurfacesLoadTheCorpus(t *testing.T) {
	all, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"internal/broker", "internal/cli", "internal/display", "internal/evidence", "internal/org", "internal/wire"} {
		if all[dir] == nil || importsOf(all[dir].tests)[module+"/internal/corpus"] == "" {
			t.Errorf("no test of %s loads internal/corpus", dir)
		}
	}
}

// Process identities in the tests of the human proof are synthetic; that a real
// person sat at a terminal is nothing that a test could show.
//
// proves: BUS-TESTS-04 BUS-TESTS-13
func TestHumanProofsAreTestedWithSyntheticProcesses(t *testing.T) {
	all, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	if importsOf(all["internal/broker"].tests)[module+"/internal/proc/proctest"] == "" {
		t.Error("the broker's tests use no synthetic process table")
	}
	claims := regexp.MustCompile(`(?i)^Test\w*(live|real)_?(terminal|human|person)`)
	testFiles(t, func(file string, parsed *ast.File) {
		for _, decl := range parsed.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && claims.MatchString(f.Name.Name) {
				t.Errorf("%s: %s claims what no test can show", file, f.Name.Name)
			}
		}
	})
	says(t, "CONTRIBUTING.md", "No test shows, or claims to show, that somebody sat at a terminal.")
}

// There is no double of the store: the broker holds the store itself, not an
// interface, and its tests make real files.
//
// proves: BUS-TESTS-06
func TestTheStoreHasNoDouble(t *testing.T) {
	all, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	held := false
	for _, file := range all["internal/broker"].files {
		ast.Inspect(file, func(n ast.Node) bool {
			if field, ok := n.(*ast.Field); ok {
				if pointer, ok := field.Type.(*ast.StarExpr); ok {
					if sel, ok := pointer.X.(*ast.SelectorExpr); ok && sel.Sel.Name == "Store" {
						held = true
					}
				}
			}
			return true
		})
	}
	if !held {
		t.Error("the broker no longer holds a *evidence.Store")
	}
	made := false
	calls(all["internal/broker"].tests, func(_ token.Position, pkg, name string) {
		made = made || pkg == "evidence" && name == "Create"
	})
	if !made {
		t.Error("the broker's tests make no real store")
	}
}
