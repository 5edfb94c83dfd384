package child

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// calls maps features of the kernel to the system call with which a program finds out whether the
// kernel has the feature.
var calls = map[string]uint32{"landlock": unix.SYS_LANDLOCK_CREATE_RULESET, "seccomp": unix.SYS_SECCOMP}

// ExecWithout replaces this process by the program argv[0], which gets the arguments argv and the
// environment env. A seccomp filter makes the calls of the features landlock or seccomp return
// ENOSYS, as on a kernel without them. ExecWithout returns only if it fails.
func ExecWithout(features, argv, env []string) error {
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}} // loads the number of the system call
	for _, feature := range features {
		call, known := calls[feature]
		if !known {
			return fmt.Errorf("child: there is no feature %q", feature)
		}
		filter = append(filter, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: call},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)})
	}
	filter = append(filter, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread() // the filter applies to this thread
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
	if err != nil {
		return err
	}
	return unix.Exec(argv[0], argv, env)
}
