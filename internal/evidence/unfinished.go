package evidence

import (
	"os"
	"path/filepath"
	"strings"
)

// ClearUnfinished removes what a Create or a CreateCheckpointKey that was
// interrupted has left beside path: the store under its other name, and a key
// without its second half or without content. It touches no store and no whole
// pair of keys. Call it only where nobody else makes a store.
func ClearUnfinished(path string) error {
	dir := filepath.Dir(path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	keys := 0
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), filepath.Base(path)+scratchMark) {
			os.Remove(filepath.Join(dir, e.Name()))
		}
		if info, err := e.Info(); err == nil && isKey(e.Name()) && info.Size() > 0 {
			keys++
		}
	}
	if keys < 2 {
		os.Remove(filepath.Join(dir, checkpointKeyFile))
		os.Remove(filepath.Join(dir, checkpointVerifyFile))
	}
	return syncDir(dir)
}

// HasCheckpointKey reports whether the store at path has its key pair.
func HasCheckpointKey(path string) bool {
	_, err := os.Lstat(filepath.Join(filepath.Dir(path), checkpointKeyFile))
	return err == nil
}

func isKey(name string) bool { return name == checkpointKeyFile || name == checkpointVerifyFile }
