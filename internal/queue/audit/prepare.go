package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"mosaicstack.dev/mosaic/internal/queue"
)

// Plan is what Prepare needs to know.
type Plan struct {
	Root     string
	Seat     queue.Seat
	Command  string // the exact launch command line
	Sessions string // directories, absolute
	Launches string
	Sources  []Source // Kind and absolute Path; the brief is added
}

// Prepare begins an evidence file before the seat is launched. It refuses a
// seat that has not exactly one briefed row and nothing under way
// (QUEUE-GATE-04).
func Prepare(path string, plan Plan, file *queue.File, state *queue.Replayed, now time.Time) (*Evidence, error) {
	row, err := onlyRow(state, plan.Seat)
	if err != nil {
		return nil, err
	}
	e := &Evidence{
		Version: 1, Root: plan.Root, Seat: plan.Seat, Row: row.ID,
		Sessions: plan.Sessions, Launches: plan.Launches,
		Before: Before{At: queue.Stamp(now), Command: plan.Command, Revision: file.Revision, Blob: row.Brief.Blob},
		Pins:   []Pin{},
	}
	if e.Before.Sessions, err = names(plan.Sessions); err != nil {
		return nil, err
	}
	if e.Before.Launches, err = names(plan.Launches); err != nil {
		return nil, err
	}
	for _, s := range append(slices.Clone(plan.Sources), Source{Kind: BriefFile, Path: filepath.Join(plan.Root, row.Brief.Path)}) {
		measured, err := measure(s.Kind, s.Path)
		if err != nil {
			return nil, err
		}
		e.Before.Sources = append(e.Before.Sources, measured)
	}
	return e, e.create(path)
}

// onlyRow is the row that the seat is to find.
func onlyRow(state *queue.Replayed, seat queue.Seat) (*queue.Row, error) {
	var found *queue.Row
	for i := range state.Rows {
		row := &state.Rows[i]
		if row.Owner != seat {
			continue
		}
		switch row.State {
		case queue.InProgress, queue.InReview:
			return nil, fmt.Errorf("%s has row %d in %s; the test needs a seat with one briefed row and nothing under way", seat, row.ID, row.State)
		case queue.Briefed:
			if found != nil {
				return nil, fmt.Errorf("%s has two briefed rows, %d and %d; the test needs exactly one", seat, found.ID, row.ID)
			}
			found = row
		}
	}
	if found == nil {
		return nil, fmt.Errorf("%s has no briefed row", seat)
	}
	return found, nil
}

// names lists a directory; one that is not there yet is empty.
func names(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	list := []string{}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list, nil
}

// Point is what Pin is told.
type Point struct {
	Session string // path of the session file; "" is the only new one, if any
	Work    *Work  // ends the interval
}

// PinNow adds a pin to the evidence file.
func PinNow(path string, point Point, now time.Time) (*Evidence, error) {
	e, err := Load(path)
	if err != nil {
		return nil, err
	}
	if e.cutoff() != nil {
		return nil, errors.New("the cutoff is pinned already")
	}
	pin := Pin{At: queue.Stamp(now), Work: point.Work, Sources: []Source{}}
	if pin.Launches, err = names(e.Launches); err != nil {
		return nil, err
	}
	if pin.Session, err = e.session(point.Session); err != nil {
		return nil, err
	}
	if point.Work != nil && pin.Session == nil {
		return nil, errors.New("there is no session file to pin at the cutoff: name it with --session")
	}
	for _, s := range e.Before.Sources {
		measured, err := measure(s.Kind, s.Path)
		if errors.Is(err, fs.ErrNotExist) {
			measured, err = Source{Kind: s.Kind, Path: s.Path, SHA256: "gone"}, nil
		}
		if err != nil {
			return nil, err
		}
		pin.Sources = append(pin.Sources, measured)
	}
	for _, name := range added(e.Before.Launches, pin.Launches) {
		measured, err := measure(LaunchSnapshot, filepath.Join(e.Launches, name))
		if err != nil {
			return nil, err
		}
		pin.Sources = append(pin.Sources, measured)
	}
	e.Pins = append(e.Pins, pin)
	return e, e.replace(path)
}

// added lists what is in now and not in before.
func added(before, now []string) []string {
	var list []string
	for _, name := range now {
		if !slices.Contains(before, name) {
			list = append(list, name)
		}
	}
	return list
}

// session pins the session file: the named one, or the only new one.
func (e *Evidence) session(path string) (*Session, error) {
	if path == "" {
		all, err := names(e.Sessions)
		if err != nil {
			return nil, err
		}
		switch fresh := added(e.Before.Sessions, all); len(fresh) {
		case 0:
			return nil, nil
		case 1:
			path = filepath.Join(e.Sessions, fresh[0])
		default:
			return nil, fmt.Errorf("%d new session files: name the seat's with --session", len(fresh))
		}
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	text, err := readSession(path, -1)
	if err != nil {
		return nil, err
	}
	log, err := parseSession(text)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	return &Session{Path: path, Size: int64(len(text)), SHA256: hex.EncodeToString(sum[:]), ID: log.header.ID}, nil
}

// maxSession bounds a session file.
const maxSession = 512 << 20

// readSession reads the first size bytes of a session file, or all of it.
func readSession(path string, size int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size < 0 {
		size = maxSession
	}
	return io.ReadAll(io.LimitReader(f, size))
}
