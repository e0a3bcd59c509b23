package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mosaicstack.dev/mosaic/internal/queue"
	"mosaicstack.dev/mosaic/internal/wire"
)

// Instruction is what the human tells the seat (QUEUE-GATE-03).
const Instruction = "run `mosaic queue next` and do it"

// Evidence is the content of the evidence file.
type Evidence struct {
	Version  int         `json:"version"` // 1
	Root     string      `json:"root"`    // the canonical root
	Seat     queue.Seat  `json:"seat"`
	Row      queue.RowID `json:"row"`
	Sessions string      `json:"sessions"` // directory of the seat's session files
	Launches string      `json:"launches"` // directory of the seat's launch snapshots
	Before   Before      `json:"before"`
	Pins     []Pin       `json:"pins"` // the cutoff pin is the last
}

// Before is the record made before the launch (QUEUE-GATE-10 to 14).
type Before struct {
	At       string   `json:"at"` // UTC start time
	Command  string   `json:"command"`
	Revision int      `json:"revision"` // of the queue file
	Blob     string   `json:"blob"`     // of the row's brief
	Sessions []string `json:"sessions"` // names in the directory
	Launches []string `json:"launches"`
	Sources  []Source `json:"sources"`
}

// Pin is what existed at one moment after the launch (QUEUE-GATE-08, 09, 15).
type Pin struct {
	At       string   `json:"at"`
	Launches []string `json:"launches"`
	Session  *Session `json:"session"` // null while there is no session file
	Sources  []Source `json:"sources"` // the launch snapshot among them
	Work     *Work    `json:"work"`    // of the cutoff pin
}

// Session identifies the session file's bytes up to the pin.
type Session struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	ID     string `json:"id"`
}

// Work names the concrete action: the tool call, and the line of the brief's
// "What ships" that it serves (QUEUE-OPEN-95).
type Work struct {
	Call  string `json:"call"`
	Ships string `json:"ships"`
}

// cutoff is the pin that ends the interval, or nil.
func (e *Evidence) cutoff() *Pin {
	if len(e.Pins) == 0 || e.Pins[len(e.Pins)-1].Work == nil {
		return nil
	}
	return &e.Pins[len(e.Pins)-1]
}

// Why evidence is not taken. They are compared with errors.Is.
var (
	ErrInside = errors.New("the evidence file must lie outside of the repository")
	ErrExists = errors.New("the evidence file exists already")
	ErrForm   = errors.New("the evidence file has not the form of one")
)

// Load reads an evidence file.
func Load(path string) (*Evidence, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var e Evidence
	if err := wire.Decode(text, &e); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrForm, err)
	}
	if e.Version != 1 {
		return nil, fmt.Errorf("%w: version %d", ErrForm, e.Version)
	}
	return &e, nil
}

// create writes a new evidence file, outside of the repository.
func (e *Evidence) create(path string) error {
	text, err := e.text(path)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return ErrExists
	}
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}

// replace writes an evidence file again, whole or not at all.
func (e *Evidence) replace(path string) error {
	text, err := e.text(path)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".mosaic-audit-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func (e *Evidence) text(path string) ([]byte, error) {
	dir, err := filepath.Abs(filepath.Dir(path))
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, err
	}
	if dir == e.Root || strings.HasPrefix(dir, e.Root+"/") {
		return nil, ErrInside
	}
	text, err := json.MarshalIndent(e, "", "  ")
	return append(text, '\n'), err
}
