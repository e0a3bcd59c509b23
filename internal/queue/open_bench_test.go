package queue

import (
	"context"
	"testing"
)

// BenchmarkOpenAndRead is everything of next but the start of the process: the
// checkout, the witness, the file, the replay and the table.
func BenchmarkOpenAndRead(b *testing.B) {
	w := newWorld(b)
	for b.Loop() {
		c, err := Open(context.Background(), w.root)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := c.Read(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWrite is one operation, with its child of git and its syncs.
func BenchmarkWrite(b *testing.B) {
	w := newWorld(b)
	c := w.open(nil)
	n := 0
	for b.Loop() {
		n++
		if _, err := note(c, OpID("bench-op-"+itoa(n)), itoa(n)); err != nil {
			b.Fatal(err)
		}
	}
}
