//go:build linux && (amd64 || arm64)

package sandbox

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

const own = 4711 // id of the process

// decided returns the decision of the filter about a system call.
func decided(t *testing.T, machine, call uint32, arguments ...uint64) uint32 {
	t.Helper()
	vm, err := bpf.NewVM(filter(refusals(own)))
	if err != nil {
		t.Fatal(err)
	}
	var data [64]byte // struct seccomp_data; package bpf reads big-endian words
	binary.BigEndian.PutUint32(data[callOffset:], call)
	binary.BigEndian.PutUint32(data[archOffset:], machine)
	for i, a := range arguments {
		binary.BigEndian.PutUint32(data[argumentsOffset+8*i:], uint32(a))
		binary.BigEndian.PutUint32(data[argumentsOffset+8*i+4:], uint32(a>>32))
	}
	out, err := vm.Run(data[:])
	if err != nil {
		t.Fatal(err)
	}
	return uint32(out)
}

const refusedCall = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)

// TestFilterRefuses checks that each call that a child must not make is refused, whatever its
// arguments are.
func TestFilterRefuses(t *testing.T) {
	for name, call := range map[string]uint32{
		"socket": unix.SYS_SOCKET, "socketpair": unix.SYS_SOCKETPAIR, "connect": unix.SYS_CONNECT, "bind": unix.SYS_BIND,
		"listen": unix.SYS_LISTEN,
		"accept": unix.SYS_ACCEPT, "accept4": unix.SYS_ACCEPT4, "sendto": unix.SYS_SENDTO, "sendmsg": unix.SYS_SENDMSG,
		"sendmmsg": unix.SYS_SENDMMSG,
		"recvfrom": unix.SYS_RECVFROM, "recvmsg": unix.SYS_RECVMSG, "recvmmsg": unix.SYS_RECVMMSG,
		"io_uring_setup": unix.SYS_IO_URING_SETUP, "io_uring_enter": unix.SYS_IO_URING_ENTER,
		"io_uring_register": unix.SYS_IO_URING_REGISTER,
		"ptrace":            unix.SYS_PTRACE, "process_vm_readv": unix.SYS_PROCESS_VM_READV,
		"process_vm_writev": unix.SYS_PROCESS_VM_WRITEV,
		"process_madvise":   unix.SYS_PROCESS_MADVISE, "pidfd_open": unix.SYS_PIDFD_OPEN, "pidfd_getfd": unix.SYS_PIDFD_GETFD,
		"pidfd_send_signal": unix.SYS_PIDFD_SEND_SIGNAL, "kcmp": unix.SYS_KCMP, "tkill": unix.SYS_TKILL,
		"rt_sigqueueinfo": unix.SYS_RT_SIGQUEUEINFO, "rt_tgsigqueueinfo": unix.SYS_RT_TGSIGQUEUEINFO,
		"setpriority":       unix.SYS_SETPRIORITY,
		"sched_setaffinity": unix.SYS_SCHED_SETAFFINITY, "setsid": unix.SYS_SETSID, "setpgid": unix.SYS_SETPGID,
		"execve": unix.SYS_EXECVE, "execveat": unix.SYS_EXECVEAT, "memfd_create": unix.SYS_MEMFD_CREATE,
		"shmget": unix.SYS_SHMGET, "shmat": unix.SYS_SHMAT, "semget": unix.SYS_SEMGET, "msgget": unix.SYS_MSGGET,
		"mq_open": unix.SYS_MQ_OPEN,
		"fchmod":  unix.SYS_FCHMOD, "fchmodat": unix.SYS_FCHMODAT, "fchmodat2": unix.SYS_FCHMODAT2,
		"fchownat":  unix.SYS_FCHOWNAT,
		"utimensat": unix.SYS_UTIMENSAT, "truncate": unix.SYS_TRUNCATE, "setxattr": unix.SYS_SETXATTR,
		"open_by_handle_at": unix.SYS_OPEN_BY_HANDLE_AT, "fanotify_init": unix.SYS_FANOTIFY_INIT,
		"setns": unix.SYS_SETNS, "unshare": unix.SYS_UNSHARE, "chroot": unix.SYS_CHROOT, "mount": unix.SYS_MOUNT,
		"move_mount": unix.SYS_MOVE_MOUNT,
		"bpf":        unix.SYS_BPF, "userfaultfd": unix.SYS_USERFAULTFD, "perf_event_open": unix.SYS_PERF_EVENT_OPEN,
		"keyctl":  unix.SYS_KEYCTL,
		"add_key": unix.SYS_ADD_KEY, "request_key": unix.SYS_REQUEST_KEY, "seccomp": unix.SYS_SECCOMP,
		"kexec_load":  unix.SYS_KEXEC_LOAD,
		"init_module": unix.SYS_INIT_MODULE, "finit_module": unix.SYS_FINIT_MODULE, "reboot": unix.SYS_REBOOT,
	} {
		for _, arguments := range [][]uint64{nil, {1, 1, 1, 1, 1, 1}, {own, 0, 0, 0, 0, 0}} {
			if got := decided(t, arch, call, arguments...); got != refusedCall {
				t.Errorf("%s%v: %#x", name, arguments, got)
			}
		}
	}
	for _, call := range append(ancient, always...) {
		if got := decided(t, arch, call); got != refusedCall {
			t.Errorf("call %d: %#x", call, got)
		}
	}
}

// TestFilterChecksArguments checks calls that are allowed only with certain arguments.
func TestFilterChecksArguments(t *testing.T) {
	const thread = unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_SYSVSEM | unix.CLONE_THREAD // runtime.newosproc
	for _, c := range []struct {
		name      string
		call      uint32
		arguments []uint64
		want      uint32
	}{
		{"a thread", unix.SYS_CLONE, []uint64{thread}, unix.SECCOMP_RET_ALLOW},
		{"a process", unix.SYS_CLONE, []uint64{uint64(unix.SIGCHLD)}, refusedCall},
		{"a process that shares memory", unix.SYS_CLONE, []uint64{unix.CLONE_VM | unix.CLONE_VFORK}, refusedCall},
		{"clone3", unix.SYS_CLONE3, nil, unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{"a signal to itself", unix.SYS_KILL, []uint64{own, 15}, unix.SECCOMP_RET_ALLOW},
		{"a signal to another", unix.SYS_KILL, []uint64{own - 1, 15}, refusedCall},
		{"a signal to its group", unix.SYS_KILL, []uint64{0, 15}, refusedCall},
		{"a signal to all", unix.SYS_KILL, []uint64{1<<64 - 1, 9}, refusedCall},
		{"a signal to a thread of its own", unix.SYS_TGKILL, []uint64{own, own + 1, 23}, unix.SECCOMP_RET_ALLOW},
		{"a signal to another's thread", unix.SYS_TGKILL, []uint64{own - 1, own - 1, 9}, refusedCall},
		{"its own limits", unix.SYS_PRLIMIT64, []uint64{0, unix.RLIMIT_NOFILE}, unix.SECCOMP_RET_ALLOW},
		{"another's limits", unix.SYS_PRLIMIT64, []uint64{own - 1, unix.RLIMIT_NOFILE}, refusedCall},
		{"the name of memory", unix.SYS_PRCTL, []uint64{unix.PR_SET_VMA}, unix.SECCOMP_RET_ALLOW},
		{"the signal at the server's death", unix.SYS_PRCTL, []uint64{unix.PR_SET_PDEATHSIG}, refusedCall},
		{"who may trace it", unix.SYS_PRCTL, []uint64{unix.PR_SET_DUMPABLE, 1}, refusedCall},
	} {
		if got := decided(t, arch, c.call, c.arguments...); got != c.want {
			t.Errorf("%s: %#x, want %#x", c.name, got, c.want)
		}
	}
}

// TestFilterAllows checks that the calls of the Go runtime and of the readers are allowed.
func TestFilterAllows(t *testing.T) {
	for name, call := range map[string]uint32{
		"read": unix.SYS_READ, "write": unix.SYS_WRITE, "openat": unix.SYS_OPENAT, "close": unix.SYS_CLOSE,
		"fstat": unix.SYS_FSTAT, "mmap": unix.SYS_MMAP,
		"munmap": unix.SYS_MUNMAP, "mprotect": unix.SYS_MPROTECT, "madvise": unix.SYS_MADVISE, "futex": unix.SYS_FUTEX,
		"epoll_pwait": unix.SYS_EPOLL_PWAIT, "eventfd2": unix.SYS_EVENTFD2, "nanosleep": unix.SYS_NANOSLEEP,
		"rt_sigaction": unix.SYS_RT_SIGACTION,
		"sigaltstack":  unix.SYS_SIGALTSTACK, "sched_yield": unix.SYS_SCHED_YIELD,
		"sched_getaffinity": unix.SYS_SCHED_GETAFFINITY,
		"getrandom":         unix.SYS_GETRANDOM, "exit_group": unix.SYS_EXIT_GROUP, "a call of a later kernel": 0x3fffffff,
	} {
		if got := decided(t, arch, call); got != unix.SECCOMP_RET_ALLOW {
			t.Errorf("%s: %#x", name, got)
		}
	}
}

// TestFilterRefusesOtherTables checks that a call with a number of another call table ends the
// process.
func TestFilterRefusesOtherTables(t *testing.T) {
	for name, machine := range map[string]uint32{
		"i386": unix.AUDIT_ARCH_I386, "arm": unix.AUDIT_ARCH_ARM, "none": 0,
		"the other one": unix.AUDIT_ARCH_X86_64 ^ unix.AUDIT_ARCH_AARCH64 ^ arch,
	} {
		if got := decided(t, machine, unix.SYS_READ); got != unix.SECCOMP_RET_KILL_PROCESS {
			t.Errorf("%s: %#x", name, got)
		}
	}
	for _, call := range []uint32{firstForeign, firstForeign | unix.SYS_SOCKET, 1<<32 - 1} {
		if got := decided(t, arch, call); got != unix.SECCOMP_RET_KILL_PROCESS {
			t.Errorf("call %#x: %#x", call, got)
		}
	}
}
