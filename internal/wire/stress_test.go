package wire

import (
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"
)

// attempt is what became of one connection of a storm.
type attempt string

const (
	answered   attempt = "answered"
	busy       attempt = "busy"
	notQueued  attempt = "not queued"    // the kernel's queue was full
	noMoreFile attempt = "no descriptor" // this process had none left
)

// storm connects n times at once, sends a request on each connection and holds
// all of them until every one has its answer.
func storm(path string, n int) map[attempt]int {
	var mu sync.Mutex
	results := map[attempt]int{}
	var decided, ended sync.WaitGroup
	decided.Add(n)
	for range n {
		ended.Go(func() {
			c, err := net.Dial("unix", path)
			result := attempt("")
			if err == nil {
				defer func() { _ = c.Close() }()
				result = ask(c)
			} else {
				result = whyNot(err)
			}
			mu.Lock()
			results[result]++
			mu.Unlock()
			decided.Done()
			decided.Wait()
		})
	}
	ended.Wait()
	return results
}

func whyNot(err error) attempt {
	switch {
	case errors.Is(err, syscall.EAGAIN):
		return notQueued
	case errors.Is(err, syscall.EMFILE):
		return noMoreFile
	}
	return attempt(err.Error())
}

func ask(c net.Conn) attempt {
	_ = c.SetDeadline(time.Now().Add(60 * time.Second))
	_, writeErr := io.WriteString(c, `{"id":1,"cap":"c","verb":"v"}`+"\n")
	reply := make([]byte, 100)
	n, err := c.Read(reply)
	switch string(reply[:n]) {
	case `{"id":1,"ok":true,"result":null}` + "\n":
		return answered
	case `{"ok":false,"error":"busy"}` + "\n":
		return busy
	}
	return attempt(errors.Join(errors.New("no reply"), writeErr, err).Error())
}

func TestTenThousandConnectionsAtOnce(t *testing.T) {
	const attempts = 10_000
	path := serve(t, &Server{Handler: echo})
	other := dial(t, path)
	_ = other.SetDeadline(time.Now().Add(2 * time.Minute))
	once := func() {
		start := time.Now()
		other.send(t, `{"id":7,"cap":"c","verb":"v"}`+"\n")
		other.expect(t, `{"id":7,"ok":true,"result":null}`)
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("a client that was there before waited %v", took)
		}
	}
	once()
	results := make(chan map[attempt]int)
	go func() { results <- storm(path, attempts) }()
	for {
		select {
		case got := <-results:
			t.Log(got)
			if sum := got[answered] + got[busy] + got[notQueued] + got[noMoreFile]; sum != attempts {
				t.Errorf("%d attempts ended as they may: %v", sum, got)
			}
			if got[answered] == 0 || got[answered] > MaxConnections-1 {
				t.Errorf("%d were served at once beside the first", got[answered])
			}
			once()
			eventually(t, "new clients are served again", func() bool { return storm(path, 1)[answered] == 1 })
			return
		default:
			once()
		}
	}
}
