package demo

import (
	"bytes"
	"io"
	"os"
)

// logs passes on the output of runs line by line.
type logs struct {
	files []*logFile
	line  func(role, line string)
}

type logFile struct {
	role, path string
	offset     int64
	rest       []byte // the beginning of a line whose end is not there yet
}

func newLogs(runs map[string]run, line func(role, line string)) *logs {
	l := &logs{line: line}
	for _, role := range roles {
		if r, ok := runs[role]; ok && r.log != "" {
			l.files = append(l.files, &logFile{role: role, path: r.log})
		}
	}
	return l
}

// follow passes on what was written since the last call.
func (l *logs) follow() {
	for _, f := range l.files {
		for _, line := range f.lines() {
			l.line(f.role, line)
		}
	}
}

func (f *logFile) lines() []string {
	file, err := os.Open(f.path)
	if err != nil {
		return nil // not written to yet
	}
	defer file.Close()
	if _, err := file.Seek(f.offset, io.SeekStart); err != nil {
		return nil
	}
	news, _ := io.ReadAll(file)
	f.offset += int64(len(news))
	f.rest = append(f.rest, news...)
	var lines []string
	for {
		line, rest, found := bytes.Cut(f.rest, []byte{'\n'})
		if !found {
			return lines
		}
		lines, f.rest = append(lines, string(line)), bytes.Clone(rest)
	}
}
