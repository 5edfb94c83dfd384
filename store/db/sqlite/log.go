package sqlite

import (
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// logPages is where in Conn.out the count of WatchLog stands.
const logPages = 16

// WatchLog makes the connection note after each of its commits how many pages
// the write-ahead log holds, and switches automatic checkpoints off.
func (c *Conn) WatchLog() {
	// The library calls back with an address that must not be one of the Go
	// heap's: the connection's words in C memory serve, and carry the count.
	*int32At(c.out + logPages) = 0
	lib.Xsqlite3_wal_hook(c.tls, c.db, function(noteLog), c.out+logPages)
}

// LogPages returns the pages in the write-ahead log after the connection's last commit.
func (c *Conn) LogPages() int { return int(*int32At(c.out + logPages)) }

func noteLog(_ *libc.TLS, count, _, _ uintptr, pages int32) int32 {
	*int32At(count) = pages
	return lib.SQLITE_OK
}

// function makes the address under which the library calls a Go function.
func function(f func(*libc.TLS, uintptr, uintptr, uintptr, int32) int32) uintptr {
	return *(*uintptr)(unsafe.Pointer(&struct {
		f func(*libc.TLS, uintptr, uintptr, uintptr, int32) int32
	}{f}))
}
