package ledger

import (
	"fmt"
	"time"

	"mosaicstack.dev/mosaic/internal/queue"
)

const day = 24 * time.Hour

// MaxAge is how long a row may be required before it is listed.
const MaxAge = 14 * day

// checkAge lists required rows older than MaxAge (QUEUE-LEDGER-10, 38 to 42).
// A legacy row whose begin nobody recorded was required no later than genesis.
func (s *Section) checkAge(in Input) {
	for _, row := range in.State.Rows {
		if !row.Required || row.State == queue.Done || row.State == queue.Parked || row.RequiredSince == nil {
			continue
		}
		since, legacy := *row.RequiredSince, false
		if since == queue.Unknown {
			since, legacy = in.File.Log[0].At, true
		}
		begun, err := time.Parse(queue.TimeLayout, since)
		age := in.Now.Sub(begun)
		switch {
		case err != nil:
			s.undecide(CheckAge, row.ID, nil, "the time since which it is required cannot be read")
		case age > MaxAge && legacy:
			s.violate(CheckAge, row.ID, nil, fmt.Sprintf("required, age ≥ %d days (legacy lower bound)", age/day))
		case age > MaxAge:
			s.violate(CheckAge, row.ID, nil, fmt.Sprintf("required for %d days", age/day))
		case legacy:
			s.undecide(CheckAge, row.ID, nil, "required since nobody knows when, and the queue is at most 14 days old")
		}
	}
}
