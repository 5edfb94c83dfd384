//go:build linux && (amd64 || arm64)

package extract

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestUnconfined checks that Confined returns an error if the kernel lacks Landlock or seccomp.
// Texts are then read only if Options.Require is false.
func TestUnconfined(t *testing.T) {
	if what, is := os.LookupEnv("KARTEI_TEST_WITHOUT"); is {
		runWithout(t, what)
	}
	for _, c := range []struct{ without, want string }{
		{"", ""}, {"landlock", "Landlock"}, {"seccomp", "seccomp"}, {"landlock,seccomp", "Landlock"},
	} {
		t.Run("without "+c.without, func(t *testing.T) {
			for _, require := range []bool{false, true} {
				x, err := New(Options{Cache: cache, Require: require, Program: without(t, c.without)})
				if err != nil {
					t.Fatal(err)
				}
				err = x.Confined(t.Context())
				if (err == nil) != (c.want == "") ||
					err != nil && (!errors.Is(err, ErrUnconfined) || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("%v, want %q", err, c.want)
				}
				want := Text{Body: "Guten Tag"}
				if require && c.want != "" {
					want = Text{Reason: Unconfined}
				}
				if text, err := x.Extract(t.Context(), 1, strings.NewReader("Guten Tag"), "text/plain"); err != nil ||
					text != want {
					t.Errorf("require %t: %+v, %v; want %+v", require, text, err, want)
				}
			}
		})
	}
}

// without returns the path of a script. It runs this test program as on a kernel without some
// features.
func without(t *testing.T, what string) string {
	t.Helper()
	script := filepath.Join(t.TempDir(), "kartei")
	text := fmt.Sprintf("#!/bin/sh\nexport KARTEI_TEST_WITHOUT='%s'\nexec '%s' -test.run '^TestUnconfined$' -- \"$@\"\n", what,
		os.Args[0])
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return script
}

// runWithout replaces the process by the child that the rest of the command line describes. A
// seccomp filter makes some system calls fail as on a kernel that does not have them.
func runWithout(t *testing.T, what string) {
	t.Helper()
	runtime.LockOSThread()                                                       // the filter applies to this thread
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}} // loads the number of the system call
	for name, call := range map[string]uint32{"landlock": unix.SYS_LANDLOCK_CREATE_RULESET, "seccomp": unix.SYS_SECCOMP} {
		if strings.Contains(what, name) {
			filter = append(filter, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: call},
				unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)})
		}
	}
	filter = append(filter, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if err == nil {
		err = unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
	}
	if err == nil {
		err = unix.Exec(os.Args[0], append(os.Args[:1:1], os.Args[4:]...), nil)
	}
	t.Fatal(err)
}
