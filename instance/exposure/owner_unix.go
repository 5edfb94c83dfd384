//go:build unix

package exposure

import (
	"os"
	"syscall"
)

// unixModes reports whether file modes have their Unix meaning.
const unixModes = true

// ownerOf returns the user id of the owner of a folder, or -1 if it is unknown.
func ownerOf(info os.FileInfo) int64 {
	if s, is := info.Sys().(*syscall.Stat_t); is {
		return int64(s.Uid)
	}
	return -1
}
