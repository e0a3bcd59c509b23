#!/bin/sh
# Installs what the sandbox of managed runs needs, where this user may. Without
# the rights it says what will be skipped and goes on: nothing else needs it.
set -eu

command -v bwrap >/dev/null && exit 0

if ! command -v apt-get >/dev/null; then
	echo "setup: no bubblewrap; install it with this system's package manager, or the sandbox tests are skipped"
	exit 0
fi
if [ "$(id -u)" = 0 ]; then
	as_root=
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
	as_root='sudo -n'
else
	echo "setup: no bubblewrap and no rights to install it; the sandbox tests are skipped (sudo apt-get install bubblewrap)"
	exit 0
fi
echo "setup: installing bubblewrap"
if ! { $as_root apt-get update -qq && $as_root apt-get install -qq -y --no-install-recommends bubblewrap; } >/dev/null; then
	echo "setup: bubblewrap could not be installed; the sandbox tests are skipped"
fi
