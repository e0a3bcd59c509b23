package evidence

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"mosaicstack.dev/mosaic/internal/wire"
)

// SQLite reads a WAL that was cut short, or whose beginning was overwritten,
// as one with fewer commits, and says nothing: acknowledged writes would be
// gone without a word. After a crash of the process the WAL index (the -shm
// file) still says how many frames were committed. With synchronous=FULL a
// frame is counted there only when it is on disk, so a WAL that has fewer has
// lost some, whatever happened to the machine.

// Layout of the first header copy in the WAL index and of the WAL, both of
// SQLite's file format documents. The index is in the byte order of the
// machine, the WAL in big endian.
const (
	shmHeaderBytes   = 48
	shmVersion       = 3007000
	walHeaderBytes   = 32
	walFrameBytes    = 24 // before each page
	walMagicBigSums  = 0x377f0683
	walMagicHostSums = 0x377f0682
)

// checkWAL refuses a WAL that holds fewer commits than its index counted. It
// has nothing to say while a process has the store open.
func checkWAL(path string) error {
	if live, err := inUse(path); err != nil || live {
		return unavailable(err)
	}
	index, err := readIndex(path + shmSuffix)
	if err != nil {
		return refuse(wire.StorageUnavailable, err)
	}
	if index == nil || index.frames == 0 || index.backfilled >= index.frames {
		return nil // it counts nothing that the database does not have
	}
	valid, err := validFrames(path+walSuffix, index)
	if err != nil {
		return refuse(wire.StorageUnavailable, err)
	}
	if valid < index.frames {
		return refusef(wire.StoreDamaged, "the WAL lost commits: %d of %d frames", valid, index.frames)
	}
	return nil
}

type walIndex struct {
	frames     uint32 // committed
	backfilled uint32 // of them, copied to the database
	pageSize   uint32
	salt       [8]byte
}

// readIndex returns what the WAL index says, nil when it says nothing: it is
// missing, was not finished, or is empty.
func readIndex(path string) (*walIndex, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var h [2*shmHeaderBytes + 4]byte // two copies, then the count of copied frames
	if _, err := io.ReadFull(f, h[:]); err != nil {
		return nil, nil
	}
	one, two := h[:shmHeaderBytes], h[shmHeaderBytes:2*shmHeaderBytes]
	order := binary.NativeEndian
	if string(one) != string(two) || order.Uint32(one) != shmVersion || one[12] != 1 {
		return nil, nil
	}
	var sums walSums
	sums.add(order, one[:40])
	if sums != (walSums{order.Uint32(one[40:]), order.Uint32(one[44:])}) {
		return nil, nil
	}
	size := uint32(order.Uint16(one[14:]))
	if size == 1 {
		size = 65536
	}
	return &walIndex{
		frames: order.Uint32(one[16:]), backfilled: order.Uint32(h[2*shmHeaderBytes:]),
		pageSize: size, salt: [8]byte(one[32:40]),
	}, nil
}

// walSums is the checksum of the WAL and its index: two words that run over
// pairs of words.
type walSums [2]uint32

func (s *walSums) add(order binary.ByteOrder, data []byte) {
	for ; len(data) >= 8; data = data[8:] {
		s[0] += order.Uint32(data) + s[1]
		s[1] += order.Uint32(data[4:]) + s[0]
	}
}

// validFrames counts the frames at the start of the WAL that belong to the
// index and are whole.
func validFrames(path string, index *walIndex) (uint32, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var h [walHeaderBytes]byte
	if _, err := io.ReadFull(f, h[:]); err != nil {
		return 0, ended(err)
	}
	var order binary.ByteOrder = binary.BigEndian
	switch binary.BigEndian.Uint32(h[:]) {
	case walMagicBigSums:
	case walMagicHostSums:
		order = binary.LittleEndian
	default:
		return 0, nil
	}
	var sums walSums
	sums.add(order, h[:24])
	if [8]byte(h[16:24]) != index.salt || sums != sumsAt(h[24:]) {
		return 0, nil
	}
	frame := make([]byte, walFrameBytes+index.pageSize)
	for n := uint32(0); n < index.frames; n++ {
		if _, err := io.ReadFull(f, frame); err != nil {
			return n, ended(err)
		}
		sums.add(order, frame[:8])
		sums.add(order, frame[walFrameBytes:])
		if [8]byte(frame[8:16]) != index.salt || sums != sumsAt(frame[16:]) {
			return n, nil
		}
	}
	return index.frames, nil
}

func sumsAt(b []byte) walSums {
	return walSums{binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])}
}

// ended turns the end of the file into no error: that is what is looked for.
func ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return fmt.Errorf("reading the WAL: %w", err)
}
