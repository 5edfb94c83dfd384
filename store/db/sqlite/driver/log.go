package driver

import (
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// logPages is the offset of WatchLog's page count in Conn.out.
const logPages = 16

// WatchLog makes the connection record the size of the write-ahead log after each of its commits.
// It also turns automatic checkpoints off.
func (c *Conn) WatchLog() {
	// The library passes an address to the callback, which must not be in the Go heap. So the page
	// count is in C memory.
	*int32At(c.out + logPages) = 0
	lib.Xsqlite3_wal_hook(c.tls, c.db, function(noteLog), c.out+logPages)
}

// LogPages returns the number of pages in the write-ahead log after the connection's last commit.
func (c *Conn) LogPages() int { return int(*int32At(c.out + logPages)) }

func noteLog(_ *libc.TLS, count, _, _ uintptr, pages int32) int32 {
	*int32At(count) = pages
	return lib.SQLITE_OK
}

// function returns the address of a Go function for the library.
func function(f func(*libc.TLS, uintptr, uintptr, uintptr, int32) int32) uintptr {
	return *(*uintptr)(unsafe.Pointer(&struct {
		f func(*libc.TLS, uintptr, uintptr, uintptr, int32) int32
	}{f}))
}
