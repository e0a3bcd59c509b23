package broker

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"sync"

	"mosaicstack.dev/mosaic/internal/proc"
	"mosaicstack.dev/mosaic/internal/wire"
)

// Kind is the kind of session that a request proves. Kinds combine as a set.
type Kind uint8

const (
	RoleSession   Kind = 1 << iota // a run's capability
	HumanSession                   // process proof of the business's person
	ReaderSession                  // a reader's capability: sees, changes nothing
	TesterSession                  // process proof of a test's sender
)

// Session is what one request proves. It is made afresh for every request and
// holds nothing that the request claimed about itself.
type Session struct {
	Kind     Kind
	Business *Business
	// Role and Run are a role session's; for a human or tester they are the
	// reserved sender (human/human-cli, tester/tester-cli), for a reader "".
	Role wire.Role
	Run  wire.Run
	// Thread is the thread that a thread run is bound to, or nil.
	Thread *wire.ThreadID
}

// Instance is the session's role instance; role sessions only.
func (s Session) Instance() Role { return s.Business.Roles[s.Role] }

// wrongSession is the code that a session of this kind gets at a verb of
// others (BUS-OPEN-22): the person's own verbs answer human-required to
// everyone else, and the other codes say what the caller is, so that nothing
// is learned by probing but what the reference says anyway.
func wrongSession(kind, allowed Kind) wire.Code {
	switch {
	case allowed == HumanSession:
		return wire.HumanRequired
	case kind == HumanSession:
		return wire.AgentRequired
	case kind == ReaderSession:
		return wire.ReadOnly
	case kind == TesterSession:
		return wire.TesterRefused
	default:
		return wire.HumanRequired
	}
}

// digest is the SHA-256 of a capability: the only form in which the broker
// keeps one (BUS-OPEN-08).
type digest [sha256.Size]byte

// registry holds the capabilities and bound runs of this process. Capabilities
// end with it (BUS-BOOT-53).
type registry struct {
	// mu protects the maps. It is held for look-ups and insertions only, never
	// across a transaction.
	mu       sync.RWMutex
	sessions map[digest]proven
	runs     map[wire.Run]*boundRun
	launched map[proc.Identity]bool
}

// proven is a capability's digest beside what it proves.
type proven struct {
	digest  digest
	session Session
}

// boundRun is a run that this broker has bound. It stays after its end: the
// ancestry check still wants its process, and a second end its run.
type boundRun struct {
	record LaunchRecord
	caps   []digest
	ended  bool
}

func newRegistry() *registry {
	return &registry{
		sessions: map[digest]proven{},
		runs:     map[wire.Run]*boundRun{},
		launched: map[proc.Identity]bool{},
	}
}

// session returns what a capability proves. The map is keyed by digest, so the
// time of the look-up tells nothing about the capability itself; the comparison
// after it takes constant time.
func (r *registry) session(cap wire.Capability) (Session, bool) {
	d := digest(sha256.Sum256([]byte(cap)))
	r.mu.RLock()
	p, found := r.sessions[d]
	r.mu.RUnlock()
	if !found || subtle.ConstantTimeCompare(d[:], p.digest[:]) != 1 {
		return Session{}, false
	}
	return p.session, true
}

// addReader makes a reader's capability (BUS-BOOT-44).
func (r *registry) addReader(business *Business) wire.Capability {
	cap, d := newCapability()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sessions[d] = proven{d, Session{Kind: ReaderSession, Business: business}}
	return cap
}

// addRun registers a bound run and makes a capability for it. A run that is
// bound again keeps its earlier capabilities: the host may have lost a reply.
func (r *registry) addRun(business *Business, record LaunchRecord) wire.Capability {
	cap, d := newCapability()
	r.mu.Lock()
	defer r.mu.Unlock()
	run := r.runs[record.Run]
	if run == nil {
		run = &boundRun{}
		r.runs[record.Run] = run
	}
	run.record = record
	run.caps = append(run.caps, d)
	r.launched[proc.Identity{PID: record.PID, Start: record.StartTime}] = true
	r.sessions[d] = proven{d, Session{Kind: RoleSession, Business: business, Role: record.Role, Run: record.Run}}
	return cap
}

// run returns the record of a run that this broker has bound in this business
// and whether it has ended since.
func (r *registry) run(business wire.Business, run wire.Run) (record LaunchRecord, ended, bound bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	b := r.runs[run]
	if b == nil || b.record.Business != business {
		return LaunchRecord{}, false, false
	}
	return b.record, b.ended, true
}

// end drops every capability of a run (BUS-CTL-58).
func (r *registry) end(run wire.Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.runs[run]
	for _, d := range b.caps {
		delete(r.sessions, d)
	}
	b.caps, b.ended = nil, true
}

// isLaunch reports whether the process is one that was bound as a run.
func (r *registry) isLaunch(p proc.Identity) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.launched[p]
}

// newCapability draws 32 random bytes. crypto/rand never fails: the process
// dies first.
func newCapability() (wire.Capability, digest) {
	var b [32]byte
	rand.Read(b[:])
	cap := base64.RawURLEncoding.EncodeToString(b[:])
	return wire.Capability(cap), sha256.Sum256([]byte(cap))
}
