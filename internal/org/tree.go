package org

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Limits of one file. They are far above what a team needs and far below what
// makes the YAML parser slow.
const (
	maxFile   = 256 << 10 // bytes
	maxTokens = 20_000
	maxDepth  = 16 // mappings and lists inside each other
)

// kind is what a value is in YAML.
type kind uint8

const (
	nullKind kind = iota
	textKind
	integerKind
	floatKind
	boolKind
	listKind
	mapKind
)

var kindNames = map[kind]string{
	nullKind: "nothing", textKind: "text", integerKind: "a whole number", floatKind: "a number",
	boolKind: "true or false", listKind: "a list", mapKind: "a map of keys",
}

// node is one value of a file with its place.
type node struct {
	kind    kind
	line    int
	column  int
	text    string // of scalars: as text its value, otherwise as it is written
	value   any    // of scalars: string, int64, float64, bool or nil
	items   []*node
	entries []entry
	flow    bool // a list in [] or a map in {}
	quoted  bool // text in quotes, or a block of text
}

// entry is a key of a map.
type entry struct {
	key    string
	line   int
	column int
	value  *node
	flow   bool // stands in a flow map
}

// get returns the value of a key, or nil.
func (n *node) get(key string) *node {
	for _, e := range n.entries {
		if e.key == key {
			return e.value
		}
	}
	return nil
}

// find returns the value of a key, or an empty value at the place of n, so that
// rules need no special case for what is missing.
func (n *node) find(key string) *node {
	if value := n.get(key); value != nil {
		return value
	}
	return &node{line: n.line, column: n.column}
}

// has reports whether a list has the text.
func (n *node) has(text string) bool {
	return slices.ContainsFunc(n.items, func(item *node) bool { return item.kind == textKind && item.text == text })
}

// at is the place of the key itself, for faults of the key.
func (e entry) at() *node { return &node{line: e.line, column: e.column} }

// plain returns the value as Go values: map[string]any, []any and scalars.
func (n *node) plain() any {
	switch n.kind {
	case mapKind:
		m := make(map[string]any, len(n.entries))
		for _, e := range n.entries {
			m[e.key] = e.value.plain()
		}
		return m
	case listKind:
		l := make([]any, len(n.items))
		for i, item := range n.items {
			l[i] = item.plain()
		}
		return l
	default:
		return n.value
	}
}

// parse reads a file as a tree of plain YAML: one document, a map at the top,
// no anchors, aliases, merge keys, tags, directives or tabs as indentation, no
// duplicate keys. Whatever else YAML offers is refused: it makes a file that
// says something other than what a person reads.
func parse(file string, text []byte) (*node, *Problem) {
	if p := checkText(text); p != nil {
		p.File = file
		return nil, p
	}
	root, p := parseTokens(string(text))
	if p != nil {
		p.File = file
		return nil, p
	}
	return root, nil
}

// checkText looks at the bytes, before any YAML.
func checkText(text []byte) *Problem {
	if len(text) > maxFile {
		return &Problem{What: fmt.Sprintf("the file has more than %d KiB", maxFile>>10), Remedy: "keep it shorter"}
	}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		if p := checkLine(line); p != nil {
			p.Line = number
			return p
		}
	}
	return nil
}

func checkLine(line []byte) *Problem {
	column, indent := 0, true
	for len(line) > 0 {
		column++
		r, size := utf8.DecodeRune(line)
		if r == utf8.RuneError && size == 1 {
			return &Problem{Column: column, What: "the text is not UTF-8", Remedy: "save the file as UTF-8"}
		}
		switch {
		case r == '\t' && indent:
			return &Problem{Column: column, What: "a tab in the indentation", Remedy: "indent with spaces"}
		case r == '\r':
			return &Problem{Column: column, What: "a carriage return", Remedy: "save the file with Unix line ends"}
		case r == '\uFEFF':
			return &Problem{Column: column, What: "a byte order mark", Remedy: "save the file as UTF-8 without one"}
		case r < ' ' && r != '\t' && r != '\n', r == 0x7f, 0x80 <= r && r <= 0x9f:
			return &Problem{Column: column, What: fmt.Sprintf("the control character %U", r), Remedy: "remove it"}
		case r == '\u2028', r == '\u2029':
			return &Problem{Column: column, What: fmt.Sprintf("the line separator %U", r), Remedy: "use a plain line end"}
		}
		if r != ' ' {
			indent = false
		}
		line = line[size:]
	}
	return nil
}

// parseTokens checks the tokens before it lets the parser see them: some token
// sequences that no person writes take the parser minutes.
func parseTokens(text string) (root *node, problem *Problem) {
	defer func() {
		// The parser is third-party code over text that anyone may have
		// written; a fault in it refuses the file instead of ending mosaic.
		if r := recover(); r != nil {
			root, problem = nil, &Problem{What: "the YAML cannot be read", Remedy: "write it in a simpler form"}
		}
	}()
	tokens := lexer.Tokenize(text)
	if p := checkTokens(tokens); p != nil {
		return nil, p
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, syntaxProblem(err)
	}
	return build(file)
}

// refusedTokens are the parts of YAML that these files do without.
var refusedTokens = map[token.Type]string{
	token.AnchorType:      "an anchor (&)",
	token.AliasType:       "an alias (*)",
	token.TagType:         "a tag (!)",
	token.MergeKeyType:    "a merge key (<<)",
	token.DirectiveType:   "a directive (%)",
	token.MappingKeyType:  "an explicit key (?)",
	token.DocumentEndType: "an end of document (...)",
}

func checkTokens(tokens token.Tokens) *Problem {
	if len(tokens) > maxTokens {
		return &Problem{What: fmt.Sprintf("the file has more than %d words and marks", maxTokens), Remedy: "keep it shorter"}
	}
	var g tokenGuard
	for _, t := range tokens {
		if what := g.refuses(t); what != "" {
			return at(t, what, "write it out in plain keys, values and lists")
		}
	}
	return nil
}

// tokenGuard walks the tokens of a file.
type tokenGuard struct {
	seen     bool // a token of the document
	flow     int  // open [ and {
	line     int
	dashes   int  // list entries that start on this line
	afterVal bool // the last token of this line was a value
}

// refuses returns what is refused about the next token, or "".
func (g *tokenGuard) refuses(t *token.Token) string {
	if what := refusedTokens[t.Type]; what != "" {
		return what
	}
	if t.Position.Line != g.line {
		g.line, g.dashes, g.afterVal = t.Position.Line, 0, false
	}
	value := false
	switch t.Type {
	case token.DocumentHeaderType:
		if g.seen {
			return "a second document (---)"
		}
	case token.MappingStartType, token.SequenceStartType:
		g.flow++
	case token.MappingEndType, token.SequenceEndType:
		g.flow--
	case token.SequenceEntryType:
		g.dashes++
	case token.CommentType, token.MappingValueType, token.CollectEntryType, token.LiteralType, token.FoldedType:
	default:
		value = true
	}
	if t.Type != token.CommentType {
		g.seen = true
	}
	if g.flow > maxDepth || g.dashes > maxDepth {
		return fmt.Sprintf("more than %d levels", maxDepth)
	}
	if value && g.afterVal {
		return "two values side by side"
	}
	g.afterVal = value
	return ""
}

func at(t *token.Token, what, remedy string) *Problem {
	return &Problem{Line: t.Position.Line, Column: max(t.Position.Column, 1), What: what, Remedy: remedy}
}

// syntaxProblem keeps the place and the first line of the parser's message.
func syntaxProblem(err error) *Problem {
	p := &Problem{What: "the YAML cannot be read"}
	var syntax interface {
		GetToken() *token.Token
		GetMessage() string
	}
	if errors.As(err, &syntax) {
		if t := syntax.GetToken(); t != nil {
			p.Line, p.Column = t.Position.Line, max(t.Position.Column, 1)
		}
		message, _, _ := strings.Cut(syntax.GetMessage(), "\n")
		p.What += ": " + shorten(strings.Map(printable, message))
	}
	return p
}

func printable(r rune) rune {
	if !unicode.IsPrint(r) {
		return ' '
	}
	return r
}

func build(file *ast.File) (*node, *Problem) {
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		if body != nil {
			return nil, at(doc.Body.GetToken(), "a second document", "keep one document in the file")
		}
		body = doc.Body
	}
	if body == nil {
		return nil, &Problem{What: "the file is empty", Remedy: "mosaic init shows what belongs here"}
	}
	root, p := convert(body, 1)
	if p != nil {
		return nil, p
	}
	if root.kind != mapKind {
		return nil, &Problem{Line: root.line, Column: root.column, What: "the file is not a map of keys", Remedy: "start with version: 1"}
	}
	return root, nil
}

// convert makes a node of a YAML node and all below it.
func convert(y ast.Node, depth int) (*node, *Problem) {
	t := y.GetToken()
	n := &node{line: t.Position.Line, column: max(t.Position.Column, 1), text: t.Value}
	if depth > maxDepth {
		return nil, at(t, fmt.Sprintf("more than %d levels", maxDepth), "write it flatter")
	}
	switch y := y.(type) {
	case *ast.NullNode:
		n.kind = nullKind
	case *ast.BoolNode:
		n.kind, n.value = boolKind, y.Value
	case *ast.IntegerNode:
		return convertInteger(n, y)
	case *ast.FloatNode:
		n.kind, n.value = floatKind, y.Value
	case *ast.StringNode:
		n.kind, n.text, n.value = textKind, y.Value, y.Value
		n.quoted = t.Type == token.SingleQuoteType || t.Type == token.DoubleQuoteType
	case *ast.LiteralNode:
		n.kind, n.text, n.value, n.quoted = textKind, y.Value.Value, y.Value.Value, true
	case *ast.SequenceNode:
		return convertList(n, y, depth)
	case *ast.MappingNode:
		return convertMap(n, y, depth)
	case *ast.MappingValueNode:
		return convertMap(n, &ast.MappingNode{BaseNode: y.BaseNode, Start: y.Start, Values: []*ast.MappingValueNode{y}}, depth)
	default:
		return nil, at(t, "a kind of value that is not used here", "write text, a number, a list or a map of keys")
	}
	return n, nil
}

func convertInteger(n *node, y *ast.IntegerNode) (*node, *Problem) {
	n.kind = integerKind
	switch v := y.Value.(type) {
	case int64:
		n.value = v
	case uint64:
		if v > 1<<53 {
			return nil, at(y.GetToken(), "a number that is too large", "use a smaller one")
		}
		n.value = int64(v)
	}
	if v, ok := n.value.(int64); !ok || v > 1<<53 || v < -(1<<53) {
		return nil, at(y.GetToken(), "a number that is too large", "use a smaller one")
	}
	return n, nil
}

func convertList(n *node, y *ast.SequenceNode, depth int) (*node, *Problem) {
	n.kind, n.flow = listKind, y.IsFlowStyle
	for _, item := range y.Values {
		value, p := convert(item, depth+1)
		if p != nil {
			return nil, p
		}
		n.items = append(n.items, value)
	}
	return n, nil
}

func convertMap(n *node, y *ast.MappingNode, depth int) (*node, *Problem) {
	n.kind, n.flow = mapKind, y.IsFlowStyle
	seen := map[string]int{}
	for _, pair := range y.Values {
		e, p := convertEntry(pair, depth)
		if p != nil {
			return nil, p
		}
		if line, twice := seen[e.key]; twice {
			return nil, &Problem{Line: e.line, Column: e.column, What: fmt.Sprintf("the key %s stands here and in line %d", quoted(e.key), line), Remedy: "keep one of them"}
		}
		seen[e.key] = e.line
		e.flow = n.flow
		n.entries = append(n.entries, e)
	}
	if len(n.entries) > 0 && !n.flow {
		n.line, n.column = n.entries[0].line, n.entries[0].column
	}
	return n, nil
}

// convertEntry takes keys as they are written: role keys such as 007 or true
// are text to a person.
func convertEntry(pair *ast.MappingValueNode, depth int) (entry, *Problem) {
	t := pair.Key.GetToken()
	e := entry{key: t.Value, line: t.Position.Line, column: max(t.Position.Column, 1)}
	switch key := pair.Key.(type) {
	case *ast.StringNode:
		e.key = key.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
	default:
		return entry{}, at(t, "a key that is not a word", "use a word as key")
	}
	value, p := convert(pair.Value, depth+1)
	e.value = value
	return e, p
}
