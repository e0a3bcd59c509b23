package ledger

import (
	"fmt"
	"maps"
	"slices"

	"mosaicstack.dev/mosaic/internal/queue"
)

// checkClosure compares rows with issues (QUEUE-LEDGER-07, 09, 11, 12). An
// issue is expected closed once every row that closes it is done; the violation
// is then the last such row's. Every other disagreement is for a person.
func (s *Section) checkClosure(rows []queue.Row, k *knowledge) {
	named, closers := map[int]bool{}, map[int][]*queue.Row{}
	for i := range rows {
		for _, n := range rows[i].Issues {
			named[n] = true
		}
		for _, n := range rows[i].Closes {
			closers[n] = append(closers[n], &rows[i])
		}
	}
	for _, n := range slices.Sorted(maps.Keys(named)) {
		expected := len(closers[n]) > 0 && !slices.ContainsFunc(closers[n], unfinished)
		switch {
		case k.state[n] == isOpen && expected:
			last := closers[n][len(closers[n])-1]
			s.violate(CheckClosure, last.ID, &n, fmt.Sprintf("issue %d is open although every row that closes it is done", n))
		case k.state[n] == isOpen:
			s.disposeDone(rows, n)
		case k.state[n] == isClosed:
			for _, row := range closers[n] {
				if unfinished(row) {
					s.dispose(row.ID, n, fmt.Sprintf("issue %d is closed although row %d, which closes it, is %s", n, row.ID, row.State))
				}
			}
		case expected:
			s.undecide(CheckClosure, closers[n][len(closers[n])-1].ID, &n, fmt.Sprintf("issue %d: %s", n, k.reason(n)))
		case k.ran && len(closers[n]) > 0:
			s.dispose(closers[n][0].ID, n, fmt.Sprintf("issue %d: %s; no verdict depends on it yet", n, k.reason(n)))
		}
	}
}

// disposeDone lists done rows that name an open issue which they do not close
// alone.
func (s *Section) disposeDone(rows []queue.Row, issue int) {
	for i := range rows {
		if rows[i].State == queue.Done && slices.Contains(rows[i].Issues, issue) {
			s.dispose(rows[i].ID, issue, fmt.Sprintf("row %d is done and names issue %d, which is open and not closed by it alone", rows[i].ID, issue))
		}
	}
}

func unfinished(row *queue.Row) bool { return row.State != queue.Done }
