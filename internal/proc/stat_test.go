package proc

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// statLine builds a line of /proc/<pid>/stat as the kernel writes it.
func statLine(pid, comm, state, parent, start string) string {
	return pid + " (" + comm + ") " + state + " " + parent +
		" 10 10 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 " + start + " 9 9 9\n"
}

func TestParseStat(t *testing.T) {
	t.Parallel()
	for _, comm := range []string{
		"bash", "", "a b", ")", "(", ") S 1 (", "x) Z 0 0", "tab\tnew\nline", "\xff\xfe", "((()))",
	} {
		got, err := parseStat([]byte(statLine("42", comm, "S", "7", "123456")))
		if err != nil {
			t.Errorf("%q: %v", comm, err)
			continue
		}
		want := Stat{Identity: Identity{PID: 42, Start: 123456}, Parent: 7, Command: comm, State: 'S'}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", comm, diff)
		}
	}
}

func TestParseStatRefusesOtherForms(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"empty":            "",
		"no parentheses":   "42 bash S 7",
		"closes too early": ") 42 (",
		"no pid":           statLine("", "bash", "S", "7", "1"),
		"pid zero":         statLine("0", "bash", "S", "7", "1"),
		"negative pid":     statLine("-3", "bash", "S", "7", "1"),
		"long state":       statLine("42", "bash", "SS", "7", "1"),
		"parent no number": statLine("42", "bash", "S", "x", "1"),
		"negative parent":  statLine("42", "bash", "S", "-1", "1"),
		"start no number":  statLine("42", "bash", "S", "7", "x"),
		"negative start":   statLine("42", "bash", "S", "7", "-1"),
		"start overflows":  statLine("42", "bash", "S", "7", strings.Repeat("9", 30)),
		"cut before start": "42 (bash) S 7 10 10 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0",
	} {
		if got, err := parseStat([]byte(line)); err == nil {
			t.Errorf("%s: got %+v, want an error", name, got)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte(statLine("42", "a) S (b", "S", "7", "99")))
	f.Add([]byte("1 ((("))
	f.Fuzz(func(t *testing.T, line []byte) {
		st, err := parseStat(line)
		if err == nil && (st.PID <= 0 || st.Parent < 0) {
			t.Fatalf("accepted %+v", st)
		}
	})
}

func TestParseUID(t *testing.T) {
	t.Parallel()
	uid, err := parseUID([]byte("Name:\tUid:\t9 9 9 9\nState:\tS\nUid:\t1000\t1001\t1002\t1003\nGid:\t5\t5\t5\t5\n"))
	if err != nil || uid != 1001 {
		t.Errorf("got %d, %v; want the effective id 1001", uid, err)
	}
	for _, bad := range []string{"", "Name:\tx\n", "Uid:\t1\n", "Uid:\t1\tx\t1\t1\n", "Uid:\t1\t-1\t1\t1\n", "Uid:\t1\t4294967296\t1\t1\n"} {
		if uid, err := parseUID([]byte(bad)); err == nil {
			t.Errorf("%q: got %d, want an error", bad, uid)
		}
	}
}

func TestSplitNUL(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"a\x00", []string{"a"}},
		{"a\x00\x00b\x00", []string{"a", "", "b"}},
		{"\x00", []string{""}},
		{"A=1\x00B=two words\x00", []string{"A=1", "B=two words"}},
		{"cut", []string{"cut"}}, // a process may overwrite its own title
	} {
		if diff := cmp.Diff(c.want, splitNUL([]byte(c.text))); diff != "" {
			t.Errorf("%q: %s", c.text, diff)
		}
	}
}
