package queue

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"mosaicstack.dev/mosaic/internal/display"
)

// RequestMarker is the first line of a review request, by which a person finds
// it again (QUEUE-REVIEW-58).
func RequestMarker(op OpID) string { return "<!-- mosaic-queue-op: " + string(op) + " -->" }

// requestText is the comment of a review request: the marker, a line that
// names row, round and candidate, a line that names the reviewers, and a
// manifest's text (QUEUE-REVIEW-59, QUEUE-OPEN-80). It is built of row fields
// and the candidate only (QUEUE-REVIEW-60). Nothing in them can look like
// another marker: Cell leaves no "<" in the piece, and a manifest has no
// "<!--" and no line that could end its fence.
func requestText(op OpID, row *Row, round *Round) string {
	reviewers := make([]string, len(row.Reviewers))
	for i, seat := range row.Reviewers {
		reviewers[i] = string(seat)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", RequestMarker(op))
	fmt.Fprintf(&b, "Review request: row %d, round %d, candidate %s: %s\n", row.ID, round.Round, round.Candidate.Spelling(), piece(row.Piece))
	fmt.Fprintf(&b, "Reviewers: %s\n", strings.Join(reviewers, ", "))
	if m := round.Candidate.Manifest; m != nil {
		fmt.Fprintf(&b, "\n```text\n%s```\n", *m)
	}
	return b.String()
}

// piece is a row's piece in a comment: nobody is mentioned and no issue is
// referred to by it.
func piece(text string) string {
	return mentions.Replace(display.Cell(text))
}

var mentions = strings.NewReplacer("@", "&#64;", "#", "&#35;", "!", "&#33;")

var requestLine = regexp.MustCompile(`^Review request: row ([1-9][0-9]*), round ([1-9][0-9]*), candidate (?:commit|manifest):([0-9a-f]+): `)

// mismatch says in what a comment differs from the request that an attempt
// made, or "" (QUEUE-REVIEW-79 to 81).
func mismatch(comment Comment, issue int, op OpID, id RowID, round *Round) string {
	lines := strings.SplitN(strings.ReplaceAll(comment.Body, "\r\n", "\n"), "\n", 3)
	var said []string
	if len(lines) > 1 {
		said = requestLine.FindStringSubmatch(lines[1])
	}
	switch {
	case comment.Issue != issue:
		return fmt.Sprintf("it does not belong to issue %d", issue)
	case lines[0] != RequestMarker(op):
		return "its first line is not the marker of " + string(op)
	case said == nil || said[1] != strconv.Itoa(int(id)) || said[2] != strconv.Itoa(round.Round):
		return fmt.Sprintf("it does not ask about row %d, round %d", id, round.Round)
	case said[3] != round.Candidate.Digest:
		return "it does not name the round's candidate " + round.Candidate.Digest
	}
	return ""
}
