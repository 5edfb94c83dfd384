//go:build unix

package instance

import (
	"os"
	"syscall"
)

// unixModes is whether a mode says who may do what.
const unixModes = true

// ownerOf returns the user that a folder belongs to, -1 if that is unknown.
func ownerOf(info os.FileInfo) int64 {
	if s, is := info.Sys().(*syscall.Stat_t); is {
		return int64(s.Uid)
	}
	return -1
}
