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
	// WallTimes is the maximum real time of a process as a multiple of its processor time. The
	// process has low priority, and waits for the sender of the file.
	WallTimes = 5
)

// attributes returns the attributes of a child. The child is killed if this process ends. It has
// its own process group, so that it does not get the signals of this process.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// giveWay gives a child a low priority. Errors are ignored. The server sets the priority, since the
// start of a child takes about 20 ms of processor time, which is more than reading most texts
// takes.
func giveWay(child *os.Process) { _ = unix.Setpriority(unix.PRIO_PGRP, child.Pid, 10) }

// Confine drops all rights that reading a file does not need. A child calls it before it reads a
// byte. RLIMIT_DATA limits the memory, since it counts writable memory. RLIMIT_AS would also count
// memory that Go only reserves. The limit on processor time is in whole seconds. missing has an
// error for each feature that the system does not support.
func Confine(r Rights) (missing []error, err error) {
	if err := closeInherited(); err != nil {
		return nil, fmt.Errorf("closing inherited descriptors: %w", err)
	}
	// If memory runs out, the kernel kills children first. An error is ignored.
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
		signal.Ignore(syscall.SIGXFSZ) // without the signal, writes return an error
		if r.Folder != "" {
			allowed = append(allowed, landlock.RODirs(r.Folder).IgnoreIfMissing())
		}
	}
	for what, limit := range limits {
		if err := unix.Setrlimit(what, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return nil, fmt.Errorf("setting resource limit %d: %w", what, err)
		}
	}
	// Other processes of the user cannot read the memory of this process.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("setting the process not dumpable: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("setting no_new_privs: %w", err)
	}
	// The filter is installed last, since it forbids system calls that Landlock and its own
	// installation need.
	for _, part := range []func() error{func() error { return closeFiles(allowed) }, refuseCalls} {
		if err := part(); err != nil {
			missing = append(missing, err)
		}
	}
	return missing, nil
}

// maxDescriptors is the maximum number of descriptors that are checked if /proc is not mounted.
const maxDescriptors = 1 << 16

// closeInherited closes all inherited descriptors except standard input and outputs. A library in
// the server may open a file or socket that programs inherit, and neither Landlock nor the filter
// closes open descriptors. Go sets the flag FD_CLOEXEC on each descriptor that it opens, and a
// program never inherits a descriptor with this flag.
func closeInherited() error {
	for fd := range openDescriptors() {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err != nil || fd <= 2 || flags&unix.FD_CLOEXEC != 0 { // an error means that the descriptor is not open
			continue
		}
		if err := unix.Close(fd); err != nil {
			return err
		}
	}
	return nil
}

// openDescriptors returns at least the open descriptors of this process.
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

// closeFiles allows this process only the named files and its open files. Each version of Landlock
// forbids more. The first version (Linux 5.13) is enough, since refuseCalls forbids the rest.
func closeFiles(allowed []landlock.Rule) error {
	if version, err := lsys.LandlockGetABIVersion(); err != nil || version < 1 {
		return errors.New("no Landlock in this kernel, or it is not allowed here")
	}
	return landlock.V11.BestEffort().Restrict(allowed...)
}

// signalled returns the cause for the end of a process that a signal may have killed. Only the
// kernel sends SIGKILL: because memory ran out, or because the process used too much processor
// time. The earlier signal SIGXCPU has no effect, since Go ignores it.
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
