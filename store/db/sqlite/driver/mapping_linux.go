package driver

import (
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// mapping contains the methods with which a connection reads the mapped database file.
type mapping struct {
	file    *mappedFile
	read    *read
	fetch   *fetch
	unfetch *unfetch
}

type (
	fetch   = func(tls *libc.TLS, file uintptr, offset int64, size int32, page uintptr) int32
	unfetch = func(tls *libc.TLS, file uintptr, offset int64, page uintptr) int32
)

// mappedFile is a memory-mapped database file, which all connections to the file share.
//
// The library maps a file once for each connection, at most 2 GiB of it. Pages beyond 2 GiB need a
// system call each. A read among 10,000,000 contacts then took half as much time again as among
// 100,000.
//
// The library also drops its mapping after a commit of another connection, because the file may be
// shorter. Then each connection faults in the pages again. That was a seventh of the time to read a
// record, on a server with two commits a second.
//
// This mapping is shared, so it always has the content of the file. The library does not read pages
// after the end of the database. So a shorter file needs no change.
type mappedFile struct {
	key   fileKey
	users int // guarded by mappedFiles.mu

	now     atomic.Pointer[region]
	mu      sync.Mutex
	regions [][]byte // all mappings, because pages of old ones may be in use
}

// region is a mapping of the file from its beginning. It is longer than the file, so that it can
// grow without moving. Only its first size bytes may be accessed.
type region struct {
	base     uintptr
	size     int64
	reserved int64
	limit    int64 // the maximum size; equal to size if the mapping cannot grow
}

type fileKey struct{ device, inode uint64 }

var mappedFiles = struct {
	mu   sync.Mutex
	open map[fileKey]*mappedFile
}{open: map[fileKey]*mappedFile{}}

const (
	// overread is the number of bytes that the library may read after a page of a damaged file. See
	// unixFetch in https://sqlite.org/src/file/src/os_unix.c.
	overread = 256
	// reserve is the minimum length of a region after the end of the file, in bytes.
	reserve = 64 << 20
	// maxMapped is the maximum length of the mapped part of a file, in bytes. With 64-bit addresses
	// it exceeds every file.
	maxMapped = 1 << (30 + 16*(^uintptr(0)>>63))
)

// keepMapping makes the connection read the database file from the shared mapping. See xFetch in
// https://www.sqlite.org/c3ref/io_methods.html.
func (c *Conn) keepMapping(file uintptr, ours *lib.Tsqlite3_io_methods) (err error) {
	if c.mapping.file, err = openMapped(file); err != nil {
		return err
	}
	ownRead, ownFetch, ownUnfetch := c.read, c.fetch, c.unfetch
	c.mapping.read, c.mapping.fetch, c.mapping.unfetch = &ownRead, &ownFetch, &ownUnfetch
	ours.FxRead = *(*uintptr)(unsafe.Pointer(c.mapping.read))
	ours.FxFetch = *(*uintptr)(unsafe.Pointer(c.mapping.fetch))
	ours.FxUnfetch = *(*uintptr)(unsafe.Pointer(c.mapping.unfetch))
	return nil
}

// dropMapping releases the mapping. The connection must be closed before.
func (c *Conn) dropMapping() {
	if c.mapping.file != nil {
		c.mapping.file.release()
	}
}

// descriptor returns the file descriptor of the library's open file. The process must not open
// another one, because closing it would drop the library's locks.
func descriptor(file uintptr) int { return int((*lib.TunixFile)(pointer(file)).Fh) }

// fetch implements xFetch. It stores the address of a page in memory, or 0 if the library must read
// the page.
func (c *Conn) fetch(_ *libc.TLS, file uintptr, offset int64, size int32, page uintptr) int32 {
	*word(page) = c.mapping.file.at(file, offset, int64(size), overread)
	return lib.SQLITE_OK
}

// unfetch implements xUnfetch. It does nothing for a page, because the shared mapping stays. A call
// without a page drops the library's own mapping.
func (c *Conn) unfetch(tls *libc.TLS, file uintptr, offset int64, page uintptr) int32 {
	if page != 0 {
		return lib.SQLITE_OK
	}
	return (*(*unfetch)(unsafe.Pointer(&struct{ uintptr }{c.methods.usual.FxUnfetch})))(tls, file, offset, page)
}

// read implements xRead. The library calls it, and not fetch, for long values and for pages before
// a write.
func (c *Conn) read(tls *libc.TLS, file, to uintptr, size int32, offset int64) int32 {
	from := c.mapping.file.at(file, offset, int64(size), 0)
	if from == 0 {
		return (*(*read)(unsafe.Pointer(&struct{ uintptr }{c.methods.usual.FxRead})))(tls, file, to, size, offset)
	}
	copy(unsafe.Slice((*byte)(pointer(to)), size), unsafe.Slice((*byte)(pointer(from)), size))
	return lib.SQLITE_OK
}

// at returns the address of a part of the file in memory. It returns 0 unless that part, and behind
// bytes after it, are mapped.
func (m *mappedFile) at(file uintptr, offset, size, behind int64) uintptr {
	r, end := m.now.Load(), offset+size
	if end > r.size && end <= r.limit {
		r = m.grow(descriptor(file), end)
	}
	if end+behind > r.size {
		return 0
	}
	return r.base + uintptr(offset)
}

// openMapped returns the mapping of a file. It may still be empty.
func openMapped(file uintptr) (*mappedFile, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(descriptor(file), &stat); err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	mappedFiles.mu.Lock()
	defer mappedFiles.mu.Unlock()
	key := fileKey{stat.Dev, stat.Ino}
	m := mappedFiles.open[key]
	if m == nil {
		m = &mappedFile{key: key}
		m.now.Store(&region{limit: maxMapped})
		mappedFiles.open[key] = m
	}
	m.users++
	return m, nil
}

func (m *mappedFile) release() {
	mappedFiles.mu.Lock()
	defer mappedFiles.mu.Unlock()
	if m.users--; m.users > 0 {
		return
	}
	delete(mappedFiles.open, m.key)
	for _, r := range m.regions {
		unix.Munmap(r)
	}
}

// grow extends the mapping to the offset end, and returns the new region. The region stays shorter
// if the file is shorter or cannot be mapped.
func (m *mappedFile) grow(file int, end int64) *region {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.now.Load()
	var stat unix.Stat_t
	if r.size >= end || unix.Fstat(file, &stat) != nil || stat.Size < end {
		return r
	}
	next := *r
	next.size = min(stat.Size, maxMapped)
	if next.size > next.reserved {
		next.reserved = min(next.size+max(next.size/4, reserve), maxMapped)
		all, err := unix.Mmap(file, 0, int(next.reserved), unix.PROT_READ, unix.MAP_SHARED)
		if err != nil {
			next = *r
			next.limit = next.size
		} else {
			m.regions = append(m.regions, all)
			next.base = uintptr(unsafe.Pointer(&all[0]))
		}
	}
	m.now.Store(&next)
	return &next
}
