package evidence

import (
	"context"
	"testing"
)

// verify checks the store. Every test of the store ends with it.
func (w *world) verify() {
	w.t.Helper()
	verifyClean(w.t, w.path)
}

func verifyClean(t *testing.T, path string, notes ...string) *Report {
	t.Helper()
	r, err := Verify(context.Background(), path, notes...)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Problems {
		t.Errorf("verify: %v", p)
	}
	return r
}
