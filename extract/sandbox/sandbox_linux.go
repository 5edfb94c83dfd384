package sandbox

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/landlock-lsm/go-landlock/landlock"
	lsys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

const (
	// root is the working directory of a process.
	root = "/"
	// WallTimes is the limit on the real time of a process, as a multiple of its
	// processor time. The process has low priority, and it waits for the sender of
	// the file.
	WallTimes = 5
)

// attributes make a child die with this process, and give it a process group of
// its own, so it does not get our signals.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// giveWay gives a child the lowest priority. An error is ignored. The server
// sets it, since the start of a child takes about 20 ms of processor time, more
// than most texts.
func giveWay(child *os.Process) { _ = unix.Setpriority(unix.PRIO_PGRP, child.Pid, 10) }

// Confine drops all rights that reading a file does not need, before this process
// reads a byte. Memory is bounded by RLIMIT_DATA, which counts writable memory;
// RLIMIT_AS would include what Go only reserves. Processor time is counted in
// whole seconds. missing names what the system does not support.
func Confine(r Rights) (missing []error, err error) {
	if err := closeInherited(); err != nil {
		return nil, fmt.Errorf("closing inherited descriptors: %w", err)
	}
	// The kernel kills children first if memory runs out. An error is ignored.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	seconds := uint64(r.Time.Seconds()) + 1
	limits := map[int]uint64{
		unix.RLIMIT_DATA:   uint64(r.Memory),
		unix.RLIMIT_CPU:    seconds,
		unix.RLIMIT_NOFILE: 32,
		unix.RLIMIT_CORE:   0,
	}
	allowed := []landlock.Rule{}
	if r.Fills {
		if err := os.MkdirAll(r.Folder, 0o700); err != nil {
			return nil, err
		}
		allowed = append(allowed, landlock.RWDirs(r.Folder))
	} else {
		limits[unix.RLIMIT_FSIZE] = 0
		signal.Ignore(syscall.SIGXFSZ) // writing fails instead
		if r.Folder != "" {
			allowed = append(allowed, landlock.RODirs(r.Folder).IgnoreIfMissing())
		}
	}
	for what, limit := range limits {
		if err := unix.Setrlimit(what, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return nil, fmt.Errorf("setting resource limit %d: %w", what, err)
		}
	}
	// No other process of the user looks into this one.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("setting the process not dumpable: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("setting no_new_privs: %w", err)
	}
	// The filter comes last: it refuses the calls that Landlock and the filter
	// itself need.
	for _, part := range []func() error{func() error { return closeFiles(allowed) }, refuseCalls} {
		if err := part(); err != nil {
			missing = append(missing, err)
		}
	}
	return missing, nil
}

// maxDescriptors bounds the search for descriptors if /proc is not there.
const maxDescriptors = 1 << 16

// closeInherited closes what this process inherited beyond its standard input and outputs. A
// library in the server may open a file or a socket that programs inherit, and Landlock and
// the filter leave open descriptors alone. Whatever this process opened itself, Go closes on
// exec; a program cannot inherit a descriptor with that flag.
func closeInherited() error {
	for fd := range openDescriptors() {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err != nil || fd <= 2 || flags&unix.FD_CLOEXEC != 0 { // an error means that none is open
			continue
		}
		if err := unix.Close(fd); err != nil {
			return err
		}
	}
	return nil
}

// openDescriptors yields at least the open descriptors of this process.
func openDescriptors() iter.Seq[int] {
	return func(yield func(int) bool) {
		entries, err := os.ReadDir("/proc/self/fd")
		for _, entry := range entries {
			if fd, wrong := strconv.Atoi(entry.Name()); wrong == nil && !yield(fd) {
				return
			}
		}
		for fd := 0; err != nil && fd < maxDescriptors; fd++ {
			if !yield(fd) {
				return
			}
		}
	}
}

// closeFiles allows this process only the named files and those that are open.
// Each version of Landlock refuses more. The first one, of Linux 5.13, suffices
// here, since refuseCalls refuses the rest.
func closeFiles(allowed []landlock.Rule) error {
	if version, err := lsys.LandlockGetABIVersion(); err != nil || version < 1 {
		return errors.New("no Landlock in this kernel, or it is not allowed here")
	}
	return landlock.V11.BestEffort().Restrict(allowed...)
}

// signalled returns why a signal killed a process.
// Only the kernel kills one: for its memory, or because it used more processor
// time than allowed. The earlier signal SIGXCPU has no effect, since Go ignores
// it.
func signalled(state *os.ProcessState, limit time.Duration) Cause {
	status, is := state.Sys().(syscall.WaitStatus)
	switch {
	case !is || !status.Signaled() || status.Signal() != syscall.SIGKILL:
		return Crash
	case state.UserTime()+state.SystemTime() >= limit:
		return OutOfTime
	}
	return OutOfMemory
}
