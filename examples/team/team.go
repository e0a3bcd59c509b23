// Package team holds the agents of the demo team as shell scripts. It owns
// nothing but their text: the scripts are ordinary programs that use the
// mosaic command, and `mosaic demo --team DIR` runs edited copies of them.
package team

import "embed"

// Scripts holds one script a role, named <role>.sh.
//
//go:embed dev.sh rev.sh
var Scripts embed.FS
