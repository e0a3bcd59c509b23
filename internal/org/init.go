package org

import (
	_ "embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"mosaicstack.dev/mosaic/internal/wire"
)

//go:embed template.yaml
var template string

// Init is Begin and Publish.
func Init(dataRoot, human, business string) error {
	p, err := Begin(dataRoot, human, business)
	if err != nil {
		return err
	}
	return p.Publish()
}

// Pending is an organization file that is written and has not got its name. It
// also marks a data root that is not finished: whatever lies there beside it
// was never used by a host, which needs the file.
type Pending struct{ temp, path string }

// Begin writes the organization file of a new data root under another name: the
// human, one business, and the default team chief, cto, pm, dev, rev and desk
// (DESIGN.md 8). human is a name as people write it; business is the business's
// id. The data root must exist. With a file of any kind in place it refuses
// organization-exists. A name that gives no id is a Problem. On any failure
// nothing was written.
func Begin(dataRoot, human, business string) (*Pending, error) {
	text, err := initial(human, business)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dataRoot, File)
	if _, err := os.Lstat(path); err == nil {
		return nil, wire.Refuse(wire.OrganizationExists)
	}
	temp, err := stage(osFiles{}, path, text)
	if err == nil {
		err = osFiles{}.syncDir(dataRoot)
	}
	if err != nil {
		return nil, wire.Refuse(wire.OrganizationWriteFailed)
	}
	return &Pending{temp: temp, path: path}, nil
}

// Path is where the file is until it is published.
func (p *Pending) Path() string { return p.temp }

// Publish gives the file its name in one step. It never overwrites
// (organization-exists); on any failure neither file is there.
func (p *Pending) Publish() error {
	err := create(osFiles{}, p.temp, p.path)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist):
		return wire.Refuse(wire.OrganizationExists)
	default:
		return wire.RefuseDisk(err, wire.OrganizationWriteFailed)
	}
}

// Unfinished lists what writes that were interrupted have left in a data root:
// files of Begin, or of a change to the organization file.
func Unfinished(dataRoot string) []string {
	entries, err := os.ReadDir(dataRoot)
	if err != nil {
		return nil
	}
	var left []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "."+File+".") && e.Type().IsRegular() {
			left = append(left, filepath.Join(dataRoot, e.Name()))
		}
	}
	return left
}

// initial is the text of a new organization file, as it will load.
func initial(human, business string) ([]byte, error) {
	name := strings.TrimSpace(human)
	text := strings.NewReplacer(
		"HUMAN_ID", HumanID(name),
		"HUMAN_NAME", yamlText(name),
		"BUSINESS", business,
	).Replace(template)
	if !keyForm.match(business) {
		return nil, Problems{{File: File, Key: "businesses", What: quoted(business) + " is no key", Remedy: "use " + keyForm.words}}
	}
	if HumanID(name) == "" {
		return nil, Problems{{File: File, Key: "human.name", What: quoted(name) + " has no letters that an id can be made of", Remedy: "give the human an id in Latin letters"}}
	}
	o, err := sources{organization: []byte(text)}.decode("/")
	if err != nil {
		return nil, err
	}
	if o.Human.Name != name {
		return nil, Problems{{File: File, Key: "human.name", What: quoted(name) + " cannot be written as YAML", Remedy: "write the name in letters"}}
	}
	return []byte(text), nil
}

// HumanID makes an id of a person's name: its ASCII letters and digits in lower
// case, words joined with -. It is "" when the name has none.
func HumanID(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case 'a' <= r && r <= 'z' || '0' <= r && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() == 63 {
			break
		}
	}
	return strings.Trim(b.String(), "-")
}

// yamlText writes text so that YAML reads it back as the same text: as it is
// when that is plainly possible, otherwise in double quotes.
func yamlText(text string) string {
	if plainText(text) {
		return text
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case strconv.IsPrint(r):
			b.WriteRune(r)
		case r <= 0xffff:
			b.WriteString(`\u` + hexDigits(r, 4))
		default:
			b.WriteString(`\U` + hexDigits(r, 8))
		}
	}
	b.WriteByte('"')
	return b.String()
}

func hexDigits(r rune, width int) string {
	digits := strconv.FormatInt(int64(r), 16)
	return strings.Repeat("0", width-len(digits)) + digits
}

// plainText reports text that needs no quotes anywhere in YAML: words of
// letters, digits and a few marks, that are no number, truth value or null.
func plainText(text string) bool {
	if text == "" || !isLetter(rune(text[0])) && text[0] != '/' && !strings.HasPrefix(text, "~/") {
		return false
	}
	for _, r := range text {
		if !isLetter(r) && !('0' <= r && r <= '9') && !strings.ContainsRune("-_./ ~", r) {
			return false
		}
	}
	switch strings.ToLower(text) {
	case "true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan", "inf":
		return false
	}
	return !strings.HasSuffix(text, " ")
}

func isLetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }
