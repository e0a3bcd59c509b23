package evidence

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mosaicstack.dev/mosaic/internal/wire"
)

// The figures of DESIGN.md 15 that are the store's. Compare within one run:
//
//	go test -run '^$' -bench . ./internal/evidence
//
// DriverCommit inserts the rows of one message.send, with the schema's guards,
// by the bare driver; Send does it through Update.

func BenchmarkFdatasync4K(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "f"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	page := make([]byte, 4096)
	for b.Loop() {
		if _, err := f.Write(page); err != nil {
			b.Fatal(err)
		}
		if err := unix.Fdatasync(int(f.Fd())); err != nil {
			b.Fatal(err)
		}
	}
}

// benchWorld is a store with two holders, dev and rev.
func benchWorld(b *testing.B) (path string, dev wire.Run) {
	b.Helper()
	path = filepath.Join(b.TempDir(), "bus.sqlite")
	if err := Create(b.Context(), path); err != nil {
		b.Fatal(err)
	}
	s, err := Open(b.Context(), path, Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	dev = wire.Run(new(ids).next(wallClock()))
	for role, run := range map[wire.Role]wire.Run{"dev": dev, "rev": wire.Run(new(ids).next(wallClock()))} {
		err := s.Update(b.Context(), func(tx *Tx) error {
			e := Event{Business: acme, Role: &role, Run: &run, Kind: SessionLaunched, Body: []byte(`{}`)}
			if _, err := tx.AppendEvent(e); err != nil {
				return err
			}
			_, err := tx.AppendClaim(Claim{Business: acme, Role: role, Run: run, Op: OpClaim, By: string(run)})
			return err
		}, nil)
		if err != nil {
			b.Fatal(err)
		}
	}
	return path, dev
}

var benchBody = strings.Repeat("All work and no play. ", 10)

func benchSend(tx *Tx, dev wire.Run) error {
	_, err := sendIn(tx, Message{FromRole: "dev", FromRun: dev, ToRole: "rev", Body: benchBody})
	return err
}

// driver writes the rows that a Tx would write and nothing else: it knows
// every value beforehand.
type driver struct {
	b     *testing.B
	c     *conn
	state state
	ids   ids
	dev   string
	rev   string
	n     int64
}

func newDriver(b *testing.B) *driver {
	b.Helper()
	path, dev := benchWorld(b)
	c, err := connect(b.Context(), path, "", writing)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.close() })
	// As often as the store does: a WAL that only grows costs more to sync.
	if err := c.db.WALAutoCheckpoint(checkpointPages); err != nil {
		b.Fatal(err)
	}
	d := &driver{b: b, c: c, state: state{clock: wallClock}, dev: string(dev)}
	if err := d.state.load(c, &examination{version: current(), storeID: "x"}); err != nil {
		b.Fatal(err)
	}
	holder, err := (&Rows{c}).Holder(acme, "rev")
	if err != nil {
		b.Fatal(err)
	}
	d.rev = string(holder.Run)
	return d
}

func (d *driver) exec(sql string) {
	if err := d.c.db.Exec(sql); err != nil {
		d.b.Fatal(err)
	}
}

func (d *driver) insert(t tableID, values ...any) {
	d.state.seq[t]++
	d.state.ms = tick(d.state.ms, wallClock())
	s := d.c.insert(t)
	s.integer(1, d.state.seq[t])
	for i, v := range values {
		switch v := v.(type) {
		case nil:
			s.fail(s.BindNull(i + 2))
		case int64:
			s.integer(i+2, v)
		case string:
			s.text(i+2, v)
		case []byte:
			s.fail(s.BindBlob(i+2, v))
		}
	}
	if err := s.text(len(values)+2, string(formatTime(d.state.ms))).exec(); err != nil {
		d.b.Fatal(err)
	}
}

func (d *driver) send() {
	d.n++
	id := d.ids.next(d.state.ms + 1)
	d.insert(tMessages, id, "acme", "dev", d.dev, "rev", nil, "rev", d.n, "REQUEST", benchBody, nil, nil, nil, nil)
	d.insert(tDeliveries, "acme", id, "rev", d.n, d.rev, "routed", nil)
	d.insert(tEvents, d.ids.next(d.state.ms+1), "acme", "dev", d.dev, "action.allowed", "rev", nil, id,
		`{"action":"message.send"}`, make([]byte, 32))
}

func BenchmarkDriverCommit(b *testing.B) {
	d := newDriver(b)
	lat := newLatencies(b)
	for b.Loop() {
		start := time.Now()
		d.exec("BEGIN IMMEDIATE")
		d.send()
		d.exec("COMMIT")
		lat.add(start)
	}
	lat.report()
}

func BenchmarkDriverGrouped64(b *testing.B) {
	d := newDriver(b)
	lat := newLatencies(b)
	for b.Loop() { // one iteration is one send
		if d.n%64 == 0 {
			d.exec("BEGIN IMMEDIATE")
		}
		d.exec("SAVEPOINT s")
		d.send()
		d.exec("RELEASE s")
		if d.n%64 == 0 {
			d.exec("COMMIT")
		}
	}
	lat.report()
}

func BenchmarkSend(b *testing.B) {
	for _, clients := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			path, dev := benchWorld(b)
			s, err := Open(b.Context(), path, Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			lat := newLatencies(b)
			var left atomic.Int64
			left.Store(int64(b.N))
			var wg sync.WaitGroup
			b.ResetTimer()
			for range clients {
				wg.Go(func() {
					for left.Add(-1) >= 0 {
						start := time.Now()
						if err := s.Update(context.Background(), func(tx *Tx) error { return benchSend(tx, dev) }, nil); err != nil {
							b.Error(err)
							return
						}
						lat.add(start)
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			lat.report()
		})
	}
}

// bigStore is a closed store of about 200 MB.
func bigStore(b *testing.B) string {
	b.Helper()
	path, dev := benchWorld(b)
	s, err := Open(b.Context(), path, Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	body := strings.Repeat(benchBody, 8)
	for size := int64(0); size < 200<<20; {
		err := s.Update(b.Context(), func(tx *Tx) error {
			for range 1000 {
				_, err := sendIn(tx, Message{FromRole: "dev", FromRun: dev, ToRole: "rev", Body: body})
				if err != nil {
					return err
				}
			}
			return nil
		}, nil)
		if err != nil {
			b.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			b.Fatal(err)
		}
		size = info.Size()
	}
	return path
}

// BenchmarkOpen200MB compares Open with what it cannot do without.
func BenchmarkOpen200MB(b *testing.B) {
	path := bigStore(b)
	b.Run("quick_check", func(b *testing.B) {
		for b.Loop() {
			c, err := inspect(b.Context(), path)
			if err != nil {
				b.Fatal(err)
			}
			if err := c.quickCheck(); err != nil {
				b.Fatal(err)
			}
			c.close()
		}
	})
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			s, err := Open(b.Context(), path, Options{})
			if err != nil {
				b.Fatal(err)
			}
			s.Close()
		}
	})
	b.Run("verify", func(b *testing.B) {
		for b.Loop() {
			if r, err := Verify(b.Context(), path); err != nil || !r.OK() {
				b.Fatal(r, err)
			}
		}
	})
}

// latencies collects how long each operation took, and what the process paid.
type latencies struct {
	b     *testing.B
	mu    sync.Mutex
	all   []time.Duration
	usage time.Duration
}

func newLatencies(b *testing.B) *latencies { return &latencies{b: b, usage: cpuTime()} }

func cpuTime() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (l *latencies) add(start time.Time) {
	took := time.Since(start)
	l.mu.Lock()
	l.all = append(l.all, took)
	l.mu.Unlock()
}

func (l *latencies) report() {
	l.b.ReportMetric(float64((cpuTime()-l.usage).Microseconds())/float64(l.b.N), "cpu-us/op")
	if len(l.all) == 0 {
		return
	}
	slices.Sort(l.all)
	l.b.ReportMetric(float64(l.all[len(l.all)/2].Microseconds()), "p50-us")
	l.b.ReportMetric(float64(l.all[len(l.all)*99/100].Microseconds()), "p99-us")
}
