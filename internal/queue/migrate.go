package queue

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"mosaicstack.dev/mosaic/internal/wire"
)

// migrationMap is the reviewed text that says what becomes of every row and
// parked entry of a Markdown table (QUEUE-OPEN-27). It is the one JSON block of
// a Markdown file that is committed before genesis.
type migrationMap struct {
	HighWater RowID        `json:"highWater,omitempty"` // above every id below, when greater ones were issued and are gone
	Parked    []mappedIdea `json:"parked,omitempty"`
	Retired   []retiredRow `json:"retired,omitempty"`
	Rows      []mappedRow  `json:"rows,omitempty"`
}

// mappedRow is a legacy row as it enters the queue. Legacy is its text,
// verbatim; what a row does not say is absent.
type mappedRow struct {
	After         []mappedAfter `json:"after,omitempty"`
	BlockedReason string        `json:"blockedReason,omitempty"`
	Brief         string        `json:"brief"` // PATH[#HEADING]
	CreatedAt     *cited        `json:"createdAt,omitempty"`
	Gate          string        `json:"gate,omitempty"`
	GateOwner     Seat          `json:"gateOwner,omitempty"`
	ID            RowID         `json:"id"`
	Issues        []int         `json:"issues,omitempty"`
	Legacy        string        `json:"legacy"`
	Note          string        `json:"note,omitempty"`
	Owner         Seat          `json:"owner"`
	Piece         string        `json:"piece"`
	PreviousState string        `json:"previousState,omitempty"`
	Required      bool          `json:"required,omitempty"`
	RequiredSince *cited        `json:"requiredSince,omitempty"`
	Reviewers     []Seat        `json:"reviewers,omitempty"`
	State         string        `json:"state"`
}

// mappedIdea is a parked entry. It has no owner and no issues
// (QUEUE-MIGRATE-13); its brief is where the legacy entry pointed.
type mappedIdea struct {
	Brief     string `json:"brief"`
	CreatedAt *cited `json:"createdAt,omitempty"`
	ID        RowID  `json:"id"`
	Legacy    string `json:"legacy"`
	Note      string `json:"note,omitempty"`
	Piece     string `json:"piece"`
}

// retiredRow leaves the queue; its id is never issued again. Without a text it
// is the legacy row whose first cell is the id, if there is one.
type retiredRow struct {
	ID     RowID  `json:"id"`
	Legacy string `json:"legacy,omitempty"`
	Reason string `json:"reason"`
}

type mappedAfter struct {
	ID   RowID `json:"id"`
	When When  `json:"when,omitempty"`
}

// cited is a time of the past, which nobody may state without saying where it
// stands (QUEUE-DATA-83).
type cited struct {
	At       string `json:"at"` // RFC 3339
	Evidence string `json:"evidence"`
}

// time returns the time in the file's form, or Unknown where nothing is cited.
func (c *cited) time(field string) (string, error) {
	if c == nil {
		return Unknown, nil
	}
	at, err := time.Parse(time.RFC3339, c.At)
	if err != nil {
		return "", refuse(MapInvalid, "%s %q is no time such as 2026-02-03T04:05:06Z", field, clip(c.At))
	}
	if err := checkText(field+"'s evidence", c.Evidence, maxReason); err != nil {
		return "", refuse(MapInvalid, "%s", sentence(err))
	}
	return Stamp(at), nil
}

// parseMap reads the one JSON block of a migration map. An empty block is a
// queue without rows (QUEUE-OPEN-28).
func parseMap(text []byte) (*migrationMap, error) {
	if !utf8.Valid(text) {
		return nil, refuse(MapInvalid, "the migration map is not valid UTF-8")
	}
	blocks := fencedJSON(string(text))
	if len(blocks) != 1 {
		return nil, refuse(MapInvalid, "the migration map has %d fenced json blocks, not one", len(blocks))
	}
	m := &migrationMap{}
	if strings.TrimSpace(blocks[0]) == "" {
		return m, nil
	}
	if err := wire.Decode([]byte(blocks[0]), m); err != nil {
		return nil, refuse(MapInvalid, "the json block of the migration map: %v", err)
	}
	return m, nil
}

// fencedJSON returns the content of the fenced code blocks of a Markdown text
// whose language is json.
func fencedJSON(text string) []string {
	var blocks []string
	var block strings.Builder
	open, wanted := "", false
	for line := range strings.Lines(text) {
		bare := strings.TrimRight(line, "\r\n")
		switch {
		case open != "" && closesFence(bare, open):
			if wanted {
				blocks = append(blocks, block.String())
			}
			open = ""
		case open != "":
			block.WriteString(line)
		default:
			if open = opensFence(bare); open != "" {
				language, _, _ := strings.Cut(strings.TrimSpace(strings.TrimLeft(bare, " `~")), " ")
				wanted = strings.EqualFold(language, "json")
				block.Reset()
			}
		}
	}
	return blocks
}

// pinBrief returns the blob id of a brief in HEAD, or refuses it.
type pinBrief func(BriefRef) (string, error)

// facts are what the map makes of a legacy text: table is what stands between
// the markers, whole the file around it.
func (m *migrationMap) facts(table, whole string, human Seat, pin pinBrief) (*GenesisFacts, error) {
	if !utf8.ValidString(table) || strings.Contains(table, "\x00") {
		return nil, refuse(MapInvalid, "the table is not valid UTF-8 without NUL, so it cannot be kept verbatim")
	}
	f := &GenesisFacts{HighWater: m.HighWater, Legacy: Legacy{Table: table}}
	for _, r := range m.Retired {
		if err := firstError(checkID(r.ID), checkText("the reason", r.Reason, maxReason)); err != nil {
			return nil, refuse(MapInvalid, "retired id %d: %s", r.ID, sentence(err))
		}
		f.Retired = append(f.Retired, Retired{ID: r.ID, Reason: r.Reason})
	}
	for _, r := range m.Rows {
		row, err := r.row(human, pin)
		if err != nil {
			return nil, refuse(MapInvalid, "row %d: %s", r.ID, sentence(err))
		}
		f.Rows = append(f.Rows, row)
		f.Legacy.Rows = append(f.Legacy.Rows, LegacyText{ID: r.ID, Text: r.Legacy})
	}
	for _, p := range m.Parked {
		row, err := p.row(human, pin)
		if err != nil {
			return nil, refuse(MapInvalid, "parked entry %d: %s", p.ID, sentence(err))
		}
		f.Rows = append(f.Rows, row)
		f.Legacy.Parked = append(f.Legacy.Parked, LegacyText{ID: p.ID, Text: p.Legacy})
	}
	if err := m.cover(table, whole); err != nil {
		return nil, err
	}
	return f, f.order(m.HighWater)
}

// order sorts what has ids and finds the greatest one.
func (f *GenesisFacts) order(highWater RowID) error {
	slices.SortFunc(f.Rows, func(a, b Row) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(f.Retired, func(a, b Retired) int { return cmp.Compare(a.ID, b.ID) })
	seen := map[RowID]bool{}
	greatest := RowID(0)
	note := func(id RowID) error {
		if seen[id] {
			return refuse(MapInvalid, "id %d is given twice", id)
		}
		seen[id] = true
		greatest = max(greatest, id)
		return nil
	}
	for _, r := range f.Rows {
		if err := note(r.ID); err != nil {
			return err
		}
	}
	for _, r := range f.Retired {
		if err := note(r.ID); err != nil {
			return err
		}
	}
	if highWater != 0 && highWater < greatest {
		return refuse(MapInvalid, "highWater is %d, and id %d is greater", highWater, greatest)
	}
	f.HighWater = max(highWater, greatest)
	return nil
}

func (r *mappedRow) row(human Seat, pin pinBrief) (Row, error) {
	row := Row{
		ID: r.ID, Piece: r.Piece, Owner: r.Owner, Issues: r.Issues, Required: r.Required,
		Gate: r.Gate, GateOwner: cmp.Or(r.GateOwner, human), Reviewers: r.Reviewers, Note: r.Note,
	}
	var err error
	if row.State, err = ParseState(r.State, human); err != nil {
		return Row{}, err
	}
	if r.PreviousState != "" {
		previous, err := ParseState(r.PreviousState, human)
		if err != nil {
			return Row{}, err
		}
		row.PreviousState = &previous
	}
	if r.BlockedReason != "" {
		row.BlockedReason = &r.BlockedReason
	}
	if row.CreatedAt, err = r.CreatedAt.time("createdAt"); err != nil {
		return Row{}, err
	}
	if r.Required {
		since, err := r.RequiredSince.time("requiredSince")
		if err != nil {
			return Row{}, err
		}
		row.RequiredSince = &since
	} else if r.RequiredSince != nil {
		return Row{}, refuse(MapInvalid, "requiredSince belongs to a required row")
	}
	for _, a := range r.After {
		row.After = append(row.After, After(a))
	}
	if row.After, err = sortedAfter(row.After); err != nil {
		return Row{}, err
	}
	row.Brief, err = pin.brief(r.Brief)
	return row, firstError(err, checkID(r.ID))
}

func (p *mappedIdea) row(human Seat, pin pinBrief) (Row, error) {
	return (&mappedRow{
		ID: p.ID, Piece: p.Piece, Owner: Unassigned, State: string(Parked), Note: p.Note,
		Brief: p.Brief, CreatedAt: p.CreatedAt,
	}).row(human, pin)
}

// brief pins PATH[#HEADING].
func (pin pinBrief) brief(text string) (Brief, error) {
	ref, err := ParseBrief(text)
	if err != nil {
		return Brief{}, err
	}
	blob, err := pin(ref)
	return Brief{Path: ref.Path, Anchor: ref.Anchor, Blob: blob}, err
}

// cover demands that every entry of the table is mapped or retired exactly
// once, under the id that it has there, and that no text is made up.
func (m *migrationMap) cover(table, whole string) error {
	entries := legacyEntries(table)
	left := map[string]int{}
	for _, e := range entries {
		left[e.text]++
	}
	take := func(id RowID, legacy string) error {
		text := verbatim(legacy)
		switch cell, ok := firstCell(text); {
		case text == "":
			return refuse(MapInvalid, "row %d has no legacy text", id)
		case ok && cell != id:
			return refuse(MapInvalid, "the legacy text of row %d has the id %d", id, cell)
		case left[text] > 0:
			left[text]--
			return nil
		case slices.ContainsFunc(entries, func(e legacyEntry) bool { return e.text == text }):
			return refuse(MapInvalid, "a legacy row is mapped twice, the second time as row %d", id)
		case !slices.ContainsFunc(legacyEntries(whole), func(e legacyEntry) bool { return e.text == text }):
			return refuse(MapInvalid, "the legacy text of row %d stands in no row of the table", id)
		}
		return nil
	}
	for _, r := range m.Rows {
		if err := take(r.ID, r.Legacy); err != nil {
			return err
		}
	}
	for _, p := range m.Parked {
		if err := take(p.ID, p.Legacy); err != nil {
			return err
		}
	}
	for _, r := range m.Retired {
		text := r.Legacy
		if text == "" {
			text = rowWithID(entries, r.ID)
		}
		if text == "" {
			continue // an id of the past that the table has no more
		}
		if err := take(r.ID, text); err != nil {
			return err
		}
	}
	for _, e := range entries {
		if left[e.text] > 0 {
			return refuse(MapInvalid, "a legacy row is neither mapped nor retired: %s", clip(e.text))
		}
	}
	return nil
}

// legacyEntry is one row of a Markdown table or one item of a list.
type legacyEntry struct {
	text    string   // verbatim, without the white space around it
	columns []string // the table's header; nil for an item
}

// legacyEntries lists the entries of a Markdown text. Code blocks have none.
func legacyEntries(text string) []legacyEntry {
	var entries []legacyEntry
	var columns []string // of the table that the line before belongs to
	var item bool        // the line before belongs to an item
	previous, open := "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		bare := strings.TrimSpace(line)
		if open != "" {
			if closesFence(line, open) {
				open = ""
			}
			continue
		}
		if open = opensFence(line); open != "" {
			columns, item, previous = nil, false, ""
			continue
		}
		switch {
		case bare == "" || strings.HasPrefix(bare, "#") || strings.HasPrefix(bare, "<!--"):
			columns, item = nil, false
		case isDivider(bare) && strings.Contains(previous, "|"):
			// The line before was no entry but the header.
			columns, item = cells(previous), false
			if n := len(entries); n > 0 && entries[n-1].text == previous {
				entries = entries[:n-1]
			}
		case columns != nil:
			entries = append(entries, legacyEntry{bare, columns})
		case isItem(line):
			entries = append(entries, legacyEntry{text: bare})
			item = true
		case item:
			entries[len(entries)-1].text += "\n" + bare
		case strings.HasPrefix(bare, "|"):
			entries = append(entries, legacyEntry{text: bare})
		}
		previous = bare
	}
	return entries
}

// verbatim is a legacy text in the form of legacyEntry.text.
func verbatim(text string) string {
	var lines []string
	for line := range strings.Lines(strings.TrimSpace(text)) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return strings.Join(lines, "\n")
}

// isDivider reports the line between a table's header and its rows.
func isDivider(line string) bool {
	if !strings.Contains(line, "|") || strings.Trim(line, "|:- \t") != "" {
		return false
	}
	all := cells(line)
	return len(all) > 0 && !slices.ContainsFunc(all, func(cell string) bool { return strings.Trim(cell, ":") == "" || strings.Contains(cell, " ") })
}

// isItem reports an item of a list that is not part of another one.
func isItem(line string) bool {
	line = strings.TrimRight(line, " \t")
	bare := strings.TrimLeft(line, " ")
	if len(line)-len(bare) > 3 {
		return false
	}
	if mark, rest, ok := strings.Cut(bare, " "); ok && strings.TrimSpace(rest) != "" {
		number := strings.TrimRight(mark, ".)")
		return mark == "-" || mark == "*" || mark == "+" || len(number) == len(mark)-1 && number != "" && strings.Trim(number, "0123456789") == ""
	}
	return false
}

// cells are the cells of a table's row, without the white space around them.
func cells(line string) []string {
	var all []string
	var cell strings.Builder
	escaped := false
	for _, r := range strings.Trim(line, " \t") {
		if r == '|' && !escaped {
			all = append(all, strings.TrimSpace(cell.String()))
			cell.Reset()
			continue
		}
		escaped = r == '\\' && !escaped
		cell.WriteRune(r)
	}
	all = append(all, strings.TrimSpace(cell.String()))
	if strings.HasPrefix(line, "|") {
		all = all[1:]
	}
	if n := len(all); n > 0 && all[n-1] == "" {
		all = all[:n-1]
	}
	return all
}

// firstCell is the id in the first cell of a table's row.
func firstCell(line string) (RowID, bool) {
	if !strings.Contains(line, "|") {
		return 0, false
	}
	all := cells(line)
	if len(all) == 0 {
		return 0, false
	}
	id, err := strconv.Atoi(strings.Trim(all[0], "*_`# "))
	return RowID(id), err == nil && id > 0
}

func rowWithID(entries []legacyEntry, id RowID) string {
	for _, e := range entries {
		if cell, ok := firstCell(e.text); ok && cell == id {
			return e.text
		}
	}
	return ""
}
