package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"mosaicstack.dev/mosaic/internal/host"
	"mosaicstack.dev/mosaic/internal/wire"
)

// stopped is the answer of down.
type stopped struct {
	PID     int  `json:"pid"`
	Stopped bool `json:"stopped"`
}

func (a *app) downCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop the host, and its runs with it",
		Long: `Asks the host to stop, with SIGTERM, and waits until its process is gone. The
host ends its runs first. Nothing is killed: when it takes longer than --wait the
command ends with code 1 and the host goes on stopping. No host is code 1 too.`,
		Example: "mosaic down\nmosaic down --wait 2m --json",
		Args:    arguments(),
	}
	wait := waiting(cmd, "wait", time.Minute, "how long to wait until it is gone")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx := cmd.Context()
		if err := a.operatorOnly(); err != nil {
			return err
		}
		pid, err := a.hostProcess(ctx)
		if err != nil {
			return err
		}
		process, err := unix.PidfdOpen(pid, 0)
		if errors.Is(err, unix.ESRCH) {
			return wire.Refuse(wire.Unavailable) // it ended meanwhile
		}
		if err != nil {
			return explained(wire.Refuse(wire.Failed), "process %d: %s", pid, err)
		}
		defer unix.Close(process)
		// The number may have gone to another process before it was held.
		if again, err := a.hostProcess(ctx); err != nil || again != pid {
			return explained(wire.Refuse(wire.Unavailable), "process %d is ending or was replaced just now", pid)
		}
		if err := unix.PidfdSendSignal(process, unix.SIGTERM, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
			return explained(wire.Refuse(wire.Failed), "process %d: %s", pid, err)
		}
		a.out.did("mosaic status")
		a.out.progress("the host, process %d, is told to stop; waiting until it is gone ...", pid)
		gone, err := poll(ctx, *wait, func() (bool, error) { return ended(process) })
		if err != nil {
			return err
		}
		if !gone {
			return explained(wire.Refuse(wire.TimedOut), "the host, process %d, was told to stop and is not gone after %s", pid, *wait)
		}
		return a.out.answer(stopped{pid, true}, func(w *screen) { w.line("The host is stopped; process %d is gone.", pid) })
	}
	return cmd
}

// ended reports whether the process of a descriptor is gone.
func ended(process int) (bool, error) {
	events := []unix.PollFd{{Fd: int32(process), Events: unix.POLLIN}}
	n, err := unix.Poll(events, 0)
	if errors.Is(err, unix.EINTR) {
		err = nil
	}
	return n > 0, err
}

// hostProcess is the process of the host that answers. One that runs another
// program, as after an update, takes no proof from this one: it is then the
// owner of the writer lock, when that is certain.
func (a *app) hostProcess(ctx context.Context) (int, error) {
	s, err := a.session(ctx)
	if err == nil {
		var status host.Status
		if status, err = hostVerb[host.Status](ctx, s, "status", none{}); err == nil {
			return status.PID, nil
		}
	}
	root, rootErr := a.root()
	if rootErr != nil || !errors.Is(err, wire.Refuse(wire.HumanRequired)) || a.requirePerson() != nil || !otherProgram(root) {
		return 0, err
	}
	if pid, alive := lockOwner(root); alive {
		return pid, nil
	}
	return 0, err
}
