package org

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"mosaicstack.dev/mosaic/internal/wire"
)

// Load reads and validates the organization of a data root: organization.yaml
// and roles/*.yaml, with the built-in definitions for what roles/ lacks.
//
// Faults of the files are Problems (code invalid-config). The others are
// *wire.Error: organization-not-found without the file, unsafe-permissions for
// a file that is no regular file of this user or that others can write, and
// failed when it cannot be read.
func Load(dataRoot string) (*Organization, error) {
	files, err := readFiles(dataRoot)
	if err != nil {
		return nil, err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = "~" // a path that needs it is then no absolute path, and says so
	}
	return files.decode(home)
}

// sources are the bytes of the files of one organization.
type sources struct {
	organization []byte
	roles        map[string][]byte // by definition name
}

// decode validates the sources. It reads nothing, so the writer can ask it
// whether a change would load.
func (s sources) decode(home string) (*Organization, error) {
	names := BuiltIns()
	for name := range s.roles {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)

	definitions := map[string]Definition{}
	var problems Problems
	for _, name := range names {
		d := decoder{file: roleFile(name), home: home}
		definitions[name] = d.definition(name, names, s.roles)
		problems = append(problems, d.problems...)
	}

	d := decoder{file: File, home: home}
	root, fault := parse(File, s.organization)
	if fault != nil {
		return nil, append(problems, fault)
	}
	o := d.decodeOrganization(root, definitions)
	if problems = append(problems, d.problems...); len(problems) > 0 {
		return nil, problems[:min(len(problems), maxProblems)]
	}
	o.Revision = revision(s.organization)
	return o, nil
}

func roleFile(name string) string { return RolesDir + "/" + name + ".yaml" }

// definition decodes the file of the data root, or else the built-in one.
func (d *decoder) definition(name string, names []string, files map[string][]byte) Definition {
	text, overridden := files[name]
	if !overridden {
		text, _ = BuiltInFile(name)
	}
	root, fault := parse(d.file, text)
	if fault != nil {
		d.problems = append(d.problems, fault)
		return Definition{Name: name}
	}
	def := d.decodeDefinition(root, name, names)
	def.BuiltIn = !overridden
	return def
}

// revision names the bytes of a file.
func revision(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func readFiles(dataRoot string) (sources, error) {
	text, err := readFile(filepath.Join(dataRoot, File))
	if errors.Is(err, fs.ErrNotExist) {
		return sources{}, wire.Refuse(wire.OrganizationNotFound)
	}
	if err != nil {
		return sources{}, err
	}
	roles, err := readRoles(filepath.Join(dataRoot, RolesDir))
	return sources{organization: text, roles: roles}, err
}

// readRoles reads the definition files of the directory. Hidden files, editors'
// backups and other kinds of files are left alone; a file whose name shows that
// a definition was meant is refused rather than passed over.
func readRoles(dir string) (map[string][]byte, error) {
	roles := map[string][]byte{}
	d, err := openOwn(dir, fs.ModeDir)
	if errors.Is(err, fs.ErrNotExist) {
		return roles, nil
	}
	if err != nil {
		return nil, err
	}
	files, err := d.Readdirnames(-1)
	d.Close()
	if err != nil {
		return nil, wire.Refuse(wire.Failed)
	}
	slices.Sort(files)
	for _, file := range files {
		name, meant := definitionName(file)
		if !meant {
			continue
		}
		if p := misnamed(file, name); p != nil {
			return nil, Problems{p}
		}
		text, err := readFile(filepath.Join(dir, file))
		if err != nil {
			return nil, err
		}
		roles[name] = text
	}
	return roles, nil
}

// definitionName returns the name that a file in roles/ means to define.
func definitionName(file string) (name string, meant bool) {
	if strings.HasPrefix(file, ".") {
		return "", false
	}
	for _, end := range []string{".yaml", ".yml"} {
		if name, ok := strings.CutSuffix(file, end); ok {
			return name, true
		}
	}
	return "", false
}

func misnamed(file, name string) *Problem {
	switch {
	case !keyForm.match(name):
		return &Problem{File: RolesDir, What: quoted(file) + " is no name of a role definition", Remedy: "use " + keyForm.words}
	case !strings.HasSuffix(file, ".yaml"):
		return &Problem{File: RolesDir + "/" + file, What: "a role definition ends in .yaml", Remedy: "rename it to " + name + ".yaml"}
	case name == string(wire.HumanRole):
		return &Problem{File: RolesDir + "/" + file, What: "human is the person and no role definition", Remedy: "rename it"}
	}
	return nil
}

// readFile reads a regular file of this user that nobody else can write, and
// follows no symbolic link to it.
func readFile(path string) ([]byte, error) {
	f, err := openOwn(path, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// One byte more than allowed, so that parse sees that there is too much.
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, wire.Refuse(wire.Failed)
	}
	return text, nil
}

// openOwn opens what path itself names, of that kind. A missing one gives
// fs.ErrNotExist; the checks are of what was opened, not of the name.
func openOwn(path string, kind fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fs.ErrNotExist
	case errors.Is(err, syscall.ELOOP):
		return nil, wire.Refuse(wire.UnsafePermissions)
	case err != nil:
		return nil, wire.Refuse(wire.Failed)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, wire.Refuse(wire.Failed)
	}
	if !owned(info, kind) {
		f.Close()
		return nil, wire.Refuse(wire.UnsafePermissions)
	}
	return f, nil
}

func owned(info fs.FileInfo, kind fs.FileMode) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode().Type() == kind && int(st.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}
