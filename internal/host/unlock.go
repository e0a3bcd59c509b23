package host

import (
	"path/filepath"

	"mosaicstack.dev/mosaic/internal/evidence"
	"mosaicstack.dev/mosaic/internal/wire"
)

// Unlock is what `mosaic bus unlock` does: it removes the writer lock and the
// sockets, host.sock among them, of a host that is provably gone, and says
// which; see evidence.Unlock for the refusals.
func Unlock(dataRoot string) (evidence.Unlocked, error) {
	bus := filepath.Join(dataRoot, busName)
	sockets, err := wire.SocketDir(bus)
	if err != nil {
		return evidence.Unlocked{}, err
	}
	own, err := SocketPath(dataRoot)
	if err != nil {
		return evidence.Unlocked{}, err
	}
	return evidence.Unlock(filepath.Join(bus, lockName), sockets, own)
}
