package queue

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mosaicstack.dev/mosaic/internal/wire"
)

// declaredCodes are the string constants of codes.go.
func declaredCodes(t *testing.T) []string {
	t.Helper()
	f, err := parser.ParseFile(gotoken.NewFileSet(), "codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for _, v := range spec.Values {
			if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == gotoken.STRING {
				code, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				codes = append(codes, code)
			}
		}
		return true
	})
	return codes
}

// Every code is declared once and described once, and no code is the bus's
// with another meaning.
func TestCodesAreDescribed(t *testing.T) {
	t.Parallel()
	declared := declaredCodes(t)
	slices.Sort(declared)
	var described []string
	for _, info := range Codes {
		described = append(described, string(info.Code))
		if info.Sentence == "" || info.Cause == "" || info.Remedy == "" || strings.HasSuffix(info.Sentence, ".") {
			t.Errorf("%s is not described: %+v", info.Code, info)
		}
	}
	if !slices.Equal(declared, described) {
		t.Errorf("declared\n%q\ndescribed\n%q", declared, described)
	}
	if len(slices.Compact(slices.Clone(declared))) != len(declared) {
		t.Error("a code is declared twice")
	}
}

// Agents follow remedies to the letter.
func TestRemediesNameNothingThatDestroys(t *testing.T) {
	t.Parallel()
	harmful := regexp.MustCompile(`queue unlock\x60|queue genesis|accept-history|--force|--yes|git (reset -(-hard|-merge|-keep)|stash|checkout|restore|rebase)|\brm\b|\bdelete\b`)
	for _, info := range Codes {
		if found := harmful.FindString(info.Remedy); found != "" && !info.Operator {
			t.Errorf("the remedy of %s names %q", info.Code, found)
		}
		if _, ofTheBus := wire.Explain(info.Code); ofTheBus {
			t.Errorf("%s is a code of the bus", info.Code)
		}
	}
}
