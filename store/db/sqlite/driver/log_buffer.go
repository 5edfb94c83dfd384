package driver

import (
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// logBuffer buffers the writes to the write-ahead log until the next fsync.
//
// The library writes each page of a transaction with two system calls, for the header of 24 bytes
// and for the page. To create a record adds 12 to 31 pages, and these calls took a fifth of its
// processor time.
type logBuffer struct {
	table uintptr // C memory
	usual lib.Tsqlite3_io_methods
	own   logMethods
	bytes uintptr // C memory
	// begin and end are the offsets in the file of the buffered bytes. They are equal if the buffer
	// is empty.
	begin, end int64
}

// logMethods are our methods of the log file. They are fields, because the library has their
// addresses.
type logMethods struct {
	write    write
	read     read
	truncate func(tls *libc.TLS, file uintptr, size int64) int32
	sync     func(tls *libc.TLS, file uintptr, flags int32) int32
	size     fileSize
}

// bufferedLog is the size of the buffer in bytes: 31 pages of 4 KiB with their headers. The
// library's own xWrite accepts at most 128 KiB less one byte. See seekAndWriteFd in
// https://sqlite.org/src/file/src/os_unix.c.
const bufferedLog = 31 * (24 + 4096)

// BufferLog makes the connection buffer its writes to the write-ahead log. Other connections read
// the log only after the fsync of a commit. So the connection must be in WAL mode, with the pragma
// synchronous = full.
func (c *Conn) BufferLog() error {
	// The first read opens the log.
	if _, err := c.Value("select 1 from sqlite_schema limit 1"); err != nil {
		return err
	}
	// The name 0 means the main database.
	if rc := lib.Xsqlite3_file_control(c.tls, c.db, 0, lib.SQLITE_FCNTL_JOURNAL_POINTER, c.out); rc != lib.SQLITE_OK {
		return c.fail(rc)
	}
	file := *word(c.out)
	if file == 0 || *word(file) == 0 {
		return &Error{Code: lib.SQLITE_MISUSE, text: "the write-ahead log is not open"}
	}
	b := &c.log
	b.table = libc.Xmalloc(c.tls, libc.Tsize_t(unsafe.Sizeof(b.usual)))
	b.bytes = libc.Xmalloc(c.tls, bufferedLog)
	if b.table == 0 || b.bytes == 0 {
		return c.fail(lib.SQLITE_NOMEM)
	}
	b.usual = *(*lib.Tsqlite3_io_methods)(pointer(*word(file)))
	ours := (*lib.Tsqlite3_io_methods)(pointer(b.table))
	*ours = b.usual
	b.own = logMethods{b.write, b.read, b.truncate, b.sync, b.size}
	ours.FxWrite = *(*uintptr)(unsafe.Pointer(&b.own.write))
	ours.FxRead = *(*uintptr)(unsafe.Pointer(&b.own.read))
	ours.FxTruncate = *(*uintptr)(unsafe.Pointer(&b.own.truncate))
	ours.FxSync = *(*uintptr)(unsafe.Pointer(&b.own.sync))
	ours.FxFileSize = *(*uintptr)(unsafe.Pointer(&b.own.size))
	*word(file) = b.table
	return nil
}

// drop frees the memory of BufferLog. The connection must be closed before. Bytes in the buffer
// belong to a transaction that was not committed.
func (b *logBuffer) drop(tls *libc.TLS) {
	libc.Xfree(tls, b.table)
	libc.Xfree(tls, b.bytes)
}

// write implements xWrite. If a transaction writes a page again, the new content replaces the old
// one in the buffer.
func (b *logBuffer) write(tls *libc.TLS, file, from uintptr, size int32, offset int64) int32 {
	end := offset + int64(size)
	if offset < b.begin || offset > b.end || end-b.begin > bufferedLog {
		rc := b.flush(tls, file)
		b.begin, b.end = offset, offset
		if rc != lib.SQLITE_OK {
			return rc // the library rolls the transaction back
		}
	}
	if size > bufferedLog {
		return b.through(tls, file, from, size, offset)
	}
	copy(unsafe.Slice((*byte)(pointer(b.bytes+uintptr(offset-b.begin))), size), unsafe.Slice((*byte)(pointer(from)), size))
	b.end = max(b.end, end)
	return lib.SQLITE_OK
}

// flush writes the buffer to the file. After an error the buffer stays, because the transaction may
// still be committed if the error occurred in a read.
func (b *logBuffer) flush(tls *libc.TLS, file uintptr) int32 {
	if b.begin == b.end {
		return lib.SQLITE_OK
	}
	rc := b.through(tls, file, b.bytes, int32(b.end-b.begin), b.begin)
	if rc == lib.SQLITE_OK {
		b.begin = b.end
	}
	return rc
}

// through calls the library's own xWrite.
func (b *logBuffer) through(tls *libc.TLS, file, from uintptr, size int32, offset int64) int32 {
	return (*(*write)(unsafe.Pointer(&struct{ uintptr }{b.usual.FxWrite})))(tls, file, from, size, offset)
}

// read implements xRead.
func (b *logBuffer) read(tls *libc.TLS, file, to uintptr, size int32, offset int64) int32 {
	if rc := b.flush(tls, file); rc != lib.SQLITE_OK {
		return rc
	}
	return (*(*read)(unsafe.Pointer(&struct{ uintptr }{b.usual.FxRead})))(tls, file, to, size, offset)
}

// truncate implements xTruncate.
func (b *logBuffer) truncate(tls *libc.TLS, file uintptr, size int64) int32 {
	if rc := b.flush(tls, file); rc != lib.SQLITE_OK {
		return rc
	}
	usual := (*(*func(*libc.TLS, uintptr, int64) int32)(unsafe.Pointer(&struct{ uintptr }{b.usual.FxTruncate})))
	return usual(tls, file, size)
}

// sync implements xSync.
func (b *logBuffer) sync(tls *libc.TLS, file uintptr, flags int32) int32 {
	if rc := b.flush(tls, file); rc != lib.SQLITE_OK {
		b.begin = b.end // the library rolls the transaction back
		return rc
	}
	usual := (*(*func(*libc.TLS, uintptr, int32) int32)(unsafe.Pointer(&struct{ uintptr }{b.usual.FxSync})))
	return usual(tls, file, flags)
}

// size implements xFileSize.
func (b *logBuffer) size(tls *libc.TLS, file, to uintptr) int32 {
	if rc := b.flush(tls, file); rc != lib.SQLITE_OK {
		return rc
	}
	return (*(*fileSize)(unsafe.Pointer(&struct{ uintptr }{b.usual.FxFileSize})))(tls, file, to)
}
