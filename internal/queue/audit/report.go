package audit

import "fmt"

// Status is the result of one item.
type Status string

const (
	Pass         Status = "pass"
	Reject       Status = "reject"
	Inconclusive Status = "inconclusive"
	Human        Status = "human" // the verdict, which no audit gives
)

// Item is one item of the checklist.
type Item struct {
	Name   string   `json:"item"`
	Status Status   `json:"status"`
	Notes  []string `json:"notes"` // what decided it, and what evidence there is
}

// Report is one result for each item (QUEUE-GATE-01).
type Report struct {
	Items  []Item   `json:"items"`
	Bounds []string `json:"bounds"` // what the evidence cannot show
}

// bounds stand in every report (QUEUE-GATE-35, 58).
var bounds = []string{
	"an edit made and reverted inside the interval is not visible to digests taken at its ends",
	"a helper that runs the same command outside of the session is not excluded",
}

// Result is the worst status of the items but the verdict. Reject outweighs
// inconclusive, which is never a pass (QUEUE-GATE-55).
func (r *Report) Result() Status {
	worst := Pass
	for _, item := range r.Items {
		switch item.Status {
		case Reject:
			return Reject
		case Inconclusive:
			worst = Inconclusive
		}
	}
	return worst
}

// Lines draws the report for people, one line an item and what belongs to it.
func (r *Report) Lines() []string {
	var lines []string
	for _, item := range r.Items {
		lines = append(lines, fmt.Sprintf("%s: %s", item.Name, item.Status))
		for _, note := range item.Notes {
			lines = append(lines, "  "+note)
		}
	}
	for _, bound := range r.Bounds {
		lines = append(lines, "bound: "+bound)
	}
	return append(lines, "result: "+string(r.Result()))
}

func (i *Item) note(format string, args ...any) {
	i.Notes = append(i.Notes, fmt.Sprintf(format, args...))
}

// reject notes a reason against the item. It outweighs every other one.
func (i *Item) reject(format string, args ...any) {
	i.Status = Reject
	i.note(format, args...)
}

// doubt notes that something cannot be decided.
func (i *Item) doubt(format string, args ...any) {
	if i.Status != Reject {
		i.Status = Inconclusive
	}
	i.note(format, args...)
}
