package evidence

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"

	"mosaicstack.dev/mosaic/internal/wire"
)

// timestampLayout is the form of every at: canonical UTC milliseconds.
const timestampLayout = "2006-01-02T15:04:05.000Z"

// tick returns the time of the next row: now, or one millisecond after the
// row before it when that is later. During a burst times run ahead of the
// wall clock and stay strictly ordered (BUS-EVENT-14, BUS-EVENT-17).
func tick(last, now int64) int64 { return max(now, last+1) }

func formatTime(ms int64) wire.Timestamp {
	var buf [len(timestampLayout)]byte
	return wire.Timestamp(time.UnixMilli(ms).UTC().AppendFormat(buf[:0], timestampLayout))
}

// parseTime accepts exactly what formatTime makes.
func parseTime(at string) (ms int64, err error) {
	t, err := time.Parse(timestampLayout, at)
	if err != nil {
		return 0, fmt.Errorf("time %q is not in the canonical form", at)
	}
	if ms = t.UnixMilli(); string(formatTime(ms)) != at {
		return 0, fmt.Errorf("time %q is not in the canonical form", at)
	}
	return ms, nil
}

// ids makes UUIDv7 strings. Their time is that of the row which carries them,
// so that ids are made in index order; the rest is random.
type ids struct {
	pool [1024]byte
	left int
}

func (g *ids) next(ms int64) string {
	if g.left < 10 {
		rand.Read(g.pool[:]) // never fails: crypto/rand
		g.left = len(g.pool)
	}
	var id [16]byte
	copy(id[6:], g.pool[g.left-10:g.left])
	g.left -= 10
	for i := range 6 {
		id[i] = byte(ms >> (8 * (5 - i)))
	}
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80

	var text [36]byte
	hex.Encode(text[0:8], id[0:4])
	hex.Encode(text[9:13], id[4:6])
	hex.Encode(text[14:18], id[6:8])
	hex.Encode(text[19:23], id[8:10])
	hex.Encode(text[24:36], id[10:16])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return string(text[:])
}
