// Command mosaic runs a team of coding agents on one Linux machine and keeps
// the person who runs it in charge.
//
// It owns the process: its arguments, streams, environment and exit code. It
// promises to turn SIGINT and SIGTERM into a cancelled context, and the result
// of the command line into the exit code, and does nothing else: everything is
// in internal/cli. It refuses nothing itself. On failure the command line has
// already said why.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"mosaicstack.dev/mosaic/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ())
	stop()
	os.Exit(code)
}
