package mosaic_test

import (
	"bufio"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"mosaicstack.dev/mosaic/internal/cli"
)

// deafBroker takes one request a connection and hangs up without an answer. It
// returns its socket and the number of requests so far.
func deafBroker(t *testing.T) (string, *atomic.Int64) {
	t.Helper()
	dir, err := os.MkdirTemp("", "mosaic-deaf-") // short: it holds a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	listener, err := net.Listen("unix", filepath.Join(dir, "bus.sock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	var requests atomic.Int64
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if line, err := bufio.NewReader(conn).ReadString('\n'); err == nil && line != "" {
				requests.Add(1)
			}
			conn.Close()
		}
	}()
	return listener.Addr().String(), &requests
}

// A command whose reply is lost says that the outcome is uncertain and where to
// look, and has sent its request once.
//
// proves: BUS-PROTO-17 BUS-PROTO-18
func TestNoCommandSendsAgainWhatMayHaveHappened(t *testing.T) {
	const id = "01900000-0000-7000-8000-000000000000"
	for _, args := range [][]string{
		{"send", "rev", "ready"},
		{"claim"},
		{"release"},
		{"raise", "routine", "--question", "Which?", "--option", "yes=a", "--option", "no=b", "--recommend", "yes", "--choice", "yes"},
		{"call", "message.send", `{"to":"rev","body":"ready"}`},
	} {
		t.Run(args[0], func(t *testing.T) {
			t.Parallel()
			socket, requests := deafBroker(t)
			var out, complaint strings.Builder
			exit := cli.Run(t.Context(), args, strings.NewReader(""), &out, &complaint, []string{
				"MOSAIC_BUS_SOCKET=" + socket, "MOSAIC_BUS_CAP=" + strings.Repeat("A", 43), "MOSAIC_RUN_ID=" + id,
				"MOSAIC_AGENT_NAME=dev", "MOSAIC_BUSINESS=acme", "MOSAIC_HOST_SOCKET=" + socket,
			})
			if exit != 3 || !strings.HasPrefix(complaint.String(), "mosaic: outcome-unknown: ") {
				t.Errorf("exit %d: %s%s", exit, out.String(), complaint.String())
			}
			if !strings.Contains(complaint.String(), "mosaic trail") {
				t.Errorf("it does not say where to look: %s", complaint.String())
			}
			if n := requests.Load(); n != 1 {
				t.Errorf("sent %d requests", n)
			}
		})
	}
}
