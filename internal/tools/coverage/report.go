package main

import (
	"fmt"
	"io"
)

// report is the count of every area, in the order of the documents.
type report struct {
	areas []areaCount
}

type areaCount struct {
	name     string
	proved   int
	total    int
	unproved []string // the id and the text
}

func count(wanted requirements, m marks) report {
	var r report
	for _, id := range wanted.ids {
		if n := len(r.areas); n == 0 || r.areas[n-1].name != area(id) {
			r.areas = append(r.areas, areaCount{name: area(id)})
		}
		a := &r.areas[len(r.areas)-1]
		a.total++
		if len(m[id]) > 0 {
			a.proved++
		} else {
			a.unproved = append(a.unproved, id+" "+wanted.text[id])
		}
	}
	return r
}

func (r report) sums() (proved, total int) {
	for _, a := range r.areas {
		proved += a.proved
		total += a.total
	}
	return proved, total
}

// percent is the share that is proved; a selection of nothing is all proved.
func (r report) percent() float64 {
	proved, total := r.sums()
	if total == 0 {
		return 100
	}
	return 100 * float64(proved) / float64(total)
}

func (r report) print(w io.Writer, list bool) {
	for _, a := range r.areas {
		fmt.Fprintf(w, "%-18s %4d / %-4d %3d %%\n", a.name, a.proved, a.total, 100*a.proved/a.total)
		if list {
			for _, text := range a.unproved {
				fmt.Fprintln(w, "   ", text)
			}
		}
	}
	proved, total := r.sums()
	fmt.Fprintf(w, "requirements named by a test: %d of %d (%.1f %%)\n", proved, total, r.percent())
}
