package evidence

import (
	"crypto/sha256"
	"encoding/binary"
)

// head is the head of the hash chain: a rolling SHA-256 over every row of the
// chained tables in the order of at,
//
//	head' = SHA-256(head || encoding(row)).
//
// The encoding of a row is its table's name and then, for each column that is
// not null, in schema order, the column's name and its value. Names and values
// are preceded by their length, a value by its type too, so no two rows have
// one encoding, and a nullable column that a later version adds leaves the
// encoding of older rows as it was. events.prev is left out: it is the head
// itself.
type head [sha256.Size]byte

// genesis is the head before the first row, bound to the store by its id.
func genesis(storeID string) head {
	return sha256.Sum256(appendField([]byte("mosaic evidence chain v1\x00"), storeID))
}

// follow returns the head after a row.
func (h head) follow(row *encoding) head {
	copy(row.buf[:len(h)], h[:])
	return sha256.Sum256(row.buf)
}

// encoding builds the encoding of one row, behind room for the head before it
// so that one call hashes both. The zero value is ready; begin reuses it.
type encoding struct{ buf []byte }

func (e *encoding) begin(t *table) {
	e.buf = append(e.buf[:0], make([]byte, len(head{}))...)
	e.buf = appendField(e.buf, t.name)
}

func (e *encoding) text(name []byte, v string) {
	e.buf = append(append(e.buf, name...), 't')
	e.buf = appendField(e.buf, v)
}

func (e *encoding) blob(name []byte, v []byte) {
	e.buf = append(append(e.buf, name...), 'b')
	e.buf = binary.BigEndian.AppendUint32(e.buf, uint32(len(v)))
	e.buf = append(e.buf, v...)
}

func (e *encoding) integer(name []byte, v int64) {
	e.buf = append(append(e.buf, name...), 'i')
	e.buf = binary.BigEndian.AppendUint64(e.buf, uint64(v))
}

func appendField(buf []byte, s string) []byte {
	buf = binary.BigEndian.AppendUint32(buf, uint32(len(s)))
	return append(buf, s...)
}
