// Package load owns the load generator: requests over many connections, and the times of their answers.
package load

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"kartei/bench/process"
)

// Fresh is a placeholder in a request. Each time the request is sent, a new text replaces it.
const Fresh = "fresh-00000000000000"

// WarmUp is the time for which a load runs before its requests are counted.
const WarmUp = 300 * time.Millisecond

// maxCountTime is the maximum time of a load that ends after a number of responses.
const maxCountTime = 5 * time.Minute

// Job is a load for the load generator. Time is the measured time, without the warm-up.
type Job struct {
	Address     string
	Connections int
	Time        time.Duration
	// Requests are complete HTTP/1.1 requests. They are sent in random order.
	Requests []string
	// Want is the status that each response must have.
	Want int
	// Count is the number of responses after which the load ends. If it is set, Time is ignored,
	// there is no warm-up, and requests are sent in order. Zero means that the load ends after
	// Time.
	Count int64
}

// Result is the result of a load. The times are in milliseconds.
type Result struct {
	Answers   int     `json:"answers"`
	Failures  int     `json:"failures,omitempty"`
	Failure   string  `json:"failure,omitempty"` // the first failure
	PerSecond float64 `json:"perSecond"`
	P50       float64 `json:"p50"`
	P90       float64 `json:"p90"`
	P99       float64 `json:"p99"`
	Max       float64 `json:"max"`
	// CPU is the processor time of the server for each response, and Client the processor time of
	// the load generator. Both are in microseconds and include the warm-up.
	CPU    float64 `json:"cpu,omitempty"`
	Client float64 `json:"client,omitempty"`
	// Database is the processor time of the PostgreSQL server for each response, in microseconds.
	Database float64 `json:"database,omitempty"`
	// Sent is the number of all responses, with the warm-up.
	Sent int `json:"sent"`
}

// Generate is the process of the load generator. It reads jobs from in, runs one after another, and
// writes the results to out. It implements only the necessary parts of HTTP, so that it uses little
// of the machine's processor time.
func Generate(in io.Reader, out io.Writer) error {
	return process.EachJob(in, out, func(l *Job) (Result, error) { return l.run(), nil })
}

func (l *Job) run() Result {
	begin := time.Now().Add(WarmUp)
	end := begin.Add(l.Time)
	next := func() (string, bool) { return l.Requests[rand.IntN(len(l.Requests))], true }
	if l.Count > 0 {
		begin, end = time.Now(), time.Now().Add(maxCountTime)
		var sent atomic.Int64
		next = func() (string, bool) {
			n := sent.Add(1)
			return l.Requests[int(n-1)%len(l.Requests)], n <= l.Count
		}
	}
	var mu sync.Mutex
	var times []time.Duration
	var r Result
	var wait sync.WaitGroup
	for range l.Connections {
		wait.Go(func() {
			mine, sent, err := l.drive(begin, end, next)
			mu.Lock()
			defer mu.Unlock()
			r.Sent += sent
			times = append(times, mine...)
			if err != nil {
				r.Failures++
				r.Failure = err.Error()
			}
		})
	}
	wait.Wait()
	slices.Sort(times)
	at := func(share float64) float64 {
		if len(times) == 0 {
			return 0
		}
		return float64(times[min(int(share*float64(len(times))), len(times)-1)].Microseconds()) / 1000
	}
	r.Answers = len(times)
	if l.Count == 0 {
		r.PerSecond = float64(len(times)) / l.Time.Seconds()
	}
	r.P50, r.P90, r.P99, r.Max = at(0.5), at(0.9), at(0.99), at(1)
	return r
}

// drive sends requests one after another over one connection. It returns the durations of the
// requests that began after begin, and the number of all requests. It stops after end, at the first
// unexpected response, or when next has no more requests.
func (l *Job) drive(begin, end time.Time, next func() (string, bool)) (times []time.Duration, sent int, err error) {
	conn, err := net.Dial("tcp", l.Address)
	if err != nil {
		return nil, 0, err
	}
	defer conn.Close()
	conn.SetDeadline(end.Add(10 * time.Second))
	answers := bufio.NewReaderSize(conn, 64<<10)
	var request []byte
	for ; ; sent++ {
		text, more := next()
		if !more {
			return times, sent, nil
		}
		request = append(request[:0], text...)
		refresh(request)
		start := time.Now()
		if start.After(end) {
			return times, sent, nil
		}
		if _, err := conn.Write(request); err != nil {
			return times, sent, err
		}
		if err := take(answers, l.Want); err != nil {
			return times, sent, err
		}
		if start.After(begin) {
			times = append(times, time.Since(start))
		}
	}
}

// refresh replaces all placeholders in a request by the same random text.
func refresh(request []byte) {
	var text [len(Fresh)]byte
	for rest := request; ; {
		i := bytes.Index(rest, []byte(Fresh))
		if i < 0 {
			return
		}
		if text[0] == 0 {
			copy(text[:], fmt.Sprintf("%0*x", len(text), rand.Uint64()))
		}
		copy(rest[i:], text[:])
		rest = rest[i+len(text):]
	}
}

// take reads a response, checks its status and discards its body.
func take(r *bufio.Reader, want int) error {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return err
	}
	if len(line) < 12 {
		return fmt.Errorf("the answer is not HTTP: %q", line)
	}
	status, _ := strconv.Atoi(string(line[9:12]))
	length := 0
	for {
		if line, err = r.ReadSlice('\n'); err != nil {
			return err
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			break
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(value)); err != nil {
				return err
			}
		}
	}
	if status != want {
		body, _ := io.ReadAll(io.LimitReader(r, int64(min(length, 500))))
		return fmt.Errorf("status %d, want %d: %s", status, want, body)
	}
	_, err = r.Discard(length)
	return err
}
