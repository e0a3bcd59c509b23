package launch

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"mosaicstack.dev/mosaic/internal/wire"
)

const recordName = "record.json"

// Record is what a run's record.json holds. It is durable before the run's
// program starts, and written again when the run has ended.
type Record struct {
	Version    int            `json:"version"` // 1
	Run        wire.Run       `json:"run"`
	Business   wire.Business  `json:"business"`
	Instance   wire.Role      `json:"instance"`
	Harness    string         `json:"harness"`
	Sandbox    Kind           `json:"sandbox"`
	Command    []string       `json:"command"`
	Dir        string         `json:"dir"`
	Transcript string         `json:"transcript,omitempty"`
	PID        int            `json:"pid"`       // of the monitor
	StartTime  uint64         `json:"startTime"` // clock ticks since boot
	Boot       string         `json:"boot"`
	At         wire.Timestamp `json:"at"`
	End        *RecordEnd     `json:"end,omitempty"` // nil: not ended, or nobody saw it
}

// RecordEnd is how a run ended. Exit is nil when nobody saw the program end.
type RecordEnd struct {
	At     wire.Timestamp `json:"at"`
	Reason Reason         `json:"reason"`
	Exit   *Exit          `json:"exit,omitempty"`
}

// writeRecord replaces a run's record. When it returns nil the record, and its
// name in the directory, outlive a power cut.
func writeRecord(dir string, r Record) error {
	text, err := wire.Encode(r)
	if err != nil {
		return err
	}
	temp := filepath.Join(dir, recordName+".new")
	if err := writeSynced(temp, append(text, '\n')); err != nil {
		return err
	}
	if err := os.Rename(temp, filepath.Join(dir, recordName)); err != nil {
		return err
	}
	return syncDirectory(dir)
}

func writeSynced(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}

func syncDirectory(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// readRecord reads a run's record. A record that cannot be read is reported,
// never guessed.
func readRecord(dir string) (Record, error) {
	text, err := os.ReadFile(filepath.Join(dir, recordName))
	if err != nil {
		return Record{}, err
	}
	var r Record
	if err := wire.Decode(text, &r); err != nil {
		return Record{}, err
	}
	return r, nil
}

// latestRecords reads the records of the latest runs, oldest first. Names of
// runs are UUIDv7 and so order by time. A directory without a readable record
// is passed over: its run was never bound.
func latestRecords(runs string, limit int) ([]Record, error) {
	entries, err := os.ReadDir(runs) // sorted by name
	if err != nil {
		return nil, err
	}
	var records []Record
	for _, entry := range slices.Backward(entries) {
		if len(records) == limit {
			break
		}
		r, err := readRecord(filepath.Join(runs, entry.Name()))
		if err != nil || string(r.Run) != entry.Name() {
			continue
		}
		records = append(records, r)
	}
	slices.Reverse(records)
	return records, nil
}
