package demo

import (
	"context"
	"os"
	"os/exec"
	"syscall"
)

// host is `mosaic up` as a child process.
type host struct {
	cmd *exec.Cmd
	log *os.File
}

// startHost starts the host and waits until it answers.
func (d *demo) startHost(ctx context.Context) (*host, error) {
	log, err := os.OpenFile(d.hostLog(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	// Ctrl-C reaches the host through stop, after the step under way has ended.
	h := &host{cmd: d.command(context.WithoutCancel(ctx), "up"), log: log}
	h.cmd.Stdout, h.cmd.Stderr = log, log
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := h.cmd.Start(); err != nil {
		log.Close()
		return nil, err
	}
	if err := d.mosaic(ctx, nil, "status", "--wait", "20s"); err != nil {
		h.stop()
		return nil, err
	}
	return h, nil
}

// stop ends the host in order and waits for it.
func (h *host) stop() error {
	defer h.log.Close()
	h.cmd.Process.Signal(syscall.SIGTERM)
	return h.cmd.Wait()
}
