package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"mosaicstack.dev/mosaic/internal/broker"
	"mosaicstack.dev/mosaic/internal/host"
	"mosaicstack.dev/mosaic/internal/launch"
	"mosaicstack.dev/mosaic/internal/org"
)

// State of a check.
const (
	checkOK      = "ok"
	checkWarning = "warning" // works, or is not needed yet, but should be known
	checkFailed  = "failed"
)

// check is one thing that doctor looked at: what it found, and the command
// that mends it.
type check struct {
	Name  string `json:"name"`
	State string `json:"state"`
	Found string `json:"found"`
	Fix   string `json:"fix,omitempty"`
}

func ok(name, format string, args ...any) check {
	return check{Name: name, State: checkOK, Found: fmt.Sprintf(format, args...)}
}

func (a *app) doctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what is missing on this machine, and the command that mends it",
		Long: `Looks at the machine and the data root, changes nothing, and names the command
for whatever is wrong. Exit code 1 means that something must be mended before
the host can run.`,
		Example: "mosaic doctor\nmosaic doctor --json",
		Args:    arguments(),
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		root, err := a.root()
		if err != nil {
			return err
		}
		report := struct {
			OK     bool    `json:"ok"`
			Checks []check `json:"checks"`
		}{true, a.examine(cmd.Context(), root)}
		for i, c := range report.Checks {
			report.OK = report.OK && c.State != checkFailed
			if a.out.managed {
				report.Checks[i].Fix = "" // a run mends nothing of the host
			}
		}
		err = a.out.answer(report, func(w *screen) {
			wide := 0
			for _, c := range report.Checks {
				wide = max(wide, len(c.Name))
			}
			for _, c := range report.Checks {
				mark := c.State
				if c.State != checkOK {
					mark = string(w.yellow("%s", c.State))
				}
				w.line("%s  %s%s  %s", styled(mark+strings.Repeat(" ", len(checkWarning)-len(c.State))), styled(c.Name), styled(strings.Repeat(" ", wide-len(c.Name))), c.Found)
				for _, line := range strings.Split(c.Fix, "\n") {
					if line != "" {
						w.line("           %s", line)
					}
				}
			}
		})
		if err == nil && !report.OK {
			err = exitError(exitFailed)
		}
		return err
	}
	return cmd
}

// examine makes the checks, those of the machine first.
func (a *app) examine(ctx context.Context, root string) []check {
	checks := []check{checkSystem(), checkGit(ctx), checkSandbox(ctx), a.checkPerson()}
	dataRoot := checkDataRoot(root)
	checks = append(checks, dataRoot)
	if dataRoot.State == checkFailed {
		return checks
	}
	checks = append(checks, checkDisk(root), checkOrganization(root), checkHarnesses(root), checkStore(root), checkLock(root))
	checks = append(checks, checkFiles(root)...)
	checks = append(checks, checkSockets(root)...)
	return append(checks, a.checkHost())
}

func checkSystem() check {
	if runtime.GOOS != "linux" {
		return check{"system", checkFailed, "this is " + runtime.GOOS, "run Mosaic on a Linux machine"}
	}
	return ok("system", "Linux, %s", runtime.GOARCH)
}

func checkGit(ctx context.Context) check {
	out, err := exec.CommandContext(ctx, "git", "--version").Output()
	if err != nil {
		return check{"git", checkFailed, "git does not run: " + plainly(err), install("git")}
	}
	return ok("git", "%s", strings.TrimSpace(strings.TrimPrefix(string(out), "git version ")))
}

func checkSandbox(ctx context.Context) check {
	if why := sandboxProblem(ctx); why != "" {
		fix := install("bubblewrap")
		if _, err := exec.LookPath("bwrap"); err == nil {
			fix = userNamespaces()
		}
		return check{"sandbox", checkFailed, why, fix + "\nor give it up: write sandbox: none under launch in organization.yaml"}
	}
	return ok("sandbox", "bubblewrap works")
}

// sandboxProblem says why the sandbox does not work here, or "".
func sandboxProblem(ctx context.Context) string {
	if err := launch.CheckSandbox(ctx, ""); err != nil {
		return err.Error()
	}
	return ""
}

// userNamespaces names the setting that keeps unprivileged user namespaces off.
func userNamespaces() string {
	for _, s := range [][3]string{
		{"kernel/apparmor_restrict_unprivileged_userns", "1", "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"},
		{"kernel/unprivileged_userns_clone", "0", "sudo sysctl kernel.unprivileged_userns_clone=1"},
		{"user/max_user_namespaces", "0", "sudo sysctl user.max_user_namespaces=15000"},
	} {
		value, err := os.ReadFile(filepath.Join("/proc/sys", s[0]))
		if err == nil && strings.TrimSpace(string(value)) == s[1] {
			return s[2]
		}
	}
	return "allow user namespaces in this container or virtual machine"
}

// install is the command that installs a package with the first package
// manager that is there.
func install(pkg string) string {
	for _, manager := range [][2]string{
		{"apt-get", "sudo apt-get install "}, {"dnf", "sudo dnf install "}, {"pacman", "sudo pacman -S "},
		{"zypper", "sudo zypper install "}, {"apk", "sudo apk add "},
	} {
		if _, err := exec.LookPath(manager[0]); err == nil {
			return manager[1] + pkg
		}
	}
	return "install " + pkg
}

func (a *app) checkPerson() check {
	if err := a.requirePerson(); err != nil {
		return check{"person", checkWarning, describe(err, true).sentence, "use a terminal of your own for what only you may do"}
	}
	return ok("person", "this terminal can speak for the person")
}

func checkDataRoot(root string) check {
	info, err := os.Lstat(root)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return check{"data root", checkFailed, root + " does not exist", "mosaic init"}
	case err != nil:
		return check{"data root", checkFailed, root + " cannot be looked at: " + plainly(err), ""}
	case info.Mode()&fs.ModeSymlink != 0:
		return check{"data root", checkFailed, root + " is a symbolic link", "name the directory itself with --data-root"}
	case !info.IsDir():
		return check{"data root", checkFailed, root + " is no directory", "name a real directory with --data-root"}
	}
	return private("data root", root, info, 0o700)
}

// private checks owner and mode of a file or directory of the data root.
func private(name, path string, info fs.FileInfo, mode fs.FileMode) check {
	if owner, is := info.Sys().(*syscall.Stat_t); !is || int(owner.Uid) != os.Geteuid() {
		return check{name, checkFailed, path + " belongs to another user", fmt.Sprintf("find out why, and then: sudo chown %d %s", os.Geteuid(), quote(path))}
	}
	if info.Mode().Perm() != mode {
		return check{name, checkFailed, fmt.Sprintf("%s has mode %#o", path, info.Mode().Perm()), fmt.Sprintf("find out why, and then: chmod %o %s", mode, quote(path))}
	}
	return ok(name, "%s", path)
}

// Free space, in MiB, below which the host cannot start, and below which it
// should be known.
const (
	fullMiB  = 1
	shortMiB = 256
)

func checkDisk(root string) check {
	kind, local := broker.LocalDisk(root)
	if !local {
		return check{"disk", checkFailed, root + " is on " + kind, "put the data root on a local disk: mosaic init --data-root DIR"}
	}
	var disk unix.Statfs_t
	if unix.Statfs(root, &disk) != nil {
		return check{"disk", checkFailed, "the file system of " + root + " does not answer", "look at it with findmnt and dmesg"}
	}
	free := disk.Bavail * uint64(disk.Bsize) >> 20
	switch {
	case disk.Flags&unix.ST_RDONLY != 0:
		return check{"disk", checkFailed, root + " is on a read-only file system", "find out why with findmnt and dmesg, then make it writable again"}
	case free < fullMiB:
		return check{"disk", checkFailed, fmt.Sprintf("the disk of %s is full: %d MiB free", root, free), "free some space: df -h " + quote(root)}
	case free < shortMiB:
		return check{"disk", checkWarning, fmt.Sprintf("the disk of %s is nearly full: %d MiB free", root, free), "free some space: df -h " + quote(root)}
	}
	return ok("disk", "%s, %d MiB free", kind, free)
}

func checkOrganization(root string) check {
	organization, err := org.Load(root)
	var problems org.Problems
	switch {
	case errors.As(err, &problems):
		var lines []string
		for _, p := range problems {
			lines = append(lines, p.Error())
		}
		return check{"organization", checkFailed, "its file has faults", strings.Join(lines, "\n")}
	case err != nil:
		f := describe(err, false)
		return check{"organization", checkFailed, f.sentence, f.remedy}
	}
	return ok("organization", "%s with %s in all", counted(len(organization.Businesses), "business", "businesses"), plural(countRoles(organization), "role"))
}

// checkHarnesses compares the harnesses that the organization switches on with
// those of this version.
func checkHarnesses(root string) check {
	has := launch.Builtin().Names()
	organization, err := org.Load(root)
	if err != nil {
		return ok("harnesses", "this version has %s", strings.Join(has, ", "))
	}
	var lacks []string
	for _, name := range organization.Plugins.Harness {
		if !slices.Contains(has, name) {
			lacks = append(lacks, name)
		}
	}
	found := fmt.Sprintf("this version has %s; switched on: %s", strings.Join(has, ", "), strings.Join(organization.Plugins.Harness, ", "))
	if len(lacks) > 0 {
		return check{"harnesses", checkWarning, found, "roles with the harness " + strings.Join(lacks, ", ") + " cannot be launched: give them a command: for exec in organization.yaml"}
	}
	return ok("harnesses", "%s", found)
}

func countRoles(o *org.Organization) int {
	n := 0
	for _, b := range o.Businesses {
		n += len(b.Roles)
	}
	return n
}

func checkStore(root string) check {
	path := broker.StorePath(root)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return check{"record", checkFailed, path + " does not exist", "restore it from a backup, or start a new data root: mosaic init --data-root DIR"}
	case err != nil:
		return check{"record", checkFailed, path + " cannot be looked at: " + plainly(err), ""}
	}
	if !info.Mode().IsRegular() {
		return check{"record", checkFailed, path + " is no plain file", "find out what it is; a lost record is restored from a backup"}
	}
	return private("record", path, info, 0o600)
}

// checkFiles names what a start would refuse with unsafe-permissions: nothing
// while all is well.
func checkFiles(root string) (found []check) {
	store := broker.StorePath(root)
	bus, own := filepath.Dir(store), filepath.Join(root, host.Directory)
	for _, of := range []struct {
		path string
		mode fs.FileMode
	}{
		{bus, fs.ModeDir | 0o700}, {own, fs.ModeDir | 0o700}, {filepath.Join(own, "runs"), fs.ModeDir | 0o700},
		{store + "-wal", 0o600}, {store + "-shm", 0o600},
		{filepath.Join(bus, "checkpoint.key"), 0o600}, {filepath.Join(bus, "checkpoint.pub"), 0o600},
		{filepath.Join(own, host.LogName), 0o600},
	} {
		info, err := os.Lstat(of.path)
		if err != nil {
			continue // missing, or below one that was named already
		}
		c := private("files", of.path, info, of.mode.Perm())
		if info.Mode().Type() != of.mode.Type() {
			c = check{"files", checkFailed, of.path + " is not the plain file or directory that belongs there", "find out what it is, then move it away: mv " + quote(of.path) + " " + quote(of.path+".aside")}
		}
		if c.State != checkOK {
			found = append(found, c)
		}
	}
	return found
}

// checkHost sees whether something answers; no proof is needed for that.
func (a *app) checkHost() check {
	sockets, err := a.sockets()
	if err != nil {
		f := describe(err, false)
		return check{"host", checkFailed, f.sentence, f.remedy}
	}
	conn, err := net.DialTimeout("unix", sockets.HostHuman, time.Second)
	if err != nil {
		return check{"host", checkWarning, "it does not run", "mosaic up --detach"}
	}
	conn.Close()
	return ok("host", "it listens at %s", sockets.HostHuman)
}
