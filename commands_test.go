package mosaic_test

import (
	"regexp"
	"strings"
	"testing"

	"mosaicstack.dev/mosaic/internal/cli"
	"mosaicstack.dev/mosaic/internal/wire"
)

// mentioned finds commands of the program in a text: `mosaic inbox` in code, or
// a line of a block that begins with the program's name.
var mentioned = regexp.MustCompile("(?m)(?:`|^\\$ |^)mosaic ((?:[a-z][a-z-]*)(?: [a-z][a-z-]*)?)")

// groups are the commands whose next word is a command, too.
var groups = regexp.MustCompile(`^(bus|queue)\b`)

func exists(t *testing.T, command string) bool {
	t.Helper()
	words := strings.Fields(command)
	if !groups.MatchString(command) {
		words = words[:1]
	}
	var out strings.Builder
	exit := cli.Run(t.Context(), append(words, "--help"), strings.NewReader(""), &out, &out, nil)
	return exit == 0 && strings.Contains(strings.Join(strings.Fields(out.String()), " "), "Usage mosaic "+strings.Join(words, " "))
}

func TestDocumentedCommandsExist(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range documents(t) {
		for _, m := range mentioned.FindAllStringSubmatch(raw(t, name), -1) {
			if seen[m[1]] {
				continue
			}
			seen[m[1]] = true
			if !exists(t, m[1]) {
				t.Errorf("%s: there is no mosaic %s", name, m[1])
			}
		}
	}
	if len(seen) < 20 {
		t.Errorf("found only %v", seen)
	}
	if exists(t, "inbxo") || exists(t, "bus explode") {
		t.Error("a command that does not exist counts as there")
	}
}

// Whoever follows a remedy to the letter types a command that exists.
func TestRemediesNameCommandsThatExist(t *testing.T) {
	for _, info := range wire.Codes {
		for _, m := range mentioned.FindAllStringSubmatch(info.Remedy, -1) {
			if !exists(t, m[1]) {
				t.Errorf("%s: there is no mosaic %s", info.Code, m[1])
			}
		}
	}
}
