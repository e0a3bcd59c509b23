package broker

import "mosaicstack.dev/mosaic/internal/wire"

// taskRef is the form of a strict task reference (BUS-OPEN-84): the local
// queue's row, or a tracker's project and id. Numbers have no leading zeros.
var taskRef = wire.NewPattern(`^(queue:[A-Za-z0-9][A-Za-z0-9._-]*|vikunja:[1-9][0-9]*/[1-9][0-9]*|gitea:[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?/[1-9][0-9]*)$`)

// maxTaskRef is the longest task reference in bytes.
const maxTaskRef = 128

// validTaskRef reports whether text is a strict task reference.
func validTaskRef(text string) bool { return len(text) <= maxTaskRef && taskRef.MatchString(text) }
