package launch

import (
	"fmt"
	"os"
)

// OutputLimit is how many bytes of a run's output one file holds. A full
// output.log becomes output.log.1, whose predecessor is dropped: a run keeps
// the newest OutputLimit bytes at least, and twice that at most.
const OutputLimit = 4 << 20

// outputName is the file of a run's stdout and stderr in its directory.
const outputName = "output.log"

// output is a bounded log of one run. It never fails its writer: what cannot
// be written (a full disk) is counted and dropped, so that the program does
// not block on a pipe that nobody empties.
type output struct {
	path    string
	limit   int64
	file    *os.File
	taken   int64 // bytes that came in for this file, written or not
	size    int64 // bytes of them that the file holds
	rotated int64 // bytes of them that output.log.1 holds
	dropped int64 // bytes so far that neither file holds
}

func openOutput(path string, limit int64) (*output, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return &output{path: path, limit: limit, file: f}, nil
}

// Write appends p, over as many files as it needs.
func (o *output) Write(p []byte) (int, error) {
	total := len(p)
	for len(p) > 0 {
		if o.taken >= o.limit {
			o.rotate()
		}
		part := p[:min(int64(len(p)), o.limit-o.taken)]
		o.append(part)
		p = p[len(part):]
	}
	return total, nil
}

// append counts a part as taken even when it cannot be written: otherwise a
// full disk would never come to the rotation that frees space on it.
func (o *output) append(p []byte) {
	n, _ := o.file.Write(p)
	o.taken += int64(len(p))
	o.size += int64(n)
	o.dropped += int64(len(p) - n)
}

// rotate begins a new file and says in its first line what was cut.
func (o *output) rotate() {
	next, err := o.replace()
	if err != nil {
		// The old file stays in use and is emptied instead.
		o.dropped += o.size
		_ = o.file.Truncate(0)
	} else {
		_ = o.file.Close()
		o.file = next
		o.dropped += o.rotated
		o.rotated = o.size
	}
	o.taken, o.size = 0, 0
	if o.dropped > 0 {
		fmt.Fprintf(o.file, "[mosaic: %d bytes of earlier output were dropped]\n", o.dropped)
	}
}

func (o *output) replace() (*os.File, error) {
	if err := os.Rename(o.path, o.path+".1"); err != nil {
		return nil, err
	}
	return os.OpenFile(o.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
}

func (o *output) close() { _ = o.file.Close() }
