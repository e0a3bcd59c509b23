package launch

// StageCommand is the hidden subcommand with which the launcher re-executes
// the binary; whoever parses the command line calls Stage for it, before it
// parses, reads or prints anything else, and exits with the result.
const StageCommand = "run-stage"

// Stage is the whole of the stage command; args are what follows it. It
// returns the exit code.
func Stage(args []string) int { return 4 }
