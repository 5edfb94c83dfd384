package driver

import (
	"encoding/binary"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// methods contains the library's functions for the database file, with some replaced. See
// https://www.sqlite.org/c3ref/io_methods.html.
type methods struct {
	table uintptr // C memory
	usual lib.Tsqlite3_io_methods
	write *write
	clean uintptr // C memory for the page that is written
}

type (
	read     = func(tls *libc.TLS, file, to uintptr, size int32, offset int64) int32
	write    = func(tls *libc.TLS, file, from uintptr, size int32, offset int64) int32
	fileSize = func(tls *libc.TLS, file, size uintptr) int32
)

const (
	// maxPage is the maximum page size of the library, in bytes.
	maxPage = 1 << 16
	// maxCleaned is the maximum size of a file, in bytes, in which an overflow page cannot look
	// like a b-tree page. An overflow page begins with the number of the next page. From page
	// 33,554,432 on, the first byte of that number can be the type of a b-tree page, 2 or more.
	// With pages of 4 KiB that is at 128 GiB. Half of it leaves a margin for pages in the log.
	maxCleaned = 64 << 30
)

// ownMethods replaces methods of the connection's database file.
func (c *Conn) ownMethods() error {
	file, err := c.file()
	if err != nil {
		return err
	}
	usual := *word(file) // the first member of sqlite3_file
	if usual == 0 {
		return nil
	}
	m := &c.methods
	m.table = libc.Xmalloc(c.tls, libc.Tsize_t(unsafe.Sizeof(m.usual)))
	m.clean = libc.Xmalloc(c.tls, maxPage)
	if m.table == 0 || m.clean == 0 {
		return c.fail(lib.SQLITE_NOMEM)
	}
	m.usual = *(*lib.Tsqlite3_io_methods)(pointer(usual))
	ours := (*lib.Tsqlite3_io_methods)(pointer(m.table))
	*ours = m.usual
	own := c.writePage
	m.write = &own
	ours.FxWrite = *(*uintptr)(unsafe.Pointer(m.write))
	if err := c.keepMapping(file, ours); err != nil {
		return err
	}
	*word(file) = m.table
	return nil
}

// dropMethods frees the memory of ownMethods. The connection must be closed before.
func (c *Conn) dropMethods() {
	libc.Xfree(c.tls, c.methods.table)
	libc.Xfree(c.tls, c.methods.clean)
	c.dropMapping()
}

// file returns the address of the library's database file.
func (c *Conn) file() (uintptr, error) {
	// The name 0 means the main database.
	if rc := lib.Xsqlite3_file_control(c.tls, c.db, 0, lib.SQLITE_FCNTL_FILE_POINTER, c.out); rc != lib.SQLITE_OK {
		return 0, c.fail(rc)
	}
	return *word(c.out), nil
}

// writePage implements xWrite. It zeroes the unused middle of a page, which SQLite does not read.
//
// The library's secure_delete overwrites the space that a delete frees. But if a page is split, old
// copies of the moved rows remain. So a deleted record could still be found in the file.
func (c *Conn) writePage(tls *libc.TLS, file, from uintptr, size int32, offset int64) int32 {
	usual := *(*write)(unsafe.Pointer(&struct{ uintptr }{c.methods.usual.FxWrite}))
	if size < 512 || size > maxPage || size&(size-1) != 0 || offset < int64(size) || offset%int64(size) != 0 {
		return usual(tls, file, from, size, offset)
	}
	page := unsafe.Slice((*byte)(pointer(from)), size)
	begin, end := unused(page)
	if allZero(page[begin:end]) || !c.cleanable(tls, file, offset) {
		return usual(tls, file, from, size, offset)
	}
	clean := unsafe.Slice((*byte)(pointer(c.methods.clean)), size)
	copy(clean, page)
	clear(clean[begin:end])
	return usual(tls, file, c.methods.clean, size, offset)
}

// cleanable reports whether the file is small enough that b-tree pages can be recognized reliably.
func (c *Conn) cleanable(tls *libc.TLS, file uintptr, offset int64) bool {
	var end int64
	size := *(*fileSize)(unsafe.Pointer(&struct{ uintptr }{c.methods.usual.FxFileSize}))
	at := libc.Xmalloc(tls, 8)
	defer libc.Xfree(tls, at)
	if at == 0 || size(tls, file, at) != lib.SQLITE_OK {
		return false
	}
	end = *(*int64)(pointer(at))
	return max(end, offset) < maxCleaned
}

// unused returns the range between the cell pointers and the first cell of a b-tree page. For any
// other page it returns an empty range. See https://www.sqlite.org/fileformat2.html#b_tree_pages.
func unused(page []byte) (begin, end int) {
	head := 8
	switch page[0] {
	case 2, 5: // interior page of an index or of a table
		head = 12
	case 10, 13: // leaf page
	default:
		return 0, 0
	}
	free, cells := int(binary.BigEndian.Uint16(page[1:])), int(binary.BigEndian.Uint16(page[3:]))
	end = int(binary.BigEndian.Uint16(page[5:]))
	if end == 0 {
		end = maxPage
	}
	begin = head + 2*cells
	if begin > end || end > len(page) || free != 0 && (free < end || free > len(page)-4) || page[7] > 60 {
		return 0, 0
	}
	for at := head; at < begin; at += 2 {
		if cell := int(binary.BigEndian.Uint16(page[at:])); cell < end || cell > len(page)-4 {
			return 0, 0
		}
	}
	return begin, end
}

func allZero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}
