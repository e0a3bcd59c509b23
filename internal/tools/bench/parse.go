package main

import (
	"bytes"
	"io"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// tee keeps what it passes on.
type tee struct {
	text bytes.Buffer
	also io.Writer
}

func (t *tee) Write(p []byte) (int, error) {
	t.text.Write(p)
	return t.also.Write(p)
}

// figures maps a benchmark, as package.Name/case without Benchmark and the
// number of processors, to its values by unit. Of a benchmark that ran several
// times the last counts.
type figures map[string]map[string]float64

var processors = regexp.MustCompile(`-\d+$`)

// parse reads the lines of go test -bench, such as
//
//	pkg: mosaicstack.dev/mosaic/internal/broker
//	BenchmarkSend/clients=64-2   5000   41210 ns/op   90120 p99-ns
func parse(output string) figures {
	all := figures{}
	pkg := ""
	for line := range strings.Lines(output) {
		fields := strings.Fields(line)
		if len(fields) == 2 && fields[0] == "pkg:" {
			pkg = path.Base(fields[1])
			continue
		}
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") || len(fields)%2 != 0 {
			continue
		}
		if _, err := strconv.Atoi(fields[1]); err != nil {
			continue
		}
		name := pkg + "." + processors.ReplaceAllString(strings.TrimPrefix(fields[0], "Benchmark"), "")
		values := map[string]float64{}
		for i := 2; i+1 < len(fields); i += 2 {
			if v, err := strconv.ParseFloat(fields[i], 64); err == nil {
				values[fields[i+1]] = v
			}
		}
		all[name] = values
	}
	return all
}
