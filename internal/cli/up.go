package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"mosaicstack.dev/mosaic/internal/broker"
	"mosaicstack.dev/mosaic/internal/host"
	"mosaicstack.dev/mosaic/internal/wire"
)

func (a *app) upCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run the host, in the foreground or detached",
		Long: `Runs the host: the broker, the launcher and their sockets. It stops in order on
Ctrl-C or SIGTERM and when its terminal is closed, and ends its runs then.

With --detach it goes on without this terminal, with its output in host/host.log
of the data root; the command ends when the host answers, or says why not.`,
		Example: "mosaic up\nmosaic up --detach",
		Args:    arguments(),
	}
	detach := cmd.Flags().Bool("detach", false, "go on in the background")
	grace := waiting(cmd, "grace", 0, "how long runs have to end by themselves when they are stopped (default 10s)")
	ready := cmd.Flags().Int("ready-fd", -1, "descriptor that is told when the host answers")
	cmd.Flags().Lookup("ready-fd").Hidden = true
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := a.operatorOnly(); err != nil {
			return err
		}
		root, err := a.root()
		if err != nil {
			return err
		}
		if *detach {
			args := []string{"--data-root", root, "up", "--ready-fd", "3", "--grace", grace.String()}
			return a.detach(cmd.Context(), root, args)
		}
		ctx, restore := onHangup(cmd.Context(), *ready >= 0)
		defer restore()
		report := io.WriteCloser(discard{})
		if *ready >= 0 {
			syscall.CloseOnExec(*ready)
			report = os.NewFile(uintptr(*ready), "ready")
		}
		defer report.Close()
		err = host.Run(ctx, host.Options{
			DataRoot: root,
			Version:  version(),
			Environ:  a.childEnvironment(),
			Grace:    *grace,
			Log:      slog.New(slog.NewTextHandler(a.out.stderr, nil)),
			Ready: func(s host.Status) {
				a.out.document(report, started{Status: &s})
				report.Close()
				if *ready < 0 {
					a.out.show(func(w *screen) { showUp(w, s, "") })
				}
			},
		})
		if err != nil {
			err = lockProblem(root, err)
			f := describe(err, false)
			a.out.document(report, started{Error: f.code, Field: f.field, Sentence: f.sentence, Remedy: f.remedy})
			return starting{err}
		}
		return nil
	}
	return cmd
}

// onHangup makes SIGHUP, which a closing terminal sends, an orderly stop: ctx
// is cancelled. A detached host has no terminal and takes no notice of it; nor
// does one that was started with the signal ignored, as by nohup. The signal is
// caught and not ignored then, because children would inherit that.
func onHangup(ctx context.Context, detached bool) (_ context.Context, restore func()) {
	if signal.Ignored(syscall.SIGHUP) {
		return ctx, func() {}
	}
	if detached {
		dropped := make(chan os.Signal, 1)
		signal.Notify(dropped, syscall.SIGHUP)
		return ctx, func() { signal.Stop(dropped) }
	}
	return signal.NotifyContext(ctx, syscall.SIGHUP)
}

// started is what a detached host reports once, as a JSON line: that it
// answers, or why it does not.
type started struct {
	Status *host.Status `json:"status,omitempty"`
	// Why it does not, in the words that a host in the foreground prints.
	Error    wire.Code `json:"error,omitempty"`
	Field    string    `json:"field,omitempty"`
	Sentence string    `json:"sentence,omitempty"`
	Remedy   string    `json:"remedy,omitempty"`
}

// discard takes the report of a host that nobody waits for.
type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Close() error                { return nil }

func showUp(w *screen, s host.Status, log string) {
	w.line("Mosaic is up (process %d).", s.PID)
	showPaths(w, s, log)
	w.line("  mosaic status")
}

// detach starts the host in a session of its own and waits until it answers or
// has failed.
func (a *app) detach(ctx context.Context, root string, args []string) error {
	if err := broker.CheckDataRoot(root); err != nil {
		return starting{err}
	}
	log, unmake, err := host.OpenLog(root)
	if err != nil {
		return starting{err}
	}
	logPath := log.Name()
	defer log.Close()
	told, tell, err := os.Pipe()
	if err != nil {
		return err
	}
	defer told.Close()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self)
	cmd.Args = append([]string{os.Args[0]}, args...)
	cmd.Env = a.childEnvironment()
	cmd.Dir = "/" // so that it keeps no directory busy
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{tell}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	tell.Close()
	if err != nil {
		return err
	}
	a.out.progress("starting the host ...")
	stop := context.AfterFunc(ctx, func() { cmd.Process.Signal(syscall.SIGTERM) })
	defer stop()

	line, _ := bufio.NewReader(told).ReadBytes('\n')
	var report started
	if json.Unmarshal(line, &report) == nil && report.Status != nil {
		a.out.did("mosaic status")
		return a.out.answer(report.Status, func(w *screen) { showUp(w, *report.Status, logPath) })
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	switch {
	case report.Error != "":
		unmake() // all that the log says is said here
		return starting{instead(wire.RefuseField(report.Error, report.Field), report.Sentence, report.Remedy)}
	case err == nil || errors.As(err, &exit):
		return explained(wire.Refuse(wire.Failed), "the host ended before it answered; see %s", logPath)
	}
	return err
}

// operatorOnly refuses a managed run what belongs to the person who keeps the
// host. It is a courtesy that explains; the sandbox is what holds.
func (a *app) operatorOnly() error {
	if a.env.managed() {
		return wire.Refuse(wire.HumanRequired)
	}
	return nil
}
