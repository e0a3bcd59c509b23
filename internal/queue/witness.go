package queue

import (
	"errors"
	"io/fs"
	"time"

	"mosaicstack.dev/mosaic/internal/wire"
)

// Witness says what the queue file was when a write last became durable
// (QUEUE-WITNESS-01 to 05). It lies in the git directory, where no git command
// that brings back an older queue file reaches it. Nothing is rebuilt from it.
type Witness struct {
	Revision  int    `json:"revision"`
	LogDigest string `json:"logDigest"` // of log[0..revision]
	FileSha   string `json:"fileSha"`   // of the queue file's bytes
	At        string `json:"at"`
}

func witnessOf(f *File, text []byte, at time.Time) Witness {
	return Witness{Revision: f.Revision, LogDigest: LogDigest(f.Log), FileSha: digest(text), At: Stamp(at)}
}

// readWitness returns the witness; nil when there is none, or none that can be
// read as one (QUEUE-OPEN-72).
func (c *Checkout) readWitness(s Step) (*Witness, error) {
	text, _, err := c.files.Read(s, c.Witness)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, failed(ReadFailed, "the witness cannot be read (%s)", cause(err))
	}
	var w Witness
	if err := wire.Decode(text, &w); err != nil || w.Revision < 0 || !isDigest(w.LogDigest) || !isDigest(w.FileSha) {
		return nil, nil
	}
	return &w, nil
}

// standing is how a queue file stands to the witness.
type standing int

const (
	confirmed   standing = iota // it is what the witness saw
	ahead                       // it has more entries: visible, not confirmed durable
	lost                        // it does not extend what the witness saw
	unwitnessed                 // there is no witness
)

// stands compares a valid file with the witness (QUEUE-WITNESS-07 to 11).
func (w *Witness) stands(f *File, text []byte) standing {
	switch {
	case w == nil:
		return unwitnessed
	case w.Revision > f.Revision || LogDigest(f.Log[:w.Revision+1]) != w.LogDigest:
		return lost
	case w.Revision < f.Revision:
		return ahead
	case digest(text) != w.FileSha:
		return lost
	default:
		return confirmed
	}
}

// bytes is the witness's file: the same serialization as the queue file's.
func (w Witness) bytes() []byte {
	e := encoder{}
	e.open('{')
	e.key("revision").int(w.Revision)
	e.key("logDigest").text(w.LogDigest)
	e.key("fileSha").text(w.FileSha)
	e.key("at").text(w.At)
	e.close('}')
	return append(e.b, '\n')
}

// confirm writes the witness: from here on the file is known to be durable
// (QUEUE-WITNESS-13).
func (h *held) confirm(s Step, f *File, text []byte) error {
	witness := witnessOf(f, text, h.c.machine.now()).bytes()
	return replace(h.c.files, s, h.c.Witness, tempName(h.c.Witness, h.op), witness, 0o600)
}
