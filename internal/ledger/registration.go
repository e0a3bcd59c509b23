package ledger

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"mosaicstack.dev/mosaic/internal/queue"
	"mosaicstack.dev/mosaic/internal/wire"
)

// Layout is the layout whose registrations count (QUEUE-LEDGER-28).
const Layout = "repo"

// maxRegistration bounds one file.
const maxRegistration = 64 << 10

// registration is a file <anything>.json in the directory of registrations:
// {"root":…,"layout":…,"seat":…,"pid":…,"startedAt":…}. The pid may be null,
// missing or nonsense; everything else must be there (QUEUE-OPEN-89).
type registration struct {
	Root      string          `json:"root"`
	Layout    string          `json:"layout"`
	Seat      queue.Seat      `json:"seat"`
	PID       json.RawMessage `json:"pid,omitempty"`
	StartedAt string          `json:"startedAt"`
}

// pid is the registered process, or false.
func (r registration) pid() (int, bool) {
	var n int
	if wire.Decode(r.PID, &n) != nil || n < 1 || n > math.MaxInt32 {
		return 0, false
	}
	return n, true
}

func (r registration) valid() bool {
	_, err := time.Parse(time.RFC3339, r.StartedAt)
	return err == nil && filepath.IsAbs(r.Root) && r.Layout != "" && r.Seat != ""
}

// registrations is what one scan of the directory found.
type registrations struct {
	valid   []registration
	invalid map[queue.Seat]bool // seats with a file that fails validation
	broken  bool                // the scan itself failed
}

// scan reads the directory. A directory that is not there has no
// registrations.
func scan(dir string) registrations {
	found := registrations{invalid: map[queue.Seat]bool{}}
	entries, err := os.ReadDir(dir)
	if err != nil {
		found.broken = !errors.Is(err, fs.ErrNotExist)
		return found
	}
	for _, e := range entries {
		stem, isJSON := strings.CutSuffix(e.Name(), ".json")
		if !isJSON {
			continue
		}
		r, err := readRegistration(filepath.Join(dir, e.Name()))
		switch {
		case err == nil && r.valid():
			found.valid = append(found.valid, r)
		case r.Seat != "":
			found.invalid[r.Seat] = true
		default:
			found.invalid[queue.Seat(stem)] = true
		}
	}
	return found
}

// readRegistration returns what it could read also beside an error, so that a
// bad file still says whose it is.
func readRegistration(path string) (r registration, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return r, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return r, fs.ErrInvalid
	}
	text, err := io.ReadAll(io.LimitReader(f, maxRegistration))
	if err != nil {
		return r, err
	}
	if err = wire.Decode(text, &r); err != nil {
		var whose struct {
			Seat queue.Seat `json:"seat"`
		}
		if wire.DecodePart(text, &whose) != nil {
			return registration{}, err
		}
		return registration{Seat: whose.Seat}, err
	}
	return r, nil
}

// of returns the registrations of a seat in this checkout and layout.
func (all registrations) of(root string, seat queue.Seat) []registration {
	var own []registration
	for _, r := range all.valid {
		if r.Root == root && r.Layout == Layout && r.Seat == seat {
			own = append(own, r)
		}
	}
	return own
}

// duplicates lists the seats that have more than one registration in this
// checkout, with the layouts (QUEUE-LEDGER-30).
func (all registrations) duplicates(root string) []Duplicate {
	layouts := map[queue.Seat][]string{}
	for _, r := range all.valid {
		if r.Root == root {
			layouts[r.Seat] = append(layouts[r.Seat], r.Layout)
		}
	}
	found := []Duplicate{}
	for seat, list := range layouts {
		if len(list) > 1 {
			slices.Sort(list)
			found = append(found, Duplicate{seat, list})
		}
	}
	slices.SortFunc(found, func(a, b Duplicate) int { return strings.Compare(string(a.Seat), string(b.Seat)) })
	return found
}
