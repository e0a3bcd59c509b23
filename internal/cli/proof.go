package cli

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"os"
	"syscall"

	"mosaicstack.dev/mosaic/internal/proc"
	"mosaicstack.dev/mosaic/internal/wire"
)

// A person is proven by the process that asks: its executable, its ancestors,
// and a nonce that was in its environment when it was started (BUS-HUMAN-04).
// A program cannot put a nonce into its own launch environment, so the command
// replaces itself once by itself with a fresh one. Pid and start time stay the
// same through that, which is how the second life knows that the nonce is its
// own and not one that it inherited: every command has a fresh one, and none
// can start itself for ever.
const (
	nonceVariable   = "MOSAIC_BUS_HUMAN_NONCE"
	processVariable = "MOSAIC_BUS_HUMAN_PROCESS" // pid:start of the process that the nonce was made for
)

// prove returns the proof of this process, after replacing it when it has no
// nonce of its own. Call it before anything is read from stdin.
func (a *app) prove() (wire.Proof, error) {
	self, err := proc.Self()
	if err != nil {
		return wire.Proof{}, wire.Refuse(wire.HumanRequired)
	}
	process := fmt.Sprintf("%d:%d", self.PID, self.Start)
	if a.env[processVariable] == process && a.env[nonceVariable] != "" {
		return wire.Proof{PID: self.PID, Nonce: a.env[nonceVariable]}, nil
	}
	nonce := make([]byte, 32)
	rand.Read(nonce) // never fails
	env := append(a.env.list(nonceVariable, processVariable),
		nonceVariable+"="+base64.RawURLEncoding.EncodeToString(nonce),
		processVariable+"="+process)
	err = syscall.Exec("/proc/self/exe", append([]string{os.Args[0]}, a.args...), env)
	return wire.Proof{}, explained(wire.Refuse(wire.HumanRequired), "the command could not start itself again: %s", err)
}

// childEnvironment is what programs that a command starts inherit: everything
// but the proof, which is this process's alone.
func (a *app) childEnvironment() []string { return a.env.list(nonceVariable, processVariable) }
