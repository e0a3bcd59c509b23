package launch

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOutputKeepsTheNewest(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), outputName)
	out, err := openOutput(path, 100)
	if err != nil {
		t.Fatal(err)
	}
	defer out.close()
	for _, letter := range "abcde" {
		if n, err := out.Write(bytes.Repeat([]byte(string(letter)), 60)); n != 60 || err != nil {
			t.Fatal(n, err)
		}
	}
	current, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path + ".1")
	if err != nil {
		t.Fatal(err)
	}
	// 300 bytes in files of 100: the third file is written, the second kept.
	if want := strings.Repeat("b", 20) + strings.Repeat("c", 60) + strings.Repeat("d", 20); string(before) != want {
		t.Errorf("before: %q", before)
	}
	if want := "[mosaic: 100 bytes of earlier output were dropped]\n" + strings.Repeat("d", 40) + strings.Repeat("e", 60); string(current) != want {
		t.Errorf("current: %q", current)
	}
}

func TestOutputDoesNotBlockOnAFullDisk(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here")
	}
	path := filepath.Join(t.TempDir(), outputName)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	out := &output{path: path, limit: 100, file: full}
	defer func() { out.close() }()
	for range 2 {
		if n, err := out.Write(make([]byte, 100)); n != 100 || err != nil {
			t.Fatal(n, err)
		}
	}
	if _, err := out.Write([]byte("space again")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), "space again") || !strings.Contains(string(text), "bytes of earlier output were dropped") {
		t.Errorf("%q, %v", text, err)
	}
}
