package proc

// Identity names one process for as long as the machine runs. Start is field
// 22 of /proc/<pid>/stat, in clock ticks since boot.
type Identity struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"startTime"`
}

// Stat is what /proc/<pid>/stat says.
type Stat struct {
	Identity
	Parent  int
	Command string // comm: at most 15 bytes, may hold spaces and parentheses
	State   byte   // R, S, D, Z, ...
}

// File names an executable by what cannot be faked by a name.
type File struct{ Device, Inode uint64 }

// Table reads the process table. Errors wrap fs.ErrNotExist for a process that
// is gone and fs.ErrPermission where the kernel refuses; everything else is a
// failure to read.
type Table interface {
	// Stat fails without fs.ErrNotExist for a process that runs and is not
	// shown, as of another user where /proc is mounted with hidepid.
	Stat(pid int) (Stat, error)
	// UID returns the effective user id, as SO_PEERCRED does.
	UID(pid int) (int, error)
	// Cmdline returns the arguments.
	Cmdline(pid int) ([]string, error)
	// Environ returns the environment that the process was started with, as
	// far as it has not overwritten it. A zombie or a kernel thread gives
	// ErrNoMemory, never an empty environment.
	Environ(pid int) ([]string, error)
	// Executable follows /proc/<pid>/exe, so it names the file that runs even
	// when its path was replaced or removed.
	Executable(pid int) (File, error)
}
