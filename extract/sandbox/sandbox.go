// Package sandbox owns the process that reads a file: how it is confined, bounded, started and ended.
package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// Command is a program that reads a file in a process of its own, and calls Confine
// before it does. It gets no environment.
type Command struct {
	Program string
	Args    []string
	// Time bounds the processor time; the program has it from its arguments. Wall
	// bounds the real time.
	Time, Wall time.Duration
	// Output bounds the bytes that the process writes to its standard output.
	Output int
}

// End is how a process ended.
type End struct {
	Wrote []byte // to standard output
	Said  []byte // to standard error, the beginning
	Code  int    // the exit code; -1 if the process was killed
	// Cause is why the process ended if Code is none of its own.
	Cause Cause
	Took  time.Duration // processor time
}

// Cause is why a process was killed, or ended itself against its will.
type Cause int

// The causes.
const (
	Crash Cause = iota
	OutOfTime
	OutOfMemory
)

// Run starts a process for a file and waits for its end. An error comes from ctx, from
// reading the file or from starting the process, and means nothing about the file. A
// Read of the file that does not return cannot be interrupted.
func Run(ctx context.Context, c Command, file io.Reader) (End, error) {
	limited, cancel := context.WithTimeout(ctx, c.Wall)
	defer cancel()
	cmd := exec.CommandContext(limited, c.Program, c.Args...)
	cmd.Env = []string{}
	cmd.Dir = root
	in := &source{Reader: file}
	cmd.Stdin = in
	out, errs := &cappedBuffer{limit: c.Output, strict: true}, &cappedBuffer{limit: 16 << 10}
	cmd.Stdout, cmd.Stderr = out, errs
	cmd.WaitDelay = 10 * time.Second
	cmd.SysProcAttr = attributes()
	// The kernel sends the process its signal when the thread that started it
	// ends, so that thread must live as long as the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return End{}, cmp.Or(ctx.Err(), fmt.Errorf("extract: %w", err))
	}
	giveWay(cmd.Process)
	_ = cmd.Wait() // the process state has the reason for the end
	state := cmd.ProcessState
	e := End{Wrote: out.kept, Code: -1, Cause: OutOfTime, Took: state.UserTime() + state.SystemTime()}
	switch {
	case in.err != nil:
		return e, in.err
	case ctx.Err() != nil:
		return e, ctx.Err()
	case limited.Err() == nil:
		e.Said, e.Code, e.Cause = errs.kept, state.ExitCode(), causeOf(state, errs.kept, c.Time)
	}
	return e, nil
}

// causeOf returns why a process that nobody stopped has ended. Go reports on standard
// error that memory ran out; the kernel just kills.
func causeOf(state *os.ProcessState, errs []byte, limit time.Duration) Cause {
	if bytes.Contains(errs, []byte("out of memory")) || bytes.Contains(errs, []byte("cannot allocate memory")) ||
		hitRuntime(errs) {
		return OutOfMemory
	}
	return signalled(state, limit)
}

// hitRuntime reports whether a fault ended Go's own runtime. A reader's nil
// pointer is a panic instead, whose report begins otherwise. The garbage
// collector of Go 1.26 does not check whether it got memory for a queue of
// spans. So it faults in about one of ten processes that run out of memory.
func hitRuntime(errs []byte) bool {
	return bytes.HasPrefix(errs, []byte("SIGSEGV: segmentation violation\nPC="))
}

// Rights are what a process keeps when it confines itself.
type Rights struct {
	Memory int64         // bytes of its data
	Time   time.Duration // processor time, rounded up to a second
	// Folder is the only folder that the process may open; "" is none. Fills says
	// that it may also write there.
	Folder string
	Fills  bool
}

// source remembers an error of reading the file itself.
type source struct {
	io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// errOutput ends a process that writes more than it may.
var errOutput = errors.New("extract: too much output")

// cappedBuffer keeps the first bytes of what is written to it. It contains its buffer
// and does not embed it, because bytes.Buffer has ReadFrom, which reads
// everything.
type cappedBuffer struct {
	kept   []byte
	limit  int
	strict bool // more is an error, which ends the pipe
}

func (c *cappedBuffer) Write(p []byte) (int, error) {
	fits := min(len(p), c.limit-len(c.kept))
	c.kept = append(c.kept, p[:fits]...)
	if fits < len(p) && c.strict {
		return fits, errOutput
	}
	return len(p), nil
}
