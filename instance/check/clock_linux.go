package check

import "golang.org/x/sys/unix"

// clockState reports whether the kernel's clock is synchronized (adjtimex(2)), and whether the kernel
// says so.
func clockState() (synchronized, known bool) {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	return state != unix.TIME_ERROR && t.Status&unix.STA_UNSYNC == 0, err == nil
}
