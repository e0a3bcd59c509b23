package wire

import (
	"regexp"
	"sync"
)

// Pattern is a regular expression that is compiled when it is first matched.
// The program starts once for every command, and bounded repetitions such as
// {0,62} would take milliseconds of each start for names that most commands
// never look at.
type Pattern struct {
	expr    string
	once    sync.Once
	matcher *regexp.Regexp
}

// NewPattern makes a pattern. An expression that does not compile panics at its
// first match.
func NewPattern(expr string) *Pattern { return &Pattern{expr: expr} }

// MatchString reports whether the pattern matches somewhere in text.
func (p *Pattern) MatchString(text string) bool {
	p.once.Do(func() { p.matcher = regexp.MustCompile(p.expr) })
	return p.matcher.MatchString(text)
}

// String is the expression.
func (p *Pattern) String() string { return p.expr }
