//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// refusal is a system call that a child must not make, and the error that the call gets.
type refusal struct {
	call   uint32
	errno  unix.Errno
	unless *argument // with these arguments the call is allowed; nil means never
}

// argument is a condition: the masked argument number has the given value. Only the lower 32 bits
// are compared. The kernel uses no more bits of a process id or an option, and all relevant flags
// are among them.
type argument struct {
	number      int
	mask, value uint32
}

// always has the calls that are refused with any arguments. A filter cannot follow a pointer, so it
// cannot check to which address a call sends. A child uses pipes and needs no sockets.
var always = []uint32{
	// The network, the administration socket and all other sockets.
	unix.SYS_SOCKET, unix.SYS_SOCKETPAIR, unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_LISTEN, unix.SYS_ACCEPT,
	unix.SYS_ACCEPT4,
	unix.SYS_SENDTO, unix.SYS_SENDMSG, unix.SYS_SENDMMSG, unix.SYS_RECVFROM, unix.SYS_RECVMSG, unix.SYS_RECVMMSG,
	// io_uring makes calls that the filter does not see.
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	// Other processes of the same user, such as the server.
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE,
	unix.SYS_PROCESS_MRELEASE,
	unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_GETFD, unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_KCMP, unix.SYS_TKILL,
	unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO, unix.SYS_SETPRIORITY, unix.SYS_IOPRIO_SET,
	unix.SYS_SCHED_SETPARAM,
	unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETATTR, unix.SYS_SCHED_SETAFFINITY, unix.SYS_MIGRATE_PAGES,
	unix.SYS_MOVE_PAGES,
	unix.SYS_SETPGID, unix.SYS_SETSID,
	// Other programs. A process that a child started would outlive the child.
	unix.SYS_EXECVE, unix.SYS_EXECVEAT, unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_SECRET,
	// Shared memory and queues, which processes open by a number.
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP,
	unix.SYS_SEMCTL,
	unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
	// Changes of modes, owners, times and attributes of files, which Landlock does not restrict.
	unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT,
	unix.SYS_TRUNCATE,
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR,
	unix.SYS_FREMOVEXATTR,
	unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT, unix.SYS_FANOTIFY_MARK,
	unix.SYS_INOTIFY_INIT1, unix.SYS_INOTIFY_ADD_WATCH, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD,
	// Namespaces and mounts.
	unix.SYS_SETNS, unix.SYS_UNSHARE, unix.SYS_CHROOT, unix.SYS_PIVOT_ROOT, unix.SYS_MOUNT, unix.SYS_UMOUNT2,
	unix.SYS_MOVE_MOUNT,
	unix.SYS_OPEN_TREE, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
	// Parts of the kernel that were used for privilege escalation.
	unix.SYS_BPF, unix.SYS_USERFAULTFD, unix.SYS_PERF_EVENT_OPEN, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_SECCOMP, unix.SYS_PERSONALITY, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE,
	unix.SYS_FINIT_MODULE,
	unix.SYS_DELETE_MODULE, unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_SYSLOG,
	unix.SYS_VHANGUP,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX, unix.SYS_SETHOSTNAME,
	unix.SYS_SETDOMAINNAME,
}

// refusals returns the calls that are refused to the process with the id pid.
func refusals(pid int) []refusal {
	itself := &argument{0, ^uint32(0), uint32(pid)}
	list := []refusal{
		// The Go runtime starts threads. New processes are refused.
		{unix.SYS_CLONE, unix.EPERM, &argument{0, unix.CLONE_THREAD, unix.CLONE_THREAD}},
		// The flags of clone3 are behind a pointer. After ENOSYS, a C library calls clone instead.
		{unix.SYS_CLONE3, unix.ENOSYS, nil},
		// The Go runtime sends signals to its own threads.
		{unix.SYS_KILL, unix.EPERM, itself},
		{unix.SYS_TGKILL, unix.EPERM, itself},
		{unix.SYS_PRLIMIT64, unix.EPERM, &argument{0, ^uint32(0), 0}},
		// The Go runtime gives names to its memory. All other operations are refused. For example,
		// an operation cancels the signal at the death of the server, so that the child would
		// outlive the server.
		{unix.SYS_PRCTL, unix.EPERM, &argument{0, ^uint32(0), unix.PR_SET_VMA}},
	}
	for _, call := range slices.Concat(always, ancient) {
		list = append(list, refusal{call: call, errno: unix.EPERM})
	}
	return list
}

// Offsets of the fields of struct seccomp_data (linux/seccomp.h).
const (
	callOffset      = 0
	archOffset      = 4
	argumentsOffset = 16
)

// filter returns the program that decides about each system call. Another call table, such as the
// table of 32-bit programs, has other numbers. A call with a number of another table ends the
// process.
func filter(list []refusal) []bpf.Instruction {
	kill := bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS}
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: archOffset, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: arch, SkipTrue: 1},
		kill,
		bpf.LoadAbsolute{Off: callOffset, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: firstForeign, SkipTrue: 1},
		kill,
	}
	for _, r := range list {
		refuse := bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(r.errno)}
		if r.unless == nil {
			program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: r.call, SkipTrue: 1}, refuse)
			continue
		}
		program = append(program,
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: r.call, SkipTrue: 5},
			bpf.LoadAbsolute{Off: uint32(argumentsOffset + 8*r.unless.number), Size: 4}, // both architectures are little-endian
			bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: r.unless.mask},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: r.unless.value, SkipTrue: 1},
			refuse,
			bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW})
	}
	return append(program, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW})
}

// refuseCalls installs the filter for this process. The filter cannot be removed.
func refuseCalls() error { return install(refusals(os.Getpid())) }

// install makes the kernel apply the filter to the system calls of all threads.
func install(list []refusal) error {
	raw, err := bpf.Assemble(filter(list))
	if err != nil {
		return fmt.Errorf("seccomp: %w", err)
	}
	code := make([]unix.SockFilter, len(raw))
	for i, in := range raw {
		code[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	runtime.LockOSThread() // no_new_privs must be set on the same thread
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("setting no_new_privs: %w", err)
	}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program)))
	switch {
	case errno != 0:
		return fmt.Errorf("seccomp: %w", errno)
	case thread != 0:
		return errors.New("seccomp: a thread of the process has a filter of its own")
	}
	return nil
}
