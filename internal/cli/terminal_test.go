package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is a pseudo-terminal: what is typed into keyboard arrives at tty,
// and what is printed on tty is collected.
type terminal struct {
	keyboard, tty *os.File
	printed       chan string
}

func openTerminal(t *testing.T) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo-terminals here: ", err)
	}
	t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("the pseudo-terminal cannot be opened: ", err)
	}
	// master.Fd made the file blocking, so this reader ends with the terminal.
	x := &terminal{keyboard: master, tty: tty, printed: make(chan string, 1)}
	go func() {
		text, _ := io.ReadAll(master) // EIO when the last tty is closed
		x.printed <- strings.ReplaceAll(string(text), "\r\n", "\n")
	}()
	return x
}

// close closes the terminal and returns all that was printed on it.
func (x *terminal) close(t *testing.T) string {
	t.Helper()
	x.tty.Close()
	select {
	case text := <-x.printed:
		return text
	case <-time.After(10 * time.Second):
		t.Fatal("the terminal did not end")
		return ""
	}
}

// The person types the answers that no flag gave; Enter takes the proposal.
func TestInitAsksOnATerminal(t *testing.T) {
	x := openTerminal(t)
	if _, err := io.WriteString(x.keyboard, "Dana Doe\n\n"); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir() + "/home"
	code := Run(t.Context(), []string{"--data-root", root, "init"}, x.tty, x.tty, x.tty, []string{"TERM=dumb", "HOME=/nowhere"})
	text := x.close(t)
	if code != exitDone || !strings.Contains(text, "Your name [human]: ") || !strings.Contains(text, "Id of your business [main]: ") {
		t.Errorf("code %d, printed %q", code, text)
	}
	if !strings.Contains(text, "for Dana Doe, business main.") {
		t.Errorf("the answers are not what was typed: %q", text)
	}
}

// Ctrl-C ends a command that waits for an answer, and nothing is made.
func TestAQuestionCanBeInterrupted(t *testing.T) {
	x := openTerminal(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	root := t.TempDir() + "/home"
	code := Run(ctx, []string{"--data-root", root, "init"}, x.tty, x.tty, x.tty, []string{"HOME=/nowhere"})
	if _, err := io.WriteString(x.keyboard, "\n"); err != nil { // ends the read that nobody waits for
		t.Fatal(err)
	}
	if text := x.close(t); code != exitFailed || !strings.Contains(text, "mosaic: interrupted: ") {
		t.Errorf("code %d, printed %q", code, text)
	}
	if _, err := os.Stat(root); !os.IsNotExist(err) {
		t.Errorf("the data root is there: %v", err)
	}
}

func TestColourOnATerminal(t *testing.T) {
	for _, c := range []struct {
		env  []string
		want bool
	}{
		{[]string{"TERM=xterm"}, true},
		{[]string{"TERM=dumb"}, false},
		{[]string{"TERM=xterm", "NO_COLOR="}, false},
		{[]string{"TERM=xterm", "NO_COLOR=1"}, false},
	} {
		x := openTerminal(t)
		code := Run(t.Context(), []string{"explain", "not-holder"}, strings.NewReader(""), x.tty, x.tty, c.env)
		if text := x.close(t); code != exitDone || strings.Contains(text, "\x1b[") != c.want {
			t.Errorf("%q: code %d, printed %q", c.env, code, text)
		}
	}
	// Progress and colour stay out of a pipe, whatever stdin is.
	x := openTerminal(t)
	var out, errors bytes.Buffer
	if code := Run(t.Context(), []string{"explain"}, x.tty, &out, &errors, []string{"TERM=xterm"}); code != exitDone || strings.Contains(out.String(), "\x1b") || errors.Len() > 0 {
		t.Errorf("in a pipe: code %d, %q", code, errors.String())
	}
	x.close(t)
}
