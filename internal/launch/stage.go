package launch

import "mosaicstack.dev/mosaic/internal/wire"

// StageCommand is the hidden subcommand with which the launcher re-executes
// the binary; whoever parses the command line calls Stage for it, before it
// parses, reads or prints anything else, and exits with the result.
const StageCommand = "run-stage"

// probeArgument makes the stage check the sandbox that it runs in.
const probeArgument = "probe"

// stageFD is the monitor's end of the socket pair to its launcher.
const stageFD = 3

// What launcher and monitor say to each other: JSON values on a socket pair.
// The launcher's end closing, which the kernel does when the host dies, means
// that everything of the run shall be killed now.
type (
	// instruction is from the launcher. The first one starts the program.
	instruction struct {
		Start *order `json:"start,omitempty"`
		Stop  bool   `json:"stop,omitempty"` // SIGTERM to the program
	}

	// report is from the monitor: started or failed, and then ended, sent
	// when no process of the run but the monitor is left.
	report struct {
		Started bool      `json:"started,omitempty"`
		Failed  wire.Code `json:"failed,omitempty"`
		Ended   *Exit     `json:"ended,omitempty"`
	}

	// order is the program that a run is for. It holds the capability and
	// goes over the socket pair only.
	order struct {
		Run     wire.Run `json:"run"`
		Argv    []string `json:"argv"`
		Env     []string `json:"env"`
		Dir     string   `json:"dir"`
		Output  string   `json:"output"`
		Limit   int64    `json:"limit"`
		Sandbox *wrapper `json:"sandbox,omitempty"` // nil: none
	}

	// wrapper is the sandbox's program. Its options are handed over on a
	// descriptor, since an argument list can be read by everyone.
	wrapper struct {
		Path    string   `json:"path"`
		Options []string `json:"options"`
	}
)

// Exit is how a program ended: its code, or 128 plus the number of the signal
// that killed it. Signal is that signal's name when the monitor saw it; a
// program inside a sandbox shows its code alone.
type Exit struct {
	Code   int    `json:"code"`
	Signal string `json:"signal,omitempty"`
}
