package broker

import (
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"mosaicstack.dev/mosaic/internal/proc"
	"mosaicstack.dev/mosaic/internal/wire"
)

// HumanNonceVar is the variable in whose value, set at its start, a process
// proves that it was started to speak for the person (BUS-OPEN-102).
const HumanNonceVar = "MOSAIC_BUS_HUMAN_NONCE"

// runMarkers are the variables that say "an agent runs here". A process with
// one of them in its environment, or below one that has, never proves a human
// (BUS-HUMAN-14, BUS-OPEN-103).
var runMarkers = []struct{ name, setBy string }{
	{"MOSAIC_RUN_ID", "the launcher, in every managed run"},
	{"MOSAIC_BUS_CAP", "the launcher, in every managed run"},
	{"MOSAIC_AGENT_RUN", "the launcher, in every managed run"},
	{"CLAUDECODE", "Claude Code, for its tools"},
	{"CLAUDE_CODE_ENTRYPOINT", "Claude Code, for its tools"},
	{"CODEX_SANDBOX", "Codex, inside its sandbox"},
	{"CODEX_SANDBOX_NETWORK_DISABLED", "Codex, inside its sandbox"},
	{"CODEX_THREAD_ID", "Codex, for its tools"},
	{"PI_CODING_AGENT", "pi, for its tools"},
}

// harnessCommands are the names by which the known harnesses run, as a program
// or as the script that an interpreter was given (BUS-OPEN-105).
var harnessCommands = []string{"claude", "codex", "pi"}

// errNoHuman is what every failed proof answers. Which check failed is for the
// log: the answer must not help to get further.
var errNoHuman = wire.Refuse(wire.HumanRequired)

// proveHuman binds a request to the person of the business that it names. The
// person's name comes from the configuration alone, and only after the proof
// (BUS-HUMAN-15, 16).
func (b *Broker) proveHuman(peer wire.Peer, p wire.Proof, business wire.Business) (Session, *wire.Error) {
	if err := b.VerifyHuman(peer, p); err != nil {
		return Session{}, errNoHuman
	}
	own, found := b.businesses[business]
	if !found {
		return Session{}, errNoHuman
	}
	return Session{Kind: HumanSession, Business: own, Role: wire.HumanRole, Run: wire.HumanRun}, nil
}

// VerifyHuman checks the process proof of a peer for another socket of the
// trusted host, with the checks of BUS-HUMAN-05 to 20. human-required.
func (b *Broker) VerifyHuman(peer wire.Peer, p wire.Proof) error {
	if err := b.checkHuman(peer, p); err != nil {
		b.log.Info("no proof of a human", "pid", peer.PID, "check", err)
		return errNoHuman
	}
	return nil
}

// Why a proof fails; for the log.
var (
	errPeer       = errors.New("the process named is not the peer")
	errUser       = errors.New("another user")
	errExecutable = errors.New("another program")
	errNonce      = errors.New("the nonce is not the process's own")
	errMarker     = errors.New("an agent's variable in the environment")
	errCommand    = errors.New("a harness among the ancestors")
	errLaunch     = errors.New("a managed run among the ancestors")
	errChanged    = errors.New("the ancestry changed during the check")
)

// checkHuman looks at the process itself, then at it and every ancestor, and
// then once more whether they all are still the same: what was read between
// the two walks belongs to these very processes.
func (b *Broker) checkHuman(peer wire.Peer, p wire.Proof) error {
	if p.PID != peer.PID || p.PID <= 0 {
		return errPeer
	}
	line, err := proc.Ancestors(b.processes, p.PID)
	if err != nil {
		return err
	}
	if err := b.checkShim(peer, p); err != nil {
		return err
	}
	for _, ancestor := range line {
		if err := b.checkAncestor(ancestor); err != nil {
			return err
		}
	}
	again, err := proc.Ancestors(b.processes, p.PID)
	if err != nil {
		return err
	}
	same := func(a, b proc.Stat) bool { return a.Identity == b.Identity && a.Parent == b.Parent }
	if !slices.EqualFunc(line, again, same) {
		return errChanged
	}
	return nil
}

// checkShim checks the process that speaks for the person: its user, its exact
// executable and its nonce (BUS-HUMAN-05, 06, 08, 20).
func (b *Broker) checkShim(peer wire.Peer, p wire.Proof) error {
	uid, err := b.processes.UID(p.PID)
	if err != nil {
		return err
	}
	if peer.UID != b.uid || uid != b.uid {
		return errUser
	}
	executable, err := b.processes.Executable(p.PID)
	if err != nil {
		return err
	}
	if executable != b.executable {
		return errExecutable
	}
	environ, err := b.processes.Environ(p.PID)
	if err != nil {
		return err
	}
	return checkNonce(environ, p.Nonce)
}

// checkNonce compares the nonce with the one that the process was started
// with: exactly one, of 32 bytes in base64url.
func checkNonce(environ []string, nonce string) error {
	var own []string
	for _, entry := range environ {
		if value, found := strings.CutPrefix(entry, HumanNonceVar+"="); found {
			own = append(own, value)
		}
	}
	if raw, err := base64.RawURLEncoding.DecodeString(nonce); err != nil || len(raw) != 32 {
		return errNonce
	}
	if len(own) != 1 || subtle.ConstantTimeCompare([]byte(own[0]), []byte(nonce)) != 1 {
		return errNonce
	}
	return nil
}

// checkAncestor refuses a bound launch, a harness by its name and a run marker
// (BUS-HUMAN-13, 14). An environment that the kernel does not let us read
// skips the marker check of that process alone: it belongs to another user,
// such as the login program (BUS-HUMAN-17, 18).
func (b *Broker) checkAncestor(p proc.Stat) error {
	if b.sessions.isLaunch(p.Identity) {
		return errLaunch
	}
	arguments, err := b.processes.Cmdline(p.PID)
	if err != nil {
		return err
	}
	if isHarness(p.Command, arguments) {
		return errCommand
	}
	environ, err := b.processes.Environ(p.PID)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	if hasRunMarker(environ) {
		return errMarker
	}
	return nil
}

// isHarness compares the command, the program and the first argument with the
// known harnesses. A script keeps its name with and without its suffix.
func isHarness(command string, arguments []string) bool {
	names := append([]string{command}, arguments[:min(2, len(arguments))]...)
	for _, name := range names {
		name = path.Base(name)
		for _, suffix := range []string{".js", ".mjs", ".cjs"} {
			name = strings.TrimSuffix(name, suffix)
		}
		if slices.Contains(harnessCommands, name) {
			return true
		}
	}
	return false
}

func hasRunMarker(environ []string) bool {
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		for _, marker := range runMarkers {
			if name == marker.name {
				return true
			}
		}
	}
	return false
}
