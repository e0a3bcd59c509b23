package queue

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// DraftMap returns a migration map for a view file as it stands: Markdown with
// the JSON block, and a heading for each row with its legacy text, which serves
// as the row's brief until somebody writes one. mapPath is where the map will
// be committed. It is a proposal: every guess is to be read.
func DraftMap(view []byte, mapPath string, human Seat) []byte {
	body := view
	if from, to, fault := findBody(view); fault == "" {
		body = view[from:to]
	}
	d := draft{mapPath: path.Clean(mapPath), human: human, taken: map[RowID]bool{}}
	entries := legacyEntries(strings.ReplaceAll(strings.ToValidUTF8(string(body), "\ufffd"), "\x00", "\ufffd"))
	for _, e := range entries {
		if id, ok := firstCell(e.text); ok {
			d.taken[id] = true
		}
	}
	for _, e := range entries {
		if e.columns == nil {
			d.park(e)
			continue
		}
		d.row(e)
	}
	return d.text()
}

type draft struct {
	mapPath string
	human   Seat
	taken   map[RowID]bool
	m       migrationMap
}

// row proposes a row for a row of a table.
func (d *draft) row(e legacyEntry) {
	cell := func(names ...string) string { return e.cell(names...) }
	r := mappedRow{Legacy: e.text, ID: d.id(e)}
	r.Piece = short(cmp.Or(cell("piece", "task", "title", "what", "item", "work", "description", "summary"), e.longest()))
	r.Owner, r.Reviewers = d.people(cell("owner", "who", "assignee", "seat"))
	r.Reviewers = append(r.Reviewers, names(cell("reviewers", "reviewer", "review"))...)
	r.Issues = issueNumbers(cell("issues", "issue", "tickets", "ticket"))
	if len(r.Issues) == 0 {
		r.Issues = issueNumbers(hashes.FindString(cell("piece", "task", "title")))
	}
	r.Gate = short(cell("gate", "acceptance"))
	state := cell("state", "status")
	r.State = string(guessState(state))
	if r.State == string(Blocked) {
		r.PreviousState, r.BlockedReason = string(Briefed), short(cmp.Or(state, "blocked in the legacy table"))
	}
	if State(r.State) != Blocked && len(strings.Fields(state)) > 3 {
		r.Note = short(state) // a history becomes a note; the text is kept whole
	}
	r.Note = cmp.Or(short(cell("note", "notes", "remarks", "comment")), r.Note)
	r.Brief = d.brief(r.ID, cell("brief", "spec", "where", "link", "doc"))
	d.m.Rows = append(d.m.Rows, r)
}

// park proposes a parked row for an item of a list.
func (d *draft) park(e legacyEntry) {
	_, text, _ := strings.Cut(e.text, " ")
	p := mappedIdea{Legacy: e.text, ID: d.id(e), Piece: short(text)}
	p.Brief = d.brief(p.ID, text)
	d.m.Parked = append(d.m.Parked, p)
}

// id is the entry's own, or the next that is free.
func (d *draft) id(e legacyEntry) RowID {
	if id, ok := firstCell(e.text); ok {
		return id
	}
	for id := RowID(1); ; id++ {
		if !d.taken[id] {
			d.taken[id] = true
			return id
		}
	}
}

// brief is the file that the text names, or the row's own heading in the map.
func (d *draft) brief(id RowID, text string) string {
	if file := markdownFile.FindString(text); file != "" && !strings.Contains(file, "://") {
		if clean, err := cleanPath("the brief", file); err == nil {
			return clean
		}
	}
	return d.mapPath + "#" + heading(id)
}

func heading(id RowID) string { return "Row " + strconv.Itoa(int(id)) }

// people are the first name of a cell as the owner, and those after a word that
// speaks of reviewing as reviewers.
func (d *draft) people(text string) (Seat, []Seat) {
	owner, rest, _ := strings.Cut(text, ";")
	all := names(owner)
	if len(all) == 0 {
		return Unassigned, nil
	}
	var reviewers []Seat
	if strings.Contains(strings.ToLower(rest), "review") {
		reviewers = slices.DeleteFunc(names(rest), func(s Seat) bool { return strings.HasPrefix(strings.ToLower(string(s)), "review") })
	}
	return all[0], reviewers
}

var (
	hashes       = regexp.MustCompile(`(#[0-9]+[ ,]*)+`)
	digits       = regexp.MustCompile(`[0-9]+`)
	name         = regexp.MustCompile(`[A-Za-z][A-Za-z0-9._-]*`)
	markdownFile = regexp.MustCompile(`[A-Za-z0-9_./:-]+\.(?:md|markdown|txt|rst)`)
)

// names are the names of a cell, in lower case.
func names(text string) []Seat {
	var all []Seat
	for _, word := range name.FindAllString(text, -1) {
		if seat := Seat(strings.ToLower(word)); isName(seat) {
			all = append(all, seat)
		}
	}
	return all
}

func issueNumbers(text string) []int {
	var all []int
	for _, word := range digits.FindAllString(text, -1) {
		if n, err := strconv.Atoi(word); err == nil && n > 0 {
			all = append(all, n)
		}
	}
	return sortedSet(all)
}

// stateWords are how people write the states, the first that occurs decides.
var stateWords = []struct {
	word  string
	state State
}{
	{"blocked", Blocked}, {"on hold", Blocked}, {"waiting", WaitingOnHuman}, {"approval", WaitingOnHuman},
	{"review", InReview}, {"parked", Parked}, {"someday", Parked}, {"later", Parked},
	{"not started", Queued}, {"in progress", InProgress}, {"in-progress", InProgress}, {"doing", InProgress},
	{"wip", InProgress}, {"started", InProgress}, {"ready", Briefed}, {"briefed", Briefed},
	{"done", Done}, {"closed", Done}, {"finished", Done}, {"shipped", Done}, {"merged", Done}, {"✅", Done}, {"[x]", Done},
}

func guessState(text string) State {
	text = strings.ToLower(text)
	if i := strings.IndexAny(text, ".;,("); i > 0 {
		text = text[:i] // what follows is the history
	}
	for _, w := range stateWords {
		if strings.Contains(text, w.word) {
			return w.state
		}
	}
	return Queued
}

// cell is the cell below the first of the names that the header has.
func (e legacyEntry) cell(names ...string) string {
	all := cells(e.text)
	for _, name := range names {
		for i, column := range e.columns {
			if strings.EqualFold(strings.Trim(column, "*_` "), name) && i < len(all) {
				return plain(all[i])
			}
		}
	}
	return ""
}

// longest is the longest cell, for a table whose header says nothing.
func (e legacyEntry) longest() string {
	best := ""
	for _, cell := range cells(e.text) {
		if len(cell) > len(best) {
			best = plain(cell)
		}
	}
	return best
}

// plain takes Markdown's marks off a cell.
func plain(cell string) string {
	return strings.TrimSpace(strings.NewReplacer("**", "", "`", "", `\|`, "|", "<br>", " ").Replace(cell))
}

// short makes one line of at most maxLine characters.
func short(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || endsLine(r) }), " ")
	if utf8.RuneCountInString(text) <= maxLine {
		return text
	}
	return string([]rune(text)[:maxLine-1]) + "…"
}

func (d *draft) text() []byte {
	var b bytes.Buffer
	b.WriteString(`# Migration map of the queue

A proposal, made from the table. Read every line of it: the ids, owners,
reviewers, states, gates and prerequisites are what the queue starts with. Times
are unknown unless you cite them, such as
"createdAt": {"at": "2026-02-03T04:05:06Z", "evidence": "commit 1a2b3c4"}.
An id that leaves the queue goes to "retired": {"id": 7, "reason": "weekly routine"}.
"legacy" is the text of the table, character for character. Then commit this file
and every brief that it names.

` + "```json\n")
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	// The map is built of strings and numbers, so nothing can fail.
	_ = encoder.Encode(d.m)
	b.WriteString("```\n")
	for _, r := range d.m.Rows {
		d.stub(&b, r.ID, r.Brief, r.Piece, r.Legacy)
	}
	for _, p := range d.m.Parked {
		d.stub(&b, p.ID, p.Brief, p.Piece, p.Legacy)
	}
	return b.Bytes()
}

// stub is the brief of a row that has none yet. The text stands behind a mark,
// so that no line of it can be a heading or a fence of the map.
func (d *draft) stub(b *bytes.Buffer, id RowID, brief, piece, legacy string) {
	if !strings.HasPrefix(brief, d.mapPath+"#") {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n", heading(id))
	for line := range strings.Lines(piece + "\n\n" + legacy) {
		b.WriteString(strings.TrimRight("> "+line, " \n") + "\n")
	}
}
