package wire

import "testing"

func TestPattern(t *testing.T) {
	t.Parallel()
	p := NewPattern(`^[a-z]{1,3}$`)
	for text, want := range map[string]bool{"abc": true, "": false, "abcd": false, "ab1": false} {
		if got := p.MatchString(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if p.String() != `^[a-z]{1,3}$` {
		t.Errorf("String() = %q", p)
	}
}
