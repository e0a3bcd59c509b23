package queue

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
)

// The lines between which the table stands in the view file, each exactly once
// and in this order (QUEUE-OPEN-23).
const (
	BeginMarker = "<!-- mosaic-queue:begin -->"
	EndMarker   = "<!-- mosaic-queue:end -->"
)

// newView is the view file of a queue that finds none.
const newView = "# Queue\n\n" + BeginMarker + "\n" + EndMarker + "\n"

// view is the view file as it was read. People own what is outside of the
// markers, and mosaic what is between them.
type view struct {
	text   []byte
	stamp  FileStamp
	absent bool

	from, to int // the body is text[from:to]
	fault    string
}

// readView reads the view file and finds its markers.
func (c *Checkout) readView(s Step) (*view, error) {
	text, stamp, err := c.files.Read(s, c.View)
	if errors.Is(err, fs.ErrNotExist) {
		return &view{absent: true, fault: "the file is missing"}, nil
	}
	if err != nil {
		return nil, failed(ReadFailed, "the table cannot be read (%s)", cause(err))
	}
	v := &view{text: text, stamp: stamp}
	v.from, v.to, v.fault = findBody(text)
	return v, nil
}

// findBody finds what is between the markers, or says what is wrong with them.
func findBody(text []byte) (from, to int, fault string) {
	begins, ends := markerLines(text, BeginMarker), markerLines(text, EndMarker)
	switch {
	case len(begins) == 0 || len(ends) == 0:
		return 0, 0, "a marker is missing"
	case len(begins) > 1 || len(ends) > 1:
		return 0, 0, "a marker is there twice"
	case ends[0] < begins[0]:
		return 0, 0, "the markers are out of order"
	}
	return begins[0] + len(BeginMarker) + 1, ends[0], ""
}

// markerLines returns the offsets of the lines that are the marker.
func markerLines(text []byte, marker string) []int {
	var at []int
	offset := 0
	for line := range bytes.Lines(text) {
		if string(bytes.TrimSuffix(line, []byte("\n"))) == marker {
			at = append(at, offset)
		}
		offset += len(line)
	}
	return at
}

func (v *view) body() []byte { return v.text[v.from:v.to] }

// with is the file with another body and everything else as it was read
// (QUEUE-WRITE-34, 35).
func (v *view) with(body []byte) []byte {
	return bytes.Join([][]byte{v.text[:v.from], body, v.text[v.to:]}, nil)
}

// unchanged reports whether both are of one file with one content.
func (v *view) unchanged(o *view) bool {
	return v.absent == o.absent && v.stamp.same(o.stamp) && bytes.Equal(v.text, o.text)
}

// freshness says which revision the table shows. Its body alone decides, not
// the revision that it names (QUEUE-WRITE-52 to 60).
type freshness struct {
	known bool   // some logged render
	rev   int    // of that render, when known
	fault string // why it is unknown
}

func (v *view) freshness(f *File) freshness {
	if v.fault != "" {
		return freshness{fault: v.fault}
	}
	sum := digest(v.body())
	for i := len(f.Log) - 1; i >= 0; i-- {
		if f.Log[i].ViewSha == sum {
			return freshness{known: true, rev: f.Log[i].Rev}
		}
	}
	return freshness{fault: "its text is no render of this queue"}
}

func (s freshness) current(f *File) bool { return s.known && s.rev == f.Revision }

// refusal says why nothing new is recorded while the table is not current;
// nil when it is.
func (s freshness) refusal(f *File) error {
	switch {
	case s.current(f):
		return nil
	case !s.known:
		return refuse(ViewUnknown, "the table was changed by hand (%s); a person restores it with git or enters the change as operations, then runs `mosaic queue render`", s.fault)
	default:
		return refuse(ViewStale, "%s", s.unshown(f))
	}
}

// unshown names the operations that the table does not show (QUEUE-WRITE-45,
// 54). The first is the one whose caller may never have had an answer.
func (s freshness) unshown(f *File) string {
	e := f.Log[s.rev+1]
	text := fmt.Sprintf("rev %d (op %s by %s at %s) is recorded but the table shows rev %d; it may never have been acknowledged. Tell %s, then run `mosaic queue render`.",
		e.Rev, e.Op, e.By, e.At, s.rev, e.By)
	if rest := f.Log[s.rev+2:]; len(rest) > 0 {
		text += " Not shown either: " + nameOps(rest) + "."
	}
	return text
}

// warning is one line for a reader or a retry, which work all the same; ""
// when the table is current.
func (s freshness) warning(f *File) string {
	switch {
	case s.current(f):
		return ""
	case !s.known:
		return fmt.Sprintf("the table was changed by hand (%s)", s.fault)
	default:
		return fmt.Sprintf("the table shows rev %d, and the queue is at rev %d", s.rev, f.Revision)
	}
}

// nameOps lists operations with who asked for them.
func nameOps(log []Entry) string {
	var b bytes.Buffer
	for i, e := range log {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s by %s at %s", e.Op, e.By, e.At)
	}
	return b.String()
}

// show writes the table's body, and nothing when the view file is not what was
// read before (QUEUE-WRITE-33 to 36).
func (h *held) show(before *view, body []byte) error {
	now, err := h.c.readView(StepShow)
	if err != nil {
		return err
	}
	if !now.unchanged(before) {
		return errViewChanged
	}
	if before.absent {
		before = &view{text: []byte(newView), stamp: FileStamp{Mode: 0o644}}
		before.from, before.to, _ = findBody(before.text)
	}
	return replace(h.c.files, StepShow, h.c.View, tempName(h.c.View, h.op), before.with(body), before.stamp.Mode)
}

var errViewChanged = errors.New("the view file was changed meanwhile")
