package queue

import (
	"strconv"

	"mosaicstack.dev/mosaic/internal/wire"
)

// encoder writes the file's one serialization: two spaces a level, one member
// or element a line, keys in schema order, empty lists and objects closed at
// once, strings as the wire writes them. It is written by hand so that ten
// thousand entries cost a few milliseconds.
type encoder struct {
	b     []byte
	depth int
	first bool // nothing stands in the innermost object or list yet
}

// usualSize is room for most rows and entries.
const usualSize = 640

// Bytes is the file's one serialization (QUEUE-DATA-04 to 08).
func (f *File) Bytes() []byte {
	e := encoder{b: make([]byte, 0, usualSize*(len(f.Rows)+len(f.Log)+1))}
	e.open('{')
	e.key("version").int(f.Version)
	e.key("canonicalRoot").text(f.CanonicalRoot)
	e.key("revision").int(f.Revision)
	e.key("rows").open('[')
	for i := range f.Rows {
		e.item()
		e.row(&f.Rows[i])
	}
	e.close(']')
	e.key("log").entries(f.Log)
	e.close('}')
	return append(e.b, '\n')
}

func (e *encoder) open(bracket byte) {
	e.b = append(e.b, bracket)
	e.depth++
	e.first = true
}

func (e *encoder) close(bracket byte) {
	e.depth--
	if !e.first {
		e.line()
	}
	e.b = append(e.b, bracket)
	e.first = false
}

const spaces = "                                                                "

func (e *encoder) line() {
	e.b = append(e.b, '\n')
	for n := 2 * e.depth; n > 0; n -= len(spaces) {
		e.b = append(e.b, spaces[:min(n, len(spaces))]...)
	}
}

// item begins the next element of a list.
func (e *encoder) item() {
	if !e.first {
		e.b = append(e.b, ',')
	}
	e.first = false
	e.line()
}

// key begins the next member of an object.
func (e *encoder) key(name string) *encoder {
	e.item()
	e.b = append(e.b, '"')
	e.b = append(e.b, name...)
	e.b = append(e.b, `": `...)
	return e
}

func (e *encoder) null()       { e.b = append(e.b, "null"...) }
func (e *encoder) int(n int)   { e.b = strconv.AppendInt(e.b, int64(n), 10) }
func (e *encoder) bool(v bool) { e.b = strconv.AppendBool(e.b, v) }

func (e *encoder) text(s string) {
	if isPlain(s) {
		e.b = append(e.b, '"')
		e.b = append(e.b, s...)
		e.b = append(e.b, '"')
		return
	}
	e.b, _ = wire.AppendJSON(e.b, s) // a string cannot fail
}

// isPlain reports whether a JSON string of s needs no escape.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

func (e *encoder) textOrNull(s *string) {
	if s == nil {
		e.null()
		return
	}
	e.text(*s)
}

func (e *encoder) seats(list []Seat) {
	e.open('[')
	for _, s := range list {
		e.item()
		e.text(string(s))
	}
	e.close(']')
}

func (e *encoder) ints(list []int) {
	e.open('[')
	for _, n := range list {
		e.item()
		e.int(n)
	}
	e.close(']')
}

func (e *encoder) row(r *Row) {
	e.open('{')
	e.key("id").int(int(r.ID))
	e.key("piece").text(r.Piece)
	e.key("owner").text(string(r.Owner))
	e.key("issues").ints(r.Issues)
	e.key("closes").ints(r.Closes)
	e.key("state").text(string(r.State))
	e.key("previousState").textOrNull((*string)(r.PreviousState))
	e.key("required").bool(r.Required)
	e.key("requiredSince").textOrNull(r.RequiredSince)
	e.key("gate").text(r.Gate)
	e.key("gateOwner").text(string(r.GateOwner))
	e.key("brief").brief(r.Brief)
	e.key("after").after(r.After)
	e.key("reviewers").seats(r.Reviewers)
	e.key("review").review(r.Review)
	e.key("claim").claim(r.Claim)
	e.key("note").text(r.Note)
	e.key("blockedReason").textOrNull(r.BlockedReason)
	e.key("createdAt").text(r.CreatedAt)
	e.key("updatedAt").text(r.UpdatedAt)
	e.key("updatedBy").text(string(r.UpdatedBy))
	e.close('}')
}

func (e *encoder) brief(b Brief) {
	e.open('{')
	e.key("path").text(b.Path)
	e.key("anchor").textOrNull(b.Anchor)
	e.key("blob").text(b.Blob)
	e.close('}')
}

func (e *encoder) after(list []After) {
	e.open('[')
	for _, a := range list {
		e.item()
		e.open('{')
		e.key("id").int(int(a.ID))
		e.key("when").text(string(a.When))
		e.close('}')
	}
	e.close(']')
}

func (e *encoder) claim(c *Claim) {
	if c == nil {
		e.null()
		return
	}
	e.open('{')
	e.key("seat").text(string(c.Seat))
	e.key("op").text(string(c.Op))
	e.close('}')
}

func (e *encoder) review(r *Review) {
	if r == nil {
		e.null()
		return
	}
	e.open('{')
	e.key("issue").intOrNull(r.Issue)
	e.key("rounds").open('[')
	for i := range r.Rounds {
		e.item()
		e.round(&r.Rounds[i])
	}
	e.close(']')
	e.close('}')
}

func (e *encoder) intOrNull(n *int) {
	if n == nil {
		e.null()
		return
	}
	e.int(*n)
}

func (e *encoder) round(r *Round) {
	e.open('{')
	e.key("round").int(r.Round)
	e.key("candidate").candidate(r.Candidate)
	e.key("request").text(r.Request)
	e.key("duplicateRisk").bool(r.DuplicateRisk)
	e.key("attempts").open('[')
	for _, a := range r.Attempts {
		e.item()
		e.attempt(a)
	}
	e.close(']')
	e.key("receipts").open('[')
	for _, r := range r.Receipts {
		e.item()
		e.receipt(r)
	}
	e.close(']')
	e.close('}')
}

func (e *encoder) candidate(c Candidate) {
	e.open('{')
	e.key("kind").text(c.Kind)
	e.key("ref").text(c.Ref)
	e.key("digest").text(c.Digest)
	e.key("manifest").textOrNull(c.Manifest)
	e.close('}')
}

func (e *encoder) attempt(a Attempt) {
	e.open('{')
	e.key("op").text(string(a.Op))
	e.key("state").text(string(a.State))
	e.key("comment")
	if a.Comment == nil {
		e.null()
	} else {
		e.int(int(*a.Comment))
	}
	e.key("status").intOrNull(a.Status)
	e.key("resolvedBy").textOrNull((*string)(a.ResolvedBy))
	e.close('}')
}

func (e *encoder) receipt(r Receipt) {
	e.open('{')
	e.key("seat").text(string(r.Seat))
	e.key("verdict").text(r.Verdict)
	e.key("comment").int(int(r.Comment))
	e.key("candidate").text(r.Candidate)
	e.key("at").text(r.At)
	e.close('}')
}

func (e *encoder) entries(log []Entry) {
	e.open('[')
	for i := range log {
		e.item()
		e.entry(&log[i])
	}
	e.close(']')
}

func (e *encoder) entry(x *Entry) {
	e.open('{')
	e.key("rev").int(x.Rev)
	e.key("op").text(string(x.Op))
	e.key("verb").text(x.Verb)
	e.key("args").raw(x.Args)
	e.key("by").text(string(x.By))
	e.key("at").text(x.At)
	e.key("semantics").int(x.Semantics)
	e.key("result").raw(x.Result)
	e.key("viewSha").text(x.ViewSha)
	e.close('}')
}

// raw indents JSON that holds no white space between its tokens.
func (e *encoder) raw(compact []byte) {
	for i := 0; i < len(compact); {
		switch c := compact[i]; c {
		case '{', '[':
			e.open(c)
			if compact[i+1] != c+2 { // '}' and ']' stand two after their openers
				e.item()
			}
		case '}', ']':
			e.close(c)
		case ',':
			e.item()
		case ':':
			e.b = append(e.b, ':', ' ')
		default:
			n := token(compact[i:])
			e.b = append(e.b, compact[i:i+n]...)
			i += n
			continue
		}
		i++
	}
}

// token is the length of the string or literal that s begins with.
func token(s []byte) int {
	if s[0] != '"' {
		n := 1
		for n < len(s) && s[n] != ',' && s[n] != '}' && s[n] != ']' && s[n] != ':' {
			n++
		}
		return n
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

// compact takes the white space between the tokens out of checked JSON, in
// place.
func compact(raw []byte) []byte {
	out := raw[:0]
	for i := 0; i < len(raw); {
		switch c := raw[i]; c {
		case ' ', '\n', '\t', '\r':
			i++
		case '{', '}', '[', ']', ',', ':':
			out = append(out, c)
			i++
		default:
			n := bareToken(raw[i:])
			out = append(out, raw[i:i+n]...)
			i += n
		}
	}
	return out
}

// bareToken is token for text that may hold white space.
func bareToken(s []byte) int {
	n := token(s)
	if s[0] == '"' {
		return n
	}
	for i := range n {
		switch s[i] {
		case ' ', '\n', '\t', '\r':
			return i
		}
	}
	return n
}
