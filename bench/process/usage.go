package process

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Memory measures the memory of a process.
type Memory struct {
	pid  int
	stop chan struct{}
	done chan struct{}
	peak chan chan float64
}

// watchMemory reads RssAnon, the private memory of a process, ten times a second. VmRSS would
// include the mapped pages of the database file. These are page cache, which the kernel reclaims as
// needed.
func watchMemory(pid int) *Memory {
	m := &Memory{pid, make(chan struct{}), make(chan struct{}), make(chan chan float64)}
	go func() {
		defer close(m.done)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		highest := 0.0
		for {
			select {
			case <-tick.C:
				highest = max(highest, anonymous(pid))
			case reply := <-m.peak:
				reply <- max(highest, anonymous(pid))
				highest = 0
			case <-m.stop:
				return
			}
		}
	}()
	return m
}

// Take returns the peak since the last call in MB (10⁶ bytes).
func (m *Memory) Take() float64 {
	reply := make(chan float64)
	m.peak <- reply
	return <-reply
}

func (m *Memory) end() {
	close(m.stop)
	<-m.done
}

// anonymous returns RssAnon in MB, or 0 if the system does not report it.
func anonymous(pid int) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), "RssAnon:")
	words := strings.Fields(rest)
	if len(words) == 0 {
		return 0
	}
	kib, _ := strconv.ParseFloat(words[0], 64)
	return kib * 1024 / 1e6
}

// UsedWithChildren returns the processor time of a process and its children, such as a PostgreSQL
// server and its connections. Children that have ended count only if the parent has waited for
// them.
func UsedWithChildren(pid int) time.Duration {
	sum := Used(pid)
	if fields := stat(pid); len(fields) >= 15 {
		sum += ticks(fields[13]) + ticks(fields[14])
	}
	found, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range found {
		child, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if fields := stat(child); len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
			sum += Used(child)
		}
	}
	return sum
}

// Used returns the processor time of a process so far, or 0 if the system does not report it.
// Unlike throughput, it does not depend on the load of the machine.
func Used(pid int) time.Duration {
	fields := stat(pid)
	if len(fields) < 13 {
		return 0
	}
	return ticks(fields[11]) + ticks(fields[12])
}

// ticks parses one of the fields 14 to 17 of proc(5), which are in hundredths of a second.
func ticks(field string) time.Duration {
	n, _ := strconv.Atoi(field)
	return time.Duration(n) * 10 * time.Millisecond
}

// stat returns the fields of /proc/PID/stat (proc(5)) from the third on. The second field is a name
// in parentheses and may contain blanks. stat returns nil if the system does not have this file.
func stat(pid int) []string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
}

// ProcessTime returns the processor time of a process with a resolution of nanoseconds. It reads
// the CPU clock of the process (clock_getcpuclockid(3)).
func ProcessTime(pid int) (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|2), &t); err != nil {
		return 0, fmt.Errorf("the processor time of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// AwaitRest waits until a process has used less than a fiftieth of a processor for half a second.
// Work that a server does after its calls is then done: it stores its log and compares new records
// with others. It returns an error after ten minutes.
func AwaitRest(ctx context.Context, pid int) error {
	const interval = 250 * time.Millisecond
	tick := time.NewTicker(interval)
	defer tick.Stop()
	end := time.Now().Add(10 * time.Minute)
	for calm := 0; calm < 2; {
		if time.Now().After(end) {
			return fmt.Errorf("the process %d has not rested for ten minutes", pid)
		}
		before, err := ProcessTime(pid)
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		after, err := ProcessTime(pid)
		if err != nil {
			return err
		}
		if calm++; after-before >= interval/50 {
			calm = 0
		}
	}
	return nil
}
