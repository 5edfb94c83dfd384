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

// mapping is how a connection reads the database file while it is open.
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

// mappedFile is a memory-mapped database file, one for all connections to it.
//
// The library itself maps a file once for each connection, at most 2 GiB of it.
// It drops the mapping when another connection has committed, because the file
// may be shorter. Pages beyond 2 GiB need a system call each: a read among
// 10,000,000 contacts cost half as much again as among 100,000. A dropped
// mapping is faulted in again, page by page for each connection. That was a
// seventh of the cost of reading a record on a server that commits twice a
// second. This mapping is shared, so it always shows the content of the file.
// The library never asks for pages behind the end of the database, so a shorter
// file needs no change.
type mappedFile struct {
	key   fileKey
	users int // guarded by mappedFiles.mu

	now     atomic.Pointer[region]
	mu      sync.Mutex
	regions [][]byte // all of them, because pages of old ones may be in use
}

// region is a mapping of the file from its beginning. It is longer than the
// file, to grow without moving. Only size bytes of it may be accessed.
type region struct {
	base     uintptr
	size     int64
	reserved int64
	limit    int64 // the maximum size; equal to size if there was no room for more
}

type fileKey struct{ device, inode uint64 }

var mappedFiles = struct {
	mu   sync.Mutex
	open map[fileKey]*mappedFile
}{open: map[fileKey]*mappedFile{}}

const (
	// overread is the number of bytes that the library may read behind a page
	// of a damaged file. See unixFetch in
	// https://sqlite.org/src/file/src/os_unix.c.
	overread = 256
	// reserve is the minimum length of a region behind the end of the file.
	reserve = 64 << 20
	// maxMapped bounds the mapped part of a file. With 64-bit addresses it
	// exceeds every file.
	maxMapped = 1 << (30 + 16*(^uintptr(0)>>63))
)

// keepMapping makes the connection read the database file through the shared
// mapping. See xFetch in https://www.sqlite.org/c3ref/io_methods.html.
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

// dropMapping releases the mapping. The connection must be closed.
func (c *Conn) dropMapping() {
	if c.mapping.file != nil {
		c.mapping.file.release()
	}
}

// descriptor returns the descriptor of the library's open file. No other may be
// opened, because closing it would drop the library's locks.
func descriptor(file uintptr) int { return int((*lib.TunixFile)(pointer(file)).Fh) }

// fetch implements xFetch: it stores the address of a page in memory, or 0 if
// the library has to read it.
func (c *Conn) fetch(_ *libc.TLS, file uintptr, offset int64, size int32, page uintptr) int32 {
	*word(page) = c.mapping.file.at(file, offset, int64(size), overread)
	return lib.SQLITE_OK
}

// unfetch implements xUnfetch: pages and mapping stay in place. The library has
// its own mapping only if it made the file longer.
func (c *Conn) unfetch(tls *libc.TLS, file uintptr, offset int64, page uintptr) int32 {
	if page != 0 {
		return lib.SQLITE_OK
	}
	return (*(*unfetch)(unsafe.Pointer(&struct{ uintptr }{c.methods.usual.FxUnfetch})))(tls, file, offset, page)
}

// read implements xRead, for reads without a fetch: long values, and pages
// before a write.
func (c *Conn) read(tls *libc.TLS, file, to uintptr, size int32, offset int64) int32 {
	from := c.mapping.file.at(file, offset, int64(size), 0)
	if from == 0 {
		return (*(*read)(unsafe.Pointer(&struct{ uintptr }{c.methods.usual.FxRead})))(tls, file, to, size, offset)
	}
	copy(unsafe.Slice((*byte)(pointer(to)), size), unsafe.Slice((*byte)(pointer(from)), size))
	return lib.SQLITE_OK
}

// at returns the address of a part of the file. It returns 0 if that part is
// not mapped with enough bytes behind it.
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

// openMapped returns the mapping of a file, which may still be empty.
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

// grow extends the region to an end, and returns it. It may remain shorter: if
// the file is, or if there is no room.
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
