package git

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// locatePlain finds the place of dir without a child, where it is beyond doubt
// what git would answer: the first .git above it is a directory with the usual
// files, both belong to this user, no file system begins in between, and the
// configuration says nothing about where the work tree is. Whatever else there
// is, is git's to judge (false). A command that only reads a queue spends half
// of its time on such a child.
func locatePlain(dir string) (Place, bool) {
	top, err := filepath.Abs(dir)
	if err == nil {
		top, err = filepath.EvalSymlinks(top)
	}
	if err != nil {
		return Place{}, false
	}
	var device uint64
	for first := true; ; first = false {
		st, ok := ownedDirectory(top)
		if !ok || !first && st.Dev != device || exists(filepath.Join(top, "HEAD")) {
			return Place{}, false
		}
		device = st.Dev
		gitDir := filepath.Join(top, ".git")
		if exists(gitDir) {
			return Place{Top: top, GitDir: gitDir, CommonDir: gitDir}, plainGitDir(gitDir)
		}
		if top == filepath.Dir(top) {
			return Place{}, false
		}
		top = filepath.Dir(top)
	}
}

func plainGitDir(dir string) bool {
	if _, ok := ownedDirectory(dir); !ok || exists(filepath.Join(dir, "commondir")) || exists(filepath.Join(dir, "config.worktree")) {
		return false
	}
	for _, name := range []string{"objects", "refs"} {
		if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || !info.IsDir() {
			return false
		}
	}
	if info, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil || !info.Mode().IsRegular() {
		return false
	}
	config, err := os.ReadFile(filepath.Join(dir, "config"))
	return err == nil && plainConfig(config)
}

// plainConfig reports a configuration that neither moves the work tree nor
// needs more than the first version of the format. bare=false alone is what git
// writes everywhere.
func plainConfig(text []byte) bool {
	text = bytes.ToLower(text)
	for _, word := range []string{"worktree", "include", "extensions"} {
		if bytes.Contains(text, []byte(word)) {
			return false
		}
	}
	for line := range bytes.Lines(text) {
		if bytes.Contains(line, []byte("bare")) && strings.Join(strings.Fields(string(line)), "") != "bare=false" {
			return false
		}
	}
	return true
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// ownedDirectory reports a directory of this user, which is no symbolic link.
func ownedDirectory(path string) (*syscall.Stat_t, bool) {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() {
		return nil, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return st, ok && int(st.Uid) == os.Geteuid()
}
