package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// childConnect prints what a server says to a request.
func childConnect(path string) error {
	c, err := net.DialTimeout("unix", path, 10*time.Second)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	// The server may have closed already, having said why.
	_, _ = io.WriteString(c, `{"cap":"c","verb":"v"}`+"\n")
	reply, err := io.ReadAll(io.LimitReader(c, 1<<10))
	if len(reply) == 0 {
		return err
	}
	fmt.Print(string(reply))
	return nil
}

func TestThePeerIsWhoTheKernelSays(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, &Server{Handler: func(_ context.Context, p Peer, _ Request) (any, error) {
		return []int{p.PID, p.UID, p.GID}, nil
	}}))
	c.send(t, `{"cap":"c","verb":"v"}`+"\n")
	c.expect(t, fmt.Sprintf(`{"ok":true,"result":[%d,%d,%d]}`, os.Getpid(), os.Geteuid(), os.Getegid()))
}

func TestAPeerOfAnotherUserIsRefused(t *testing.T) {
	t.Parallel()
	called := make(chan struct{}, 1)
	s := &Server{Log: slog.New(slog.DiscardHandler), Handler: func(context.Context, Peer, Request) (any, error) {
		called <- struct{}{}
		return nil, nil
	}}
	var path, got string
	if os.Geteuid() != 0 {
		s.uid = os.Geteuid() + 2 // stands for a server of the next user
		path = serve(t, s)
		c := dial(t, path)
		c.expect(t, `{"ok":false,"error":"peer-refused"}`)
		c.expectEnd(t)
	} else {
		// A socket that others may reach, and a child that is one of them.
		dir, err := os.MkdirTemp("/tmp", "w")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		got = connectAsNobody(t, s, dir)
		if want := `{"ok":false,"error":"peer-refused"}` + "\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	select {
	case <-called:
		t.Error("the handler saw the request")
	default:
	}
}

func connectAsNobody(t *testing.T, s *Server, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "s")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l.UnixListener) }()
	defer func() {
		if err := errors.Join(s.Shutdown(context.Background())); err != nil {
			t.Error(err)
		}
		<-ended
	}()
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "child")
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(path, 0o666), os.WriteFile(program, self, 0o755)); err != nil {
		t.Fatal(err)
	}
	cmd := child(t, "connect", path)
	cmd.Path, cmd.Dir = program, dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	return runChild(t, cmd)
}

// childShortage runs out of descriptors while a client waits to be accepted.
func childShortage(path string) error {
	l, err := Listen(path)
	if err != nil {
		return err
	}
	short := make(chan struct{}, 100)
	s := &Server{Handler: echo, Log: slog.New(signal{slog.DiscardHandler, short})}
	ended := make(chan error, 1)
	client, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	go func() { ended <- s.Serve(l.UnixListener) }()
	limit := unix.Rlimit{Cur: 64, Max: 64}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	var held []*os.File
	for {
		f, err := os.Open(os.DevNull)
		if errors.Is(err, unix.EMFILE) {
			break
		}
		if err != nil {
			return err
		}
		held = append(held, f)
	}
	if err := unix.Connect(client, &unix.SockaddrUnix{Name: path}); err != nil {
		return err
	}
	select {
	case <-short: // the server has seen the shortage
	case err := <-ended:
		return fmt.Errorf("the server gave up: %w", err)
	}
	for _, f := range held {
		_ = f.Close()
	}
	if _, err := unix.Write(client, []byte(`{"id":1,"cap":"c","verb":"v"}`+"\n")); err != nil {
		return err
	}
	reply := make([]byte, 100)
	n, err := unix.Read(client, reply)
	if err != nil {
		return err
	}
	fmt.Print(string(reply[:n]))
	return s.Shutdown(context.Background())
}

// signal is a log that tells of each record.
type signal struct {
	slog.Handler
	records chan<- struct{}
}

func (s signal) Enabled(context.Context, slog.Level) bool { return true }

func (s signal) Handle(context.Context, slog.Record) error {
	s.records <- struct{}{}
	return nil
}

func TestAcceptSurvivesAShortageOfDescriptors(t *testing.T) {
	t.Parallel()
	got := runChild(t, child(t, "shortage", filepath.Join(t.TempDir(), "s")))
	if want := `{"id":1,"ok":true,"result":null}` + "\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
