package sqlite

import (
	"unsafe"

	"golang.org/x/sys/unix"
	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// mapping is what keepMapping needs as long as the connection is open.
type mapping struct {
	methods uintptr // C memory: the file's methods, with one of ours
	usual   uintptr // the library's xUnfetch
	own     *unfetch
}

// keepMapping has the connection keep the data base file mapped while others
// commit.
//
// When SQLite begins to read after a commit of another connection it takes its
// whole mapping of the file away, since the file may be shorter now, and maps it
// anew with the next page. Every page that is used then has to be faulted in
// again, by each connection, which is a seventh of what reading a record costs a
// server that commits twice a second. The mapping is shared, so it always shows
// what is in the file; and the file never becomes shorter while it is open,
// since nothing here vacuums. So it is only mapped anew where it has grown.
// See xUnfetch in https://www.sqlite.org/c3ref/io_methods.html.
func (c *Conn) keepMapping() error {
	file, err := c.file()
	if err != nil {
		return err
	}
	usual := *word(file) // the first member of sqlite3_file
	if usual == 0 {
		return nil
	}
	size := libc.Tsize_t(unsafe.Sizeof(lib.Tsqlite3_io_methods{}))
	if c.mapping.methods = libc.Xmalloc(c.tls, size); c.mapping.methods == 0 {
		return c.fail(lib.SQLITE_NOMEM)
	}
	methods := (*lib.Tsqlite3_io_methods)(pointer(c.mapping.methods))
	*methods = *(*lib.Tsqlite3_io_methods)(pointer(usual))
	own := c.unfetch
	c.mapping.usual, c.mapping.own = methods.FxUnfetch, &own
	methods.FxUnfetch = *(*uintptr)(unsafe.Pointer(c.mapping.own))
	*word(file) = c.mapping.methods
	return nil
}

type unfetch = func(tls *libc.TLS, file uintptr, offset int64, page uintptr) int32

// file returns the library's data base file.
func (c *Conn) file() (uintptr, error) {
	// A name of 0 is the main data base.
	if rc := lib.Xsqlite3_file_control(c.tls, c.db, 0, lib.SQLITE_FCNTL_FILE_POINTER, c.out); rc != lib.SQLITE_OK {
		return 0, c.fail(rc)
	}
	return *word(c.out), nil
}

// unfetch is the file's xUnfetch: it gives one page back, or, where page is 0,
// the mapping.
func (c *Conn) unfetch(tls *libc.TLS, file uintptr, offset int64, page uintptr) int32 {
	if page == 0 {
		f := (*lib.TunixFile)(pointer(file))
		var now unix.Stat_t
		if f.FmmapSize > 0 && unix.Fstat(int(f.Fh), &now) == nil && f.FmmapSize >= min(now.Size, f.FmmapSizeMax) {
			return lib.SQLITE_OK
		}
	}
	return (*(*unfetch)(unsafe.Pointer(&struct{ uintptr }{c.mapping.usual})))(tls, file, offset, page)
}
