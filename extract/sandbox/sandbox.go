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

// Command is a program that reads a file in a separate process. The program calls Confine before it
// reads. The process has no environment.
type Command struct {
	Program string
	Args    []string
	// Time is the maximum processor time, which the program also gets as an argument. Wall is the
	// maximum real time.
	Time, Wall time.Duration
	// Output is the maximum number of bytes that the process may write to its standard output.
	Output int
}

// End is the result of a process.
type End struct {
	Wrote []byte // output on standard output
	Said  []byte // the beginning of the output on standard error
	Code  int    // the exit code, or -1 if the process was killed
	// Cause says why the process ended. It is set even if the process exited with a code of its
	// own, which then counts.
	Cause Cause
	Took  time.Duration // processor time of the process
}

// Cause says why a process did not end by itself.
type Cause int

// The causes. Crash includes every end that is not one of the others.
const (
	Crash Cause = iota
	OutOfTime
	OutOfMemory
)

// Run starts a process for a file and waits for its end. An error comes from ctx, from reading the
// file or from starting the process. It does not say anything about the file. A Read of the file
// that does not return cannot be interrupted.
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
	// The kernel sends Pdeathsig to the process when the thread that started it ends. So this
	// thread must live as long as the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return End{}, cmp.Or(ctx.Err(), fmt.Errorf("extract: %w", err))
	}
	giveWay(cmd.Process)
	_ = cmd.Wait() // the process state says why the process ended
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

// causeOf returns the cause for the end of a process that this package did not stop. If memory runs
// out, either Go writes a message to standard error, or the kernel kills the process.
func causeOf(state *os.ProcessState, errs []byte, limit time.Duration) Cause {
	if bytes.Contains(errs, []byte("out of memory")) || bytes.Contains(errs, []byte("cannot allocate memory")) ||
		hitRuntime(errs) {
		return OutOfMemory
	}
	return signalled(state, limit)
}

// hitRuntime reports whether a segmentation fault in Go's runtime ended the process. The message of
// a nil pointer in a reader begins otherwise, since that is a panic. The garbage collector of Go
// 1.26 does not check whether it got memory for a queue of spans. So it faults in about one of ten
// processes that run out of memory.
func hitRuntime(errs []byte) bool {
	return bytes.HasPrefix(errs, []byte("SIGSEGV: segmentation violation\nPC="))
}

// Rights are the limits and permissions of a process after Confine.
type Rights struct {
	Memory int64         // maximum size of its data in bytes
	Time   time.Duration // processor time, rounded up to a second
	// Folder is the only folder that the process may read. An empty path means no folder. Fills
	// says that the process may also write to it.
	Folder string
	Fills  bool
}

// source is a reader that stores the first error of reading the file, except io.EOF.
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

// errOutput ends a process that writes too much.
var errOutput = errors.New("extract: too much output")

// cappedBuffer keeps the first limit bytes that are written to it. It does not embed a
// bytes.Buffer, because its method ReadFrom would read everything.
type cappedBuffer struct {
	kept   []byte
	limit  int
	strict bool // a Write beyond the limit returns an error, which closes the pipe
}

func (c *cappedBuffer) Write(p []byte) (int, error) {
	fits := min(len(p), c.limit-len(c.kept))
	c.kept = append(c.kept, p[:fits]...)
	if fits < len(p) && c.strict {
		return fits, errOutput
	}
	return len(p), nil
}
