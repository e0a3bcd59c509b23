package host

import (
	"path/filepath"

	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/wire"
)

// Unlock is what `mosaic bus unlock` does: it removes the writer lock and the
// sockets, host.sock among them, of a host that is provably gone, wherever
// they can be, and says which; see evidence.Unlock for the refusals.
func Unlock(dataRoot string) (evidence.Unlocked, error) {
	sockets, err := SocketPaths(dataRoot)
	if err != nil {
		return evidence.Unlocked{}, err
	}
	return evidence.Unlock(filepath.Join(dataRoot, busName, lockName), sockets)
}

// SocketPaths are all paths at which the sockets of a data root can be: in it,
// or where a long path moved them, now or at the last start.
func SocketPaths(dataRoot string) ([]string, error) {
	var paths []string
	for _, of := range []struct {
		directory string
		names     []string
	}{
		{busName, []string{busSocket, humanName}},
		{Directory, entranceNames[:]},
	} {
		places, err := wire.SocketPlaces(filepath.Join(dataRoot, of.directory))
		if err != nil {
			return nil, err
		}
		for _, place := range places {
			for _, name := range of.names {
				paths = append(paths, filepath.Join(place, name))
			}
		}
	}
	return paths, nil
}
